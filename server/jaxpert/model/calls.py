"""Calls to known APIs, with each argument bound to a parameter of the target version."""

from __future__ import annotations

import ast
from dataclasses import field, replace
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind, Parameter
from jaxpert.model.spread_arguments import spread_items, spread_keywords
from jaxpert.model.values import CallResult, Def, Instance, Partial, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Binding, BindingKind, CallSite, Function, Scope, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True, eq=False)
class Argument:
    """One argument as written: the expression, where it stands, and how it is passed.

    ``is_spread`` says that it stands in a dictionary that ``**`` spreads into the call.
    """

    node: ast.expr
    site: Site
    model: FileModel = field(repr=False)
    keyword: ast.keyword | None = None
    is_spread: bool = False

    @property
    def value(self) -> Value:
        """What the expression can be."""
        return self.model.evaluate(self.node, self.site.scope, self.site.block)


@dataclass(frozen=True, slots=True, eq=False)
class ApiCall:
    """A call of a known API.

    Attributes:
        node: the call expression.
        path: the dotted path used to reach the API.
        arguments: parameter name → argument, also those given earlier through ``functools.partial``.
        varargs: positional arguments that a ``*`` parameter takes.
        surplus: positional arguments that no parameter takes.
        unexpected: keywords that no parameter takes.
        repeated: keywords that a ``**`` argument of the same call gives as well.
        missing: required parameters that got no argument (empty for a partial).
        opened: a ``*`` or ``**`` argument hides what is passed: it is no literal that can be seen.
        is_partial: whether this is ``functools.partial(api, …)`` and not a call yet.
    """

    api: Api
    path: str
    node: ast.Call
    site: CallSite
    arguments: dict[str, Argument]
    varargs: tuple[Argument, ...] = ()
    surplus: tuple[Argument, ...] = ()
    unexpected: tuple[Argument, ...] = ()
    missing: tuple[str, ...] = ()
    opened: bool = False
    is_partial: bool = False
    repeated: tuple[Argument, ...] = ()

    def role(self, role: str) -> Argument | None:
        """The argument that plays a part of ``Api.roles``: "fun", "policy", "static_argnums", …"""
        name = self.api.roles.get(role)
        return self.arguments.get(name) if name else None


@dataclass(frozen=True, slots=True)
class Callees:
    """Call sites and decorators of a file whose callee is a known API, a partial of one, or a wrapped function."""

    calls: tuple[tuple[CallSite, Value], ...]
    decorated: tuple[tuple[Function, ast.expr, Value], ...]
    decorated_classes: tuple[tuple[ast.ClassDef, Scope, ast.expr, Value], ...]


_NO_CALLEES = Callees((), (), ())


def callees(model: FileModel) -> Callees:
    """Find them; see :class:`Callees`."""
    found = model.from_each_tree("callees", _callees_in)
    return Callees(
        tuple(call for one in found for call in one.calls),
        tuple(function for one in found for function in one.decorated),
        tuple(cls for one in found for cls in one.decorated_classes),
    )


def callees_in(model: FileModel, tree: TreeIndex) -> Callees:
    """The callees of one tree, remembered."""
    found = model.tree_fact(tree, "callees", lambda t: _callees_in(model, t))
    return found[0] if found else _NO_CALLEES


