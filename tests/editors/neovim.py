"""A Neovim without a screen that is typed into and asked from outside."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.editors.conftest import World, until


class Neovim:
    """One running Neovim with the printed snippet as its configuration.

    Args:
        program: the executable.
        world: what the test has to itself.
        folder: where it is started.
        arguments: what is said to it besides, the names of files for example.
    """

    def __init__(self, program: str, world: World, folder: Path, *arguments: str) -> None:
        self.program = program
        self.environment = world.environment
        self.scratch = world.place
        self.socket = str(world.place / "nvim.sock")
        configuration = world.home / ".config" / "nvim" / "init.lua"
        configuration.parent.mkdir(parents=True)
        configuration.write_text(world.snippet("neovim"), encoding="utf-8")
        self.process = subprocess.Popen(
            [program, "--headless", "-i", "NONE", "-n", "--listen", self.socket, *arguments],
            cwd=folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(Path(self.socket).exists, "Neovim")

    def _remote(self, *arguments: str) -> str:
        command = [self.program, "--server", self.socket, *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout or done.stderr

    def lua(self, code: str) -> Any:
        """What a piece of Lua returns."""
        script = self.scratch / "asked.lua"
        body = f"return vim.fn.json_encode((function()\n{code}\nend)())"
        script.write_text(body, encoding="utf-8")
        return json.loads(self._remote("--remote-expr", f'luaeval("dofile(_A)", "{script}")'))

    def until(self, code: str) -> Any:
        """What a piece of Lua returns, as soon as it is neither nil nor false."""
        return until(lambda: self.lua(code), code)

    def type(self, keys: str) -> None:
        """Type ``keys``, in Neovim's notation."""
        self._remote("--remote-send", keys)

    def lines(self) -> list[str]:
        """The lines of the current buffer."""
        return list(self.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)"))

    def marked(self) -> list[tuple[str, str]]:
        """The code of each diagnostic of the current buffer, and the text that it marks."""
        found = self.lua("return vim.diagnostic.get(0)")
        lines = self.lines()
        return [(it["code"], _between(lines[it["lnum"]], it["col"], it["end_col"])) for it in found]

    def leave(self) -> None:
        """Quit and wait for the end."""
        # The answer to this may be lost with the editor that gives it.
        command = [self.program, "--server", self.socket, "--remote-send", "<Esc>:qall!<CR>"]
        subprocess.run(command, env=self.environment, capture_output=True, timeout=60)
        assert self.process.wait(timeout=20) == 0


def _between(line: str, start: int, end: int) -> str:
    """Neovim counts bytes."""
    return line.encode()[start:end].decode()
