"""One connected client: what it can do, what it has open, and what was last told to it about each document.

Everything runs on the event loop's thread. What analyses is imported when the first document needs it, so that
the server answers ``initialize`` as early as it can.
"""

from __future__ import annotations

import itertools
import logging
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.client import ClientProfile
from jaxpert.lsp.configuration_problems import ConfigurationProblems
from jaxpert.lsp.convert import position_from
from jaxpert.lsp.disk_texts import DiskTexts
from jaxpert.lsp.documents import Document, Documents
from jaxpert.lsp.folders import Folders
from jaxpert.lsp.indexing import Indexing
from jaxpert.lsp.notes import Notes
from jaxpert.lsp.reports import diagnostics_of, too_large_diagnostic
from jaxpert.lsp.schedule import Gathering, Loop, Scheduler, settle_heap
from jaxpert.records import dataclass

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis
    from jaxpert.lsp.documents import Part
    from jaxpert.lsp.language_server import JaxpertServer
    from jaxpert.project.workspace import Snapshot, Workspace
    from jaxpert.text.lines import Position

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
        self._file_news = Gathering(loop, self._outdated)
        self._snapshots: dict[str, tuple[int, Snapshot]] = {}
        self._analyses: dict[str, tuple[int, Analysis]] = {}
        self._reports: dict[str, dict[str, Report]] = {}
        self._result_ids = itertools.count(1)
        self._age = 0
        self._unreconciled: set[str] = set()
        self._heap_grew = True
        self._said: set[str] = set()
        self.notes = Notes(self)
        self.problems = ConfigurationProblems(self)
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
        self._snapshots.pop(document.uri, None)
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
        """Files on disk were written, created or removed.

        From here on the old answers count no longer; what is shown follows when nothing more comes: where a branch is
        checked out, each file may be told of on its own.
        """
        self.workspace.files_changed(paths)
        self._age += 1
        self.scheduler.touch()
        self._file_news.add()

    def _outdated(self) -> None:
        self._age += 1
        for document in self.documents:
            if self.pushes(document):
                self.scheduler.soon(document.uri)
        self.scheduler.touch()
        self.refresh()
        self.notes.refresh()
        self.server.status_changed()

    def refresh(self) -> None:
        """Ask a client that pulls to pull again."""
        if self.client.pulls and self.client.refreshes:
            self.server.ask(types.WORKSPACE_DIAGNOSTIC_REFRESH, None)

    # -- analysis ---------------------------------------------------------------------------------------------

    def snapshot(self, document: Document) -> Snapshot | None:
        """What is known about ``document`` now without asking the rules; None when it is not analysed."""
        if document.too_large or not self.folders.settings(self.folders.folder_of(document.path)).enable:
            return None
        kept = self._snapshots.get(document.uri)
        if kept is None or kept[0] != self._age:
            kept = self._snapshots[document.uri] = self._age, self.workspace.snapshot(document.path)
            self.scheduler.wake()  # the files that it rests on may have changed without a word
        return kept[1]

    def analysis(self, document: Document) -> Analysis | None:
        """What is known about ``document`` now; None when it is not analysed."""
        from jaxpert.engine.analyze import analyze

        snapshot = self.snapshot(document)
        if snapshot is None:
            return None
        kept = self._analyses.get(document.uri)
        if kept is not None and kept[0] == self._age:
            return kept[1]
        began = time.perf_counter()
        analysis = analyze(snapshot, quick=self.is_changing(document))
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

    def analysis_at_hand(self, document: Document) -> Analysis | None:
        """As :meth:`analysis`; but None also where all rules would have to be asked about all of ``document``."""
        kept = self._analyses.get(document.uri)
        return self.analysis(document) if kept and (kept[0] == self._age or self.is_changing(document)) else None

    def place(self, uri: str) -> tuple[Document, Part, Analysis] | None:
        """The analysed document that the file or cell ``uri`` belongs to, that part of it, and its analysis."""
        found = self.glance(uri)
        analysis = self.analysis(found[0]) if found is not None else None
        return None if found is None or analysis is None else (*found[:2], analysis)

    def glance(self, uri: str) -> tuple[Document, Part, Snapshot] | None:
        """As :meth:`place`, with what is known without asking the rules."""
        found = self.documents.part(uri)
        if found is None or not found[1].analysed:
            return None
        snapshot = self.snapshot(found[0])
        return None if snapshot is None else (*found, snapshot)

    def spot(self, uri: str, position: types.Position) -> tuple[Document, Part, Snapshot, Position] | None:
        """As :meth:`glance`, with a position of the client's in the text that is analysed; None where there is none."""
        found = self.glance(uri)
        if found is None or position.line >= len(found[1].text.lines):
            return None
        document, part, snapshot = found
        place = document.absolute(part, position_from(part.text.lines, position, self.client.encoding))
        return None if place is None else (document, part, snapshot, place)

    def is_changing(self, document: Document) -> bool:
        """Whether the text has changed since rules were last asked about all of it."""
        return document.uri in self._unreconciled

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

    def _analyse_and_tell(self, uri: str, with_version: bool = True) -> None:
        document = self.documents.get(uri)
        if document is None:
            return
        try:
            self.tell(document, with_version=with_version and not document.is_notebook)
        except Exception as error:
            self.server.failed("analysis", error)

    def _idle_work(self) -> Iterator[None]:
        """Read edited files afresh as a whole, index projects, tell what became known by that, settle the heap."""
        news = False
        for uri in list(self._unreconciled):
            self._unreconciled.discard(uri)
            document = self.documents.get(uri)
            if document is not None and not document.too_large:
                try:
                    news |= self.workspace.source(document.path).reconcile()
                    yield
                    news |= self._has_more(document)
                except Exception as error:
                    self.server.failed("reading a document afresh", error)
                yield
        yield from self._guarded("reading projects", self.indexing.steps())
        news |= self.indexing.take_news()
        if news:
            self._age += 1
        yield from self._guarded("telling what is new", self._tell_all(news))
        yield from self._guarded("looking at hints and lenses", self.notes.steps())
        if self._heap_grew:
            self._heap_grew = False
            settle_heap()

    def _guarded(self, what: str, steps: Iterator[None]) -> Iterator[None]:
        """``steps``, until one fails: that costs a log line, and what comes after them all goes on."""
        try:
            yield from steps
        except Exception as error:
            self.server.failed(what, error)

    def _has_more(self, document: Document) -> bool:
        """Whether rules that are asked about the whole of ``document`` say more than while its text was changing."""
        self._snapshots.pop(document.uri, None)
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
                self._analyse_and_tell(document.uri, with_version=False)
                yield
        if not (news and self.client.refreshes):
            return
        for document in self.documents:
            if document.uri in self._reports and not self.pushes(document):
                if not all(report.told for report in self.reports(document).values()):
                    self.refresh()
                    return
                yield

    def _tell_problems(self) -> None:
        self.problems.tell(problem for _, analysis in self._analyses.values() for problem in analysis.snapshot.problems)

    def _say_once(self, level: int, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            logger.log(level, message)

    def end(self) -> None:
        """Nothing more happens."""
        self._file_news.stop()
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
