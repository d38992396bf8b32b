"""A progress bar in the editor for work that takes longer than a moment."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from jaxpert.lsp.language_server import JaxpertServer

PATIENCE = 0.5
"""Seconds of work before a bar appears."""

_tokens = itertools.count(1)


class Progress:
    """One piece of work. Say :meth:`step` now and then, and :meth:`end` in any case.

    Args:
        server: sends messages.
        title: what is being done.
        shown: whether the client has bars at all.
    """

    def __init__(self, server: JaxpertServer, title: str, shown: bool) -> None:
        self._server = server
        self._title = title
        self._due = time.monotonic() + PATIENCE if shown else float("inf")
        self._token = f"jaxpert-{next(_tokens)}"
        self._begun = False
        self._ended = False

    def step(self) -> None:
        """The work goes on."""
        if time.monotonic() >= self._due:
            self._due = float("inf")
            params = types.WorkDoneProgressCreateParams(self._token)
            self._server.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, lambda _: self._begin())

    def end(self) -> None:
        """The work is done, or given up."""
        self._due = float("inf")
        self._ended = True
        if self._begun:
            self._report(types.WorkDoneProgressEnd())

    def _begin(self) -> None:
        if not self._ended:
            self._begun = True
            self._report(types.WorkDoneProgressBegin(self._title))

    def _report(self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressEnd) -> None:
        self._server.progress(types.ProgressParams(self._token, value))
