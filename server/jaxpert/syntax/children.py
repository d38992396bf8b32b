"""The nodes right below a node, by a table of the fields that can hold any.

The standard library asks every field of every node; most of a keystroke's time would go there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_HOLD_NOTHING = {
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "lineno", "module", "op", "ops",
    "rest", "simple", "tag", "type_comment",
}  # fmt: skip
"""Fields with text, numbers, operators or contexts: nothing that has a place of its own."""

FIELDS: dict[type, tuple[str, ...]] = {
    kind: () if kind is ast.Constant else tuple(name for name in kind._fields if name not in _HOLD_NOTHING)
    for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST)
}
"""By kind of node, the fields that can hold nodes; a few of them hold text in some kinds."""


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes right below ``node`` that have a place in the text, in order; no operators and no contexts."""
    held = node.__dict__
    found: list[ast.AST] = []
    for name in FIELDS[node.__class__]:
        value = held.get(name)
        if value.__class__ is list:
            found += [item for item in value if isinstance(item, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def walk(root: ast.AST) -> Iterator[ast.AST]:
    """``root`` and every node below it but operators and contexts, those nearer to it first."""
    waiting = [root]
    for node in waiting:  # which grows meanwhile
        yield node
        waiting += children(node)
