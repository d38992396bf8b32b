"""Emacs with eglot, as a package of its own and built in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.editors.conftest import World, program, until
from tests.editors.emacs import DIAGNOSTICS, Emacs
from tests.editors.sample import (
    COMPLETED,
    FIXED,
    MISTAKE,
    MISTAKE_LINE,
    NAME,
    NAME_LINE,
    NEW_MISTAKE,
    NEW_NAME,
    NEW_RULE,
    RULE,
)  # fmt: skip

pytestmark = pytest.mark.emacs

HOVER = "Recompute the intermediate values of"
Start = Callable[[Path], Emacs]
DOCUMENTATION = """
(mapconcat (lambda (it) (if (string-match-p "eldoc" (buffer-name it))
                            (with-current-buffer it (buffer-substring-no-properties (point-min) (point-max))) ""))
           (buffer-list) "")"""


@pytest.fixture(params=["28", "30"])
def start(request: pytest.FixtureRequest, world: World) -> Iterator[Start]:
    """Starts the Emacs of this test."""
    running: list[Emacs] = []

    def started(file: Path) -> Emacs:
        programs = [program(f"{name}-{request.param}", "emacs") for name in ("emacs", "emacsclient")]
        running.append(Emacs(*programs, world, file))
        return running[-1]

    yield started
    for editor in running:
        editor.terminal.close()


def test_an_afternoon(start: Start, world: World) -> None:
    """From the first diagnostic to the end, as somebody works."""
    sample = world.sample
    editor = start(sample.model)
    editor.type("\x06")  # flymake starts with the first command
    [[message, marked]] = editor.until(DIAGNOSTICS)
    assert RULE in message
    assert marked == MISTAKE

    # Look at what the policy does: it is shown when the cursor rests.
    editor.type("\x13 jax.checkpoint\r")
    until(lambda: HOVER in editor.lisp(DOCUMENTATION), HOVER)

    # Take the quick fix, which is the one that is proposed.
    editor.type(f"\x13{MISTAKE[:-2]}\r")
    editor.command("eglot-code-actions")
    editor.terminal.shows("action")
    editor.type("\r")
    editor.until(f"(null {DIAGNOSTICS})")
    assert editor.lines()[MISTAKE_LINE] == FIXED

    # Make another mistake, and take it back.
    editor.type(f"\x1b>{NEW_MISTAKE}")
    [[message, _]] = editor.until(DIAGNOSTICS)
    assert NEW_RULE in message
    editor.type("\x01\x0b")
    editor.until(f"(null {DIAGNOSTICS})")

    # Complete a name that another file asks for.
    editor.type(COMPLETED)
    editor.command("completion-at-point")
    until(lambda: editor.lines()[-1].startswith(COMPLETED + NAME), NAME)
    editor.type("\x01\x0b\x18\x13")

    # Rename it in both files.
    editor.type(f"\x1b<\x13{NAME}\r\x1bb")
    editor.command("eglot-rename")
    editor.terminal.shows("Rename")
    editor.type(f"{NEW_NAME}\r")

    def renamed() -> bool:
        if "(y or n)" in editor.terminal.text:
            editor.type("y")
        return NEW_NAME in editor.lines()[NAME_LINE]

    until(renamed, "the new name")
    editor.type("\x18s!")
    until(lambda: f'"{NEW_NAME}"' in sample.train.read_text(encoding="utf-8"), "the other file")
    assert f'"{NAME}"' not in sample.model.read_text(encoding="utf-8") + sample.train.read_text(encoding="utf-8")

    # Start the server again.
    [server] = world.servers()
    editor.command("eglot-reconnect")
    server.wait(20)
    editor.type(f"\x1b>{NEW_MISTAKE}\x18\x13")
    editor.until(DIAGNOSTICS)
    assert [it.pid for it in world.servers()] != [server.pid]
    editor.leave()


def test_a_folder_that_is_a_link(start: Start, world: World) -> None:
    editor = start(world.sample.link / "model.py")
    editor.type("\x06")
    [[_, marked]] = editor.until(DIAGNOSTICS)
    assert marked == MISTAKE
    editor.leave()


def test_a_file_outside(start: Start, world: World) -> None:
    editor = start(world.sample.outside)
    editor.type("\x06")
    [[_, marked]] = editor.until(DIAGNOSTICS)
    assert marked == MISTAKE
    editor.leave()
