"""The ledger: every hit on real code with the verdict of somebody who read it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEDGER = Path(__file__).parent / "ledger.toml"
VERDICTS = ("true", "false", "arguable")


@dataclass(frozen=True, order=True)
class Hit:
    """One finding in one pinned source; ``line``, ``column`` and a notebook's ``cell`` are one-based."""

    source: str
    file: str
    line: int
    column: int
    rule: str
    cell: int = 0

    def __str__(self) -> str:
        cell = f"cell {self.cell}:" if self.cell else ""
        return f"{self.source} {self.file}:{cell}{self.line}:{self.column} {self.rule}"


@dataclass(frozen=True)
class Entry:
    """A judged hit, with one line why."""

    hit: Hit
    verdict: str
    why: str


@dataclass(frozen=True)
class Comparison:
    """What changed since the ledger was written."""

    new: tuple[Hit, ...]
    lost: tuple[Entry, ...]
    known: tuple[Entry, ...]


class LedgerError(ValueError):
    """An entry is not judged as it should be."""


def read_ledger(path: Path = LEDGER) -> dict[Hit, Entry]:
    """All entries by hit.

    Raises:
        LedgerError: an entry stands twice, or has no verdict or no reason.
    """
    entries: dict[Hit, Entry] = {}
    for row in tomllib.loads(path.read_text(encoding="utf-8")).get("hit", []):
        hit = Hit(row["source"], row["file"], row["line"], row["column"], row["rule"], row.get("cell", 0))
        if hit in entries:
            raise LedgerError(f"{hit} stands in the ledger twice")
        if row["verdict"] not in VERDICTS or not row["why"].strip():
            raise LedgerError(f"{hit} needs a verdict ({', '.join(VERDICTS)}) and one line why")
        entries[hit] = Entry(hit, row["verdict"], row["why"])
    return entries


def compare(hits: Iterable[Hit], ledger: dict[Hit, Entry], checked: set[str]) -> Comparison:
    """``hits`` against the entries of the sources that were ``checked``."""
    found = set(hits)
    return Comparison(
        new=tuple(sorted(found - ledger.keys())),
        lost=tuple(ledger[hit] for hit in sorted(ledger.keys() - found) if hit.source in checked),
        known=tuple(ledger[hit] for hit in sorted(found & ledger.keys())),
    )


def stanza(hit: Hit, code: str, message: str) -> str:
    """A hit as text to judge and to paste into the ledger."""
    cell = f"cell = {hit.cell}\n" if hit.cell else ""
    return (
        f"# {code.strip()}\n# {message}\n"
        f'[[hit]]\nsource = "{hit.source}"\nfile = "{hit.file}"\n{cell}line = {hit.line}\ncolumn = {hit.column}\n'
        f'rule = "{hit.rule}"\nverdict = ""\nwhy = ""\n'
    )
