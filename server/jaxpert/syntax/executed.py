"""What runs when a function is called: its statements and expressions, each with its scope and block."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from jaxpert.syntax.children import children
from jaxpert.syntax.scopes import Block, Function, Scope, Site, TreeIndex

Truth = Callable[[ast.expr, Scope, Block], "bool | None"]
"""Says whether a condition is known to be true or false; None when it is not known."""


def executed(function: Function, truth: Truth) -> Iterator[Site]:
    """Every statement and expression of the function's body, outermost first, without what ``truth`` rules out.

    The bodies of nested functions count: what defines one usually calls it.
    """
    parts = _Parts(function.block.tree, truth)
    body = [function.node.body] if isinstance(function.node, ast.Lambda) else function.node.body
    for part in body:
        yield from parts.of(part, function.inner, function.body_block)


class _Parts:
    def __init__(self, tree: TreeIndex, truth: Truth) -> None:
        self.tree = tree
        self.truth = truth

    def of(self, node: ast.AST, scope: Scope, block: Block) -> Iterator[Site]:
        if isinstance(node, ast.stmt):
            block = self.tree.block_of.get(node, block)
        if isinstance(node, (ast.stmt, ast.expr)):
            yield Site(node, scope, block)
        if isinstance(node, (ast.If, ast.IfExp)):
            yield from self.of(node.test, scope, block)
            known = self.truth(node.test, scope, block)
            yield from self.all([] if known is False else node.body, scope, block)
            yield from self.all([] if known is True else node.orelse, scope, block)
        elif isinstance(node, ast.BoolOp):
            stops_at = isinstance(node.op, ast.Or)
            for operand in node.values:
                yield from self.of(operand, scope, block)
                if self.truth(operand, scope, block) is stops_at:
                    break
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            function = self.tree.functions.get(node)
            if function is not None:
                yield from self.all(node.body, function.inner, function.body_block)
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            inner = self.tree.comprehensions.get(node, scope)
            for position, generator in enumerate(node.generators):
                yield from self.of(generator.iter, inner if position else scope, block)
                yield from self.all(generator.ifs, inner, block)
            yield from self.all([node.key, node.value] if isinstance(node, ast.DictComp) else node.elt, inner, block)
        elif isinstance(node, ast.ClassDef):
            yield from self.all(node.body, self.tree.classes.get(node, scope), block)
        else:
            yield from self.all(children(node), scope, block)

    def all(self, nodes: ast.AST | Iterable[ast.AST], scope: Scope, block: Block) -> Iterator[Site]:
        for node in (nodes,) if isinstance(nodes, ast.AST) else nodes:
            yield from self.of(node, scope, block)
