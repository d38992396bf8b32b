"""The work of ``check``: files in, reports out, in this process or in several."""

from __future__ import annotations

import contextlib
import enum
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TypeVar

from jaxpert.cli.fixer import UnwritableFix, fixed
from jaxpert.cli.kept_reports import kept_report, text_of
from jaxpert.cli.placing import placed_findings, shown_path, source_lines
from jaxpert.cli.report import FileReport
from jaxpert.engine.analyze import analyze
from jaxpert.jaxdb.load import beyond_what_is_known
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.project.config import ConfigProblem, Options, load_options
from jaxpert.project.discovery import find_files
from jaxpert.project.index_cache import cache_folder
from jaxpert.project.resolver import is_inside
from jaxpert.project.workspace import Overrides, Workspace
from jaxpert.records import dataclass
from jaxpert.rules import ALL_RULES
from jaxpert.syntax.notebook import BadNotebook, read_notebook
from jaxpert.text.decoding import SourceText, UnreadableSource, decode_source

KNOWN_RULES = {rule.name: rule.code for rule in ALL_RULES}
_LINES_KEPT = 400_000
"""Of so many lines the trees are kept, about 1.6 KB each, by all processes together."""

_LINES_KEPT_EACH = 120_000  # but by each of many

_FILES_A_PROCESS = 24  # fewer are checked sooner than another process starts
_MOST_FILES_A_TASK = 16

T = TypeVar("T")
Taken = Mapping[str, Mapping[str, bytes]]
"""What one process has found to be kept, by project."""


