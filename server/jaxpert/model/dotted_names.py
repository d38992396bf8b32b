"""What a dotted name means at a line that has no tree of its own, because it is being typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxpert.model.values import Value
from jaxpert.syntax.scopes import DefNode, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


def scope_at(model: FileModel, line: int) -> Scope:
    """The scope of a statement that begins at ``line``, by its indentation and the last good trees around it."""
    source = model.source
    unit = source.unit_at(line)
    indent = _indent(source.lines[line])
    best, best_start = unit.class_scope or source.module, -1
    for tree in unit.trees:
        scopes = [(node, function.inner) for node, function in tree.functions.items() if isinstance(node, DefNode)]
        for node, inner in (*scopes, *tree.classes.items()):
            start = source.line_of(node.lineno)
            if start is not None and best_start < start < line and indent > _indent(source.lines[start]):
                if not _ends_before(model, node.end_lineno, _indent(source.lines[start]), line):
                    best, best_start = inner, start
    return best


def _ends_before(model: FileModel, end_lineno: int | None, indent: int, line: int) -> bool:
    """Whether something between the end of a definition and ``line`` is not indented deeper than it."""
    end = model.source.line_of(end_lineno) if end_lineno is not None else None
    if end is None or end >= line:
        return False
    between = (text for text in model.source.lines[end + 1 : line] if text.strip() and text.lstrip()[0] != "#")
    return any(_indent(text) <= indent for text in between)


def values_of_name(model: FileModel, dotted: str, scope: Scope) -> list[Value]:
    """All that the dotted name can be, seen from ``scope``; nothing when it is not known."""
    first, *attributes = dotted.split(".")
    found = scope.lookup(first)
    if found is None:
        values = list(model.exported(first).options())
    else:
        alive = [binding for binding in found[1] if not model.is_dead(binding.block)] or found[1]
        values = [option for binding in alive for option in model.evaluator.binding(binding).options()]
    for name in attributes:
        values = [option for value in values for option in model.evaluator.attribute(value, name, None).options()]
    return values


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
