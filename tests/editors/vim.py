"""A Vim in a terminal that is typed into and asked from outside."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from tests.editors.conftest import World, until
from tests.editors.terminal import Terminal

SETTINGS = """
set nocompatible nobackup noswapfile hidden nomore
filetype plugin on
let g:ale_lint_delay = 20
"""
HERE = "ale#engine#GetLoclist(bufnr(''))"


class Vim:
    """One running Vim with ALE and the printed snippet as its configuration.

    Args:
        program: the executable, which loads ALE.
        world: what the test has to itself.
        file: the file to open.
    """

    def __init__(self, program: str, world: World, file: Path) -> None:
        (world.home / ".vimrc").write_text(SETTINGS + world.snippet("vim"), encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.settimeout(30)
            port = listening.getsockname()[1]
            command = [program, "-i", "NONE", "-c", f"let g:test = ch_open('127.0.0.1:{port}')", str(file)]
            self.terminal = Terminal(command, file.parent, world.environment)
            self._channel, _ = listening.accept()
        self._channel.settimeout(60)
        self._answers = self._channel.makefile(encoding="utf-8")

    def value(self, expression: str) -> Any:
        """The value of an expression."""
        self._channel.sendall(json.dumps(["expr", expression, -1]).encode())
        # An answer is one line, or ends with the input when it is not.
        text = ""
        while True:
            text += self._answers.readline()
            try:
                return json.loads(text)[1]
            except ValueError:
                assert text, "Vim has closed the channel"

    def until(self, expression: str) -> Any:
        """The value of an expression as soon as it is something."""
        try:
            return until(lambda: self.value(expression), expression)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.terminal.text}") from None

    def type(self, keys: str) -> None:
        """Type ``keys``."""
        self.terminal.type(keys)

    def lines(self) -> list[str]:
        """The lines of the current buffer."""
        return list(self.value("getline(1, '$')"))

    def leave(self) -> None:
        """Quit and wait for the end."""
        self.type("\x1b:qall!\r")
        assert self.terminal.ended() == 0
        self._answers.close()
        self._channel.close()
