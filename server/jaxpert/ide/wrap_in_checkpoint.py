"""Refactorings that rematerialize what was not: a function by a decorator, a call by wrapping its callee."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from jaxpert.fixing import verbs
from jaxpert.fixing.new_wrappings import add_decorator
from jaxpert.fixing.wrapper_calls import partial_name
from jaxpert.ide.refactoring import (
    REWRITE,
    Edits,
    Refactoring,
    RefactoringRefused,
    Spot,
    checked,
    imported_api,
    shortened,
    together,
    tried,
)
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.file_model import FileModel
from jaxpert.model.rematerialized import wrappings_behind, wrappings_of
from jaxpert.model.static_needs import StaticNeeds, static_needs, static_under_jit
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import UNKNOWN, CallResult, Def, Partial, Symbol, Value
from jaxpert.syntax.expressions import Expression
from jaxpert.syntax.scopes import BindingKind, Function, Scope
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range, split_lines

CHECKPOINT = "jax.checkpoint"

_RULES = "14"
"""The families of rules that speak about rematerialized functions and calls of them."""

_PLAIN = re.compile(r"\bjax\.checkpoint\b")
_ARRAY_MODULES = ("jax.numpy", "jax.nn", "jax.lax", "jax.scipy", "jax.image")


def wrap_function(spot: Spot) -> Iterator[Refactoring]:
    """``@jax.checkpoint`` above the function whose header is pointed at."""
    model = spot.model
    unit = model.source.unit_at(spot.area.start.line)
    for function in [one for tree in unit.trees for one in tree.functions.values()]:
        node = function.node
        if isinstance(node, ast.Lambda) or not spot.is_in(_header(model, node)) or not _may_be_wrapped(model, function):
            continue
        title = f"Rematerialize `{node.name}` with `@{_shown(model)}`"
        yield Refactoring(title, REWRITE, partial(_decorate, spot, function))


def wrap_call(spot: Spot) -> Iterator[Refactoring]:
    """``f(x)`` becomes ``jax.checkpoint(f)(x)`` where the call is selected, or the name of a known function in it."""
    found = _call(spot)
    if found is None:
        return
    one, area = found
    assert isinstance(one.node, ast.Call)
    text = shortened(spot.model.text_of(one.node.func))
    title = f"Rematerialize this call: `{_shown(spot.model)}({text})(…)`"
    yield Refactoring(title, REWRITE, partial(_wrap, spot, one, area))


def _shown(model: FileModel) -> str:
    """The wrapper as the file writes it, where that is plain to see; for titles."""
    text = model.source.text
    return "jax.remat" if text.count("jax.remat") > len(_PLAIN.findall(text)) else CHECKPOINT


# -- functions --------------------------------------------------------------------------------------------------------


def _header(model: FileModel, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Range | None:
    """From the decorators up to the body."""
    start = model.range_of(node.decorator_list[0] if node.decorator_list else node)
    body = model.range_of(node.body[0])
    if start is None or body is None:
        return None
    end = body.start
    if end.line > start.start.line:  # up to the end of the line before, or of the header on the same line
        header = model.range_of(node)
        if header is not None and end.line > header.start.line:
            end = Position(end.line - 1, len(model.source.lines[end.line - 1].rstrip("\r\n")))
    return Range(Position(start.start.line, 0), end)


def _may_be_wrapped(model: FileModel, function: Function) -> bool:
    """Whether the function can take arrays alone, and is not rematerialized yet."""
    node = function.node
    assert not isinstance(node, ast.Lambda)
    if isinstance(node, ast.AsyncFunctionDef) or function.is_generator or model.is_dead(function.block):
        return False
    if _is_stub(node) or _uses_module(function) or not (node.args.args or node.args.posonlyargs or node.args.vararg):
        return False
    values = [model.evaluate(one, function.scope, function.block) for one in node.decorator_list]
    if function.scope.kind == "class" and not any(_path(value) == "builtins.staticmethod" for value in values):
        return False  # `self` would be traced
    for value in values:
        api = model.db.api(_path(value))
        if api is not None and (api.kind is ApiKind.CHECKPOINT or "custom_derivative" in api.traits):
            return False
    return not wrappings_of(model, function)


def _uses_module(function: Function) -> bool:
    """Whether a function inside a method uses the object, of a class with bases or decorators: modules of Flax and
    Haiku must not be called under ``jax.checkpoint``.
    """
    names = {part.id for part in ast.walk(function.node) if isinstance(part, ast.Name)}
    scope: Scope | None = function.scope
    while scope is not None:
        method = scope.node
        if scope.parent is not None and isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            cls = scope.parent.node
            if isinstance(cls, ast.ClassDef) and (cls.bases or cls.decorator_list):
                return any(one.arg in names for one in (*method.args.posonlyargs, *method.args.args)[:1])
        scope = scope.parent
    return False


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return all(
        isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in node.body
    )


def _path(value: Value) -> str:
    while isinstance(value, Partial):
        value = value.target
    return value.path if isinstance(value, (Symbol, CallResult)) else ""


def _decorate(spot: Spot, function: Function) -> Edits:
    model, node = spot.model, function.node
    where = model.range_of(node)
    assert not isinstance(node, ast.Lambda)
    if where is None:
        raise RefactoringRefused("the function has just been edited")
    name, imports = _wrapper(model, where.start)
    edits = together(imports, add_decorator(model.source.lines, where, name))
    with tried(model, edits) as after:
        line = where.start.line + _lines_added(imports) + 1
        checkpoint = next((one for one in after.checkpoints if one.by_decorator and _stands_at(after, one, line)), None)
        needs = _needs(after, checkpoint, static_under_jit(model, function))
        if not needs.indices:
            return checked(spot.analysis, edits, _RULES, after)
    through = partial_name(model.source.lines, where.start, model.source)
    if through is None:
        raise RefactoringRefused("there is no safe place for `import functools`")
    decorator = f"{through[0]}({name}, static_argnums={_numbers(needs.indices)})"
    edits = together(imports, through[1], add_decorator(model.source.lines, where, decorator))
    return checked(spot.analysis, edits, _RULES)


def _lines_added(imports: tuple[Edit, ...]) -> int:
    return sum(len(split_lines(edit.new_text)) - 1 for edit in imports)


def _stands_at(model: FileModel, checkpoint: Checkpoint, line: int) -> bool:
    target = checkpoint.target
    where = model.range_of(target.function.node) if isinstance(target, Def) else None
    return where is not None and where.start.line == line


# -- calls ------------------------------------------------------------------------------------------------------------


def _call(spot: Spot) -> tuple[Expression, Range] | None:
    if spot.is_selection:
        found = spot.selected
    else:
        inner = spot.expressions[0][0].node if spot.expressions else None
        found = next(
            (it for it in spot.expressions if isinstance(it[0].node, ast.Call) and it[0].node.func is inner), None
        )
    if found is None or not isinstance(found[0].node, ast.Call) or not found[0].node.args + found[0].node.keywords:
        return None
    if isinstance(found[0].parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Await)):
        return None  # a decorator, a default or a base; or a coroutine
    return found if _gives_arrays(spot.model, found[0], spot.is_selection) else None


def _gives_arrays(model: FileModel, one: Expression, is_selected: bool) -> bool:
    """Whether the callee may be a function of arrays that is not rematerialized yet."""
    assert isinstance(one.node, ast.Call)
    func = one.node.func
    if isinstance(func, ast.Call) and wrappings_behind(model, model.evaluate(func, one.scope, one.block)):
        return False
    for option in model.evaluate(func, one.scope, one.block).options():
        while isinstance(option, Partial):
            option = option.target
        if wrappings_behind(model, option):
            return False
        if isinstance(option, Def):
            if option.function.is_generator or isinstance(option.function.node, ast.AsyncFunctionDef):
                return False
            owner = option.owner.node if option.owner is not None and option.bound else None
            if _uses_module(option.function) or (owner is not None and (owner.bases or owner.decorator_list)):
                return False
        elif isinstance(option, CallResult):
            api = model.db.api(option.path)
            if not is_selected or api is None or api.kind is not ApiKind.TRANSFORM or "applies" in api.traits:
                return False
        elif isinstance(option, Symbol):
            module = option.path.rpartition(".")[0]
            if not is_selected or not module.startswith(_ARRAY_MODULES) or _is_transformation(model, option):
                return False
        elif option is not UNKNOWN or not is_selected or not _is_given(func, one):
            return False
    return True


def _is_transformation(model: FileModel, symbol: Symbol) -> bool:
    api = model.db.api(symbol.path)
    return api is not None and api.kind is not ApiKind.FUNCTION


def _is_given(func: ast.expr, one: Expression) -> bool:
    """Whether the callee is a parameter of a function around."""
    found = one.scope.lookup(func.id) if isinstance(func, ast.Name) else None
    return found is not None and all(binding.kind is BindingKind.PARAMETER for binding in found[1])


def _wrap(spot: Spot, one: Expression, area: Range) -> Edits:
    model, lines, node = spot.model, spot.model.source.lines, one.node
    assert isinstance(node, ast.Call)
    callee = model.range_of(node.func)
    if callee is None:
        raise RefactoringRefused("the call has just been edited")
    name, imports = _wrapper(model, area.start)
    edits = together(imports, verbs.wrap_call(lines, callee, name))
    with tried(model, edits) as after:
        start = Position(callee.start.line + _lines_added(imports), callee.start.column)
        places = [(after.range_of(it.node), it) for it in after.checkpoints]
        wrapped = next((it for place, it in places if place is not None and place.start == start), None)
        needs = _needs(after, wrapped, ())
        if not needs.indices and not needs.keywords:
            return checked(spot.analysis, edits, _RULES, after)
    text = model.text_of(node.func)
    if needs.keywords:
        through = partial_name(lines, area.start, model.source)
        if through is None:
            raise RefactoringRefused("there is no safe place for `import functools`")
        fixed = (_keyword(model, each) for each in node.keywords if each.arg in needs.keywords)
        text, imports = f"{through[0]}({text}, {', '.join(fixed)})", together(imports, through[1])
    options = f", static_argnums={_numbers(needs.indices)}" if needs.indices else ""
    where, new = callee, f"{name}({text}{options})"
    if needs.keywords:  # they move into the partial
        rest = [model.text_of(argument) for argument in node.args]
        rest += [_keyword(model, each) for each in node.keywords if each.arg not in needs.keywords]
        where, new = area, f"{new}({', '.join(rest)})"
    return checked(spot.analysis, together(imports, verbs.replace_expression(lines, where, new)), _RULES)


def _keyword(model: FileModel, keyword: ast.keyword) -> str:
    text = model.text_of(keyword.value)
    return f"{keyword.arg}={text}" if keyword.arg else f"**{text}"


# -- both -------------------------------------------------------------------------------------------------------------


def _wrapper(model: FileModel, use: Position) -> tuple[str, Edits]:
    return imported_api(model, (CHECKPOINT, "jax.remat"), use, "import jax", "{}.checkpoint")


def _needs(model: FileModel, checkpoint: Checkpoint | None, also: frozenset[str] | tuple[str, ...]) -> StaticNeeds:
    needs = static_needs(model, checkpoint, also) if checkpoint is not None else StaticNeeds()
    if needs.obstacle:
        raise RefactoringRefused(needs.obstacle)
    return needs


def _numbers(indices: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, indices))}{',' if len(indices) == 1 else ''})"
