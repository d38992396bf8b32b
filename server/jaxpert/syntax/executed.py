"""What runs when a function is called: its statements and expressions, each with its scope and block.

And what runs in any case, whatever the function is called with.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from jaxpert.syntax.children import children, walk
from jaxpert.syntax.scopes import Block, Function, FunctionNode, Scope, Site, TreeIndex

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_STRAIGHT = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return, ast.Assert)

_HOLD_NOTHING = frozenset({ast.Name, ast.Constant})

Truth = Callable[[ast.expr, Scope, Block], "bool | None"]
"""Says whether a condition is known to be true or false; None when it is not known."""


def executed(function: Function, truth: Truth) -> list[Site]:
    """Every statement and expression of the function's body, outermost first, without what ``truth`` rules out.

    The bodies of nested functions count: what defines one usually calls it.
    """
    parts = _Parts(function.block.tree, truth)
    found: list[Site] = []
    waiting = [_all(function.node.body, function.inner, function.body_block)]
    while waiting:  # a loop, since expressions may be nested more deeply than calls
        for node, scope, block in waiting[-1]:
            if node.__class__ in _HOLD_NOTHING:
                found.append(Site(node, scope, block))
                continue
            if isinstance(node, ast.stmt):
                block = parts.tree.block_of.get(node, block)
            if isinstance(node, (ast.stmt, ast.expr)):
                found.append(Site(node, scope, block))
            waiting.append(parts.of(node, scope, block))
            break
        else:
            waiting.pop()
    return found


_Part = tuple[ast.AST, Scope, Block]


class _Parts:
    def __init__(self, tree: TreeIndex, truth: Truth) -> None:
        self.tree = tree
        self.truth = truth

    def of(self, node: ast.AST, scope: Scope, block: Block) -> Iterator[_Part]:
        """What runs in ``node``; what ``truth`` says of a condition is asked behind the condition."""
        special = _SPECIAL.get(node.__class__)
        if special is None:
            return iter([(child, scope, block) for child in children(node)])
        return special(self, node, scope, block)

    def branches(self, node: ast.If | ast.IfExp, scope: Scope, block: Block) -> Iterator[_Part]:
        yield node.test, scope, block
        known = self.truth(node.test, scope, block)
        if known is not False:
            yield from _all(node.body, scope, block)
        if known is not True:
            yield from _all(node.orelse, scope, block)

    def operands(self, node: ast.BoolOp, scope: Scope, block: Block) -> Iterator[_Part]:
        stops_at = isinstance(node.op, ast.Or)
        for operand in node.values:
            yield operand, scope, block
            if self.truth(operand, scope, block) is stops_at:
                break

    def function(self, node: FunctionNode, scope: Scope, block: Block) -> Iterator[_Part]:
        function = self.tree.functions.get(node)
        if function is not None:
            yield from _all(node.body, function.inner, function.body_block)

    def comprehension(self, node: ast.ListComp | ast.DictComp, scope: Scope, block: Block) -> Iterator[_Part]:
        inner = self.tree.comprehensions.get(node, scope)
        for position, generator in enumerate(node.generators):
            yield generator.iter, inner if position else scope, block
            yield from _all(generator.ifs, inner, block)
        yield from _all([node.key, node.value] if isinstance(node, ast.DictComp) else node.elt, inner, block)

    def class_body(self, node: ast.ClassDef, scope: Scope, block: Block) -> Iterator[_Part]:
        return _all(node.body, self.tree.classes.get(node, scope), block)


_SPECIAL: dict[type, Callable[..., Iterator[_Part]]] = {
    ast.If: _Parts.branches,
    ast.IfExp: _Parts.branches,
    ast.BoolOp: _Parts.operands,
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda), _Parts.function),
    **dict.fromkeys(_COMPREHENSIONS, _Parts.comprehension),
    ast.ClassDef: _Parts.class_body,
}


def _all(nodes: ast.AST | Iterable[ast.AST], scope: Scope, block: Block) -> Iterator[_Part]:
    return iter([(node, scope, block) for node in ((nodes,) if isinstance(nodes, ast.AST) else nodes)])


def always_runs(function: FunctionNode, node: ast.expr, *, in_definitions: bool = False) -> bool:
    """Whether each call of ``function`` evaluates ``node``, which stands in it: under no condition, behind no way out.

    Args:
        in_definitions: whether functions that are defined inside are taken to be called.
    """
    if isinstance(function, ast.Lambda):
        return _is_evaluated(function.body, node, in_definitions)
    return _suite_comes_to(function.body, node, in_definitions)


def _suite_comes_to(suite: list[ast.stmt], node: ast.expr, in_definitions: bool) -> bool:
    for statement in suite:
        if any(inner is node for inner in walk(statement)):
            return _comes_to(statement, node, in_definitions)
        if _may_leave(statement):
            return False
    return False


def _comes_to(statement: ast.stmt, node: ast.expr, in_definitions: bool) -> bool:
    if isinstance(statement, (ast.If, ast.While)):
        return _is_evaluated(statement.test, node, in_definitions)
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return _is_evaluated(statement.iter, node, in_definitions)
    if isinstance(statement, ast.Match):
        compares = isinstance(statement.cases[0].pattern, (ast.MatchValue, ast.MatchOr))
        return compares and _is_evaluated(statement.subject, node, in_definitions)
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        if any(_is_evaluated(item.context_expr, node, in_definitions) for item in statement.items):
            return True
    elif not (in_definitions and isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))):
        parts = children(statement) if isinstance(statement, _STRAIGHT) else []
        return any(_is_evaluated(part, node, in_definitions) for part in parts)
    return _suite_comes_to(statement.body, node, in_definitions)


def _may_leave(statement: ast.AST) -> bool:
    """Whether the function can be left in ``statement``."""
    if isinstance(statement, (ast.Return, ast.Raise)):
        return True
    return not isinstance(statement, (*_DEFINITIONS, ast.expr)) and any(map(_may_leave, children(statement)))


def _is_evaluated(root: ast.AST, node: ast.expr, in_definitions: bool) -> bool:
    """Whether evaluating ``root`` evaluates ``node`` in any case; False when it is not below it."""
    if root is node:
        return True
    parts: list[ast.AST]
    if isinstance(root, _DEFINITIONS):
        parts = [root.body] if in_definitions and isinstance(root, ast.Lambda) else []
    elif isinstance(root, ast.IfExp):
        parts = [root.test]
    elif isinstance(root, ast.BoolOp):
        parts = [root.values[0]]
    elif isinstance(root, _COMPREHENSIONS):
        parts = [root.generators[0].iter]
    else:
        parts = children(root)
    return any(_is_evaluated(part, node, in_definitions) for part in parts)
