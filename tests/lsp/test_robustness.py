"""Odd documents, nonsense and failures: the session goes on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.lsp.client import EGLOT, area, server
from tests.lsp.samples import POLICY, RULE, actions_at, at, codes

pytestmark = pytest.mark.asyncio


async def test_uris_are_given_back_as_they_came(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        for uri in (
            "file:///c%3A/Users/me/block.py",
            "file:///C:/Users/me/block.py",
            "file://server/share/block.py",
            "file:///tmp/%E6%BC%A2%20%F0%9F%98%80.py",
            "untitled:Untitled-1",
            "vscode-notebook-cell:/n/a.ipynb#W0sZmlsZQ%3D%3D",
            "vscode-vfs://github/a/b/block.py",
            "file:///folder/a%00b/block.py",
            "file:///folder/block%00.py",
            "file:///folder/\ud800/block.py",
            "file:///folder/block\udfff.py",
            "untitled:\ud800#\udfff",
            "\ud800:block.py",
        ):
            client.open(uri, POLICY)
            assert codes(await client.pushed(uri)) == [RULE]
            before = len(client.published)
            client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            assert await client.pushed(uri, after=before) == []
        assert client.errors == b""


async def test_nonsense_is_refused_and_the_session_goes_on(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        assert (await client.answer("textDocument/hover", {}))["error"]["code"] == -32002
        client.notify("textDocument/didOpen", {})
        await client.initialize(EGLOT)
        assert (await client.answer("initialize", {"capabilities": {}}))["error"]["code"] == -32600
        client.send_bytes(b"{not json")
        client.send_bytes(b"[]")
        client.send_bytes(b"\xff\xfe")
        client.notify("textDocument/didOpen", {"textDocument": 3})
        client.notify("textDocument/didChange", None)
        client.notify("no/suchNotification", {"x": 1})
        client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///not/open.py"}})
        client.change("file:///not/open.py", 7, "x")
        client.notify("$/cancelRequest", {"id": 999})
        assert "error" in await client.answer("textDocument/hover", {"textDocument": None})
        assert (await client.answer("no/suchRequest", None))["error"]["code"] == -32601
        assert await client.request("textDocument/hover", at("file:///not/open.py", 0, 0)) is None
        assert await actions_at(client, "file:///not/open.py", area(0, 0, 0, 0)) == []

        uri = client.open("block.py", POLICY)
        client.change(uri, 2, ((900, 5, 900, 9), "\n"), ((2, 999, 2, 2_147_483_647), ""), ((6, 0, 5, 0), ""))
        client.change(uri, 3, ((-1, -5, 0, 0), ""))
        assert codes(await client.pushed(uri)) == [RULE]
        for method in ("hover", "completion", "signatureHelp", "definition", "documentHighlight"):
            assert await client.request(f"textDocument/{method}", at(uri, 999, 999)) is None
        client.open("notes.md", "# text", "markdown")
        uri = client.open("gone.py", POLICY)
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert await client.leave() == 0


async def test_one_ability_that_cannot_be_read_does_not_cost_the_others(tmp_path: Path) -> None:
    slips = {"codeAction": {"resolveSupport": 3}, "hover": {"contentFormat": ["markdown"]}}
    async with server(tmp_path) as client:
        await client.initialize({"general": {"positionEncodings": ["utf-8"]}, "window": 7, "textDocument": slips})
        uri = client.open("block.py", POLICY.replace("block =", "é = 1; block ="))
        hover = await client.request("textDocument/hover", at(uri, 6, 24))
        assert hover["contents"]["kind"] == "markdown"
        assert hover["range"]["start"]["character"] == 16
        assert any("codeAction" in line for line in [*client.logged, client.errors.decode()])


async def test_a_document_that_is_too_large_is_not_analysed_until_it_shrinks(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        large = POLICY + "# padding\n" * 600_000
        uri = client.open("large.py", large)
        (only,) = await client.pushed(uri)
        assert only["severity"] == 3 and "not analysed" in only["message"]
        client.change(uri, 2, ((7, 0, 900_000, 0), ""))
        assert codes(await client.pushed(uri, lambda it: "code" in it["diagnostics"][0])) == [RULE]
        client.change(uri, 3, large)
        before = len(client.published)
        (only,) = await client.pushed(uri, lambda it: "code" not in it["diagnostics"][0], after=before)
        assert await client.request("textDocument/hover", at(uri, 6, 16)) is None


PATCHED = """
import os, sys
import jaxpert.engine.analyze as engine
real = engine.analyze
def noisy(snapshot, **how):
    print("from Python"); os.write(1, b"from below"); os.system("echo from a child")
    if "crash" in str(snapshot.path): raise ValueError("of ours")
    return real(snapshot, **how)
engine.analyze = noisy
from jaxpert.lsp.server import run
run()
"""


async def test_stray_output_and_failures_do_not_reach_the_protocol(tmp_path: Path) -> None:
    async with server(tmp_path, sys.executable, "-c", PATCHED) as client:
        await client.initialize(EGLOT)
        crash = client.open("crash.py", POLICY)
        assert await actions_at(client, crash, area(6, 16, 6, 16)) == []
        assert any("codeAction failed: ValueError: of ours" in line and "\n" not in line for line in client.logged)
        assert codes(await client.pushed(client.open("block.py", POLICY))) == [RULE]
        assert await client.leave() == 0
        assert client.stray == b""
        assert b"from below" in client.errors and b"from a child" in client.errors


NUMBERS = (
    b'{"jsonrpc":"2.0","id":71,"method":"textDocument/hover","params":'
    b'{"textDocument":{"uri":"file:///a.py"},"position":{"line":NaN,"character":0}}}'
)


async def test_a_message_that_cannot_be_read_costs_none_of_those_behind_it(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        deep = b'{"method":"textDocument/hover","id":72,"params":' + b'{"a":' * 900 + b"1" + b"}" * 901
        parts = [NUMBERS, deep, b'{"id":[1],"method":"x"}', b'{"id":{"a":1},"method":"x"}', b'{"id":true,"method":"x"}']
        parts += [b'{"method":"$/cancelRequest"}', b'{"method":"$/cancelRequest","params":{"id":[1]}}']
        parts += [b'{"jsonrpc":"2.0","id":1.5,"result":1}', b'{"jsonrpc":"2.0","id":[],"error":"x"}']
        for part in parts:
            client.send_bytes(part)
        assert codes(await client.pushed(client.open("block.py", POLICY))) == [RULE]
        assert await client.leave() == 0
        assert client.errors == b""
