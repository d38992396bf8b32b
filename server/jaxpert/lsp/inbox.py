"""Messages that have arrived and wait for their turn, and which of them nobody wants answered any more."""

from __future__ import annotations

import contextlib
import json
from collections import deque
from collections.abc import Callable

from jaxpert.lsp.framing import Framing

_CANCEL = "$/cancelRequest"
_LONGEST_CANCEL = 500


class Inbox:
    """Cuts what arrives into messages and hands them out in order.

    What comes in may come from another thread, while the loop is busy with a message; so it is known early that a
    request which still waits was cancelled, and it costs nothing then.

    Args:
        receive: handles one message body.

    Attributes:
        called_off: ids of requests for whose cancellation a message has arrived that is not handed out yet.
    """

    def __init__(self, receive: Callable[[bytes], None]) -> None:
        self._receive = receive
        self._framing = Framing()
        self._waiting: deque[bytes] = deque()
        self.called_off: set[int | str] = set()

    def put(self, data: bytes) -> None:
        """Take in some bytes. Always called by the same thread."""
        for body in self._framing.feed(data):
            if len(body) < _LONGEST_CANCEL and _CANCEL.encode() in body:
                self.called_off.update(_cancelled(body))
            self._waiting.append(body)

    def hand_out(self) -> None:
        """Hand out what waits now; what arrives meanwhile waits for the next call."""
        for _ in range(len(self._waiting)):
            self._receive(self._waiting.popleft())


def _cancelled(body: bytes) -> list[int | str]:
    with contextlib.suppress(Exception):  # whatever is wrong with it is said when its turn comes
        message = json.loads(body)
        if message.get("method") == _CANCEL and isinstance(number := message["params"].get("id"), (int, str)):
            return [number]
    return []
