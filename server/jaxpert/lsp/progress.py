"""A progress bar in the editor for work that takes longer than a moment."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from jaxpert.lsp.language_server import JaxpertServer

PATIENCE = 1.0
"""Seconds of work before a bar appears."""

SPACING = 0.2
"""Seconds between two reports."""

_tokens = itertools.count(1)


class Progress:
    """One piece of work that the user may cancel. Say :meth:`step` now and then, and :meth:`end` in any case.

    Args:
        server: sends messages.
        title: what is being done.
        shown: whether the client has bars at all.

    Attributes:
        token: names the bar.
    """

    def __init__(self, server: JaxpertServer, title: str, shown: bool) -> None:
        self.token = f"jaxpert-{next(_tokens)}"
        self._server = server
        self._title = title
        self._due = time.monotonic() + PATIENCE if shown else float("inf")
        self._begun = False
        self._ended = False
        self._percentage = 0

    def step(self, message: str = "", percentage: int = 0) -> None:
        """The work goes on.

        Args:
            message: how far it is.
            percentage: the same as a number; the largest so far is shown.
        """
        self._percentage = max(self._percentage, min(percentage, 100))
        if time.monotonic() < self._due:
            return
        if self._begun:
            self._due = time.monotonic() + SPACING
            self._report(types.WorkDoneProgressReport(cancellable=True, message=message, percentage=self._percentage))
        else:
            self._due = float("inf")
            params = types.WorkDoneProgressCreateParams(self.token)
            self._server.ask(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params, lambda _: self._begin())

    def end(self) -> None:
        """The work is done, or given up."""
        self._due = float("inf")
        if self._begun and not self._ended:
            self._report(types.WorkDoneProgressEnd())
        self._ended = True

    def _begin(self) -> None:
        if not self._ended:
            self._begun = True
            self._due = time.monotonic() + SPACING
            self._report(types.WorkDoneProgressBegin(self._title, cancellable=True, percentage=self._percentage))

    def _report(
        self, value: types.WorkDoneProgressBegin | types.WorkDoneProgressReport | types.WorkDoneProgressEnd
    ) -> None:
        self._server.progress(types.ProgressParams(self.token, value))
