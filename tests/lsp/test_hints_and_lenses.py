"""Inlay hints, code lenses and hovers on policies, as different editors ask for them."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import EGLOT, NEOVIM, VSCODE, Client, Message, area, server
from tests.lsp.samples import at

pytestmark = pytest.mark.asyncio

SOURCE = """\
import functools
import jax
from jax.ad_checkpoint import checkpoint_name
from names import POLICY
# 😀
@functools.partial(jax.checkpoint, policy=POLICY, static_argnums=(1,))
def block(x, n, *, 猫="😀"):
    return checkpoint_name("😀" and x, "attn")
block(1, 2)
"""
NAMES = """\
import jax
POLICY = jax.checkpoint_policies.save_only_these_names("attn")
"""
WHOLE = area(0, 0, 100, 0)
REFRESHING: Message = {
    **VSCODE,
    "workspace": {
        **VSCODE["workspace"],
        "inlayHint": {"refreshSupport": True},
        "codeLens": {"refreshSupport": True},
    },
    "experimental": {"commands": {"commands": ["jaxpert.showPlaces", "other.command"]}},
}


async def hints(client: Client, uri: str, where: Message = WHOLE) -> list[tuple[int, int, str]]:
    """The inlay hints at a range."""
    params = {"textDocument": {"uri": uri}, "range": where}
    found: list[Any] = await client.request("textDocument/inlayHint", params) or []
    return [(it["position"]["line"], it["position"]["character"], it["label"]) for it in found]


async def lenses(client: Client, uri: str) -> list[Message]:
    """The code lenses of a document."""
    return list(await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}}) or [])


def project(folder: Path) -> None:
    """The other file, on disk."""
    (folder / "pyproject.toml").write_text("[tool.jaxpert]\n")
    (folder / "names.py").write_text(NAMES)


@pytest.mark.parametrize(("profile", "name_end"), [(VSCODE, 46), (EGLOT, 46), (NEOVIM, 48)])
async def test_hints_lenses_and_hovers_in_every_editor(tmp_path: Path, profile: Message, name_end: int) -> None:
    project(tmp_path)
    async with server(tmp_path) as client:
        capabilities = await client.initialize(profile)
        assert capabilities["inlayHintProvider"] and capabilities["codeLensProvider"]
        uri = client.open("block.py", SOURCE)
        assert await hints(client, uri) == [(5, 48, "saves: attn"), (6, 13, "static"), (7, name_end, "kept")]
        assert await hints(client, uri, area(6, 0, 7, 0)) == [(6, 13, "static")]
        shown = await lenses(client, uri)
        titles = ["rematerialized · saves: attn", "1 name, 1 kept", "1 call in this file"]
        assert [lens["command"]["title"] for lens in shown] == titles
        assert {lens["command"]["command"] for lens in shown} == {""}  # nobody but the client knows commands
        assert shown[0]["range"]["start"] == {"line": 5, "character": 1}

        policy = await client.request("textDocument/hover", at(uri, 5, 44))
        assert policy["range"] == area(5, 42, 5, 48)
        is_markdown = policy["contents"]["kind"] == "markdown"
        assert ("| `attn` | saved" if is_markdown else "attn ") in policy["contents"]["value"]
        function = await client.request("textDocument/hover", at(uri, 6, 5))
        assert "is rematerialized by" in function["contents"]["value"]
        parameter = await client.request("textDocument/hover", at(uri, 6, 13))
        assert "static" in parameter["contents"]["value"]
        assert await client.leave() == 0
        assert client.errors == b""


async def test_each_kind_is_a_setting(tmp_path: Path) -> None:
    project(tmp_path)
    async with server(tmp_path) as client:
        options = {"inlayHints": {"policy": False}, "codeLens": {"enable": False}}
        await client.initialize(EGLOT, initializationOptions=options)
        uri = client.open("block.py", SOURCE)
        assert [label for *_, label in await hints(client, uri)] == ["static", "kept"]
        assert await lenses(client, uri) == []
        settings = {"jaxpert": {"inlayHints.staticArguments": False, "inlayHints": {"checkpointNames": False}}}
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        await client.settled()
        assert [label for *_, label in await hints(client, uri)] == ["saves: attn"]


async def test_clients_are_told_when_another_file_changes_what_is_shown(tmp_path: Path) -> None:
    project(tmp_path)
    async with server(tmp_path) as client:
        await client.initialize(REFRESHING)
        uri = client.open("block.py", SOURCE)
        other = client.open("names.py", NAMES)
        shown = await lenses(client, uri)
        assert {lens["command"]["command"] for lens in shown} == {"jaxpert.showPlaces"}
        own, start, places = shown[0]["command"]["arguments"]
        assert (own, start, [place["uri"] for place in places]) == (uri, {"line": 5, "character": 1}, [uri])

        def refreshed() -> int:
            return sum(method == "workspace/inlayHint/refresh" for method, _ in client.asked)

        before = refreshed()
        client.change(other, 2, NAMES.replace('"attn"', '"mlp"'))
        await client.until(lambda: refreshed() > before)
        assert [label for *_, label in await hints(client, uri)] == ["saves: mlp", "static", "recomputed"]
        client.change(uri, 2, SOURCE.replace('"attn"', '"mlp"'))  # its own edit: the client asks by itself
        client.change(other, 3, NAMES.replace('"attn"', '"mlp"') + "# nothing new\n")
        assert [label for *_, label in await hints(client, uri)] == ["saves: mlp", "static", "kept"]
        after = refreshed()
        await asyncio.sleep(0.8)
        assert refreshed() == after
        assert ("workspace/codeLens/refresh", None) in client.asked


async def test_notebook_cells_have_their_own_hints(tmp_path: Path) -> None:
    notebook = "file:///n/a.ipynb"
    cells = [f"vscode-notebook-cell:/n/a.ipynb#{number}" for number in range(2)]
    head, _, rest = SOURCE.replace("from names import POLICY", NAMES).partition("# 😀\n")
    texts = [head, rest]
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        documents = [
            {"uri": uri, "languageId": "python", "version": 1, "text": text} for uri, text in zip(cells, texts)
        ]
        opened = {"uri": notebook, "notebookType": "jupyter-notebook", "version": 1}
        opened["cells"] = [{"kind": 2, "document": uri} for uri in cells]
        client.notify("notebookDocument/didOpen", {"notebookDocument": opened, "cellTextDocuments": documents})
        assert await hints(client, cells[0]) == []
        assert await hints(client, cells[1]) == [(0, 48, "saves: attn"), (1, 13, "static"), (2, 46, "kept")]
        assert await lenses(client, cells[0]) == []
        assert (await lenses(client, cells[1]))[0]["range"]["start"] == {"line": 0, "character": 1}
