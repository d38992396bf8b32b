"""An Emacs in a terminal that is typed into and asked from outside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.editors.conftest import World, until
from tests.editors.terminal import Terminal

# What the package manager does at the start for an eglot that is a package.
PACKAGES = '(load "eglot-autoloads" t t)\n'
TESTING = """
(setq native-comp-jit-compilation nil native-comp-deferred-compilation nil)
(setq inhibit-startup-screen t make-backup-files nil create-lockfiles nil auto-save-default nil)
(setq server-name "{name}" server-socket-dir "{folder}")
(server-start)
"""
DIAGNOSTICS = """
(mapcar (lambda (it) (vector (flymake-diagnostic-text it)
                             (buffer-substring-no-properties (flymake-diagnostic-beg it) (flymake-diagnostic-end it))))
        (flymake-diagnostics))"""


class Emacs:
    """One running Emacs with the printed snippet as its configuration.

    Args:
        program: the executable.
        client: the program that lets it evaluate Lisp.
        world: what the test has to itself.
        file: the file to open.
    """

    def __init__(self, program: str, client: str, world: World, file: Path) -> None:
        self._client = client
        self._environment = world.environment
        self._answer = world.place / "answer.json"
        self._socket = world.place / "socket"
        self._socket.mkdir(mode=0o700)
        start = world.home / ".emacs.d" / "init.el"
        start.parent.mkdir()
        own = TESTING.format(name="emacs", folder=self._socket)
        start.write_text(f"{PACKAGES}{world.snippet('emacs')}{own}", encoding="utf-8")
        self.terminal = Terminal([program, "-nw", str(file)], file.parent, world.environment)
        until((self._socket / "emacs").exists, "Emacs")

    def lisp(self, form: str) -> Any:
        """The value of a Lisp form in the buffer that the user sees."""
        code = (
            "(let ((coding-system-for-write 'utf-8) (value (with-current-buffer (window-buffer) " + form + ")))"
            f' (write-region (json-encode value) nil "{self._answer}" nil 0) t)'
        )
        command = [self._client, "--socket-name", str(self._socket / "emacs"), "--eval", code]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{self.terminal.text}"
        return json.loads(self._answer.read_text(encoding="utf-8"))

    def until(self, form: str) -> Any:
        """The value of a Lisp form as soon as it is not nil."""
        try:
            return until(lambda: self.lisp(form), form)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.terminal.text}") from None

    def type(self, keys: str) -> None:
        """Type ``keys``."""
        self.terminal.type(keys)

    def command(self, name: str) -> None:
        """Run an interactive command."""
        self.terminal.type(f"\x1bx{name}\r")

    def lines(self) -> list[str]:
        """The lines of the current buffer."""
        text: str = self.lisp("(buffer-substring-no-properties (point-min) (point-max))")
        return text.splitlines()

    def leave(self) -> None:
        """Quit and wait for the end."""
        self.type("\x18\x03")
        assert self.terminal.ended() == 0
