"""A loop wraps a new function on each turn, so that JAX traces it again and again.

## What it finds

Outside of any trace, a Python loop that makes a lambda, a nested function, a `functools.partial` or a bound method,
wraps it with `jax.checkpoint` and calls it; or that calls a function which does.

## Why it matters

`jax.checkpoint` remembers the traced program by the identity of the function. The same function wrapped again is found,
a new one is not: Python runs its body and JAX traces it on every turn, which is some times slower than the call itself.
Nothing is raised.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

Wrap once, before the loop, and pass what changes as argument. A bound method is a new object each time it is read, so
`layer = jax.checkpoint(self.layer)` belongs before the loop too. Under `jax.jit` the loop runs once, while tracing.

## Known limits

Reported only where it is certain that Python runs the loop eagerly: at module level, and in functions of the file that
are called from there and used in no other way.

## Source

`_trace_to_jaxpr` in `jax/_src/ad_checkpoint.py`; traces counted on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.model.checkpoint_places import body_of, called_in, eager_calls, is_eager, loop_around, made_anew
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import Def, Partial
from jaxpert.rulekit.rule import Example, Finding, Related, Rule, Severity, Silent

NAME = "checkpoint-retraced"


def check(model: FileModel) -> Iterator[Finding]:
    """Wrappers of functions that are made anew on each turn of an eager loop."""
    for checkpoint in model.checkpoints:
        if checkpoint.api.library != "jax" or model.is_dead(checkpoint.site.block):
            continue
        found = _loop(model, checkpoint)
        where = model.range_of(checkpoint.node)
        if found is None or where is None:
            continue
        what = _what(checkpoint)
        yield Finding(
            NAME,
            where,
            f"each turn of the loop wraps {what} anew, and JAX traces it again; wrap it once, before the loop",
            Severity.INFORMATION,
            silent(model, "the body is traced on every turn, not once"),
            found,
        )


def _loop(model: FileModel, checkpoint: Checkpoint) -> tuple[Related, ...] | None:
    """The loop in another function, () for one around the wrapper itself; None when there is none."""
    site = checkpoint.site
    loop = loop_around(site.block, site.scope)
    if loop is not None:
        fits = made_anew(checkpoint, loop) and called_in(model, checkpoint, loop) and is_eager(model, site.scope)
        return () if fits else None
    inside = site.scope.function()
    body = body_of(inside) if inside is not None else None
    if inside is None or body is None or not made_anew(checkpoint, body) or not called_in(model, checkpoint, body):
        return None
    for call in eager_calls(model, inside) or ():
        if loop_around(call.block, call.scope) is not None:
            area = model.range_of(call.node)
            return (Related(area, "called in a loop here"),) if area is not None else ()
    return None


def _what(checkpoint: Checkpoint) -> str:
    target = checkpoint.target
    if isinstance(target, Partial):
        return "a partial that is made"
    if isinstance(target, Def) and target.name == "lambda":
        return "a lambda that is made"
    name = target.name if isinstance(target, Def) else "a function"
    return f"`{name}`, which is bound" if isinstance(target, Def) and target.bound else f"`{name}`, which is defined"


_BAD = '''\
import jax
import jax.numpy as jnp

class Layer:
    traces = 0

    def __call__(self, x):
        type(self).traces += 1
        return jnp.sin(x)


layer = Layer()
x = jnp.ones(3)
for _ in range(4):
    x = jax.checkpoint(lambda h: layer(h))(x)
'''

_GOOD = _BAD.replace("for _", "layer_remat = jax.checkpoint(layer)\nfor _").replace(
    "jax.checkpoint(lambda h: layer(h))(x)", "layer_remat(x)"
)

RULE = Rule(
    code="JXP126",
    name=NAME,
    severity=Severity.INFORMATION,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(Example(bad=_BAD, good=_GOOD, proof=Silent("Layer.traces == 4")),),
    check=check,
)
