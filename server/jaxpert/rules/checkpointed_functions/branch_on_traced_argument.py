"""A checkpointed function asks for the value of an argument that is traced.

## What it finds

In a function under `jax.checkpoint` or one of its relatives: `if`, `while`, `assert`, a conditional expression,
`and`, `or`, `not`, a chained comparison, `in`, `match`, `bool()`, `int()`, `float()`, `range()`, `min()`, `max()`,
`.item()`, the index of a Python list, a boolean mask as an index, or a function of NumPy, on an argument that is not
static, or on something computed from it. It is followed through local assignments and into functions defined inside.

## Why it matters

`jax.checkpoint` traces the function, also outside of `jit`: every argument, a Python bool or int as well, becomes a
tracer, which has no value. The same code works without `jax.checkpoint`. JAX raises when the function is called:

    TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].

`int()`, `float()` and `.item()` give `ConcretizationTypeError`, `range()` and list indices
`TracerIntegerConversionError`, masks `NonConcreteBooleanIndexError`, NumPy `TracerArrayConversionError`.

## In which versions

All, with and without `jax_remat3`. Before 0.4.36 it is always a `ConcretizationTypeError`. `static_argnames` of
`jax.checkpoint`, which exists from 0.10.2 on, makes nothing static unless `jax_remat3` is on.

## What to write instead

For a flag or another plain Python value: `static_argnums`, and pass it by position. `flax.linen.remat` counts `self`
as 0. For arrays: `jnp.where`, `jax.lax.cond`, `jax.lax.while_loop`, `jax.lax.fori_loop`, and `jnp` for `np`.

## Known limits

A bare `if flag:` is reported only when an annotation or a call in the same file shows that `flag` is a number or an
array: it may be None or a list. Defaults that no call overrides stay plain Python values and are fine, except under
`nnx.remat`. Not followed: attributes, values from unknown functions, parameters that the function looks at with
`isinstance`. `equinox.filter_checkpoint` traces arrays only.

## Source

`jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8, Haiku 0.0.17 and Equinox 0.13.8.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.conversions import Conversion
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.traced_arguments import TracedArgument, converted_arguments
from jaxpert.model.transforms import Checkpoint, Parameters, static_indices
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "branch-on-traced-argument"

_OWN_BOOL_ERROR = Version("0.4.36")
_ARRAY_CURES = {
    "while": "use `jax.lax.while_loop`",
    "range()": "use `jax.lax.fori_loop`",
    "[]": "index a `jnp` array",
    "match": "use `jax.lax.switch`",
    "min()": "use `jnp.minimum`",
    "max()": "use `jnp.maximum`",
}


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A conversion, the checkpoint that makes it one, and where it is reported.

    ``used_as_arrays``: parameters that another conversion of the function shows to be arrays.
    """

    checkpoint: Checkpoint
    known: Parameters
    arguments: dict[str, TracedArgument]
    conversion: Conversion
    used_as_arrays: frozenset[str]
    model: FileModel
    range: Range


def check(model: FileModel) -> Iterator[Finding]:
    """Conversions of traced arguments in functions that this file checkpoints."""
    for place in _places(model):
        exception, text, exceptions = _raised(model, place.conversion)
        function = place.known.display
        tracer = _passer(place) or place.checkpoint.api.name
        yield Finding(
            NAME,
            place.range,
            f"{_problem(place)}, which `{tracer}` traces: JAX raises when `{function}` is called; "
            f"{_cure(model, place)}",
            Severity.ERROR,
            raises(model, f"when `{function}` is called", exception, text),
            _related(model, place),
            exceptions=exceptions,
        )


def _places(model: FileModel) -> Iterator[_Place]:
    for checkpoint in model.checkpoints:
        if model.is_dead(checkpoint.site.block):
            continue
        for known, arguments, conversion, arrays in converted_arguments(model, checkpoint):
            owner = known.function.model or model
            where = model.range_of(conversion.node if owner is model else checkpoint.node)
            if where is not None:
                yield _Place(checkpoint, known, arguments, conversion, arrays, owner, where)


