"""Items between commas: the arguments of a call, the parameters of a function, the elements of a literal.

The only user of libcst: it tells where every item and every comma stands in the source of one expression or ``def``,
parentheses, stars and annotations included; what lies between is blanks, line breaks and comments. The functions
that add and take away items yield each way to do it, best first, and keep the layout: one item a line stays so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import libcst as cst

# libcst recurses in native code, where too deep a tree ends the process instead of raising.
_DEEPEST = 50
_MOST_LINES = 300

_BLANKS = re.compile(r"[ \t\f]*")


class Splice(NamedTuple):
    """Put ``new_text`` in place of ``start`` up to ``end``: offsets into a source."""

    start: int
    end: int
    new_text: str


class Item(NamedTuple):
    """Where one item starts and ends, and where the comma behind it ends (None without one)."""

    start: int
    end: int
    comma_end: int | None

    @property
    def stop(self) -> int:
        """The end, with the comma."""
        return self.end if self.comma_end is None else self.comma_end


class Items(NamedTuple):
    """The items of one pair of brackets: what these hold is ``source[open:close]``."""

    source: str
    items: tuple[Item, ...]
    open: int
    close: int


def items_of(node: ast.expr | ast.FunctionDef | ast.AsyncFunctionDef, source: str) -> Items | None:
    """The arguments of a call, the parameters of a lambda or ``def``, the elements of a list, tuple or set.

    Args:
        node: the tree of ``source``.
        source: the expression, or the ``def`` with any body, with ``\\n`` as line end.

    Returns:
        None for other nodes, for what libcst cannot read and for what it should not be given.
    """
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    text, shift, shown = (f"({source})", 1, node) if isinstance(node, ast.expr) else (source, 0, node.args)
    if _depth(shown) > _DEEPEST or source.count("\n") > _MOST_LINES:
        return None
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        positions = wrapper.resolve(PositionProvider)
    except (cst.ParserSyntaxError, RecursionError):
        return None
    lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def span(part: cst.CSTNode) -> tuple[int, int]:
        start, end = positions[part].start, positions[part].end
        return lines[start.line - 1] + start.column - shift, lines[end.line - 1] + end.column - shift

    def items(parts: Iterable[cst.CSTNode]) -> Iterator[Item]:
        for part in parts:
            start, end = span(part)
            comma = getattr(part, "comma", None)
            comma = comma if isinstance(comma, cst.Comma) else None
            # What libcst calls the end of a parameter is neither that of its default nor that of `*`.
            if isinstance(part, (cst.ParamStar, cst.ParamSlash)):
                end = start + 1
            elif isinstance(part, cst.Param):
                end = span(comma.whitespace_before if comma else part.whitespace_after_param)[0]
            yield Item(start, end, span(comma)[1] if comma else None)

    root: cst.CSTNode = wrapper.module.body[0]
    if isinstance(root, cst.SimpleStatementLine) and isinstance(root.body[0], cst.Expr):
        root = root.body[0].value
    if isinstance(root, cst.Call):
        return Items(source, tuple(items(root.args)), span(root.whitespace_before_args)[0], len(source) - 1)
    if isinstance(root, (cst.FunctionDef, cst.Lambda)):
        return Items(source, tuple(items(_parameters(root.params))), *span(root.params))
    if isinstance(root, (cst.List, cst.Tuple, cst.Set)):
        return Items(source, tuple(items(root.elements)), 1, len(source) - 1)
    return None


def _depth(node: ast.AST) -> int:
    depth, level = 0, [node]
    while level:
        depth, level = depth + 1, [child for parent in level for child in ast.iter_child_nodes(parent)]
    return depth


def _parameters(parameters: cst.Parameters) -> list[cst.CSTNode]:
    import libcst as cst

    in_order = (
        *parameters.posonly_params,
        parameters.posonly_ind,
        *parameters.params,
        parameters.star_arg,
        *parameters.kwonly_params,
        parameters.star_kwarg,
    )
    return [part for part in in_order if isinstance(part, cst.CSTNode)]


def added(items: Items, new: Sequence[str], lead: str = "") -> Iterator[list[Splice]]:
    """Put ``new`` items behind all others; ``lead`` goes before them when there are no others."""
    source = items.source
    if not items.items:
        yield [Splice(items.close, items.close, lead + ", ".join(new))]
        return
    last = items.items[-1]
    trailing = "" if last.comma_end is None else ","
    indent = _indent(source, last.start)
    if indent is not None:
        line_end = source.rfind("\n", last.stop, items.close)
        at = last.stop if line_end < 0 else line_end
        new_lines = ",".join(f"\n{indent}{item}" for item in new) + trailing
        if trailing:
            yield [Splice(at, at, new_lines)]
        elif at == last.end:
            yield [Splice(at, at, "," + new_lines)]
        else:
            yield [Splice(last.end, last.end, ","), Splice(at, at, new_lines)]
    yield [Splice(last.stop, last.stop, (" " if trailing else ", ") + ", ".join(new) + trailing)]


def added_before(items: Items, index: int, new: str) -> Iterator[list[Splice]]:
    """Put a ``new`` item before the one at ``index``."""
    start = items.items[index].start
    indent = _indent(items.source, start)
    yield [Splice(start, start, f"{new}, " if indent is None else f"{new},\n{indent}")]


def removed(items: Items, index: int) -> Iterator[list[Splice]]:
    """Take away the item at ``index``; a comment behind it keeps its place."""
    source, item = items.source, items.items[index]
    own_line = _indent(source, item.start) is not None
    behind = _skip_blanks(source, item.stop)
    line_ends, commented = source.startswith("\n", behind), source.startswith("#", behind)
    is_last = index == len(items.items) - 1
    if len(items.items) == 1:
        yield [Splice(items.open, items.close, "")]
    elif index and not (own_line and commented):
        previous = items.items[index - 1]
        if item.comma_end is None:
            yield [Splice(previous.end, item.end, "")]
        elif (is_last or line_ends) and not (own_line and line_ends):
            yield [Splice(previous.stop, item.stop, "")]
    if own_line and line_ends:
        yield [Splice(source.rfind("\n", 0, item.start) + 1, behind + 1, "")]
    yield [Splice(item.start, item.stop if commented and not own_line else behind, "")]


def spread(items: Items, index: int, inner: Items) -> Iterator[list[Splice]]:
    """Put the elements of a literal in the place of it, the item at ``index``; ``inner`` counts from its start."""
    if not inner.items:
        yield from removed(items, index)
        return
    source, item = items.source, items.items[index]
    shift = item.start
    elements = [
        Item(start + shift, end + shift, None if comma_end is None else comma_end + shift)
        for start, end, comma_end in inner.items
    ]
    yield [*_without_opening(source, item, elements), *_without_closing(source, item, elements[-1])]


def _without_opening(source: str, literal: Item, elements: list[Item]) -> list[Splice]:
    opened = literal.start + 1
    behind = _skip_blanks(source, opened)
    indent = _indent(source, literal.start)
    if not source.startswith("\n", behind):
        keep_blanks = indent is None and source.startswith("#", behind)
        return [Splice(literal.start, opened if keep_blanks else behind, "")]
    if indent is None:
        return [Splice(literal.start, behind, "")]
    # The bracket had a line of its own: that goes, and so does what the elements were indented more for it.
    splices = [Splice(literal.start - len(indent), behind + 1, "")]
    deeper = _indent(source, elements[0].start) or ""
    if deeper.startswith(indent):
        line_starts = [match.end() for match in re.finditer("\n", source[: literal.end]) if match.end() > behind]
        splices += [
            Splice(at + len(indent), at + len(deeper), "")
            for at in line_starts
            if source.startswith(deeper, at) and not any(start < at <= end for start, end, _ in elements)
        ]
    return splices


def _without_closing(source: str, literal: Item, last: Item) -> list[Splice]:
    bracket = literal.end - 1
    indent = _indent(source, bracket)
    behind = _skip_blanks(source, literal.stop)
    if "\n" not in source[last.stop : bracket]:
        both_commas = last.comma_end is not None and literal.comma_end is not None
        return [Splice(last.stop, literal.stop if both_commas else literal.end, "")]
    comma = [Splice(last.end, last.end, ",")] if last.comma_end is None and literal.comma_end is not None else []
    if indent is not None and source.startswith("\n", behind):
        return [*comma, Splice(bracket - len(indent), behind + 1, "")]
    return [*comma, Splice(bracket, behind, "")]


def _indent(source: str, at: int) -> str | None:
    """The blanks before ``at`` when nothing else stands before it on its line (the first line is cut off: None)."""
    before = source[:at].rpartition("\n")
    return before[2] if before[1] and not before[2].strip() else None


def _skip_blanks(source: str, at: int) -> int:
    match = _BLANKS.match(source, at)
    return match.end() if match else at
