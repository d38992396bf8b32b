"""Puts something new around code that is there: a decorator over a function, a call around an expression or a callee.

Verbs as in :mod:`jaxpert.fixing.verbs`: they return edits of the file that leave all else as it is, or None.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxpert.fixing.items import added, items_of
from jaxpert.fixing.passage import confirmed, expression, expression_at, function_at, moved, replace_node
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

Edits = tuple[Edit, ...]
Lines = Sequence[str]


def add_decorator(lines: Lines, function: Range, decorator: str) -> Edits | None:
    """Put ``@decorator`` right above a ``def``, below all others."""
    passage, node = function_at(lines, function) or (None, None)
    new = expression(decorator)
    if passage is None or node is None or isinstance(node, ast.Lambda) or new is None:
        return None
    node.decorator_list.append(new)
    indent = passage.line(function.start.line)[: function.start.column]
    if indent.strip():
        return None
    edit = Edit(Range(function.start, function.start), f"@{decorator}\n{indent.replace(chr(12), '')}")
    return confirmed(passage, [[edit]])


def pass_through(lines: Lines, area: Range, function: str, *further: str) -> Edits | None:
    """``x`` becomes ``function(x, *further)``."""
    passage, node = expression_at(lines, area) or (None, None)
    called, more = expression(function), [expression(one) for one in further]
    if passage is None or node is None or called is None:
        return None
    arguments = [one for one in more if one is not None]
    if len(arguments) != len(more):
        return None
    replace_node(passage.tree, node, ast.Call(called, [node, *arguments], []))
    end = "".join(f", {one}" for one in further) + ")"
    around = [(f"{function}(", end), (f"{function}((", f"){end}"), (f"({function}(", f"{end})")]
    return confirmed(
        passage,
        ([Edit(Range(area.start, area.start), one), Edit(Range(area.end, area.end), other)] for one, other in around),
    )


def add_item(lines: Lines, area: Range, source: str) -> Edits | None:
    """Give a call one more positional argument, or a list, tuple or set literal one more element, as the last."""
    passage, node = expression_at(lines, area) or (None, None)
    new = expression(source)
    if passage is None or node is None or new is None:
        return None
    if isinstance(node, ast.Call) and not node.keywords:
        node.args.append(new)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        node.elts.append(new)
    else:
        return None
    text = passage.text_of(area)
    found = items_of(expression(text) or node, text)
    if found is None:
        return None
    return confirmed(
        passage,
        (
            [Edit(Range(moved(area.start, text, at), moved(area.start, text, end)), new) for at, end, new in way]
            for way in added(found, [source])
        ),
    )
