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
from collections.abc import Callable
from typing import TYPE_CHECKING

from jaxpert.lsp import outgoing as out
from jaxpert.lsp.inbox import Inbox
from jaxpert.lsp.without_tls import asyncio

if TYPE_CHECKING:
    from jaxpert.lsp.language_server import JaxpertServer

_CHUNK = 1 << 16

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
    """Serve until the client says exit or closes either descriptor; returns the exit code.

    A client that closes ``incoming`` and reads no more, but keeps ``outgoing`` open, may hold up the event loop in the
    middle of a message: then the process ends on the spot.
    """
    writer = out.DescriptorWriter(outgoing)
    server.protocol.set_writer(writer)
    is_over = threading.Event()

    def read(loop: asyncio.AbstractEventLoop, inbox: Inbox, end: End) -> None:
        writer.when_broken = lambda: _tell(loop, end)
        _read_in_thread(incoming, loop, inbox, end, lambda: _leave_when_stuck(writer, is_over))

    try:
        return asyncio.run(_serve(server, read))
    finally:
        is_over.set()
        writer.flush(out.DEAF_FOR)


def _leave_when_stuck(writer: out.DescriptorWriter, is_over: threading.Event) -> None:
    while not is_over.wait(out.DEAF_FOR / 10):
        if writer.is_holding_up(out.DEAF_FOR):
            os._exit(1)


def run_on_port(server: JaxpertServer, host: str, port: int) -> int:
    """Wait for one client at ``host:port`` and serve it; returns the exit code.

    Raises:
        OSError: the address cannot be listened on.
    """
    return asyncio.run(_serve_tcp(server, host, port))


End = Callable[[], None]


async def _serve(server: JaxpertServer, begin: Callable[[asyncio.AbstractEventLoop, Inbox, End], None]) -> int:
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[int] = loop.create_future()

    def finish(code: int) -> None:
        if not finished.done():
            finished.set_result(code)

    def receive(body: bytes) -> None:
        if not finished.done():
            server.protocol.receive(body)

    inbox = Inbox(receive)
    server.protocol.called_off = inbox.called_off
    server.start(loop, finish)
    begin(loop, inbox, server.lost)
    try:
        return await finished
    finally:
        server.end()


def _tell(loop: asyncio.AbstractEventLoop, what: Callable[[], None]) -> None:
    """Let the loop do ``what``; nothing when it is closed and the session over."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(what)


def _read_in_thread(
    descriptor: int, loop: asyncio.AbstractEventLoop, inbox: Inbox, end: End, afterwards: Callable[[], None]
) -> None:
    """Hand what arrives at ``descriptor`` to the loop, and when nothing comes any more, do something in the thread.

    A thread with plain reads works for pipes, files and terminals on every system. It is a daemon and holds no
    lock of a buffered file, so it never keeps the process from ending.
    """

    def read() -> None:
        with contextlib.suppress(OSError):
            while data := os.read(descriptor, _CHUNK):
                inbox.put(data)
                _tell(loop, inbox.hand_out)
        _tell(loop, end)
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

    async def read(inbox: Inbox, end: End) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(_CHUNK):
                inbox.put(data)
                inbox.hand_out()
        end()

    reading: list[asyncio.Task[None]] = []
    code = await _serve(server, lambda loop, inbox, end: reading.append(loop.create_task(read(inbox, end))))
    reading[0].cancel()
    with contextlib.suppress(ConnectionError):
        await writer.drain()
    writer.close()
    return code
