"""Which files a command about some paths means."""

# pathlib would cost several times as much as the walk itself.
# ruff: noqa: PTH100, PTH110, PTH118, PTH120
from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jaxpert.project.config import Options
from jaxpert.project.config_file import CONFIG_FILES
from jaxpert.project.reading import LARGEST
from jaxpert.text.decoding import UnreadableSource, read_regular_file

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

SUFFIXES = (".py", ".pyi", ".ipynb")
"""Names of what is looked for end with one of these."""

NEVER_ENTERED = frozenset(
    (
        *(".git", ".hg", ".svn", ".bzr", ".jj"),
        *(".venv", "venv", ".direnv", ".pyenv", "site-packages", "dist-packages", "node_modules", "__pypackages__"),
        *("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".pytype", ".hypothesis", ".cache"),
        *(".tox", ".nox", ".eggs", ".pants.d", "buck-out", "build", "dist", "_build", ".ipynb_checkpoints", ".vscode"),
    )
)
"""Names of folders that hold other people's or generated code."""

_ENVIRONMENT_MARKERS = ("pyvenv.cfg", "conda-meta")
_log = logging.getLogger("jaxpert")


class _Patterns(NamedTuple):
    """The lines of a ``.gitignore``, which speak about the folder ``base``."""

    base: str
    spec: GitIgnoreSpec

    def verdict(self, path: str) -> bool | None:
        """Whether ``path`` (ending with "/" for a folder) is ignored; None when no line is about it."""
        return self.spec.check_file(path[len(self.base) :].lstrip(os.sep)).include


def find_files(paths: Iterable[Path], options_for: Callable[[Path], Options]) -> Iterator[Path]:
    """The Python files and notebooks that ``paths`` mean, each once, in order of name.

    A file named is always among them, also when it does not exist (reading it will tell). In folders, what
    ``.gitignore`` or the ``exclude`` option leaves out is left out; that says nothing about a folder that is itself
    named. Symbolic links to folders are not followed.

    Args:
        options_for: the options of a folder; asked for each named folder, and for each below it that holds a
            configuration file.
    """
    seen: set[str] = set()
    for path in paths:
        for file, real in _walk(path, options_for) if path.is_dir() else [(path, os.path.realpath(path))]:
            if real not in seen:
                seen.add(real)
                yield file


def is_environment(folder: str) -> bool:
    """Whether ``folder`` is a virtual or conda environment."""
    return any(os.path.exists(os.path.join(folder, marker)) for marker in _ENVIRONMENT_MARKERS)


def _walk(top: Path, options_for: Callable[[Path], Options]) -> Iterator[tuple[Path, str]]:
    """Each file below ``top``, as a path that starts with ``top`` and as its real path."""
    start, real_start = os.path.abspath(top), os.path.realpath(top)
    patterns = _patterns_above(start)
    if _ignored(patterns, start + os.sep):
        patterns = []
    excluded = _excluded(options_for(top))
    if excluded and excluded.verdict(start + os.sep):
        excluded = None
    # A stack: hostile trees are deeper than Python can call. Files lie on it too, to come in the order of names.
    waiting = [_Waiting(start, top, True, False, patterns, excluded)]
    while waiting:
        at = waiting.pop()
        if not at.is_folder:
            yield at.shown, os.path.realpath(at.path) if at.is_link else real_start + at.path[len(start) :]
            continue
        entries = _entries(at.path)
        names = {entry.name for entry in entries}
        patterns, excluded = at.patterns, at.excluded
        if at.path != start:
            if not names.isdisjoint(_ENVIRONMENT_MARKERS):
                continue
            if not names.isdisjoint(CONFIG_FILES):
                excluded = _excluded(options_for(at.shown))
        if ".gitignore" in names and (own := _patterns_in(os.path.join(at.path, ".gitignore"), at.path)):
            patterns = [*patterns, own]
        for entry in reversed(entries):
            is_folder = _is(entry, entry.is_dir, follow_symlinks=False)
            if is_folder:
                if entry.name in NEVER_ENTERED:
                    continue
            elif not entry.name.endswith(SUFFIXES) or not _is(entry, entry.is_file, follow_symlinks=True):
                continue
            path = entry.path + os.sep if is_folder else entry.path
            if not _ignored(patterns, path) and not (excluded and excluded.verdict(path)):
                shown = at.shown / entry.name
                waiting.append(_Waiting(entry.path, shown, is_folder, entry.is_symlink(), patterns, excluded))


class _Waiting(NamedTuple):
    """A file or folder that is still to be visited, with the patterns that hold there."""

    path: str
    shown: Path
    is_folder: bool
    is_link: bool
    patterns: list[_Patterns]
    excluded: _Patterns | None


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        _log.warning("%s: not looked into: %s", folder, (error.strerror or str(error)).lower())
        return []


def _is(entry: os.DirEntry[str], test: Callable[..., bool], follow_symlinks: bool) -> bool:
    try:
        return test(follow_symlinks=follow_symlinks)
    except OSError:  # a link that leads to itself
        return False


def _ignored(patterns: list[_Patterns], path: str) -> bool:
    for each in reversed(patterns):  # the innermost file that says anything decides
        if (verdict := each.verdict(path)) is not None:
            return verdict
    return False


def _excluded(options: Options) -> _Patterns | None:
    base = os.path.abspath(options.root)
    return _Patterns(base, _spec(options.exclude)) if options.exclude else None


def _patterns_above(folder: str) -> list[_Patterns]:
    """The ``.gitignore`` files that hold in ``folder`` and lie above it, in the repository that it belongs to."""
    parents = [folder]
    while not os.path.exists(os.path.join(parents[-1], ".git")):
        parent = os.path.dirname(parents[-1])
        if parent == parents[-1]:
            return []
        parents.append(parent)
    root = parents[-1]
    found = [_patterns_in(os.path.join(root, ".git", "info", "exclude"), root)]
    found += [_patterns_in(os.path.join(parent, ".gitignore"), parent) for parent in reversed(parents[1:])]
    return [patterns for patterns in found if patterns]


def _patterns_in(file: str, base: str) -> _Patterns | None:
    try:
        text = read_regular_file(file, LARGEST).decode("utf-8-sig", "surrogateescape")
    except UnreadableSource:
        return None
    lines = tuple(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return _Patterns(base, _spec(lines)) if lines else None


@lru_cache(maxsize=64)
def _spec(lines: tuple[str, ...]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # slow to import, and not needed where nothing is ignored

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:  # git itself passes over lines that are no pattern
        return GitIgnoreSpec.from_lines(line for line in lines if _is_pattern(line))


def _is_pattern(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
