"""A checkpointed function keeps a traced value somewhere that outlives it.

## What it finds

A value that comes from the arguments of a checkpointed function, appended to an outer list, stored in an outer
dictionary or set, assigned to a `global` or `nonlocal` name, or to an attribute of an object from outside, in the
function or in helpers that it calls.

## Why it matters

Inside, values are tracers: stand-ins that mean something only while JAX traces the function. What is kept is the
stand-in, not the array. Printing it shows `Traced<float32[3]>`, and computing with it raises:

    UnexpectedTracerError: Encountered an unexpected tracer. A function transformed by JAX had a side effect, allowing
    for a reference to an intermediate value with type float32[3] … to escape the scope of the transformation.

Besides, the function is traced once and not at every call, so only the first call keeps anything.

## In which versions

All, with and without `jax_remat3`, also when the function is called without `jit` and `grad`.

## What to write instead

Return the value: `return y, hidden`, and store it where the function is called. To look at values, use
`jax.debug.callback`. Module state belongs to the wrapper of the library: `nnx.remat`, `flax.linen.remat`.

## Known limits

Values are followed through assignments, arithmetic and the usual array functions, and through calls of your own
functions in the way the shortest of them goes. Attributes of `self` under the wrappers of Flax and Haiku are left
out, and so are functions that ask for tracers by name (`isinstance(x, jax.core.Tracer)`).

## Source

`jax.checkpoint` traces its function to a jaxpr; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.model.effect_kinds import EffectKind
from jaxpert.model.effect_paths import traced_operand
from jaxpert.model.effect_places import asks_for_tracers, effects_at, function_name, shown, traced_body, ways
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.rulekit.rule import Example, Finding, Raises, Rule, Severity

NAME = "tracer-leak"

_KINDS = frozenset({EffectKind.NAME, EffectKind.ATTRIBUTE, EffectKind.CONTAINER})


def check(model: FileModel) -> Iterator[Finding]:
    """Traced values that checkpointed functions keep."""
    for checkpoint, effect, where in effects_at(model, _KINDS):
        is_attribute = effect.kind is EffectKind.ATTRIBUTE or "." in effect.name
        if not effect.is_sure or not effect.stored or (is_attribute and checkpoint.api.library != "jax"):
            continue
        if asks_for_tracers(effect):
            continue
        body = traced_body(model, checkpoint)
        kept = traced_operand(body, effect, effect.stored) if body is not None else None
        if kept is None:
            continue
        function = function_name(model, checkpoint)
        does = f"`{shown(effect)}`" if isinstance(effect.node, ast.Call) else f"assigning `{effect.name}`"
        yield Finding(
            NAME,
            where,
            f"{does} keeps the tracer `{effect.model.text_of(kept)}` beyond the trace of `{function}`, where using it "
            "raises UnexpectedTracerError; return it and store the result",
            Severity.WARNING,
            silent(model, "until the kept value is used, which raises UnexpectedTracerError"),
            ways(model, checkpoint, effect, where),
            exceptions=("UnexpectedTracerError",),
        )


_BAD = '''\
import jax
import jax.numpy as jnp

activations = []


@jax.checkpoint
def block(x):
    hidden = jnp.sin(x)
    activations.append(hidden)
    return jnp.sum(jnp.sin(hidden))


block(jnp.ones(3))
STAGE = "call"
activations[0] + 1
'''

_GOOD = '''\
import jax
import jax.numpy as jnp

activations = []


@jax.checkpoint
def block(x):
    hidden = jnp.sin(x)
    return jnp.sum(jnp.sin(hidden)), hidden


activations.append(block(jnp.ones(3))[1])
STAGE = "call"
activations[0] + 1
'''

RULE = Rule(
    code="JXP407",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(Example(_BAD, _GOOD, Raises("UnexpectedTracerError", "Encountered an unexpected tracer", "call")),),
    check=check,
)
