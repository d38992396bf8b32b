"""The reading of the client's projects, while there is nothing else to do."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from jaxpert.lsp.progress import Progress
from jaxpert.lsp.schedule import collect_when_many

if TYPE_CHECKING:
    from jaxpert.lsp.session import Session
    from jaxpert.project.index import IndexStep

LOOK_AGAIN = 10.0
"""Seconds after which we look for changed files of a client that does not watch them for us."""

LOOK_AGAIN_ANYWAY = 60.0
"""The same for one that does: clients say nothing about the files in a folder that is removed or renamed."""

_MANY_OBJECTS = 10_000  # what two or three files leave; the next one needs the memory

logger = logging.getLogger("jaxpert")


class Indexing:
    """When projects are read, until the user cancels it.

    Args:
        session: the session.
        clock: seconds of a monotonic clock.

    Attributes:
        is_running: whether there is more to read.
    """

    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic) -> None:
        self._session = session
        self._clock = clock
        self._looked = clock()
        self._may_have_changed = False
        self._is_cancelled = False
        self._is_news = False
        self._progress: Progress | None = None
        self.is_running = False

    @cached_property
    def _users_folder(self) -> Path | None:
        from jaxpert.project.index_cache import cache_folder

        return cache_folder(os.environ)

    def cache_folder(self, root: Path) -> Path | None:
        """Where what is known about the project in ``root`` is kept; None where the user does not want that."""
        folders = self._session.folders
        return self._users_folder if folders.settings(folders.folder_of(root)).cache else None

    def turned(self) -> None:
        """The user turned to another file, so that much may have happened in between."""
        self._may_have_changed = not self._session.client.watches_files

    def cancel(self, token: int | str) -> None:
        """The user cancels the work whose bar is ``token``."""
        if self._progress is not None and self._progress.token == token and not self._is_cancelled:
            self._is_cancelled = True
            self._progress.end()
            self._session.workspace.give_up_index()
            logger.info("cancelled: names in files that are not open stay unknown until one is to be renamed")

    def resume(self) -> None:
        """Somebody asks for what was not read: go on, even if it was cancelled."""
        self._is_cancelled = False
        self._session.scheduler.wake()

    def take_news(self) -> bool:
        """Whether more may be known than when this was last asked."""
        is_news, self._is_news = self._is_news, False
        return is_news

    def steps(self) -> Iterator[None]:
        """Read what is not read yet, a little with each step."""
        if self._is_cancelled:
            return
        self._look_again_in_time()
        client = self._session.client
        self._progress = Progress(self._session.server, "Looking for checkpoint names", client.progress_bars)
        try:
            for step in self._session.workspace.index():
                self._is_news |= step.is_news
                if step.is_news:  # else trees are in use that are freed by hand before the next step
                    collect_when_many(_MANY_OBJECTS)
                self._progress.step(*_told(step))
                self._set_running(True)
                yield
                if self._is_cancelled:
                    return
        finally:
            self._progress.end()
            self._set_running(False)

    def _set_running(self, is_running: bool) -> None:
        if is_running is not self.is_running:
            self.is_running = is_running
            self._session.server.status_changed()

    def _look_again_in_time(self) -> None:
        waited = self._clock() - self._looked
        if self._may_have_changed or waited > (LOOK_AGAIN_ANYWAY if self._session.client.watches_files else LOOK_AGAIN):
            self._may_have_changed = False
            self._looked = self._clock()
            self._session.workspace.look_again()


def _told(step: IndexStep) -> tuple[str, int]:
    if not step.total:
        return f"{step.done} files", 0
    return f"{step.done} of {step.total} files", 100 * step.done // step.total
