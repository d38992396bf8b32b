"""Values tagged with a checkpoint name that nothing can use, because the result of the tagging is thrown away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.call_results import result_of
from jaxpert.model.calls import ApiCall, Argument, api_calls_in
from jaxpert.model.values import CallResult, Def, Partial, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.syntax.children import children
from jaxpert.syntax.scopes import BindingKind, CallSite, Scope, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MAPS = ("jax.tree.map", "jax.tree.map_with_path")
_FUNCTIONS = (BindingKind.FUNCTION, BindingKind.FROM_IMPORT, BindingKind.ASSIGN)
_SEE_ALL_NAMES = {"locals", "vars", "eval", "exec", "dir"}
# Before Python 3.12 it is not known where in an f-string a name stands.
_AT_ANY_TIME = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.JoinedStr)


@dataclass(frozen=True, slots=True, eq=False)
class DiscardedTag:
    """A call that tags a value, and whose result is lost.

    Attributes:
        site: the call.
        variable: the variable that holds the result and is never read; "" where nothing holds it.
        name: the argument that gives the name; None where a function of the user's gives it.
        value: the argument that is tagged; None as before.
    """

    site: CallSite
    variable: str
    name: Argument | None = None
    value: Argument | None = None


def discarded_tags(model: FileModel) -> Iterator[DiscardedTag]:
    """All of them in the file, those of the user's own tagging functions among them."""
    yield from model.from_each_tree("discarded tags", lambda m, t: list(_in_tree(m, t)))


def _in_tree(model: FileModel, tree: TreeIndex) -> Iterator[DiscardedTag]:
    for call in api_calls_in(model, tree):
        if call.is_partial:
            continue
        if call.api.kind is ApiKind.CHECKPOINT_NAME:
            variable = _lost_in(call.site)
            if variable is not None:
                yield DiscardedTag(call.site, variable, call.role("name"), call.role("value"))
        elif call.api.name in _MAPS and model.source.contains("checkpoint_name") and _maps_tags(model, call):
            variable = _lost_in(call.site)
            if variable is not None:
                value = None if call.varargs or call.opened else call.arguments.get("tree")
                yield DiscardedTag(call.site, variable, value=value)
    for site in tree.calls:
        if _is_statement(site) and _calls_own_tagger(model, site):
            yield DiscardedTag(site, "")


def _is_statement(site: CallSite) -> bool:
    """Whether nothing is done with the result of a call."""
    return isinstance(site.statement, ast.Expr) and site.statement.value is site.node


def _maps_tags(model: FileModel, call: ApiCall) -> bool:
    """Whether a call of ``jax.tree.map`` gives nothing but values it has tagged."""
    fun = call.role("fun")
    for option in fun.value.options() if fun is not None else ():
        target = option
        while isinstance(target, Partial):
            target = target.target
        if isinstance(target, Symbol):
            api = model.db.api(target.path)
            if api is None or api.kind is not ApiKind.CHECKPOINT_NAME:
                return False
        elif not isinstance(option, Def) or not _may_tag(option):
            return False
        else:
            given = result_of((option.model or model).evaluator, option, None, {})
            if not all(_is_tagged(model, one) for one in given.options()):
                return False
    return fun is not None


def _calls_own_tagger(model: FileModel, site: CallSite) -> bool:
    """Whether the call is of a function of the user's that always returns a value it has tagged."""
    func = site.node.func
    found = site.scope.lookup(func.id) if isinstance(func, ast.Name) else None
    if found is None or not any(binding.kind in _FUNCTIONS for binding in found[1]):
        return False
    callee = model.evaluate(func, site.scope, site.block)
    if not all(isinstance(option, Def) and _may_tag(option) for option in callee.options()):
        return False
    return all(_is_tagged(model, option) for option in model.evaluate(site.node, site.scope, site.block).options())


def _may_tag(function: Def) -> bool:
    """A cheap look: does it return anything, and does its file tag anything?"""
    returns = [one for one, _ in function.function.returns if one.value is not None]
    if not returns and not isinstance(function.function.node, ast.Lambda):
        return False
    return function.model is not None and function.model.source.contains("checkpoint_name")


def _is_tagged(model: FileModel, value: Value) -> bool:
    api = model.db.api(value.path) if isinstance(value, CallResult) else None
    return api is not None and api.kind is ApiKind.CHECKPOINT_NAME


