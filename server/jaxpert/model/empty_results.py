"""Functions that are differentiated and give None: how they come to, and by which of their statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import ApiCall, Argument, api_calls_in, bind, callees_in
from jaxpert.model.decorators import decorating
from jaxpert.model.handed_functions import handed_functions
from jaxpert.model.paths import is_stub
from jaxpert.model.transformed_calls import results
from jaxpert.model.transforms import call_site
from jaxpert.model.values import (
    CallResult,
    Def,
    Instance,
    Partial,
    Sequence,
    Symbol,
    Typed,
    Value,
    is_none,
    truth,
)
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Function, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MOST_WRAPPERS = 6


@dataclass(frozen=True, slots=True, eq=False)
class EmptyResult:
    """A function that gives None on each way through it, and is differentiated.

    Attributes:
        api: what differentiates it.
        options: the call that holds the options of ``api``; None for a bare decorator.
        node: the call or decorator; where a helper differentiates, what is given to it.
        given: what is differentiated, as it is written, or the decorator.
        function: the function.
        last: the statement that ends it, a lambda's body, or the item of a pair that is None where a number belongs.
    """

    api: Api
    options: ApiCall | None
    node: ast.expr
    given: ast.expr
    function: Def
    last: ast.stmt | ast.expr

    @property
    def has_aux(self) -> bool | None:
        """Whether a pair is wanted of the function; None when that is not known."""
        given = self.options.arguments.get("has_aux") if self.options is not None else None
        if given is None:
            return None if self.options is not None and self.options.opened else False
        return truth(given.value)


def empty_results(model: FileModel) -> list[EmptyResult]:
    """All of them that the trees in focus differentiate, or give to a helper that does."""
    found = list(model.from_each_tree("empty results", lambda m, t: list(_in_tree(m, t))))
    for handed in handed_functions(model):
        if _derives(handed.taken.api):
            found.extend(_of_argument(model, handed.argument, handed.argument.node, handed.taken))
    return found


def _in_tree(model: FileModel, tree: TreeIndex) -> Iterator[EmptyResult]:
    for call in api_calls_in(model, tree):
        fun = call.role("fun")
        if fun is None or call.is_partial or not _derives(call.api) or model.is_dead(call.site.block):
            continue
        yield from _of_argument(model, fun, call.node, call)
    for function, decorator, value in callees_in(model, tree).decorated:
        if model.is_dead(function.block):
            continue
        api, options = decorating(model, value) or (None, None)
        if api is None or not _derives(api):
            continue
        owner = model.evaluator.class_of(function.scope) if function.scope.kind == "class" else None
        target = Def(function, owner, site=Site(function.node, function.scope, function.block), model=model)
        below: list[ast.expr] = getattr(function.node, "decorator_list", [])
        last = _empty(model, target, below[below.index(decorator) + 1 :], options)
        if last is not None:
            yield EmptyResult(api, options, decorator, decorator, target, last)


def _of_argument(model: FileModel, fun: Argument, node: ast.expr, call: ApiCall) -> Iterator[EmptyResult]:
    """The functions that an argument can be, where ``node`` makes ``call`` differentiate it."""
    for option in fun.value.options():
        for target in _run(model, option):
            decorators: list[ast.expr] = getattr(target.function.node, "decorator_list", [])
            last = _empty(model, target, decorators, call)
            if last is not None:
                yield EmptyResult(call.api, call, node, fun.node, target, last)


def _derives(api: Api) -> bool:
    return api.kind is ApiKind.TRANSFORM and "differentiates" in api.traits and "applies" not in api.traits


def _keeps_result(api: Api | None) -> bool:
    """Whether what the wrapper makes of a function gives None where the function does, also under a derivative."""
    if api is None or "wraps_classes" in api.traits:
        return False
    if api.kind is ApiKind.CHECKPOINT:
        return True
    return api.kind is ApiKind.TRANSFORM and len({"compiles", "maps_axes"} & api.traits) == 1


def _run(model: FileModel, value: Value, depth: int = 0) -> Iterator[Def]:
    """The function that runs when ``value`` is called, through partials and through wrappers that keep its result."""
    while isinstance(value, Partial):
        value = value.target
    if isinstance(value, Instance):
        value = (value.model or model).evaluator.attribute(value, "__call__", None)
    if isinstance(value, Def):
        yield value
    elif isinstance(value, CallResult) and value.site is not None and depth < _MOST_WRAPPERS:
        if isinstance(value.callee, CallResult):  # jax.jit(static_argnums=0)(f)
            inner, written = model.db.api(value.callee.path), value.call.args
            if _keeps_result(inner) and len(written) == 1 and not isinstance(written[0], ast.Starred):
                owner = value.model or model
                given = owner.evaluate(written[0], value.site.scope, value.site.block)
                for option in given.options():
                    yield from _run(model, option, depth + 1)
            return
        call = bind(value.model or model, call_site(value.site, value.call), value.callee)
        fun = call.role("fun") if call is not None and _keeps_result(call.api) else None
        for option in fun.value.options() if fun is not None else ():
            yield from _run(model, option, depth + 1)


def _empty(
    model: FileModel, target: Def, decorators: list[ast.expr], options: ApiCall | None
) -> ast.stmt | ast.expr | None:
    """What makes the function give None, whichever way through it is taken; None when it may give something."""
    owner, function = target.model or model, target.function
    if not all(_is_plain(owner, function, decorator) for decorator in decorators):
        return None
    node = function.node
    if target.owner is not None and not isinstance(node, ast.Lambda) and is_stub(node):
        return None  # a method that subclasses give its body
    found = results(model, target)
    if not found:
        return None
    if all(_is_none(value) for value in found):
        if isinstance(node, ast.Lambda):
            return node.body
        return _last(owner, function) or node
    given = options.arguments.get("has_aux") if options is not None else None
    if given is not None and truth(given.value) is True:
        firsts = [_first_of_pair(value) for value in found]
        if all(first is not None and _is_none(first) for first in firsts):
            first = firsts[0]
            site = first.site if first is not None and first.model is owner else None
            return site.node if site is not None and isinstance(site.node, (ast.expr, ast.Return)) else node
    return None


def _first_of_pair(value: Value) -> Value | None:
    is_pair = isinstance(value, Sequence) and value.kind == "tuple" and value.exact and len(value.items) == 2
    return value.items[0] if is_pair and isinstance(value, Sequence) else None


def _is_none(value: Value) -> bool:
    return is_none(value) or (isinstance(value, Typed) and value.type == "None")


def _last(model: FileModel, function: Function) -> ast.stmt | None:
    """The only ``return`` of a function, else its last statement; both None when it has several."""
    returns = [one for one, block in function.returns if not model.is_dead(block)]
    if len(returns) == 1:
        return returns[0]
    return function.node.body[-1] if not returns and not isinstance(function.node, ast.Lambda) else None


def _is_plain(model: FileModel, function: Function, decorator: ast.expr) -> bool:
    """Whether a decorator leaves the function's result as it is."""
    for option in model.evaluate(decorator, function.scope, function.block).options():
        while isinstance(option, Partial):
            option = option.target
        api = model.db.api(option.path) if isinstance(option, (Symbol, CallResult)) else None
        if api is None or api.kind not in (ApiKind.CHECKPOINT, ApiKind.TRANSFORM):
            if not model.evaluator.keeps_function(option):
                return False
        elif not _keeps_result(api):
            return False
    return True
