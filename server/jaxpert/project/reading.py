"""Reading files that may be anything: binary, huge, a pipe, a link to itself. Nothing here raises.

What is skipped is told to the log with the reason, unless it is just not there.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from packaging.version import Version

from jaxpert.text.decoding import UnreadableSource, read_regular_file

_log = logging.getLogger("jaxpert")

LARGEST = 32 * 1024 * 1024
"""Bytes; a longer file is not read. Lock files of real projects reach a few million."""


def read_text(path: Path) -> str | None:
    """The text of a regular file of sensible size; None, with a line in the log unless it is just not there."""
    try:
        return read_regular_file(path, LARGEST).decode("utf-8-sig")
    except UnreadableSource as error:
        if not isinstance(error.__cause__, (FileNotFoundError, NotADirectoryError)):
            skip(path, error.reason)
    except UnicodeDecodeError as error:
        skip(path, error)
    return None


def children(folder: Path) -> list[str]:
    """Names in a folder, sorted; none when it cannot be listed."""
    try:
        return sorted(child.name for child in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError) as error:
        skip(folder, error)
        return []


def mode_of(path: Path) -> int:
    """What ``stat`` says ``path`` is; 0 when it is not there or cannot be reached."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError, RuntimeError):
        return 0


def real_path(path: Path) -> Path:
    """``path`` with links followed as far as they can be."""
    try:
        return Path(os.path.realpath(path))
    except (OSError, ValueError):
        return path


def key_values(text: str, separator: str = "=", lower: bool = True) -> dict[str, str]:
    """``key = value`` lines; the first of two equal keys counts."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, separated, value = line.partition(separator)
        if separated and not line.startswith("#"):
            found.setdefault(key.strip().lower() if lower else key.strip(), value.strip())
    return found


def parse_version(text: str, source: Path | str) -> Version | None:
    """The version written as ``text`` in ``source``, or None when it is none."""
    try:
        return Version(text)
    except ValueError:  # InvalidVersion, or more digits than Python converts
        skip(source, f"{text[:80]!r} is not a version")
        return None


def skip(source: Path | str, reason: object) -> None:
    """Tell the log that ``source`` is not used, and why."""
    _log.info("looking for JAX: skipped %s: %s", source, reason)
