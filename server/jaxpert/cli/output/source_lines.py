"""A source line as a terminal shows it: tabs expanded, control characters visible, columns in cells."""

from __future__ import annotations

from rich.cells import cell_len

from jaxpert.records import dataclass
from jaxpert.text.lines import without_line_end

_TAB = 4
# Characters that would reorder or hide the rest of the line on a terminal ("Trojan Source", CVE-2021-42574).
_INVISIBLE = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff")


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line in cells.

    Attributes:
        text: what is printed.
        starts: for each code point of the source line, and for its end, its index in ``text``.
    """

    text: str
    starts: tuple[int, ...]

    def cells_before(self, column: int) -> int:
        """How many cells the source takes up to the code-point ``column``."""
        return cell_len(self.text[: self.starts[max(0, min(column, len(self.starts) - 1))]])


def shown_line(line: str) -> ShownLine:
    """``line`` (with or without its line end) as it is printed."""
    parts: list[str] = []
    starts = [0]
    length = 0
    for character in without_line_end(line):
        if character == "\t":
            part = " " * (_TAB - cell_len("".join(parts)) % _TAB)
        else:
            part = _visible(character)
        parts.append(part)
        length += len(part)
        starts.append(length)
    return ShownLine("".join(parts), tuple(starts))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0x80 <= code < 0xA0 or 0xD800 <= code < 0xE000 or character in _INVISIBLE:
        return "\ufffd"
    return character


def visible(text: str) -> str:
    """``text`` in one line, without anything that a terminal would act on."""
    return "".join(_visible(character) for character in text)


def crop(text: str, left: int, width: int) -> str:
    """The part of ``text`` from cell ``left`` on, ``width`` cells wide, with "…" where something is cut off."""
    start = _index_at(text, left)
    cut = text[start:]
    if cell_len(cut) > width:
        cut = cut[: _index_at(cut, width - 1, before=True)] + "…"
    return "…" + cut[1:] if start else cut


def _index_at(text: str, cells: int, *, before: bool = False) -> int:
    """The index of the first character that starts at ``cells`` or later, or of the last that ends by then."""
    if text.isascii():
        return min(cells, len(text))
    # Whole prefixes, because an emoji of several code points is narrower than their sum.
    for index in range(len(text)):
        if cell_len(text[: index + before]) >= cells + before:
            return index
    return len(text)
