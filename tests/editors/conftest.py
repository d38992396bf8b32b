"""Real editors: where they are, the world in which they run, and what they must not leave behind."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, TypeVar

import psutil
import pytest

from tests.editors.sample import Sample, lay_out

PATIENCE = 40.0
"""Seconds after which a test gives up waiting."""

SERVER = Path(__file__).parents[2] / "server"
MARK = "JAXPERT_EDITOR_TEST"
"""The environment variable by which the processes of one test are found again."""

Found = TypeVar("Found")


def program(command: str, editor: str) -> str:
    """The path of ``command``, from the folder that `.ci/editors/` fills or from PATH.

    Skips the test if it is nowhere, or fails, as :func:`missing` does.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "jaxpert-editors"
    own = Path(os.environ.get("JAXPERT_EDITORS") or cache) / "bin"
    found = shutil.which(command, path=os.pathsep.join((str(own), os.environ.get("PATH", ""))))
    if found is None:
        missing(f"{command} is not installed: see .ci/editors/", editor)
    return found


def missing(reason: str, editor: str) -> NoReturn:
    """Skip the test for ``reason``, unless JAXPERT_REQUIRE_EDITORS names ``editor``: then it fails."""
    if editor in os.environ.get("JAXPERT_REQUIRE_EDITORS", "").split():
        pytest.fail(reason)
    pytest.skip(reason)


def until(found: Callable[[], Found], what: str = "") -> Found:
    """What ``found`` gives, as soon as it is something."""
    deadline = time.monotonic() + PATIENCE
    while not (value := found()):
        assert time.monotonic() < deadline, f"waited in vain for {what or found}"
        time.sleep(0.05)
    return value


@dataclass(frozen=True)
class World:
    """What one test has to itself.

    Attributes:
        place: an empty folder.
        home: the home folder of the programs in it.
        environment: the variables that programs are to be started with; jaxpert is on their PATH.
        sample: the project to open.
    """

    place: Path
    home: Path
    environment: dict[str, str]
    sample: Sample

    def snippet(self, editor: str) -> str:
        """What `jaxpert editor NAME` prints."""
        command = ["jaxpert", "editor", editor]
        path = shutil.which("jaxpert", path=self.environment["PATH"])
        assert path is not None
        return subprocess.run(command, executable=path, env=self.environment, capture_output=True, check=True).stdout.decode()

    def processes(self, command: str = "") -> list[psutil.Process]:
        """What runs in this world and has ``command`` in its command line."""
        running = []
        for process in psutil.process_iter():
            try:
                inside = process.environ().get(MARK) == self.environment[MARK]
                if inside and process.status() != psutil.STATUS_ZOMBIE and command in " ".join(process.cmdline()):
                    running.append(process)
            except psutil.Error:
                continue
        return running

    def servers(self) -> list[psutil.Process]:
        """The language servers that run."""
        return self.processes("jaxpert lsp")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A world of one's own; the test fails if anything still runs in it at the end."""
    home, commands = tmp_path / "home", tmp_path / "bin"
    home.mkdir()
    commands.mkdir()
    launcher = commands / "jaxpert"
    launcher.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m jaxpert "$@"\n')
    launcher.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "VIM", "EMACS"))}
    environment |= {
        "HOME": str(home),
        "PATH": os.pathsep.join((str(commands), os.environ["PATH"])),
        "PYTHONPATH": str(SERVER),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm-256color",
        MARK: uuid.uuid4().hex,
    }
    inside = World(tmp_path, home, environment, lay_out(tmp_path))
    try:
        yield inside
        until(lambda: not inside.processes(), "the end of all processes")
    finally:
        for process in inside.processes():
            process.kill()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give every test of a real editor a second chance: a busy machine can be slower than any patience."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=2))