def _callees_in(model: FileModel, tree: TreeIndex) -> list[Callees]:
    calls: list[tuple[CallSite, Value]] = []
    interesting: dict[tuple[int, str, bool], bool] = {}
    for site in tree.calls:
        if not may_matter(model, site.node.func, site.scope, interesting):
            continue
        value = model.evaluate(site.node.func, site.scope, site.block)
        for option in value.options():
            if _is_known_callee(model, option):
                calls.append((site, option))
    decorated: list[tuple[Function, ast.expr, Value]] = []
    for function in tree.functions.values():
        for decorator in getattr(function.node, "decorator_list", ()):
            value = model.evaluate(decorator, function.scope, function.block)
            for option in value.options():
                if _is_known_callee(model, option):
                    decorated.append((function, decorator, option))
    classes: list[tuple[ast.ClassDef, Scope, ast.expr, Value]] = []
    for node, scope in tree.classes.items():
        for decorator in node.decorator_list:
            if scope.parent is None or scope.block is None:
                continue
            value = model.evaluate(decorator, scope.parent, scope.block)
            for option in value.options():
                if _is_known_callee(model, option):
                    classes.append((node, scope, decorator, option))
    found = Callees(tuple(calls), tuple(decorated), tuple(classes))
    return [] if found == _NO_CALLEES else [found]


_LONGEST_CHAIN = 60
"""Aliases followed by the cheap look; beyond, the evaluation decides, whose work is limited."""


def may_matter(
    model: FileModel, func: ast.expr, scope: Scope, seen: dict[tuple[int, str, bool], bool], depth: int = 0
) -> bool:
    """A cheap look at the first name of a callee: can it lead to an API, or to a wrapped function, at all?"""
    if depth > _LONGEST_CHAIN:
        return True
    attributes = 0
    first_attribute = ""
    while func.__class__ is ast.Attribute:
        first_attribute = func.attr
        func = func.value
        attributes += 1
    if func.__class__ is not ast.Name:
        return (
            not attributes
            and not isinstance(func, ast.Name)
            and _value_leads(model, func, scope, False, seen, depth + 1)
        )
    name: str = func.id
    found = scope.lookup(name)
    if found is None:
        return "*" in model.source.module.bindings
    owner, bindings = found
    key = (id(owner), name, attributes > 0)
    known = seen.get(key)
    if known is None:
        seen[key] = False  # a name that needs itself leads nowhere
        known = seen[key] = any(
            _leads_somewhere(model, binding, attributes > 0, seen, depth + 1) for binding in bindings
        )
    if known:
        return True
    if (
        attributes == 1
        and bindings[0].kind is BindingKind.PARAMETER
        and owner.parent is not None
        and owner.parent.kind == "class"
    ):
        members = owner.parent.bindings.get(first_attribute)
        if members:
            return any(_leads_somewhere(model, member, False, seen, depth + 1) for member in members)
        key = (id(owner.parent), f"self.{first_attribute}", False)
        known = seen.get(key)
        if known is None:
            seen[key] = False
            assigned = model.self_attributes(owner.parent).get(first_attribute, ())
            known = seen[key] = any(
                _value_leads(model, value, where, False, seen, depth + 1) for value, where, _ in assigned
            )
        return known
    return False


def _leads_somewhere(
    model: FileModel, binding: Binding, attribute: bool, seen: dict[tuple[int, str, bool], bool], depth: int = 0
) -> bool:
    """Whether a name bound so, or an ``attribute`` of it, can be a callee that matters."""
    kind = binding.kind
    if kind is BindingKind.IMPORT:
        return model.matters(str(binding.detail[1]))
    if kind is BindingKind.FROM_IMPORT:
        module = model.absolute(str(binding.detail[0]), int(str(binding.detail[1])))
        return module is not None and model.may_wrap(module, str(binding.detail[2]))
    if kind is BindingKind.STAR_IMPORT:
        return bool(binding.detail[1]) or model.matters(str(binding.detail[0]))
    if kind in (BindingKind.ASSIGN, BindingKind.UNPACK, BindingKind.LOOP) and binding.value is not None:
        return _value_leads(model, binding.value, binding.scope, attribute, seen, depth + 1)
    if isinstance(binding.node, ast.ClassDef):
        inner = binding.block.tree.classes.get(binding.node)
        methods = [method.node for method in inner.bindings.get("__call__", ())] if inner is not None else []
        return attribute or any(getattr(node, "decorator_list", ()) for node in (binding.node, *methods))
    return kind is BindingKind.FUNCTION and not attribute and bool(getattr(binding.node, "decorator_list", ()))


