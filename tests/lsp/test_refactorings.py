"""Refactorings through the protocol: asked for, not pressed on anybody; resolved late; refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import EGLOT, NEOVIM, VSCODE, Client, Message, area, server
from tests.lsp.samples import actions_at, applied, edits_of

pytestmark = pytest.mark.asyncio

FLAG = """\
import jax
import jax.numpy as jnp

def block(x, train):
    return jnp.sin(x) if train else x

block(jnp.ones(3), True)
"""
WRAPPED = FLAG.replace("def block", "@functools.partial(jax.checkpoint, static_argnums=(1,))\ndef block").replace(
    "import jax\n", "import functools\n\nimport jax\n", 1
)
HEADER = area(3, 4, 3, 4)


async def refactorings(client: Client, uri: str, where: Message, only: str = "refactor", **context: Any) -> list[Message]:
    """The refactorings at a range."""
    return await actions_at(client, uri, where, only=[only], **context)


@pytest.mark.parametrize("profile", [EGLOT, VSCODE, NEOVIM], ids=["eglot", "vscode", "neovim"])
async def test_a_refactoring_comes_inline_or_resolved(tmp_path: Path, profile: Message) -> None:
    async with server(tmp_path) as client:
        capabilities = await client.initialize(profile)
        assert {"refactor.rewrite", "refactor.extract"} <= set(capabilities["codeActionProvider"]["codeActionKinds"])
        uri = client.open("block.py", FLAG)
        (action,) = await refactorings(client, uri, HEADER)
        assert action["kind"] == "refactor.rewrite" and "`block`" in action["title"]
        assert ("edit" in action) == (profile is EGLOT)
        if profile is not EGLOT:
            action = await client.request("codeAction/resolve", action)
        assert applied(FLAG, edits_of(action, uri)) == WRAPPED


async def test_they_are_offered_when_somebody_asks(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uri = client.open("block.py", FLAG)
        assert len(await actions_at(client, uri, HEADER, triggerKind=1)) == 1
        assert await actions_at(client, uri, HEADER, triggerKind=2) == []  # the cursor moved
        for only, count in (("refactor.rewrite", 1), ("refactor.extract", 0), ("quickfix", 0), ("source", 0)):
            assert len(await refactorings(client, uri, HEADER, only)) == count
        client.change(uri, 2, ((3, 4, 3, 9), "block(("))
        assert await refactorings(client, uri, HEADER) == []


@pytest.mark.parametrize("profile", [EGLOT, VSCODE], ids=["eglot", "vscode"])
async def test_what_would_change_the_program_is_refused_with_the_reason(tmp_path: Path, profile: Message) -> None:
    async with server(tmp_path) as client:
        await client.initialize(profile)
        uri = client.open("block.py", FLAG.replace("True)", "train=True)"))
        offered = await refactorings(client, uri, HEADER)
        if profile is EGLOT:  # it would have to come with its edit
            assert offered == []
            return
        answer = await client.answer("codeAction/resolve", offered[0])
        assert "passed by keyword" in answer["error"]["message"]


async def test_a_name_is_new_in_all_open_files_and_columns_are_the_clients(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        tag = "from jax.ad_checkpoint import checkpoint_name\n"
        client.open("other.py", tag + "h = checkpoint_name(x, 'h')\n")
        text = tag + "def block(x, w):\n    h = ('😀', x @ w)[1]\n    return h\n"
        uri = client.open("block.py", text)
        offered = await refactorings(client, uri, area(2, 15, 2, 20))  # an emoji is two units wide
        (action,) = offered
        (first, second) = edits_of(action, uri)
        assert first == {"range": area(2, 15, 2, 15), "newText": "checkpoint_name("}
        assert second == {"range": area(2, 20, 2, 20), "newText": ', "block_h")'}


async def test_the_import_goes_into_the_cell_with_the_imports(tmp_path: Path) -> None:
    cells = ["import jax.numpy as jnp\n", "%time 1\ndef block(x):\n    return jnp.sin(x)\n"]
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uris = [f"vscode-notebook-cell:///n.ipynb#{number}" for number in range(len(cells))]
        notebook = {
            "uri": (tmp_path / "n.ipynb").as_uri(),
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 2, "document": uri} for uri in uris],
        }
        documents = [
            {"uri": uri, "languageId": "python", "version": 1, "text": text} for uri, text in zip(uris, cells)
        ]
        client.notify("notebookDocument/didOpen", {"notebookDocument": notebook, "cellTextDocuments": documents})
        (action,) = await refactorings(client, uris[1], area(1, 4, 1, 4))
        action = await client.request("codeAction/resolve", action)
        assert [applied(text, edits_of(action, uri)) for uri, text in zip(uris, cells)] == [
            "import jax\nimport jax.numpy as jnp\n",
            "%time 1\n@jax.checkpoint\ndef block(x):\n    return jnp.sin(x)\n",
        ]
