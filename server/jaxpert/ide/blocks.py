"""What hovers are made of, and how they are written down: as Markdown, and as plain text."""

from __future__ import annotations

import re

from jaxpert.records import dataclass
from jaxpert.text.lines import Range

_MARKUP = re.compile(r"\*\*|`|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph, in inline Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """A piece of Python, or of another ``language``."""

    text: str
    language: str = "python"


@dataclass(frozen=True, slots=True)
class Link:
    """A page to read on."""

    label: str
    url: str


@dataclass(frozen=True, slots=True)
class Links:
    """Several pages, in one line behind ``label``."""

    label: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells in inline Markdown, below ``head``; all of the same length."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Prose | Code | Link | Links | Table


@dataclass(frozen=True, slots=True)
class Hover:
    """What to show for ``range``."""

    range: Range
    blocks: tuple[Block, ...]


def to_markdown(hover: Hover) -> str:
    """``hover`` as Markdown."""
    written = []
    for block in hover.blocks:
        if isinstance(block, Code):
            written.append(f"```{block.language}\n{block.text}\n```")
        elif isinstance(block, Link):
            written.append(f"[{block.label} ↗]({block.url})")
        elif isinstance(block, Links):
            written.append(f"{block.label}: {' · '.join(f'[{it.label}]({it.url})' for it in block.links)}")
        elif isinstance(block, Table):
            rows = (block.head, ("---",) * len(block.head), *block.rows)
            written.append("\n".join(f"| {' | '.join(_in_cell(cell) for cell in row)} |" for row in rows))
        else:
            written.append(block.text)
    return "\n\n".join(written)


def to_plain_text(hover: Hover) -> str:
    """``hover`` without markup, for editors that show the text as it is."""
    written = []
    for block in hover.blocks:
        if isinstance(block, Code):
            written.append("\n".join(f"    {line}" for line in block.text.split("\n")))
        elif isinstance(block, Link):
            written.append(f"{block.label}: {block.url}")
        elif isinstance(block, Links):
            written.append(f"{block.label}: {' · '.join(it.label for it in block.links)}")
        elif isinstance(block, Table):
            written.append(_aligned(block))
        else:
            written.append(plain(block.text))
    return "\n\n".join(written)


def plain(text: str) -> str:
    """``text`` without backticks and emphasis; what stands inside backticks is kept as it is."""
    pieces = text.split("`")
    return "".join(piece if number % 2 else _MARKUP.sub("", piece) for number, piece in enumerate(pieces))


def _in_cell(text: str) -> str:
    """``text`` where a bar would end the cell, even inside backticks."""
    return text.replace("|", "\\|")


def _aligned(table: Table) -> str:
    """The columns side by side, each as wide as its widest cell."""
    rows = [tuple(map(plain, row)) for row in (table.head, *table.rows) if any(row)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(table.head))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
