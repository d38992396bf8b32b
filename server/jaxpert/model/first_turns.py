"""What a variable is on the first turn of the loop that a call stands in: ``for …: state = step(state)``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxpert.model.calls import Argument
from jaxpert.model.values import UNKNOWN, Value
from jaxpert.syntax.reaching import reaching
from jaxpert.syntax.scopes import BindingKind

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def on_first_turn(model: FileModel, argument: Argument) -> Value:
    """The value that the variable has before the loop, where it is certainly what the call gets first.

    That is so when the loop itself gives the variable another value only behind the call, in the same suite.
    """
    node, scope, block = argument.node, argument.site.scope, argument.site.block
    found = scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if found is None or found[0] is not scope or not isinstance(block.owner, _LOOPS) or block.part != "body":
        return UNKNOWN
    before = []
    for binding in reaching(found[1], node, scope, block, scope, model.is_dead):
        if binding.kind is BindingKind.LOOP:
            return UNKNOWN
        if block not in binding.block.enclosing():
            before.append(binding)
        elif binding.block is not block or _line(binding.node) < _line(node):
            return UNKNOWN
    if len(before) != 1 or before[0].kind is not BindingKind.ASSIGN:
        return UNKNOWN
    return model.evaluator.binding(before[0])


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)
