"""The passage of a file that a fix is made in: a whole top-level statement, with its tree.

Parsing one passage instead of the file keeps a fix cheap, and possible while the file is broken elsewhere. A verb
says what the tree should become, offers edits, and :func:`confirmed` lets only those pass whose result has exactly
that tree and has lost no comment.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from jaxpert.records import dataclass
from jaxpert.syntax.logical_lines import find_comments
from jaxpert.syntax.parse import SyntaxProblem, column_of, parse
from jaxpert.syntax.scopes import FunctionNode
from jaxpert.syntax.simple_statements import HOLDER, lines_of_simple_statement
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range, range_at, slice_lines, without_line_end

_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class Passage:
    """Some lines of a file and their tree.

    Attributes:
        first: zero-based number of the first line in the file.
        lines: the lines, each ended by ``\\n``; columns are those of the file.
        tree: their tree; verbs change it into the intended one.
        line_end: how the file ends its lines here.
    """

    first: int
    lines: list[str]
    tree: ast.Module
    line_end: str

    def range_of(self, node: ast.AST) -> Range:
        """Where ``node`` (a statement, expression, keyword …) stands in the file."""
        first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
        start = column_of(self.lines, first, node.col_offset)  # type: ignore[attr-defined]
        end = column_of(self.lines, last, node.end_col_offset)  # type: ignore[attr-defined]
        return range_at(first + self.first, start, last + self.first, end)

    def text_of(self, area: Range) -> str:
        """The text of a range of the file, with ``\\n`` as line end."""
        return slice_lines(self.lines, self._local(area))

    def start_of(self, statement: ast.stmt) -> Position:
        """Where ``statement`` starts, decorators included."""
        start = self.range_of(statement).start
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        return Position(self.range_of(decorators[0]).start.line, start.column) if decorators else start

    def line(self, number: int) -> str:
        """A line of the file, without its line end."""
        return without_line_end(self.lines[number - self.first])

    def edited(self, edits: Iterable[Edit]) -> str:
        """The text of the passage after ``edits`` of the file."""
        return apply_edits("".join(self.lines), [Edit(self._local(edit.range), edit.new_text) for edit in edits])

    def around(self, area: Range) -> Iterator[ast.AST]:
        """The nodes whose lines hold those of ``area``, the outermost first."""
        return _nodes_around(self.tree, area.start.line - self.first + 1, area.end.line - self.first + 1)

    def _local(self, area: Range) -> Range:
        return area.moved_up(self.first)


def passage_around(lines: Sequence[str], area: Range) -> Passage | None:
    """The top-level statement that holds ``area``, with the comments behind it; None where that does not parse."""
    if not (0 <= area.start.line <= area.end.line < len(lines)):
        return None
    starts = _statement_starts(source_of(lines))
    first = starts[bisect_right(starts, area.start.line) - 1]
    following = bisect_right(starts, area.end.line)
    end = starts[following] if following < len(starts) else len(lines)
    while end < len(lines) and (not lines[end].strip() or lines[end].lstrip().startswith("#")):
        end += 1
    own = _plain_lines(lines[first:end])
    if own[0].startswith(_BOM):
        own[0] = "\f" + own[0][1:]  # as wide, and nothing to the parser
    tree = parse("".join(own))
    return None if isinstance(tree, SyntaxProblem) else Passage(first, own, tree, line_end_at(lines, area.start.line))


def statement_around(lines: Sequence[str], area: Range) -> Passage | None:
    """Only the simple statement, or the member of a long class, that holds ``area``; None where there is neither.

    It is for edits that look at nothing around it. A line before it stands for what it is in.
    """
    source = source_of(lines)
    if not (0 <= area.start.line <= area.end.line < len(lines)):
        return None
    statement = lines_of_simple_statement(source, area)
    return (_part(lines, *statement) if statement else None) or _member_around(source, area)


def _member_around(source: SourceFile, area: Range) -> Passage | None:
    unit = source.unit_at(area.start.line)
    if unit.class_scope is None or unit.stale or unit.opens is not None or area.end.line >= unit.end:
        return None
    return _part(source.lines, unit.first, unit.end)


def _part(lines: Sequence[str], first: int, end: int) -> Passage | None:
    own = [HOLDER, *_plain_lines(lines[first:end])]
    tree = parse("".join(own))
    if isinstance(tree, SyntaxProblem) or len(tree.body) != 1:
        return None
    return Passage(first - 1, own, tree, line_end_at(lines, first))


def _plain_lines(lines: Sequence[str]) -> list[str]:
    return [without_line_end(line) + "\n" if line.endswith(("\n", "\r")) else line for line in lines]


_read: list[SourceFile | None] = []


@contextmanager
def already_read(source: SourceFile) -> Iterator[None]:
    """Within, nobody needs to parse the lines of ``source`` again to learn what stands where."""
    _read.append(source if source.problem is None and source.is_current else None)
    try:
        yield
    finally:
        _read.pop()


def source_of(lines: Sequence[str]) -> SourceFile:
    """The file that ``lines`` are, read once for all fixes of one text. Nobody edits it."""
    known = _read[-1] if _read else None
    if known is not None and known.lines is lines:
        return known
    return _source("".join(lines))


@lru_cache(maxsize=2)
def _source(text: str) -> SourceFile:
    return SourceFile(text)


def _statement_starts(source: SourceFile) -> list[int]:
    """The line where each top-level statement (with the comments before it) starts, even in a broken file."""
    return [unit.first for unit in source.units if unit.class_scope is None]


def line_end_at(lines: Sequence[str], line: int) -> str:
    """How the file ends its lines near ``line``."""
    for near in (*lines[line:], *reversed(lines[:line])):
        if end := near[len(without_line_end(near)) :]:
            return end
    return "\n"


def expression(source: str) -> ast.expr | None:
    """The tree of an expression, which may span lines; None when ``source`` is none."""
    tree = parse(f"({source}\n)")
    if isinstance(tree, SyntaxProblem) or len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return None
    return tree.body[0].value


def statement(source: str) -> ast.stmt | None:
    """The tree of one statement; None when ``source`` is none, or several."""
    tree = parse(source)
    return tree.body[0] if isinstance(tree, ast.Module) and len(tree.body) == 1 else None


def expression_at(
    lines: Sequence[str], area: Range, *, alone: bool = False
) -> tuple[Passage, ast.expr] | None:
    """The expression that fills ``area`` exactly, without parentheses around it, and the passage around it.

    Args:
        alone: whether the statement around is all that anybody looks at.
    """
    passage = (statement_around(lines, area) if alone else None) or passage_around(lines, area)
    if passage is None:
        return None
    for node in passage.around(area):
        if isinstance(node, ast.expr) and passage.range_of(node) == area:
            # Before Python 3.12 the nodes inside f-strings may point anywhere.
            text, meant = passage.text_of(area), node
            if isinstance(node, ast.Starred):
                text, meant = text[1:], node.value
            own = expression(text)
            return (passage, node) if own is not None and same_tree(own, meant) else None
    return None


def function_at(lines: Sequence[str], area: Range) -> tuple[Passage, FunctionNode] | None:
    """The lambda or ``def`` that fills ``area`` exactly, without its decorators, and the passage around it."""
    passage = passage_around(lines, area)
    if passage is None:
        return None
    for node in passage.around(area):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and passage.range_of(node) == area:
            return passage, node
    return None


def statement_at(lines: Sequence[str], area: Range) -> tuple[Passage, ast.stmt] | None:
    """The statement that fills ``area`` exactly, or the one that consists of that expression."""
    passage = passage_around(lines, area)
    if passage is None:
        return None
    for node in passage.around(area):
        if isinstance(node, ast.stmt):
            if passage.range_of(node) == area or (isinstance(node, ast.Expr) and passage.range_of(node.value) == area):
                return passage, node
    return None


def _nodes_around(tree: ast.AST, first: int, last: int) -> Iterator[ast.AST]:
    """The nodes of ``tree`` whose lines hold ``first`` to ``last``, the outermost first.

    Before Python 3.12 nodes inside f-strings may point anywhere, so all of those are given; decorators stand before
    what they decorate.
    """
    waiting = [(tree, False)]
    for node, anywhere in waiting:  # which grows meanwhile
        yield node
        anywhere = anywhere or isinstance(node, ast.JoinedStr)
        for child in ast.iter_child_nodes(node):
            start = getattr(child, "lineno", None)
            if anywhere or start is None or getattr(child, "decorator_list", None):
                waiting.append((child, anywhere))
            elif start <= first and last <= child.end_lineno:  # type: ignore[attr-defined]
                waiting.append((child, False))


def replace_node(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Put ``new`` (which may contain ``old``) where ``old`` stands in ``tree``."""
    first, last = getattr(old, "lineno", None), getattr(old, "end_lineno", None)
    parents = ast.walk(tree) if first is None or last is None else _nodes_around(tree, first, last)
    for parent in parents:
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
                return
            if isinstance(value, list) and any(item is old for item in value):
                value[:] = [new if item is old else item for item in value]
                return


