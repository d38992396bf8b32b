"""Texts that are kept up to date but not analysed: notebook cells, and documents that are too large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lsprotocol import types

from jaxpert.lsp.convert import range_from
from jaxpert.text.columns import Encoding
from jaxpert.text.lines import Range, clamp, split_lines


class EditableText(Protocol):
    """A text that follows the client's edits; :class:`~jaxpert.syntax.units.SourceFile` is one."""

    @property
    def lines(self) -> Sequence[str]:
        """The text, cut by :func:`~jaxpert.text.lines.split_lines`."""

    def edit(self, area: Range, new_text: str) -> None:
        """Replace ``area``."""

    def replace(self, text: str) -> None:
        """Replace everything."""


class PlainText:
    """An :class:`EditableText` that knows nothing about Python."""

    def __init__(self, text: str) -> None:
        self.lines = split_lines(text)

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.lines)

    def edit(self, area: Range, new_text: str) -> None:
        """Replace ``area``, clamped to the text."""
        start, end = clamp(self.lines, area.start), clamp(self.lines, area.end)
        first, last = start.line, end.line
        merged = self.lines[first][: start.column] + new_text + self.lines[last][end.column :]
        # A line end may be torn in two or come together: cut the neighbours again as well.
        if first and self.lines[first - 1].endswith("\r"):
            first -= 1
            merged = self.lines[first] + merged
        while last + 1 < len(self.lines) and (merged.endswith("\r") or not merged.endswith("\n")):
            last += 1
            merged += self.lines[last]
        new_lines = split_lines(merged)
        if last + 1 < len(self.lines):
            new_lines.pop()
        self.lines[first : last + 1] = new_lines

    def replace(self, text: str) -> None:
        """Replace everything."""
        self.lines = split_lines(text)


def apply_changes(
    text: EditableText, changes: Sequence[types.TextDocumentContentChangeEvent], encoding: Encoding
) -> None:
    """Apply what the client did, each change to the text that the one before left."""
    for change in changes:
        area = getattr(change, "range", None)
        if area is None:
            text.replace(change.text)
        else:
            text.edit(range_from(text.lines, area, encoding), change.text)
