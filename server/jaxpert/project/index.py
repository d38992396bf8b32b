"""Which files of a project matter to the others: those about checkpoint names, and those that set a switch of JAX.

Reads every file of the project once, as bytes, and looks closer only at those that contain a certain word.
"""

# Thousands of paths; pathlib would cost more than the reading.
# ruff: noqa: PTH110, PTH119

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from jaxpert.project import switches
from jaxpert.project.resolver import is_inside
from jaxpert.project.switches import Switches
from jaxpert.project.tracked_file import stamp_of
from jaxpert.syntax.notebook import BadNotebook, read_notebook
from jaxpert.text.decoding import (
    MAX_NOTEBOOK_BYTES,
    MAX_SOURCE_BYTES,
    UnreadableSource,
    decode_source,
    read_regular_file,
)

if TYPE_CHECKING:
    from jaxpert.project.kept_facts import KeptFacts

NAME_MARKERS = ("checkpoint_name", "_these_names", "names_but_these", "TheseNames", "NamesBut")
"""A text with none of these neither tags a value nor gives a name to a policy of JAX."""

CHECKPOINT_MARKERS = (
    "remat", "ad_checkpoint", "jax.checkpoint", "import checkpoint", "checkpoint_polic", "nn.checkpoint",
    "filter_checkpoint",
)  # fmt: skip
"""A text with none of these rematerializes nothing and names no policy, unless through another file that does."""

MAX_FILES = 20_000
"""A folder with more files than this is no project; its names count as unknown."""

