"""What a function asks about its own parameters: whether they are something special, or None."""

from __future__ import annotations

import ast

from jaxpert.model.values import Def
from jaxpert.syntax.children import walk

_LOOKING = {"isinstance", "hasattr", "callable", "type", "issubclass", "getattr"}
_HARMLESS = {
    "len", "bool", "int", "float", "complex", "abs", "range", "min", "max", "sum", "any", "all", "round", "str",
    "repr", "print", "zip", "enumerate", "list", "tuple", "sorted", "reversed", "map", "filter",
}  # fmt: skip


def questions(target: Def) -> tuple[frozenset[str], frozenset[str]]:
    """Names that the function looks at with ``isinstance`` or a predicate, and those that it compares with None."""
    looked_at: set[str] = set()
    asked_for_none: set[str] = set()
    for node in walk(target.function.node):
        if isinstance(node, ast.Call) and _looks(node):
            looked_at.update(argument.id for argument in node.args if isinstance(argument, ast.Name))
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            if any(isinstance(right, ast.Constant) and right.value is None for right in node.comparators):
                asked_for_none.add(node.left.id)
        for test in _tests(node):
            for call in walk(test):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id not in _HARMLESS:
                    looked_at.update(argument.id for argument in call.args if isinstance(argument, ast.Name))
    return frozenset(looked_at), frozenset(asked_for_none)


def _looks(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return name in _LOOKING or name.startswith(("is_", "has_")) or "concrete" in name or "tracer" in name.lower()


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)):
        return [node.test]
    return node.ifs if isinstance(node, ast.comprehension) else []
