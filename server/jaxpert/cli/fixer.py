"""Fixes one file or notebook in memory: the text until it is quiet, and the bytes to write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jaxpert.cli.placing import writable
from jaxpert.cli.report import Change
from jaxpert.engine.analyze import Analysis, analyze
from jaxpert.engine.fixing import fix_until_quiet
from jaxpert.project.workspace import Workspace
from jaxpert.syntax.notebook import NotebookMap, write_cells
from jaxpert.text.decoding import SourceText
from jaxpert.text.edits import Edit, apply_edits


class UnwritableFix(ValueError):
    """The fixed text cannot be written."""


def fixed(
    workspace: Workspace, analysis: Analysis, source: SourceText, *, unsafe: bool
) -> tuple[Analysis, Change | None]:
    """The analysis of the fixed text, and the change; (``analysis``, None) when nothing could be fixed.

    The fixed text is left open in ``workspace``.

    Args:
        source: the whole file, of a notebook its JSON.

    Raises:
        UnwritableFix: the encoding of the file lacks a character of the fix.
    """
    attempt = _Attempt(workspace, analysis)
    result = fix_until_quiet(analysis.snapshot.text, attempt.analyse, unsafe=unsafe, apply=attempt.apply)
    if not result.applied:
        return analysis, None
    after = result.text if attempt.notebook is None else write_cells(source.text, attempt.changed_cells())
    try:
        content = source.encode(after)
    except UnicodeEncodeError as error:
        raise UnwritableFix(f"not fixed: {error.encoding} has no {error.object[error.start : error.end]!r}") from error
    return attempt.analysis, Change(source, after, content, len(result.applied))


class _Attempt:
    """The state between two rounds of fixing.

    Attributes:
        analysis: of the text as it is now.
        notebook: the cells as they are now; None for a file.
    """

    def __init__(self, workspace: Workspace, analysis: Analysis) -> None:
        self._workspace = workspace
        self._first = analysis
        self.analysis = analysis
        self.notebook = analysis.snapshot.notebook

    def analyse(self, text: str) -> Analysis:
        """Analyse ``text``; what comes back has no finding whose fix cannot be written."""
        if text != self._first.snapshot.text:
            path = self._first.snapshot.path
            self._workspace.open(path, text, notebook=self.notebook)
            self.analysis = analyze(self._workspace.snapshot(path))
        findings = tuple(it for it in self.analysis.findings if writable(self.notebook, self.analysis, it))
        return replace(self.analysis, findings=findings)

    def apply(self, text: str, edits: Sequence[Edit]) -> str:
        """``text`` after ``edits``; those of a notebook change its cells."""
        if self.notebook is None:
            return apply_edits(text, edits)
        sources = {cell.index: cell.source for cell in self.notebook.cells} | self.notebook.edited(edits)
        self.notebook = NotebookMap(sources.get(index) for index in range(1, max(sources, default=0) + 1))
        return self.notebook.text

    def changed_cells(self) -> dict[int, str]:
        """The cells that differ from those of the first analysis, by number."""
        before, now = self._first.snapshot.notebook, self.notebook
        assert before is not None and now is not None
        old = {cell.index: cell.source for cell in before.cells}
        return {cell.index: cell.source for cell in now.cells if cell.source != old[cell.index]}
