"""Where the text of a notebook's cells stands in the JSON of its file."""

from __future__ import annotations

import json
import re

from jaxpert.syntax.notebook import NotebookMap, source_literals
from jaxpert.syntax.string_literals import advanced
from jaxpert.text.lines import Position, Range, split_lines

_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)


def range_in_json(text: str, cells: NotebookMap, area: Range) -> Range | None:
    """Where a range of the joined text stands in ``text``, the file's JSON; None when it is in no cell of it."""
    index, start = cells.to_cell(area.start)
    other, end = cells.to_cell(area.end)
    source = next((cell.source for cell in cells.cells if cell.index == index), None)
    if source is None or other != index:
        return None
    literals = source_literals(text).get(index, [])
    first, last = (_place(literals, _offset(source, place)) for place in (start, end))
    if first is None or last is None:
        return None
    origin = Position(0, 0)
    return Range(advanced(origin, text, first), advanced(origin, text, last))


def _offset(source: str, place: Position) -> int:
    lines = split_lines(source)
    return sum(map(len, lines[: place.line])) + place.column


def _place(literals: list[tuple[int, str]], offset: int) -> int | None:
    """The offset in the JSON of a character of the cell, whose text the literals (offset and JSON) make up."""
    for number, (start, written) in enumerate(literals):
        length = len(json.loads(written))
        if offset < length or (offset == length and number == len(literals) - 1):
            at = start + 1
            for character in _CHARACTER.finditer(written, 1, len(written) - 1):
                if not offset:
                    break
                offset -= 1
                at = start + character.end()
            return at
        offset -= length
    return None
