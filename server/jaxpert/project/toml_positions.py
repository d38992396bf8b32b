"""Where the keys and values of a TOML text stand; the standard reader tells only what they are."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from jaxpert.text.lines import Position, Range, split_lines

KeyPath = tuple[str | int, ...]


class Place(NamedTuple):
    """Where a key and its value stand. An item of an array has its value's place twice."""

    key: Range
    value: Range


_BLANKS = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = re.compile(r"""[A-Za-z0-9_-]+|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'""")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_STRING = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"{3,5}' "|'''[\\s\\S]*?'{3,5}" r'|"(?:[^"\\\n]|\\.)*"' "|'[^'\n]*'"
)
_SCALAR = re.compile(r"[^,\]}#\n]+")


def locate(text: str) -> dict[KeyPath, Place]:
    """Every key and array item of ``text``, by its path, such as ``("tool", "jaxpert", "select", 0)``.

    ``text`` must be valid TOML; of any other, the places up to some point are returned. The tables of an array of
    tables are not told apart.
    """
    return _Reader(text).read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.places: dict[KeyPath, Place] = {}
        self.line_starts = [0]
        for line in split_lines(text):
            self.line_starts.append(self.line_starts[-1] + len(line))

    def read(self) -> dict[KeyPath, Place]:
        table: KeyPath = ()
        try:
            while True:
                self.skip_blanks()
                if self.at == len(self.text):
                    break
                if self.text.startswith("[", self.at):
                    brackets = 2 if self.text.startswith("[[", self.at) else 1
                    self.at += brackets
                    table, _ = self.key(())
                    self.at += brackets
                else:
                    self.pair(table)
        except (_TomlError, RecursionError, ValueError, OverflowError):
            pass
        return self.places

    def skip_blanks(self) -> None:
        match = _BLANKS.match(self.text, self.at)
        self.at = match.end() if match else self.at

    def pair(self, table: KeyPath) -> None:
        path, key = self.key(table)
        self.expect("=")
        value = self.value(path)
        self.places[path] = Place(key, value)

    def key(self, path: KeyPath) -> tuple[KeyPath, Range]:
        """A key, maybe dotted; the range is that of all its parts."""
        self.skip_blanks()
        start = self.at
        while True:
            match = _KEY.match(self.text, self.at)
            if not match:
                raise _TomlError
            basic, literal = match.groups()
            part = _unescaped(basic) if basic is not None else literal if literal is not None else match[0]
            path = (*path, part)
            self.at = match.end()
            self.places.setdefault(path, Place(self.range(start, self.at), self.range(start, self.at)))
            if not (dot := _DOT.match(self.text, self.at)):
                break
            self.at = dot.end()
        area = self.range(start, self.at)
        self.skip_blanks()
        return path, area

    def value(self, path: KeyPath) -> Range:
        self.skip_blanks()
        start = self.at
        if self.text.startswith("[", start):
            self.at += 1
            number = 0
            while not self.closed("]"):
                inner: KeyPath = (*path, number)
                item = self.value(inner)
                self.places[inner] = Place(item, item)
                number += 1
                self.skip_comma()
        elif self.text.startswith("{", start):
            self.at += 1
            while not self.closed("}"):
                self.pair(path)
                self.skip_comma()
        else:
            match = _STRING.match(self.text, start) or _SCALAR.match(self.text, start)
            if not match:
                raise _TomlError
            self.at = match.end()
            return self.range(start, start + len(match[0].rstrip()))
        return self.range(start, self.at)

    def closed(self, bracket: str) -> bool:
        self.skip_blanks()
        if self.text.startswith(bracket, self.at):
            self.at += 1
            return True
        return False

    def skip_comma(self) -> None:
        self.skip_blanks()
        if self.text.startswith(",", self.at):
            self.at += 1

    def expect(self, character: str) -> None:
        self.skip_blanks()
        if not self.text.startswith(character, self.at):
            raise _TomlError
        self.at += 1

    def range(self, start: int, end: int) -> Range:
        return Range(self.position(start), self.position(end))

    def position(self, offset: int) -> Position:
        line = bisect_right(self.line_starts, offset, hi=len(self.line_starts) - 1) - 1
        return Position(line, offset - self.line_starts[line])


class _TomlError(Exception):
    pass


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    simple = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
    return re.sub(
        r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|x([0-9A-Fa-f]{2})|(.))",
        lambda match: simple.get(match[4], match[0]) if match[4] else chr(int(match[1] or match[2] or match[3], 16)),
        text,
    )
