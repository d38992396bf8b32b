"""A terminal that a program runs in and a test reads."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Callable
from pathlib import Path

import pyte

from tests.editors.conftest import until


class _Screen(pyte.Screen):
    """A screen whose answers to a program's questions reach the program."""

    terminal: Terminal | None = None

    def write_process_input(self, data: str) -> None:
        if self.terminal is not None:
            self.terminal.type(data)

    def report_device_attributes(self, mode: int = 0, **options: bool) -> None:
        # Programs ask for the secondary ones as well; the library would answer those wrongly.
        if not options.get("private"):
            super().report_device_attributes(mode)


    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        # The private ones are about the keyboard.
        if not private:
            super().select_graphic_rendition(*attributes)


class Terminal:
    """A program in a terminal of its own.

    Args:
        command: what is started.
        folder: where it is started.
        environment: its environment variables.
    """

    ROWS, COLUMNS = 40, 160

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._keyboard, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", self.ROWS, self.COLUMNS, 0, 0))
        self._screen = _Screen(self.COLUMNS, self.ROWS)
        self._screen.terminal = self
        self._lock = threading.Lock()
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(inside)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        stream = pyte.ByteStream(self._screen)
        with contextlib.suppress(OSError):  # that is how a terminal says that its program has ended
            while data := os.read(self._keyboard, 1 << 16):
                with self._lock:
                    stream.feed(data)

    def type(self, keys: str) -> None:
        """Type ``keys``; control characters are written as they are."""
        os.write(self._keyboard, keys.encode())

    @property
    def text(self) -> str:
        """What the screen shows."""
        with self._lock:
            return "\n".join(line.rstrip() for line in self._screen.display)

    def shows(self, text: str) -> None:
        """Wait until the screen shows ``text``."""
        self.until(lambda: text in self.text, text)

    def until(self, found: Callable[[], bool], what: str) -> None:
        """Wait until ``found``; if that never happens, show the screen."""
        try:
            until(found, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text}") from None

    def ended(self) -> int:
        """Wait for the end of the program; returns its exit code."""
        try:
            return self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running\n{self.text}") from None

    def close(self) -> None:
        """End the program if it still runs."""
        self.process.kill()
        self.process.wait()
        self._reader.join(timeout=5)
        os.close(self._keyboard)
