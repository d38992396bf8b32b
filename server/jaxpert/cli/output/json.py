"""JSON: a list of objects, one per finding, with one-based rows and columns in code points."""

from __future__ import annotations

import json
import os
from typing import Any

from jaxpert.cli.report import FileReport, PlacedEdit, PlacedFinding, PlacedFix, Run
from jaxpert.rulekit.urls import rule_url
from jaxpert.text.lines import Position


def render(run: Run) -> str:
    """The whole document. Only ASCII, so that no terminal or pipe can spoil it."""
    return json.dumps([_finding(file, finding) for file in run.files for finding in file.findings], indent=2) + "\n"


def _finding(file: FileReport, finding: PlacedFinding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "message": finding.message,
        "filename": os.path.abspath(file.path),  # noqa: PTH100 (takes out "..", unlike pathlib)
        "location": _location(finding.range.start),
        "end_location": _location(finding.range.end),
        "cell": finding.cell,
        "url": rule_url(finding.name),
        "fix": _fix(finding.fix, finding.cell) if finding.fix else None,
    }


def _fix(fix: PlacedFix, cell: int | None) -> dict[str, Any]:
    return {
        "title": fix.title,
        "applicability": fix.safety.value,
        "edits": [_edit(edit, cell) for edit in fix.edits],
    }


def _edit(placed: PlacedEdit, cell: int | None) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "content": placed.edit.new_text,
        "location": _location(placed.edit.range.start),
        "end_location": _location(placed.edit.range.end),
    }
    # An edit of a notebook may reach into another cell, e.g. the one with the imports.
    if placed.cell != cell:
        shown["cell"] = placed.cell
    return shown


def _location(position: Position) -> dict[str, int]:
    return {"row": position.line + 1, "column": position.column + 1}