class FixMode(enum.Enum):
    """Which fixes to apply."""

    NONE = "none"
    SAFE = "safe"
    UNSAFE = "unsafe"


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants checked.

    Attributes:
        paths: files and folders.
        overrides: options that are stronger than those of the configuration file, by key.
        fix: which fixes to apply before reporting.
        describe_fixes: whether a finding that is left comes with its fix.
        use_cache: whether findings in files that did not change may be those of an earlier run.
    """

    paths: tuple[Path, ...]
    overrides: Mapping[str, object] = field(default_factory=dict)
    fix: FixMode = FixMode.NONE
    describe_fixes: bool = True
    use_cache: bool = True


class WorkerDied(RuntimeError):
    """A process that checks files came to a sudden end."""


def config_problems(request: Request) -> tuple[ConfigProblem, ...]:
    """What is wrong with the configurations that hold for the paths of ``request``, each mistake once."""
    found = [load_options(path, request.overrides, known=KNOWN_RULES)[1] for path in request.paths]
    return tuple(dict.fromkeys(problem for problems in found for problem in problems))


def describe_options(request: Request) -> str:
    """The options that hold for each path of ``request``, in the form of the configuration file."""
    sections = []
    for path in request.paths:
        options, _ = load_options(path, request.overrides, known=KNOWN_RULES)
        values = {
            "select": list(options.select),
            "ignore": list(options.ignore),
            "per-file-ignores": {glob: list(ignored) for glob, ignored in options.per_file_ignores},
            "exclude": list(options.exclude),
            "jax-version": options.jax_version,
            "remat3": options.remat3,
            "x64": options.x64,
        }
        origin = f"from {options.source}" if options.source else "no configuration file"
        rules = ", ".join(sorted(KNOWN_RULES[name] for name in options.enabled_rules(path, KNOWN_RULES)))
        lines = [f"{key} = {_toml(value)}" for key, value in values.items() if value not in (None, [], {})]
        sections.append("\n".join([f"# {path}: {origin}", *lines, f"# rules: {rules or 'none'}"]))
    return "\n\n".join(sections) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {json.dumps(each)}" for key, each in value.items()) + " }"
    return json.dumps(value)


def files_to_check(request: Request) -> list[Path]:
    """The files that the paths of ``request`` mean."""
    workspace = _workspace(request, ())
    return list(find_files(request.paths, workspace.options_for))


def check_files(
    request: Request, files: Sequence[Path], jobs: int | None = None, done: Callable[[], None] = lambda: None
) -> tuple[list[FileReport], int]:
    """A report on each of ``files``, in their order, the same for any number of processes; and how many those were.

    Fixes are worked out against what is on disk before the run and are not written.

    Args:
        jobs: how many processes to use at most; None for as many as there is work for.
        done: called whenever another file is finished.

    Raises:
        WorkerDied: one of the processes was killed.
    """
    with _without_automatic_collection():
        checker = _Checker(request, files)
        reports = {file: report for file in files if (report := checker.known(file, done)) is not None}
        left = [file for file in files if file not in reports]
        processes = min(jobs or _processes_for(len(left)), max(1, len(left)))
        if processes == 1:
            reports.update((file, _counted(checker.check(file), done)) for file in left)
            checker.keep()
        else:
            found = _check_in_processes(request, files, left, processes, done)
            reports.update((file, report) for file, (report, _) in zip(left, found))
            checker.keep(taken for _, taken in found)
    return [reports[file] for file in files], processes


def _processes_for(files: int) -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, files // _FILES_A_PROCESS))


def _check_in_processes(
    request: Request, files: Sequence[Path], left: Sequence[Path], processes: int, done: Callable[[], None]
) -> list[tuple[FileReport, Taken]]:
    """What is found in those of ``files`` that are ``left``."""
    import multiprocessing  # these two only where they are needed
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    # Forked workers have everything imported already; elsewhere they start afresh.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    at_once = max(1, min(_MOST_FILES_A_TASK, len(left) // (processes * 4)))
    try:
        with ProcessPoolExecutor(processes, context, _start_worker, (request, files, processes)) as pool:
            return [_counted(found, done) for found in pool.map(_check_in_worker, left, chunksize=at_once)]
    except BrokenProcessPool as error:
        raise WorkerDied("a process that checks files was killed, perhaps for want of memory: try --jobs 1") from error


def check_text(request: Request, path: Path, content: bytes) -> FileReport:
    """A report on ``content``, as if it were the content of the file at ``path``."""
    return _Checker(request, (path,)).check(path, content)


class _Checker:
    """Checks one file after another."""

    def __init__(self, request: Request, files: Sequence[Path], processes: int = 1) -> None:
        self._request = request
        self._workspace = _workspace(request, files, processes)
        self._keeps = request.use_cache and request.fix is FixMode.NONE
        self._told: dict[int, tuple[Options, str]] = {}

    def known(self, path: Path, done: Callable[[], None]) -> FileReport | None:
        """A report on the file at ``path`` if no look into it is needed; else None."""
        try:
            if not self._workspace.mentions_jax(path):
                return _counted(FileReport(shown_path(path)), done)
            if not self._keeps:
                return None
            options, target = self._workspace.circumstances(path)
            kept = self._workspace.kept_result(path, self._asked(options, target))
            report = None if kept is None else kept_report(path, *kept)
            return None if report is None else _counted(replace(report, target=_target_name(target)), done)
        except (UnreadableSource, BadNotebook):
            return None  # to be told by :meth:`check`

    def keep(self, taken: Iterable[Taken] = ()) -> None:
        """Keep what was found, here and in other processes, for the next run."""
        if self._keeps:
            self._workspace.save_kept(list(taken))

    def take(self) -> Taken:
        """What :meth:`keep` needs in another process."""
        return self._workspace.take_kept() if self._keeps else {}

    def _asked(self, options: Options, target: JaxTarget) -> str:
        """All that a report depends on besides files."""
        known = self._told.get(id(options))
        if known is None or known[0] is not options:
            told = repr((Path.cwd(), self._request.describe_fixes, options))
            known = self._told[id(options)] = options, told
        return f"{known[1]} {target}"

    def check(self, path: Path, content: bytes | None = None) -> FileReport:
        """A report on the file at ``path``; with ``content``, on that instead of what is on disk."""
        started = time.perf_counter()
        try:
            report = self._check(path, content)
        except UnreadableSource as error:
            report = FileReport(shown_path(path), failure=error.reason)
        except Exception as error:
            if os.environ.get("JAXPERT_CRASH"):
                raise
            report = FileReport(shown_path(path), failure=f"internal error: {type(error).__name__}: {error}")
        self._workspace.release_trees()
        return replace(report, seconds=time.perf_counter() - started)

    def _check(self, path: Path, content: bytes | None) -> FileReport:
        if content is None and not self._workspace.mentions_jax(path):
            return FileReport(shown_path(path))
        source = None if content is None else self._open(path, content)
        snapshot = self._workspace.snapshot(path)
        analysis = analyze(snapshot)
        source = source or snapshot.on_disk
        crashed = analysis.crashed
        change, failure = None, ""
        fixing = self._request.fix is not FixMode.NONE and not snapshot.problems  # they may say what is to be left
        if fixing and analysis.findings and source is not None:
            try:
                unsafe = self._request.fix is FixMode.UNSAFE
                analysis, change = fixed(self._workspace, analysis, source, unsafe=unsafe)
                if change is not None and content is None and not self._is_meant(path):
                    raise UnwritableFix("not fixed: a link that leads out of what was named; name the file itself")
            except UnwritableFix as refusal:
                change, failure = None, str(refusal)
                if content is None:
                    self._workspace.close(path)
                else:
                    self._open(path, content)
                analysis = analyze(self._workspace.snapshot(path))
        if crashed := tuple(dict.fromkeys((*crashed, *analysis.crashed))):
            failure = failure or f"internal error in rule {', '.join(crashed)}: not fully checked"
        findings = placed_findings(analysis, describe_fixes=self._request.describe_fixes)
        report = FileReport(
            shown_path(path),
            findings,
            source_lines(analysis.snapshot.notebook, analysis.snapshot.text, findings),
            failure,
            _target_name(analysis.model.target),
            change,
            line_count=len(analysis.snapshot.source.lines),
            problems=snapshot.problems,
        )
        if change is not None and content is None:
            self._workspace.close(path)
        if self._keeps and content is None and not failure and not snapshot.problems:
            asked = self._asked(*self._workspace.circumstances(path))
            self._workspace.keep_result(snapshot, asked, text_of(report))
        return report

    def _is_meant(self, path: Path) -> bool:
        """Whether the file that would be written is one that the user named, or lies in a folder that was named."""
        target = os.path.realpath(path)
        named = [os.path.realpath(each) for each in self._request.paths]
        return any(target == each or is_inside(target, each) for each in named)

    def _open(self, path: Path, content: bytes) -> SourceText:
        source = decode_source(content, path)
        if path.suffix != ".ipynb":
            self._workspace.open(path, source.text)
            return source
        try:
            self._workspace.open(path, notebook=read_notebook(source.text))
        except BadNotebook as error:
            raise UnreadableSource(path, error.reason, error.line) from error
        return source


def _workspace(request: Request, files: Sequence[Path], processes: int = 1) -> Workspace:
    folders = [path for path in request.paths if path.is_dir()]
    roots, overrides = (Path.cwd(), *folders), Overrides(request.overrides)
    cache = cache_folder(os.environ) if request.use_cache else None
    kept = max(_LINES_KEPT // processes, _LINES_KEPT_EACH)
    return Workspace(roots, KNOWN_RULES, overrides, files=files, lines_kept=kept, cache_folder=lambda root: cache)


def _target_name(target: JaxTarget) -> str:
    origin = {"newest known": ", the newest known", "setting": ", as set"}.get(target.origin)
    beyond = beyond_what_is_known(target.version)
    return f"JAX {target.version}{origin or f' from {target.origin}'}{beyond and f', {beyond}'}"


@contextlib.contextmanager
def _without_automatic_collection() -> Iterator[None]:
    """Trees are many objects that live long and are freed by hand: a collection would look through them in vain."""
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # what is left is not worth a look
        gc.enable()


def _counted(result: T, done: Callable[[], None]) -> T:
    done()
    return result


_worker: _Checker | None = None


def _start_worker(request: Request, files: Sequence[Path], processes: int) -> None:
    global _worker
    gc.freeze()
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process answers for all
    _worker = _Checker(request, files, processes)


def _check_in_worker(path: Path) -> tuple[FileReport, Taken]:
    assert _worker is not None
    return _worker.check(path), _worker.take()
