"""Requests that are cancelled before their turn, and output that the client reads late."""

from __future__ import annotations

import json
import os
import sys
import threading

import pytest

from jaxpert.lsp.inbox import Inbox
from jaxpert.lsp.outgoing import MOST_WAITING, DescriptorWriter


def framed(**message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def test_what_came_first_is_handed_out_first_and_what_comes_meanwhile_waits() -> None:
    received: list[int] = []

    def receive(body: bytes) -> None:
        received.append(json.loads(body)["id"])
        if len(received) == 1:
            inbox.put(framed(id=3))

    inbox = Inbox(receive)
    inbox.put(framed(id=1) + framed(id=2))
    inbox.hand_out()
    assert received == [1, 2]
    inbox.hand_out()
    assert received == [1, 2, 3]


def test_a_cancellation_is_known_before_the_request_has_its_turn() -> None:
    inbox = Inbox(lambda body: None)
    inbox.put(framed(id=1, method="textDocument/hover") + framed(method="$/cancelRequest", params={"id": 1}))
    inbox.put(framed(method="$/cancelRequest", params={"id": "two"}) + framed(method="$/cancelRequest"))
    inbox.put(framed(method="textDocument/didOpen", params={"text": '"$/cancelRequest"', "id": 5}))
    assert inbox.called_off == {1, "two"}


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot be asked there whether a pipe takes more")
def test_a_client_that_reads_late_holds_up_nothing() -> None:
    reading, writing = os.pipe()
    writer = DescriptorWriter(writing)
    messages = [bytes([65 + number]) * 300_000 for number in range(8)]  # each is more than a pipe holds
    assert sum(map(len, messages)) < MOST_WAITING
    done = threading.Event()

    def write() -> None:
        for message in messages:
            writer.write(message)
        done.set()

    threading.Thread(target=write, daemon=True).start()
    assert done.wait(20)
    read = b""
    while len(read) < sum(map(len, messages)):
        read += os.read(reading, 1 << 16)
    assert read == b"".join(messages)
    writer.flush(20)
    writer.write(b"now at once")
    assert os.read(reading, 100) == b"now at once"
    os.close(reading)
    os.close(writing)


@pytest.mark.skipif(sys.platform == "win32", reason="it cannot be asked there whether a pipe takes more")
@pytest.mark.parametrize("size", [10, 300_000])
def test_a_client_that_closed_its_end_is_noticed(size: int) -> None:
    reading, writing = os.pipe()
    writer, broken = DescriptorWriter(writing), threading.Event()
    writer.when_broken = broken.set
    if size > 10:
        writer.write(b"x" * size)
    os.close(reading)
    writer.write(b"y" * size)
    assert broken.wait(20)
    writer.write(b"z")
    os.close(writing)
