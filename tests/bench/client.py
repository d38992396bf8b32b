"""A language client that does nothing but ask, wait and look at the clock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil

Message = dict[str, Any]


class ServerDied(RuntimeError):
    """The server ended while something was expected of it; the message is the end of what it logged."""


class Client:
    """One server process and the conversation with it.

    It offers the server push diagnostics only, so that every server is measured on the same road, and answers
    every request of the server with null.

    Attributes:
        capabilities: what the server said it can do.
        started: clock when the process was started.
    """

    def __init__(self, process: asyncio.subprocess.Process, root: Path) -> None:
        self._process = process
        self._root = root
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._published: asyncio.Queue[tuple[float, Message]] = asyncio.Queue()
        self._log = b""
        self.started = time.perf_counter()
        self.capabilities: Message = {}
        self._readers = [asyncio.ensure_future(self._read_messages()), asyncio.ensure_future(self._read_log())]

    @classmethod
    async def start(cls, command: Sequence[str], root: Path) -> Client:
        """Start ``command`` in ``root``."""
        pipe = asyncio.subprocess.PIPE
        return cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=root), root)

    async def initialize(self) -> float:
        """Say hello; returns the seconds since the process was started."""
        uri = self._root.as_uri()
        answer = await self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": uri,
                "workspaceFolders": [{"uri": uri, "name": self._root.name}],
                "capabilities": {
                    "general": {"positionEncodings": ["utf-8", "utf-16"]},
                    "textDocument": {
                        "synchronization": {"didSave": True},
                        "publishDiagnostics": {"versionSupport": True, "relatedInformation": True},
                        "hover": {"contentFormat": ["markdown"]},
                    },
                },
            },
        )
        took = time.perf_counter() - self.started
        self.capabilities = answer["capabilities"]
        self.notify("initialized", {})
        return took

    def notify(self, method: str, params: Message | None) -> float:
        """Send a notification; returns the clock just before."""
        now = time.perf_counter()
        self._send({"method": method, "params": params})
        return now

    async def request(self, method: str, params: Message | None, timeout: float = 60) -> Any:
        """Send a request and wait for its result.

        Raises:
            ServerDied: it will never come.
            TimeoutError: it did not come.
        """
        number = len(self._waiting) + 1
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send({"id": number, "method": method, "params": params})
        return await asyncio.wait_for(future, timeout)

    async def diagnostics(self, uri: str, version: int, since: float, timeout: float = 30) -> tuple[float, int] | None:
        """Seconds from ``since`` to the diagnostics of ``version``, and how many; None when none came."""
        with contextlib.suppress(asyncio.TimeoutError):
            while True:
                at, params = await asyncio.wait_for(self._published.get(), timeout)
                if params["uri"] == uri and at >= since and (params.get("version") or version) >= version:
                    return at - since, len(params["diagnostics"])
        return None

    def resident_megabytes(self) -> float:
        """Memory of the server and its children now."""
        total = 0
        with contextlib.suppress(psutil.Error):
            server = psutil.Process(self._process.pid)
            for process in (server, *server.children(recursive=True)):
                with contextlib.suppress(psutil.Error):
                    total += process.memory_info().rss
        return total / 1e6

    async def stop(self) -> int | None:
        """Shut the server down, by force after five seconds; returns its exit code."""
        with contextlib.suppress(ServerDied, asyncio.TimeoutError, ConnectionError):
            await self.request("shutdown", None, timeout=5)
            self.notify("exit", None)
            await asyncio.wait_for(self._process.wait(), 5)
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        for reader in self._readers:
            reader.cancel()
        return self._process.returncode

    def _send(self, message: Message) -> None:
        assert self._process.stdin
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    async def _read_messages(self) -> None:
        stream = self._process.stdout
        assert stream
        try:
            while True:
                head = await stream.readuntil(b"\r\n\r\n")
                length = next(int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:")
                self._take(json.loads(await stream.readexactly(length)), time.perf_counter())
        except asyncio.IncompleteReadError:
            await asyncio.sleep(0.1)  # the end of the log says why
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(ServerDied(self._log[-2000:].decode(errors="replace")))

    def _take(self, message: Message, now: float) -> None:
        if "method" not in message:
            future = self._waiting[message["id"]]
            if "error" in message:
                future.set_exception(RuntimeError(message["error"]["message"]))
            else:
                future.set_result(message.get("result"))
        elif "id" in message:
            wanted = message["params"]["items"] if message["method"] == "workspace/configuration" else None
            self._send({"id": message["id"], "result": [None] * len(wanted) if wanted else None})
        elif message["method"] == "textDocument/publishDiagnostics":
            self._published.put_nowait((now, message["params"]))

    async def _read_log(self) -> None:
        assert self._process.stderr
        while chunk := await self._process.stderr.read(65_536):
            self._log = (self._log + chunk)[-10_000:]
