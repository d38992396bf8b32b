"""Functions of the user's that a checkpointed function calls with tracers, and that ask for their values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.model.argument_questions import questions
from jaxpert.model.tracing import Body, Level, Place, Traced
from jaxpert.model.values import Def
from jaxpert.syntax.executed import always_runs

if TYPE_CHECKING:
    from jaxpert.model.conversions import Conversion
    from jaxpert.model.file_model import FileModel

_DEEPEST = 3

Search = Callable[[Body], Iterator["Conversion"]]


def asked_by_helper(body: Body, node: ast.Call, target: Def, place: Place, search: Search) -> Conversion | None:
    """The first value that ``target``, called by ``node`` in ``body``, asks for whatever else it is given.

    Only what surely runs counts: no arms of conditions, and nothing behind a ``return`` or a ``raise``.
    """
    given = _given(body, node, target, place)
    if not given or body.helper_depth >= _DEEPEST:
        return None
    looked_at, asked_for_none = questions(target)
    levels = {name: traced.level for name, traced in given.items() if name not in looked_at | asked_for_none}
    if not levels:
        return None
    found = _first(target.model or body.model, target, levels, body.helper_depth + 1, search)
    if found is None or not found.traced.names <= given.keys():
        return None
    passed = [given[name] for name in sorted(found.traced.names)]
    names = frozenset(name for one in passed for name in one.names)
    needs_array = found.traced.needs_array or any(one.needs_array for one in passed)
    return replace(found, node=node, traced=Traced(Level.ARRAY, names, needs_array), inner=found, helper=target)


def _given(body: Body, node: ast.Call, target: Def, place: Place) -> dict[str, Traced]:
    """What is known about the parameters of ``target`` that the call gives tracers; {} where that is in doubt."""
    function = target.function
    if target.owner is not None or target.frame or function.is_generator or function is body.function:
        return {}
    if isinstance(function.node, ast.AsyncFunctionDef) or getattr(function.node, "decorator_list", None):
        return {}
    if any(isinstance(one, ast.Starred) for one in node.args) or any(one.arg is None for one in node.keywords):
        return {}
    arguments = function.node.args
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    by_name = {argument.arg for argument in (*arguments.args, *arguments.kwonlyargs)}
    pairs = [*zip(positional, node.args), *((str(one.arg), one.value) for one in node.keywords if one.arg in by_name)]
    traced = {name: body.traced(argument, place) for name, argument in pairs}
    return {name: one for name, one in traced.items() if one.level is not Level.NOT}


def _first(model: FileModel, target: Def, levels: dict[str, Level], depth: int, search: Search) -> Conversion | None:
    function = target.function
    model.evaluator.entered.append(function.block.tree)
    key = f"asked {id(function)} {depth} {sorted((name, level.name) for name, level in levels.items())}"

    def find(_: object) -> list[Conversion]:
        inside = Body(model, target, levels)
        inside.helper_depth = depth
        return [one for one in search(inside) if one.traced.level and always_runs(target.function.node, one.node)][:1]

    return next(iter(model.tree_fact(function.block.tree, key, find)), None)
