"""A checkpointed function asks for the value of an argument that is traced.

## What it finds

In a function under `jax.checkpoint` or one of its relatives: `if`, `while`, `assert`, a conditional expression,
`and`, `or`, `not`, a chained comparison, `in`, `match`, `bool()`, `int()`, `float()`, `complex()`, `range()`, `min()`,
`max()`, `sorted()`, `any()`, `all()`, `hash()`, `.item()`, the index of a list, a dictionary or a NumPy array, an entry
of a set, a boolean mask as an index, a function of NumPy or `math`, a format as in `f"{x:.3f}"`, or a function whose
result is as long as the values say, such as `jnp.nonzero` without `size`, on an argument that is not static, or on
something computed from it. It is followed through local assignments, into functions defined inside, and into functions
of the workspace that are called with it, where these ask in any case.

## Why it matters

`jax.checkpoint` traces the function, also outside of `jit`: every argument, a Python bool or int as well, becomes a
tracer, which has no value. The same code works without `jax.checkpoint`. JAX raises when the function is called:

    TracerBoolConversionError: Attempted boolean conversion of traced array with shape bool[].

`int()`, `float()`, `complex()`, `.item()` and `math.sin()` give `ConcretizationTypeError`, `range()` and list indices
`TracerIntegerConversionError`, masks `NonConcreteBooleanIndexError`, NumPy `TracerArrayConversionError`. The hint
"Consider using the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`" stands only in the first two, and
never with `jax_remat3`.

## In which versions

All, with and without `jax_remat3`. Before 0.4.36 it is always a `ConcretizationTypeError`, a dictionary index is a
`KeyError`, and tracers can be hashed. `static_argnames` of
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

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing.checkpoint_options import made_static
from jaxpert.model.conversions import STATIC, Conversion
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import asked_places, raises, static_cure
from jaxpert.model.traced_arguments import AskedArgument, asked_arguments
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "branch-on-traced-argument"

_OWN_BOOL_ERROR = Version("0.4.36")
_WORDS = ("if", "while", "assert", "not", "match")
_ARRAY_CURES = {
    "while": "use `jax.lax.while_loop`",
    "range()": "use `jax.lax.fori_loop`",
    "[]": "index a `jnp` array",
    "match": "use `jax.lax.switch`",
    "any()": "use `jnp.any`",
    "all()": "use `jnp.all`",
    "sorted()": "use `jnp.sort`",
    "min()": "use `jnp.minimum`",
    "max()": "use `jnp.maximum`",
    "text": "use `jax.debug.print`",
    "jnp.where": "use `jnp.where` with three arguments",
    ".nonzero()": "use `jnp.nonzero` with `size=…`",
    ".block_until_ready()": "call it on the result outside",
}
_TAKE_SIZES = {
    **{
        f"jnp.{name}": "size=…"
        for name in (
            *("nonzero", "flatnonzero", "argwhere", "unique", "unique_values", "unique_counts", "unique_inverse"),
            *("union1d", "setdiff1d", "extract", "compress"),
        )
    },
    "jnp.bincount": "length=…",
}
_IN_JNP = {
    "sin", "cos", "tan", "tanh", "sinh", "cosh", "exp", "log", "log2", "log10", "log1p", "expm1", "sqrt", "floor",
    "ceil", "isnan", "isinf", "isfinite", "isclose", "atan2", "hypot", "pow", "gcd", "lcm", "trunc", "fabs", "acos",
    "asin", "atan", "acosh", "asinh", "atanh", "copysign", "ldexp", "degrees", "radians",
}  # fmt: skip
"""Functions of ``math`` that ``jax.numpy`` has under the same name in all versions."""


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A conversion, and where it is reported."""

    asked: AskedArgument
    range: Range


def check(model: FileModel) -> Iterator[Finding]:
    """Conversions of traced arguments in functions that this file checkpoints."""
    for place in _places(model):
        asked = place.asked
        exception, text, exceptions = _raised(model, asked.conversion)
        function = asked.known.display
        tracer = asked.passer or asked.checkpoint.api.name
        yield Finding(
            NAME,
            place.range,
            f"{_problem(asked)}, which `{tracer}` traces: JAX raises when `{function}` is called; "
            f"{static_cure(model, asked, _array_cure(asked.conversion))}",
            Severity.ERROR,
            raises(model, f"when `{function}` is called", exception, text),
            (*asked_places(model, asked), *_helper_place(model, asked)),
            exceptions=exceptions,
        )


def _helper_place(model: FileModel, asked: AskedArgument) -> tuple[Related, ...]:
    conversion = asked.conversion
    if conversion.inner is None or conversion.helper is None:
        return ()
    owner = conversion.helper.model or model
    area = owner.range_of(conversion.inner.node)
    if area is None:
        return ()
    return (Related(area, f"`{conversion.helper.name}` asks here", "" if owner is model else owner.path),)


