"""The primals and tangents of `jax.jvp`, or the primals of `jax.vjp`, are not what the function takes.

## What it finds

`jax.jvp(f, x, t)` with arrays or numbers where tuples belong, also `(x)`, which is no tuple without a comma; primals
and tangents of different lengths, of which one is a list and the other a tuple, or whose items differ in shape or in
kind (integers have tangents of type `float0`). And `jax.vjp(f, (x, y))` or `jax.linearize(f, (x, y))` where `f` takes
`x` and `y` as arguments of their own.

## Why it matters

JAX raises at the call:

    TypeError: primal and tangent arguments to jax.jvp must be tuples or lists; found ArrayImpl and ArrayImpl.
    TypeError: primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree structure
    PyTreeDef((*, *)) whereas tangents have tree structure PyTreeDef((*,)).
    ValueError: jvp called with different primal and tangent shapes; Got primal shape (3,) and tangent shape as ()

## In which versions

All.

## What to write instead

`jax.jvp(f, (x,), (t,))`: one tangent for each primal, of its shape and dtype, for example `jnp.ones_like(x)`; zeros
for what is held constant. `jax.vjp(f, x, y)`.

## Known limits

Arrays are known when the file shows where they are made; shapes only when they are written as numbers.

## Source

`_jvp` in `jax/_src/api.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.arrays import Arrays
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.refused_types import refused_in
from jaxpert.model.speech import raises
from jaxpert.model.transformed_calls import parameter_names
from jaxpert.model.values import Def, Literal, Sequence, Table, Typed
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "primals-and-tangents"

_SPACE_IN_TEXT = Version("0.12.0")
_TAKES_PRIMALS = {"jax.vjp", "jax.linearize"}


def check(model: FileModel) -> Iterator[Finding]:
    """Calls of ``jax.jvp``, ``jax.vjp`` and ``jax.linearize``."""
    for call in model.calls:
        if call.is_partial or model.is_dead(call.site.block):
            continue
        if call.api.name == "jax.jvp":
            yield from _jvp(model, call)
        elif call.api.name in _TAKES_PRIMALS:
            yield from _packed(model, call)


def _jvp(model: FileModel, call: ApiCall) -> Iterator[Finding]:
    arguments = [call.arguments.get(name) for name in ("primals", "tangents")]
    found = [_other_than_tuple(argument) if argument is not None else "" for argument in arguments]
    for name, argument, kind, other in zip(("primals", "tangents"), arguments, found, reversed(found)):
        where = model.range_of(argument.node) if argument is not None and argument.model is model else None
        if argument is None or where is None or not kind:
            continue
        text = "primal and tangent arguments to jax.jvp must be tuples or lists; found "
        shown = model.text_of(argument.node)
        inner = "parentheses without a comma make no tuple; " if _in_parentheses(model, where) else ""
        kinds = (kind, other or "tuple") if name == "primals" else (other or "tuple", kind)
        yield _finding(
            model,
            where,
            f"the {name} of `jax.jvp` must be a tuple or list, and `{shown}` is {_a(kind)}: {inner}write `({shown},)`",
            "TypeError",
            f"{text}{kinds[0]} and {kinds[1]}.",
            ("wrap", shown),
        )
    if not any(found) and all(arguments):
        yield from _unlike(model, call, arguments[0], arguments[1])  # type: ignore[arg-type]


def _other_than_tuple(argument: Argument) -> str:
    """The type of an argument that is certainly neither tuple nor list; "" for others."""
    value = argument.value
    if isinstance(value, Table):
        return "dict"
    if isinstance(value, Literal):
        return type(value.value).__name__
    if isinstance(value, Typed):
        known = argument.node.__class__ is not ast.Compare and value.type in ("float", "int", "str", "generator")
        return value.type if known else ""
    if isinstance(value, Sequence):
        return "" if value.kind in ("tuple", "list") else value.kind
    found = Arrays(argument.model).of(argument.node, (argument.site.scope, argument.site.block))
    return {"jax": "ArrayImpl", "numpy": "ndarray", "python": "float"}.get(found.library, "") if found else ""


def _a(kind: str) -> str:
    words = {
        "ArrayImpl": "an array",
        "ndarray": "a NumPy array",
        "NoneType": "None",
        "int": "an int",
        "str": "a string",
    }
    return words.get(kind, f"a {kind}")


def _in_parentheses(model: FileModel, where: Range) -> bool:
    line = model.source.lines[where.start.line][: where.start.column].rstrip()
    behind = model.source.lines[where.end.line][where.end.column :].lstrip()
    # The call's own parenthesis stands behind a name.
    return line.endswith("(") and behind.startswith(")") and line[:-1].rstrip()[-1:] in ("", ",", "(", "=")


def _unlike(model: FileModel, call: ApiCall, primals: Argument, tangents: Argument) -> Iterator[Finding]:
    one, other = primals.value, tangents.value
    where = model.range_of(tangents.node) if tangents.model is model else None
    if not isinstance(one, Sequence) or not isinstance(other, Sequence) or where is None:
        return
    if not one.exact or not other.exact:
        return
    related = _primals(model, primals)
    if len(one.items) != len(other.items) or one.kind != other.kind:
        count = f"there are {len(one.items)} primals and {len(other.items)} tangents; give each primal a tangent"
        kind = f"the primals are a {one.kind} and the tangents a {other.kind}; make both tuples"
        text = "primal and tangent arguments to jax.jvp must have the same tree structure; primals have tree structure "
        yield _finding(
            model,
            where,
            f"`jax.jvp` raises TypeError: {count if len(one.items) != len(other.items) else kind}",
            "TypeError",
            f"{text}{_tree(one)} whereas tangents have tree structure {_tree(other)}.",
            related=related,
        )
        return
    for index, (left, right) in enumerate(zip(_types(primals, one), _types(tangents, other))):
        fault = _unlike_items(model, left, right) if left is not None and right is not None else None
        if fault is None:
            continue
        node = tangents.node.elts[index] if isinstance(tangents.node, (ast.Tuple, ast.List)) else tangents.node
        place = model.range_of(node)
        if place is not None:
            yield _finding(model, place, *fault, related=related)


def _tree(value: Sequence) -> str:
    stars = ", ".join("*" * len(value.items))
    if value.kind == "list":
        return f"PyTreeDef([{stars}])"
    return f"PyTreeDef(({stars}{',' if len(value.items) == 1 else ''}))"


def _types(argument: Argument, value: Sequence) -> list[ArrayType | None]:
    arrays, place = Arrays(argument.model), (argument.site.scope, argument.site.block)
    node = argument.node
    if isinstance(node, (ast.Tuple, ast.List)) and len(node.elts) == len(value.items):
        return [arrays.of(element, place) for element in node.elts]
    found = [arrays.value(item) for item in value.items]
    return [one if isinstance(one, ArrayType) else None for one in found]


def _unlike_items(model: FileModel, primal: ArrayType, tangent: ArrayType) -> tuple[str, str, str] | None:
    """Message, exception and JAX's text for a tangent that does not suit its primal."""
    text = (
        "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or in case of int/bool primal "
        "dtype the tangent dtype must be float0."
    )
    if primal.kind in ("int", "bool") and tangent.kind in ("int", "float", "bool"):
        advice = "make the primal a float" if primal.library == "python" else "make the primal a float array"
        return (
            f"an integer primal has no tangent of this type, and `jax.jvp` raises TypeError; {advice}",
            "TypeError",
            text,
        )
    if primal.kind == "float" and tangent.kind in ("int", "bool"):
        return (
            "the primal is a float and its tangent is not: `jax.jvp` raises TypeError; write a float",
            "TypeError",
            text,
        )
    known = primal.shape is not None and tangent.shape is not None and None not in (*primal.shape, *tangent.shape)
    ranks = primal.rank is not None and tangent.rank is not None and primal.rank != tangent.rank
    if ranks or (known and primal.shape != tangent.shape):
        space = " " if model.target.version >= _SPACE_IN_TEXT else ""
        shapes = f"Got primal shape {primal.shape} and tangent shape as {tangent.shape}" if known else "…"
        return (
            "the tangent has another shape than its primal: `jax.jvp` raises ValueError; write `jnp.ones_like` of "
            "the primal",
            "ValueError",
            f"jvp called with different primal and tangent shapes;{space}{shapes}",
        )
    return None


