"""Which classes JAX is told to look into: every registration of a pytree node in a file, and what follows from it."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.calls import ApiCall, api_calls_in, bind, callees_in
from jaxpert.model.transforms import call_site
from jaxpert.model.values import CallResult, ClassValue, Def, Partial, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

REGISTERS = "jax.tree_util.register_"
_OTHER_REGISTERING_DECORATORS = {
    "flax.struct.dataclass", "chex.dataclass", "chex.mappable_dataclass", "penzai.pz.pytree_dataclass",
}  # fmt: skip
_NODE_BASES = {"typing.NamedTuple", "equinox.Module", "flax.struct.PyTreeNode"}
"""Classes derived from these are registered."""

_PLAIN_BASES = {
    "builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "builtins.dict", "builtins.list",
    "builtins.tuple", "collections.OrderedDict", "collections.UserDict", "collections.UserList",
}  # fmt: skip
_PLAIN_DECORATORS = {
    "dataclasses.dataclass", "functools.total_ordering", "typing.final", "typing.runtime_checkable",
    "typing_extensions.final", "typing_extensions.runtime_checkable",
}  # fmt: skip
_DEEPEST = 12


class Standing(enum.Enum):
    """What is known of a class."""

    REGISTERED = "JAX looks into its objects"
    PLAIN = "its objects are leaves: nothing in the files at hand registers it"
    DOUBTFUL = "a base, a decorator or a loop may register it"


@dataclass(frozen=True, slots=True, eq=False)
class Registration:
    """One statement or decorator that registers a class.

    Attributes:
        path: the dotted path of what registers.
        node: the call, or the decorator.
        site: where it stands.
        cls: the class; unknown where it is not known.
        call: the call with its arguments; None for a decorator without any.
        by_decorator: whether it stands above the class.
    """

    path: str
    node: ast.expr
    site: Site
    cls: Value
    call: ApiCall | None
    by_decorator: bool

    @property
    def name(self) -> str:
        """The last word of :attr:`path`."""
        return self.path.rpartition(".")[2]


def registrations(model: FileModel) -> list[Registration]:
    """Every registration in the file."""
    return model.remembered(
        "registrations", lambda: [one for tree in model.every_tree for one in registrations_in(model, tree)]
    )


def registrations_in(model: FileModel, tree: TreeIndex) -> list[Registration]:
    """The registrations in one tree, remembered."""
    return model.tree_fact(tree, "registrations", lambda t: list(_in_tree(model, t)))


def _in_tree(model: FileModel, tree: TreeIndex) -> Iterator[Registration]:
    for call in api_calls_in(model, tree):
        if not call.api.name.startswith(REGISTERS) or call.is_partial:
            continue
        argument = call.arguments.get("nodetype") or call.arguments.get("cls")
        if argument is not None:
            for option in argument.value.options():
                yield Registration(call.api.name, call.node, call.site, option, call, False)
    for _, scope, decorator, value in callees_in(model, tree).decorated_classes:
        cls = model.evaluator.class_of(scope)
        path = _path(value)
        api = model.db.api(path)
        if cls is None or cls.site is None or api is None or not api.name.startswith(REGISTERS):
            continue
        site = Site(decorator, cls.site.scope, cls.site.block)
        given = value.site if isinstance(value, Partial) else None
        call_made = None
        if isinstance(value, Partial) and given is not None and isinstance(given.node, ast.Call):
            call_made = bind(value.model or model, call_site(given, given.node), value.target, is_partial=True)
        yield Registration(api.name, decorator, site, cls, call_made, True)


def _path(value: Value) -> str:
    while isinstance(value, (Partial, CallResult)):
        value = value.target if isinstance(value, Partial) else value.callee
    return value.path if isinstance(value, Symbol) else ""


def registrations_of(model: FileModel, cls: ClassValue) -> list[Registration]:
    """How the class is registered, in its own file or in that of ``model``."""
    files = {id(file): file for file in (cls.model or model, model)}.values()
    return [
        one
        for file in files
        for one in registrations(file)
        if isinstance(one.cls, ClassValue) and one.cls.scope is cls.scope
    ]


def standing(model: FileModel, cls: ClassValue, depth: int = 0) -> Standing:
    """Whether JAX looks into objects of the class, as far as its own file and ``model``'s tell."""
    owner = cls.model or model
    if cls.site is None or depth > _DEEPEST:
        return Standing.DOUBTFUL
    found = [_by_decorators(owner, cls), *(_by_base(owner, cls, base, depth) for base in cls.node.bases)]
    unclear = bool(cls.node.keywords) or "__init_subclass__" in cls.scope.bindings
    for file in {id(owner): owner, id(model): model}.values():
        for registration in registrations(file):
            if isinstance(registration.cls, ClassValue):
                if registration.cls.scope is cls.scope:
                    return Standing.REGISTERED
            elif not isinstance(registration.cls, Symbol):
                unclear = True
        unclear = unclear or _is_handed_to_a_registry(file, cls.node.name)
    if Standing.REGISTERED in found:
        return Standing.REGISTERED
    return Standing.DOUBTFUL if unclear or Standing.DOUBTFUL in found else Standing.PLAIN


