"""Neovim, the newest way to configure it and the oldest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.editors.conftest import World, program, until
from tests.editors.neovim import Neovim
from tests.editors.sample import (
    COMPLETED,
    FIXED,
    HOVER,
    HOVERED,
    MISTAKE,
    MISTAKE_LINE,
    NAME,
    NAME_LINE,
    NEW_MISTAKE,
    NEW_NAME,
    NEW_RULE,
    RULE,
)  # fmt: skip

pytestmark = pytest.mark.neovim

Start = Callable[..., Neovim]
FLOAT = """
for _, window in ipairs(vim.api.nvim_list_wins()) do
  if vim.api.nvim_win_get_config(window).relative ~= '' then
    return table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\\n')
  end
end
return false"""


@pytest.fixture(params=["nvim-0.11", "nvim-0.10"])
def start(request: pytest.FixtureRequest, world: World) -> Iterator[Start]:
    """Starts the Neovim of this test."""
    running: list[Neovim] = []

    def started(folder: Path, *arguments: str) -> Neovim:
        running.append(Neovim(program(request.param, "neovim"), world, folder, *arguments))
        return running[-1]

    yield started
    for editor in running:
        editor.process.kill()
        editor.process.wait()


def test_an_afternoon(start: Start, world: World) -> None:
    """From the first diagnostic to the end, as somebody works."""
    sample = world.sample
    editor = start(sample.folder, "model.py")
    editor.until("return #vim.diagnostic.get(0) > 0")
    assert editor.marked() == [(RULE, MISTAKE)]

    # Look at what the policy does.
    editor.type(f"{MISTAKE_LINE + 1}G0/{HOVERED}<CR>:lua vim.lsp.buf.hover()<CR>")
    assert HOVER in editor.until(FLOAT)

    # Take the quick fix.
    editor.type("<Esc>:lua vim.lsp.buf.code_action({apply = true, context = {only = {'quickfix'}}, "
                "filter = function(it) return it.isPreferred end})<CR>")  # fmt: skip
    editor.until("return #vim.diagnostic.get(0) == 0")
    assert editor.lines()[MISTAKE_LINE] == FIXED

    # Make another mistake, and take it back.
    editor.type(f"Go{NEW_MISTAKE.replace('<', '<lt>')}")
    editor.until("return #vim.diagnostic.get(0) > 0")
    assert [code for code, _ in editor.marked()] == [NEW_RULE]
    editor.type("<Esc>dd")
    editor.until("return #vim.diagnostic.get(0) == 0")

    # Complete a name that another file asks for.
    editor.type(f"Go{COMPLETED}<C-x><C-o>")
    offered = editor.until("return vim.fn.complete_info().items")
    assert NAME in {item["word"] for item in offered}
    editor.type("<C-e><Esc>dd:write<CR>")

    # Rename it in both files.
    editor.type(f"{NAME_LINE + 1}G0/{NAME}<CR>:lua vim.lsp.buf.rename('{NEW_NAME}')<CR>")
    editor.until(f"return vim.fn.search('\"{NEW_NAME}\"', 'nw') == {NAME_LINE + 1}")
    editor.type(":wall<CR>")
    until(lambda: f'"{NEW_NAME}"' in sample.train.read_text(encoding="utf-8"), "the other file")
    assert f'"{NAME}"' not in sample.model.read_text(encoding="utf-8") + sample.train.read_text(encoding="utf-8")

    # Start the server again.
    [server] = world.servers()
    editor.type(f"Go{NEW_MISTAKE}<Esc>:lua vim.lsp.stop_client(vim.lsp.get_active_clients())<CR>")
    server.wait(20)
    editor.type(":write<CR>:edit<CR>")
    editor.until("return #vim.diagnostic.get(0) > 0")
    assert [it.pid for it in world.servers()] != [server.pid]
    editor.leave()


def test_a_folder_that_is_a_link(start: Start, world: World) -> None:
    editor = start(world.sample.link, "model.py")
    editor.until("return #vim.diagnostic.get(0) > 0")
    assert editor.marked() == [(RULE, MISTAKE)]
    editor.leave()


def test_a_file_outside_and_a_buffer_without_a_name(start: Start, world: World) -> None:
    editor = start(world.place, str(world.sample.outside))
    editor.until("return #vim.diagnostic.get(0) > 0")
    assert editor.marked() == [(RULE, MISTAKE)]
    # Neovim shows the diagnostics of a buffer without a name nowhere, but everything else works there.
    editor.type(f":enew<CR>:setfiletype python<CR>iimport jax<CR>layer = len<CR>{NEW_MISTAKE}<Esc>0/save_only<CR>")
    editor.type(":lua vim.lsp.buf.hover()<CR>")
    assert NEW_RULE in editor.until(FLOAT)
    assert len(world.servers()) == 1
    editor.leave()
