"""Vim with ALE.

ALE takes the columns of the protocol for bytes, so that wide characters may stand in the file, but not on the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.editors.conftest import World, program, until
from tests.editors.sample import (
    COMPLETED,
    FIXED,
    HOVER,
    HOVERED,
    MISTAKE,
    MISTAKE_LINE,
    MODEL,
    NAME,
    NAME_LINE,
    NEW_MISTAKE,
    NEW_NAME,
    NEW_RULE,
    RULE,
)  # fmt: skip
from tests.editors.vim import HERE, Vim

pytestmark = pytest.mark.vim

Start = Callable[[Path], Vim]
PREVIEW = "join(flatten(map(filter(getwininfo(), {_, it -> getwinvar(it.winid, '&previewwindow')}), "
PREVIEW += "{_, it -> getbufline(it.bufnr, 1, '$')})))"


@pytest.fixture
def start(world: World) -> Iterator[Start]:
    """Starts the Vim of this test."""
    running: list[Vim] = []

    def started(file: Path) -> Vim:
        file.write_text(_without_wide_characters_before(MODEL), encoding="utf-8")
        running.append(Vim(program("vim-ale", "vim"), world, file))
        return running[-1]

    yield started
    for editor in running:
        editor.terminal.close()


def _without_wide_characters_before(text: str) -> str:
    return text.replace('note = "🎉🎉 größe"; ', "")


def _marked(editor: Vim) -> list[tuple[str, str]]:
    lines = editor.lines()
    return [(it["code"], lines[it["lnum"] - 1][it["col"] - 1 : it["end_col"]]) for it in editor.value(HERE)]


def test_an_afternoon(start: Start, world: World) -> None:
    """From the first diagnostic to the end, as somebody works."""
    sample = world.sample
    editor = start(sample.model)
    editor.until(HERE)
    assert _marked(editor) == [(RULE, MISTAKE)]

    # Look at what the policy does.
    editor.type(f"{MISTAKE_LINE + 1}G0/{HOVERED}\r:ALEHover\r")
    until(lambda: HOVER in editor.value(PREVIEW), HOVER)
    editor.type(":pclose\r")

    # Take the first quick fix.
    editor.type(":ALECodeAction\r")
    editor.terminal.shows("Type number")
    editor.type("1\r")
    fixed = _without_wide_characters_before(FIXED)
    until(lambda: editor.lines()[MISTAKE_LINE] == fixed, "the fix")
    editor.type(":write\r")
    editor.until(f"empty({HERE})")

    # Make another mistake, and take it back.
    editor.type(f"Go{NEW_MISTAKE}\x1b")
    editor.until(HERE)
    assert [rule for rule, _ in _marked(editor)] == [NEW_RULE]
    editor.type("dd")
    editor.until(f"empty({HERE})")

    # Complete a name that another file asks for.
    editor.type(":set omnifunc=ale#completion#OmniFunc\r")
    editor.type(f"Go{COMPLETED}\x18\x0f")
    until(lambda: editor.lines()[-1] == COMPLETED + NAME, NAME)
    editor.type("\x1bdd:write\r")

    # Rename it in both files.
    editor.type(f"{NAME_LINE + 1}G0/{NAME}\r:ALERename\r")
    editor.terminal.shows("New name:")
    editor.type(f"\x15{NEW_NAME}\r")
    until(lambda: NEW_NAME in editor.lines()[NAME_LINE], "the new name")
    editor.type(":wall\r")
    until(lambda: f'"{NEW_NAME}"' in sample.train.read_text(encoding="utf-8"), "the other file")
    assert f'"{NAME}"' not in sample.model.read_text(encoding="utf-8") + sample.train.read_text(encoding="utf-8")

    # Start the server again.
    [server] = world.servers()
    editor.type(":ALEStopAllLSPs\r")
    server.wait(20)
    editor.type(f"Go{NEW_MISTAKE}\x1b")
    editor.until(HERE)
    assert [it.pid for it in world.servers()] != [server.pid]
    editor.type(":wall\r")
    editor.leave()


def test_a_folder_that_is_a_link(start: Start, world: World) -> None:
    editor = start(world.sample.link / "model.py")
    editor.until(HERE)
    assert _marked(editor) == [(RULE, MISTAKE)]
    editor.leave()


def test_a_file_outside(start: Start, world: World) -> None:
    editor = start(world.sample.outside)
    editor.until(HERE)
    assert _marked(editor) == [(RULE, MISTAKE)]
    editor.leave()
