"""What goes out through a descriptor, without waiting for a client that reads late."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections import deque
from collections.abc import Callable

DEAF_FOR = 3.0
"""Seconds in which a client that has closed our input reads nothing of our output before we take it for gone."""

MOST_WAITING = 1 << 25
"""Bytes that may wait for the client to read; whoever writes more waits too."""

_FITS = 512
"""Bytes that a pipe takes at once when it takes any: the least PIPE_BUF that POSIX allows. macOS has no more."""


class DescriptorWriter:
    """Writes whole messages to a file descriptor, in order.

    What the client can take at once is written at once. The rest waits for it in a thread, so that a client which does
    not read for a while holds up nothing else.

    Attributes:
        when_broken: called once, from any thread, when the client has closed its end.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[memoryview] = deque()
        self._size = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._stuck_since: float | None = None
        self._is_broken = False
        self._fits = 4096 if sys.platform == "linux" else _FITS
        self._poll = None
        if sys.platform != "win32":
            self._poll = select.poll()
            self._poll.register(descriptor, select.POLLOUT)
        self.when_broken: Callable[[], None] = lambda: None

    def write(self, data: bytes) -> None:
        """Write all of ``data``, now or later; what a client that is gone does not read is dropped."""
        rest = memoryview(data)
        with self._changed:
            if self._poll is not None and not self._waiting:
                while rest and not self._is_broken and self._poll.poll(0):
                    rest = rest[self._written(rest[: self._fits]) :]
            if self._poll is None:  # it cannot be known whether a write would wait
                while rest and not self._is_broken:
                    rest = rest[self._written(rest) :]
            if rest and not self._is_broken:
                self._hand_over(rest)

    def _hand_over(self, rest: memoryview) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._write_waiting, name="jaxpert-output", daemon=True)
            self._thread.start()
        self._waiting.append(rest)
        self._size += len(rest)
        self._changed.notify_all()
        if self._size > MOST_WAITING:
            self._stuck_since = time.monotonic()
            self._changed.wait_for(lambda: self._size <= MOST_WAITING)
            self._stuck_since = None

    def _written(self, part: memoryview) -> int:
        """How much of ``part`` was written."""
        try:
            return os.write(self._descriptor, part)
        except OSError:
            self._break()
            return len(part)

    def _break(self) -> None:
        with self._changed:
            if self._is_broken:
                return
            self._is_broken = True
            self._waiting.clear()
            self._size = 0
            self._changed.notify_all()
        self.when_broken()

    def _write_waiting(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting)
                rest = self._waiting[0]  # stays the first until it is out, so that nothing overtakes it
            size = len(rest)
            while rest and not self._is_broken:
                rest = rest[self._written(rest) :]
                with self._changed:
                    if self._stuck_since is not None:
                        self._stuck_since = time.monotonic()
            with self._changed:
                if not self._is_broken:
                    self._waiting.popleft()
                    self._size -= size
                self._changed.notify_all()

    def is_holding_up(self, seconds: float) -> bool:
        """Whether :meth:`write` has waited so long without the client reading anything."""
        since = self._stuck_since
        return since is not None and time.monotonic() - since > seconds

    def flush(self, seconds: float) -> None:
        """Wait, not much longer than that, until the client has read what is waiting."""
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting, seconds)

    def close(self) -> None:
        """Nothing to do: the descriptor lives as long as the process."""
