"""Sources with a mark where the cursor is."""

from __future__ import annotations

from jaxpert.text.lines import Position

MARK = "‸"


def cut(source: str) -> tuple[str, Position]:
    """The source without its only mark, and the position behind which it stood."""
    before, mark, after = source.partition(MARK)
    assert mark and MARK not in after
    return before + after, Position(before.count("\n"), len(before) - before.rfind("\n") - 1)
