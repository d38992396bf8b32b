"""A fix as the few lines that it changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jaxpert.records import dataclass
from jaxpert.text.edits import Edit, apply_edits, disjoint
from jaxpert.text.lines import Position, Range, split_lines, without_line_end


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a small diff: ``sign`` is "-", "+" or " " (context, with its zero-based ``line``)."""

    sign: str
    text: str
    line: int


def diff_hunks(lines: Sequence[str], edits: Iterable[Edit]) -> Iterator[list[DiffLine]]:
    """What ``edits`` change, one list for each stretch of touched lines, in order."""
    for group in _groups(disjoint(edits)):
        first, last = group[0].range.start.line, min(group[-1].range.end.line, len(lines) - 1)
        if last < first:
            continue
        old = [line for line in lines[first : last + 1] if line]
        moved = [Edit(Range(_up(edit.range.start, first), _up(edit.range.end, first)), edit.new_text) for edit in group]
        new = [line for line in split_lines(apply_edits("".join(old), moved)) if line]
        same_start = _common(old, new)
        same_end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - same_start)
        removed = old[same_start : len(old) - same_end]
        added = new[same_start : len(new) - same_end]
        hunk: list[DiffLine] = []
        context = first + same_start - 1
        if not removed and context >= 0:
            hunk.append(DiffLine(" ", without_line_end(lines[context]), context))
        hunk += [DiffLine("-", without_line_end(text), first + same_start + n) for n, text in enumerate(removed)]
        hunk += [DiffLine("+", without_line_end(text), first + same_start) for text in added]
        if removed or added:
            yield hunk


def _groups(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    """Edits that touch the same or neighbouring lines belong together."""
    group: list[Edit] = []
    for edit in edits:
        if group and edit.range.start.line > group[-1].range.end.line + 1:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _up(position: Position, lines: int) -> Position:
    return Position(position.line - lines, position.column)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for a, b in zip(one, other):
        if without_line_end(a) != without_line_end(b):
            break
        count += 1
    return count
