"""Reports of an earlier run: what is written down of each, and how it becomes a report again."""

from __future__ import annotations

import json
from pathlib import Path

from jaxpert.cli.placing import shown_path, source_lines
from jaxpert.cli.report import FileReport, PlacedFinding
from jaxpert.project.plain_records import BadRecord, from_plain, to_plain
from jaxpert.records import dataclass
from jaxpert.syntax.notebook import read_notebook
from jaxpert.text.decoding import SourceText


@dataclass(frozen=True, slots=True)
class _Kept:
    findings: tuple[PlacedFinding, ...]
    line_count: int


def text_of(report: FileReport) -> str:
    """What is written down of a ``report`` without failure, change or problems."""
    return json.dumps(to_plain(_Kept(report.findings, report.line_count)))


def kept_report(path: Path, text: str, source: SourceText) -> FileReport | None:
    """The report on the file at ``path`` that ``text`` was made of; None when it is no such text.

    Args:
        source: the content of the file.

    Raises:
        BadNotebook: that is no notebook although the name of the file says so.
    """
    try:
        kept = from_plain(_Kept, json.loads(text))
    except (BadRecord, ValueError, RecursionError):
        return None
    notebook = read_notebook(source.text) if path.suffix == ".ipynb" and kept.findings else None
    lines = source_lines(notebook, source.text, kept.findings)
    return FileReport(shown_path(path), kept.findings, lines, line_count=kept.line_count)
