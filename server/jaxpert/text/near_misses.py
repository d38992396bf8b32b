"""What somebody probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of ``known`` that ``word`` most likely is a slip of, if any is near; upper and lower case are one."""
    import difflib  # only when something is wrong

    by_lower = {name.lower().replace("_", "-"): name for name in known}
    near = difflib.get_close_matches(word.lower().replace("_", "-"), by_lower, n=1, cutoff=0.75)
    return by_lower[near[0]] if near else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``; did you mean `x`?`` for the end of a message, or "" when nothing is near."""
    near = nearest(word, known)
    return f"; did you mean `{near}`?" if near else ""
