"""A static argument of a checkpointed function is passed by keyword.

## What it finds

A call of a checkpointed function, directly, through `jax.grad` or `jax.jit`, or through `functools.partial`, that
passes by keyword a parameter which `static_argnums` makes static. That the function is wrapped in another module of
the workspace, or is a linen module, makes no difference.

## Why it matters

`static_argnums` counts positional arguments only. An argument passed by keyword is not among them: its number is then
out of range, or means another argument, and the one you meant is traced. JAX raises at the call:

    ValueError: the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater
    than or equal to `-len(args)` and less than `len(args)`, but got (1,), while `len(args)` = 1

## In which versions

All. With `jax_remat3` on, and for negative numbers, nothing is raised at once: the argument is traced, and the first
`if` on it raises. `flax.linen.partitioning.remat` drops keyword arguments without a word.

## What to write instead

Pass it by position.

## Known limits

Calls in other files than the one that is checked, and calls through containers and loops over them, are not seen.
`nnx.remat` turns keywords into positional arguments, so they are fine there, except with `graph=False` or
`graph_updates=False`.

## Source

`_remat_static_argnums` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8 and Haiku
0.0.17.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.transforms import Checkpoint, Parameters, fills_defaults, marked, parameters, static_indices
from jaxpert.model.wrapped_calls import Passed, WrappedCall, called_checkpoints, passed, wrapped_calls
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range, range_at

NAME = "static-argument-by-keyword"


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A static argument passed by keyword."""

    checkpoint: Checkpoint
    known: Parameters
    index: int
    name: str
    call: WrappedCall
    passed: Passed
    keyword: ast.keyword
    range: Range


def check(model: FileModel) -> Iterator[Finding]:
    """Keywords of calls that name a static parameter."""
    for place in _places(model):
        consequence, severity, exceptions = _effect(model, place)
        yield Finding(
            NAME,
            place.range,
            f"`{place.name}` of `{place.known.display}` is static (`static_argnums` {place.index}), but that counts "
            f"positional arguments only: {_clause(place, severity)}; pass it by position",
            severity,
            consequence,
            tuple(_related(model, place)),
            exceptions=exceptions,
        )


def _places(model: FileModel) -> Iterator[_Place]:
    for checkpoint in called_checkpoints(model):
        indices = static_indices(model, checkpoint)
        known = parameters(model, checkpoint) if indices else None
        if not indices or known is None or fills_defaults(checkpoint) is not False:
            continue
        static = {name: index for index in indices if (name := marked(checkpoint.api, known, index)) is not None}
        honoured = _static_by_name(model, checkpoint)
        for call in wrapped_calls(model, checkpoint):
            if model.is_dead(call.site.block):
                continue
            args = passed(known, call)
            for name, index in static.items():
                passing = args.arguments.get(name)
                where = model.range_of(passing.keyword) if passing is not None and passing.keyword is not None else None
                if passing is None or passing.keyword is None or where is None or name in honoured:
                    continue
                yield _Place(checkpoint, known, index, name, call, args, passing.keyword, where)


def _static_by_name(model: FileModel, checkpoint: Checkpoint) -> frozenset[str]:
    """Names that ``static_argnames`` makes static as well, where that counts."""
    argument = checkpoint.role("static_argnames")
    if argument is None or not model.target.remat3:
        return frozenset()
    found = [node.value for node in ast.walk(argument.node) if isinstance(node, ast.Constant)]
    return frozenset(name for name in found if isinstance(name, str))


def _effect(model: FileModel, place: _Place) -> tuple[str, Severity, tuple[str, ...]]:
    """What JAX does, how bad that is, and what it raises."""
    if "argnums_iterable" in place.checkpoint.api.traits:
        if place.name not in place.known.defaults:
            text = f"{place.known.display}() missing 1 required positional argument: '{place.name}'"
            return raises(model, _when(place), "TypeError", text), Severity.ERROR, ("TypeError",)
        return silent(model, f"the argument is dropped and `{place.name}` keeps its default"), Severity.WARNING, ()
    if place.index < 0 or model.target.remat3:
        return silent(model, f"`{place.name}` is traced, and the first `if` on it raises"), Severity.WARNING, ()
    text = (
        "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater than or "
        f"equal to `-len(args)` and less than `len(args)`, but got ({place.index},)"
    )
    return raises(model, _when(place), "ValueError", text), Severity.ERROR, ("ValueError",)


def _clause(place: _Place, severity: Severity) -> str:
    if "argnums_iterable" in place.checkpoint.api.traits:
        return f"`{place.checkpoint.api.name}` drops this one"
    return f"JAX raises {_when(place)}" if severity is Severity.ERROR else "this one is traced"


def _when(place: _Place) -> str:
    return "when this partial is called" if place.call.is_partial else "at this call"


def _related(model: FileModel, place: _Place) -> Iterator[Related]:
    argument = place.checkpoint.role("static_argnums")
    area = argument.model.range_of(argument.node) if argument is not None else None
    if argument is not None and area is not None:
        path = "" if argument.model is model else argument.model.path
        yield Related(area, f"`{place.name}` is made static here", path)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Pass it, and the arguments before it, by position."""
    for place in model.every(_places):
        if place.range != finding.range or place.call.transformed or place.call.is_partial:
            continue
        edits = _by_position(model, place)
        return Fix(f"Pass `{place.name}` by position", Safety.SAFE, edits) if edits else None
    return None


def _by_position(model: FileModel, place: _Place) -> tuple[Edit, ...] | None:
    """Every parameter up to this one given by position; None when one of them is not given, or stands elsewhere."""
    node, lines = place.call.site.node, model.source.lines
    wanted = place.known.names[place.passed.positional : place.known.names.index(place.name) + 1]
    first = node.keywords[: len(wanted)]
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    if tuple(keyword.arg for keyword in first) == wanted:
        edits = [_without_name(lines, model.range_of(keyword)) for keyword in first]
        return tuple(edit for edit in edits if edit) if all(edits) else None
    given = {keyword.arg: keyword for keyword in node.keywords}
    where = model.range_of(node)
    if where is None or where.start.line != where.end.line or any(name not in given for name in wanted):
        return None
    values = [*node.args, *(given[name].value for name in wanted)]
    others = [keyword for keyword in node.keywords if keyword.arg not in wanted]
    rest = [model.text_of(keyword) if keyword.arg else f"**{model.text_of(keyword.value)}" for keyword in others]
    arguments = ", ".join([*map(model.text_of, values), *rest])
    return verbs.replace_expression(lines, where, f"{model.text_of(node.func)}({arguments})")


def _without_name(lines: Sequence[str], keyword: Range | None) -> Edit | None:
    """Take ``name=`` away from an argument."""
    if keyword is None:
        return None
    (line, start), _ = keyword
    name = re.compile(r"\w+ *= *").match(lines[line], start)
    return Edit(range_at(line, start, line, name.end()), "") if name else None


_BAD = '''\
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.checkpoint, static_argnums=(1,))
def block(x, train):
    if train:
        x = jnp.sin(x)
    return jnp.sum(x)


STAGE = "call"
block(jnp.ones(3), train=True)
'''

RULE = Rule(
    code="JXP102",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("train=True)", "True)"),
            proof=Raises("ValueError", "can only take integer values greater than or equal to", "call", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