def _value_leads(
    model: FileModel,
    value: ast.expr,
    scope: Scope,
    attribute: bool,
    seen: dict[tuple[int, str, bool], bool],
    depth: int = 0,
) -> bool:
    """The same for an expression."""
    if isinstance(value, (ast.Name, ast.Attribute)):
        return may_matter(model, value, scope, seen, depth + 1)
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Name):
            found = scope.lookup(value.func.id)
            kinds = {b.kind for b in found[1]} if found else set()
            if attribute:  # only an object of a class of the user's has attributes that matter
                if BindingKind.FROM_IMPORT in kinds:
                    return may_matter(model, value.func, scope, seen, depth + 1)
                return BindingKind.CLASS in kinds
            if BindingKind.FUNCTION in kinds or not found:
                return True  # it may return a wrapper; getattr(jax, "checkpoint")
        return not attribute and may_matter(model, value.func, scope, seen, depth + 1)
    if isinstance(value, (ast.IfExp, ast.BoolOp)):
        arms = [value.body, value.orelse] if isinstance(value, ast.IfExp) else value.values
        return any(_value_leads(model, arm, scope, attribute, seen, depth + 1) for arm in arms)
    if attribute and isinstance(value, (ast.Tuple, ast.List, ast.Dict)):
        return False
    if isinstance(value, (ast.Tuple, ast.List)):
        return any(_value_leads(model, item, scope, attribute, seen, depth + 1) for item in value.elts)
    if isinstance(value, ast.Subscript):
        return _value_leads(model, value.value, scope, attribute, seen, depth + 1)
    if isinstance(value, ast.Dict):
        return any(_value_leads(model, item, scope, attribute, seen, depth + 1) for item in value.values)
    if isinstance(value, ast.NamedExpr):
        return _value_leads(model, value.value, scope, attribute, seen, depth + 1)
    return isinstance(value, ast.Lambda)


def _is_known_callee(model: FileModel, value: Value) -> bool:
    if isinstance(value, Partial):
        return _is_known_callee(model, value.target)
    if isinstance(value, Symbol):
        return value.path == "functools.partial" or model.db.api(value.path) is not None
    if isinstance(value, CallResult) and isinstance(value.callee, CallResult):  # an object of a wrapped class
        return _is_known_callee(model, value.callee)
    if isinstance(value, CallResult):
        api = model.db.api(value.path)
        return api is not None and api.kind in (ApiKind.CHECKPOINT, ApiKind.TRANSFORM)
    if isinstance(value, Def):
        return bool(getattr(value.function.node, "decorator_list", ()))
    if isinstance(value, Instance):
        methods = value.cls.scope.bindings.get("__call__", ())
        return bool(value.cls.node.decorator_list) or any(getattr(m.node, "decorator_list", ()) for m in methods)
    return False


def api_calls(model: FileModel) -> tuple[ApiCall, ...]:
    """Every call of a known API in the file, and every ``functools.partial`` of one."""
    return tuple(model.from_each_tree("calls", _api_calls_in))


def api_calls_in(model: FileModel, tree: TreeIndex) -> list[ApiCall]:
    """The calls of known APIs in one tree, remembered."""
    return model.tree_fact(tree, "calls", lambda t: _api_calls_in(model, t))


def _api_calls_in(model: FileModel, tree: TreeIndex) -> list[ApiCall]:
    calls = (call_at(model, site, callee) for site, callee in callees_in(model, tree).calls)
    return [call for call in calls if call is not None]


def call_at(model: FileModel, site: CallSite, callee: Value) -> ApiCall | None:
    """The call of a known API, or the partial of one, that ``site`` is when it calls ``callee``."""
    if isinstance(callee, Symbol) and callee.path == "functools.partial":
        return _partial_call(model, site)
    return bind(model, site, callee)