def _problem(place: _Place) -> str:
    conversion = place.conversion
    text = place.model.text_of(conversion.node)
    shown = text if len(text) <= 60 else text[:57] + "…"
    names = " and ".join(f"`{name}`" for name in sorted(conversion.traced.names))
    if conversion.where == "[]" and conversion.how != "mask":
        container = "list" if conversion.how == "index" else "dictionary"
        return f"the {container} index `{shown}` asks for the value of {names}"
    if conversion.where in ("if", "while", "assert", "not", "match"):
        shown = f"{conversion.where} {shown}"
    elif conversion.where in ("and", "or"):
        shown = f"{shown} {conversion.where} …"
    return f"`{shown}` asks for the value of {names}"


def _passer(place: _Place) -> str:
    """The transformation that passes a tracer from outside; "" when there is none."""
    return next((by for name in sorted(place.conversion.traced.names) if (by := place.arguments[name].passed_by)), "")


def _cure(model: FileModel, place: _Place) -> str:
    name, index = _static_candidate(place)
    where = place.conversion.where
    arrays = f"use `j{where}`" if place.conversion.how == "numpy" else _ARRAY_CURES.get(where)
    if place.conversion.how == "mask":
        arrays = "use `jnp.where` with three arguments"
    if arrays is None and place.conversion.how == "bool":
        arrays = "use `jnp.where` or `jax.lax.cond`"
    arrays = arrays or "keep it an array"
    if "static_argnums" not in place.checkpoint.api.roles:
        return arrays
    if passer := _passer(place):
        return f"{arrays} (`{passer}` passes tracers: `static_argnums` does not help)"
    if name and index is None:
        if model.target.remat3 and "static_argnames" in place.checkpoint.api.roles:
            return f'mark `{name}` with `static_argnames=("{name}",)` if it is a plain Python value, or {arrays}'
        return (
            f"an argument that can only be passed by keyword cannot be static: {arrays}, "
            f"or bind `{name}` with `functools.partial` before wrapping"
        )
    if not name:
        return f"{arrays} (`static_argnums` helps only where a plain Python value is passed)"
    cure = f"mark `{name}` with `static_argnums=({index},)` if it is a plain Python value"
    if place.checkpoint.role("static_argnames") is not None and not model.target.remat3:
        cure += " (`static_argnames` has no effect without `jax_remat3`)"
    return f"{cure}, or {arrays} if it is an array"


def _static_candidate(place: _Place) -> tuple[str, int | None]:
    """The one parameter that may be made static, and its number; "" when there is none."""
    traced, api = place.conversion.traced, place.checkpoint.api
    if len(traced.names) != 1 or traced.needs_array or "static_argnums" not in api.roles:
        return "", None
    argument = place.arguments[next(iter(traced.names))]
    if argument.passed_by:
        return "", None
    is_array = argument.is_array or argument.name in place.used_as_arrays
    is_alone = len(place.arguments) == 1 and not place.known.takes_more  # nothing would be left to trace
    return ("", None) if is_array or is_alone else (argument.name, argument.index)


def _raised(model: FileModel, conversion: Conversion) -> tuple[str, str, tuple[str, ...]]:
    """Exception, its text, and the names of what code that expects it may catch."""
    if conversion.how == "index":
        text = "The __index__() method was called on traced array"
        return "TracerIntegerConversionError", text, ("TracerIntegerConversionError", "TypeError")
    if conversion.how == "numpy":
        text = "The numpy.ndarray conversion method __array__() was called on traced array"
        return "TracerArrayConversionError", text, ("TracerArrayConversionError", "TypeError")
    if conversion.how == "mask":
        text = "Array boolean indices must be concrete"
        return "NonConcreteBooleanIndexError", text, ("NonConcreteBooleanIndexError", "IndexError")
    if conversion.how == "key":
        if model.target.version < _OWN_BOOL_ERROR:
            return "KeyError", "Traced<ShapedArray(…)>", ("KeyError",)
        return "TypeError", "unhashable type: 'DynamicJaxprTracer'", ("TypeError",)
    both = ("TracerBoolConversionError", "ConcretizationTypeError")
    if conversion.how == "bool":
        name = both[model.target.version < _OWN_BOOL_ERROR]
        return name, "Attempted boolean conversion of traced array", both
    return "ConcretizationTypeError", "Abstract tracer value encountered where concrete value is expected", both[1:]


