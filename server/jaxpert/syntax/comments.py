"""The comments by which a user silences findings, and the edits that change or remove them.

========================================  ===================================================================
``# jaxpert: ignore[NAME-OR-CODE] why``   on a line of code: those rules, on its logical line
``# jaxpert: ignore-file[NAME-OR-CODE]``  on a line of its own, anywhere: those rules, in the file
``# noqa: JXP202,E501``                   on a line of code: our codes; the others belong to other tools
``# noqa``                                on a line of code: everything
========================================  ===================================================================
"""

from __future__ import annotations

import enum
import re

from jaxpert.records import dataclass
from jaxpert.syntax.logical_lines import Comment, find_comments
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range, without_line_end

_CANDIDATE = re.compile(r"#[ \t]*(?:jaxpert[ \t]*:|noqa)", re.IGNORECASE)
# A comment may hold several, one behind the other; "#12" in a reason starts none.
_PART = re.compile(r"(?:^|(?<=[ \t]))#(?=[ \t]*[A-Za-z])")
_OURS = re.compile(
    r"#[ \t]*jaxpert[ \t]*:[ \t]*(?P<word>[\w-]*)[ \t]*(?P<open>\[(?P<codes>[^\]]*)(?P<close>\])?)?", re.IGNORECASE
)
_NOQA = re.compile(
    r"#[ \t]*noqa(?![-\w])(?:[ \t]*:[ \t]*(?P<codes>(?:(?:[A-Z]+[0-9]+|JXP)\b[ \t]*,?[ \t]*)+))?", re.IGNORECASE
)
_CODE = re.compile(r"[^\s,]+")
_OTHER_TOOLS_WORDS = re.compile(r"ignor\w*|disable|enable|noqa|off|skip|suppress|allow|silence", re.IGNORECASE)


class SuppressionKind(enum.Enum):
    """What a suppression is written as."""

    LINE = "ignore"
    FILE = "ignore-file"
    NOQA = "noqa"


class Malformation(enum.Enum):
    """Why a suppression of ours can silence nothing."""

    NO_RULES = "no rules"  # ignore, ignore[]
    UNCLOSED = "unclosed"  # ignore[policy-signature
    UNKNOWN_WORD = "unknown word"  # disable=policy-signature


@dataclass(frozen=True, slots=True)
class SuppressedCode:
    """A rule's code, name or code prefix as it stands in the comment; ``foreign`` when it is another tool's."""

    text: str
    range: Range
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class Suppression:
    """One suppression.

    Attributes:
        kind: how it is written.
        codes: what it names; empty for a bare ``noqa``.
        range: from its ``#`` to the end of its reason.
        head: the part of ``range`` that is syntax, without the reason.
        own_line: no code stands on its line.
        first, last: the lines it covers: those of its logical line when it stands on the first or last of them,
            else its own line twice.
        malformation: why it silences nothing, if so.
        word: what stands behind ``jaxpert:``, or "noqa".
    """

    kind: SuppressionKind
    codes: tuple[SuppressedCode, ...]
    range: Range
    head: Range
    own_line: bool
    first: int
    last: int
    malformation: Malformation | None = None
    word: str = ""

    @property
    def line(self) -> int:
        """The line it stands on."""
        return self.range.start.line

    @property
    def blanket(self) -> bool:
        """Whether it silences every rule."""
        return self.kind is SuppressionKind.NOQA and not self.codes


def find_suppressions(source: SourceFile) -> tuple[Suppression, ...]:
    """Every suppression in the comments of ``source``, in order; those that name only other tools' codes are left out.

    Where the text does not parse, an open string or bracket hides none.
    """
    if not _CANDIDATE.search(source.text):
        return ()
    found: list[Suppression] = []
    for unit in source.units:
        text = "".join(source.lines[unit.first : unit.end])
        if _CANDIDATE.search(text):
            for comment in find_comments(text, broken=unit.stale):
                found.extend(_suppressions_in(comment, unit.first))
    return tuple(found)


