"""What is known of treedefs and of lists of leaves: where they come from, and of which structure they are.

A treedef comes from ``jax.tree.structure``, from the second result of ``jax.tree.flatten``, or from a lowered, traced,
compiled or exported function. Those of the last kind belong to another registry since 0.10.0 (measured: 0.9.2 composes
them, 0.10.0 does not), though they compare equal.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, bind
from jaxpert.model.pytrees import structure_of
from jaxpert.model.structures import Structure, Unknown, leaf_count
from jaxpert.model.touched import is_touched
from jaxpert.model.transforms import call_site
from jaxpert.model.values import CallResult, Def, Literal, Sequence, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.syntax.reaching import is_changed_elsewhere, reaching
from jaxpert.syntax.scopes import Binding, BindingKind, Site

if TYPE_CHECKING:
    from jaxpert.model.calls import Argument
    from jaxpert.model.file_model import FileModel

REGISTRIES_DIFFER = Version("0.10.0")

_MOST_STEPS = 12
_FLATTENS = {"jax.tree.flatten", "jax.tree.flatten_with_path"}
_STAGES = {"lower", "trace", "compile"}
_STAGED_TREES = {"in_tree", "out_tree"}


TREEDEF_MEMBERS = frozenset({
    "children", "compose", "deserialize_using_proto", "flatten_up_to", "from_iterable_tree", "node_data",
    "serialize_using_proto", "unflatten", "walk",
})  # fmt: skip
"""The methods that a treedef has in every version (measured on 0.4.30 to 0.12.0.1)."""


class Registry(enum.Enum):
    """Which nodes a treedef knows of."""

    DEFAULT = "the one of jax.tree_util"
    TRACING = "the one of jit"
    OTHER = "one of its own"


_REGISTRIES = {
    "default_registry": Registry.DEFAULT, "tracing_registry": Registry.TRACING, "none_leaf_registry": Registry.OTHER,
    "dispatch_registry": Registry.OTHER,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Treedef:
    """A treedef.

    Attributes:
        registry: None where it is not known.
        structure: of the tree it stands for.
        site: the expression that makes it, in ``model``.
    """

    registry: Registry | None
    site: Site
    model: FileModel = field(repr=False)
    structure: Structure = field(default_factory=Unknown)


@dataclass(frozen=True, slots=True, eq=False)
class Flattened:
    """One result of a call of ``jax.tree.flatten``: 0 are the leaves, 1 is the treedef."""

    call: ApiCall
    index: int
    model: FileModel = field(repr=False)

    @property
    def structure(self) -> Structure:
        """The structure of what was flattened."""
        tree = self.call.arguments.get("tree")
        if tree is None or "is_leaf" in self.call.arguments or self.call.opened:
            return Unknown()
        return structure_of(tree.model, tree.node, tree.site.scope, tree.site.block)


def source_of(site: Site) -> Site:
    """The expression that a name stands for, as far back as there is only one."""
    for _ in range(_MOST_STEPS):
        binding = _binding_of(site)
        if binding is None or binding.kind is not BindingKind.ASSIGN or binding.value is None:
            break
        site = Site(binding.value, binding.scope, binding.block)
    return site


def _binding_of(site: Site) -> Binding | None:
    node = site.node
    found = site.scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if found is None or is_changed_elsewhere(found[1], found[0]):
        return None
    seen = reaching(found[1], node, site.scope, site.block, found[0])
    return seen[0] if len(seen) == 1 else None


def flattened(model: FileModel, site: Site) -> Flattened | None:
    """Which result of which ``jax.tree.flatten`` an expression is."""
    site = source_of(site)
    binding = _binding_of(site)
    if binding is not None and binding.kind is BindingKind.UNPACK and binding.value is not None:
        call = flatten_call(model, Site(binding.value, binding.scope, binding.block))
        index = binding.detail[0] if len(binding.detail) == 1 else None
        if call is None or not isinstance(index, int) or index not in (0, 1):
            return None
        return Flattened(call, index, model)
    node = site.node
    if isinstance(node, ast.Subscript):
        call = flatten_call(model, Site(node.value, site.scope, site.block))
        wanted = model.evaluate(node.slice, site.scope, site.block)
        place = wanted.value if isinstance(wanted, Literal) else None
        if call is not None and isinstance(place, int) and -2 <= place < 2:
            return Flattened(call, place % 2, model)
    return None


def flatten_call(model: FileModel, site: Site) -> ApiCall | None:
    """The call of ``jax.tree.flatten`` that an expression is."""
    call = made_by(model, site)
    return call if call is not None and call.api.name in _FLATTENS else None


def made_by(model: FileModel, site: Site) -> ApiCall | None:
    """The call of a known function that gives the value of an expression."""
    if not isinstance(site.node, ast.expr):
        return None
    return _call_of(model.evaluate(site.node, site.scope, site.block))


def _call_of(value: Value) -> ApiCall | None:
    if not isinstance(value, CallResult) or value.site is None or value.model is None or not value.path:
        return None
    if value.model.db.api(value.path) is None:
        return None
    return bind(value.model, call_site(value.site, value.call), value.callee)


def place_of(argument: Argument) -> Site:
    """The expression of an argument where it stands."""
    return Site(argument.node, argument.site.scope, argument.site.block)


def flattens(model: FileModel) -> Iterator[ApiCall]:
    """The calls of ``jax.tree.flatten`` in the file."""
    return (call for call in model.calls if call.api.name in _FLATTENS and not call.is_partial)


def treedef_of(argument: Argument) -> Treedef | None:
    """The treedef that is given as an argument."""
    return treedef_at(argument.model, place_of(argument))


def treedef_at(model: FileModel, site: Site, depth: int = 0) -> Treedef | None:
    """The treedef that an expression is."""
    if depth > _MOST_STEPS:
        return None
    call = made_by(model, site)
    if call is not None:
        return _made(model, call, site)
    site = source_of(site)
    part = flattened(model, site)
    if part is not None:
        return Treedef(Registry.DEFAULT, site, model, part.structure) if part.index == 1 else None
    registry = _flattened_by(model, site)
    if registry is not None:
        return Treedef(registry, site, model)
    node = site.node
    if isinstance(node, ast.Attribute) and node.attr in _STAGED_TREES:
        staged = is_staged(model, Site(node.value, site.scope, site.block))
        return Treedef(Registry.TRACING, site, model) if staged else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compose":
        outer = treedef_at(model, Site(node.func.value, site.scope, site.block), depth + 1)
        return Treedef(outer.registry, site, model) if outer is not None else None
    if isinstance(node, ast.Subscript):
        return _child(model, Site(node.value, site.scope, site.block), site, depth)
    return None


def _flattened_by(model: FileModel, site: Site) -> Registry | None:
    """The registry of ``_, treedef = registry.flatten(tree)``."""
    binding = _binding_of(site)
    if binding is None or binding.kind is not BindingKind.UNPACK or binding.detail != (1,):
        return None
    call = binding.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "flatten":
        return None
    for option in model.evaluate(call.func.value, binding.scope, binding.block).options():
        path = option.path if isinstance(option, (Symbol, CallResult)) else ""
        name = path.rpartition(".")[2]
        if path.partition(".")[0] not in ("jax", "jaxlib"):
            continue
        if isinstance(option, Symbol):
            return _REGISTRIES.get(name)
        return Registry.OTHER if name == "PyTreeRegistry" else None
    return None


def _made(model: FileModel, call: ApiCall, site: Site) -> Treedef | None:
    name = call.api.name
    if name == "jax.tree.structure":
        tree = call.arguments.get("tree")
        structure: Structure = Unknown()
        if tree is not None and "is_leaf" not in call.arguments and not call.opened:
            structure = structure_of(tree.model, tree.node, tree.site.scope, tree.site.block)
        return Treedef(Registry.DEFAULT, site, model, structure)
    return Treedef(Registry.DEFAULT, site, model) if name == "jax.tree_util.treedef_tuple" else None


def _child(model: FileModel, of: Site, site: Site, depth: int) -> Treedef | None:
    """``treedef.children()[0]`` and ``treedef_children(treedef)[0]``."""
    of = source_of(of)
    parent: Treedef | None = None
    call = made_by(model, of)
    if call is not None and call.api.name == "jax.tree_util.treedef_children":
        given = call.arguments.get("treedef")
        parent = treedef_of(given) if given is not None else None
    elif isinstance(of.node, ast.Call) and isinstance(of.node.func, ast.Attribute) and of.node.func.attr == "children":
        parent = treedef_at(model, Site(of.node.func.value, of.scope, of.block), depth + 1)
    return Treedef(parent.registry, site, model) if parent is not None else None


def is_staged(model: FileModel, site: Site) -> bool:
    """Whether an expression is a lowered, traced, compiled or exported function."""
    steps = 0
    while steps < _MOST_STEPS:
        steps += 1
        site = source_of(site)
        node = site.node
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr in _STAGES:
            if is_jitted(model, Site(node.func.value, site.scope, site.block)):
                return node.func.attr in ("lower", "trace")
            site = Site(node.func.value, site.scope, site.block)
            continue
        exported = model.evaluate(node.func, site.scope, site.block)
        return isinstance(exported, CallResult) and exported.path == "jax.export.export"
    return False


def is_jitted(model: FileModel, site: Site) -> bool:
    """Whether an expression is a function that ``jax.jit`` made."""
    if not isinstance(site.node, ast.expr):
        return False
    value = model.evaluate(site.node, site.scope, site.block)
    if isinstance(value, CallResult):
        api = model.db.api(value.path)
        return api is not None and api.kind is ApiKind.TRANSFORM and api.traits == {"compiles"}
    if not isinstance(value, Def) or not (decorators := getattr(value.function.node, "decorator_list", [])):
        return False
    owner = value.model or model
    outermost = owner.evaluate(decorators[0], value.function.scope, value.function.block)
    while not isinstance(outermost, Symbol):
        inner = getattr(outermost, "target", None) or getattr(outermost, "callee", None)
        if not isinstance(inner, Value):
            return False
        outermost = inner
    api = model.db.api(outermost.path)
    return api is not None and api.kind is ApiKind.TRANSFORM and api.traits == {"compiles"}


def count_of_leaves(model: FileModel, site: Site) -> tuple[int, Site] | None:
    """How many leaves a list of leaves holds, and the expression that says so; None when that is not known."""
    value = model.evaluate(site.node, site.scope, site.block) if isinstance(site.node, ast.expr) else Value()
    if isinstance(value, Sequence):
        touched = isinstance(site.node, ast.Name) and is_touched(model, site.node, site.scope)
        if value.kind in ("list", "tuple") and value.exact and not touched:
            return len(value.items), site
    site = source_of(site)
    node = site.node
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)) and len(node.generators) == 1:
        loop = node.generators[0]
        return None if loop.ifs or loop.is_async else count_of_leaves(model, Site(loop.iter, site.scope, site.block))
    part = flattened(model, site)
    if part is not None and part.index == 0:
        count = leaf_count(part.structure)
        return (count, site) if count is not None else None
    call = _call_of(value)
    if call is not None and call.api.name == "jax.tree.leaves" and "is_leaf" not in call.arguments and not call.opened:
        tree = call.arguments.get("tree")
        count = leaf_count(structure_of(tree.model, tree.node, tree.site.scope, tree.site.block)) if tree else None
        return (count, site) if count is not None else None
    return None


@dataclass(frozen=True, slots=True, eq=False)
class MethodCall:
    """A call of a method of a treedef: ``treedef.compose(inner)``."""

    name: str
    treedef: Treedef
    receiver: ast.expr
    node: ast.Call
    site: Site
    model: FileModel = field(repr=False)

    def argument(self, position: int) -> Site | None:
        """The argument at a position, when it is given plainly."""
        given = self.node.args
        if position >= len(given) or any(isinstance(one, ast.Starred) for one in given[: position + 1]):
            return None
        return Site(given[position], self.site.scope, self.site.block)


def method_calls(model: FileModel, names: frozenset[str]) -> Iterator[MethodCall]:
    """The calls in the file of those methods, where what they are called on is known to be a treedef."""
    for tree in model.trees:
        for site in tree.calls:
            func = site.node.func
            if not isinstance(func, ast.Attribute) or func.attr not in names or model.is_dead(site.block):
                continue
            treedef = treedef_at(model, Site(func.value, site.scope, site.block))
            if treedef is not None:
                yield MethodCall(func.attr, treedef, func.value, site.node, site, model)


_LIKE_A_TREEDEF = re.compile(r"tree_?def|^td$|_td$|structure$")
_LIKE_EITHER = re.compile(r"tree|def|struct|td|spec")


def unpacked_names(part: ApiCall) -> tuple[ast.Name, ast.Name] | None:
    """The two names that a call of ``jax.tree.flatten`` is unpacked into."""
    for statement in part.site.block.tree.block_of:
        if isinstance(statement, ast.Assign) and statement.value is part.node and len(statement.targets) == 1:
            target = statement.targets[0]
            names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
            if len(names) == 2 and isinstance(names[0], ast.Name) and isinstance(names[1], ast.Name):
                return names[0], names[1]
    return None


def is_named_swapped(part: ApiCall) -> bool:
    """Whether the first of the two names is that of a treedef, and the second is not."""
    names = unpacked_names(part)
    if names is None:
        return False
    first, second = (name.id.lower() for name in names)
    return bool(_LIKE_A_TREEDEF.search(first)) and not _LIKE_EITHER.search(second)
