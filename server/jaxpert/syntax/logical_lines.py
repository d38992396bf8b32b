"""Cuts Python text into logical lines and finds its comments, without parsing.

A logical line is what the tokenizer means: a simple statement (or several, with ``;``) or the header of a compound
one, over as many lines as its brackets, strings and backslashes need. Works on any text, whatever the running
Python accepts; nested quotes and comments in the replacement fields of f-strings are understood.
"""

from __future__ import annotations

import enum
import re
from dataclasses import replace

from jaxpert.records import dataclass
from jaxpert.text.lines import split_lines

_LINE_END = re.compile(r"\r\n|\r|\n")
_CODE = re.compile(r"""#[^\r\n]*|'''|\"""|'|"|[(\[{]|[)\]}]|\\(?:\r\n|\r|\n)|\r\n|\r|\n""")
_FIELD = re.compile(_CODE.pattern + "|:")
_FORMATTED_PREFIX = re.compile(r"(?<!\w)(?:[fFtT][rR]?|[rR][fFtT])\Z")
# Keywords that open a statement and never stand inside brackets: where a bracket was left open, the next one of
# these at the start of a line ends the damage.
_STATEMENT = re.compile(
    r"[ \t]*(?:async[ \t]+def|def|class|import|return|raise|while|with|try|del|assert|global|nonlocal"
    r"|(?:pass|break|continue)[ \t]*(?:#|[\r\n]|\Z))\b"
)
PLAIN_BODY = {
    "'": re.compile(r"(?:[^'\\\r\n]+|\\(?:\r\n|[\s\S]))*"),
    '"': re.compile(r'(?:[^"\\\r\n]+|\\(?:\r\n|[\s\S]))*'),
    "'''": re.compile(r"(?:[^'\\]+|\\[\s\S]|'(?!''))*"),
    '"""': re.compile(r'(?:[^"\\]+|\\[\s\S]|"(?!""))*'),
}
"""By its quotes, what stands inside a string that is no f-string."""
_FORMATTED_TOKEN = {
    quote: re.compile(r"\\(?:N\{[^}\r\n]*\}|\r\n|[^{}])|[{}]|" + quote + ("" if len(quote) == 3 else r"|[\r\n]"))
    for quote in PLAIN_BODY
}


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment.

    Attributes:
        line, column: where its ``#`` stands, zero-based.
        text: from the ``#`` to the end of the line.
        own_line: nothing but blanks stands before it.
        first, last: the lines of the logical line that it stands in; its own line twice where it stands between two.
    """

    line: int
    column: int
    text: str
    own_line: bool
    first: int
    last: int


class _Part(enum.Enum):
    """Which part of an f-string the text belongs to."""

    LITERAL = enum.auto()
    FIELD = enum.auto()  # {here}: code
    SPEC = enum.auto()  # {x:here}


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """One logical line, or one line that is blank or holds only a comment.

    Attributes:
        end: offset behind its line end.
        last: zero-based number of its last line.
        comments: line and offset of each comment's ``#``.
    """

    end: int
    last: int
    comments: tuple[tuple[int, int], ...]


def read_logical_line(text: str, at: int, line: int, broken: bool = False) -> LogicalLine:
    """The logical line of ``text`` that begins at offset ``at``, which is the start of line number ``line``.

    Args:
        broken: the text does not parse: an open bracket ends before the next line that can only be a statement.
    """
    comments: list[tuple[int, int]] = []
    depth = 0
    # The f-string parts around `at`, innermost last: which part, the string's quote, the bracket depth around it.
    parts: list[tuple[_Part, str, int]] = []
    while True:
        if parts and parts[-1][0] is not _Part.FIELD:
            start, at, depth = at, *_skip_formatted(text, at, depth, parts)
            line += _line_ends(text, start, at)
            continue
        match = (_FIELD if parts else _CODE).search(text, at)
        if not match:
            ended = text.endswith(("\n", "\r"))  # inside an open bracket or string
            return LogicalLine(len(text), line - 1 if ended else line, tuple(comments))
        token = match[0]
        at = match.end()
        if token in "([{":
            depth += 1
        elif token in ")]}":
            if parts and depth == parts[-1][2]:
                parts.pop()
            elif depth:
                depth -= 1
        elif token[0] in "\r\n":
            if not (depth or parts) or (broken and _STATEMENT.match(text, at)):
                return LogicalLine(at, line, tuple(comments))
            line += 1
        elif token[0] == "#":
            comments.append((line, match.start()))
        elif token[0] == "\\":
            line += 1
        elif token == ":":
            if depth == parts[-1][2]:
                parts.append((_Part.SPEC, parts[-1][1], depth))
        elif _FORMATTED_PREFIX.search(text, max(0, match.start() - 2), match.start()):
            parts.append((_Part.LITERAL, token, depth))
        else:
            start = at
            body = PLAIN_BODY[token].match(text, at)
            assert body  # it matches the empty string too
            at = body.end() + (len(token) if text.startswith(token, body.end()) else 0)
            line += _line_ends(text, start, at)


def _skip_formatted(text: str, at: int, depth: int, parts: list[tuple[_Part, str, int]]) -> tuple[int, int]:
    """Read the literal or format specification of an f-string up to the next change of part.

    Returns the new offset and bracket depth; changes ``parts``.
    """
    part, quote, _ = parts[-1]
    while match := _FORMATTED_TOKEN[quote].search(text, at):
        token = match[0]
        at = match.end()
        if token == "{":
            if part is _Part.LITERAL and text.startswith("{", at):
                at += 1
                continue
            parts.append((_Part.FIELD, quote, depth))
            return at, depth
        if token == "}":
            if part is _Part.LITERAL:  # half of an escaped one
                continue
            del parts[-2:]
            return at, depth
        if token[0] == "\\":
            continue
        while parts[-1][0] is not _Part.LITERAL:
            parts.pop()
        # The closing quote, or the line end of a string without one.
        return (at if token == quote else match.start()), parts.pop()[2]
    parts.clear()
    return len(text), depth


def _line_ends(text: str, start: int, end: int) -> int:
    return len(_LINE_END.findall(text, start, end))


def find_comments(text: str, broken: bool = False) -> list[Comment]:
    """Every comment of ``text``, in order. Text inside strings is none.

    Args:
        broken: the text does not parse. Then a string that was left open hides nothing: what is a comment when its
            line is read alone counts too.
    """
    found: list[Comment] = []
    at = line = 0
    while at < len(text):
        logical = read_logical_line(text, at, line, broken)
        for number, offset in logical.comments:
            column = offset - (max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1)
            own_line = not text[offset - column : offset].strip(" \t\f\ufeff")
            alone = own_line and number == line
            first, last = (number, number) if alone else (line, logical.last)
            end = _CODE.match(text, offset)
            found.append(Comment(number, column, end[0] if end else "#", own_line, first, last))
        at, line = logical.end, logical.last + 1
    if broken:
        seen = {comment.line for comment in found}
        for number, content in enumerate(split_lines(text)):
            if number not in seen and "#" in content:
                found += [replace(it, line=number, first=number, last=number) for it in find_comments(content)]
        found.sort(key=lambda comment: (comment.line, comment.column))
    return found
