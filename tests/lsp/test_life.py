"""How a server ends, and how else it may be reached."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.lsp.client import COMMAND, EGLOT, PATIENCE, SERVER, area, server
from tests.lsp.samples import POLICY, actions_at

pytestmark = pytest.mark.asyncio


async def test_after_shutdown_nothing_but_exit_is_answered(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        await client.request("shutdown", None)
        assert (await client.answer("textDocument/hover", {}))["error"]["code"] == -32600
        client.notify("exit", None)
        assert await client.ended() == 0


async def test_exit_without_shutdown_is_an_error(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        client.notify("exit", None)
        assert await client.ended() == 1


@pytest.mark.parametrize("when", ["before initialize", "while open"])
async def test_the_end_of_input_ends_the_server(tmp_path: Path, when: str) -> None:
    async with server(tmp_path) as client:
        if when == "while open":
            await client.initialize(EGLOT)
            await client.pushed(client.open("block.py", POLICY))
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert await client.ended() == 1


WATCHED = "from jaxpert.lsp import parent\nparent.INTERVAL = 0.05\nfrom jaxpert.lsp.server import run\nrun()"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_the_server_ends_when_its_parent_is_gone(tmp_path: Path) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(99)")
    async with server(tmp_path, sys.executable, "-c", WATCHED) as client:
        await client.initialize(EGLOT, processId=editor.pid)
        await client.settled()
        os.kill(editor.pid, signal.SIGKILL)
        await editor.wait()
        assert await client.ended() == 1


DEAF = "from jaxpert.lsp import outgoing\noutgoing.DEAF_FOR = 0.2\noutgoing.MOST_WAITING = 1\nfrom jaxpert.lsp.server import run\nrun()"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes hold any number of bytes there")
async def test_the_server_ends_when_a_client_that_reads_nothing_closes_its_input(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    environment = {**os.environ, "PYTHONPATH": str(SERVER)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", DEAF, stdin=asyncio.subprocess.PIPE, stdout=writing, cwd=tmp_path, env=environment
    )
    os.close(writing)
    assert process.stdin is not None
    body = b'{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}'
    for _ in range(3_000):  # each is refused, together in more bytes than a pipe holds
        process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    process.stdin.close()
    try:
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 1
    finally:
        os.close(reading)
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="pipes hold any number of bytes there")
async def test_the_server_ends_when_nobody_can_read_what_it_says(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    environment = {**os.environ, "PYTHONPATH": str(SERVER)}
    process = await asyncio.create_subprocess_exec(
        *COMMAND, stdin=asyncio.subprocess.PIPE, stdout=writing, cwd=tmp_path, env=environment
    )
    os.close(writing)
    os.close(reading)
    assert process.stdin is not None
    body = b'{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}'
    process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    try:
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 1
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


SLOW = """
import time
import jaxpert.lsp.handlers.names as names
def definition(session, params): time.sleep(1)
names.definition = definition
from jaxpert.lsp.server import run
run()
"""


async def test_a_request_that_is_cancelled_while_it_waits_is_not_worked_on(tmp_path: Path) -> None:
    async with server(tmp_path, sys.executable, "-c", SLOW) as client:
        await client.initialize(EGLOT)
        place = {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}}
        answers = [asyncio.ensure_future(client.answer("textDocument/definition", place)) for _ in range(5)]
        await asyncio.sleep(0)
        for number in (3, 4, 5, 6):
            client.notify("$/cancelRequest", {"id": number})
        first, *others = await asyncio.gather(*answers)
        assert first["result"] is None
        assert [answer["error"]["code"] for answer in others] == [-32800] * 4
        assert (await client.answer("textDocument/definition", place))["result"] is None


async def test_files_of_the_workspace_are_not_imported(tmp_path: Path) -> None:
    for module in ("ast", "asyncio", "click", "difflib", "logging", "pygls", "lsprotocol", "cattrs", "libcst", "json"):
        (tmp_path / f"{module}.py").write_text(f"raise SystemExit('{module} of the workspace')\n")
    async with server(tmp_path, *COMMAND) as client:
        await client.initialize(EGLOT)
        uri = client.open("block.py", POLICY)
        await client.pushed(uri)
        assert await actions_at(client, uri, area(3, 6, 3, 6))
        assert client.errors == b""


async def test_it_runs_from_the_folder_that_it_lies_in(tmp_path: Path) -> None:
    async with server(SERVER, *COMMAND, PYTHONPATH="") as client:
        await client.initialize(EGLOT)
        assert await client.leave() == 0


async def test_one_client_over_tcp(tmp_path: Path) -> None:
    async with server(tmp_path, *COMMAND, "--tcp", "0") as other:
        line = await other.until(lambda: b"waiting" in other.errors and other.errors)
        port = int(line.rsplit(b",", 1)[1].strip(b" )\r\n"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for message in (
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}',
            b'{"jsonrpc":"2.0","id":2,"method":"shutdown"}',
            b'{"jsonrpc":"2.0","method":"exit"}',
        ):
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(message), message))
        answers = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        assert b'"name": "jaxpert"' in answers and b'"id": 2' in answers
        assert await other.ended() == 0