def _primals(model: FileModel, argument: Argument) -> tuple[Related, ...]:
    area = model.range_of(argument.node) if argument.model is model else None
    return (Related(area, "the primals are here"),) if area is not None else ()


def _packed(model: FileModel, call: ApiCall) -> Iterator[Finding]:
    """``jax.vjp(f, (x, y))``."""
    fun = call.role("fun")
    if fun is None or call.opened or len(call.varargs) != 1 or call.varargs[0].model is not model:
        return
    argument = call.varargs[0]
    value, function = argument.value, fun.value
    names = parameter_names(function)
    if not isinstance(value, Sequence) or not value.exact or not isinstance(function, Def) or names is None:
        return
    arguments = function.function.node.args
    required = len(names) - len(arguments.defaults)
    where = model.range_of(argument.node)
    if required < 2 or len(value.items) != len(names) or where is None or any(refused_in(model, value)):
        return
    missing = " and ".join(f"'{name}'" for name in names[1:required])
    name = "<lambda>" if function.name == "lambda" else function.name
    plural = "s" if required > 2 else ""
    yield _finding(
        model,
        where,
        f"`{call.api.name}` takes the primals as arguments of their own, and this {value.kind} is only the first of "
        f"{len(names)}: JAX raises TypeError; pass its items one by one",
        "TypeError",
        f"{name}() missing {required - 1} required positional argument{plural}: {missing}",
        ("spread", ""),
    )


