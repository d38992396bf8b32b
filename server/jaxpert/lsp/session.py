"""One connected client: what it can do, what it has open, and what was last told to it about each document.

Everything runs on the event loop's thread. What analyses is imported when the first document needs it, so that
the server answers ``initialize`` as early as it can.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.client import ClientProfile
from jaxpert.lsp.convert import SOURCE, to_range, uri_from_path
from jaxpert.lsp.disk_texts import DiskTexts
from jaxpert.lsp.documents import Document, Documents
from jaxpert.lsp.folders import Folders
from jaxpert.lsp.indexing import Indexing
from jaxpert.lsp.notes import Notes
from jaxpert.lsp.reports import diagnostics_of, too_large_diagnostic
from jaxpert.lsp.schedule import Loop, Scheduler, settle_heap

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis
    from jaxpert.ide.actions import Action
    from jaxpert.lsp.documents import Part
    from jaxpert.lsp.language_server import JaxpertServer
    from jaxpert.project.config import ConfigProblem
    from jaxpert.project.workspace import Workspace
    from jaxpert.text.lines import Range

logger = logging.getLogger("jaxpert")


@dataclass(slots=True)
class Report:
    """What was last found in one part of a document.

    Attributes:
        result_id: names these diagnostics when a client asks whether they changed.
        told: whether the client has them.
    """

    diagnostics: list[types.Diagnostic]
    result_id: str
    told: bool = False


class Session:
    """The state behind all handlers.

    Args:
        server: sends messages.
        client: what the client can do.
        folders: its workspace folders and their settings.
        loop: for delayed work.
    """

    def __init__(self, server: JaxpertServer, client: ClientProfile, folders: Folders, loop: Loop) -> None:
        self.server = server
        self.client = client
        self.folders = folders
        self.scheduler = Scheduler(loop, self._analyse_and_tell, self._idle_work)
        self._analyses: dict[str, tuple[int, Analysis]] = {}
        self._reports: dict[str, dict[str, Report]] = {}
        self._result_ids = itertools.count(1)
        self._age = 0
        self._unreconciled: set[str] = set()
        self._heap_grew = True
        self._told_problems: dict[Path, list[ConfigProblem]] = {}
        self._said: set[str] = set()
        self.notes = Notes(self)
        self.disk = DiskTexts()
        self.indexing = Indexing(self)

    @cached_property
    def workspace(self) -> Workspace:
        """The client's files and buffers."""
        from jaxpert.project.workspace import Overrides, Workspace
        from jaxpert.rules import ALL_RULES

        def overrides(path: Path) -> Overrides:
            settings = self.folders.settings(self.folders.folder_of(path))
            interpreter = Path(settings.interpreter) if settings.interpreter else None
            return Overrides(settings.overrides, interpreter, "editor settings")

        known = {rule.name: rule.code for rule in ALL_RULES}
        roots, kept = self.folders.roots, self.indexing.cache_folder
        return Workspace(roots, known, overrides, wait_for_index=False, lines_kept=5_000, cache_folder=kept)

    @cached_property
    def documents(self) -> Documents:
        """What the client has open."""
        return Documents(self.workspace, self.client.encoding, self.folders.home)

    def warm_up(self) -> None:
        """Import what analyses, and make the converters of messages, before the first document comes."""
        try:
            from jaxpert.engine import analyze  # noqa: F401
            from jaxpert.ide import actions, completion, hover, name_completion, signature_help, symbols  # noqa: F401

            self.documents.get("")
            self.server.protocol.warm_up()
            settle_heap()
        except Exception as error:
            self.server.failed("warming up", error)

    # -- what happens to documents ----------------------------------------------------------------------------

    def opened(self, document: Document) -> None:
        """The client opened ``document``."""
        self._heap_grew = True
        self.indexing.turned()
        self.changed(document)

    def changed(self, document: Document) -> None:
        """The text of ``document`` is a new one."""
        self._age += 1
        self._unreconciled.add(document.uri)
        self.scheduler.changed(document.uri, run=self.pushes(document))

    def closed(self, document: Document) -> None:
        """The client closed ``document``: what we said about it is no longer shown."""
        self._age += 1
        self.scheduler.forget(document.uri)
        self._unreconciled.discard(document.uri)
        self.notes.closed(document.uri)
        self._analyses.pop(document.uri, None)
        reports = self._reports.pop(document.uri, {})
        if self.pushes(document):
            self.clear(uri for uri, report in reports.items() if report.told)
        self._tell_problems()
        self.indexing.turned()
        self.scheduler.touch()

    def forget_parts(self, document: Document, uris: Iterable[str]) -> None:
        """The parts ``uris`` of ``document`` are gone: what we said about them is no longer shown."""
        reports = self._reports.get(document.uri, {})
        self.clear(uri for uri in uris if (report := reports.pop(uri, None)) and report.told)

    def settings_changed(self) -> None:
        """The client's settings are others."""
        self.workspace.settings_changed()
        self.indexing.resume()
        self._outdated()

    def folders_changed(self) -> None:
        """The client's folders are others."""
        self.workspace.set_roots(self.folders.roots)
        self.indexing.resume()
        self._outdated()

    def files_changed(self, paths: Iterable[Path]) -> None:
        """Files on disk were written, created or removed."""
        self.workspace.files_changed(paths)
        self._outdated()

    def _outdated(self) -> None:
        self._age += 1
        for document in self.documents:
            if self.pushes(document):
                self.scheduler.soon(document.uri)
        self.refresh()
        self.notes.refresh()

    def refresh(self) -> None:
        """Ask a client that pulls to pull again."""
        if self.client.pulls and self.client.refreshes:
            self.server.ask(types.WORKSPACE_DIAGNOSTIC_REFRESH, None)

    # -- analysis ---------------------------------------------------------------------------------------------

    def analysis(self, document: Document) -> Analysis | None:
        """What is known about ``document`` now; None when it is not analysed."""
        from jaxpert.engine.analyze import analyze

        if document.too_large or not self.folders.settings(self.folders.folder_of(document.path)).enable:
            return None
        kept = self._analyses.get(document.uri)
        if kept is not None and kept[0] == self._age:
            return kept[1]
        began = time.perf_counter()
        analysis = analyze(self.workspace.snapshot(document.path), quick=document.uri in self._unreconciled)
        if _is_excluded(analysis):
            analysis = replace(analysis, findings=())
        self._analyses[document.uri] = self._age, analysis
        logger.debug("analysed %s in %.1f ms", document.uri, (time.perf_counter() - began) * 1e3)
        self._say_once(logging.INFO, _target_text(analysis))
        if kept is None or kept[1].snapshot.problems != analysis.snapshot.problems:
            self._tell_problems()
        return analysis

    def reports(self, document: Document) -> dict[str, Report]:
        """What there is to tell about each part of ``document`` now, by the part's URI."""
        if document.too_large:
            found = {document.uri: [too_large_diagnostic()]}
        elif (analysis := self.analysis(document)) is not None:
            found = diagnostics_of(self, document, analysis)
        else:
            found = {part.uri: [] for part in document.parts}
        before = self._reports.get(document.uri, {})
        reports = {}
        for uri, diagnostics in found.items():
            report = before.get(uri)
            if report is None or report.diagnostics != diagnostics:
                report = Report(diagnostics, str(next(self._result_ids)))
            reports[uri] = report
        self._reports[document.uri] = reports
        return reports

    def place(self, uri: str) -> tuple[Document, Part, Analysis] | None:
        """The analysed document that the file or cell ``uri`` belongs to, that part of it, and its analysis."""
        found = self.documents.part(uri)
        if found is None or not found[1].analysed:
            return None
        analysis = self.analysis(found[0])
        return None if analysis is None else (*found, analysis)

    def actions(
        self, document: Document, analysis: Analysis, area: Range, only: Sequence[str] | None
    ) -> Iterator[Action]:
        """What can be done about the findings at ``area`` and in the whole document, and to the code at ``area``, of
        the kinds ``only``.
        """
        from jaxpert.ide.actions import FIX_ALL, QUICK_FIX, quick_fixes, refactoring_actions, wanted

        if wanted(QUICK_FIX, only):
            yield from quick_fixes(analysis, area)
        yield from refactoring_actions(analysis, area, only)
        if wanted(FIX_ALL, only) and (action := self._fix_all(document, analysis)):
            yield action

    def _fix_all(self, document: Document, analysis: Analysis) -> Action | None:
        """What fixes everything in ``document``. Its text changes on the way and is the same again afterwards."""
        from jaxpert.engine.analyze import analyze
        from jaxpert.ide.actions import fix_all

        before = analysis.snapshot.text

        def analyse(text: str) -> Analysis:
            self.workspace.replace(document.path, text)
            return analyze(self.workspace.snapshot(document.path))

        try:
            return fix_all(analysis, analyse)
        finally:
            self.workspace.replace(document.path, before)
            self._age += 1  # an analysis is only good until the text changes

    # -- telling ----------------------------------------------------------------------------------------------

    def pushes(self, document: Document) -> bool:
        """Whether we send the diagnostics of ``document`` unasked: always for notebooks, where an edit in one cell
        changes what is found in others and no client pulls for those.
        """
        return document.is_notebook or not self.client.pulls

    def tell(self, document: Document, with_version: bool = False) -> None:
        """Push what is new about ``document``; ``with_version``: also what is not, since the text is."""
        reports = self.reports(document)
        for part in document.parts:
            report = reports[part.uri]
            if report.told and not with_version:
                continue
            report.told = True
            version = part.version if self.client.versions else None
            self.server.publish(types.PublishDiagnosticsParams(part.uri, report.diagnostics, version))

    def clear(self, uris: Iterable[str]) -> None:
        """Push that nothing is known about ``uris``."""
        for uri in uris:
            self.server.publish(types.PublishDiagnosticsParams(uri, []))

    def _analyse_and_tell(self, uri: str) -> None:
        document = self.documents.get(uri)
        if document is None:
            return
        try:
            self.tell(document, with_version=not document.is_notebook)
        except Exception as error:
            self.server.failed("analysis", error)

    def _idle_work(self) -> Iterator[None]:
        """Read edited files afresh as a whole, index projects, tell what became known by that, settle the heap."""
        news = False
        for uri in list(self._unreconciled):
            self._unreconciled.discard(uri)
            document = self.documents.get(uri)
            if document is not None and not document.too_large:
                news |= self.workspace.source(document.path).reconcile()
                yield
                news |= self._has_more(document)
                yield
        yield from self.indexing.steps()
        news |= self.indexing.take_news()
        if news:
            self._age += 1
        yield from self._tell_all(news)
        yield from self.notes.steps()
        if self._heap_grew:
            self._heap_grew = False
            settle_heap()

    def _has_more(self, document: Document) -> bool:
        """Whether rules that are asked about the whole of ``document`` say more than while its text was changing."""
        before = self._analyses.pop(document.uri, None)
        if before is None or before[0] != self._age:
            return False
        after = self.analysis(document)
        return after is not None and after.findings != before[1].findings

    def _tell_all(self, news: bool) -> Iterator[None]:
        """Bring the client up to date about every document, one with each step.

        Args:
            news: whether there may be something that a client which pulls cannot know of.
        """
        for document in self.documents:
            if self.pushes(document):
                self.tell(document)
                yield
        if not (news and self.client.refreshes):
            return
        for document in self.documents:
            if document.uri in self._reports and not self.pushes(document):
                if not all(report.told for report in self.reports(document).values()):
                    self.refresh()
                    return
                yield

    # -- configuration ----------------------------------------------------------------------------------------

    def _tell_problems(self) -> None:
        """Show the mistakes in the configuration of the open documents, and no longer those that are gone."""
        found: dict[Path, list[ConfigProblem]] = {}
        for _, analysis in self._analyses.values():
            for problem in analysis.snapshot.problems:
                same_file = found.setdefault(problem.path, [])
                if problem not in same_file:
                    same_file.append(problem)
        for path in self._told_problems.keys() | found.keys():
            problems = found.get(path, [])
            if problems == self._told_problems.get(path, []):
                continue
            if not path.is_absolute():  # not a file: the editor's own settings
                for problem in problems:
                    self.server.show_warning(f"jaxpert: {problem}")
                continue
            lines = self.lines_on_disk(path)
            diagnostics = [
                types.Diagnostic(
                    range=to_range(lines, problem.range, self.client.encoding),
                    severity=types.DiagnosticSeverity.Error,
                    source=SOURCE,
                    message=problem.message,
                )
                for problem in problems
            ]
            self.server.publish(types.PublishDiagnosticsParams(uri_from_path(str(path)), diagnostics))
        self._told_problems = found

    def lines_on_disk(self, path: Path) -> Sequence[str]:
        """The lines of a file that is not open; a single empty one where it cannot be read."""
        return self.disk.get(str(path)).lines

    def _say_once(self, level: int, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            logger.log(level, message)

    def end(self) -> None:
        """Nothing more happens."""
        self.scheduler.stop()


def _is_excluded(analysis: Analysis) -> bool:
    """Whether the user's ``exclude`` option leaves the file out; as in ``.gitignore``, the last word counts."""
    from jaxpert.project.config import matches

    options, excluded = analysis.snapshot.options, False
    for glob in options.exclude:
        if matches(glob.removeprefix("!"), analysis.snapshot.path, options.root):
            excluded = not glob.startswith("!")
    return excluded


def _target_text(analysis: Analysis) -> str:
    target = analysis.model.target
    return f"checking against JAX {target.version} ({target.origin})"
