"""Mistakes in the configuration, shown where they are: in its file, or as messages for the editor's own settings."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.convert import SOURCE, to_range, uri_from_path

if TYPE_CHECKING:
    from jaxpert.lsp.session import Session
    from jaxpert.project.config import ConfigProblem


class ConfigurationProblems:
    """What the client was told about its configuration files."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._told: dict[Path, list[ConfigProblem]] = {}

    def tell(self, problems: Iterable[ConfigProblem]) -> None:
        """Show the mistakes in the configuration of the open documents, and no longer those that are gone."""
        found: dict[Path, list[ConfigProblem]] = {}
        for problem in problems:
            same_file = found.setdefault(problem.path, [])
            if problem not in same_file:
                same_file.append(problem)
        for path in self._told.keys() | found.keys():
            if found.get(path, []) != self._told.get(path, []):
                self._tell_file(path, found.get(path, []))
        self._told = found

    def _tell_file(self, path: Path, problems: list[ConfigProblem]) -> None:
        server, encoding = self._session.server, self._session.client.encoding
        if not path.is_absolute():  # not a file: the editor's own settings
            for problem in problems:
                server.show_warning(f"jaxpert: {problem}")
            return
        lines = self._session.disk.get(str(path)).lines
        diagnostics = [
            types.Diagnostic(
                range=to_range(lines, problem.range, encoding),
                severity=types.DiagnosticSeverity.Error,
                source=SOURCE,
                message=problem.message,
            )
            for problem in problems
        ]
        server.publish(types.PublishDiagnosticsParams(uri_from_path(str(path)), diagnostics))
