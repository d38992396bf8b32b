"""Values that JAX refuses where it wants arrays: strings, functions, dtypes, objects of classes it does not know.

Measured on 0.4.30 to 0.12.0.1, as arguments and as results of a checkpointed function. Containers are looked into;
None, numbers, members of ``IntEnum`` and objects of registered classes are accepted.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.jaxdb.library_objects import LIBRARY_OBJECTS
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model import classes
from jaxpert.model.dataclass_fields import dataclass_decorator
from jaxpert.model.fuel import FUEL
from jaxpert.model.node_children import Child, children_of
from jaxpert.model.paths import ends_of
from jaxpert.model.registrations import Standing, standing
from jaxpert.model.tracing import gives_array
from jaxpert.model.values import (
    UNKNOWN,
    CallResult,
    ClassValue,
    Def,
    EnumMember,
    Instance,
    Literal,
    Partial,
    Pattern,
    Sequence,
    Symbol,
    Table,
    Typed,
    Value,
)
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Block

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DEEPEST = 6
_TYPES = {
    "set", "frozenset", "range", "generator", "coroutine", "map", "filter", "zip", "enumerate", "slice", "type",
}  # fmt: skip
_DTYPES = {
    "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
    "uint64", "complex64", "complex128", "bool_",
}  # fmt: skip
_PYTHON_TYPES = {"float", "int", "bool", "complex", "str"}
_PLAIN_ENUMS = {"enum.Enum", "enum.StrEnum", "enum.Flag", "builtins.str", "builtins.object"}
_UNHASHABLE = {"a set", "a deque", "a Counter", "a SimpleNamespace"}
_FUNCTIONS = {
    ApiKind.CHECKPOINT, ApiKind.TRANSFORM, ApiKind.POLICY, ApiKind.POLICY_FACTORY, ApiKind.CHECKPOINT_NAME,
    ApiKind.FUNCTION,
}  # fmt: skip
_MADE = {
    "numpy.dtype": ("a dtype", "<class 'numpy.dtype'>"),
    "jax.numpy.dtype": ("a dtype", "<class 'numpy.dtype'>"),
    "collections.deque": ("a deque", "<class 'collections.deque'>"),
    "collections.Counter": ("a Counter", "<class 'collections.Counter'>"),
    "types.SimpleNamespace": ("a SimpleNamespace", "<class 'types.SimpleNamespace'>"),
    "builtins.slice": ("a slice", "<class 'slice'>"),
    "builtins.object": ("a bare object", "<class 'object'>"),
    "pathlib.Path": ("a path", "<class 'pathlib.PosixPath'>"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Refused:
    """A value, or a part of a container, that is no array for JAX.

    Attributes:
        words: what it is: "a string", "a function" …
        type: its class as JAX's message shows it: "<class 'str'>".
        is_string: JAX's message differs for those.
        cure: what to do, where making the argument static does not help: it cannot be hashed, or holds arrays.
    """

    value: Value
    words: str
    type: str
    is_string: bool = False
    cure: str = ""


def refused_in(model: FileModel, value: Value, depth: int = 0) -> Iterator[Refused]:
    """What JAX refuses in ``value``; nothing where only one of several possible values is known."""
    if depth > _DEEPEST:
        return
    options = list(value.options())
    if any(type(option) is Value for option in options):
        return
    for option in options:
        if isinstance(option, Sequence) and option.kind in ("list", "tuple"):
            for item in option.items:
                yield from refused_in(model, item, depth + 1)
        elif isinstance(option, Table):
            for _, item in option.entries:
                yield from refused_in(model, item, depth + 1)
        elif isinstance(option, Instance) and (inner := children_of(model, option)):
            for child in inner:
                for part in refused_in(model, child.value, depth + 1):
                    yield replace(part, cure=part.cure or _cure_of_field(option, child))
        else:
            found = _refused(option.model or model, option)
            if found is not None:
                yield found


def _refused(model: FileModel, value: Value) -> Refused | None:
    found: tuple[str, str] | None = None
    if isinstance(value, Literal):
        if isinstance(value.value, str):
            return Refused(value, "a string", "<class 'str'>", True)
        if isinstance(value.value, bytes) or value.value is ...:
            found = "bytes" if isinstance(value.value, bytes) else "an ellipsis", str(type(value.value))
    elif isinstance(value, Pattern) or (isinstance(value, Typed) and value.type == "str"):
        return Refused(value, "a string", "<class 'str'>", True)
    elif isinstance(value, Typed) and value.type in _TYPES:
        found = f"a {value.type}", f"<class '{value.type}'>"
    elif isinstance(value, Sequence):
        found = f"a {value.kind}", f"<class '{value.kind}'>"
    elif isinstance(value, Def):
        found = "a function", "<class 'function'>"
    elif isinstance(value, Partial):
        found = "a functools.partial", "<class 'functools.partial'>"
    elif isinstance(value, ClassValue):
        found = "a class", "<class 'type'>"
    elif isinstance(value, Symbol):
        found = _symbol(model, value.path)
    elif isinstance(value, CallResult):
        api = model.db.api(value.path)
        makes_function = api is not None and api.kind in (ApiKind.TRANSFORM, ApiKind.CHECKPOINT, ApiKind.POLICY_FACTORY)
        if api is not None and makes_function and isinstance(value.callee, (Symbol, Partial)):
            found = None if "applies" in api.traits else ("a function", "<class 'function'>")
        else:
            is_array = any(keyword.arg == "dtype" for keyword in value.call.keywords)  # JAX takes what has a dtype
            found = _MADE.get(value.path) if isinstance(value.callee, Symbol) and not is_array else None
            if isinstance(value.callee, Symbol) and (of_library := LIBRARY_OBJECTS.get(value.path)) is not None:
                return Refused(value, of_library.words, of_library.type, cure=of_library.cure)
    elif isinstance(value, EnumMember):
        found = _member(model, value)
    elif isinstance(value, Instance) and value.call is not None and is_plain(model, value.cls):
        name = value.cls.node.name
        cure = "it has no hash and cannot be static: register the class as a pytree"
        cure = cure if _is_unhashable(model, value.cls) else ""
        return Refused(value, f"an object of the class `{name}`", f"<class '{name}'>", cure=cure)
    if found is None:
        return None
    return Refused(value, *found, cure="it has no hash and cannot be static" if found[0] in _UNHASHABLE else "")


def _cure_of_field(holder: Instance, child: Child) -> str:
    field = f"`{holder.cls.node.name}.{child.name}`"
    if child.is_in_named_tuple:
        return f"a named tuple has no static fields: keep {field} outside, in a closure"
    return f"make {field} a static field"


def _is_unhashable(model: FileModel, cls: ClassValue) -> bool:
    """Whether a class without bases compares its objects by value and gives them no hash."""
    if cls.node.bases or "__hash__" in cls.scope.bindings:
        return False
    decorator = dataclass_decorator(model, cls)
    options = {one.arg: one.value for one in decorator.keywords} if isinstance(decorator, ast.Call) else {}
    if {"frozen", "eq", "unsafe_hash", None} & options.keys():
        return False
    return decorator is not None or "__eq__" in cls.scope.bindings


def is_plain(model: FileModel, cls: ClassValue) -> bool:
    """Whether objects of a class of the user's are no pytrees, and nothing that JAX takes for an array."""
    if standing(model, cls) is not Standing.PLAIN:
        return False
    owner = cls.model or model
    known = owner.self_attributes(cls.scope)
    return not any(
        name in known or classes.attribute(owner.evaluator, cls, name, bound=True) is not UNKNOWN
        for name in ("__jax_array__", "dtype", "aval")
    )


