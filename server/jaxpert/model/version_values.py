"""What code makes of JAX's version: ``tuple(map(int, jax.__version__.split(".")[:2]))`` and the like.

What is asked for in a way that cannot be followed is still known to depend on the version, through variables,
functions and other files, so that nothing is said about code that only some releases run.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from jaxpert.model.aliases import last_word, names_imported
from jaxpert.model.values import CallResult, Literal, Sequence, Symbol
from jaxpert.syntax.children import walk
from jaxpert.syntax.scopes import Binding, BindingKind, Block, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_STRINGS = {"jax.__version__", "jax.version.__version__", "jaxlib.__version__", "jaxlib.version.__version__"}
_TUPLES = {"jax.__version_info__", "jax.version.__version_info__"}
_METADATA = {"importlib.metadata.version", "importlib_metadata.version"}
_PACKAGES = ("jax", "jaxlib")
_PARSERS = ("parse", "Version", "LooseVersion", "StrictVersion", "parse_version")
_PARTS = ("release", "major", "minor", "micro", "base_version", "public")
_ASKS = ("__version", "importlib")
"""One of these stands in every file that asks for a version itself."""
_VALUES = (BindingKind.ASSIGN, BindingKind.UNPACK)
_IMPORTS = (BindingKind.IMPORT, BindingKind.FROM_IMPORT)
_DEEPEST = 4
_MOST_NESTED = 12

_Names = Mapping[str, object]


def version_value(
    model: FileModel, node: ast.expr, scope: Scope, block: Block, names: _Names | None = None, depth: int = 0
) -> object:
    """The string, number, tuple, list or parsed version that ``node`` is on the target JAX; None when not known.

    ``names`` holds what a comprehension around ``node`` has bound.
    """
    if depth > _MOST_NESTED:
        return None
    if isinstance(node, ast.Name) and names and node.id in names:
        return names[node.id]

    def inner(part: ast.expr, more: _Names | None = None) -> object:
        return version_value(model, part, scope, block, {**(names or {}), **(more or {})}, depth + 1)

    value = None if names else model.evaluate(node, scope, block)
    if isinstance(value, Symbol) and value.path in _STRINGS:
        return str(model.target.version)
    if isinstance(value, Symbol) and value.path in _TUPLES:
        return (*model.target.version.release, 0, 0)[:3]
    if isinstance(value, Literal) and isinstance(value.value, (str, int)):
        return value.value
    if isinstance(value, Sequence) and value.exact and value.kind in ("tuple", "list"):
        items = [item.value for item in value.items if isinstance(item, Literal) and isinstance(item.value, (int, str))]
        if len(items) == len(value.items):
            return tuple(items) if value.kind == "tuple" else items
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (str, int)) else None
    if isinstance(node, (ast.Tuple, ast.List)):
        parts = [inner(part) for part in node.elts]
        return None if None in parts else tuple(parts) if isinstance(node, ast.Tuple) else parts
    if isinstance(node, ast.Name):
        binding = _binding(scope, node.id)
        return _bound(model, binding, depth) if binding is not None else None
    if isinstance(node, ast.Attribute):
        owner = inner(node.value)
        return getattr(owner, node.attr) if isinstance(owner, Version) and node.attr in _PARTS else None
    if isinstance(node, ast.Subscript):
        return _attempt(lambda: _subscript(inner(node.value), node.slice))
    if isinstance(node, (ast.GeneratorExp, ast.ListComp)):
        return _comprehension(node, inner)
    if isinstance(node, ast.Call):
        if isinstance(value, CallResult) and value.path in _METADATA:
            return str(model.target.version) if _is_of_jax(node) else None
        return _attempt(lambda: _called(node, inner))
    return None


def _attempt(compute: Callable[[], object]) -> object:
    try:
        return compute()
    except (TypeError, ValueError, IndexError, InvalidVersion):
        return None


def _bound(model: FileModel, binding: Binding, depth: int) -> object:
    if binding.kind not in _VALUES or binding.value is None:
        return None
    value = version_value(model, binding.value, binding.scope, binding.block, None, depth + 1)
    for index in binding.detail if binding.kind is BindingKind.UNPACK else ():
        if not isinstance(value, (tuple, list)) or not isinstance(index, int) or not -1 < index < len(value):
            return None
        value = value[index]
    return value


def _binding(scope: Scope, name: str) -> Binding | None:
    """The one binding of ``name``."""
    found = scope.lookup(name)
    return found[1][0] if found is not None and len(found[1]) == 1 else None


def _subscript(owner: object, at: ast.expr) -> object:
    if not isinstance(owner, (str, tuple, list)):
        return None
    if isinstance(at, ast.Slice):
        bounds = [_number(bound) if bound is not None else None for bound in (at.lower, at.upper, at.step)]
        return owner[slice(*bounds)]
    number = _number(at)
    return owner[number] if number is not None else None


def _number(node: ast.expr) -> int | None:
    known = ast.literal_eval(node)
    return known if isinstance(known, int) else None


def _comprehension(node: ast.GeneratorExp | ast.ListComp, inner: Callable[..., object]) -> object:
    loop = node.generators[0]
    if len(node.generators) > 1 or not isinstance(loop.target, ast.Name):
        return None
    items = inner(loop.iter)
    if not isinstance(items, (tuple, list)):
        return None
    found = []
    for item in items:
        names = {loop.target.id: item}
        kept = [inner(test, names) for test in loop.ifs]
        if None in kept:
            return None
        if all(kept):
            found.append(inner(node.elt, names))
    return None if None in found else found


def _called(node: ast.Call, inner: Callable[..., object]) -> object:
    """What a call gives that Python itself can say: of ``int``, ``tuple``, ``map(int, …)`` and methods of strings."""
    if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    func = node.func
    name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
    if name == "map" and len(node.args) == 2 and isinstance(node.args[0], ast.Name) and node.args[0].id == "int":
        items = inner(node.args[1])
        return [int(item) for item in items] if isinstance(items, (tuple, list)) else None
    given = [inner(argument) for argument in node.args]
    if None in given:
        return None
    if name in _PARSERS and len(given) == 1:
        return Version(given[0]) if isinstance(given[0], str) else None
    if isinstance(func, ast.Attribute):
        owner = inner(func.value)
        if isinstance(owner, str) and func.attr in ("split", "startswith", "endswith", "isdigit", "strip", "partition"):
            return getattr(owner, func.attr)(*given)
        return None
    if len(given) == 1 and name in ("int", "str", "float"):
        return {"int": int, "str": str, "float": float}[name](given[0])
    if len(given) == 1 and name in ("tuple", "list") and isinstance(given[0], (tuple, list)):
        return tuple(given[0]) if name == "tuple" else list(given[0])
    return None


def _is_of_jax(call: ast.Call) -> bool:
    package = call.args[0] if call.args else None
    return isinstance(package, ast.Constant) and package.value in _PACKAGES


def is_about_version(model: FileModel, node: ast.AST, scope: Scope, block: Block, depth: int = 0) -> bool:
    """Whether ``node`` asks for the version of JAX, be it through variables, functions and other files."""
    asks = model.source.contains_any(_ASKS)
    own = model.lasting("names of own modules", lambda: names_imported(model, lambda module, _: model.matters(module)))
    if not asks and not own:
        return False
    for part in walk(node):
        if isinstance(part, ast.Call):
            if asks and last_word(part.func) == "version" and _is_of_jax(part):
                value = model.evaluate(part, scope, block)
                if isinstance(value, CallResult) and value.path in _METADATA:
                    return True
        elif isinstance(part, (ast.Attribute, ast.Name)):
            if asks and "version" in last_word(part):
                value = model.evaluate(part, scope, block)
                if isinstance(value, Symbol) and value.path in _STRINGS | _TUPLES:
                    return True
            named = part if isinstance(part, ast.Name) else part.value
            if depth < _DEEPEST and (asks or (isinstance(named, ast.Name) and named.id in own)):
                if _stands_for_version(model, part, scope, block, depth):
                    return True
    return False


def _stands_for_version(
    model: FileModel, node: ast.Attribute | ast.Name, scope: Scope, block: Block, depth: int
) -> bool:
    """Whether a variable, or one of another file's, holds something that was made of the version."""
    if isinstance(node, ast.Name):
        return _is_made_of_version(model, node.id, scope, depth)
    found = scope.lookup(node.value.id) if isinstance(node.value, ast.Name) else None
    if found is None or found[1][0].kind not in _IMPORTS:
        return False
    owner = model.evaluate(node.value, scope, block)
    other = model.lookup(owner.path) if isinstance(owner, Symbol) and not model.is_library(owner.path) else None
    return other is not None and _is_made_of_version(other, node.attr, other.source.module, depth)


