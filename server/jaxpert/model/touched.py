"""Containers that something changes in a way that their value does not show: deep inside, or under another name."""

from __future__ import annotations

import ast
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.model.values import Def, Symbol
from jaxpert.records import dataclass
from jaxpert.syntax.changes import changes
from jaxpert.syntax.children import walk
from jaxpert.syntax.scopes import Block, Function, Scope, TreeIndex, scope_of

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_CHANGING = {
    "append", "extend", "insert", "add", "update", "setdefault", "sort", "reverse", "remove", "pop", "popitem", "clear",
    "discard",
}  # fmt: skip

_MOST_CALLS = 3


@dataclass(frozen=True, slots=True)
class _Touches:
    """What one tree does: names touched and names changed in any way, and which names stand for a part of which."""

    touched: list[tuple[str, Block]] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)
    aliases: list[tuple[set[str], set[str], Block]] = field(default_factory=list)


def is_touched(model: FileModel, node: ast.Name, scope: Scope) -> bool:
    """Whether the container that ``node`` names may hold something else than what was put there when it was made.

    ``name["a"] = …`` does not count: :meth:`~jaxpert.model.evaluate.Evaluator.name` knows of that.
    """
    owners = model.remembered("touched names", lambda: _owners(model)).get(node.id)
    if owners is None:
        return False
    found = scope.lookup(node.id)
    return found is None or None in owners or found[0] in owners


def _owners(model: FileModel) -> dict[str, set[Scope | None]]:
    """The names touched anywhere in the file, and the scopes that bind them; None where nobody knows which does."""
    trees = model.source.trees()
    all_touches = [model.tree_fact(tree, "touches", lambda t: _touches(model, t)) for tree in trees]
    changed = set().union(*(one.changed for one in all_touches))
    owners: dict[str, set[Scope | None]] = {}
    for one in all_touches:
        blocks = list(one.touched)
        for taken, sources, block in one.aliases:
            if taken & changed:
                blocks += [(name, block) for name in sources]
        for name, block in blocks:
            found = scope_of(block).lookup(name)
            owners.setdefault(name, set()).add(found[0] if found is not None else None)
    return owners


def _touches(model: FileModel, tree: TreeIndex) -> _Touches:
    found = _Touches(changed=set(changes(tree)))
    for site in tree.calls:
        method = site.node.func
        if isinstance(method, ast.Attribute) and method.attr in _CHANGING and not isinstance(method.value, ast.Name):
            found.touched.append((_root(method.value), site.block))
        if isinstance(site.statement, ast.Expr) and site.statement.value is site.node:
            names = [argument.id for argument in site.node.args if isinstance(argument, ast.Name)]
            if names and not _is_harmless(model, site.node.func, site.scope, site.block):
                found.touched.extend((name, site.block) for name in names)
    for statement, block in tree.block_of.items():
        for target in _targets(statement):
            if isinstance(target, (ast.Subscript, ast.Attribute)) and not isinstance(target.value, ast.Name):
                found.touched.append((_root(target), block))
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            found.aliases.append((_names(statement.target), _names(statement.iter), block))
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Name, ast.Subscript)):
            taken = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            found.aliases.append((taken, _names(statement.value), block))
    found.changed.update(name for name, _ in found.touched)
    return found


def _names(node: ast.expr) -> set[str]:
    return {inner.id for inner in walk(node) if isinstance(inner, ast.Name)}


def _targets(statement: ast.stmt) -> list[ast.expr]:
    if isinstance(statement, (ast.Assign, ast.Delete)):
        return statement.targets
    return [statement.target] if isinstance(statement, (ast.AugAssign, ast.AnnAssign)) else []


def _root(node: ast.expr) -> str:
    """The name that a chain of subscripts, attributes and calls starts with; "" without one."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _leaves_arguments(model: FileModel, function: Function, depth: int) -> bool:
    """Whether a function of the user's certainly stores nothing in what it is given."""
    inside = list(walk(function.node))
    for node in inside:
        if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, (ast.AugAssign, ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)):
            return False
    calls = {id(node) for node in inside if isinstance(node, ast.Call)}
    for site in function.block.tree.calls:
        if id(site.node) not in calls:
            continue
        func = site.node.func
        given = [one for part in (*site.node.args, *site.node.keywords) for one in walk(part)]
        if isinstance(func, ast.Attribute) and (func.attr in _CHANGING or func.attr.startswith("__")):
            return False
        takes = any(isinstance(one, ast.Name) for one in given)
        if takes and not _is_harmless(model, func, site.scope, site.block, depth):
            return False
    return True


def _is_harmless(model: FileModel, func: ast.expr, scope: Scope, block: Block, depth: int = 0) -> bool:
    """Whether a call of ``func`` leaves its arguments as they are: what Python and JAX bring along does."""
    value = model.evaluate(func, scope, block)
    if isinstance(value, Def):
        return depth < _MOST_CALLS and _leaves_arguments(value.model or model, value.function, depth + 1)
    return isinstance(value, Symbol) and value.path.partition(".")[0] in ("builtins", "jax", "numpy", "pprint")
