"""A checkpointed function makes a shape, an axis or the bounds of a slice out of a traced argument.

## What it finds

In a function under `jax.checkpoint` or one of its relatives: an argument that is not static, or something computed
from it, as shape (`jnp.zeros(n)`, `x.reshape(n, -1)`, `jax.random.normal(key, (n,))`), as size (`jnp.arange(n)`,
`jnp.linspace(0, 1, n)`, `jnp.split(x, n)`, `jax.nn.one_hot(x, n)`, `jax.random.split(key, n)`), as axis
(`jnp.sum(x, axis=n)`), as length of a scan, or as bound of a slice (`x[:n]`).

## Why it matters

The size of every array has to be known while JAX traces, and `jax.checkpoint` makes a tracer of every argument, also
of a Python int and also outside of `jit`. JAX raises when the function is called:

    TypeError: Shapes must be 1D sequences of concrete values of integer type, got (JitTracer(~int32[]),).

For sizes and axes it is `ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected`,
for slices `IndexError: Array slice indices must have static start/stop/step to be used with NumPy indexing syntax.`

## In which versions

All, with and without `jax_remat3`. `jax.random.split` says "As of JAX v0.7, parameters to jaxpr equations must have
__hash__ and __eq__ methods" from 0.7 on.

## What to write instead

`static_argnums`, and pass the number by position; or take it from the shape of an array that is passed anyway. A slice
of constant length at a traced place is `jax.lax.dynamic_slice_in_dim(x, start, length)`.

## Known limits

An axis, the length of a scan and the bound of a slice may be None, so an argument of which nothing is known is not
reported there. Functions of other libraries are not looked at. What is not followed is listed under
*branch-on-traced-argument*.

## Source

`canonicalize_shape` in `jax/_src/core.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing.checkpoint_options import made_static
from jaxpert.model.conversions import STATIC, Conversion
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import asked_places, raises, static_cure
from jaxpert.model.traced_arguments import AskedArgument, asked_arguments
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "shape-from-traced-argument"

_HASHED_PARAMETERS = Version("0.7.0")
_WORDS = {"axis": "an axis", "axis index": "an axis", "keys": "a number of keys", "slice": "the bound of a slice"}


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A size that is asked for, and where it is reported."""

    asked: AskedArgument
    range: Range


def check(model: FileModel) -> Iterator[Finding]:
    """Sizes that come from traced arguments in functions that this file checkpoints."""
    for place in _places(model):
        asked = place.asked
        exception, text, exceptions = _raised(model, asked.conversion)
        function = asked.known.display
        tracer = asked.passer or asked.checkpoint.api.name
        names = " and ".join(f"`{name}`" for name in sorted(asked.conversion.traced.names))
        shown = asked.model.text_of(asked.conversion.node)
        source = "" if f"`{shown}`" == names else f" (from {names})"
        yield Finding(
            NAME,
            place.range,
            f"`{shown}`{source} is {_part(asked.conversion)}, which must be known while `{tracer}` traces: JAX raises "
            f"when `{function}` is called; {static_cure(model, asked, _array_cure(asked.conversion))}",
            Severity.ERROR,
            raises(model, f"when `{function}` is called", exception, text),
            asked_places(model, asked),
            exceptions=exceptions,
        )


def _places(model: FileModel) -> Iterator[_Place]:
    for checkpoint in model.checkpoints:
        if model.is_dead(checkpoint.site.block):
            continue
        for asked in asked_arguments(model, checkpoint):
            where = model.range_of(asked.conversion.node if asked.model is model else checkpoint.node)
            if where is not None and asked.conversion.how in STATIC:
                yield _Place(asked, where)


def _part(conversion: Conversion) -> str:
    """What it is used as, and by whom."""
    if conversion.where == "jax.lax.scan":
        return "the length of `jax.lax.scan`"
    words = _WORDS.get(conversion.how, f"a {conversion.how}")
    return words if conversion.how == "slice" else f"{words} for `{conversion.where}`"


def _array_cure(conversion: Conversion) -> str:
    if conversion.how == "slice":
        return "use `jax.lax.dynamic_slice_in_dim` with a constant length"
    return "" if conversion.how.startswith("axis") else "take it from the shape of an array"


def _raised(model: FileModel, conversion: Conversion) -> tuple[str, str, tuple[str, ...]]:
    """Exception, its text, and the names of what code that expects it may catch."""
    if conversion.how == "slice":
        text = "Array slice indices must have static start/stop/step to be used with NumPy indexing syntax."
        return "IndexError", text, ("IndexError", "TracerIntegerConversionError")
    if conversion.how == "keys" and model.target.version >= _HASHED_PARAMETERS:
        text = "As of JAX v0.7, parameters to jaxpr equations must have __hash__ and __eq__ methods."
        return "TypeError", text, ("TypeError",)
    if conversion.how in ("shape", "keys"):
        return "TypeError", "Shapes must be 1D sequences of concrete values of integer type", ("TypeError",)
    if conversion.how == "axis index":
        text = "The __index__() method was called on traced array"
        return "TracerIntegerConversionError", text, ("TracerIntegerConversionError", "TypeError")
    text = "Abstract tracer value encountered where concrete value is expected"
    return "ConcretizationTypeError", text, ("ConcretizationTypeError", "TypeError")


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make the parameter static where the function is wrapped."""
    for place in model.every(_places):
        name, index = place.asked.static_candidate
        if place.range != finding.range or index is None or not place.asked.arguments[name].always_by_position:
            continue
        made = made_static(model, place.asked.checkpoint, index)
        if made is not None:
            safety = Safety.SAFE if place.asked.arguments[name].is_flag else Safety.UNSAFE
            return Fix(f"Make `{name}` static with `static_argnums={made[0]}`", safety, made[1])
    return None


_BAD = '''\
import jax
import jax.numpy as jnp


def heads(x, count):
    return jnp.sin(x.reshape(count, -1)).sum(axis=0)


STAGE = "decorate"
heads_remat = jax.checkpoint(heads)
STAGE = "call"
heads_remat(jnp.ones(6), 2)
'''

_SLICE = '''\
import jax
import jax.numpy as jnp


def head(x, count):
    return jnp.sin(x[:count])


STAGE = "decorate"
head_remat = jax.checkpoint(head)
STAGE = "call"
head_remat(jnp.ones(6), 2)
'''

RULE = Rule(
    code="JXP120",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("jax.checkpoint(heads)", "jax.checkpoint(heads, static_argnums=(1,))"),
            proof=Raises("TypeError", "Shapes must be 1D sequences of concrete values of integer type", "call"),
        ),
        Example(
            bad=_SLICE,
            good=_SLICE.replace("jax.checkpoint(head)", "jax.checkpoint(head, static_argnums=(1,))"),
            proof=Raises("IndexError", "", "call"),
        ),
    ),
    error_texts=(
        "ConcretizationTypeError: Abstract tracer value encountered where concrete value is expected: traced array "
        "with shape int32[] The axis argument must be known statically.",
    ),
    check=check,
    fix=fix,
)