def suppression_edit(source: SourceFile, area: Range, replacement: str | None = None) -> Edit | None:
    """The edit that takes a suppression, or one of its codes, out of ``source``; other comments stay.

    Args:
        area: the ``range`` or ``head`` of a :class:`Suppression`, or the range of one of its codes.
        replacement: what to write in place of ``area`` instead.

    Returns:
        None when there is no such suppression (any more).
    """
    for suppression in find_suppressions(source):
        if area in (suppression.range, suppression.head):
            if replacement is not None:
                return Edit(area, replacement)
            return Edit(_with_surroundings(source, suppression), "")
        ranges = [code.range for code in suppression.codes]
        if area in ranges:
            if replacement is not None:
                return Edit(area, replacement)
            at = ranges.index(area)
            if len(ranges) == 1:
                return Edit(_with_surroundings(source, suppression), "")
            if at + 1 < len(ranges):
                return Edit(Range(area.start, ranges[at + 1].start), "")
            return Edit(Range(ranges[at - 1].end, area.end), "")
    return None


def _with_surroundings(source: SourceFile, suppression: Suppression) -> Range:
    """The suppression and the blanks that nobody needs without it; the whole line if nothing else stands there."""
    start, end = suppression.range
    content = source.lines[start.line]
    line = without_line_end(content)
    before, after = line[: start.column].rstrip(" \t"), line[end.column :].strip(" \t")
    if after:  # another comment follows
        return Range(start, Position(end.line, len(line) - len(line[end.column :].lstrip(" \t"))))
    if before or start.line + 1 == len(source.lines):
        return Range(Position(start.line, len(before)), Position(end.line, len(line)))
    return Range(Position(start.line, 0), Position(start.line + 1, 0))


def _suppressions_in(comment: Comment, first_line: int) -> list[Suppression]:
    found = []
    line = comment.line + first_line
    first, last = comment.first + first_line, comment.last + first_line
    if line not in (first, last):
        first = last = line
    starts = [match.start() for match in _PART.finditer(comment.text)]
    for start, end in zip(starts, [*starts[1:], len(comment.text)]):
        text = comment.text[start:end].rstrip()
        column = comment.column + start
        if match := _NOQA.match(text):
            codes = _codes(match, line, column, foreign=True)
            if codes and all(code.foreign for code in codes):
                continue
            kind, malformation, word = SuppressionKind.NOQA, None, "noqa"
        elif match := _OURS.match(text):
            codes = _codes(match, line, column, foreign=False)
            word = match["word"]
            kind = SuppressionKind.FILE if word.lower() == "ignore-file" else SuppressionKind.LINE
            malformation = _malformation(match, codes)
            if malformation is Malformation.UNKNOWN_WORD and not _OTHER_TOOLS_WORDS.match(word):
                continue  # somebody writes about jaxpert
        else:
            continue
        head = _span(line, column, column + len(match[0].rstrip()))
        whole = _span(line, column, column + len(text))
        found.append(Suppression(kind, codes, whole, head, comment.own_line, first, last, malformation, word))
    return found


def _malformation(match: re.Match[str], codes: tuple[SuppressedCode, ...]) -> Malformation | None:
    if match["word"].lower() not in ("ignore", "ignore-file"):
        return Malformation.UNKNOWN_WORD
    if match["open"] and not match["close"]:
        return Malformation.UNCLOSED
    return None if codes else Malformation.NO_RULES


def _codes(match: re.Match[str], line: int, column: int, foreign: bool) -> tuple[SuppressedCode, ...]:
    """The codes of ``match``; with ``foreign``, those that are not ours are marked so."""
    start, end = match.span("codes")
    return tuple(
        SuppressedCode(
            code[0],
            _span(line, column + code.start(), column + code.end()),
            foreign and not code[0].upper().startswith("JXP"),
        )
        for code in (_CODE.finditer(match.string, start, end) if start >= 0 else ())
    )


def _span(line: int, start: int, end: int) -> Range:
    return Range(Position(line, start), Position(line, end))
