"""A short string in place of long ones."""

from __future__ import annotations

try:
    from _blake2 import blake2b  # what `hashlib` hands on, but it loads OpenSSL as well: megabytes in the server
except ImportError:
    from hashlib import blake2b


def digest(*parts: str) -> str:
    """32 characters that are, as good as certainly, others for other ``parts``."""
    hashed = blake2b(digest_size=16)
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        hashed.update(b"%d:" % len(data))
        hashed.update(data)
    return hashed.hexdigest()


def checksum(data: bytes) -> bytes:
    """16 characters that are others when ``data`` was damaged."""
    return blake2b(data, digest_size=8).hexdigest().encode()
