"""Values that were expensive to find, kept in the user's cache folder from one run to the next.

One file for each project and each build of jaxpert: lines of a checksum, a key and a value as JSON. A reader believes
a line only when its checksum is right, and a writer replaces the file as a whole, so nothing that happens to the file
(a crash, a full disk, another server that writes it at the same moment) does more than lose values.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import jaxpert
from jaxpert.text.decoding import UnreadableSource, read_regular_file
from jaxpert.text.digest import checksum, digest

VARIABLE = "JAXPERT_CACHE"
"""The environment variable that says where the cache is, or with "off" that there is none."""

LARGEST_FILE = 4 * 1024 * 1024
"""Bytes for one project: beyond that the values that were not used for the longest time go."""

LARGEST_FINDINGS = 16 * 1024 * 1024
"""The same for the findings in one project."""

LARGEST_FOLDER = 64 * 1024 * 1024
"""Bytes for all projects: beyond that the projects that were not opened for the longest time go."""

_OFF = frozenset({"off", "no", "false", "0"})
_SUFFIX = ".facts"
_UNFINISHED = ".unfinished"
_OURS = re.compile(r"[0-9a-f]{32}\.facts|jaxpert-\w+\.unfinished")
"""The user may have chosen a folder that holds other files."""
_ABANDONED = 3600.0  # seconds after which an unfinished file is nobody's any more
_log = logging.getLogger("jaxpert")


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Where the user's caches of projects belong; None when there shall be none, or when there is no such place."""
    chosen = environ.get(VARIABLE, "").strip()
    if chosen.lower() in _OFF:
        return None
    if chosen:
        return Path(os.path.abspath(chosen))  # noqa: PTH100 (takes out "..", which would be made on the way)
    try:
        from platformdirs import user_cache_path  # slow to import, and needed once

        return user_cache_path("jaxpert", appauthor=False) / "index"
    except (OSError, RuntimeError):  # nobody's home
        return None


@cache
def build() -> str:
    """What tells this jaxpert from any that may find other facts: its version, its files, and the Python it runs on."""
    told = [jaxpert.__version__, sys.version]
    package = Path(jaxpert.__file__).parent
    for folder, folders, files in os.walk(package):
        folders[:] = sorted(set(folders) - {"__pycache__"})
        for name in sorted(files):
            with contextlib.suppress(OSError):
                status = os.stat(os.path.join(folder, name))  # noqa: PTH116, PTH118 (hundreds of files)
                told.append(f"{folder} {name} {status.st_size} {status.st_mtime_ns}")
    return digest(*told)


class IndexCache:
    """The values kept for one project.

    They are read when the first is asked for, and forgotten by :meth:`save`: an index that is complete asks no more.

    Args:
        folder: holds the caches of all projects; made when something is to be written.
        project: tells this project from others.
        largest: bytes of its file, :data:`LARGEST_FILE` by default.
    """

    def __init__(self, folder: Path, project: str, largest: int = 0) -> None:
        self._folder = folder
        self._largest = largest or LARGEST_FILE
        self._path = folder / f"{digest(build(), project)}{_SUFFIX}"
        self._known: dict[str, bytes] | None = None
        self._used: set[str] = set()
        self._new: dict[str, bytes] = {}
        self._has_failed = False

    def get(self, key: str) -> object:
        """The value that was put under ``key``; None when there is none."""
        if self._known is None:
            self._known = self._read()
            with contextlib.suppress(OSError, ValueError):
                os.utime(self._path)  # somebody still opens this project
        line = self._new.get(key) or self._known.get(key)
        if line is None:
            return None
        self._used.add(key)
        try:
            value: object = json.loads(line)
        except (ValueError, RecursionError):
            return None
        return value

    def put(self, key: str, value: object) -> None:
        """Keep ``value``, made of lists, strings, numbers, truth values and None, until :meth:`save` writes it."""
        self._new[key] = json.dumps(value, separators=(",", ":")).encode()

    def take(self) -> dict[str, bytes]:
        """What is new, to be given to :meth:`add` in another process; it is not new here any more."""
        taken, self._new = self._new, {}
        return taken

    def add(self, taken: Mapping[str, bytes]) -> None:
        """Keep what another process took until :meth:`save` writes it."""
        self._new.update(taken)

    def save(self) -> None:
        """Write what is new, beside what others wrote meanwhile. Where that is impossible, nothing is kept."""
        if self._new:
            try:
                self._write({**self._read(), **self._new})
            except (OSError, ValueError) as error:
                if not self._has_failed:
                    self._has_failed = True
                    _log.info("%s: what was found is not kept for the next start: %s", self._folder, error)
        self._known = None
        self._new.clear()
        self._used.clear()

    def _read(self) -> dict[str, bytes]:
        """Every line of the file that is whole, the one that was not used for the longest time first."""
        try:
            data = read_regular_file(self._path, self._largest)
        except UnreadableSource:
            return {}
        known = {}
        for line in data.split(b"\n"):
            told, _, rest = line.partition(b" ")
            if told and told == checksum(rest):
                key, _, value = rest.partition(b" ")
                known[key.decode("ascii", "replace")] = value
        return known

    def _write(self, values: dict[str, bytes]) -> None:
        ordered = sorted(values.items(), key=lambda it: (it[0] in self._new, it[0] in self._used))
        lines: list[bytes] = []
        left = self._largest
        for key, value in reversed(ordered):
            told = b"%b %b" % (key.encode("ascii"), value)
            line = b"%b %b\n" % (checksum(told), told)
            if len(line) <= left:
                left -= len(line)
                lines.append(line)
        self._folder.mkdir(0o700, parents=True, exist_ok=True)
        descriptor, unfinished = tempfile.mkstemp(_UNFINISHED, "jaxpert-", self._folder)
        try:
            # Not forced to the disk: a file that the next start finds torn has lines with wrong checksums.
            with open(descriptor, "wb") as file:  # noqa: PTH123 (a descriptor, not a path)
                file.writelines(reversed(lines))
            Path(unfinished).replace(self._path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(unfinished).unlink(missing_ok=True)
            raise
        _make_room(self._folder, self._path)


def _make_room(folder: Path, newest: Path) -> None:
    """Remove the caches that are too many, and what was never finished."""
    with contextlib.suppress(OSError):
        now = newest.stat().st_mtime
        kept = []
        for file in folder.iterdir():
            if not _OURS.fullmatch(file.name):
                continue
            with contextlib.suppress(OSError):
                status = file.stat()
                if file.suffix == _SUFFIX:
                    kept.append((status.st_mtime, status.st_size, file))
                elif file.suffix == _UNFINISHED and now - status.st_mtime > _ABANDONED:
                    file.unlink()
        total = 0
        for _, size, file in sorted(kept, reverse=True):
            total += size
            if total > LARGEST_FOLDER and file != newest:
                with contextlib.suppress(OSError):
                    file.unlink()