def _symbol(model: FileModel, path: str) -> tuple[str, str] | None:
    module, _, name = path.rpartition(".")
    if module in ("jax.numpy", "numpy") and name in _DTYPES:
        return "a dtype", f"<class '{path}'>"
    if module == "builtins":
        return ("a type", "<class 'type'>") if name in _PYTHON_TYPES else None
    api = model.db.api(path)
    is_function = gives_array(path) or gives_array(f"jax.{path}" if module == "numpy" else path)
    if is_function or (api is not None and api.kind in _FUNCTIONS):
        return "a function", "<class 'function'>"
    return None


def _member(model: FileModel, member: EnumMember) -> tuple[str, str] | None:
    """A member of an enumeration, unless its members are numbers."""
    cls = model.evaluator.class_of(member.site.scope) if member.site is not None else None
    if cls is None or cls.site is None or not cls.node.bases:
        return None
    for base in cls.node.bases:
        for option in model.evaluate(base, cls.site.scope, cls.site.block).options():
            if not isinstance(option, Symbol) or option.path not in _PLAIN_ENUMS:
                return None
    return f"a member of the enumeration `{cls.node.name}`", f"<enum '{cls.node.name}'>"


_STEPS = 60
"""What one result may cost; those that JAX refuses are mostly written in sight."""

# -- results ----------------------------------------------------------------------------------------------------------

Results = list[tuple["ast.expr | None", Refused]]


def refused_results(model: FileModel, target: Def) -> Results:
    """What JAX refuses in the results of a function, each with the part of a ``return`` that gives it.

    That part is None for generators and coroutines.
    """
    owner = target.model or model
    if target.frame:
        return list(_results(owner, target))
    key = f"refused results {id(target.function)}"
    return owner.tree_fact(target.function.block.tree, key, lambda _: list(_results(owner, target)))


def _results(model: FileModel, target: Def) -> Iterator[tuple[ast.expr | None, Refused]]:
    function, node = target.function, target.function.node
    if not model.evaluator.keeps_result(function):
        return
    if function.is_generator or isinstance(node, ast.AsyncFunctionDef):
        kind = "coroutine" if isinstance(node, ast.AsyncFunctionDef) else "generator"
        yield None, Refused(target, f"a {kind}", f"<class '{kind}'>")
        return
    returned: list[tuple[ast.expr | None, Block]] = []
    if isinstance(node, ast.Lambda):
        returned.append((node.body, function.body_block))
    else:
        scope, block = function.inner, function.body_block
        condition = model.evaluator.condition(scope, block, target.frame)
        ends = ends_of(node.body, node, condition, model.evaluator.never_returns(scope, block))
        blocks = dict(function.returns)
        returned += [(one.value, blocks[one]) for one in ends.returns if one in blocks]
    for expression, block in returned:
        if expression is None or model.is_dead(block):
            continue
        for part in _parts(expression):
            with FUEL.at_most(_STEPS):
                value = model.evaluate(part, function.inner, block, target.frame)
            for refused in refused_in(model, value):
                yield part, refused


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The leaves of the containers that are written out."""
    inner: list[ast.expr] = []
    if isinstance(node, (ast.Tuple, ast.List)):
        inner = node.elts
    elif isinstance(node, ast.Dict):
        inner = node.values
    elif isinstance(node, ast.IfExp):
        inner = [node.body, node.orelse]
    else:
        yield node
    for part in inner:
        yield from _parts(part)