def _related(model: FileModel, place: _Place) -> tuple[Related, ...]:
    name = place.known.display
    if place.model is not model:
        area = place.model.range_of(place.conversion.node)
        return (Related(area, f"here, in `{name}`", place.model.path),) if area is not None else ()
    area = model.range_of(place.checkpoint.node)
    return (Related(area, f"`{name}` is wrapped here"),) if area is not None else ()


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make the parameter static where the function is wrapped."""
    for place in _places(model):
        name, index = _static_candidate(place)
        if place.range != finding.range or index is None or not place.arguments[name].always_by_position:
            continue
        indices = static_indices(model, place.checkpoint)
        if indices is None:
            continue
        together = sorted({*indices, index})
        value = f"({', '.join(map(str, together))}{',' if len(together) == 1 else ''})"
        edits = _wrapped_with(model, place.checkpoint, value)
        if edits:
            safety = Safety.SAFE if place.arguments[name].is_flag else Safety.UNSAFE
            return Fix(f"Make `{name}` static with `static_argnums={value}`", safety, edits)
    return None


def _wrapped_with(model: FileModel, checkpoint: Checkpoint, value: str) -> tuple[Edit, ...] | None:
    """Give the wrapper ``static_argnums``: in its call, or by ``functools.partial`` around a bare decorator."""
    lines, node, call = model.source.lines, checkpoint.node, checkpoint.call
    where = model.range_of(node)
    given = checkpoint.role("static_argnums")
    if where is None or (given is not None and given.keyword is None):
        return None
    if isinstance(node, ast.Call) and call is not None:
        inner = model.range_of(call.node)
        options = call.node is node or call.node is node.func  # `nnx.remat(…)(f)` has them in the inner call
        return verbs.set_keyword(lines, inner, "static_argnums", value) if options and inner is not None else None
    if not checkpoint.by_decorator or isinstance(node, ast.Call) or (call is not None and not call.is_partial):
        return None
    if call is None and "callable_without_fun" in checkpoint.api.traits:
        return verbs.call_expression(lines, where, f"static_argnums={value}")
    partial = ensure_import(lines, "from functools import partial", where.start)
    name = partial.name if partial is not None else ""
    if partial is None or partial.edits:
        partial = ensure_import(lines, "import functools", where.start)
        name = f"{partial.name}.partial" if partial is not None else ""
    if partial is None:
        return None
    edits = verbs.replace_expression(lines, where, f"{name}({model.text_of(node)}, static_argnums={value})")
    return (*partial.edits, *edits) if edits else None


_FLAG = '''\
import jax
import jax.numpy as jnp


def block(x, train):
    if train:
        x = jnp.sin(x)
    return jnp.sum(x)


STAGE = "decorate"
block_remat = jax.checkpoint(block)
STAGE = "call"
block_remat(jnp.ones(3), True)
'''

_ARRAY = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def clipped(x):
    if jnp.sum(x) > 1.0:
        return jnp.sin(x)
    return x


STAGE = "call"
clipped(jnp.ones(3))
'''

_ARRAY_GOOD = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def clipped(x):
    return jnp.where(jnp.sum(x) > 1.0, jnp.sin(x), x)


STAGE = "call"
clipped(jnp.ones(3))
'''

_TEXT = "Attempted boolean conversion of traced array"

RULE = Rule(
    code="JXP103",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    examples=(
        Example(
            bad=_FLAG,
            good=_FLAG.replace("jax.checkpoint(block)", "jax.checkpoint(block, static_argnums=(1,))"),
            proof=Raises("TracerBoolConversionError", _TEXT, "call", since="0.4.36"),
        ),
        Example(bad=_ARRAY, good=_ARRAY_GOOD, proof=Raises("TracerBoolConversionError", _TEXT, "call", since="0.4.36")),
    ),
    check=check,
    fix=fix,
)
