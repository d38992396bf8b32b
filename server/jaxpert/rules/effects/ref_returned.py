"""A checkpointed function returns a mutable array.

## What it finds

A Ref (`jax.new_ref`, before that `jax.array_ref` and `mutable_array`) in what a function that `jax.checkpoint` (or a
wrapper around it) makes returns, alone or inside a tuple, list or dictionary: one that it was given, closes over or
made. Also a forward rule of `custom_vjp` that returns a Ref which it was not given.

## Why it matters

Traced functions give arrays and never Refs. JAX raises when the function is called:

    ValueError: function f … traced for checkpoint / remat returned a mutable array reference of type Ref{float32[4]} at
    output tree path result[1], but mutable array references cannot be returned.

and for a forward rule when the function is differentiated:

    ValueError: custom_vjp fwd function … returned a mutable array reference of type …

## In which versions

0.7.2 and later, with and without `jax_remat3`. Under `jax_remat3` from 0.11.1 on, a forward rule inside a checkpointed
function may.

## What to write instead

Return what is in it, `ref[...]`. Whoever passed the Ref in still has it: there is no need to return it.

## Known limits

Values that come out of helper functions are not followed.

## Source

`check_no_aliased_ref_args` and its relatives in `jax/_src/interpreters/partial_eval.py`; measured on 0.4.30 to
0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.effect_places import function_name
from jaxpert.model.effects import returned_refs
from jaxpert.model.file_model import FileModel
from jaxpert.model.ref_crossings import refs_of_forward_rules
from jaxpert.model.speech import raises
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "ref-returned"

_CHECKED, _REMAT3 = Version("0.7.2"), Version("0.11.1")


def check(model: FileModel) -> Iterator[Finding]:
    """Refs in what checkpointed functions and forward rules return."""
    if model.target.version < _CHECKED:
        return
    seen: set[Range] = set()
    for checkpoint, target, part in returned_refs(model):
        owner = target.model or model
        area, wrapped = owner.range_of(part), model.range_of(checkpoint.node)
        where = area if owner is model else wrapped
        if where is None or area is None or wrapped is None or where in seen or model.is_dead(checkpoint.site.block):
            continue
        seen.add(where)
        function, text = function_name(model, checkpoint), owner.text_of(part)
        other = (
            Related(wrapped, f"`{function}` is wrapped here") if owner is model
            else Related(area, f"`{text}` is returned here", owner.path)
        )  # fmt: skip
        traced_for = "remat3" if model.target.remat3 else "checkpoint / remat"
        yield Finding(
            NAME,
            where,
            f"`{text}` is a Ref, which a checkpointed function cannot return: JAX raises when `{function}` is called; "
            f"return `{text}[...]`, or nothing: the caller has the Ref",
            Severity.ERROR,
            raises(
                model, f"when `{function}` is called", "ValueError",
                f"function {function} … traced for {traced_for} returned a mutable array reference …",
            ),
            (other,),
            exceptions=("ValueError",),
        )  # fmt: skip
    if model.target.remat3 and model.target.version >= _REMAT3:
        return
    for forward, part in refs_of_forward_rules(model):
        where = model.range_of(part) if (forward.model or model) is model else None
        if where is None or where in seen:
            continue
        seen.add(where)
        text = model.text_of(part)
        yield Finding(
            NAME,
            where,
            f"`{text}` is a Ref that the forward rule `{forward.name}` was not given and cannot return: JAX raises "
            f"when the function is differentiated; take `{text}` as an argument",
            Severity.ERROR,
            raises(
                model, "when the function is differentiated", "ValueError",
                f"custom_vjp fwd function {forward.name} … returned a mutable array reference …",
            ),
            exceptions=("ValueError",),
        )  # fmt: skip


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Return what is in the Ref."""
    for _, target, part in model.every(returned_refs):
        if (target.model or model) is model and model.range_of(part) == finding.range:
            text = model.text_of(part)
            edits = verbs.replace_expression(model.source.lines, finding.range, f"{text}[...]")
            return Fix(f"Return `{text}[...]`", Safety.UNSAFE, edits) if edits else None
    return None


_BAD = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def step(x, state):
    state[...] = jax.lax.stop_gradient(x)
    return jnp.sin(x), state


STAGE = "call"
step(1.0, jax.new_ref(0.0, kind="no_grad_no_remat"))
'''

_FORWARD = '''\
import jax

last = jax.new_ref(0.0)


@jax.custom_vjp
def stash(x):
    return x


def stash_fwd(x):
    return x, last


def stash_bwd(ref, cotangent):
    ref[...] = cotangent
    return (cotangent,)


stash.defvjp(stash_fwd, stash_bwd)

STAGE = "grad"
jax.grad(stash)(1.0)
'''

_FORWARD_GOOD = _FORWARD.replace("return x, last", "return x, None").replace("(ref, cot", "(_, cot").replace(
    "    ref[...]", "    last[...]"
)

RULE = Rule(
    code="JXP406",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.new_ref", "jax.empty_ref", "jax.Ref", "jax.experimental.mutable_array"),
    examples=(
        Example(
            _BAD, _BAD.replace("(x), state\n", "(x), state[...]\n"),
            Raises("ValueError", "returned a mutable array reference", "call", since="0.10.0"),
        ),
        Example(
            _FORWARD, _FORWARD_GOOD,
            Raises("ValueError", "returned a mutable array reference", "grad", since="0.8.1"),
        ),
    ),
    check=check,
    fix=fix,
)  # fmt: skip
