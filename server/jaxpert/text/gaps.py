"""Texts of which only parts are known, as ``f"layer{i}_out"``: the parts, with a gap between each two.

A gap stands for any text, the empty one too; ``("layer", "_out")`` is whatever starts with the one and ends with the
other. No regular expressions: with many gaps, those try every way to share a text out among them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_BRACES = re.compile(r"\{[A-Za-z_][^{}]*\}")

Parts = tuple[str, ...]
"""What stands before, between and behind the gaps; a single part has none, and none at all is the empty text."""

ANY: Parts = ("", "")
"""Any text."""


def joined(texts: Iterable[Parts]) -> Parts:
    """The texts, one behind the other; gaps that then touch are one."""
    found = [""]
    for parts in texts:
        for number, part in enumerate(parts):
            if number and (found[-1] or len(found) == 1):
                found.append(part)
            else:
                found[-1] += part
    return tuple(found)


def format_parts(text: str) -> Parts:
    """What ``text`` leaves known when it is read as an f-string: ``"layer{i}"`` is ``("layer", "")``."""
    return tuple(_BRACES.split(text))


def fits_format(text: str, parts: Parts) -> bool:
    """Whether ``text`` is the f-string of which ``parts`` are known, as it is written."""
    return parts != ANY and format_parts(text) == parts


def fits(text: str, parts: Parts) -> bool:
    """Whether ``text`` can be one of which ``parts`` are known."""
    if len(parts) < 2:
        return text == "".join(parts)
    first, *inner, last = parts
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in inner:  # where one is found first is best for all behind it
        at = text.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
