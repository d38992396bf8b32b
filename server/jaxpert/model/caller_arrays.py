"""What the parameters of a function are in the calls of it that are visible in the same file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.arrays import Arrays, Given, Group, Known
from jaxpert.model.calls import Argument, bind
from jaxpert.model.transformed_calls import parameter_names, transformed_calls
from jaxpert.model.transforms import call_site
from jaxpert.model.values import CallResult, Def, Partial, Symbol, Value
from jaxpert.syntax.scopes import CallSite, Function, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DEEPEST = 5
_KEEPING = {"compiles", "differentiates"}


def given_by_callers(model: FileModel, function: Function) -> Iterator[tuple[Given, ast.Call]]:
    """The parameters of ``function`` in each visible call, direct or through transformations that keep shapes."""
    for call in transformed_calls(model, everywhere=True):
        if call.opened:
            continue
        mapped = "maps" in call.api.traits
        if mapped and (call.options is not None and len(call.options.arguments) > 1):
            continue
        bare = call.made_by.by_decorator or not mapped
        if bare and not mapped and not _keeps(call.api.name, call.api.traits):
            continue
        target = _function(model, call.target)
        if target is None or target.function is not function:
            continue
        given = _given(model, target, call.positional, call.keywords, call.self_given, drop_axis=mapped)
        if given:
            yield given, call.site.node
    name = getattr(function.node, "name", "")
    if not name or getattr(function.node, "decorator_list", None):
        return
    for tree in model.every_tree:
        for site in tree.calls:
            if isinstance(site.node.func, ast.Name) and site.node.func.id == name:
                given = _plain_call(model, site, function)
                if given:
                    yield given, site.node


def _keeps(name: str, traits: frozenset[str]) -> bool:
    return bool(_KEEPING & traits) or name in ("jax.experimental.checkify.checkify", "jax.named_call", "jax.make_jaxpr")


def _plain_call(model: FileModel, site: CallSite, function: Function) -> Given:
    value = model.evaluate(site.node.func, site.scope, site.block)
    stars = any(isinstance(a, ast.Starred) for a in site.node.args) or any(k.arg is None for k in site.node.keywords)
    if stars or not isinstance(value, Def) or value.function is not function:
        return {}
    positional = tuple(Argument(node, site, model) for node in site.node.args)
    keywords = tuple(Argument(keyword.value, site, model, keyword) for keyword in site.node.keywords)
    return _given(model, value, positional, keywords, value.bound)


def _function(model: FileModel, target: Value, depth: int = 0) -> Def | None:
    """The function at the bottom of ``jax.jit(jax.grad(f))``."""
    if isinstance(target, Def):
        return target
    if not isinstance(target, CallResult) or target.site is None or depth > _DEEPEST:
        return None
    call = bind(target.model or model, call_site(target.site, target.call), target.callee)
    fun = call.role("fun") if call is not None else None
    if call is None or fun is None or call.api.kind not in (ApiKind.TRANSFORM, ApiKind.CHECKPOINT):
        return None
    if call.api.kind is ApiKind.TRANSFORM and ("maps" in call.api.traits or not _keeps(call.api.name, call.api.traits)):
        return None
    return _function(model, fun.value, depth + 1)


def _given(
    model: FileModel,
    target: Def,
    positional: tuple[Argument, ...],
    keywords: tuple[Argument, ...],
    self_given: bool,
    drop_axis: bool = False,
) -> Given:
    names = parameter_names(target)
    if names is None:
        return {}
    if self_given and not target.bound:
        names = names[1:]
    scope = target.function.inner
    pairs = [*zip(names, positional), *((str(one.keyword.arg), one) for one in keywords if one.keyword is not None)]
    given: dict[tuple[int, str], Known] = {}
    for name, argument in pairs:
        found = Arrays(model).known(argument.node, (argument.site.scope, argument.site.block))
        if drop_axis:
            mapped = isinstance(found, ArrayType) and found.shape
            found = (
                ArrayType("jax", found.shape[1:], found.kind)
                if isinstance(found, ArrayType) and mapped and found.shape
                else None
            )
        if found is not None:
            given[id(scope), name] = as_tracer(found)
    return given


def as_tracer(known: Known) -> Known:
    """What an array or number is inside a transformed function."""
    if isinstance(known, Group):
        return Group(tuple(as_tracer(item) if item is not None else None for item in known.items))
    return ArrayType("jax", known.shape, known.kind)


def first_parameter(function: Def, known: Known) -> Given:
    """``function`` called with one argument."""
    names = parameter_names(function)
    return {(id(function.function.inner), names[0]): as_tracer(known)} if names else {}


def is_function(value: Value) -> bool:
    """Whether a value is certainly a function of the user's or of JAX."""
    return isinstance(value, (Def, Partial)) or (isinstance(value, Symbol) and value.path.startswith("jax."))


def enclosing_function(model: FileModel, scope: Scope) -> Function | None:
    """The function or lambda whose body ``scope`` is in."""
    inner = scope.function()
    if inner is None or inner.block is None or inner.node is None:
        return None
    return inner.block.tree.functions.get(inner.node)  # type: ignore[call-overload, no-any-return]
