"""SARIF 2.1.0, for code-scanning services and editors.

Specification: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html. Plain dictionaries: the few
objects we need are shorter than an import of a library for all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jaxpert import __version__
from jaxpert.cli.report import FileReport, Place, PlacedEdit, PlacedFinding, PlacedFix, Run
from jaxpert.rulekit.rule import Rule, Severity
from jaxpert.rulekit.urls import rule_url
from jaxpert.text.lines import Range

_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "note",
    Severity.HINT: "note",
}


def render(run: Run, rules: Iterable[Rule]) -> str:
    """The whole document; ``rules`` are described in it whether or not they found anything."""
    described = tuple(rules)
    index = {rule.code: number for number, rule in enumerate(described)}
    log = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "jaxpert",
                        "version": __version__,
                        "informationUri": "https://github.com/jaxpert/jaxpert",
                        "rules": [_rule(rule) for rule in described],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [_invocation(run)],
                "results": [result for file in run.files for result in _results(file, index)],
            }
        ],
    }
    return json.dumps(log, indent=2) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.doc.strip()},
        "helpUri": rule_url(rule.name),
        "help": {"text": rule.doc.strip()},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": [rule.family]},
    }


def _invocation(run: Run) -> dict[str, Any]:
    failed = [file for file in run.files if file.failure]
    notifications = [
        {
            "level": "error",
            "message": {"text": file.failure},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(file.path)}}],
        }
        for file in failed
    ]
    return {"executionSuccessful": not failed, "toolExecutionNotifications": notifications}


def _results(file: FileReport, index: dict[str, int]) -> Iterable[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for finding in file.findings:
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "level": _LEVELS[finding.severity],
            "message": {"text": _in_cell(finding.cell, finding.range, finding.message)},
            "locations": [_location(file.path, finding.cell, finding.range)],
            "partialFingerprints": {"jaxpertLine/v1": _fingerprint(file, finding, seen)},
        }
        if finding.code in index:
            result["ruleIndex"] = index[finding.code]
        if finding.related:
            result["relatedLocations"] = [_related(file.path, place) for place in finding.related]
        if finding.fix and all(edit.cell is None for edit in finding.fix.edits):
            result["fixes"] = [_fix(file.path, finding.fix)]
        if finding.cell is not None:
            result["properties"] = {"cell": finding.cell}
        yield result


def _location(path: Path, cell: int | None, area: Range) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(path)}
    # SARIF has no cells, and a row of a cell is no row of the notebook's JSON.
    if cell is None:
        physical["region"] = _region(area)
    return {"physicalLocation": physical}


def _related(path: Path, place: Place) -> dict[str, Any]:
    location = _location(Path(place.path) if place.path else path, place.cell, place.range)
    return location | {"message": {"text": _in_cell(place.cell, place.range, place.message)}}


def _in_cell(cell: int | None, area: Range, message: str) -> str:
    return message if cell is None else f"cell {cell}, line {area.start.line + 1}: {message}"


def _region(area: Range) -> dict[str, int]:
    start, end = area
    return {
        "startLine": start.line + 1,
        "startColumn": start.column + 1,
        "endLine": end.line + 1,
        "endColumn": end.column + 1,
    }


def _fix(path: Path, fix: PlacedFix) -> dict[str, Any]:
    changes = [{"artifactLocation": _artifact(path), "replacements": [_replacement(edit) for edit in fix.edits]}]
    return {"description": {"text": fix.title}, "artifactChanges": changes}


def _replacement(placed: PlacedEdit) -> dict[str, Any]:
    return {"deletedRegion": _region(placed.edit.range), "insertedContent": {"text": placed.edit.new_text}}


def _artifact(path: Path) -> dict[str, str]:
    return {"uri": path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))}


def _fingerprint(file: FileReport, finding: PlacedFinding, seen: Counter[str]) -> str:
    """Stays the same while other lines change: the rule, the file, the line's text, and a number among equals."""
    lines = file.lines.get(finding.cell, ())
    row = finding.range.start.line
    text = lines[row].strip() if row < len(lines) else ""
    key = f"{finding.code}\0{file.path.as_posix()}\0{text}"
    seen[key] += 1
    return hashlib.sha256(f"{key}\0{seen[key]}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
