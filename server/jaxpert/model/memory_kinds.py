"""The kinds of memory that offloading knows."""

from __future__ import annotations

from packaging.version import Version

_ONLY_PINNED = Version("0.7.1")
"""From here on JAX takes every destination but ``pinned_host`` for the device."""


def memory_kinds(role: str, version: Version) -> tuple[tuple[str, str], ...]:
    """What may be written where values are offloaded from or to, and what it is; the usual one first.

    Args:
        role: "offload_src" or "offload_dst", see :data:`~jaxpert.jaxdb.schema.ROLES`.
    """
    if role == "offload_src":
        return (("device", "memory of the accelerator"),)
    pinned = ("pinned_host", "memory of the host, fast to copy to")
    return (pinned,) if version >= _ONLY_PINNED else (pinned, ("unpinned_host", "other memory of the host"))
