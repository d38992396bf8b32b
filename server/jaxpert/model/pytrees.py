"""The structure that an expression has for JAX: which parts are containers, which are None, which are leaves.

It is read off literals, calls of ``dict`` and its like, and names whose values are known; whatever is filled in a loop,
by a comprehension or by an unknown function stays unknown. Measured on 0.4.30 to 0.12.0.1: a set, a ``deque``, a range
and a view of a dictionary are leaves, and so are objects of classes that are not registered.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxpert.model import values
from jaxpert.model.registrations import Standing, standing
from jaxpert.model.structures import Dict, Leaf, List, Node, NoneNode, Structure, Tuple, Unknown
from jaxpert.model.touched import is_touched
from jaxpert.model.tracing import gives_array
from jaxpert.model.values import CallResult, ClassValue, Frame, Instance, Literal, Partial, Symbol, Table, Typed, Value
from jaxpert.syntax.reaching import reaching
from jaxpert.syntax.scopes import Block, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DEEPEST = 12
_ARRAY_METHODS = {
    "astype", "reshape", "transpose", "ravel", "flatten", "squeeze", "sum", "mean", "max", "min", "std", "var", "prod",
    "dot", "cumsum", "clip", "copy", "conj", "round", "argmax", "argmin", "any", "all", "set", "add", "multiply",
}  # fmt: skip
_ARRAY_ATTRIBUTES = {"T", "mT", "real", "imag"}
_MAKERS = {
    "ones", "zeros", "full", "empty", "eye", "identity", "arange", "array", "asarray", "tri", "diag", "full_like",
    "empty_like", "bfloat16", "float16", "float64", "int8", "int16", "int64", "uint8", "uint32", "complex64",
}  # fmt: skip
_OTHER_MAKERS = {
    "jax.ShapeDtypeStruct", "jax.nn.initializers.zeros", "jax.nn.initializers.ones", "numpy.random.normal",
    "numpy.random.uniform", "numpy.random.rand", "numpy.random.randn", "numpy.random.randint", "numpy.random.random",
}  # fmt: skip
_NUMBERS = {"pi", "e", "inf", "nan"}
_DICTS = {"builtins.dict": "dict", "collections.OrderedDict": "OrderedDict"}
_VIEWS = {"keys", "values", "items"}
_NODES = {
    "flax.core.freeze": "FrozenDict", "flax.core.FrozenDict": "FrozenDict", "jax.tree_util.Partial": "Partial",
    "flax.core.frozen_dict.freeze": "FrozenDict", "flax.core.frozen_dict.FrozenDict": "FrozenDict",
}  # fmt: skip


def structure_of(
    model: FileModel, expr: ast.expr, scope: Scope, block: Block, frame: Frame | None = None
) -> Structure:
    """The structure of ``expr``, which stands in ``scope`` and ``block``; ``frame`` holds parameters that are known."""
    return _of(model, Site(expr, scope, block), 0, frame)


def _of(model: FileModel, site: Site, depth: int, frame: Frame | None = None) -> Structure:
    if depth > _DEEPEST or not isinstance(site.node, ast.expr):
        return Unknown()
    found = _of_value(model, model.evaluate(site.node, site.scope, site.block, frame), depth + 1)
    if isinstance(found, Unknown) and _is_array(model, site, depth + 1):
        return Leaf("array", site=site, model=model)
    if isinstance(site.node, ast.Name) and is_touched(model, site.node, site.scope):
        return _emptied(found)
    return found


def _emptied(found: Structure) -> Structure:
    """A container of which only the type is known."""
    if isinstance(found, Dict):
        return Dict({}, found.type, False, site=found.site, model=found.model)
    return type(found)((), False, site=found.site, model=found.model) if isinstance(found, (List, Tuple)) else found


def _of_value(model: FileModel, value: Value, depth: int) -> Structure:
    """The structure of a value of which we know where it is written."""
    site, owner = value.site, value.model or model
    if depth > _DEEPEST:
        return Unknown()
    if isinstance(value, values.Choice):
        return _one_of([_of_value(model, option, depth + 1) for option in value.options()])
    if isinstance(value, Literal):
        if value.value is None:
            return NoneNode(site=site, model=owner)
        is_text = isinstance(value.value, (str, bytes))
        is_number = isinstance(value.value, (int, float, complex))
        return Leaf("string" if is_text else "number" if is_number else "object", site=site, model=owner)
    if isinstance(value, values.Sequence):
        return _sequence(owner, value, depth)
    if isinstance(value, Table):
        return _table(owner, value, depth)
    if isinstance(value, (CallResult, Instance)):
        return _made(owner, value, depth)
    kind = ""
    if isinstance(value, values.Pattern):
        kind = "string"
    elif isinstance(value, (values.Def, ClassValue, Partial, values.EnumMember)):
        kind = "object"
    elif isinstance(value, Typed):
        if value.type == "None":
            return NoneNode(site=site, model=owner)
        if value.type in ("list", "tuple"):
            return (List if value.type == "list" else Tuple)((), False, site=site, model=owner)
        kind = _TYPES.get(value.type, "")
    elif isinstance(value, Symbol):
        module, _, name = value.path.rpartition(".")
        kind = "number" if module in ("numpy", "jax.numpy", "math") and name in _NUMBERS else ""
    return Leaf(kind, site=site, model=owner) if kind else Unknown()


_TYPES = {
    "bool": "number", "int": "number", "float": "number", "number": "number", "str": "string", "set": "object",
    "frozenset": "object", "range": "object", "generator": "object", "iterator": "object", "map": "object",
    "filter": "object", "zip": "object", "enumerate": "object", "type": "object", "coroutine": "object",
}  # fmt: skip


def _one_of(found: list[Structure]) -> Structure:
    """What is the same for all of them."""
    first = found[0]
    if all(isinstance(each, NoneNode) for each in found):
        return first
    if isinstance(first, Leaf) and all(isinstance(each, Leaf) and each.type == first.type for each in found):
        return first
    return Unknown()


def _sequence(model: FileModel, value: values.Sequence, depth: int) -> Structure:
    site = value.site
    func = site.node.func if site is not None and isinstance(site.node, ast.Call) else None
    is_view = isinstance(func, ast.Attribute) and func.attr in _VIEWS
    if value.kind not in ("list", "tuple") or is_view:
        return Leaf("object", site=site, model=model)
    made = List if value.kind == "list" else Tuple
    if not value.exact:
        return made((), False, site=site, model=model)
    written = site.node.elts if site is not None and isinstance(site.node, (ast.List, ast.Tuple)) else []
    return made(tuple(_children(model, value.items, written, site, depth)), site=site, model=model)


def _table(model: FileModel, value: Table, depth: int) -> Structure:
    site = value.site
    node = site.node if site is not None else None
    kind = "dict"
    written: list[ast.expr] = []
    if isinstance(node, ast.Dict) and None not in node.keys:
        written = node.values
    if isinstance(node, ast.Call) and site is not None:
        made_by = model.evaluate(node.func, site.scope, site.block)
        kind = _DICTS.get(made_by.path, "") if isinstance(made_by, Symbol) else ""
        written = [keyword.value for keyword in node.keywords if keyword.arg is not None]
    if not kind:
        return Leaf("object", site=site, model=model)  # a read-only view
    keys = [key.value if isinstance(key, Literal) else ... for key, _ in value.entries]
    if not value.exact or ... in keys:
        return Dict({}, kind, False, site=site, model=model)
    children = _children(model, [item for _, item in value.entries], written, site, depth)
    return Dict(dict(zip(keys, children)), kind, site=site, model=model)


def _children(
    model: FileModel, items: Sequence[Value], written: Sequence[ast.expr], site: Site | None, depth: int
) -> Iterator[Structure]:
    """The structures of the items; ``written`` are their expressions when there is one for each."""
    if len(written) != len(items) or any(isinstance(node, ast.Starred) for node in written):
        written = []
    for index, item in enumerate(items):
        found = _of_value(model, item, depth + 1)
        if isinstance(found, Unknown) and written and site is not None:
            found = _of(model, Site(written[index], site.scope, site.block), depth + 1)
        yield found


def _made(model: FileModel, value: CallResult | Instance, depth: int) -> Structure:
    """What a call of a class or of a library gives."""
    site = value.site
    if isinstance(value, Instance):
        if standing(model, value.cls) is Standing.REGISTERED:
            return Node(value.cls.node.name, value.cls.scope, site=site, model=model)
        return Unknown()  # a leaf, or registered somewhere else
    path, callee = value.path, value.callee
    if path in _NODES:
        return Node(_NODES[path], _NODES[path], site=site, model=model)
    if path == "collections.defaultdict":
        return Dict({}, "defaultdict", False, site=site, model=model)
    if path in ("collections.deque", "collections.Counter"):
        return Leaf("object", site=site, model=model)
    if isinstance(callee, CallResult) and callee.path == "collections.namedtuple":
        name = callee.call.args[0] if callee.call.args else None
        called = str(name.value) if isinstance(name, ast.Constant) else "namedtuple"
        return Node(called, callee.call, site=site, model=model)
    initializes = isinstance(callee, CallResult) and callee.path.startswith("jax.nn.initializers.")
    if initializes or _gives_array(path, len(value.call.args)):
        return Leaf("array", site=site, model=model)
    return Unknown()


def _gives_array(path: str, arguments: int) -> bool:
    """Whether a function of JAX or NumPy gives one array."""
    module, _, name = path.rpartition(".")
    if module == "jax.random":
        return name != "key_impl"
    if name == "where" and arguments < 3:
        return False  # a tuple of arrays
    if path in _OTHER_MAKERS or (name in _MAKERS and module in ("numpy", "jax.numpy")):
        return True
    return gives_array(f"jax.{path}" if path.startswith("numpy.") else path)


def _is_array(model: FileModel, site: Site, depth: int) -> bool:
    """Whether an expression of unknown value computes an array."""
    node = site.node

    def is_array(part: ast.expr) -> bool:
        found = _of(model, Site(part, site.scope, site.block), depth + 1)
        return isinstance(found, Leaf) and found.type == "array"

    if isinstance(node, ast.BinOp):
        return is_array(node.left) or is_array(node.right)
    if isinstance(node, ast.UnaryOp):
        return is_array(node.operand)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and (is_array(node.left) or is_array(node.comparators[0]))
    if isinstance(node, ast.Subscript):
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "at":
            base = base.value
        return is_array(base)
    if isinstance(node, ast.Attribute):
        return node.attr in _ARRAY_ATTRIBUTES and is_array(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _ARRAY_METHODS and is_array(node.func.value)
    if isinstance(node, ast.Name):
        found = site.scope.lookup(node.id)
        seen = reaching(found[1], node, site.scope, site.block, found[0]) if found is not None else []
        if len(seen) != 1 or seen[0].value is None or None in seen[0].detail:
            return False  # `*rest` is a list
        # A name that a tuple or a loop takes out of an array is one, too.
        inner = _of(model, Site(seen[0].value, seen[0].scope, seen[0].block), depth + 1)
        return isinstance(inner, Leaf) and inner.type == "array"
    return False
