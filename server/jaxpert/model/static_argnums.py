"""What each checkpoint wrapper makes of its ``static_argnums``, by type and by number.

Measured on JAX 0.4.30 to 0.12.0.1 with Flax 0.12.8 and Haiku 0.0.17. ``jax.checkpoint`` looks only when the function is
called, and compares types exactly; the message's "or, bool" is wrong. Under ``jax_remat3`` it takes any collection of
what can be an index. Flax calculates with the numbers when the function is wrapped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.jaxdb.schema import Api
from jaxpert.model.transforms import Parameters
from jaxpert.model.values import CallResult, Literal, Sequence, Table, Typed, Value

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

COLLECTIONS = {"list", "set", "frozenset", "range", "dict", "generator"}
"""Names of the classes, besides tuple, that hold numbers."""

_ITERATES = Version("0.5.0")
_ORDERS_DIFFERENTLY = Version("0.12.0")
_MUST = (
    "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be an int, tuple of ints or, bool, "
    "but got value …"
)
_NUMPY_INTS = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp"}
_ARRAY_MAKERS = {"array", "asarray", "arange"}


def class_name(value: Value) -> str:
    """The name of a value's class; "numpy.…" for NumPy's integers, "array" for arrays, "" when it is not known."""
    if isinstance(value, Literal):
        return type(value.value).__name__
    if isinstance(value, Sequence):
        return value.kind
    if isinstance(value, Table):
        return "dict"
    if isinstance(value, Typed):
        return value.type
    if isinstance(value, CallResult):
        module, _, name = value.path.rpartition(".")
        if module == "numpy" and name in _NUMPY_INTS:
            return f"numpy.{name}"
        return "array" if module in ("numpy", "jax.numpy") and name in _ARRAY_MAKERS else ""
    return ""


def refused(model: FileModel, api: Api, kind: str) -> str:
    """The text of the TypeError for ``static_argnums`` of the class ``kind``; "" when accepted or not known."""
    single = kind in ("NoneType", "float", "int", "bool")
    if "argnums_iterable" in api.traits:
        return f"'{kind}' object is not iterable" if single else ""
    if _calculates(api) and kind in {"set", "frozenset", "range", "generator", "str"}:
        return f"unsupported operand type(s) for -: '{kind}' and 'int'"
    if kind == "bool":
        return "" if _calculates(api) or model.target.remat3 else _MUST
    if kind in COLLECTIONS or kind == "array":
        return "" if model.target.remat3 else _MUST
    if kind in ("NoneType", "float") or (kind.startswith("numpy.") and not model.target.remat3):
        return _MUST if model.target.version < _ITERATES else f"'{kind}' object is not iterable"
    return _not_a_number(model, kind) if kind == "str" else ""


def refused_item(model: FileModel, api: Api, kind: str) -> str:
    """The same for an item of an accepted collection."""
    if "argnums_iterable" in api.traits:
        return ""
    if kind == "str" and _calculates(api):
        return "unsupported operand type(s) for -: 'str' and 'int'"
    if kind in ("str", "NoneType", "tuple", "list"):
        return _not_a_number(model, kind)
    if kind == "float" or kind.startswith("numpy.") or (kind == "bool" and not _calculates(api)):
        return "" if model.target.remat3 else _MUST
    return ""


def refused_at_once(text: str) -> bool:
    """Whether ``text`` is what is raised where the function is wrapped, not where it is called."""
    return text.startswith("unsupported operand")


def misses(api: Api, known: Parameters, index: int, numbers: list[int]) -> str:
    """Why ``index``, one of ``numbers``, makes nothing static, as a clause; "" when it may make something static."""
    count = len(known.names)
    if "counts_self" in api.traits and known.receiver and index in (0, -1):
        if index == -1:
            return f"-1 is not the last argument here: `{api.name}` shifts negative numbers"
        others = any(number > 0 for number in numbers)  # (0, 2) is a harmless habit
        return "" if others or count < 2 else f"0 is `{known.receiver}`"
    if known.takes_more:
        return ""
    if index < 0 and _calculates(api):
        return f"`{api.name}` ignores negative numbers" if "argnums_iterable" in api.traits else ""
    if -count <= index < count:
        return ""
    clause = f"`{known.display}` has {count} positional parameter{'' if count == 1 else 's'}"
    if count:
        clause += f" ({', '.join(f'`{name}` is {number}' for number, name in list(enumerate(known.names))[-3:])})"
    if known.keyword_only:
        clause += f" and `{known.keyword_only[0]}` can only be passed by keyword"
    return clause


def _calculates(api: Api) -> bool:
    """Whether the wrapper puts arguments of its own before the user's."""
    return "counts_self" in api.traits or "excludes_self" in api.traits


def _not_a_number(model: FileModel, kind: str) -> str:
    if model.target.remat3:
        return f"'{kind}' object cannot be interpreted as an integer"
    if model.target.version < _ITERATES:
        return _MUST
    if model.target.version < _ORDERS_DIFFERENTLY:
        return f"'>=' not supported between instances of '{kind}' and 'int'"
    return f"'<=' not supported between instances of 'int' and '{kind}'"
