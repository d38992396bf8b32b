"""One file of the workspace, open or on disk, and what is remembered about it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from jaxpert.model.file_model import FileModel
from jaxpert.model.names import NameFacts
from jaxpert.syntax.notebook import BadNotebook, NotebookMap, read_notebook
from jaxpert.syntax.units import SourceFile
from jaxpert.text.decoding import (
    MAX_NOTEBOOK_BYTES,
    MAX_SOURCE_BYTES,
    SourceText,
    UnreadableSource,
    read_source,
)
from jaxpert.text.digest import digest

if TYPE_CHECKING:
    from jaxpert.model.outline import OutlineEntry
    from jaxpert.project.index import ProjectIndex


class TrackedFile:
    """A file and what is known about it.

    Attributes:
        path: as it was first asked for.
        is_open: whether ``source`` is a buffer of the editor.
        opened_as: the path that the editor calls it by.
        model, outdated: its model; after a change, the model to be renewed.
        state: changes whenever what other files may have learned from this one can have.
        looked_into: for each module that was asked for, the real path of its file (None when there is none) and the
            state of that file at the time.
        is_shared: whether another file has looked into it.
        asked_for: for each module of which it was asked whether it is there, the path of its file or None.
        glanced_at: for each real path of which only that was asked, whether that file mentions rematerialization.
        bases, layout: the folders that it may import from, and when these were last found to be right.
        checked, stamped, settings: when what is known was last found to be up to date.
        environment: that of ``source`` when what is known was last forgotten.
        names: the checkpoint names in it, if known.
        names_are_old: whether something that they rest on has changed, but not the text of the file.
        names_are_whole: whether nothing was left unknown because it would have been too much work.
        outline: what somebody may look for in it by name.
        names_seen: those around it, if anybody asked its model for them.
    """

    def __init__(self, path: str, real: str) -> None:
        self.path = path
        self.real = real
        self.is_open = False
        self.opened_as = ""
        self.source: SourceFile | None = None
        self.notebook: NotebookMap | None = None
        self.on_disk: SourceText | None = None
        self.failure: UnreadableSource | None = None
        self.mentioned: bool | None = None
        self.is_shared = False
        self.model: FileModel | None = None
        self.outdated: FileModel | None = None
        self.names: NameFacts | None = None
        self.names_are_old = False
        self.names_are_whole = True
        self.outline: tuple[OutlineEntry, ...] | None = None
        self.names_seen: dict[str, NameFacts] | None = None
        self.indexed: ProjectIndex | None = None
        self.state = 0
        self.generation = 0
        self.environment = 0
        self.looked_into: dict[str, tuple[str | None, int]] = {}
        self.asked_for: dict[str, str | None] = {}
        self.glanced_at: dict[str, bool] = {}
        self.bases: tuple[str, ...] = ()
        self.layout = -1
        self.checked = -1
        self.stamped = -1
        self.settings = -1
        self.stamp: tuple[int, ...] | None = ()
        self._content: str | None = None

    def touch(self) -> None:
        """Something that facts rest on has changed."""
        self.state += 1
        self.outdate_model()
        self.names_are_old = True
        self.outline = None
        if self.source is not None:
            self.environment = self.source.environment

    def outdate_model(self) -> None:
        """The model must be renewed before it is used again."""
        if self.model is not None:
            self.outdated, self.model = self.model, None

    def forget(self) -> None:
        """The content is another one."""
        self.drop_trees()
        self.failure = None
        self.mentioned = None
        self.stamp = ()
        self.names = None
        self._content = None
        self.forget_links()

    def forget_links(self) -> None:
        """What is known rests on no other file."""
        self.looked_into.clear()
        self.asked_for.clear()
        self.glanced_at.clear()

    def drop_trees(self) -> None:
        """Keep only what is small."""
        self.source = self.notebook = self.on_disk = self.model = self.outdated = None

    def dismantle(self) -> None:
        """As :meth:`drop_trees`, but free their memory at once; what others learned from them is void."""
        self.touch()
        self.free_trees()

    def free_trees(self) -> None:
        """As :meth:`dismantle`, for a file that no other one has looked into."""
        source, models = self.source, (self.model, self.outdated)
        self.drop_trees()
        for model in models:
            if model is not None:
                model.__dict__.clear()
        if source is not None:
            source.dismantle()

    def read(self) -> SourceText:
        """The content on disk.

        Raises:
            UnreadableSource: it cannot be read.
        """
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        if self.on_disk is None:
            self._content = ""
            try:
                limit = MAX_NOTEBOOK_BYTES if self.path.endswith(".ipynb") else MAX_SOURCE_BYTES
                self.on_disk = read_source(Path(self.path), limit)
            except UnreadableSource as error:
                self.failure = error
                raise
            self._content = digest("file", self.on_disk.text)
        return self.on_disk

    def content(self) -> str:
        """What tells its text from any other; "" when it cannot be read."""
        if self.is_open and self.source is not None:
            return digest("cells" if self.notebook is not None else "file", self.source.text)
        if self._content is None:
            with contextlib.suppress(UnreadableSource):
                self.read()
            if self.source is None:
                self.on_disk = None
        return self._content or ""

    def is_saved(self) -> bool:
        """Whether the buffer of an open file says what the file on disk does, and its trees are those of the text."""
        if self.source is None or self.notebook is not None or not self.source.is_current:
            return False
        try:
            return read_source(Path(self.path)).text == self.source.text
        except UnreadableSource:
            return False

    def mentions_rematerialization(self) -> bool:
        """Whether the words stand anywhere in the text; a file that cannot be read has none."""
        if self.is_open and self.source is not None:
            return _mentions(self.source.text)
        if self.mentioned is None and self.source is not None:
            self.mentioned = _mentions(self.source.text)
        elif self.mentioned is None:
            try:
                self.mentioned = _mentions(self.read().text)
            except UnreadableSource:
                self.mentioned = False
            self.on_disk = None
        return self.mentioned

    def parse(self) -> SourceFile:
        """The buffer, or the trees of what is on disk.

        Raises:
            UnreadableSource: it cannot be read.
        """
        if self.source is None:
            text = self.read().text
            if self.path.endswith(".ipynb"):
                try:
                    self.notebook = read_notebook(text)
                except BadNotebook as error:  # its text could be read all the same
                    raise UnreadableSource(self.path, error.reason, error.line) from error
                text = self.notebook.text
            self.source = SourceFile(text)
            self.environment = self.source.environment
        return self.source


def _mentions(text: str) -> bool:
    return "remat" in text or "checkpoint" in text


def stamp_of(path: str) -> tuple[int, ...] | None:
    """What changes when the file at ``path`` does; None when there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116 (the path is a string)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
