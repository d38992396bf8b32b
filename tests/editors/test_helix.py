"""Helix, which is only typed into and looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.editors.conftest import World, program, until
from tests.editors.sample import (
    COMPLETED,
    FIXED,
    MISTAKE,
    NAME,
    NAME_LINE,
    NEW_MISTAKE,
    NEW_NAME,
    RULE,
)  # fmt: skip
from tests.editors.terminal import Terminal

pytestmark = pytest.mark.helix

HOVER = "Recompute the intermediate values"


class Helix(Terminal):
    """A Helix with the printed snippet as its configuration; it writes what is selected to ``selection``."""

    def __init__(self, world: World, folder: Path, *arguments: str) -> None:
        configuration = world.home / ".config" / "helix" / "languages.toml"
        configuration.parent.mkdir(parents=True)
        configuration.write_text(world.snippet("helix"), encoding="utf-8")
        self._selection = world.place / "selection"
        super().__init__([program("hx", "helix"), *arguments], folder, world.environment)
        self.shows("NOR")

    def escape(self, leaving: str = " INS ") -> None:
        """Leave what shows ``leaving``. What is typed next must not seem to be a part of the escape."""
        self.type("\x1b")
        self.until(lambda: leaving not in self.text, f"the end of {leaving}")

    def write(self, text: str) -> None:
        """Write ``text`` at the end, in three steps: Helix may swap changes that come too fast."""
        self.type("geo")
        self.shows(" INS ")
        self.type(f"\x1b[200~{text[:-1]}\x1b[201~")
        self.shows(text[:-1])
        self.type(text[-1])

    def counts(self, errors: int) -> None:
        """Wait until the status line counts so many errors."""

        def counted() -> bool:
            status = self.text.split("\n")[-2]
            return f"● {errors} " in status if errors else "●" not in status

        self.until(counted, f"{errors} errors")

    def selection(self) -> str:
        """What is selected."""
        self._selection.unlink(missing_ok=True)
        self.type(f":pipe-to cat > '{self._selection}.new' && mv '{self._selection}.new' '{self._selection}'\r")
        until(self._selection.exists, "the selection")
        return self._selection.read_text(encoding="utf-8")

    def leave(self) -> None:
        """Quit and wait for the end."""
        self.type(":quit-all!\r")
        assert self.ended() == 0


Start = Callable[..., Helix]


@pytest.fixture
def start(world: World) -> Iterator[Start]:
    """Starts the Helix of this test."""
    running: list[Helix] = []

    def started(folder: Path, *arguments: str) -> Helix:
        running.append(Helix(world, folder, *arguments))
        return running[-1]

    yield started
    for editor in running:
        editor.close()


def test_an_afternoon(start: Start, world: World) -> None:
    """From the first diagnostic to the end, as somebody works."""
    sample = world.sample
    editor = start(sample.folder, "model.py")
    editor.counts(1)
    editor.type("]d")
    editor.shows(f"({RULE})")
    assert editor.selection() == MISTAKE

    # Look at what the wrapper does.
    editor.type("gg/jax.checkpoint\\(\rh k")
    editor.shows(HOVER)
    editor.escape(HOVER)

    # Take the quick fix, which is the first that is offered.
    editor.type("]d a")
    editor.shows("without calling it")
    editor.type("\r")
    editor.shows(FIXED)
    editor.counts(0)

    # Make another mistake, and take it back. Helix shows it when the typing is over.
    editor.write(NEW_MISTAKE)
    editor.shows(NEW_MISTAKE)
    editor.escape()
    editor.counts(1)
    editor.type("u")
    editor.counts(0)

    # Complete a name that another file asks for.
    editor.write(COMPLETED)
    editor.shows(f"{NAME} constant")
    editor.escape()
    editor.type("u")
    editor.until(lambda: COMPLETED not in editor.text, "no more of it")
    editor.type(":write\r")
    editor.shows("written")

    # Rename it in both files.
    editor.type(f"gg/{NAME}\r r")
    editor.shows("rename-to:")
    editor.type(f"\x15{NEW_NAME}\r")
    until(lambda: f'"{NEW_NAME}"' in editor.text.splitlines()[NAME_LINE], "the new name")
    editor.type(":write-all\r")
    until(lambda: f'"{NEW_NAME}"' in sample.train.read_text(encoding="utf-8"), "the other file")
    until(lambda: f'"{NAME}"' not in sample.model.read_text(encoding="utf-8"), "the file")

    # Start the server again.
    [server] = world.servers()
    editor.type(":lsp-restart\r")
    server.wait(20)
    editor.write(NEW_MISTAKE)
    editor.shows(NEW_MISTAKE)
    editor.escape()
    editor.counts(1)
    assert [it.pid for it in world.servers()] != [server.pid]
    editor.leave()


def test_a_folder_that_is_a_link(start: Start, world: World) -> None:
    editor = start(world.sample.link, "model.py")
    editor.counts(1)
    editor.leave()


def test_a_file_outside(start: Start, world: World) -> None:
    editor = start(world.place, str(world.sample.outside))
    editor.counts(1)
    editor.leave()
