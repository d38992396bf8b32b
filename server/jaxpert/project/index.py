"""Which files of a project matter to the others: those about checkpoint names, and those that set a switch of JAX.

Reads every file of the project once, as bytes, and looks closer only at those that contain a certain word.
"""

# Thousands of paths; pathlib would cost more than the reading.
# ruff: noqa: PTH110, PTH119

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from jaxpert.project import switches
from jaxpert.project.resolver import is_inside
from jaxpert.project.switches import Switches
from jaxpert.syntax.notebook import BadNotebook, read_notebook
from jaxpert.text.decoding import (
    MAX_NOTEBOOK_BYTES,
    MAX_SOURCE_BYTES,
    UnreadableSource,
    decode_source,
    read_regular_file,
)

NAME_MARKERS = ("checkpoint_name", "_these_names", "names_but_these", "TheseNames", "NamesBut")
"""A text with none of these neither tags a value nor asks for a name."""

MAX_FILES = 20_000
"""A folder with more files than this is no project; its names count as unknown."""

_NAME_BYTES = tuple(marker.encode() for marker in NAME_MARKERS)
_SWITCH_BYTES = tuple(marker.encode() for marker in switches.MARKERS)
_FILES_A_STEP = 20
_log = logging.getLogger("jaxpert")


class _Entry(NamedTuple):
    about_names: bool
    switches: Switches


class ProjectIndex:
    """The index of one project, built file by file.

    Args:
        root: its folder; "" for files that belong to no project.
        files: lists its files.
    """

    def __init__(self, root: str, files: Callable[[], Iterable[str]]) -> None:
        self.root = root
        self.complete = False
        self.too_many = False
        self._files = files
        self._entries: dict[str, _Entry] = {}
        self._building = self._build()

    def steps(self) -> Iterator[None]:
        """Build the index, yielding now and then; several callers share one run."""
        while not self.complete:
            if next(self._building, self) is self:
                break
            yield

    def finish(self) -> None:
        """Build what is not built yet."""
        for _ in self.steps():
            pass

    def update(self, path: str) -> None:
        """The file at ``path`` was written, or removed."""
        self._entries.pop(path, None)
        if os.path.exists(path):
            self._enter(path)

    def files_about_names(self) -> list[str]:
        """The files that tag values or ask for names."""
        return [path for path, entry in self._entries.items() if entry.about_names]

    def switches(self) -> Switches:
        """What the project sets for all its files: a switch that some program of it turns on is on.

        What only tests set holds for those tests.
        """
        merged = []
        for values in zip(*(entry.switches for entry in self._entries.values())):
            merged.append(True if True in values else False if False in values else None)
        return Switches(*merged)

    def _build(self) -> Iterator[None]:
        for number, path in enumerate(self._files(), 1):
            if number > MAX_FILES:
                self.too_many = True
                _log.warning("%s: over %d files: checkpoint names are not followed across them", self.root, MAX_FILES)
                break
            self._enter(path)
            if number % _FILES_A_STEP == 0:
                yield
        self.complete = True

    def _enter(self, path: str) -> None:
        is_notebook = path.endswith(".ipynb")
        limit = MAX_NOTEBOOK_BYTES if is_notebook else MAX_SOURCE_BYTES
        try:
            data = read_regular_file(path, limit)
        except UnreadableSource:
            return
        about_names = any(marker in data for marker in _NAME_BYTES)
        sets = Switches()
        if any(marker in data for marker in _SWITCH_BYTES) and not is_test(path, self.root):
            try:
                text = decode_source(data, path).text
                sets = switches.switches_of_text(read_notebook(text).text if is_notebook else text)
            except (UnreadableSource, BadNotebook):
                pass
        if about_names or sets != Switches():
            self._entries[path] = _Entry(about_names, sets)


def is_test(path: str, root: str) -> bool:
    """Whether the file at ``path`` is a test of the project in ``root``."""
    inner = path[len(root) :] if root and is_inside(path, root) else os.path.basename(path)
    *folders, name = inner.replace(os.sep, "/").split("/")
    is_test_file = name.startswith("test_") or name.endswith("_test.py") or name == "conftest.py"
    return is_test_file or any(folder in ("test", "tests", "testing") for folder in folders)
