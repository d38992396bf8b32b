"""Every expression of a tree with the place where it stands and the expression around it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jaxpert.syntax.scopes import Block, Scope, TreeIndex, scope_of

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Expression(NamedTuple):
    """An expression; ``parent`` is the expression or statement that holds it."""

    node: ast.expr
    parent: ast.AST
    scope: Scope
    block: Block


_NEITHER = (ast.stmt, ast.excepthandler)
_EMPTY = frozenset(
    kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST) and not kind._fields
)
"""Contexts and operators: nodes that hold nothing."""

KEPT = "expressions"
"""Under this key a tree keeps them, until somebody throws them away."""


def expressions(tree: TreeIndex) -> list[Expression]:
    """Every expression of the tree's statements, those inside lambdas and comprehensions in their own scopes."""
    kept = tree.facts.get(KEPT)
    if not isinstance(kept, list):
        kept = tree.facts[KEPT] = _all_expressions(tree)
    return kept


def _all_expressions(tree: TreeIndex) -> list[Expression]:
    found: list[Expression] = []
    for statement, block in tree.block_of.items():
        scope = scope_of(block)
        pending: list[tuple[ast.AST, ast.AST, Scope, Block]] = []
        _add_children(statement, statement, scope, block, pending)
        while pending:
            node, parent, scope_here, block_here = pending.pop()
            is_expression = isinstance(node, ast.expr)
            if is_expression:
                found.append(Expression(node, parent, scope_here, block_here))  # type: ignore[arg-type]
            kind = node.__class__
            if kind is ast.Name or kind is ast.Constant:
                continue
            if isinstance(node, ast.Lambda) and node in tree.functions:
                function = tree.functions[node]
                pending.append((node.args, node, scope_here, block_here))
                pending.append((node.body, node, function.inner, function.body_block))
                continue
            if kind in _COMPREHENSIONS:
                scope_here = tree.comprehensions.get(node, scope_here)  # type: ignore[call-overload]
            _add_children(node, node if is_expression else parent, scope_here, block_here, pending)
    return found


def _add_children(
    node: ast.AST, parent: ast.AST, scope: Scope, block: Block, pending: list[tuple[ast.AST, ast.AST, Scope, Block]]
) -> None:
    for value in node.__dict__.values():
        if value.__class__ is list:
            for item in value:
                if isinstance(item, ast.AST) and item.__class__ not in _EMPTY and not isinstance(item, _NEITHER):
                    pending.append((item, parent, scope, block))
        elif isinstance(value, ast.AST) and value.__class__ not in _EMPTY and not isinstance(value, _NEITHER):
            pending.append((value, parent, scope, block))
