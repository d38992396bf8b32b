"""Edits: a range of the original text and what stands there instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from jaxpert.text.lines import Position, Range, split_lines


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Replace ``range`` of the original text by ``new_text``."""

    range: Range
    new_text: str


class OverlappingEdits(ValueError):
    """Two edits of one set touch the same characters."""


def disjoint(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """``edits`` in order of position.

    Raises:
        OverlappingEdits: two of them share a character.
    """
    ordered = tuple(sorted(edits))
    for before, after in pairwise(ordered):
        if after.range.start < before.range.end:
            raise OverlappingEdits(f"{before.range} and {after.range} overlap")
    return ordered


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text`` with all ``edits`` applied at once; each range is one of the original text.

    Raises:
        OverlappingEdits: two of them share a character.
    """
    lines = split_lines(text)
    out: list[str] = []
    at = Position(0, 0)
    for edit in disjoint(edits):
        out.append(_between(lines, at, edit.range.start))
        out.append(edit.new_text)
        at = edit.range.end
    out.append(_between(lines, at, Position(len(lines) - 1, len(lines[-1]))))
    return "".join(out)


def _between(lines: Sequence[str], start: Position, end: Position) -> str:
    if start.line == end.line:
        return lines[start.line][start.column : end.column]
    middle = "".join(lines[start.line + 1 : end.line])
    return lines[start.line][start.column :] + middle + lines[end.line][: end.column]
