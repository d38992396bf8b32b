"""`jax.vmap` is asked to map an argument that has no such axis.

## What it finds

A number, or an array known to have too few axes, in a mapped place of a call of what `jax.vmap` made, by position or
by keyword (keyword arguments are always mapped); numbers in a dictionary; lists of numbers, whose items are mapped one
by one; arrays whose mapped axes have different sizes; and calls in which nothing holds an array at all.

## Why it matters

JAX raises at the call:

    ValueError: vmap was requested to map its argument along axis 0, which implies that its rank should be at least 1,
    but is only 0 (its shape is ())
    ValueError: vmap got inconsistent sizes for array axes to be mapped:
    ValueError: vmap wrapped function must be passed at least one argument containing an array or axis_size must be
    specified

## In which versions

All; where `axis_size` is given, from 0.10.2 on (measured on 0.9.2 and 0.10.2). Before, JAX checks nothing then, and
raises an `IndexError` at the latest where a number is computed with.

## What to write instead

`in_axes=(0, None)`: None for what is the same for the whole batch. A keyword argument cannot be left out: bind it
with `functools.partial`, or pass it by position. A list of numbers becomes one array with `jnp.array`. Of a
dictionary, `in_axes` says what is mapped key by key: `in_axes=({"x": 0, "rate": None},)`.

## Known limits

The shapes of arrays are known when the file shows where they are made.

## Source

`_mapped_axis_size` in `jax/_src/api.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing.static_names import unmapped
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.arrays import Arrays
from jaxpert.model.calls import Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.mapped_inside import is_vmap, mapped_inside
from jaxpert.model.speech import raises
from jaxpert.model.transformed_calls import Passed, TransformedCall, axes_of, looked_at, transformed_calls
from jaxpert.model.values import Literal, Sequence, Table, Value, string
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "vmap-over-scalar"

_SIZES_CHECKED = Version("0.10.2")

_RANK = (
    "vmap was requested to map its argument along axis {}, which implies that its rank should be at least {}, but is "
    "only {} (its shape is {})"
)
_NOTHING = (
    "vmap wrapped function must be passed at least one argument containing an array or axis_size must be specified"
)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A mapped argument with too few axes; ``holder``: of a list or dictionary, its item or the value at this key."""

    call: TransformedCall
    passed: Passed
    range: Range
    axis: int
    found: ArrayType
    holder: str


def check(model: FileModel) -> Iterator[Finding]:
    """Arguments with too few axes, of different sizes, or without any array."""
    for place in _places(model):
        yield _too_few_axes(model, place)
    for call in _mapped_calls(model):
        yield from _different_sizes(model, call)
        yield from _no_arrays(model, call)


def _mapped_calls(model: FileModel) -> Iterator[TransformedCall]:
    for call in transformed_calls(model):
        mapped = call if is_vmap(call.api) else mapped_inside(model, call)
        if mapped is None or model.is_dead(call.site.block):
            continue
        if model.target.version >= _SIZES_CHECKED or not _says_size(mapped):
            yield mapped


def _says_size(call: TransformedCall) -> bool:
    return call.options is not None and "axis_size" in call.options.arguments


def _places(model: FileModel) -> Iterator[_Place]:
    for call in _mapped_calls(model):
        for passed in looked_at(call) or ():
            axis = _axis(call, passed)
            where = model.range_of(passed.argument.node)
            found, holder = _type(passed.argument)
            if axis is None or where is None or found is None or found.rank is None:
                continue
            if found.rank < (axis + 1 if axis >= 0 else -axis):
                yield _Place(call, passed, where, axis, found, holder)


def _axis(call: TransformedCall, passed: Passed) -> int | None:
    """The axis of ``passed`` that is mapped."""
    axes = axes_of(call)
    if axes is None or passed.position is None:
        return 0
    if isinstance(axes, Sequence):
        axes = axes.items[passed.position] if passed.position < len(axes.items) else axes
    return axes.value if isinstance(axes, Literal) and type(axes.value) is int else None


def _type(argument: Argument) -> tuple[ArrayType | None, str]:
    """What an argument is; of a list, tuple or dictionary what its first number is, and where that stands."""
    arrays, place = Arrays(argument.model), (argument.site.scope, argument.site.block)
    value = argument.value
    if isinstance(value, Table):
        entries = [(string(key), arrays.value(item)) for key, item in value.entries] if value.exact else []
        found = [(one, f'"{key}"') for key, one in entries if key and isinstance(one, ArrayType) and one.rank == 0]
        return found[0] if found else (None, "{}")
    if isinstance(value, Sequence) and value.kind in ("list", "tuple"):
        items = [arrays.value(item) for item in value.items]
        numbers = [one for one in items if isinstance(one, ArrayType) and one.rank == 0]
        return (numbers[0] if numbers else None), "[]"
    return arrays.of(argument.node, place), ""


def _too_few_axes(model: FileModel, place: _Place) -> Finding:
    shown = model.text_of(place.passed.argument.node)
    rank = place.found.rank or 0
    axes = f"axis {place.axis}"
    what = (
        f"`{shown}` holds numbers"
        if place.holder == "[]"
        else f"the value of `{place.holder}` has no axes"
        if place.holder
        else f"`{shown}` has no axes"
        if not rank
        else f"`{shown}` has no {axes}"
    )
    needed = place.axis + 1 if place.axis >= 0 else -place.axis
    shape = str(place.found.shape).replace("None", "…")
    name = place.passed.name
    if place.holder == "[]":
        advice = f"write `jnp.array({shown})`"
    elif place.passed.position is None:
        what, axes = f"{what}, and keyword arguments are always mapped", "that"
        advice = f"bind `{name}` with `functools.partial`, or pass it by position and give it None in `in_axes`"
    elif place.holder:
        advice = f"say so in `in_axes` by a dictionary with its keys, as in `{{{place.holder}: None, …}}`"
    else:
        advice = (
            f"give {f'`{name}`' if name else 'it'} None in `in_axes`"
            if not rank
            else "choose another axis in `in_axes`"
        )
    area = place.call.owner.range_of(place.call.made_by.node) if place.call.owner is model else None
    return Finding(
        NAME,
        place.range,
        f"{what}: `jax.vmap` cannot map {axes} and raises ValueError at this call; {advice}",
        Severity.ERROR,
        raises(model, "at this call", "ValueError", _RANK.format(place.axis, needed, rank, shape)),
        (Related(area, "mapped here"),) if area is not None and not _inside(place.range, area) else (),
        exceptions=("ValueError",),
    )


