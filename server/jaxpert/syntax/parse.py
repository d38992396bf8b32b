"""Text to tree, without ever raising."""

from __future__ import annotations

import ast
import re
import sys
import warnings

from jaxpert.records import dataclass
from jaxpert.text.columns import from_utf8
from jaxpert.text.lines import Range, range_at, split_lines

MAX_LINES = 60_000
"""Longer files are not analysed: nothing written by hand is that long."""

_NEWEST_GRAMMAR = (3, 14)
_REFUSED_WHEN_OLD = ("invalid syntax", "expected ", "f-string", "multiple exception types must be parenthesized")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class SyntaxProblem:
    """Why a text has no tree: one sentence, and where. ``total`` when nothing at all could be read,
    ``may_be_newer`` when the text may be right for a newer Python than the one that reads it."""

    message: str
    range: Range
    total: bool = False
    may_be_newer: bool = False


def parse(text: str) -> ast.Module | SyntaxProblem:
    """The tree of ``text``, or what is wrong with it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except UnicodeEncodeError:
        return parse(_without_surrogates(text))
    except SyntaxError as error:
        return SyntaxProblem(_message_of(error), _range_of(error, text), may_be_newer=_GRAMMAR in _message_of(error))
    except (RecursionError, MemoryError):
        return SyntaxProblem("nested too deeply to be analysed", range_at(0, 0, 0, 0), total=True)
    except ValueError as error:  # a null character
        return SyntaxProblem(str(error), range_at(0, 0, 0, 0), total=True)


def _without_surrogates(text: str) -> str:
    """CPython refuses lone surrogates anywhere; U+FFFD takes as many bytes, so that columns stay."""
    return _SURROGATE.sub("\ufffd", text)


_GRAMMAR = "read with the grammar of Python"


def _message_of(error: SyntaxError) -> str:
    """CPython's message; it says so where the text may be right for a newer Python than the one that reads it."""
    message = error.msg or "invalid syntax"
    is_plain = type(error) is SyntaxError and message.startswith(_REFUSED_WHEN_OLD)
    if not is_plain or sys.version_info >= _NEWEST_GRAMMAR:
        return message
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"{message} ({_GRAMMAR} {version}; newer syntax needs a newer Python for jaxpert)"


def _range_of(error: SyntaxError, text: str) -> Range:
    lines = split_lines(text)
    line = min(max((error.lineno or 1) - 1, 0), len(lines) - 1)
    # CPython counts this offset in code points for str input, but in bytes for some tokenizer errors.
    column = min(max((error.offset or 1) - 1, 0), len(lines[line].rstrip("\r\n")))
    return range_at(line, column, line, column)


def column_of(lines: list[str], line: int, utf8_column: int) -> int:
    """Code-point column of ast's byte column on zero-based ``line``."""
    return from_utf8(lines[line], utf8_column) if line < len(lines) else utf8_column
