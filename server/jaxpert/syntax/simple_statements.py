"""Simple statements that have their lines for themselves: the least of a file that can be parsed on its own."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxpert.syntax.parse import parse
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Range

_BOM = "\ufeff"
HOLDER = "class _:\n"
"""A line that makes a module of the indented lines behind it."""


def lines_of_simple_statement(source: SourceFile, area: Range) -> tuple[int, int] | None:
    """The first line of the simple statement that holds ``area``, and the line behind its last one.

    What follows the statement in its last line, a comment or another one, counts as a part of it.

    Returns:
        None where there is none, where other code stands before it, or where its lines were edited since.
    """
    (first, column), (last, _) = area
    unit = source.unit_at(first)
    if not first or unit.stale or last >= unit.end:
        return None  # in the first line a byte order mark may move the columns
    for tree in unit.trees:
        moved = tree.virtual_base - tree.first_line
        for statement in tree.block_of:
            above, below = statement.lineno - moved, statement.end_lineno - moved + 1  # type: ignore[operator]
            if above <= first and last < below and not _is_compound(statement):
                indent = source.lines[above][: statement.col_offset]
                if tree.line_map is not None or indent.strip() or (first == above and column < len(indent)):
                    return None
                return above, below
    return None


def _is_compound(statement: ast.stmt) -> bool:
    return hasattr(statement, "body") or hasattr(statement, "cases")


def parses_with(source: SourceFile, edits: Sequence[Edit]) -> bool:
    """Whether the text parses after ``edits``, by a look at as little around them as is enough."""
    start, end = min(edit.range.start for edit in edits), max(edit.range.end for edit in edits)
    statement = lines_of_simple_statement(source, Range(start, end))
    if statement is not None:
        line = source.lines[statement[0]]
        if _are_complete_with(source, statement, edits, len(line) - len(line.lstrip())):
            return True
    touched = [unit for unit in source.units if unit.first <= end.line and start.line < unit.end]
    scope = touched[0].class_scope
    if not any(unit.stale or unit.opens or unit.class_scope is not scope for unit in touched):
        lines, statements = (touched[0].first, touched[-1].end), touched[0].trees[0].statements
        if _are_complete_with(source, lines, edits, statements[0].col_offset if scope and statements else 0):
            return True
        if scope is None:
            return False
    return _are_complete_with(source, (0, len(source.lines)), edits, 0)


def _are_complete_with(source: SourceFile, part: tuple[int, int], edits: Sequence[Edit], indent: int) -> bool:
    """Whether the lines of ``part``, indented as before, need nothing around them after ``edits``, nor end it."""
    first, end = part
    moved = [Edit(edit.range.moved_up(first), edit.new_text) for edit in edits]
    text = apply_edits("".join(source.lines[first:end]), moved).removeprefix(_BOM)
    tree = parse(HOLDER + text if indent else text)
    if not isinstance(tree, ast.Module):
        return False
    return not indent or (len(tree.body) == 1 and tree.body[0].body[0].col_offset == indent)  # type: ignore[attr-defined]