def _finding(
    model: FileModel,
    where: Range,
    message: str,
    exception: str,
    text: str,
    cure: tuple[str, str] = ("", ""),
    related: tuple[Related, ...] = (),
) -> Finding:
    return Finding(
        NAME,
        where,
        message,
        Severity.ERROR,
        raises(model, "at this call", exception, text),
        related,
        (("cure", cure[0]), ("shown", cure[1])),
        (exception,),
    )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make a tuple of it, or take one apart."""
    shown = finding.datum("shown")
    if finding.datum("cure") == "wrap":
        end = Range(finding.range.end, finding.range.end)
        if _in_parentheses(model, finding.range):
            return Fix("Add the comma that makes it a tuple", Safety.SAFE, (Edit(end, ","),))
        edits = verbs.replace_expression(model.source.lines, finding.range, f"({shown},)")
        is_array = any(word in finding.message for word in ("an array", "a float", "an int", "a NumPy array"))
        return Fix(f"Write `({shown},)`", Safety.SAFE, edits) if edits and is_array else None
    if finding.datum("cure") == "spread":
        edits = verbs.spread_argument(model.source.lines, finding.range)
        edits = edits or verbs.star_argument(model.source.lines, finding.range)
        return Fix("Pass the primals one by one", Safety.SAFE, edits) if edits else None
    return None


_BARE = """\
import jax
import jax.numpy as jnp

x = jnp.ones(3)
STAGE = "call"
jax.jvp(jnp.sin, x, x)
"""

_COUNT = """\
import jax

STAGE = "call"
jax.jvp(lambda x, y: x * y, (1.0, 2.0), (1.0,))
"""

_SHAPE = """\
import jax
import jax.numpy as jnp

STAGE = "call"
jax.jvp(jnp.sin, (jnp.ones(3),), (1.0,))
"""

_KIND = """\
import jax

STAGE = "call"
jax.jvp(lambda x: x * 2.0, (1,), (1.0,))
"""

_PACKED = """\
import jax

STAGE = "call"
jax.vjp(lambda x, y: x * y, (1.0, 2.0))
"""

RULE = Rule(
    code="JXP605",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.jvp", "jax.vjp"),
    examples=(
        Example(
            bad=_BARE,
            good=_BARE.replace("x, x)", "(x,), (x,))"),
            proof=Raises("TypeError", "primal and tangent arguments to jax.jvp must be tuples or lists", "call"),
        ),
        Example(
            bad=_COUNT,
            good=_COUNT.replace("(1.0,)", "(1.0, 0.0)"),
            proof=Raises("TypeError", "must have the same tree structure", "call"),
        ),
        Example(
            bad=_SHAPE,
            good=_SHAPE.replace("(1.0,)", "(jnp.ones(3),)"),
            proof=Raises("ValueError", "jvp called with different primal and tangent shapes", "call"),
        ),
        Example(
            bad=_KIND,
            good=_KIND.replace("(1,)", "(1.0,)"),
            proof=Raises("TypeError", "the tangent dtype must be float0", "call"),
        ),
        Example(
            bad=_PACKED,
            good=_PACKED.replace("(1.0, 2.0)", "1.0, 2.0"),
            proof=Raises("TypeError", "missing 1 required positional argument: 'y'", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
