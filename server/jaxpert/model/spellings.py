"""Names that are meant by others: misspellings, and series of names."""

from __future__ import annotations

import difflib
import re
from collections import Counter

_MANY = 50
"""With more names than these, a name is not compared with all of them letter by letter."""
_MOST_COMPARED = 40


class Spellings:
    """Names, to look for one that another name is a misspelling of."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self.by_letters: dict[str, str] = {}
        for name in names:
            self.by_letters.setdefault(_letters(name), name)
        self.known: dict[str, str | None] = {}
        self.by_part: dict[str, list[str]] = {}
        for name in names if len(names) > _MANY else ():
            for part in _parts(name):
                self.by_part.setdefault(part, []).append(name)

    def nearest(self, name: str) -> str | None:
        """The one that is spelled most like ``name``."""
        if name not in self.known:
            same = self.by_letters.get(_letters(name))
            close = difflib.get_close_matches(name, self._alike(name), n=1, cutoff=0.75) if same is None else [same]
            self.known[name] = close[0] if close else None
        return self.known[name]

    def _alike(self, name: str) -> list[str]:
        """Those that ``name`` is compared with: of very many, the ones that have most in common with it."""
        if not self.by_part:
            return self.names
        shared: Counter[str] = Counter()
        for part in sorted(_parts(name)):
            shared.update(self.by_part.get(part, ()))
        return [found for found, _ in shared.most_common(_MOST_COMPARED)]


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _parts(name: str) -> set[str]:
    """Every two characters that stand side by side in the name."""
    return {name[at : at + 2] for at in range(max(1, len(name) - 1))}


def series(name: str) -> str:
    """The same for names that differ in a number, or in a word of one letter: ``mlp1``, ``mlp2``; ``q_proj``."""
    return re.sub(r"\d+|(?<![^\W\d_])[^\W\d_](?![^\W\d_])", "#", name)
