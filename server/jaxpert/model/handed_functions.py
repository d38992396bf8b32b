"""Functions that are given to a helper of the same file, which differentiates what it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.aliases import last_word
from jaxpert.model.calls import ApiCall, Argument, api_calls_in
from jaxpert.model.values import Def
from jaxpert.records import dataclass
from jaxpert.syntax.executed import always_runs
from jaxpert.syntax.scopes import BindingKind, Function, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_WORDS = ("grad", "vjp", "jac", "hessian", "linearize", "jvp")


@dataclass(frozen=True, slots=True, eq=False)
class HandedFunction:
    """An argument of a call of a helper.

    Attributes:
        argument: the function, where it is given to the helper.
        taken: the transformation to which the helper gives its parameter, as it is.
    """

    argument: Argument
    taken: ApiCall


def handed_functions(model: FileModel) -> list[HandedFunction]:
    """All of them in the calls of the trees in focus."""
    if not model.source.contains_any(_WORDS):
        return []
    takers = model.remembered("takers of functions", lambda: _takers(model))
    return model.from_each_tree("handed functions", lambda m, t: list(_in_tree(m, t, takers))) if takers else []


_Takers = dict[str, list[tuple[Function, str, ApiCall]]]


def _takers(model: FileModel) -> _Takers:
    """The functions that differentiate one of their parameters, whenever they run or what they return does."""
    found: _Takers = {}
    for tree in model.every_tree:
        for function, name, call in model.tree_fact(tree, "takers", lambda t: list(_takers_in(model, t))):
            found.setdefault(getattr(function.node, "name", ""), []).append((function, name, call))
    return found


def _takers_in(model: FileModel, tree: TreeIndex) -> Iterator[tuple[Function, str, ApiCall]]:
    for call in api_calls_in(model, tree):
        fun = call.role("fun")
        if fun is None or call.api.kind is not ApiKind.TRANSFORM or "differentiates" not in call.api.traits:
            continue
        if call.is_partial or fun.model is not model or not isinstance(fun.node, ast.Name):
            continue
        found = fun.site.scope.lookup(fun.node.id)
        if found is None or len(found[1]) != 1 or found[1][0].kind is not BindingKind.PARAMETER:
            continue
        function = tree.functions.get(found[0].node) if found[0].node is not None else None  # type: ignore[call-overload]
        if function is None or isinstance(function.node, ast.Lambda):
            continue
        if not always_runs(function.node, call.node, in_definitions=True):
            continue
        yield function, fun.node.id, call


def _in_tree(model: FileModel, tree: TreeIndex, takers: _Takers) -> Iterator[HandedFunction]:
    for site in tree.calls:
        known = takers.get(last_word(site.node.func))
        if known is None or model.is_dead(site.block):
            continue
        callee = model.evaluate(site.node.func, site.scope, site.block)
        for function, name, taken in known:
            if isinstance(callee, Def) and callee.function is function and _is_bare(model, function):
                node = _given(callee, site.node, name)
                if node is not None:
                    yield HandedFunction(Argument(node, Site(site.node, site.scope, site.block), model), taken)


def _is_bare(model: FileModel, function: Function) -> bool:
    values = (model.evaluate(one, function.scope, function.block) for one in function.node.decorator_list)  # type: ignore[union-attr]
    return all(model.evaluator.keeps_function(option) for value in values for option in value.options())


def _given(callee: Def, call: ast.Call, name: str) -> ast.expr | None:
    """What a call gives to a parameter; None when that cannot be seen."""
    arguments = callee.function.node.args
    names = [one.arg for one in (*arguments.posonlyargs, *arguments.args)][1 if callee.bound else 0 :]
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    position = names.index(name) if name in names else len(call.args)
    before = call.args[: position + 1]
    return before[position] if position < len(before) and not any(isinstance(a, ast.Starred) for a in before) else None
