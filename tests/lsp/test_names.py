"""Checkpoint names as different editors ask for them: completion, definitions, references, rename, symbols."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from jaxpert.text.columns import Encoding, encode_column
from tests.lsp.client import EGLOT, NEOVIM, VSCODE, Client, Message, area, server
from tests.lsp.samples import at

pytestmark = pytest.mark.asyncio

BLOCK = """\
from jax.ad_checkpoint import checkpoint_name
def block(x):
    ü = checkpoint_name(x, "é_😀"); x = checkpoint_name(ü, "attn_out")
    return x
"""
TRAIN = """\
import jax
from block import block
policy = jax.checkpoint_policies.save_only_these_names("é_😀", "attn_out")
f = jax.checkpoint(block, policy=policy)
"""
NOTEBOOK = json.dumps({"cells": [{"cell_type": "code", "source": ["import jax\n", TRAIN.split("\n")[2]]}]}, indent=1)
PREPARES = {"rename": {"prepareSupport": True}}
RICH = {
    **PREPARES,
    "definition": {"linkSupport": True},
    "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
    "completion": {"completionItem": {"documentationFormat": ["markdown"], "snippetSupport": True}},
}


def profile(base: Message, more: Message) -> Message:
    return {**base, "textDocument": {**base["textDocument"], **more}}


PROFILES: dict[str, tuple[Message, Encoding]] = {
    "vscode": (profile(VSCODE, RICH), "utf-16"),
    "neovim": (profile(NEOVIM, PREPARES), "utf-8"),
    "eglot": (EGLOT, "utf-16"),
    "utf-32": ({**EGLOT, "general": {"positionEncodings": ["utf-32"]}}, "utf-32"),
}


def place(text: str, word: str, encoding: Encoding, number: int = 0, end: bool = False) -> tuple[int, int]:
    """Line and column of a word that stands in ``text``, in the client's unit."""
    lines = [number for number, line in enumerate(text.split("\n")) if word in line]
    line = text.split("\n")[lines[number]]
    return lines[number], encode_column(line, line.index(word) + (len(word) if end else 0), encoding)


def word_area(text: str, word: str, encoding: Encoding) -> Message:
    (line, start), (_, end) = place(text, word, encoding), place(text, word, encoding, end=True)
    return area(line, start, line, end)


async def indexed(client: Client, uri: str, text: str, encoding: Encoding = "utf-16") -> None:
    """Wait until the project is read: until then no name is renamed."""
    for _ in range(1_000):
        where = at(uri, *place(text, "attn_out", encoding))
        answer = await client.answer("textDocument/rename", {**where, "newName": "other"})
        if "error" not in answer and answer["result"]:
            return
        await asyncio.sleep(0.02)  # idle work has to find a moment
    raise AssertionError(answer)


@pytest.mark.parametrize("name", PROFILES)
async def test_names_in_every_editor(tmp_path: Path, name: str) -> None:
    capabilities, encoding = PROFILES[name]
    rich = name == "vscode"
    block = tmp_path / "block.py"
    block.write_text(BLOCK, encoding="utf-8")
    async with server(tmp_path) as client:
        offered = await client.initialize(capabilities)
        prepares = "rename" in capabilities["textDocument"]
        assert offered["renameProvider"] == ({"prepareProvider": True} if prepares else True)
        uri = client.open("train.py", TRAIN)
        await indexed(client, uri, TRAIN, encoding)

        for word in ("attn_out", "é_😀"):
            here = at(uri, *place(TRAIN, word, encoding))
            (found,) = await client.request("textDocument/definition", here)
            if rich:
                assert found["originSelectionRange"] == word_area(TRAIN, word, encoding)
                found = {"uri": found["targetUri"], "range": found["targetSelectionRange"]}
            tag = {"uri": block.as_uri(), "range": word_area(BLOCK, word, encoding)}
            use = {"uri": uri, "range": word_area(TRAIN, word, encoding)}
            assert found == tag
            for declarations, expected in ((True, [use, tag]), (False, [use])):
                context = {"includeDeclaration": declarations}
                assert await client.request("textDocument/references", {**here, "context": context}) == expected
            highlights = await client.request("textDocument/documentHighlight", here)
            assert highlights == [{"range": use["range"], "kind": 2}]
            if prepares:
                prepared = await client.request("textDocument/prepareRename", here)
                assert prepared == {"range": use["range"], "placeholder": word}
            edit = await client.request("textDocument/rename", {**here, "newName": "new"})
            expected_edits = {place["uri"]: [{"range": place["range"], "newText": "new"}] for place in (tag, use)}
            if "documentChanges" in edit:
                versions = {change["textDocument"]["uri"]: change["textDocument"]["version"] for change in edit["documentChanges"]}
                assert versions == {uri: 1, block.as_uri(): None}
                assert {it["textDocument"]["uri"]: it["edits"] for it in edit["documentChanges"]} == expected_edits
            else:
                assert edit["changes"] == expected_edits

        refused = await client.answer("textDocument/rename", {**here, "newName": "attn_out"})
        assert refused["error"]["code"] == -32803
        assert "named \"attn_out\" already" in refused["error"]["message"]

        completed = await client.request("textDocument/completion", here)
        assert [item["label"] for item in completed["items"]] == ["attn_out", "é_😀"]
        assert completed["items"][1]["textEdit"]["range"] == word_area(TRAIN, "é_😀", encoding)
        assert completed["items"][1]["detail"] == "tagged at block.py:3"

        symbols = await client.request("textDocument/documentSymbol", {"textDocument": {"uri": uri}})
        assert [symbol["name"] for symbol in symbols] == ["policy"]
        assert ("selectionRange" in symbols[0]) == rich
        everything = await client.request("workspace/symbol", {"query": ""})
        assert {symbol["name"] for symbol in everything} == {"policy", "block", "attn_out", "é_😀"}
        named = next(symbol for symbol in everything if symbol["name"] == "é_😀")
        assert named["location"] == {"uri": block.as_uri(), "range": word_area(BLOCK, "é_😀", encoding)}
        assert not [line for line in client.logged if "failed" in line]


