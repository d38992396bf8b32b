"""Texts in which ``«`` and ``»`` enclose the range that a verb is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from jaxpert.syntax.logical_lines import find_comments
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range, split_lines

Verb = Callable[[Sequence[str], Range], "tuple[Edit, ...] | None"]

SURROUNDINGS: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "windows": lambda text: text.replace("\n", "\r\n"),
    "old mac": lambda text: text.replace("\n", "\r"),
    "byte order mark": lambda text: "\ufeff" + text,
    "below wide characters": lambda text: "'''\n😀 漢字 (\n'''\n\f\n" + text + "\n\ndef g(): return '😀'\n",
    "below a syntax error": lambda text: "def broken(:\n    pass\n\n\n" + text,
    "without a last line end": lambda text: text.removesuffix("\n"),
}
"""What can stand around a text, or change in all of it, that must not matter."""


def unmarked(text: str) -> tuple[str, Range]:
    """The text without its marks, and the range between them."""
    before, inside, after = text.replace("»", "«").split("«")
    return before + inside + after, Range(_end(before), _end(before + inside))


def _end(text: str) -> Position:
    lines = split_lines(text)
    return Position(len(lines) - 1, len(lines[-1]))


def applied(verb: Verb, marked: str) -> str | None:
    """What ``verb`` makes of a marked text; None when it declines.

    Raises:
        AssertionError: a comment is lost.
    """
    text, area = unmarked(marked)
    edits = verb(split_lines(text), area)
    if edits is None:
        return None
    fixed = apply_edits(text, edits)
    assert [comment.text for comment in find_comments(fixed)] == [comment.text for comment in find_comments(text)]
    return fixed
