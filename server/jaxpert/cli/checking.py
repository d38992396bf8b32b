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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxpert.cli.fixer import UnwritableFix, fixed
from jaxpert.cli.placing import placed_findings, shown_path, source_lines
from jaxpert.cli.report import FileReport
from jaxpert.engine.analyze import analyze
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.project.config import ConfigProblem, load_options
from jaxpert.project.discovery import find_files
from jaxpert.project.resolver import is_inside
from jaxpert.project.workspace import Overrides, Workspace
from jaxpert.rules import ALL_RULES
from jaxpert.syntax.notebook import BadNotebook, read_notebook
from jaxpert.text.decoding import SourceText, UnreadableSource, decode_source

KNOWN_RULES = {rule.name: rule.code for rule in ALL_RULES}
_LINES_KEPT = 120_000
"""Of so many lines the trees are kept, about 2 KB each."""

_MOST_FILES_A_TASK = 16


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
    """

    paths: tuple[Path, ...]
    overrides: Mapping[str, object] = field(default_factory=dict)
    fix: FixMode = FixMode.NONE
    describe_fixes: bool = True


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
    request: Request, files: Sequence[Path], processes: int, done: Callable[[], None] = lambda: None
) -> list[FileReport]:
    """A report on each of ``files``, in their order, the same for any number of ``processes``.

    Fixes are worked out against what is on disk before the run and are not written.

    Args:
        done: called whenever another file is finished.

    Raises:
        WorkerDied: one of the processes was killed.
    """
    if processes == 1 or len(files) < 2:
        with _without_automatic_collection():
            checker = _Checker(request, files)
            return [_counted(checker.check(file), done) for file in files]
    import multiprocessing  # these two only where they are needed
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor

    # Forked workers have everything imported already; elsewhere they start afresh.
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    at_once = max(1, min(_MOST_FILES_A_TASK, len(files) // (processes * 4)))
    try:
        with ProcessPoolExecutor(min(processes, len(files)), context, _start_worker, (request, files)) as pool:
            return [_counted(report, done) for report in pool.map(_check_in_worker, files, chunksize=at_once)]
    except BrokenProcessPool as error:
        raise WorkerDied("a process that checks files was killed, perhaps for want of memory: try --jobs 1") from error


def check_text(request: Request, path: Path, content: bytes) -> FileReport:
    """A report on ``content``, as if it were the content of the file at ``path``."""
    return _Checker(request, (path,)).check(path, content)


class _Checker:
    """Checks one file after another."""

    def __init__(self, request: Request, files: Sequence[Path]) -> None:
        self._request = request
        self._workspace = _workspace(request, files)

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
            source_lines(analysis, findings),
            failure,
            _target_name(analysis.model.target),
            change,
            line_count=len(analysis.snapshot.source.lines),
            problems=snapshot.problems,
        )
        if change is not None and content is None:
            self._workspace.close(path)
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


def _workspace(request: Request, files: Sequence[Path]) -> Workspace:
    folders = [path for path in request.paths if path.is_dir()]
    roots, overrides = (Path.cwd(), *folders), Overrides(request.overrides)
    return Workspace(roots, KNOWN_RULES, overrides, files=files, lines_kept=_LINES_KEPT)


def _target_name(target: JaxTarget) -> str:
    origin = {"newest known": ", the newest known", "setting": ", as set"}.get(target.origin)
    return f"JAX {target.version}{origin or f' from {target.origin}'}"


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


def _counted(report: FileReport, done: Callable[[], None]) -> FileReport:
    done()
    return report


_worker: _Checker | None = None


def _start_worker(request: Request, files: Sequence[Path]) -> None:
    global _worker
    gc.freeze()
    gc.disable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process answers for all
    _worker = _Checker(request, files)


def _check_in_worker(path: Path) -> FileReport:
    assert _worker is not None
    return _worker.check(path)
