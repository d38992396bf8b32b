"""The excerpt below a finding: source lines with numbers, underlines and labels, in line order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from jaxpert.cli.output.source_lines import crop, shown_line
from jaxpert.records import dataclass
from jaxpert.text.lines import Position, Range, without_line_end

_WHOLE = 4  # a marked range of up to so many lines is shown whole
_HEADERS = 2  # how many enclosing lines (`def`, `if`, …) are shown above a marked one
_NARROW = 36  # a label with less room than this goes below its underline


@dataclass(frozen=True, slots=True)
class Mark:
    """A range to underline, and what to say about it."""

    range: Range
    label: str
    underline: str
    style: str


@dataclass(frozen=True, slots=True)
class Gutter:
    """The line numbers at the left. ``width``: of the widest number."""

    width: int

    def row(self, head: str = "") -> Text:
        """The start of a row whose number, or sign, is ``head``."""
        return Text.assemble("  ", (head.rjust(self.width), "dim"), (" |", "dim"))

    def gap(self) -> Text:
        """A row that stands for lines left out."""
        return Text("  " + " " * self.width + " ...", "dim")

    @property
    def cells(self) -> int:
        """How many cells stand before the source, the space after the bar included."""
        return self.width + 5


def gutter_for(last_line: int) -> Gutter:
    """A gutter wide enough for the zero-based ``last_line``."""
    return Gutter(max(2, len(str(last_line + 1))))


def excerpt(
    lines: Sequence[str], marks: Sequence[Mark], gutter: Gutter, console: Console, width: int | None
) -> Iterator[Text]:
    """The rows of the excerpt. ``width`` None means that nothing is cropped or wrapped."""
    shown = sorted(_lines_to_show(lines, marks))
    for before, line in zip([None, *shown], shown):
        if before is not None and line - before > 1:
            # An ellipsis that hides one line is no shorter than the line.
            if line - before == 2:
                yield from _source_row(lines[line - 1], line - 1, [], gutter, console, width)
            else:
                yield gutter.gap()
        here = [piece for mark in marks if (piece := _piece_on(mark, line, lines))]
        yield from _source_row(lines[line], line, here, gutter, console, width)


def _lines_to_show(lines: Sequence[str], marks: Sequence[Mark]) -> set[int]:
    shown: set[int] = set()
    for mark in marks:
        marked = [line for line in _marked_lines(mark.range) if line < len(lines)]
        shown.update(marked)
        if marked:
            shown.update(_headers(lines, marked[0]))
    return shown


def _marked_lines(area: Range) -> list[int]:
    first, last = area.start.line, area.end.line
    # A range up to the start of a line has nothing on that line.
    if last > first and area.end.column == 0:
        last -= 1
    return list(range(first, last + 1)) if last - first < _WHOLE else [first, first + 1, last]


def _headers(lines: Sequence[str], line: int) -> Iterator[int]:
    """The nearest lines above with less indentation, innermost first."""
    indent = _indent(lines[line])
    found = 0
    while line > 0 and indent > 0 and found < _HEADERS:
        line -= 1
        if lines[line].strip() and not lines[line].lstrip().startswith("#") and _indent(lines[line]) < indent:
            indent = _indent(lines[line])
            found += 1
            yield line


def _indent(line: str) -> int:
    text = line.expandtabs()
    return len(text) - len(text.lstrip())


def _piece_on(mark: Mark, line: int, lines: Sequence[str]) -> Mark | None:
    """The part of ``mark`` on ``line``; the label stays with its last line."""
    marked = [number for number in _marked_lines(mark.range) if number < len(lines)]
    if line not in marked:
        return None
    text = without_line_end(lines[line])
    start = mark.range.start.column if line == mark.range.start.line else len(text) - len(text.lstrip())
    end = mark.range.end.column if line == mark.range.end.line else len(text.rstrip())
    label = mark.label if line == marked[-1] else ""
    return Mark(Range(Position(line, start), Position(line, max(start, end))), label, mark.underline, mark.style)


def _source_row(
    line: str, number: int, pieces: Sequence[Mark], gutter: Gutter, console: Console, width: int | None
) -> Iterator[Text]:
    source = shown_line(line)
    spans = [(source.cells_before(p.range.start.column), source.cells_before(p.range.end.column)) for p in pieces]
    room = None if width is None else max(20, width - gutter.cells)
    left = 0
    text = source.text.rstrip()
    if room is not None and cell_len(text) > room:
        if spans and spans[0][1] > room - 1:
            # Keep the underlined part in view, with some of what stands before it.
            left = max(0, min(spans[0][0] - 8, spans[0][1] - room + 8))
        text = crop(text, left, room)
    yield gutter.row(str(number + 1)).append(" " + text if text else "")
    for piece, (start, end) in zip(pieces, spans):
        start, end = max(0, start - left), max(0, end - left)
        if room is not None:
            start, end = min(start, room - 1), min(end, room)
        yield from _underline(piece, start, max(1, end - start), gutter, console, room)


def _underline(
    mark: Mark, start: int, length: int, gutter: Gutter, console: Console, room: int | None
) -> Iterator[Text]:
    row = gutter.row().append(" " * (start + 1)).append(mark.underline * length, mark.style)
    if not mark.label:
        yield row
        return
    label = message_text(mark.label, mark.style)
    after = start + length + 1
    if room is None or cell_len(label.plain) <= room - after:
        yield row.append(" ").append_text(label)
        return
    if room - after >= _NARROW:
        wrapped = label.wrap(console, room - after)
        wrapped[0].rstrip()
        yield row.append(" ").append_text(wrapped[0])
        rest, indent = list(wrapped[1:]), after
    else:
        yield row
        indent = max(0, min(start, room - min(cell_len(label.plain), 2 * _NARROW)))
        rest = list(label.wrap(console, room - indent))
    for part in rest:
        part.rstrip()
        yield gutter.row().append(" " * (indent + 1)).append_text(part)


def message_text(message: str, style: str = "") -> Text:
    """``message`` with what stands in backticks made bold."""
    text = Text(message, style)
    text.highlight_regex(r"`[^`]+`", "bold")
    return text
