"""A checkpointed function returns a string, a function or a plain object.

## What it finds

A function under `jax.checkpoint` or one of its relatives of which a `return` gives a string, a member of an
enumeration, a dtype, a function, a class, a set, or an object of a class that is no pytree, alone or inside a tuple,
list or dictionary; and generator functions and coroutines, whose result is never an array.

## Why it matters

`jax.checkpoint` traces the function, also outside of `jit`: every leaf of what it returns must be an array or a number.
The same code works without `jax.checkpoint`. JAX raises when the function is called:

    TypeError: function block at model.py:4 traced for checkpoint / remat returned a value of type <class 'str'> at
    output component [1], which is not a valid JAX type

## In which versions

All, with and without `jax_remat3`. The text is this one from 0.6.2 on; before, `Argument 'name' of type <class 'str'>
is not a valid JAX type`, and up to 0.4.38 `Value 'name' with type <class 'str'> is not a valid JAX type`.

## What to write instead

Return arrays, numbers, None, and containers of them. What does not depend on the arguments can be returned by a
function around the checkpointed one.

## Known limits

A result of which only one of several values is known is not reported, nor what a parameter's default brings in.
`equinox.filter_checkpoint` lets any result through.

## Source

`check_valid_jaxtype` in `jax/_src/core.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.model.file_model import FileModel
from jaxpert.model.refused_types import Refused, refused_results
from jaxpert.model.speech import raises
from jaxpert.model.transforms import Checkpoint, Parameters, parameters, traces_only_arrays
from jaxpert.rulekit.rule import Example, Finding, Raises, Related, Rule, Severity

NAME = "non-array-result"

_SAYS_ARGUMENT = Version("0.5.0")
_SAYS_FUNCTION = Version("0.6.2")


def check(model: FileModel) -> Iterator[Finding]:
    """Results that are no arrays, of functions that this file checkpoints."""
    for checkpoint in model.checkpoints:
        if traces_only_arrays(checkpoint.api) or model.is_dead(checkpoint.site.block):
            continue
        known = parameters(model, checkpoint)
        if known is not None:
            for part, refused in refused_results(model, known.function):
                yield from _finding(model, checkpoint, known, part, refused)


def _finding(
    model: FileModel, checkpoint: Checkpoint, known: Parameters, part: ast.expr | None, refused: Refused
) -> Iterator[Finding]:
    owner = known.function.model or model
    wrapped = model.range_of(checkpoint.node)
    where = model.range_of(part) if part is not None and owner is model else wrapped
    if where is None:
        return
    text = owner.text_of(part) if part is not None else ""
    display = known.display
    what = f"`{display}` returns {refused.words}" + (f", `{text}`," if text and len(text) <= 60 else "")
    if refused.words in ("a generator", "a coroutine"):
        what = f"`{display}` is {'a generator function' if refused.words == 'a generator' else 'a coroutine'}"
    yield Finding(
        NAME,
        where,
        f"{what} which `{checkpoint.api.name}` cannot trace: JAX raises when `{display}` is called; return arrays and "
        "leave the rest to a function around it",
        Severity.ERROR,
        raises(model, f"when `{display}` is called", "TypeError", _text(model, known, refused)),
        () if wrapped is None or where == wrapped else (Related(wrapped, f"`{display}` is wrapped here"),),
        exceptions=("TypeError",),
    )


def _text(model: FileModel, known: Parameters, refused: Refused) -> str:
    version, shown = model.target.version, refused.type
    if version >= _SAYS_FUNCTION:
        by = "remat3" if model.target.remat3 else "checkpoint / remat"
        return f"function {known.function.name} at … traced for {by} returned a value of type {shown}"
    if version >= _SAYS_ARGUMENT:
        return f"Argument … of type {shown if refused.is_string else repr(shown)} is not a valid JAX type"
    return f"Value … with type {shown} is not a valid JAX type"


_BAD = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def block(x):
    return jnp.sum(jnp.sin(x)), "block"


STAGE = "call"
block(jnp.ones(3))
'''

_GENERATOR = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def halves(x):
    yield x / 2
    yield x / 4


STAGE = "call"
halves(jnp.ones(3))
'''

RULE = Rule(
    code="JXP122",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace(', "block"\n', "\n"),
            proof=Raises("TypeError", "type <class 'str'>", "call"),
        ),
        Example(
            bad=_GENERATOR,
            good=_GENERATOR.replace("    yield x / 2\n    yield x / 4", "    return x / 2, x / 4"),
            proof=Raises("TypeError", "<class 'generator'>", "call"),
        ),
    ),
    check=check,
)
