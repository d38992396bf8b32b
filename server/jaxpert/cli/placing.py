"""From an analysis to what is shown of it: places of a notebook become places of its cells."""

from __future__ import annotations

import os
from pathlib import Path

from jaxpert.cli.report import Place, PlacedEdit, PlacedFinding, PlacedFix
from jaxpert.engine.analyze import Analysis
from jaxpert.engine.fixing import fix_for
from jaxpert.rulekit.rule import Finding, Related
from jaxpert.rules import rule_named
from jaxpert.syntax.notebook import NotebookMap, UnwritableEdit
from jaxpert.text.lines import Position, Range, end_of, split_lines


def shown_path(path: Path | str) -> Path:
    """``path`` as the user would write it: relative to the working directory where it lies inside."""
    absolute = os.path.abspath(path)  # noqa: PTH100 (links stay as they are named)
    here = os.getcwd().rstrip(os.sep) + os.sep  # noqa: PTH109
    return Path(absolute[len(here) :]) if absolute.startswith(here) else Path(path)


def placed_findings(analysis: Analysis, *, describe_fixes: bool) -> tuple[PlacedFinding, ...]:
    """The findings of ``analysis``; with their fixes only where asked for, because making one costs time."""
    notebook = analysis.snapshot.notebook
    placed = []
    for finding in analysis.findings:
        cell, area = place(notebook, finding.range)
        rule = rule_named(finding.rule)
        placed.append(
            PlacedFinding(
                code=rule.code if rule else "",
                name=finding.rule,
                severity=finding.severity,
                message=finding.message,
                range=area,
                cell=cell,
                consequence=finding.consequence,
                related=tuple(_related(notebook, related) for related in finding.related),
                fix=_fix(analysis, finding) if describe_fixes else None,
            )
        )
    return tuple(placed)


def source_lines(
    notebook: NotebookMap | None, text: str, findings: tuple[PlacedFinding, ...]
) -> dict[int | None, tuple[str, ...]]:
    """The source of every cell that ``findings`` and their fixes touch; the key None stands for a whole file."""
    if not findings:
        return {}
    if notebook is None:
        return {None: tuple(split_lines(text))}
    touched = {finding.cell for finding in findings}
    touched |= {edit.cell for finding in findings if finding.fix for edit in finding.fix.edits}
    return {cell.index: tuple(split_lines(cell.source)) for cell in notebook.cells if cell.index in touched}


def place(notebook: NotebookMap | None, area: Range) -> tuple[int | None, Range]:
    """The cell where ``area`` starts and the range there, cut off at the end of the cell; for a file, itself."""
    if notebook is None:
        return None, area
    cell, start = notebook.to_cell(area.start)
    other, end = notebook.to_cell(area.end)
    if other != cell:
        end = _end_of_cell(notebook, area.start)
    return cell, Range(start, max(start, end))


def writable(notebook: NotebookMap | None, analysis: Analysis, finding: Finding) -> bool:
    """Whether the fix of ``finding``, if it has one, can be written into the cells."""
    if notebook is None or (fix := fix_for(analysis, finding)) is None:
        return True
    try:
        notebook.edited(fix.edits)
    except UnwritableEdit:
        return False
    return True


def _end_of_cell(notebook: NotebookMap, position: Position) -> Position:
    cell = notebook.cell_at(position.line)
    return end_of(split_lines(cell.source)) if cell else position


def _related(notebook: NotebookMap | None, related: Related) -> Place:
    if related.path:
        return Place(related.range, related.message, str(shown_path(related.path)))
    cell, area = place(notebook, related.range)
    return Place(area, related.message, cell=cell)


def _fix(analysis: Analysis, finding: Finding) -> PlacedFix | None:
    fix = fix_for(analysis, finding)
    if fix is None:
        return None
    notebook = analysis.snapshot.notebook
    if notebook is None:
        return PlacedFix(fix.title, fix.safety, tuple(PlacedEdit(edit) for edit in fix.edits))
    try:
        edits = [notebook.to_cell_edit(edit) for edit in fix.edits]
    except UnwritableEdit:
        return None
    return PlacedFix(fix.title, fix.safety, tuple(PlacedEdit(edit, cell) for cell, edit in edits))