def _partial_call(model: FileModel, site: CallSite) -> ApiCall | None:
    node = site.node
    if not node.args or isinstance(node.args[0], ast.Starred):
        return None
    for target in model.evaluate(node.args[0], site.scope, site.block).options():
        call = bind(model, site, target, is_partial=True)
        if call is not None:
            return call
    return None


def bind(model: FileModel, site: CallSite, callee: Value, is_partial: bool = False) -> ApiCall | None:
    """Bind the arguments of a call of ``callee``; None when that is not a known API with a known signature."""
    positional: list[Argument] = []
    keywords: list[Argument] = []
    repeated: list[Argument] = []
    opened = False
    layers: list[tuple[ast.Call, Site, FileModel, bool]] = [(site.node, site, model, is_partial)]
    target = callee
    while isinstance(target, Partial):
        if target.site is None or target.model is None or not isinstance(target.site.node, ast.Call):
            return None
        layers.append((target.site.node, target.site, target.model, True))
        target = target.target
    if not isinstance(target, Symbol):
        return None
    api = model.db.api(target.path)
    signature = api.signature(model.target.version) if api else None
    if api is None or signature is None:
        return None
    for node, where, owner, partial in reversed(layers):
        for argument in node.args[1:] if partial else node.args:
            if isinstance(argument, ast.Starred):
                is_followed = api.kind is ApiKind.CHECKPOINT or "policies_as_varargs" in api.traits
                items = spread_items(owner, argument, where, is_followed)
                opened |= items is None
                positional += [Argument(item, one, owner) for item, one in items or ()]
                continue
            positional.append(Argument(argument, where, owner))
        of_this_call: dict[str | None, Argument] = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                given = [Argument(keyword.value, where, owner, keyword)]
            else:
                entries = spread_keywords(owner, keyword.value, where.scope, where.block)
                opened |= entries is None
                given = [Argument(one.keyword.value, one.site, owner, one.keyword, True) for one in entries or ()]
            named = {one.keyword.arg: one for one in given if one.keyword is not None}
            names = set(named)
            for name in names & of_this_call.keys():
                one, other = of_this_call[name], named[name]
                repeated.append(other if one.is_spread else one)
            of_this_call |= named
            keywords = [one for one in keywords if one.keyword is None or one.keyword.arg not in names] + given
    call = _match(api, target.path, site, signature.parameters, positional, keywords, opened, is_partial)
    return replace(call, repeated=tuple(repeated)) if repeated else call


def _match(
    api: Api,
    path: str,
    site: CallSite,
    parameters: tuple[Parameter, ...],
    positional: list[Argument],
    keywords: list[Argument],
    opened: bool,
    is_partial: bool,
) -> ApiCall:
    arguments: dict[str, Argument] = {}
    slots = [p for p in parameters if p.kind in ("positional_only", "positional_or_keyword")]
    takes_varargs = any(p.kind == "var_positional" for p in parameters)
    takes_varkw = any(p.kind == "var_keyword" for p in parameters)
    for slot, argument in zip(slots, positional):
        arguments[slot.name] = argument
    rest = tuple(positional[len(slots) :])
    by_name = {p.name for p in parameters if p.kind in ("positional_or_keyword", "keyword_only")}
    unexpected = []
    for argument in keywords:
        name = argument.keyword.arg if argument.keyword else None
        if name in by_name:
            arguments[str(name)] = argument
        elif takes_varkw:
            arguments.setdefault(str(name), argument)
        else:
            unexpected.append(argument)
    missing = (
        ()
        if opened or is_partial
        else tuple(
            p.name
            for p in parameters
            if p.default is None and p.kind not in ("var_positional", "var_keyword") and p.name not in arguments
        )
    )
    return ApiCall(
        api,
        path,
        site.node,
        site,
        arguments,
        varargs=rest if takes_varargs else (),
        surplus=() if takes_varargs else rest,
        unexpected=tuple(unexpected),
        missing=missing,
        opened=opened,
        is_partial=is_partial,
    )
