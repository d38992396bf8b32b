"""Whether statements that were parsed again are what they were: only comments and blanks around them changed."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

_PLACE = ("lineno", "end_lineno")
_COLUMNS = ("col_offset", "end_col_offset")


def are_the_same(old: Sequence[ast.stmt], new: Sequence[ast.stmt], moved: int) -> bool:
    """Whether ``new`` has the nodes of ``old``, in the same columns, each ``moved`` lines higher up."""
    if len(old) != len(new):
        return False
    waiting: list[tuple[Any, Any]] = list(zip(old, new))
    while waiting:
        one, other = waiting.pop()
        if one.__class__ is not other.__class__:
            return False
        if not isinstance(one, ast.AST):
            if one != other:
                return False
            continue
        before, after = one.__dict__, other.__dict__
        if "lineno" in before:
            if any(before[name] != after[name] + moved for name in _PLACE):
                return False
            if any(before[name] != after[name] for name in _COLUMNS):
                return False
        for name in one._fields:
            left, right = before.get(name), after.get(name)
            if left.__class__ is list and right.__class__ is list:
                if len(left) != len(right):
                    return False
                waiting += zip(left, right)
            else:
                waiting.append((left, right))
    return True
