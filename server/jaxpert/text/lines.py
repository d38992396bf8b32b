"""Positions, ranges and lines of a text. Knows text, not Python.

Positions are zero-based ``(line, column)`` pairs; columns count Unicode code points. Every layer above speaks
in these; other units (UTF-8 bytes of ``ast``, UTF-16 of editors) are converted once, at the edge, with
:mod:`jaxpert.text.columns`.

A line ends at ``\\n``, ``\\r\\n`` or a lone ``\\r``, as in Python's tokenizer and in the language server
protocol. Other characters that ``str.splitlines`` breaks at (form feed, U+2028, …) stay inside a line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_ODD_LINE_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"
"""What ``str.splitlines`` takes for a line end besides Python's own; the last three are not ASCII."""


class Position(NamedTuple):
    """A place between two characters: zero-based line, zero-based column in code points."""

    line: int
    column: int


class Range(NamedTuple):
    """A half-open stretch of text from ``start`` up to, not including, ``end``."""

    start: Position
    end: Position

    def contains(self, position: Position) -> bool:
        """Whether ``position`` lies inside or at either end."""
        return self.start <= position <= self.end

    def overlaps(self, other: Range) -> bool:
        """Whether the two share a character, or one is empty and touches the other."""
        if self.start == self.end or other.start == other.end:
            return self.start <= other.end and other.start <= self.end
        return self.start < other.end and other.start < self.end

    def moved_up(self, lines: int) -> Range:
        """The same columns so many lines above."""
        (first, start), (last, end) = self
        return Range(Position(first - lines, start), Position(last - lines, end))


def range_at(line: int, column: int, end_line: int, end_column: int) -> Range:
    """A :class:`Range` from four zero-based numbers."""
    return Range(Position(line, column), Position(end_line, end_column))


def split_lines(text: str) -> list[str]:
    """Cut ``text`` into lines that keep their line ends; ``"".join`` gives the text back.

    The result always has a last line without a line end (empty when the text ends with one), so that every
    position of the text has a line.
    """
    plain = not any(odd in text for odd in (_ODD_LINE_ENDS[:-3] if text.isascii() else _ODD_LINE_ENDS))
    lines = text.splitlines(keepends=True) if plain else _LINE.findall(text)  # the same, and three times as fast
    if not lines or lines[-1][-1] in "\r\n":
        lines.append("")
    return lines


def without_line_end(line: str) -> str:
    """``line`` without its trailing line end, if any."""
    if line.endswith("\r\n"):
        return line[:-2]
    return line[:-1] if line.endswith(("\n", "\r")) else line


def end_of(lines: Sequence[str]) -> Position:
    """The position after the last character of ``lines`` (as made by :func:`split_lines`)."""
    return Position(len(lines) - 1, len(lines[-1])) if lines else Position(0, 0)


def clamp(lines: Sequence[str], position: Position) -> Position:
    """The nearest position that exists in ``lines``."""
    if position.line < 0:
        return Position(0, 0)
    if position.line >= len(lines):
        return end_of(lines)
    return Position(position.line, max(0, min(position.column, len(without_line_end(lines[position.line])))))


def slice_lines(lines: Sequence[str], area: Range) -> str:
    """The text of ``area``."""
    (first, start), (last, end) = area
    if first == last:
        return lines[first][start:end]
    return lines[first][start:] + "".join(lines[first + 1 : last]) + lines[last][:end]
