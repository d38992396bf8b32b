"""Edits: a range of the original text and what stands there instead."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from jaxpert.records import dataclass
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


_Piece = tuple[int, int] | str
"""A stretch of the first text, or text that was not in it."""


def as_one(text: str, rounds: Iterable[Iterable[Edit]]) -> tuple[Edit, ...]:
    """The edits of ``text`` that do at once what ``rounds`` do one after the other.

    Args:
        rounds: sets of edits, each over the text that the one before left.

    Raises:
        OverlappingEdits: two of one set share a character.
    """
    pieces: list[_Piece] = [(0, len(text))]
    now = text
    for edits in rounds:
        ordered = disjoint(edits)
        starts = _line_starts(now)
        pieces = list(_revised(pieces, [(*_span(starts, edit.range), edit.new_text) for edit in ordered]))
        now = apply_edits(now, ordered)
    starts = _line_starts(text)

    def place(offset: int) -> Position:
        line = bisect_right(starts, offset) - 1
        return Position(line, offset - starts[line])

    made = []
    at, new = 0, ""
    for piece in (*pieces, (len(text), len(text))):
        if isinstance(piece, str):
            new += piece
            continue
        start, end = piece
        if text[at:start] != new:
            made.append(Edit(Range(place(at), place(start)), new))
        at, new = end, ""
    return tuple(made)


def _revised(pieces: Sequence[_Piece], spans: Iterable[tuple[int, int, str]]) -> Iterator[_Piece]:
    """The pieces of a text, after ``spans`` of it (start, end, new text) were replaced."""
    rest = list(reversed(pieces))
    at = 0

    def up_to(end: int) -> Iterator[_Piece]:
        nonlocal at
        while at < end:
            piece = rest.pop()
            size = len(piece) if isinstance(piece, str) else piece[1] - piece[0]
            if size > (cut := end - at):
                if isinstance(piece, str):
                    rest.append(piece[cut:])
                    piece = piece[:cut]
                else:
                    rest.append((piece[0] + cut, piece[1]))
                    piece = piece[0], piece[0] + cut
                size = cut
            at += size
            yield piece

    for start, end, new_text in spans:
        yield from up_to(start)
        if new_text:
            yield new_text
        for _ in up_to(end):
            pass
    yield from reversed(rest)


def _line_starts(text: str) -> list[int]:
    return list(accumulate(map(len, split_lines(text)[:-1]), initial=0))


def _span(starts: Sequence[int], area: Range) -> tuple[int, int]:
    return starts[area.start.line] + area.start.column, starts[area.end.line] + area.end.column