def same_tree(one: ast.AST, other: ast.AST) -> bool:
    """Whether two trees mean the same program; positions play no part."""
    pairs: list[tuple[Any, Any]] = [(one, other)]
    while pairs:
        left, right = pairs.pop()
        if left.__class__ is not right.__class__:
            return False
        if isinstance(left, ast.AST):
            mine, theirs = left.__dict__, right.__dict__
            for field in left._fields:
                pair = mine.get(field), theirs.get(field)
                if pair[0] is not pair[1]:
                    pairs.append(pair)
        elif left.__class__ is list:
            if len(left) != len(right):
                return False
            pairs += zip(left, right)
        elif left != right:
            return False
    return True


def confirmed(passage: Passage, candidates: Iterable[Iterable[Edit]]) -> tuple[Edit, ...] | None:
    """The first of ``candidates`` that makes the passage's text into what its (changed) tree says.

    Returns:
        Edits of the file, in order, in its own line ends; None when no candidate does, or each loses a comment.
    """
    for candidate in candidates:
        edits = sorted(edit for edit in candidate if edit.new_text or edit.range.start != edit.range.end)
        text = passage.edited(edits)
        tree = parse(text)
        if isinstance(tree, SyntaxProblem) or not same_tree(tree, passage.tree):
            continue
        if any("#" in passage.text_of(edit.range) for edit in edits):
            if _comments("".join(passage.lines)) != _comments(text):
                continue
        return tuple(Edit(edit.range, edit.new_text.replace("\n", passage.line_end)) for edit in edits)
    return None


def _comments(text: str) -> list[str]:
    return [comment.text for comment in find_comments(text)]


def moved(start: Position, text: str, offset: int) -> Position:
    """The position ``offset`` characters into ``text``, which stands at ``start`` and has ``\\n`` as line end."""
    before = text[:offset]
    breaks = before.count("\n")
    return Position(start.line + breaks, offset - before.rfind("\n") - 1 if breaks else start.column + offset)