def _inside(inner: Range, outer: Range) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _different_sizes(model: FileModel, call: TransformedCall) -> Iterator[Finding]:
    sizes: list[tuple[int, Range]] = []
    for passed in looked_at(call) or ():
        axis, where = _axis(call, passed), model.range_of(passed.argument.node)
        found, holder = _type(passed.argument)
        if axis is None or where is None or found is None or found.shape is None or holder:
            continue
        if -len(found.shape) <= axis < len(found.shape):
            size = found.shape[axis]
            if size is not None:
                sizes.append((size, where))
    for size, where in sizes[1:]:
        if size != sizes[0][0]:
            yield Finding(
                NAME,
                where,
                f"this is mapped over {size} items and the first over {sizes[0][0]}: `jax.vmap` raises ValueError; map "
                "axes of one size, or give one of them None in `in_axes`",
                Severity.ERROR,
                raises(model, "at this call", "ValueError", "vmap got inconsistent sizes for array axes to be mapped:"),
                (Related(sizes[0][1], f"{sizes[0][0]} items"),),
                exceptions=("ValueError",),
            )
            return


def _no_arrays(model: FileModel, call: TransformedCall) -> Iterator[Finding]:
    where = model.range_of(call.site.node)
    given = [*call.positional, *call.keywords]
    if where is None or _says_size(call) or call.opened or not given or axes_of(call) is not None:
        return
    if all(_is_empty(argument.value) for argument in given):
        yield Finding(
            NAME,
            where,
            "no argument of this call holds an array, and `jax.vmap` raises ValueError: pass one, or say `axis_size`",
            Severity.ERROR,
            raises(model, "at this call", "ValueError", _NOTHING),
            exceptions=("ValueError",),
        )


def _is_empty(value: Value) -> bool:
    """Whether there is no leaf in ``value``."""
    if isinstance(value, Literal):
        return value.value is None
    if isinstance(value, Sequence):
        return value.exact and value.kind in ("list", "tuple") and all(map(_is_empty, value.items))
    return isinstance(value, Table) and value.exact and all(_is_empty(item) for _, item in value.entries)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Leave all numbers of the call unmapped."""
    places = list(_places(model))
    for place in places:
        if place.range != finding.range or place.passed.position is None or place.found.rank or place.holder:
            continue
        together = {
            other.passed.position
            for other in places
            if other.call is place.call and not (other.found.rank or other.holder)
            if other.passed.position is not None
        }
        if any(isinstance(one.node, ast.Starred) for one in place.call.positional):
            return None
        made = unmapped(model, place.call, together)
        return Fix(f"Leave it unmapped: `in_axes={made[0]}`", Safety.SAFE, made[1]) if made else None
    return None


_SCALAR = """\
import jax
import jax.numpy as jnp


def scale_by(x, scale):
    return x * scale


STAGE = "call"
jax.vmap(scale_by)(jnp.arange(3.0), 2.0)
"""

_KEYWORD = _SCALAR.replace("2.0)", "scale=2.0)")

_AXIS = """\
import jax
import jax.numpy as jnp

STAGE = "call"
jax.vmap(lambda x: x, in_axes=1)(jnp.ones(3))
"""

_SIZES = """\
import jax
import jax.numpy as jnp

STAGE = "call"
jax.vmap(lambda x, y: x + y)(jnp.ones(2), jnp.ones(3))
"""

_EMPTY = """\
import jax
import jax.numpy as jnp

STAGE = "call"
jax.vmap(lambda state: state)({})
"""

RULE = Rule(
    code="JXP604",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.vmap",),
    examples=(
        Example(
            bad=_SCALAR,
            good=_SCALAR.replace("vmap(scale_by)", "vmap(scale_by, in_axes=(0, None))"),
            proof=Raises("ValueError", "which implies that its rank should be at least 1, but is only 0", "call"),
        ),
        Example(
            bad=_KEYWORD,
            good=_KEYWORD.replace("import jax\n", "import functools\n\nimport jax\n", 1)
            .replace("vmap(scale_by)", "vmap(functools.partial(scale_by, scale=2.0))")
            .replace(", scale=2.0)\n", ")\n"),
            proof=Raises("ValueError", "which implies that its rank should be at least 1, but is only 0", "call"),
        ),
        Example(
            bad=_AXIS,
            good=_AXIS.replace("in_axes=1", "in_axes=0"),
            proof=Raises("ValueError", "rank should be at least 2, but is only 1", "call"),
        ),
        Example(
            bad=_SIZES,
            good=_SIZES.replace("jnp.ones(2)", "jnp.ones(3)"),
            proof=Raises("ValueError", "vmap got inconsistent sizes for array axes to be mapped", "call"),
        ),
        Example(
            bad=_EMPTY,
            good=_EMPTY.replace("({})", '({"x": jnp.ones(3)})'),
            proof=Raises("ValueError", "must be passed at least one argument containing an array", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