def _is_made_of_version(model: FileModel, name: str, scope: Scope, depth: int) -> bool:
    found = scope.lookup(name)
    for binding in found[1] if found is not None else ():
        if binding.kind is BindingKind.FROM_IMPORT:
            module = model.absolute(str(binding.detail[0]), int(str(binding.detail[1])))
            other = model.lookup(module) if module and not model.is_library(module) else None
            if other is not None and other is not model:
                if _is_made_of_version(other, str(binding.detail[2]), other.source.module, depth + 1):
                    return True
        elif model.source.contains_any(_ASKS) and _asks(model, binding, depth):
            return True
    return False


def _asks(model: FileModel, binding: Binding, depth: int) -> bool:
    def ask() -> bool:
        return any(is_about_version(model, made, where, block, depth + 1) for made, where, block in _made_of(binding))

    return model.remembered(("asks for the version", id(binding)), ask)


def _made_of(binding: Binding) -> Iterator[tuple[ast.expr, Scope, Block]]:
    """What a name is bound to; of a function, what it returns."""
    if binding.kind in _VALUES and binding.value is not None:
        yield binding.value, binding.scope, binding.block
    function = binding.block.tree.functions.get(binding.node) if binding.kind is BindingKind.FUNCTION else None  # type: ignore[call-overload]
    if function is not None:
        for statement, block in function.returns:
            if statement.value is not None:
                yield statement.value, function.inner, block
