"""A Python int does not fit into the integer type that JAX gives it.

## What it finds

An int beyond 32 bits (beyond 64 with `jax_enable_x64`) in arithmetic or a comparison with a JAX array or with what a
jitted function, a derivative or the body or condition of a loop is given, in `jnp.array` or `jnp.asarray`, in
`jnp.where`, `jnp.maximum` and their like, in `.at[...].set(...)`, as an argument of a jitted function or the start of a
loop, as a limit of `jax.random.randint`; an int that the given dtype cannot hold; a seed beyond 64 bits, or what
`jax.random.fold_in` is given beyond 32; and such an int in `jnp.full`.

## Why it matters

JAX takes an int for an `int32`, whatever the array's own type is, floats included:

    OverflowError: An overflow was encountered while parsing an argument to a jitted computation, whose argument path
    is y.
    OverflowError: Python int 1099511627776 too large to convert to int32
    OverflowError: Python integer 300 out of bounds for int8

`jnp.full` says nothing and keeps the lowest bits: `jnp.full(2, 3_000_000_000)` holds -1294967296.

## In which versions

All. `x ** n` with a large `n` is fine since 0.4.36.

## What to write instead

A float where a float is meant: `1e10`. A `uint32` array up to 4294967295: `jnp.uint32(3_000_000_000)`. For 64-bit
integers turn on `jax_enable_x64` before anything else.

## Known limits

When the file, or the project, speaks of `enable_x64` without saying so for certain, ints that fit into 64 bits are
not reported. NumPy arrays with large values are converted without a word and not found.

## Source

`scalar_type_to_dtype` in `jax/_src/dtypes.py`, `jax/_src/pjit.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.always_traced import always_traced
from jaxpert.model.array_makers import dtype_kind
from jaxpert.model.arrays import Arrays
from jaxpert.model.file_model import FileModel
from jaxpert.model.large_integers import LargeInteger, large_integers
from jaxpert.model.small_integers import small_dtypes
from jaxpert.model.speech import raises, silent
from jaxpert.model.transformed_calls import looked_at, operands, transformed_calls
from jaxpert.model.values import Symbol, string
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent

NAME = "int-too-large"

_POWERS_ARE_STATIC = Version("0.4.36")
_ELEMENTWISE = {
    "where", "maximum", "minimum", "add", "subtract", "multiply", "divide", "true_divide", "floor_divide", "mod",
    "remainder", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "clip", "fmax", "fmin",
    "bitwise_and", "bitwise_or", "bitwise_xor", "logical_and", "logical_or",
}  # fmt: skip
_BITS = {
    "int8": (-(1 << 7), 1 << 7), "int16": (-(1 << 15), 1 << 15), "int32": (-(1 << 31), 1 << 31),
    "int64": (-(1 << 63), 1 << 63), "uint8": (0, 1 << 8), "uint16": (0, 1 << 16), "uint32": (0, 1 << 32),
    "uint64": (0, 1 << 64),
}  # fmt: skip
_UPDATES = {"set", "add", "multiply", "mul", "min", "max", "subtract", "divide"}
_RANDOM_LIMITS = {"randint": {2: "minval", 3: "maxval"}, "uniform": {3: "minval", 4: "maxval"}}
_C_LONG = 1 << 63
_BIT_OPERATORS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


@dataclass(frozen=True, slots=True)
class _Fault:
    """What happens to an int, and how JAX says it; ``text`` is "" when it says nothing.

    ``wants_bits``: an operator for bits stands beside it, which takes no floats.
    """

    what: str
    text: str
    is_float: bool = False
    wants_bits: bool = False


def check(model: FileModel) -> Iterator[Finding]:
    """Large integers by where they are used."""
    doubtful = model.source.contains("x64") and not model.target.x64
    for use in large_integers(model):
        if model.is_dead(use.block) or (doubtful and -_C_LONG <= use.value < _C_LONG):
            continue
        fault = _fault(model, use)
        if fault is not None:
            yield from _finding(model, use.node, use.value, fault)
    for node, value, dtype in small_dtypes(model):
        low, high = _BITS[_effective(model, dtype)]
        if not low <= value < high and not (doubtful and dtype.endswith("64")):
            yield from _finding(model, node, value, _Fault(f"`{dtype}` cannot hold it", _bounds(model, value, dtype)))


def _finding(model: FileModel, node: ast.expr, value: int, fault: _Fault) -> Iterator[Finding]:
    where = model.range_of(node)
    if where is None:
        return
    shown = model.text_of(node)
    advice = "write a float" if fault.is_float else "write a float, or turn on `jax_enable_x64`"
    if abs(value) >= _C_LONG or model.target.x64:
        advice = "write a float"
    if fault.wants_bits:
        x64 = "" if model.target.x64 else "turn on `jax_enable_x64` and "
        advice = f"write `jnp.uint32({shown})`" if 0 <= value < 1 << 32 else f"{x64}make both sides `uint64`"
    if fault.what.startswith("`"):
        advice = "choose a wider dtype"
    if fault.what.startswith("`jax.random.fold_in`"):
        advice = f"write `{shown} & 0xFFFFFFFF`"
    data = (
        ("float", repr(float(value)) if float(value) == value and fault.is_float and abs(value) < 1 << 200 else ""),
    )
    if not fault.text:
        yield Finding(
            NAME,
            where,
            f"`{shown}` is too large: {fault.what}; {advice}",
            Severity.WARNING,
            silent(model, "the array holds the lowest bits of the number"),
        )
        return
    yield Finding(
        NAME,
        where,
        f"`{shown}` is too large: {fault.what}, and JAX raises OverflowError; {advice}",
        Severity.ERROR,
        raises(model, "when this runs", "OverflowError", fault.text),
        data=data,
        exceptions=("OverflowError",),
    )


def _int(model: FileModel) -> str:
    return "int64" if model.target.x64 else "int32"


def _effective(model: FileModel, dtype: str) -> str:
    return dtype if model.target.x64 else dtype.replace("64", "32")


def _bounds(model: FileModel, value: int, dtype: str) -> str:
    if not -_C_LONG <= value < _C_LONG and (dtype[0] != "u" or value >= 1 << 64):
        return "Python int too large to convert to C long"
    return f"Python integer {value} out of bounds for {_effective(model, dtype)}"


def _fault(model: FileModel, use: LargeInteger) -> _Fault | None:
    """What happens where the integer is used; None when that is not known, or nothing."""
    low, high = _BITS[_int(model)]
    if low <= use.value < high:
        return None
    parent = use.parents[0]
    place = (use.scope, use.block)
    became = f"JAX takes an int for an `{_int(model)}`"
    jitted = _Fault(
        became,
        "An overflow was encountered while parsing an argument to a jitted computation, whose argument path is …",
    )
    direct = _Fault(became, f"Python int {use.value} too large to convert to {_int(model)}")
    if isinstance(parent, (ast.BinOp, ast.Compare)):
        return _operator(model, use, parent, jitted)
    call = next((one for one in use.parents if isinstance(one, ast.Call)), None)
    between = use.parents[: use.parents.index(call)] if call is not None else ()
    if call is None or any(not isinstance(one, (ast.List, ast.Tuple, ast.Dict)) for one in between):
        return None
    callee = model.evaluate(call.func, *place)
    path = callee.path if isinstance(callee, Symbol) else ""
    module, _, name = path.rpartition(".")
    if module == "jax.numpy":
        return _jnp(model, use, call, name, bool(between), direct, jitted)
    if path in ("jax.random.PRNGKey", "jax.random.key") and not between and call.args[:1] == [use.node]:
        large = not -_C_LONG <= use.value < _C_LONG
        return _Fault("a seed has 64 bits", "Python int too large to convert to C long") if large else None
    if path == "jax.random.fold_in" and not between and use.node in _given(call, 1, "data"):
        held = _BITS["uint32"]
        fits = held[0] <= use.value < held[1]
        return None if fits else _Fault("`jax.random.fold_in` takes 32 bits", _bounds(model, use.value, "uint32"))
    limits = _RANDOM_LIMITS.get(name) if module == "jax.random" else None
    if limits is not None and not between and use.node in [
        node for position, keyword in limits.items() for node in _given(call, position, keyword)
    ]:
        return jitted
    if isinstance(call.func, ast.Attribute) and call.func.attr in _UPDATES and not between:
        target = call.func.value.value if isinstance(call.func.value, ast.Subscript) else None
        if isinstance(target, ast.Attribute) and target.attr == "at":
            found = Arrays(model).of(target.value, place)
            return _Fault(direct.what, direct.text, found.kind == "float") if found and found.library == "jax" else None
        return None
    return _passed(model, use, call, direct, jitted)


def _given(call: ast.Call, position: int, keyword: str) -> list[ast.expr]:
    """The argument of a call at ``position`` or by name, if it is given."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return []
    return [*call.args[position : position + 1], *(one.value for one in call.keywords if one.arg == keyword)]


