"""What a fix can do to a call that wraps a function: ``wrapper(function, option=…)``.

One verb each, as in :mod:`jaxpert.fixing.verbs`: they return edits of the file that leave all else as it is, or None.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jaxpert.fixing.imports import ensure_import, known_name
from jaxpert.fixing.items import Items, Splice, items_of
from jaxpert.fixing.passage import Passage, confirmed, expression_at, moved, replace_node, source_of
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range

Edits = tuple[Edit, ...]
Lines = Sequence[str]


class _Call(NamedTuple):
    passage: Passage
    area: Range
    node: ast.Call
    items: Items

    def confirmed(self, ways: Iterable[list[Splice]]) -> Edits | None:
        source = self.items.source
        return confirmed(
            self.passage,
            (
                [
                    Edit(Range(moved(self.area.start, source, at), moved(self.area.start, source, end)), new)
                    for at, end, new in way
                ]
                for way in ways
            ),
        )


def _call_at(lines: Lines, area: Range) -> _Call | None:
    passage, node = expression_at(lines, area) or (None, None)
    if passage is None or not isinstance(node, ast.Call):
        return None
    found = items_of(node, passage.text_of(area))
    if found is None or len(found.items) != len(node.args) + len(node.keywords):
        return None
    return _Call(passage, area, node, found)


def partial_name(lines: Lines, use: Position, source: SourceFile | None = None) -> tuple[str, Edits] | None:
    """How to write ``functools.partial`` at ``use``, and the edits that import it; the file's own way comes first."""
    source = source or source_of(lines)
    known = known_name(source, ["functools.partial"], use)
    if known is not None:
        return known, ()
    module = ensure_import(lines, "import functools", use, source)
    if module is not None:
        return f"{module.name}.partial", module.edits
    own = ensure_import(lines, "from functools import partial", use, source)
    return (own.name, own.edits) if own is not None else None


def through_partial(lines: Lines, area: Range) -> Edits | None:
    """``f(k=v)`` becomes ``functools.partial(f, k=v)``, with the import that this takes."""
    at, partial = _call_at(lines, area), partial_name(lines, area.start)
    if at is None or partial is None or not at.items.items:
        return None
    name, imports = partial
    function = at.node.func
    new = ast.parse(name, mode="eval").body
    replace_node(at.passage.tree, at.node, ast.Call(new, [function, *at.node.args], at.node.keywords))
    opened = at.items.open - 1
    comma = "," if "\n" in at.items.source[at.items.open : at.items.items[0].start] else ", "
    ways = [[Splice(0, 0, f"{name}("), Splice(opened, opened + 1, comma)]]
    edits = at.confirmed(ways)
    return (*imports, *edits) if edits is not None else None


def name_argument(lines: Lines, area: Range, index: int, name: str) -> Edits | None:
    """``f(g, p)`` becomes ``f(g, name=p)``: the last positional argument gets a name."""
    at = _call_at(lines, area)
    if at is None or index != len(at.node.args) - 1 or any(keyword.arg == name for keyword in at.node.keywords):
        return None
    value = at.node.args.pop()
    at.node.keywords.insert(0, ast.keyword(name, value))
    start = at.items.items[index].start
    return at.confirmed([[Splice(start, start, f"{name}=")]])


def call_with_rest(lines: Lines, area: Range, own: frozenset[str]) -> Edits | None:
    """``f(g, x, k=v)`` becomes ``f(g, k=v)(x)``: the wrapper keeps its function and the keywords ``own``."""
    at = _call_at(lines, area)
    if at is None or not at.node.args or any(isinstance(one, ast.Starred) for one in at.node.args[:1]):
        return None
    kept = [keyword for keyword in at.node.keywords if keyword.arg in own]
    rest = [keyword for keyword in at.node.keywords if keyword.arg not in own]
    arguments: list[ast.expr | ast.keyword] = [*at.node.args, *at.node.keywords]
    arguments.sort(key=lambda one: (one.lineno, one.col_offset))
    given = at.node.args[1:]
    inner = ast.Call(at.node.func, at.node.args[:1], kept)
    replace_node(at.passage.tree, at.node, ast.Call(inner, given, rest))
    items, source = at.items.items, at.items.source
    ways = []
    if not kept:  # the comma behind the function becomes the brackets
        gap = source[items[0].stop : items[1].start]
        end = items[1].start if gap.isspace() and "\n" not in gap else items[0].stop
        ways.append([Splice(items[0].end, end, ")(")])

    def texts(which: Sequence[ast.expr | ast.keyword]) -> str:
        return ", ".join(source[items[arguments.index(one)].start : items[arguments.index(one)].end] for one in which)

    if "\n" not in source:
        first = texts([at.node.args[0], *kept])
        ways.append([Splice(at.items.open, at.items.close, f"{first})({texts([*given, *rest])}")])
    return at.confirmed(ways)


def wrap_callee(lines: Lines, area: Range, drop_arguments: bool = False) -> Edits | None:
    """``f(g(x), k=v)`` becomes ``f(g, k=v)(x)``, or ``f(g, k=v)`` where the arguments are dropped."""
    at = _call_at(lines, area)
    inner = at.node.args[0] if at is not None and at.node.args else None
    if at is None or not isinstance(inner, ast.Call):
        return None
    own = at.passage.range_of(inner)
    source = at.passage.text_of(own)
    found = items_of(inner, source)
    if found is None:
        return None
    at.node.args[0] = inner.func
    if not drop_arguments:
        replace_node(at.passage.tree, at.node, ast.Call(at.node, inner.args, inner.keywords))
    opened = found.open - 1
    start = at.items.items[0].start
    arguments = "" if drop_arguments else source[opened:]
    end = len(at.items.source)
    return at.confirmed([[Splice(start + opened, start + len(source), ""), Splice(end, end, arguments)]])


def replace_keyword(lines: Lines, area: Range, old: str, new: str, value: str) -> Edits | None:
    """``f(old=x)`` becomes ``f(new=value)``; None when the call has ``new`` already."""
    at = _call_at(lines, area)
    arguments: list[ast.expr | ast.keyword] = [*at.node.args, *at.node.keywords] if at is not None else []
    arguments.sort(key=lambda one: (one.lineno, one.col_offset))
    names = [one.arg if isinstance(one, ast.keyword) else None for one in arguments]
    if at is None or old not in names or new in names:
        return None
    index = names.index(old)
    keyword, item = arguments[index], at.items.items[index]
    assert isinstance(keyword, ast.keyword)
    keyword.arg, keyword.value = new, ast.parse(value, mode="eval").body
    return at.confirmed([[Splice(item.start, item.end, f"{new}={value}")]])
