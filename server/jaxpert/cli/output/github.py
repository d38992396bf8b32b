"""GitHub workflow commands: annotations on the changed lines of a pull request.

Format and escapes: https://docs.github.com/actions/reference/workflow-commands-for-github-actions and the
toolkit's own ``packages/core/src/command.ts``.
"""

from __future__ import annotations

from pathlib import Path

from jaxpert.cli.report import PlacedFinding, Run
from jaxpert.rulekit.rule import Severity

_COMMANDS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.INFORMATION: "notice",
    Severity.HINT: "notice",
}


def render(run: Run) -> str:
    """One command a line."""
    return "".join(_command(file.path, finding) for file in run.files for finding in file.findings)


def _command(path: Path, finding: PlacedFinding) -> str:
    start, end = finding.range
    properties = {"title": f"jaxpert ({finding.code} {finding.name})", "file": path.as_posix()}
    # A row of a notebook cell is no row of the file: such an annotation can only point at the file.
    if finding.cell is None:
        properties |= {"line": str(start.line + 1), "endLine": str(end.line + 1)}
        # GitHub refuses columns on an annotation of several lines.
        if start.line == end.line:
            properties |= {"col": str(start.column + 1), "endColumn": str(end.column + 1)}
    where = f"cell {finding.cell}, line {start.line + 1}: " if finding.cell is not None else ""
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {listed}::{_data(where + finding.message)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
