"""Columns in other units: UTF-8 bytes (``ast``, some editors) and UTF-16 code units (most editors).

Every function takes the line without caring about its line end, and clamps: a column past the end gives the
column of the end, a column inside a character gives the character's start.
"""

from __future__ import annotations

from typing import Literal

Encoding = Literal["utf-8", "utf-16", "utf-32"]


def from_utf8(line: str, column: int) -> int:
    """Code-point column of the UTF-8 byte ``column`` of ``line``."""
    if line.isascii():
        return min(column, len(line))
    return len(line.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "ignore"))


def to_utf8(line: str, column: int) -> int:
    """UTF-8 byte column of the code-point ``column`` of ``line``."""
    if line.isascii():
        return min(column, len(line))
    return len(line[:column].encode("utf-8", "surrogatepass"))


def from_utf16(line: str, column: int) -> int:
    """Code-point column of the UTF-16 code unit ``column`` of ``line``."""
    if line.isascii():
        return min(column, len(line))
    units = 0
    for index, character in enumerate(line):
        units += 2 if ord(character) > 0xFFFF else 1
        if units > column:
            return index
    return len(line)


def to_utf16(line: str, column: int) -> int:
    """UTF-16 code-unit column of the code-point ``column`` of ``line``."""
    if line.isascii():
        return min(column, len(line))
    return sum(2 if ord(character) > 0xFFFF else 1 for character in line[:column])


def decode_column(line: str, column: int, encoding: Encoding) -> int:
    """Code-point column of ``column``, which is counted in ``encoding``."""
    if encoding == "utf-16":
        return from_utf16(line, column)
    if encoding == "utf-8":
        return from_utf8(line, column)
    return min(column, len(line))


def encode_column(line: str, column: int, encoding: Encoding) -> int:
    """The code-point ``column`` counted in ``encoding``."""
    if encoding == "utf-16":
        return to_utf16(line, column)
    if encoding == "utf-8":
        return to_utf8(line, column)
    return min(column, len(line))
