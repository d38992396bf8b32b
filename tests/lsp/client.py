"""A language client for tests: one server process, the conversation with it, and what real editors say they can do."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

Message = dict[str, Any]
PATIENCE = 30.0
"""Seconds after which a test gives up waiting."""

SERVER = Path(__file__).parents[2] / "server"
COMMAND = (sys.executable, "-m", "jaxpert", "lsp")

VSCODE: Message = {
    "general": {"positionEncodings": ["utf-16"]},
    "workspace": {
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "workspaceFolders": True,
        "diagnostics": {"refreshSupport": True},
        "workspaceEdit": {"documentChanges": True},
    },
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": False,
            "tagSupport": {"valueSet": [1, 2]},
            "codeDescriptionSupport": True,
            "dataSupport": True,
        },
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": False},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "completion": {"completionItem": {"snippetSupport": True, "documentationFormat": ["markdown", "plaintext"]}},
        "signatureHelp": {
            "signatureInformation": {
                "documentationFormat": ["markdown", "plaintext"],
                "parameterInformation": {"labelOffsetSupport": True},
                "activeParameterSupport": True,
            }
        },
        "codeAction": {
            "isPreferredSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "source", "source.fixAll"]}},
        },
    },
    "notebookDocument": {"synchronization": {"dynamicRegistration": True, "executionSummarySupport": True}},
}
NEOVIM: Message = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "workspace": {
        "configuration": True,
        "didChangeWatchedFiles": {"dynamicRegistration": False},
        "workspaceFolders": True,
        "workspaceEdit": {"resourceOperations": ["rename", "create", "delete"]},
    },
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": True, "tagSupport": {"valueSet": [1, 2]}, "dataSupport": True},
        "diagnostic": {"dynamicRegistration": True},
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "completion": {"completionItem": {"snippetSupport": False, "documentationFormat": ["markdown", "plaintext"]}},
        "signatureHelp": {
            "signatureInformation": {
                "documentationFormat": ["markdown", "plaintext"],
                "parameterInformation": {"labelOffsetSupport": True},
                "activeParameterSupport": True,
            }
        },
        "codeAction": {
            "isPreferredSupport": True,
            "dataSupport": True,
            "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "source"]}},
            "resolveSupport": {"properties": ["edit", "command"]},
        },
    },
}
EGLOT: Message = {
    "workspace": {"applyEdit": True, "configuration": True, "workspaceEdit": {"documentChanges": True}},
    "textDocument": {
        "publishDiagnostics": {"relatedInformation": False},
        "hover": {"contentFormat": ["plaintext"]},
        "completion": {"completionItem": {"snippetSupport": False}},
        "signatureHelp": {"signatureInformation": {"activeParameterSupport": True}},
        "codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["quickfix", "source"]}}},
    },
}


class Client:
    """One server process, started in ``root``.

    Attributes:
        published: every pushed list of diagnostics, oldest first, as its params.
        asked: what the server asked, as (method, params).
        progress: every ``$/progress``, oldest first, as its params.
        heard: the methods of all other notifications.
        logged, shown: texts of ``window/logMessage`` and ``window/showMessage``.
        settings: what ``workspace/configuration`` is answered with, by the scope's URI ("" for none).
        stray: bytes on standard output that belong to no message.
    """

    def __init__(self, process: asyncio.subprocess.Process, root: Path) -> None:
        self.process = process
        self.root = root
        self.published: list[Message] = []
        self.asked: list[tuple[str, Any]] = []
        self.progress: list[Message] = []
        self.heard: list[str] = []
        self.logged: list[str] = []
        self.shown: list[str] = []
        self.settings: dict[str, Any] = {}
        self.stray = b""
        self.errors = b""
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._happened = asyncio.Condition()
        self._readers = [asyncio.ensure_future(self._read()), asyncio.ensure_future(self._read_errors())]

    # -- sending ----------------------------------------------------------------------------------------------

    async def initialize(self, capabilities: Message = EGLOT, **params: Any) -> Message:
        """Say hello as an editor with these capabilities; returns the server's."""
        uri = self.root.as_uri()
        given = {"processId": os.getpid(), "rootUri": uri, "capabilities": capabilities, **params}
        given.setdefault("workspaceFolders", [{"uri": uri, "name": "root"}])
        answer = await self.request("initialize", given)
        self.notify("initialized", {})
        return dict(answer["capabilities"])

    async def request(self, method: str, params: Any) -> Any:
        """The result of a request.

        Raises:
            RuntimeError: the server answers with an error.
        """
        answer = await self.answer(method, params)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    async def answer(self, method: str, params: Any) -> Message:
        """The whole answer to a request, be it an error."""
        number = len(self._answers) + 1
        self._answers[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, "method": method, "params": params})
        return await asyncio.wait_for(self._answers[number], PATIENCE)

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self.send({"method": method, "params": params})

    def send(self, message: Message) -> None:
        """Send a message."""
        self.send_bytes(json.dumps({"jsonrpc": "2.0", **message}).encode())

    def send_bytes(self, body: bytes) -> None:
        """Send any bytes as the body of a message."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    # -- documents --------------------------------------------------------------------------------------------

    def open(self, name: str, text: str, language: str = "python") -> str:
        """Open a document; ``name`` is one of a file in the root, or a URI. Returns the URI."""
        uri = name if ":" in name else (self.root / name).as_uri()
        item = {"uri": uri, "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def change(self, uri: str, version: int, *changes: tuple[tuple[int, int, int, int], str] | str) -> None:
        """Edit a document; each change is a range of four numbers and a text, or the whole new text."""
        events = [
            {"text": change} if isinstance(change, str) else {"range": area(*change[0]), "text": change[1]}
            for change in changes
        ]
        identifier = {"uri": uri, "version": version}
        self.notify("textDocument/didChange", {"textDocument": identifier, "contentChanges": events})

    async def pushed(
        self, uri: str, wanted: Callable[[Message], bool] = lambda params: True, after: int = 0
    ) -> list[Message]:
        """The diagnostics of the first push for ``uri`` that is ``wanted``; the first ``after`` pushes do not count."""

        def found() -> Message | None:
            return next((it for it in self.published[after:] if it["uri"] == uri and wanted(it)), None)

        return list((await self.until(found))["diagnostics"])

    async def pulled(self, uri: str, previous: str | None = None) -> Message:
        """The report of a pull."""
        params = {"textDocument": {"uri": uri}, **({"previousResultId": previous} if previous else {})}
        return dict(await self.request("textDocument/diagnostic", params))

    async def until(self, found: Callable[[], Any]) -> Any:
        """What ``found`` gives, as soon as it is neither None nor False."""

        async def wait() -> Any:
            async with self._happened:
                while (value := found()) is None or value is False:
                    if self.process.returncode is not None:
                        raise RuntimeError(f"the server ended: {self.errors.decode()}")
                    await self._happened.wait()
            return value

        return await asyncio.wait_for(wait(), PATIENCE)

    async def settled(self) -> None:
        """Wait until the server has handled all that was sent."""
        with contextlib.suppress(RuntimeError):
            await self.request("jaxpert/isThereSuchAMethod", None)

    # -- the end ----------------------------------------------------------------------------------------------

    async def leave(self) -> int:
        """Shut down in order; returns the exit code."""
        await self.request("shutdown", None)
        self.notify("exit", None)
        return await self.ended()

    async def ended(self) -> int:
        """Wait for the process to end; returns the exit code."""
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await asyncio.gather(*self._readers)
        return code

    def kill(self) -> None:
        """End the process if it still runs."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    # -- receiving --------------------------------------------------------------------------------------------

    async def _read(self) -> None:
        assert self.process.stdout is not None
        stream = self.process.stdout
        while header := await stream.readline():
            if not header.lower().startswith(b"content-"):
                self.stray += header.strip()
                continue
            length = 0
            while header.strip():
                name, _, value = header.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                header = await stream.readline()
            await self._receive(json.loads(await stream.readexactly(length)))
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(RuntimeError("the server ended before it answered"))
        async with self._happened:
            self._happened.notify_all()

    async def _receive(self, message: Message) -> None:
        method = message.get("method")
        if method is None and message.get("id") in self._answers:
            self._answers[message["id"]].set_result(message)
        elif "id" in message and method:
            self.asked.append((method, message.get("params")))
            self.send({"id": message["id"], "result": self._result(method, message.get("params"))})
        elif method == "textDocument/publishDiagnostics":
            self.published.append(message["params"])
        elif method == "$/progress":
            self.progress.append(message["params"])
        elif method == "window/logMessage":
            self.logged.append(message["params"]["message"])
        elif method == "window/showMessage":
            self.shown.append(message["params"]["message"])
        elif method:
            self.heard.append(method)
        async with self._happened:
            self._happened.notify_all()

    def _result(self, method: str, params: Any) -> Any:
        if method == "workspace/configuration":
            return [self.settings.get(item.get("scopeUri", ""), self.settings.get("")) for item in params["items"]]
        return None

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(1 << 16):
            self.errors += data
            async with self._happened:
                self._happened.notify_all()


def area(line: int, character: int, end_line: int, end_character: int) -> Message:
    """A range in the protocol's form."""
    return {
        "start": {"line": line, "character": character},
        "end": {"line": end_line, "character": end_character},
    }


@contextlib.asynccontextmanager
async def server(root: Path, *arguments: str, **environment: str) -> AsyncIterator[Client]:
    """A client of a server that works in ``root``; the server is killed at the end if it still runs."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(arguments or COMMAND),
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(SERVER), **environment},
        limit=1 << 26,
    )
    client = Client(process, root)
    try:
        yield client
    finally:
        client.kill()
        await client.ended()
