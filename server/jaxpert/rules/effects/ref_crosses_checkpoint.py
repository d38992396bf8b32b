"""A mutable array that a differentiated function makes is needed again on the backward pass.

## What it finds

A Ref (`jax.new_ref`) that is made inside a checkpointed function, or inside the function that is differentiated, and
then

- read or written by a checkpointed function further inside, which closes over it or gets it as an argument;
- given to a `custom_vjp` function whose forward rule keeps it as a residual.

## Why it matters

The checkpoint would have to keep the Ref for its backward pass, which JAX does not do. It raises when the function is
differentiated. With `jax_remat3` on:

    ValueError: the rematted computation's closure contains a mutable array reference of type Ref{float32[4]} that is
    not one of the rematted function's inputs, but such refs cannot be saved

Without it:

    ValueError: function f … traced for checkpoint / remat returned a mutable array reference of type Ref{float32[4]} …,
    but mutable array references cannot be returned.

Where no checkpoint stands around the making, other errors from deep inside JAX.

## In which versions

Made in a checkpointed function and read further inside: from 0.12.0, and with `jax_remat3` always. JAX 0.8.1 to
0.11.2 accepts it. Made in the function that is differentiated: up to 0.11.2.

## What to write instead

Make the Ref outside of everything that is differentiated and pass it in, or close over it. Where its value is enough,
pass `ref[...]`.

## Known limits

Where the differentiated function makes the Ref, only writes are reported, since reading it can be fine
(`jax.lax.stop_gradient(ref[...])`); with `jax_remat3` on before 0.12.0 both.

## Source

`dce` and `remat_partial_eval` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.model.effect_places import function_name, recomputes
from jaxpert.model.file_model import FileModel
from jaxpert.model.ref_crossings import Crossing, ref_crossings
from jaxpert.model.speech import raises
from jaxpert.rulekit.rule import Example, Finding, Raises, Related, Rule, Severity
from jaxpert.text.lines import Range

NAME = "ref-crosses-checkpoint"

_SUPPORTED, _REMAT3, _RETURNED = Version("0.8.1"), Version("0.11.1"), Version("0.12.0")


def check(model: FileModel) -> Iterator[Finding]:
    """Refs that cross the border of a checkpointed function."""
    if model.target.version < _SUPPORTED:
        return
    seen: set[Range] = set()
    for crossing in ref_crossings(model):
        where = model.range_of(crossing.node) if crossing.model is model else model.range_of(crossing.checkpoint.node)
        raised = _raised(model, crossing)
        if raised is None or where is None or where in seen:
            continue
        seen.add(where)
        function = function_name(model, crossing.checkpoint)
        text = crossing.model.text_of(crossing.node)
        maker = f"inside `{function}`" if crossing.made_inside else "inside the function that is differentiated"
        owner = crossing.creation.model or model
        made = owner.range_of(crossing.creation.call)
        yield Finding(
            NAME,
            where,
            f"`{text}` is a Ref made {maker}, and the backward pass needs it again: JAX raises when `{function}` is "
            "differentiated; make the Ref outside and pass it in",
            Severity.ERROR,
            raises(model, f"when `{function}` is differentiated", *raised),
            (Related(made, "it is made here", "" if owner is model else owner.path),) if made is not None else (),
            exceptions=tuple({raised[0], "ValueError", "Exception"}),
        )


def _raised(model: FileModel, crossing: Crossing) -> tuple[str, str] | None:
    """The exception and its text; None where this JAX accepts it."""
    version, remat3 = model.target.version, model.target.remat3
    if crossing.made_inside and remat3:
        if not recomputes(model, crossing.checkpoint):
            return None
        if version < _REMAT3:
            return "ValueError", "function <lambda> … returned a mutable array reference …"
        return "ValueError", "the rematted computation's closure contains a mutable array reference …"
    if crossing.made_inside:
        if version < _RETURNED or crossing.is_write or (not crossing.is_read and _is_use(crossing)):
            return None
        return "ValueError", "function … traced for checkpoint / remat returned a mutable array reference …"
    if version >= _RETURNED or not (remat3 or crossing.is_write):
        return None
    if remat3:
        return ("ValueError", "Accumulator aval mismatch: …") if version >= _REMAT3 else ("AssertionError", "")
    return "Exception", "(one from inside JAX, another in each version)"


def _is_use(crossing: Crossing) -> bool:
    """Whether it is a use in a checkpointed function, and not an argument that a forward rule keeps."""
    return crossing.node is not None and not hasattr(crossing.node, "id")


_BAD = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def loss(x):
    table = jax.new_ref(jnp.ones(3))

    @jax.checkpoint
    def inner(x):
        return jnp.sin(x * table[...])

    return jnp.sum(inner(x))


STAGE = "call"
loss(jnp.ones(3))
STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
'''

_GOOD = '''\
import jax
import jax.numpy as jnp

table = jax.new_ref(jnp.ones(3))


@jax.checkpoint
def loss(x):
    @jax.checkpoint
    def inner(x):
        return jnp.sin(x * table[...])

    return jnp.sum(inner(x))


STAGE = "call"
loss(jnp.ones(3))
STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
'''

_KEPT = '''\
import jax
import jax.numpy as jnp


@jax.custom_vjp
def stash(ref, x):
    return x


def stash_fwd(ref, x):
    return x, ref


def stash_bwd(ref, cotangent):
    ref[...] = cotangent
    return None, cotangent


stash.defvjp(stash_fwd, stash_bwd)


@jax.checkpoint
def loss(x):
    gradient = jax.new_ref(jnp.zeros(3))
    return jnp.sum(jnp.sin(stash(gradient, jnp.sin(x))))


STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
'''

_KEPT_GOOD = (
    _KEPT.replace("    gradient = jax.new_ref(jnp.zeros(3))\n", "")
    .replace("def loss(x):", "def loss(x, gradient):")
    .replace("(loss)(jnp.ones(3))", "(loss)(jnp.ones(3), jax.new_ref(jnp.zeros(3)))")
)

_TEXT = "a mutable array reference"

RULE = Rule(
    code="JXP405",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.new_ref", "jax.empty_ref", "jax.Ref", "jax.experimental.mutable_array"),
    examples=(
        Example(_BAD, _GOOD, Raises("ValueError", _TEXT, "grad", since="0.12.0")),
        Example(_KEPT, _KEPT_GOOD, Raises("ValueError", _TEXT, "grad", since="0.12.0")),
    ),
    check=check,
)
