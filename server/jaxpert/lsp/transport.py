"""Bytes in and out: standard streams or a TCP connection, as one event loop that ends with the session.

The protocol keeps the real standard output for itself: file descriptor 1 is pointed at standard error, so that
nothing printed by accident, in Python or below it, can break the conversation.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from jaxpert.lsp.framing import Framing
from jaxpert.lsp.without_tls import asyncio

if TYPE_CHECKING:
    from jaxpert.lsp.language_server import JaxpertServer

_CHUNK = 1 << 16

DEAF_FOR = 3.0
"""Seconds in which a client that has closed our input reads nothing of our output before we take it for gone."""


class DescriptorWriter:
    """Writes whole messages to a file descriptor. It waits for a client that does not read.

    Attributes:
        waiting_since: when the write that goes on right now began; None when none does.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.waiting_since: float | None = None

    def write(self, data: bytes) -> None:
        """Write all of ``data``; what a client that is gone does not read is dropped."""
        view = memoryview(data)
        with contextlib.suppress(BrokenPipeError, OSError):
            while view:
                self.waiting_since = time.monotonic()
                view = view[os.write(self._descriptor, view) :]
        self.waiting_since = None

    def close(self) -> None:
        """Nothing to do: the descriptor lives as long as the process."""


def claim_standard_streams() -> tuple[int, int]:
    """Take standard input and output for the protocol: descriptors to read from and to write to.

    Afterwards descriptor 0 is empty, descriptor 1 and ``sys.stdout`` lead to standard error.
    """
    incoming, outgoing = os.dup(0), os.dup(1)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (incoming, outgoing):
            msvcrt.setmode(descriptor, os.O_BINARY)
    sys.stdout = sys.stderr
    return incoming, outgoing


def run_on_descriptors(server: JaxpertServer, incoming: int, outgoing: int) -> int:
    """Serve until the client says exit or closes ``incoming``; returns the exit code.

    A client that closes ``incoming`` and reads no more, but keeps ``outgoing`` open, holds up the event loop in the
    middle of a message: then the process ends on the spot.
    """
    writer = DescriptorWriter(outgoing)
    server.protocol.set_writer(writer)
    is_over = threading.Event()

    def read(loop: asyncio.AbstractEventLoop, take: Take, end: End) -> None:
        _read_in_thread(incoming, loop, take, end, lambda: _leave_when_stuck(writer, is_over))

    try:
        return asyncio.run(_serve(server, read))
    finally:
        is_over.set()


def _leave_when_stuck(writer: DescriptorWriter, is_over: threading.Event) -> None:
    while not is_over.wait(DEAF_FOR / 10):
        since = writer.waiting_since
        if since is not None and time.monotonic() - since > DEAF_FOR:
            os._exit(1)


def run_on_port(server: JaxpertServer, host: str, port: int) -> int:
    """Wait for one client at ``host:port`` and serve it; returns the exit code.

    Raises:
        OSError: the address cannot be listened on.
    """
    return asyncio.run(_serve_tcp(server, host, port))


Take = Callable[[bytes], None]
End = Callable[[], None]


async def _serve(server: JaxpertServer, begin: Callable[[asyncio.AbstractEventLoop, Take, End], None]) -> int:
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[int] = loop.create_future()

    def finish(code: int) -> None:
        if not finished.done():
            finished.set_result(code)

    framing = Framing()

    def take(data: bytes) -> None:
        for body in framing.feed(data):
            if not finished.done():
                server.protocol.receive(body)

    server.start(loop, finish)
    begin(loop, take, server.lost)
    try:
        return await finished
    finally:
        server.end()


def _read_in_thread(
    descriptor: int, loop: asyncio.AbstractEventLoop, take: Take, end: End, afterwards: Callable[[], None]
) -> None:
    """Hand what arrives at ``descriptor`` to the loop, and when nothing comes any more, do something in the thread.

    A thread with plain reads works for pipes, files and terminals on every system. It is a daemon and holds no
    lock of a buffered file, so it never keeps the process from ending.
    """

    def read() -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the session is over
            try:
                while data := os.read(descriptor, _CHUNK):
                    loop.call_soon_threadsafe(take, data)
            except OSError:
                pass
            loop.call_soon_threadsafe(end)
            afterwards()

    threading.Thread(target=read, name="jaxpert-input", daemon=True).start()


async def _serve_tcp(server: JaxpertServer, host: str, port: int) -> int:
    client: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    client = asyncio.get_running_loop().create_future()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if client.done():
            writer.close()
        else:
            client.set_result((reader, writer))

    listener = await asyncio.start_server(connected, host, port)
    logging.getLogger("jaxpert").info("waiting for a client at %s", listener.sockets[0].getsockname())
    reader, writer = await client
    listener.close()
    server.protocol.set_writer(writer)

    async def read(take: Take, end: End) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                take(data)
        end()

    reading: list[asyncio.Task[None]] = []
    code = await _serve(server, lambda loop, take, end: reading.append(loop.create_task(read(take, end))))
    reading[0].cancel()
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()
    return code
