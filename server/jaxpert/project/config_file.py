"""Finds and reads the file that holds the user's options; knows where it is wrong, not what the options mean."""

# Asked for at every keystroke; pathlib would cost twice as much.
# ruff: noqa: PTH100, PTH116, PTH120
from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import Any

from jaxpert.project.toml_positions import KeyPath, Place, locate
from jaxpert.records import dataclass
from jaxpert.text.decoding import UnreadableSource, read_source
from jaxpert.text.lines import Position, Range, end_of, range_at, split_lines

CONFIG_FILES = ("jaxpert.toml", "pyproject.toml")
"""Names of the files that may hold options, the stronger first."""

NOWHERE = range_at(0, 0, 0, 0)
"""The range of what stands in no file."""

# How our table may begin in a pyproject.toml that cannot be parsed.
_OUR_TABLE = re.compile(r"""\btool["'\s]*\.["'\s]*jaxpert\b|^\s*["']?jaxpert["']?\s*(?:\.|=(?!=))""", re.MULTILINE)
_TOML_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One mistake in the configuration.

    Attributes:
        path: the configuration file; "command line" or "editor settings" for an option from there.
        range: the key or value; the start of the file where neither is known.
        key: the option, or "".
        message: one sentence, with what to write.
    """

    path: Path
    range: Range
    key: str
    message: str

    def __str__(self) -> str:
        line, column = self.range.start
        at = f":{line + 1}:{column + 1}" if self.path.suffix else ""
        return f"{self.path}{at}: {self.message}"


@dataclass(frozen=True, slots=True)
class ConfigTable:
    """The options as they stand in a file.

    Attributes:
        values: the table.
        places: where its keys and the items of its arrays stand.
        problems: why it could not be read.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[KeyPath, Place] = field(default_factory=dict)
    problems: tuple[ConfigProblem, ...] = ()


def find_config(folder: Path) -> Path | None:
    """The configuration file that counts in ``folder``: that of the nearest parent, or its own."""
    at = os.path.abspath(folder)
    while True:
        for name in CONFIG_FILES:
            path = at + os.sep + name
            if (stamp := _stamp(path)) and (name == "jaxpert.toml" or _read_cached(path, *stamp)[0]):
                return Path(path)
        parent = os.path.dirname(at)
        if parent == at:
            return None
        at = parent


def read_config(path: Path) -> ConfigTable:
    """The options in the file at ``path``, with nothing checked but that it is TOML."""
    file = path.absolute()
    if stamp := _stamp(file):
        return _read_cached(str(file), *stamp)[1]
    return ConfigTable(problems=(ConfigProblem(file, NOWHERE, "", "there is no such file"),))


def _stamp(path: str | Path) -> tuple[int, int] | None:
    """What changes when the file does; None where there is no file."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return (status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None


@lru_cache(maxsize=256)
def _read_cached(path: str, modified: int, size: int) -> tuple[bool, ConfigTable]:
    """Whether the file holds options, and our table in it with the places of its keys.

    A ``pyproject.toml`` that cannot be read holds options when it seems to have our table.
    """
    file = Path(path)
    in_pyproject = file.name == "pyproject.toml"

    def problem(message: str, area: Range) -> ConfigTable:
        return ConfigTable(problems=(ConfigProblem(file, area, "", message),))

    try:
        text = read_source(file).text
    except UnreadableSource as error:
        at = Position(error.line or 0, 0)
        seems_ours = _OUR_TABLE.search(_bytes_of(file).decode("latin-1"))
        return not in_pyproject or bool(seems_ours), problem(f"cannot be read: {error.reason}", Range(at, at))
    if in_pyproject and "jaxpert" not in text:
        return False, ConfigTable()
    try:
        document: object = _parse_toml(text)
    except (ValueError, RecursionError) as error:
        message = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        message, area = _toml_error(message, text)
        return not in_pyproject or bool(_OUR_TABLE.search(text)), problem(f"not TOML: {message}", area)
    prefix: KeyPath = ("tool", "jaxpert") if in_pyproject else ()
    for key in prefix:
        document = document.get(key) if isinstance(document, dict) else None
    if document is None:
        return False, ConfigTable()
    places = locate(text)
    if not isinstance(document, dict):
        area = places[prefix].key if prefix in places else NOWHERE
        return True, problem("`tool.jaxpert` must be a table: write `[tool.jaxpert]`", area)
    ours = {key[len(prefix) :]: place for key, place in places.items() if key[: len(prefix)] == prefix}
    return True, ConfigTable(document, ours)


def _parse_toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib  # only where there are options
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _toml_error(message: str, text: str) -> tuple[str, Range]:
    """The message of the TOML reader without its position, and that position."""
    match = _TOML_PLACE.search(message)
    if match and match[1]:
        at = Position(int(match[1]) - 1, int(match[2]) - 1)
    else:
        at = end_of(split_lines(text)) if match else Position(0, 0)
    message = message[: match.start()] if match else message
    return message[:1].lower() + message[1:], Range(at, at)
