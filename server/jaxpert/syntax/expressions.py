"""The expressions of a tree with the place where each stands and the expression around it."""

from __future__ import annotations

import ast
from typing import NamedTuple

from jaxpert.syntax.children import children
from jaxpert.syntax.scopes import Block, Scope, TreeIndex, scope_of

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Expression(NamedTuple):
    """An expression; ``parent`` is the expression or statement that holds it."""

    node: ast.expr
    parent: ast.AST
    scope: Scope
    block: Block


_NOT_INSIDE = (ast.stmt, ast.excepthandler)
_HOLD_NOTHING = frozenset({ast.Name, ast.Constant})


def compounds(tree: TreeIndex, *kinds: type[ast.expr]) -> list[Expression]:
    """The expressions of ``kinds`` in the tree's statements; those around others come before them.

    Those inside lambdas and comprehensions stand in scopes of their own. Not for names and constants.
    """
    kept = tree.compounds
    if kept is None:
        kept = tree.compounds = by_kind(tree)
    if len(kinds) == 1:
        return kept.get(kinds[0], [])
    return [found for kind in kinds for found in kept.get(kind, ())]


def by_kind(tree: TreeIndex) -> dict[type, list[Expression]]:
    """The compound expressions of the tree's statements, by kind."""
    found: dict[type, list[Expression]] = {}
    for expression in _walk(tree, _HOLD_NOTHING):
        found.setdefault(expression.node.__class__, []).append(expression)
    return found


def expressions(tree: TreeIndex) -> list[Expression]:
    """Every expression of the tree's statements, those around others before them."""
    return _walk(tree, frozenset())


def _walk(tree: TreeIndex, skipped: frozenset[type]) -> list[Expression]:
    found: list[Expression] = []
    for statement, block in tree.block_of.items():
        pending: list[tuple[ast.AST, ast.AST, Scope, Block]] = [(statement, statement, scope_of(block), block)]
        while pending:
            node, parent, scope, block_here = pending.pop()
            kind = node.__class__
            if isinstance(node, ast.expr):
                found.append(Expression(node, parent, scope, block_here))
                parent = node
                if isinstance(node, ast.Lambda) and node in tree.functions:
                    function = tree.functions[node]
                    pending.append((node.args, node, scope, block_here))
                    pending.append((node.body, node, function.inner, function.body_block))
                    continue
                if kind in _COMPREHENSIONS:
                    scope = tree.comprehensions.get(node, scope)
            for child in children(node):
                if child.__class__ not in skipped and not isinstance(child, _NOT_INSIDE):
                    pending.append((child, parent, scope, block_here))
    return found