def _lost_in(site: CallSite) -> str | None:
    """The variable in which the call's result is lost, "" when it is lost at once, None when it is not lost."""
    statement = site.statement
    if isinstance(statement, ast.Expr):
        return "" if any(node is site.node for node in thrown_away(statement.value)) else None
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is not site.node or len(targets) != 1:
        return None
    target = targets[0]
    return target.id if isinstance(target, ast.Name) and not may_be_read_after(site, target.id) else None


def thrown_away(node: ast.expr) -> Iterator[ast.expr]:
    """``node`` and the parts that give its value, or its members."""
    yield node
    parts: list[ast.expr] = []
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp):
        parts = node.values[-1:]
    elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        parts = node.elts
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        parts = [node.elt]
    for part in parts:
        yield from thrown_away(part)


def may_be_read_after(site: CallSite, name: str) -> bool:
    """Whether anything can read the variable ``name`` of the function around once the statement of ``site`` is done.

    True as well outside of functions, and where the variable belongs to another scope.
    """
    scope = site.scope
    if scope.kind != "function" or scope.node is None or name not in scope.bindings:
        return True
    function = next(block.depth for block in site.block.enclosing() if block.owner is scope.node)
    loops = (ast.For, ast.AsyncFor, ast.While)
    runs_again = any(isinstance(b.owner, loops) and b.depth > function for b in site.block.enclosing())
    end = (site.statement.end_lineno or 0, site.statement.end_col_offset or 0)
    return any(runs_again or read is None or read >= end for read in _reads(site.block.tree, scope.node, name))


def is_bound_anew(site: CallSite, name: str) -> bool:
    """Whether the loop around the statement of ``site`` binds ``name`` in each turn, and does not read it behind."""
    end = (site.statement.end_lineno or 0, site.statement.end_col_offset or 0)
    for block in site.block.enclosing():
        loop = block.owner
        if block.part != "body" or not isinstance(loop, (ast.For, ast.AsyncFor, ast.While)):
            if isinstance(loop, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                return False
            continue
        bound = [] if isinstance(loop, ast.While) else [loop.target]
        names = [node for part in (*bound, *loop.body) for node in ast.walk(part) if isinstance(node, ast.Name)]
        named = [node for node in names if node.id == name]
        if any(isinstance(node.ctx, ast.Store) for node in named):
            return not any(isinstance(n.ctx, ast.Load) and (n.lineno, n.col_offset) >= end for n in named)
    return False


def may_be_read_anytime(scope: Scope, name: str) -> bool:
    """Whether a function nested in ``scope``'s own, or something that sees all names there, can read ``name``."""
    return scope.node is not None and scope.block is not None and None in _reads(scope.block.tree, scope.node, name)


_Read = tuple[int, int] | None
"""Where a name is read or deleted; None for a read that may happen at any time."""

_ANY_NAME = "*"


def _reads(tree: TreeIndex, function: ast.AST, name: str) -> list[_Read]:
    """Where ``name`` is read in ``function``, which stands in ``tree``."""
    key = f"reads {id(function)}"
    known = tree.facts.get(key)
    if not isinstance(known, dict):
        known = dict[str, list[_Read]]()
        for read_name, read in _all_reads(function):
            known.setdefault(read_name, []).append(read)
        tree.facts[key] = known
    return [*known.get(name, ()), *known.get(_ANY_NAME, ())]


def _all_reads(function: ast.AST) -> Iterator[tuple[str, _Read]]:
    """Every read in ``function``, by name; :data:`_ANY_NAME` where a call sees all of them."""
    waiting = [(child, False) for child in children(function)]
    while waiting:
        node, at_any_time = waiting.pop()
        name = ""
        if isinstance(node, ast.Name):
            name = "" if isinstance(node.ctx, ast.Store) else node.id
        elif isinstance(node, ast.AugAssign):
            name = node.target.id if isinstance(node.target, ast.Name) else ""
        elif isinstance(node, (ast.Global, ast.Nonlocal)):  # another scope's, where others may read it
            yield from ((declared, None) for declared in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SEE_ALL_NAMES:
            yield _ANY_NAME, None
        if name:
            yield name, None if at_any_time else (node.lineno, node.col_offset)  # type: ignore[attr-defined]
        at_any_time = at_any_time or isinstance(node, _AT_ANY_TIME)
        waiting += [(child, at_any_time) for child in children(node)]