async def test_unsaved_files_and_broken_lines(tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text("nothing = 1\n")
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        block = client.open("block.py", BLOCK)
        uri = client.open("train.py", TRAIN)
        await indexed(client, uri, TRAIN)
        client.change(block, 2, ((0, 0, 0, 0), "\n\n"))
        here = at(uri, *place(TRAIN, "attn_out", "utf-16"))
        (tag,) = await client.request("textDocument/definition", here)
        assert tag["uri"] == block and tag["range"]["start"]["line"] == 4
        edit = await client.request("textDocument/rename", {**here, "newName": "new"})
        versions = {change["textDocument"]["uri"]: change["textDocument"]["version"] for change in edit["documentChanges"]}
        assert versions == {uri: 1, block: 2}

        typed = 'policy = jax.checkpoint_policies.save_only_these_names("'
        client.change(uri, 2, ((2, 0, 3, 0), f"{typed}\n"))
        completed = await client.request("textDocument/completion", at(uri, 2, len(typed)))
        assert [item["label"] for item in completed["items"]] == ["attn_out", "é_😀"]
        client.change(uri, 3, ((2, 0, 3, 0), ""))
        refused = await client.answer("textDocument/rename", {**at(block, 4, 70), "newName": "new"})
        assert "error" not in refused
        client.change(block, 3, ((4, 0, 4, 4), "    (("))
        answer = await client.answer("textDocument/rename", {**at(uri, 2, 60), "newName": "new"})
        assert answer["result"] is None


async def test_notebooks_open_and_closed(tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(BLOCK, encoding="utf-8")
    closed = tmp_path / "closed.ipynb"
    closed.write_text(NOTEBOOK, encoding="utf-8")
    notebook = (tmp_path / "open.ipynb").as_uri()
    cells = [f"vscode-notebook-cell:/open.ipynb#{number}" for number in range(2)]
    texts = ["import jax\n", TRAIN.split("\n")[2]]

    def items() -> list[Any]:
        return [
            {"uri": cell, "languageId": "python", "version": 4, "text": text} for cell, text in zip(cells, texts)
        ]

    async with server(tmp_path) as client:
        await client.initialize(PROFILES["vscode"][0])
        opened = {
            "uri": notebook,
            "notebookType": "jupyter-notebook",
            "version": 1,
            "cells": [{"kind": 2, "document": cell} for cell in cells],
        }
        client.notify("notebookDocument/didOpen", {"notebookDocument": opened, "cellTextDocuments": items()})
        await indexed(client, cells[1], texts[1])
        here = at(cells[1], *place(texts[1], "attn_out", "utf-16"))
        found = await client.request("textDocument/references", {**here, "context": {"includeDeclaration": True}})
        assert {place["uri"] for place in found} == {cells[1], (tmp_path / "block.py").as_uri(), closed.as_uri()}
        in_json = next(place["range"] for place in found if place["uri"] == closed.as_uri())
        assert in_json == word_area(NOTEBOOK, "attn_out", "utf-16")

        edit = await client.request("textDocument/rename", {**here, "newName": "new"})
        changes = {change["textDocument"]["uri"]: change for change in edit["documentChanges"]}
        assert changes[cells[1]]["textDocument"]["version"] == 4
        assert changes[closed.as_uri()]["edits"] == [{"range": in_json, "newText": "new"}]

        symbols = await client.request("textDocument/documentSymbol", {"textDocument": {"uri": cells[1]}})
        assert [symbol["name"] for symbol in symbols] == ["policy"]
        assert await client.request("textDocument/documentSymbol", {"textDocument": {"uri": cells[0]}}) == []
        completed = await client.request("textDocument/completion", here)
        assert [item["label"] for item in completed["items"]] == ["attn_out"]
