"""What functions of JAX and NumPy give: the shape and the kind of number, as far as the call shows them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.model.tracing import gives_array
from jaxpert.model.values import CallResult, Literal, Symbol
from jaxpert.model.values import Sequence as Items
from jaxpert.records import dataclass

if TYPE_CHECKING:
    from jaxpert.model.arrays import Arrays, Place

Shape = tuple[int | None, ...]
"""The sizes of the axes; None where one is not known."""

_FLOATS = {
    "sin", "cos", "tan", "tanh", "sinh", "cosh", "arcsin", "arccos", "arctan", "exp", "exp2", "expm1", "log", "log1p",
    "log2", "log10", "sqrt", "cbrt", "deg2rad", "rad2deg",
}  # fmt: skip
_SAME = {"abs", "absolute", "negative", "square", "sign", "positive", "conj", "flip", "sort", "copy", "floor", "ceil"}
_TESTS = {"isnan", "isinf", "isfinite", "logical_not"}
_BINARY = {"add", "subtract", "multiply", "maximum", "minimum", "power", "mod", "remainder", "fmax", "fmin"}
_COMPARISONS = {
    "greater", "greater_equal", "less", "less_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_xor",
    "isclose",
}  # fmt: skip
REDUCTIONS = {
    "sum": "", "prod": "", "max": "", "min": "", "amax": "", "amin": "", "nansum": "", "nanmax": "", "nanmin": "",
    "mean": "float", "std": "float", "var": "float", "median": "float", "nanmean": "float", "any": "bool",
    "all": "bool", "argmax": "int", "argmin": "int", "count_nonzero": "int",
}  # fmt: skip
"""Functions and methods that make one number of all, and its kind where that is always the same."""

_ACTIVATIONS = {
    "relu", "relu6", "sigmoid", "gelu", "silu", "swish", "softplus", "elu", "leaky_relu", "softmax", "log_softmax",
    "log_sigmoid", "soft_sign", "hard_tanh", "celu", "selu", "mish",
}  # fmt: skip
_KINDS = {
    "bool": "bool", "bool_": "bool", "float": "float", "float_": "float", "float16": "float", "float32": "float",
    "float64": "float", "bfloat16": "float", "half": "float", "single": "float", "double": "float", "int": "int",
    "int_": "int", "int4": "int", "int8": "int", "int16": "int", "int32": "int", "int64": "int", "uint": "int",
    "uint4": "int", "uint8": "int", "uint16": "int", "uint32": "int", "uint64": "int", "complex": "complex",
    "complex64": "complex", "complex128": "complex", "complex_": "complex",
}  # fmt: skip
_ORDER = ("bool", "int", "float", "complex")
_MASKED_MAKERS = {
    "array", "masked_array", "MaskedArray", "asarray", "asanyarray", "masked_where", "masked_invalid", "masked_equal",
    "masked_not_equal", "masked_greater", "masked_greater_equal", "masked_less", "masked_less_equal", "masked_inside",
    "masked_outside", "masked_values", "masked_object", "fix_invalid", "zeros", "ones", "empty", "arange", "masked_all",
    "zeros_like", "ones_like", "where", "concatenate", "stack", "vstack", "hstack",
}  # fmt: skip
_JOINING = {"concatenate", "stack", "vstack", "hstack"}
_RANDOM_SHAPES = {"normal": 1, "uniform": 1, "bernoulli": 2, "randint": 1, "truncated_normal": 3, "gumbel": 1}
_NUMPY_SIZES = {"normal": 2, "uniform": 2, "standard_normal": 0, "randint": 2, "random": 0}


@dataclass(frozen=True, slots=True)
class ArrayType:
    """What is known about an array or a number.

    Attributes:
        library: "jax", "numpy", "masked" (NumPy's masked arrays), or "python" for a plain number.
        shape: None when not even the number of axes is known.
        kind: "bool", "int", "float", "complex", or "" when not known.
    """

    library: str
    shape: Shape | None = None
    kind: str = ""

    @property
    def rank(self) -> int | None:
        """The number of axes."""
        return None if self.shape is None else len(self.shape)


def made(arrays: Arrays, value: CallResult) -> ArrayType | None:
    """The type of what a call of a library function gives; None when that is not known to be one array."""
    module, _, name = value.path.rpartition(".")
    if value.site is None or not isinstance(value.site.node, ast.Call) or value.callee.__class__ is not Symbol:
        return None
    call = _Call(arrays.of_model(value), value.call, (value.site.scope, value.site.block))
    if module == "numpy.ma":
        if name not in _MASKED_MAKERS or not call.is_plain:
            return None
        given = call.type_of(0) if name in ("array", "masked_array", "masked_invalid") else None
        return ArrayType("masked", given.shape, given.kind) if given is not None else ArrayType("masked")
    if module in ("jax.numpy", "numpy"):
        return _numpy_function(call, name, "jax" if module == "jax.numpy" else "numpy")
    if module == "jax.random":
        return _random(call, name)
    if module == "numpy.random" and call.is_plain:
        return _numpy_random(call, name)
    if module == "jax.nn" and name in _ACTIVATIONS:
        return ArrayType("jax", call.shape_of(0) if call.is_plain else None, "float")
    return ArrayType("jax") if gives_array(value.path) else None


@dataclass(frozen=True, slots=True)
class _Call:
    """A call and how to look at its arguments."""

    arrays: Arrays
    node: ast.Call
    place: Place

    @property
    def is_plain(self) -> bool:
        """Whether no star hides arguments."""
        return not any(isinstance(a, ast.Starred) for a in self.node.args) and all(k.arg for k in self.node.keywords)

    def argument(self, position: int, *names: str) -> ast.expr | None:
        """The argument at ``position``, or given by one of ``names``."""
        for keyword in self.node.keywords:
            if keyword.arg in names:
                return keyword.value
        return self.node.args[position] if 0 <= position < len(self.node.args) else None

    def type_of(self, position: int, *names: str) -> ArrayType | None:
        """The type of an argument that may be a nested list of numbers."""
        node = self.argument(position, *names)
        return self.arrays.displayed(node, self.place) if node is not None else None

    def shape_of(self, position: int, *names: str) -> Shape | None:
        """The shape of such an argument."""
        found = self.type_of(position, *names)
        return found.shape if found is not None else None

    def kind(self, position: int, default: str) -> str:
        """The kind that ``dtype`` asks for."""
        node = self.argument(position, "dtype")
        return default if node is None or _is_none(node) else self.arrays.kind(node, self.place)

    def size(self, position: int, *names: str) -> Shape | None:
        """The shape that an argument says in numbers."""
        node = self.argument(position, *names)
        return self.arrays.sizes(node, self.place) if node is not None else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _numpy_function(call: _Call, name: str, library: str) -> ArrayType | None:
    found = _maker(call, name, library) if call.is_plain else None
    if found is None:
        found = _operation(call, name, library) if call.is_plain else None
    if found is None and library == "jax" and not (name == "where" and len(call.node.args) < 3):
        return ArrayType("jax") if gives_array(f"jax.numpy.{name}") else None
    return found


def _maker(call: _Call, name: str, library: str) -> ArrayType | None:
    """``ones``, ``arange`` and their like."""
    if name in ("ones", "zeros", "empty"):
        return ArrayType(library, call.size(0, "shape"), call.kind(1, "float"))
    if name == "full":
        filled = call.type_of(1, "fill_value")
        return ArrayType(library, call.size(0, "shape"), call.kind(2, filled.kind if filled else ""))
    if name == "arange":
        limits = [call.type_of(place) for place in range(len(call.node.args))]
        kind = _highest([limit.kind if limit is not None else "" for limit in limits])
        only = call.arrays.integer(call.node.args[0], call.place) if len(call.node.args) == 1 else None
        named = any(keyword.arg != "dtype" for keyword in call.node.keywords)
        return ArrayType(library, (None if named else only,), call.kind(3, "" if named else kind))
    if name == "linspace":
        scalars = [call.type_of(0, "start"), call.type_of(1, "stop")]
        if any(one is None or one.library != "python" for one in scalars) or call.argument(9, "axis", "retstep"):
            return ArrayType(library) if library == "jax" and not call.argument(9, "retstep") else None
        num = call.argument(2, "num")
        return ArrayType(library, (50 if num is None else call.arrays.integer(num, call.place),), "float")
    if name in ("eye", "identity", "tri"):
        count = call.arrays.integer(call.node.args[0], call.place) if call.node.args else None
        square = len(call.node.args) == 1 and not call.argument(9, "M")
        return ArrayType(library, (count, count) if square else (None, None), call.kind(9, "float"))
    if name in ("array", "asarray"):
        given = call.type_of(0, "object", "a")
        kind = call.kind(1, given.kind if given else "")
        if given is not None and given.library == "masked":
            return replace(given, library=library, kind=kind) if library == "jax" or name == "asarray" else None
        shape = None if call.argument(9, "ndmin") else given.shape if given else None
        return ArrayType(library, shape, kind)
    if name in ("ones_like", "zeros_like", "empty_like", "full_like"):
        given = call.type_of(0, "a")
        shape = call.size(9, "shape") if call.argument(9, "shape") else given.shape if given else None
        place = 2 if name == "full_like" else 1
        return ArrayType(library, shape, call.kind(place, given.kind if given else ""))
    if name in _KINDS and name not in ("float", "int", "bool", "complex"):
        return ArrayType(library, call.shape_of(0), _KINDS[name]) if call.node.args else None
    return None


def _operation(call: _Call, name: str, library: str) -> ArrayType | None:
    """Functions that keep the shapes of their arguments, and those that make one number of all."""
    if name == "where" and len(call.node.args) == 3:
        parts = [call.type_of(place) for place in range(3)]
        return _computed(library, parts, _highest([part.kind if part else "" for part in parts[1:]]))
    one = call.type_of(0, "a", "x")
    if name in _FLOATS:
        return _computed(library, [one], "complex" if one and one.kind == "complex" else "float" if one else "")
    if name in _SAME:
        return _computed(library, [one], one.kind if one else "")
    if name in _TESTS:
        return _computed(library, [one], "bool")
    if name in _BINARY or name in _COMPARISONS or name in ("divide", "true_divide"):
        parts = [one, call.type_of(1, "x2", "y", "b")]
        kind = "bool" if name in _COMPARISONS else _highest([part.kind if part else "" for part in parts])
        return _computed(library, parts, "float" if "divide" in name and kind in ("bool", "int") else kind)
    if name in REDUCTIONS:
        return reduced(_computed(library, [one], one.kind if one else ""), name, call.node)
    if name in ("ravel", "flatten"):
        return replace(one, library=_together(library, [one]), shape=(None,)) if one else None
    if name == "reshape" and len(call.node.args) == 2:
        kept = _computed(library, [one], one.kind if one else "")
        return replace(kept, shape=call.size(1, "shape")) if kept else None
    return None


def reduced(base: ArrayType | None, name: str, call: ast.Call, is_method: bool = False) -> ArrayType | None:
    """``sum`` and its like: one number, unless options say otherwise."""
    if base is None:
        return None
    kind = REDUCTIONS[name] or (base.kind if base.kind != "bool" else "int")
    options = [keyword for keyword in call.keywords if keyword.arg != "dtype"]
    axes = call.args[0 if is_method else 1 :]
    if any(keyword.arg == "dtype" for keyword in call.keywords):
        kind = ""
    if not options and not axes:
        return replace(base, shape=(), kind=kind)
    node = axes[0] if axes else options[0].value
    known = len(axes) + len(options) == 1 and (axes or options[0].arg == "axis")
    if known and _is_none(node):
        return replace(base, shape=(), kind=kind)
    axis = node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        axis = -node.operand.value if type(node.operand.value) is int else None
    rank = base.rank
    if known and axis is not None and rank is not None and base.shape is not None and -rank <= axis < rank:
        axis %= rank
        return replace(base, shape=base.shape[:axis] + base.shape[axis + 1 :], kind=kind)
    return replace(base, shape=None, kind=kind)


def _random(call: _Call, name: str) -> ArrayType | None:
    """Samples; keys are left alone."""
    place = _RANDOM_SHAPES.get(name)
    if place is None:
        return ArrayType("jax") if gives_array(f"jax.random.{name}") else None
    kind = {"bernoulli": "bool", "randint": "int"}.get(name, "float")
    if not call.is_plain:
        return ArrayType("jax", None, kind)
    if call.argument(place, "shape") is None:
        return ArrayType("jax", () if name in ("normal", "uniform", "gumbel") else None, kind)
    return ArrayType("jax", call.size(place, "shape"), kind)


def _numpy_random(call: _Call, name: str) -> ArrayType | None:
    if name in ("rand", "randn"):
        sizes = tuple(call.arrays.integer(node, call.place) for node in call.node.args)
        return ArrayType("numpy" if sizes else "python", sizes, "float")
    place = _NUMPY_SIZES.get(name)
    if place is None or call.argument(place, "size") is None:
        return None
    return ArrayType("numpy", call.size(place, "size"), "int" if name == "randint" else "float")


def _computed(library: str, parts: Sequence[ArrayType | None], kind: str) -> ArrayType | None:
    """What a function of ``library`` makes of arguments; NumPy's leave the unknown to others."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return ArrayType("jax", None, kind) if library == "jax" else None
    return ArrayType(_together(library, known), broadcast([part.shape for part in known]), kind)


def _together(library: str, parts: Sequence[ArrayType | None]) -> str:
    masked = any(part is not None and part.library == "masked" for part in parts)
    return "masked" if masked and library == "numpy" else library


def broadcast(shapes: Sequence[Shape | None]) -> Shape | None:
    """The shape of an operation on arrays of these shapes; None when it is not known, or there is none."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    result: list[int | None] = []
    for back in range(1, max(map(len, known), default=0) + 1):
        sizes = {shape[-back] for shape in known if len(shape) >= back} - {1}
        if len(sizes - {None}) > 1:
            return None
        result.insert(0, None if None in sizes and len(sizes) == 1 else next(iter(sizes - {None}), 1))
    return tuple(result)


def _highest(kinds: Sequence[str]) -> str:
    return "" if "" in kinds or not kinds else max(kinds, key=_ORDER.index)


def combined(left: ArrayType, operator: ast.operator, right: ArrayType) -> ArrayType | None:
    """The type of ``left operator right``."""
    libraries = {left.library, right.library}
    library = next((name for name in ("jax", "masked", "numpy") if name in libraries), "python")
    kind = _highest([left.kind, right.kind])
    if isinstance(operator, ast.Div) and kind in ("bool", "int"):
        kind = "float"
    if isinstance(operator, ast.MatMult):
        return ArrayType(library, _matmul(left.shape, right.shape), kind)
    if isinstance(operator, ast.Pow) and kind == "int":
        kind = ""
    if kind == "bool" and library == "python" and not isinstance(operator, (ast.BitAnd, ast.BitOr, ast.BitXor)):
        kind = "int"  # bools of NumPy and JAX stay bools when they are added
    return ArrayType(library, broadcast([left.shape, right.shape]), kind)


def _matmul(left: Shape | None, right: Shape | None) -> Shape | None:
    if left is None or right is None or not 0 < len(left) < 3 or not 0 < len(right) < 3:
        return None
    return left[:-1] + (right[1:] if len(right) == 2 else ())


def dtype_kind(name: str) -> str:
    """The kind of number that the dtype called ``name`` holds; "" for others."""
    return _KINDS.get(name, "")


def number(value: Literal) -> ArrayType | None:
    """A plain number; None for other literals."""
    kind = type(value.value).__name__
    return ArrayType("python", (), kind) if kind in _ORDER else None


def display(items: Sequence[ArrayType | None]) -> ArrayType | None:
    """The array that a list of such items is turned into; None when they do not fit together, or are not known."""
    known = [item for item in items if item is not None]
    if len(known) < len(items):
        return None
    if not items:
        return ArrayType("python", (0,), "float")
    first = known[0].shape
    same = first is not None and all(item.shape is not None and len(item.shape) == len(first) for item in known)
    shape = (len(items), *first) if same and first is not None else None
    return ArrayType("python", shape, _highest([item.kind for item in known]))


def is_sequence(value: object) -> bool:
    """Whether a value is a list or tuple all of whose items are known."""
    return isinstance(value, Items) and value.exact and value.kind in ("list", "tuple", "range")
