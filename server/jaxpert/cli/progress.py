"""A progress bar on standard error, for somebody who waits."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from jaxpert.cli.terminal import console_for

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE = 1.0  # seconds before a run counts as long
_INTERVAL = 0.1


class ProgressBar:
    """Shows how many of ``total`` files are done, once a run has lasted a second and only on a terminal.

    Drawn from :meth:`advance` alone: no thread of its own, which a fork would not survive.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._next = time.monotonic() + _PATIENCE if sys.stderr.isatty() else float("inf")
        self._shown: tuple[Progress, TaskID] | None = None

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()

    def advance(self) -> None:
        """One more file is done."""
        self._done += 1
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _INTERVAL
        progress, task = self._shown or self._start()
        progress.update(task, completed=self._done, refresh=True)

    def _start(self) -> tuple[Progress, TaskID]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("Checking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        progress = Progress(*columns, console=console_for(sys.stderr), auto_refresh=False, transient=True)
        progress.start()
        self._shown = progress, progress.add_task("", total=self._total)
        return self._shown