def _operator(model: FileModel, use: LargeInteger, parent: ast.BinOp | ast.Compare, jitted: _Fault) -> _Fault | None:
    """Arithmetic and comparisons with an array of JAX."""
    if isinstance(parent, ast.Compare):
        if len(parent.ops) != 1 or isinstance(parent.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return None
        other = parent.comparators[0] if parent.left is use.node else parent.left
    else:
        other = parent.right if parent.left is use.node else parent.left
        is_exponent = isinstance(parent.op, ast.Pow) and parent.right is use.node
        if isinstance(parent.op, ast.MatMult) or (is_exponent and model.target.version >= _POWERS_ARE_STATIC):
            return None
    found = Arrays(model, always_traced(model, use.scope)).of(other, (use.scope, use.block))
    if found is None or found.library != "jax":
        return None
    wants_bits = isinstance(parent, ast.BinOp) and isinstance(parent.op, _BIT_OPERATORS)
    return _Fault(jitted.what, jitted.text, found.kind == "float" and not wants_bits, wants_bits)


def _jnp(
    model: FileModel, use: LargeInteger, call: ast.Call, name: str, nested: bool, direct: _Fault, jitted: _Fault
) -> _Fault | None:
    """Functions of ``jax.numpy``."""
    place = (use.scope, use.block)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if None in keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if name in ("array", "asarray", "full") or name in _BITS:
        position = {"full": 2}.get(name, 1)
        dtype_node = keywords.get("dtype") or (call.args[position] if len(call.args) > position else None)
        dtype = name if name in _BITS else _dtype(model, dtype_node, use) if dtype_node is not None else ""
        if dtype is None:
            return None
        if name == "full":
            if use.node not in ([*call.args[1:2], keywords.get("fill_value")]) or dtype_kind(dtype or "int32") != "int":
                return None
            held = _BITS[_effective(model, dtype)] if dtype else _BITS[_int(model)]
            if held[0] <= use.value < held[1]:
                return None
            if not -(1 << 63) <= use.value < 1 << 64:
                return _Fault(direct.what, "Python int too large to convert to C long")
            return _Fault("`jnp.full` keeps its lowest bits only and says nothing", "")
        if dtype:
            held = _BITS[_effective(model, dtype)]
            if held[0] <= use.value < held[1]:
                return None
            return _Fault(f"`{_effective(model, dtype)}` cannot hold it", _bounds(model, use.value, dtype))
        if not nested:
            return direct if call.args[:1] == [use.node] else None
        found = Arrays(model).displayed(call.args[0], place) if call.args else None
        return _Fault(direct.what, _bounds(model, use.value, _int(model))) if found and found.kind == "int" else None
    if name in _ELEMENTWISE and not nested and (name != "where" or len(call.args) == 3):
        others = [Arrays(model).of(argument, place) for argument in call.args if argument is not use.node]
        is_float = any(one is not None and one.kind == "float" for one in others)
        return _Fault(jitted.what, jitted.text, is_float, name.startswith("bitwise"))
    return None


def _dtype(model: FileModel, node: ast.expr, use: LargeInteger) -> str | None:
    """The integer dtype that is asked for; None for others and for unknown ones."""
    value = model.evaluate(node, use.scope, use.block)
    name = value.path.rpartition(".")[2] if isinstance(value, Symbol) else string(value) or ""
    name = {"int": _int(model), "int_": _int(model)}.get(name, name)
    return name if name in _BITS else None


def _passed(model: FileModel, use: LargeInteger, call: ast.Call, direct: _Fault, jitted: _Fault) -> _Fault | None:
    """Arguments of transformed functions and of loops."""
    for transformed in transformed_calls(model):
        if transformed.site.node is call and "differentiates" not in transformed.api.traits:
            if "compiles" not in transformed.api.traits or "maps" in transformed.api.traits:
                return None
            for passed in looked_at(transformed) or ():
                if any(inner is use.node for inner in ast.walk(passed.argument.node)):
                    return jitted
    for made in model.calls:
        if made.node is call and made.api.name != "jax.jvp":
            for argument in operands(made):
                if any(inner is use.node for inner in ast.walk(argument.node)):
                    return direct if made.api.name != "jax.eval_shape" else jitted
    return None


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the number as a float where the array holds floats."""
    number = finding.datum("float")
    literal = any(
        model.range_of(use.node) == finding.range and not isinstance(use.node, ast.Name)
        for use in large_integers(model)
    )
    if not number or not literal:
        return None
    edits = verbs.replace_expression(model.source.lines, finding.range, number)
    return Fix(f"Write `{number}`", Safety.SAFE, edits) if edits else None


_FLOAT = """\
import jax.numpy as jnp

x = jnp.ones(3)
STAGE = "call"
x * 3_000_000_000
"""

_ARRAY = """\
import jax.numpy as jnp

STAGE = "call"
jnp.array(2**40)
"""

_ARGUMENT = """\
import jax

STAGE = "call"
jax.jit(lambda x: x + 1)(2**40)
"""

_SEED = """\
import jax

STAGE = "call"
jax.random.PRNGKey(2**64)
"""

_DTYPE = """\
import jax.numpy as jnp

STAGE = "call"
jnp.array(300, dtype=jnp.int8)
"""

_FULL = """\
import jax.numpy as jnp

filled = jnp.full(2, 3_000_000_000)
"""

RULE = Rule(
    code="JXP608",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.jit",),
    examples=(
        Example(
            bad=_FLOAT,
            good=_FLOAT.replace("3_000_000_000", "3000000000.0"),
            proof=Raises(
                "OverflowError", "An overflow was encountered while parsing an argument to a jitted computation"
            ),
        ),
        Example(
            bad=_ARRAY,
            good=_ARRAY.replace("2**40", "float(2**40)"),
            proof=Raises("OverflowError", "Python int 1099511627776 too large to convert to int32"),
        ),
        Example(
            bad=_ARGUMENT,
            good=_ARGUMENT.replace("2**40", "float(2**40)"),
            proof=Raises(
                "OverflowError", "An overflow was encountered while parsing an argument to a jitted computation"
            ),
        ),
        Example(
            bad=_SEED,
            good=_SEED.replace("2**64", "2**64 % 2**32"),
            proof=Raises("OverflowError", "Python int too large to convert to C long"),
        ),
        Example(
            bad=_DTYPE,
            good=_DTYPE.replace("int8", "int16"),
            proof=Raises("OverflowError", "Python integer 300 out of bounds for int8"),
        ),
        Example(
            bad=_FULL,
            good=_FULL.replace("000)", "000, jnp.uint32)"),
            proof=Silent("int(filled[0]) != 3_000_000_000"),
        ),
    ),
    check=check,
    fix=fix,
)
