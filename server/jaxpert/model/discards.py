"""Values tagged with a checkpoint name that nothing can use, because the result of the tagging is thrown away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import Argument, api_calls_in
from jaxpert.model.values import CallResult, Def, Value
from jaxpert.syntax.scopes import BindingKind, CallSite, Scope, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_FUNCTIONS = (BindingKind.FUNCTION, BindingKind.FROM_IMPORT, BindingKind.ASSIGN)
_SEE_ALL_NAMES = {"locals", "vars", "eval", "exec", "dir"}


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
    for tree in model.trees:
        yield from model.tree_fact(tree, "discarded tags", lambda t: list(_in_tree(model, t)))


def _in_tree(model: FileModel, tree: TreeIndex) -> Iterator[DiscardedTag]:
    for call in api_calls_in(model, tree):
        if call.api.kind is ApiKind.CHECKPOINT_NAME and not call.is_partial:
            variable = _lost_in(call.site)
            if variable is not None:
                yield DiscardedTag(call.site, variable, call.role("name"), call.role("value"))
    for site in tree.calls:
        statement = site.statement
        if isinstance(statement, ast.Expr) and statement.value is site.node and _calls_own_tagger(model, site):
            yield DiscardedTag(site, "")


def _calls_own_tagger(model: FileModel, site: CallSite) -> bool:
    """Whether the call is of a function of the user's that always returns a value it has tagged."""
    func = site.node.func
    found = site.scope.lookup(func.id) if isinstance(func, ast.Name) else None
    if found is None or not any(binding.kind in _FUNCTIONS for binding in found[1]):
        return False
    callee = model.evaluate(func, site.scope, site.block)
    if not all(isinstance(option, Def) and _returns_something(option) and _may_tag(option) for option in callee.options()):
        return False
    return all(_is_tagged(model, option) for option in model.evaluate(site.node, site.scope, site.block).options())


def _returns_something(function: Def) -> bool:
    returns = function.function.returns
    return isinstance(function.function.node, ast.Lambda) or any(one.value is not None for one, _ in returns)


def _may_tag(function: Def) -> bool:
    return function.model is not None and "checkpoint_name" in function.model.source.text


def _is_tagged(model: FileModel, value: Value) -> bool:
    api = model.db.api(value.path) if isinstance(value, CallResult) else None
    return api is not None and api.kind is ApiKind.CHECKPOINT_NAME


def _lost_in(site: CallSite) -> str | None:
    """The variable in which the call's result is lost, "" when it is lost at once, None when it is not lost."""
    statement = site.statement
    if isinstance(statement, ast.Expr):
        return "" if any(node is site.node for node in _thrown_away(statement.value)) else None
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is not site.node or len(targets) != 1:
        return None
    target = targets[0]
    return target.id if isinstance(target, ast.Name) and not may_be_read_after(site, target.id) else None


def _thrown_away(node: ast.expr) -> Iterator[ast.expr]:
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
        yield from _thrown_away(part)


def may_be_read_after(site: CallSite, name: str) -> bool:
    """Whether anything can read the variable ``name`` of the function around once the statement of ``site`` is done.

    True as well outside of functions, and where the variable belongs to another scope.
    """
    scope = site.scope
    if scope.kind != "function" or scope.node is None or name not in scope.bindings:
        return True
    looped = any(
        isinstance(block.owner, (ast.For, ast.AsyncFor, ast.While)) and block.part == "body"
        for block in site.block.enclosing()
        if block.depth > _depth(site, scope)
    )
    end = (site.statement.end_lineno or 0, site.statement.end_col_offset or 0)
    return read_by_nested(scope, name) or any(
        looped or in_text or (node.lineno, node.col_offset) >= end for node, in_text in _reads(scope.node, name)
    )


def _depth(site: CallSite, scope: Scope) -> int:
    return next(block.depth for block in site.block.enclosing() if block.owner is scope.node)


def read_by_nested(scope: Scope, name: str) -> bool:
    """Whether a function or class inside ``scope``'s own function uses ``name``, or something there sees all names."""
    assert scope.node is not None
    nested = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    for node in ast.walk(scope.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _SEE_ALL_NAMES:
            return True
        if isinstance(node, nested) and node is not scope.node:
            if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node)):
                return True
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return True
    return False


def _reads(function: ast.AST, name: str) -> Iterator[tuple[ast.Name, bool]]:
    """Uses of ``name`` that read it (or delete it), each with whether it stands inside an f-string."""
    texts: list[ast.AST] = [node for node in ast.walk(function) if isinstance(node, ast.JoinedStr)]
    inside = {id(part) for text in texts for part in ast.walk(text)}
    augmented = {id(node.target) for node in ast.walk(function) if isinstance(node, ast.AugAssign)}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id == name:
            if not isinstance(node.ctx, ast.Store) or id(node) in augmented:
                yield node, id(node) in inside