def _places(model: FileModel) -> Iterator[_Place]:
    for checkpoint in model.checkpoints:
        if model.is_dead(checkpoint.site.block):
            continue
        for asked in asked_arguments(model, checkpoint):
            where = model.range_of(asked.conversion.node if asked.model is model else checkpoint.node)
            if where is not None and asked.conversion.how not in STATIC:
                yield _Place(asked, where)


def _problem(asked: AskedArgument) -> str:
    conversion = asked.conversion
    names = " and ".join(f"`{name}`" for name in sorted(conversion.traced.names))
    if conversion.inner is not None:
        shown = _shortened(asked.model.text_of(conversion.node))
        return f"`{shown}` asks for the value of {names} in {_inside(asked.model, conversion)}"
    shown = _shortened(asked.model.text_of(conversion.node))
    if conversion.where == "[]" and conversion.how != "mask":
        container = {"key": "dictionary", "numpy": "NumPy array"}.get(conversion.how, "list")
        return f"the {container} index `{shown}` asks for the value of {names}"
    if conversion.where == "{}":
        return f"the set or dictionary entry `{shown}` asks for the value of {names}"
    if conversion.where in _WORDS:
        shown = f"{conversion.where} {shown}"
    elif conversion.where in ("and", "or"):
        shown = f"{shown} {conversion.where} …"
    return f"`{shown}` asks for the value of {names}"


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "…"


def _inside(model: FileModel, conversion: Conversion) -> str:
    """What the function that is called asks in the end."""
    while conversion.inner is not None:
        model = (conversion.helper.model if conversion.helper is not None else None) or model
        conversion = conversion.inner
    text = _shortened(model.text_of(conversion.node))
    return f"`{conversion.where} {text}`" if conversion.where in _WORDS else f"`{text}`"


def _array_cure(conversion: Conversion) -> str:
    """What to write instead when it is an array."""
    if conversion.how == "count" and conversion.where in _TAKE_SIZES:
        return f"give it `{_TAKE_SIZES[conversion.where]}`"
    if conversion.how == "numpy" and conversion.where.startswith("np.testing."):
        return "check it outside"
    if conversion.how == "numpy" and conversion.where != "[]":
        return f"use `j{conversion.where}`"
    if conversion.how == "mask":
        return "use `jnp.where` with three arguments"
    if conversion.where.startswith("math."):
        return f"use `jnp.{conversion.where[5:]}`" if conversion.where[5:] in _IN_JNP else ""
    in_general = "use `jnp.where` or `jax.lax.cond`" if conversion.how == "bool" else ""
    return _ARRAY_CURES.get(conversion.where, in_general)


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
    if conversion.how == "format":
        text = "unsupported format string passed to DynamicJaxprTracer.__format__"
        return "TypeError", text, ("TypeError",)
    if conversion.how == "int" and conversion.where == "text":
        return "TypeError", "%d format: a real number is required, not DynamicJaxprTracer", ("TypeError",)
    if conversion.how == "block":
        return "AttributeError", "…block_until_ready…", ("AttributeError",)
    if conversion.how in ("key", "hash"):
        if model.target.version < _OWN_BOOL_ERROR:
            return "KeyError", "Traced<ShapedArray(…)>", ("KeyError",)
        return "TypeError", "unhashable type: 'DynamicJaxprTracer'", ("TypeError",)
    both = ("TracerBoolConversionError", "ConcretizationTypeError")
    if conversion.how == "bool":
        name = both[model.target.version < _OWN_BOOL_ERROR]
        return name, "Attempted boolean conversion of traced array", both
    return "ConcretizationTypeError", "Abstract tracer value encountered where concrete value is expected", both[1:]


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make the parameter static where the function is wrapped."""
    for place in model.every(_places):
        name, index = place.asked.static_candidate
        if place.range != finding.range or index is None or not place.asked.arguments[name].always_by_position:
            continue
        made = made_static(model, place.asked.checkpoint, index)
        if made is not None:
            value, edits = made
            safety = Safety.SAFE if place.asked.arguments[name].is_flag else Safety.UNSAFE
            return Fix(f"Make `{name}` static with `static_argnums={value}`", safety, edits)
    return None


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
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_FLAG,
            good=_FLAG.replace("jax.checkpoint(block)", "jax.checkpoint(block, static_argnums=(1,))"),
            proof=Raises("TracerBoolConversionError", _TEXT, "call", since="0.4.36"),
        ),
        Example(bad=_ARRAY, good=_ARRAY_GOOD, proof=Raises("TracerBoolConversionError", _TEXT, "call", since="0.4.36")),
    ),
    error_texts=("NonConcreteBooleanIndexError: Array boolean indices must be concrete; got bool[…]",),
    check=check,
    fix=fix,
)
