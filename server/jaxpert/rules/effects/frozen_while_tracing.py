"""A checkpointed function takes a value from outside that JAX reads only once, while it traces.

## What it finds

In a function that `jax.checkpoint` (or a wrapper around it) makes:

- random numbers of NumPy and of `random`, also in helper functions: `np.random.normal()`, `rng.uniform()`;
- a variable of outside that gets another value between two calls of the function, or in the loop that calls it.

## Why it matters

JAX runs the Python code of the function once for each combination of shapes and dtypes and keeps the program that
comes out, also without `jit`. The number that was drawn, and the value that the variable had, are constants of that
program: every later call adds the same noise, drops the same layer, and uses the old learning rate. Nothing is
raised. Wrapping the same function with `jax.checkpoint` again does not help: JAX knows it by the function.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

`jax.random` with a key that is an argument, and values that change as arguments: `f(x, scale)`.

## Known limits

Changed variables are followed only in the file that has the function, where the calls stand in the scope that has the
variable and pass the same; attributes and items of objects are not followed. Random numbers with a fixed seed, as in
`np.random.default_rng(0).normal()`, and those that become part of a text, are not reported.

## Source

`jax.checkpoint` caches its trace by function and argument types; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.model.effect_kinds import EffectKind
from jaxpert.model.effect_places import effects_at, function_name, is_only_text, shown, ways
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.stale_names import stale_names
from jaxpert.rulekit.rule import Example, Finding, Related, Rule, Severity, Silent
from jaxpert.text.lines import Range

NAME = "frozen-while-tracing"


def check(model: FileModel) -> Iterator[Finding]:
    """Random numbers and changed variables in checkpointed functions."""
    for checkpoint, effect, where in effects_at(model, {EffectKind.RANDOM}):
        if is_only_text(effect):
            continue
        function = function_name(model, checkpoint)
        yield Finding(
            NAME,
            where,
            f"`{shown(effect)}` runs once, while JAX traces `{function}`: every later call uses the same number; use "
            "`jax.random` with a key that is an argument",
            Severity.WARNING,
            silent(model, f"`{function}` is traced once for each combination of shapes and then reused"),
            ways(model, checkpoint, effect, where),
        )
    seen: set[Range] = set()
    for checkpoint in model.checkpoints:
        if model.is_dead(checkpoint.site.block):
            continue
        for stale in stale_names(model, checkpoint):
            area, changed = model.range_of(stale.read), model.range_of(stale.change.node)
            if area is None or changed is None or area in seen:
                continue
            seen.add(area)
            function, name = function_name(model, checkpoint), stale.read.id
            how = "the loop that calls it changes it" if stale.in_loop else "it changes before a later call"
            called = model.range_of(stale.call.site.node)
            yield Finding(
                NAME,
                area,
                f"`{name}` is read once, while JAX traces `{function}`: {how}, which `{function}` does not see; pass "
                f"`{name}` as an argument",
                Severity.WARNING,
                silent(model, f"`{function}` is traced once for each combination of shapes and then reused"),
                (
                    Related(changed, f"`{name}` changes here"),
                    *([Related(called, f"`{function}` runs with the old value here")] if called is not None else []),
                ),
            )


_RANDOM = '''\
import jax
import numpy as np


@jax.checkpoint
def noisy(x):
    return x + np.random.normal()


STAGE = "call"
results = {float(noisy(1.0)) for _ in range(3)}
'''

_RANDOM_GOOD = '''\
import jax


@jax.checkpoint
def noisy(x, key):
    return x + jax.random.normal(key)


STAGE = "call"
results = {float(noisy(1.0, key)) for key in jax.random.split(jax.random.PRNGKey(0), 3)}
'''

_CHANGED = '''\
import jax

scale = 1.0


@jax.checkpoint
def scaled(x):
    return x * scale


STAGE = "call"
results = {float(scaled(1.0))}
scale = 2.0
results.add(float(scaled(1.0)))
'''

_CHANGED_GOOD = '''\
import jax


@jax.checkpoint
def scaled(x, scale):
    return x * scale


STAGE = "call"
scale = 1.0
results = {float(scaled(1.0, scale))}
scale = 2.0
results.add(float(scaled(1.0, scale)))
'''

RULE = Rule(
    code="JXP409",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(_RANDOM, _RANDOM_GOOD, Silent("len(results) == 1")),
        Example(_CHANGED, _CHANGED_GOOD, Silent("len(results) == 1")),
    ),
    check=check,
)
