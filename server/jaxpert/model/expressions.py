"""Every expression of a tree with the place where it stands and the expression around it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxpert.syntax.scopes import Block, Scope, TreeIndex, scope_of

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Expression(NamedTuple):
    """An expression; ``parent`` is the expression or statement that holds it."""

    node: ast.expr
    parent: ast.AST
    scope: Scope
    block: Block


def expressions(tree: TreeIndex) -> Iterator[Expression]:
    """Every expression of the tree's statements, those inside lambdas and comprehensions in their own scopes."""
    for statement, block in tree.block_of.items():
        scope = scope_of(block)
        pending: list[tuple[ast.AST, ast.AST, Scope, Block]] = [
            (child, statement, scope, block)
            for child in ast.iter_child_nodes(statement)
            if not isinstance(child, (ast.stmt, ast.excepthandler))
        ]
        while pending:
            node, parent, scope_here, block_here = pending.pop()
            if isinstance(node, ast.expr):
                yield Expression(node, parent, scope_here, block_here)
            if isinstance(node, ast.Lambda) and node in tree.functions:
                function = tree.functions[node]
                pending.append((node.args, node, scope_here, block_here))
                pending.append((node.body, node, function.inner, function.body_block))
                continue
            if isinstance(node, _COMPREHENSIONS):
                scope_here = tree.comprehensions.get(node, scope_here)
            holder = node if isinstance(node, ast.expr) else parent
            for child in ast.iter_child_nodes(node):
                if not isinstance(child, ast.stmt):
                    pending.append((child, holder, scope_here, block_here))
