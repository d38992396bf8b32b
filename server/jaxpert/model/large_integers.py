"""Integers that do not fit into 32 bits, as they are written: where they are used, and inside what."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.values import Literal
from jaxpert.records import dataclass
from jaxpert.syntax.expressions import Expression, expressions
from jaxpert.syntax.indexing import MOST_IN_32_BITS
from jaxpert.syntax.scopes import Block, Scope, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_LIMIT = MOST_IN_32_BITS + 1
_MOST_PARENTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class LargeInteger:
    """One use of such an integer.

    Attributes:
        node: the whole expression that is the integer: ``2**40``, ``-(1 << 35)``, or a name for one.
        parents: the expressions that hold it, the innermost first.
    """

    node: ast.expr
    value: int
    parents: tuple[ast.AST, ...]
    scope: Scope
    block: Block


def large_integers(model: FileModel) -> Iterator[LargeInteger]:
    """Every use, in this file, of an integer below -2**31 or above 2**31 - 1."""
    names = {name for tree in model.every_tree if tree.writes_large_integers for name in _named(tree)}
    for tree in model.trees:
        kept = tree.facts.get("large integers")
        candidates = kept if isinstance(kept, list) else None
        if candidates is None:
            candidates = tree.facts["large integers"] = _candidates(tree) if tree.writes_large_integers else []
        yield from _evaluated(model, candidates)
        if not names.isdisjoint(tree.mentions()):
            yield from _evaluated(model, [c for c in _names_used(tree, names) if c[0].node.id in names])  # type: ignore[attr-defined]


_Candidate = tuple[Expression, tuple[ast.AST, ...]]


def _evaluated(model: FileModel, candidates: list[_Candidate]) -> Iterator[LargeInteger]:
    for expression, parents in candidates:
        value = model.evaluate(expression.node, expression.scope, expression.block)
        if isinstance(value, Literal) and type(value.value) is int and not -_LIMIT <= value.value < _LIMIT:
            yield LargeInteger(expression.node, value.value, parents, expression.scope, expression.block)


def _candidates(tree: TreeIndex) -> list[_Candidate]:
    """The outermost expressions that look like such an integer and are used in another expression."""
    parent_of: dict[int, Expression] = {}
    found: list[Expression] = []
    for expression in expressions(tree):
        parent_of[id(expression.node)] = expression
        if _may_be_large(expression.node):
            found.append(expression)
    return [
        (expression, parents)
        for expression in found
        if not _may_be_large(expression.parent)
        if (parents := _parents(expression, parent_of))
    ]


def _names_used(tree: TreeIndex, names: set[str]) -> list[_Candidate]:
    kept = tree.facts.get("large integer names")
    if isinstance(kept, tuple) and kept[0] == names:
        return kept[1]  # type: ignore[no-any-return]
    parent_of: dict[int, Expression] = {}
    found: list[Expression] = []
    for expression in expressions(tree):
        parent_of[id(expression.node)] = expression
        if isinstance(expression.node, ast.Name) and expression.node.id in names:
            found.append(expression)
    result = [(one, parents) for one in found if (parents := _parents(one, parent_of))]
    tree.facts["large integer names"] = (names, result)
    return result


def _parents(expression: Expression, parent_of: dict[int, Expression]) -> tuple[ast.AST, ...]:
    parents: list[ast.AST] = []
    above: ast.AST = expression.parent
    while isinstance(above, ast.expr) and len(parents) < _MOST_PARENTS:
        parents.append(above)
        if id(above) not in parent_of:
            break
        above = parent_of[id(above)].parent
    return tuple(parents)


def _named(tree: TreeIndex) -> set[str]:
    """Names that are bound to such an expression and to nothing else."""
    kept = tree.facts.get("named large integers")
    if isinstance(kept, set):
        return kept
    found = set()
    for scope in {id(scope): scope for scope in (tree.top, *tree.scopes)}.values():
        for name, bindings in scope.bindings.items():
            if len(bindings) == 1 and bindings[0].value is not None and _may_be_large(bindings[0].value):
                found.add(name)
    tree.facts["named large integers"] = found
    return found


def _may_be_large(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return type(node.value) is int and not -_LIMIT <= node.value < _LIMIT
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _may_be_large(node.operand)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, (ast.Pow, ast.LShift)):
            return all(isinstance(side, ast.Constant) and type(side.value) is int for side in (node.left, node.right))
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            sides = (node.left, node.right)
            return any(map(_may_be_large, sides)) and all(_may_be_large(s) or _is_int(s) for s in sides)
    return False


def _is_int(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int
