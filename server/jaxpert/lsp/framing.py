"""Messages out of a stream of bytes: ``Content-Length`` headers, an empty line, a body."""

from __future__ import annotations

import re

_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d+)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_HEADER = 8192


class Framing:
    """Collects bytes and gives out whole message bodies.

    A header block without a usable length is skipped up to the next empty line, so that stray output of another
    program on the same stream costs that block and not the session.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that ``data`` completes."""
        self._buffer += data
        bodies = []
        while (body := self._next()) is not None:
            bodies.append(body)
        return bodies

    def _next(self) -> bytes | None:
        while self._length is None:
            end = _HEADER_END.search(self._buffer)
            if end is None:
                if len(self._buffer) > _LONGEST_HEADER:
                    del self._buffer[:-_LONGEST_HEADER]
                return None
            stated = _LENGTH.search(self._buffer[: end.start()].replace(b"\r", b""))
            del self._buffer[: end.end()]
            self._length = int(stated[1]) if stated else None
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body
