"""Which brackets and which string are open at a place in the text, without a tree: for a line that is being typed."""

from __future__ import annotations

import keyword
import re
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.records import dataclass
from jaxpert.syntax.logical_lines import read_logical_line
from jaxpert.syntax.string_literals import OPENING, advanced, read_literal
from jaxpert.text.lines import Position

if TYPE_CHECKING:
    from jaxpert.syntax.units import SourceFile

_TOKEN = re.compile(
    r"(?P<comment>#[^\r\n]*)"
    rf"|(?P<string>{OPENING})"
    r"|(?P<name>[^\W\d]\w*(?:[ \t]*\.[ \t]*[^\W\d]\w*)*\.?)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<comma>,)|(?P<other>[^\s])"
)
_KEYWORD = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)")


@dataclass(slots=True)
class OpenBracket:
    """A bracket that is not closed before the place.

    Attributes:
        kind: the bracket.
        callee: for a call, the dotted name that is called; "" when it is anything else.
        number: how many commas stand in it so far.
        start: offset of the argument or item at the place.
        keyword: the name that this argument is given by, or "".
        first: the text of the first argument.
        strings: what the string literals in it hold so far, as it is written, also those in inner brackets.
        keywords: the names that arguments are given by so far.
        has_star: whether a starred argument stands before the place.
    """

    kind: str
    callee: str
    number: int = 0
    start: int = 0
    keyword: str = ""
    first: str = ""
    strings: list[str] = field(default_factory=list)
    keywords: list[str] = field(default_factory=list)
    has_star: bool = False


@dataclass(frozen=True, slots=True)
class OpenString:
    """A string literal that the place is inside of: how it is written, and where its content starts."""

    prefix: str
    quote: str
    start: Position


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is open at a place.

    Attributes:
        brackets: the open brackets, the outermost first.
        string: the string that the place is inside of, if any.
        before: in the innermost bracket, what stands before that string, or else before the place, of the same
            argument or item and behind its keyword; without brackets, the statement so far.
        line: the first line of the statement.
        is_comment: whether the place is inside a comment.
    """

    brackets: tuple[OpenBracket, ...]
    string: OpenString | None
    before: str
    line: int
    is_comment: bool = False


def surroundings(source: SourceFile, position: Position) -> Surroundings:
    """What is open at ``position`` in the statement that it belongs to. Works on any text."""
    first = source.unit_at(position.line).first
    lines = source.lines[first : position.line]
    text = "".join(lines) + source.lines[position.line][: position.column]
    at, line = 0, first
    while True:  # to the logical line that the place is in
        logical = read_logical_line(text, at, line, broken=True)
        if logical.end >= len(text) and not (logical.end == len(text) and text.endswith(("\n", "\r"))):
            break
        if logical.end >= len(text):
            at, line = len(text), position.line
            break
        at, line = logical.end, logical.last + 1
    return _read(text[at:], line)


def _read(text: str, line: int) -> Surroundings:
    """As :func:`surroundings`, at the end of ``text``, a statement that begins with line number ``line``."""
    brackets: list[OpenBracket] = []
    string: OpenString | None = None
    is_comment = False
    at, end, name = 0, len(text), ""
    while match := _TOKEN.search(text, at):
        kind = match.lastgroup
        start, at = match.start(), match.end()
        called, name = name, ""
        if kind == "comment":
            is_comment = at == len(text)
        elif kind in ("string", "prefix", "quote"):
            literal = read_literal(text, start)
            assert literal is not None
            is_open = not literal.is_closed and literal.end == len(text)
            if is_open:
                string = OpenString(literal.prefix, literal.quote, advanced(Position(line, 0), text, literal.start))
                end = start
                break
            for bracket in brackets:
                bracket.strings.append(text[literal.start : literal.end])
            at = literal.end + (len(literal.quote) if literal.is_closed else 0)
        elif kind == "name":
            name = match[0]
        elif kind == "open":
            is_callee = match[0] == "(" and called and not keyword.iskeyword(called)
            brackets.append(OpenBracket(match[0], re.sub(r"\s", "", called) if is_callee else "", start=at))
        elif kind == "close":
            if brackets:
                brackets.pop()
        elif kind == "comma" and brackets:
            _finish(brackets[-1], text[brackets[-1].start : start])
            brackets[-1].number += 1
            brackets[-1].start = at
    for bracket in brackets:
        if given := _KEYWORD.match(text, bracket.start, end):
            bracket.keyword = given[1]
    before = text[:end]
    if brackets:
        given = _KEYWORD.match(text, brackets[-1].start, end)
        before = text[given.end() if given else brackets[-1].start : end]
    return Surroundings(tuple(brackets), string, before, line, is_comment)


def _finish(bracket: OpenBracket, argument: str) -> None:
    """Note an argument that ends with a comma."""
    if not bracket.number:
        bracket.first = argument.strip()
    if given := _KEYWORD.match(argument):
        bracket.keywords.append(given[1])
    elif argument.lstrip().startswith("*"):
        bracket.has_star = True