def _is_handed_to_a_registry(model: FileModel, name: str) -> bool:
    """Whether something called ``register…`` gets the class: JAX has registries besides those of pytrees."""
    for tree in model.every_tree:
        for site in tree.calls:
            func = site.node.func
            called = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else ""
            if "regist" in called and any(isinstance(one, ast.Name) and one.id == name for one in site.node.args):
                return True
    return False


def _by_decorators(model: FileModel, cls: ClassValue) -> Standing:
    assert cls.site is not None
    result = Standing.PLAIN
    for decorator in cls.node.decorator_list:
        path = _path(model.evaluate(decorator, cls.site.scope, cls.site.block))
        if path in _OTHER_REGISTERING_DECORATORS or path.startswith(REGISTERS):
            return Standing.REGISTERED
        if path not in _PLAIN_DECORATORS:
            result = Standing.DOUBTFUL
    return result


def _by_base(model: FileModel, cls: ClassValue, base: ast.expr, depth: int) -> Standing:
    """What one base says: that a base is registered says nothing of the class, unless it registers subclasses."""
    assert cls.site is not None
    if isinstance(base, ast.Subscript):
        base = base.value  # Generic[T]
    value = model.evaluate(base, cls.site.scope, cls.site.block)
    results = {_of_base(model, option, depth) for option in value.options()}
    return results.pop() if len(results) == 1 else Standing.DOUBTFUL


def _of_base(model: FileModel, base: Value, depth: int) -> Standing:
    if isinstance(base, Symbol):
        if base.path in _NODE_BASES:
            return Standing.REGISTERED
        return Standing.PLAIN if base.path in _PLAIN_BASES else Standing.DOUBTFUL
    if not isinstance(base, ClassValue) or base.site is None or depth > _DEEPEST:
        return Standing.DOUBTFUL
    owner = base.model or model
    if base.node.keywords or "__init_subclass__" in base.scope.bindings:
        return Standing.DOUBTFUL
    found = [_by_base(owner, base, inner, depth + 1) for inner in base.node.bases]
    if Standing.REGISTERED in found:
        return Standing.REGISTERED
    return Standing.DOUBTFUL if Standing.DOUBTFUL in found else Standing.PLAIN


def called_lambdas(model: FileModel) -> Iterator[tuple[ast.Call, Registration]]:
    """Every further call, in one suite, of a lambda that only registers a class: ``register(); register()``."""
    inside: dict[int, Registration] = {}
    for one in registrations(model):
        owner = one.site.scope.node
        if isinstance(owner, ast.Lambda) and owner.body is one.node:
            inside[id(owner)] = one
    called: set[tuple[int, int]] = set()
    for tree in model.trees if inside else ():
        for site in tree.calls:
            if not isinstance(site.node.func, ast.Name) or not isinstance(site.statement, ast.Expr):
                continue
            value = model.evaluate(site.node.func, site.scope, site.block)
            function = value.function.node if isinstance(value, Def) else None
            registration = inside.get(id(function))
            if registration is None:
                continue
            suite = (id(function), id(site.block.tree.top) if site.block is site.block.tree.root else id(site.block))
            if suite in called:
                yield site.node, registration
            called.add(suite)


def has_heirs(model: FileModel, cls: ClassValue) -> bool:
    """Whether a class in ``model``'s file is derived from ``cls``."""
    name = cls.node.name
    return any(
        isinstance(base, (ast.Name, ast.Attribute)) and name == (base.id if isinstance(base, ast.Name) else base.attr)
        for tree in model.every_tree
        for node in tree.classes
        for base in node.bases
    )