_NAME_BYTES = tuple(marker.encode() for marker in NAME_MARKERS)
_CHECKPOINT_BYTES = tuple(marker.encode() for marker in CHECKPOINT_MARKERS)
_SWITCH_BYTES = tuple(marker.encode() for marker in switches.MARKERS)
# What a step may cost, in looks at a file that did not change.
_EFFORT_A_STEP, _LOOKING, _READING = 400, 1, 19
_IMPORTS = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([^\n#]+)", re.M)
_MOST_BESIDE = 500
_log = logging.getLogger("jaxpert")


class IndexStep(NamedTuple):
    """A bit of work on an index.

    Attributes:
        done: how many files were read, or looked at closer.
        total: of how many; 0 while that is not known.
        is_news: whether more may be known than before. If not, the step may end in the middle of a file.
    """

    done: int
    total: int = 0
    is_news: bool = True


class _Entry(NamedTuple):
    about_names: bool
    about_checkpoints: bool
    switches: Switches


class ProjectIndex:
    """The index of one project, built file by file.

    Args:
        root: its folder; "" for files that belong to no project.
        files: lists its files.

    Attributes:
        complete: whether every file was read, and is again when it changes.
        is_announced: whether somebody was told that it is complete.
        outdated: whether files may have come, gone or changed since.
        too_many: whether there are more files than we read.
        switches: what of :meth:`found_switches` counts for the files of the project.
        kept: what is known from an earlier run, once somebody looked; None where nothing is kept.
        together: of files that belong to no project, those that count as one, once somebody looked.
    """

    def __init__(self, root: str, files: Callable[[], Iterable[str]]) -> None:
        self.root = root
        self.complete = self.is_announced = False
        self.outdated = True
        self.too_many = False
        self.switches = Switches()
        self.kept: KeptFacts | None = None
        self.together: set[str] | None = None
        self._files = files
        self._stamps: dict[str, tuple[int, ...] | None] = {}
        self._entries: dict[str, _Entry] = {}
        self._building: Iterator[IndexStep] | None = None

    def steps(self) -> Iterator[IndexStep]:
        """Read what is new, yielding now and then; several callers share one run."""
        while self.outdated:
            if self._building is None:
                self._building = self._build()
            try:
                step = next(self._building, None)
            except Exception:
                self._building = None  # so that it is not taken for complete
                raise
            if step is None:
                self._building = None
                self.outdated = False
                self.complete = True
            else:
                yield step

    def finish(self) -> None:
        """Read what is new, now."""
        for _ in self.steps():
            pass

    def look_again(self) -> None:
        """Files may have come, gone or changed: the next :meth:`steps` look which."""
        self.outdated = True
        self._building = None

    def give_up(self) -> None:
        """Nobody goes on reading for now: anything may be in the files."""
        self.look_again()
        self.complete = self.is_announced = False

    def update(self, path: str) -> None:
        """The file at ``path`` was written, or removed."""
        self.together = None
        self._forget(path)
        if os.path.exists(path):
            self._enter(path, stamp_of(path))

    def holds(self, path: str) -> bool:
        """Whether the file at ``path`` was read."""
        return path in self._stamps

    def files(self) -> list[str]:
        """Every file that was read."""
        return list(self._stamps)

    def files_about_names(self) -> list[str]:
        """The files that tag values or ask for names."""
        return [path for path, entry in self._entries.items() if entry.about_names]

    def files_about_checkpoints(self) -> list[str]:
        """The files that may rematerialize something, hold a policy, or say something about names."""
        return [path for path, entry in self._entries.items() if entry.about_checkpoints]

    def found_switches(self) -> Switches:
        """What the project sets for all its files: a switch that some program of it turns on is on.

        What only tests set holds for those tests.
        """
        merged = []
        for values in zip(*(entry.switches for entry in self._entries.values())):
            merged.append(True if True in values else False if False in values else None)
        return Switches(*merged)

    def _build(self) -> Iterator[IndexStep]:
        gone = set(self._stamps) if self.root else set()  # files in no project are entered by hand
        effort, is_news, are_too_many = 0, False, False
        for number, path in enumerate(self._files(), 1):
            if number > MAX_FILES:
                are_too_many = True
                if not self.too_many:
                    _log.warning("%s: over %d files: names are not followed across them", self.root, MAX_FILES)
                break
            gone.discard(path)
            stamp = stamp_of(path)
            effort += _LOOKING
            if path not in self._stamps or self._stamps[path] != stamp:
                self._forget(path)
                self._enter(path, stamp)
                effort, is_news = effort + _READING, True
            if effort >= _EFFORT_A_STEP:
                yield IndexStep(number, is_news=is_news)
                effort = 0
        for path in gone:
            self._forget(path)
        self.too_many = are_too_many
        if self.complete and (is_news or gone):
            yield IndexStep(len(self._stamps))

    def _forget(self, path: str) -> None:
        self._entries.pop(path, None)
        self._stamps.pop(path, None)

    def _enter(self, path: str, stamp: tuple[int, ...] | None) -> None:
        is_notebook = path.endswith(".ipynb")
        limit = MAX_NOTEBOOK_BYTES if is_notebook else MAX_SOURCE_BYTES
        try:
            data = read_regular_file(path, limit)
        except UnreadableSource:
            return
        self._stamps[path] = stamp
        about_names = is_about_names(data)
        about_checkpoints = about_names or any(marker in data for marker in _CHECKPOINT_BYTES)
        sets = Switches()
        if any(marker in data for marker in _SWITCH_BYTES) and not is_test(path, self.root):
            try:
                text = decode_source(data, path).text
                sets = switches.switches_of_text(read_notebook(text).text if is_notebook else text)
            except (UnreadableSource, BadNotebook):
                pass
        if sets != Switches() and stands_alone(path, data, self.root):
            sets = Switches()
        if about_checkpoints or sets != Switches():
            self._entries[path] = _Entry(about_names, about_checkpoints, sets)


def is_about_names(data: bytes) -> bool:
    """Whether a file may tag values or ask for names; also in a policy of its own, by ``params["name"]``."""
    if any(marker in data for marker in _NAME_BYTES):
        return True
    return b"prim" in data and b"**" in data and (b'"name"' in data or b"'name'" in data)


def stands_alone(path: str, data: bytes, root: str) -> bool:
    """Whether the file at ``path`` is a program of its own: what it sets holds for no other file.

    It is when it belongs to no package, imports nothing of the project, and no file beside it imports it.
    """
    folder, name = os.path.split(path)
    if os.path.exists(os.path.join(folder, "__init__.py")):  # noqa: PTH118
        return False
    homes = {folder, root or folder, os.path.join(root or folder, "src")}  # noqa: PTH118
    words = {word.decode() for line in _IMPORTS.findall(data) for word in re.findall(rb"\w+", line)}
    for module in words - {"import", "as"}:
        if any(os.path.exists(os.path.join(home, end)) for home in homes for end in (f"{module}.py", module)):  # noqa: PTH118
            return False
    stem = re.escape(os.path.splitext(name)[0].encode())  # noqa: PTH122
    imported = re.compile(rb"^[ \t]*(?:from|import)[ \t]+(?:[\w.]+[ \t]*,[ \t]*)*" + stem + rb"\b", re.M)
    try:
        beside = sorted(it.path for it in os.scandir(folder) if it.name.endswith(".py") and it.path != path)
    except OSError:
        return True
    for other in beside[:_MOST_BESIDE]:
        try:
            if imported.search(read_regular_file(other, MAX_SOURCE_BYTES)):
                return False
        except UnreadableSource:
            continue
    return True


def is_test(path: str, root: str) -> bool:
    """Whether the file at ``path`` is a test of the project in ``root``."""
    inner = path[len(root) :] if root and is_inside(path, root) else os.path.basename(path)
    *folders, name = inner.replace(os.sep, "/").split("/")
    is_test_file = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return is_test_file or any(folder in ("test", "tests", "testing") for folder in folders)
