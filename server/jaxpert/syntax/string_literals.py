"""How string literals are written: prefix, quotes and what stands between them."""

from __future__ import annotations

import ast
import re

from jaxpert.records import dataclass
from jaxpert.syntax.logical_lines import PLAIN_BODY
from jaxpert.text.lines import Position, Range

OPENING = r"""(?<!\w)(?P<prefix>[rRbBuUfFtT]{0,2})(?P<quote>'''|\"\"\"|'|")"""
"""A pattern of where a string literal begins."""

_OPENING = re.compile(OPENING)
_LINE_END = re.compile(r"\r\n|\r|\n")
_BETWEEN = re.compile(r"(?:\s|\\(?:\r\n|\r|\n))*")


@dataclass(frozen=True, slots=True)
class StringLiteral:
    """One literal inside a text.

    Attributes:
        prefix: the letters before the quotes, in lower case.
        quote: the quotes, one or three.
        start, end: offsets of what stands between the quotes.
        is_closed: whether the closing quotes are there.
    """

    prefix: str
    quote: str
    start: int
    end: int
    is_closed: bool

    @property
    def is_plain(self) -> bool:
        """Whether its value is a string that is written out: neither bytes nor a format."""
        return not set(self.prefix) & set("bft")


def read_literal(text: str, at: int) -> StringLiteral | None:
    """The literal that begins at offset ``at``, which in a text that does not parse may lack its closing quotes."""
    opening = _OPENING.match(text, at)
    if opening is None:
        return None
    quote = opening["quote"]
    body = PLAIN_BODY[quote].match(text, opening.end())
    assert body is not None  # it matches the empty string too
    is_closed = text.startswith(quote, body.end())
    return StringLiteral(opening["prefix"].lower(), quote, opening.end(), body.end(), is_closed)


def literals_of(written: str) -> list[StringLiteral]:
    """The literals that the expression ``written`` consists of; none when it is anything but string literals."""
    found: list[StringLiteral] = []
    at = 0
    while at < len(written):
        literal = read_literal(written, at)
        if literal is None or not literal.is_closed:
            return []
        found.append(literal)
        between = _BETWEEN.match(written, literal.end + len(literal.quote))
        assert between is not None
        at = between.end()
    return found


def spells(written: str, text: str) -> bool:
    """Whether the expression ``written`` consists of string literals whose value is ``text``."""
    if not literals_of(written):
        return False
    try:
        value = ast.literal_eval(f"({written})")
    except (ValueError, SyntaxError):
        inner = [literal for literal in literals_of(written) if not set(literal.prefix) & set("bt")]
        return len(inner) == 1 and written[inner[0].start : inner[0].end] == text
    return bool(value == text)


def inside(area: Range, written: str) -> Range:
    """Of the expression ``written`` at ``area``, what stands between the quotes of a lone literal; else all of it."""
    literals = literals_of(written)
    if len(literals) != 1:
        return area
    return Range(advanced(area.start, written, literals[0].start), advanced(area.start, written, literals[0].end))


def content(written: str) -> str:
    """Of the expression ``written``, what stands between the quotes of a lone literal; else all of it."""
    literals = literals_of(written)
    return written[literals[0].start : literals[0].end] if len(literals) == 1 else written


def advanced(start: Position, text: str, offset: int) -> Position:
    """Where the offset in ``text`` stands, when that begins at ``start``."""
    ends = list(_LINE_END.finditer(text, 0, offset))
    if not ends:
        return Position(start.line, start.column + offset)
    return Position(start.line + len(ends), offset - ends[-1].end())
