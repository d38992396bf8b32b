"""A checkpoint wrapper is called with options only, without the function that it wraps.

## What it finds

`@jax.checkpoint(policy=…)` and `@jax.checkpoint()` above a function, and the same as an expression:
`jax.checkpoint(policy=…)(f)`. `jax.checkpoint`, `jax.remat`, `flax.linen.remat`, `haiku.remat` and Haliax's wrapper
take the function as their first argument, always.

## Why it matters

The decorator expression is a plain call, and the call lacks its only required argument. The module cannot be imported:

    TypeError: checkpoint() missing 1 required positional argument: 'fun'

## In which versions

All.

## What to write instead

`@functools.partial(jax.checkpoint, policy=…)`, or `@jax.checkpoint` without parentheses when there are no options.

## Known limits

`flax.nnx.remat` and `equinox.filter_checkpoint` return a decorator when they are called without a function, so there it
is right. A call with `*args` or `**options` may hide the function and is not reported.

## Source

`checkpoint` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8 and Haiku 0.0.17.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs, wrapper_calls
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, wrapper_name
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity

NAME = "checkpoint-without-function"


def check(model: FileModel) -> Iterator[Finding]:
    """Calls of wrappers that lack the function."""
    for call in _calls(model):
        where = model.range_of(call.node)
        if where is None or model.is_dead(call.site.block):
            continue
        wrapper, parameter = model.text_of(call.node.func), call.api.roles["fun"]
        yield Finding(
            NAME,
            where,
            f"`{wrapper}` gets no function here: it is no decorator factory, and the call raises TypeError; "
            f"{_advice(wrapper, call.node)}",
            Severity.ERROR,
            raises(
                model,
                "where this stands",
                "TypeError",
                f"{wrapper_name(model, call.api)}() missing 1 required positional argument: '{parameter}'",
            ),
            exceptions=("TypeError",),
        )


def _calls(model: FileModel) -> Iterator[ApiCall]:
    for call in model.calls:
        if call.api.kind is ApiKind.CHECKPOINT and call.missing and not call.is_partial:
            if call.api.roles.get("fun") in call.missing:
                yield call


def _advice(wrapper: str, node: ast.Call) -> str:
    if node.keywords:
        return f"write `functools.partial({wrapper}, …)`"
    return f"write `{wrapper}` without parentheses"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Put the options into a ``functools.partial``; without options drop the parentheses."""
    for call in model.every(_calls):
        where = model.range_of(call.node)
        if where != finding.range or where is None:
            continue
        wrapper = model.text_of(call.node.func)
        if not call.node.keywords:
            edits = verbs.uncall(model.source.lines, where)
            return Fix(f"Write `{wrapper}` without parentheses", Safety.SAFE, edits) if edits else None
        edits = wrapper_calls.through_partial(model.source.lines, where)
        return Fix(f"Give the options through `functools.partial({wrapper}, …)`", Safety.SAFE, edits) if edits else None
    return None


_BAD = """\
import functools

import jax
import jax.numpy as jnp

STAGE = "decorate"


@jax.checkpoint(policy=jax.checkpoint_policies.dots_saveable)
def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "grad"
jax.grad(loss)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

RULE = Rule(
    code="JXP105",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("@jax.checkpoint(", "@functools.partial(jax.checkpoint, "),
            proof=Raises("TypeError", "missing 1 required positional argument: 'fun'", "decorate"),
        ),
        Example(
            bad=_BAD.replace("policy=jax.checkpoint_policies.dots_saveable", ""),
            good=_BAD.replace("(policy=jax.checkpoint_policies.dots_saveable)", ""),
            proof=Raises("TypeError", "missing 1 required positional argument: 'fun'", "decorate"),
        ),
    ),
    check=check,
    fix=fix,
)
