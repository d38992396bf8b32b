"""A file as a row of units, each with a tree of its own, re-parsed one at a time as the user types.

A unit is a top-level statement with the blank lines and comments before it; a long class is cut again into its
members. Every tree lives in private *virtual* lines that never change, so typing in one unit moves nothing in
the others; :meth:`SourceFile.range_of` maps a node to where it stands now.

A unit whose text does not parse keeps its last good trees and is *stale*: their nodes are still found outside
the lines edited since. Invariant: after :meth:`SourceFile.reconcile`, if the text parses, the units are those
of a fresh ``SourceFile`` of the same text.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from jaxpert.syntax.changes import changes
from jaxpert.syntax.children import children
from jaxpert.syntax.equality import are_the_same
from jaxpert.syntax.exchange import exchanged
from jaxpert.syntax.indexing import index
from jaxpert.syntax.parse import MAX_LINES, SyntaxProblem, column_of, parse
from jaxpert.syntax.scopes import Binding, BindingKind, Scope, TreeIndex
from jaxpert.text.lines import Range, clamp, range_at, split_lines

_LONG_CLASS = 40
"""Lines from which a class is cut into its members."""

_CONTINUES = re.compile(r"(?:else|elif|except|finally|case)\b|[)\]}\"']")
_STARTS_AFRESH = re.compile(r"(?:def|class|async|import|from|with|while|try|return|raise|assert|del)\b|@")
_TRIPLE_QUOTES = ('"""', "'''")
_BOM = "\ufeff"


class Unit:
    """Lines ``first`` up to ``end`` of the document, and the trees that hold their statements.

    A good unit has exactly one tree. ``class_scope`` is set for the members of a cut class; ``opens`` for the
    unit that holds the class's header.
    """

    __slots__ = ("class_scope", "end", "first", "opens", "stale", "trees")

    def __init__(self, first: int, end: int, trees: list[TreeIndex], class_scope: Scope | None = None) -> None:
        self.first = first
        self.end = end
        self.trees = trees
        self.class_scope = class_scope
        self.opens: Scope | None = None
        self.stale = False


class SourceFile:
    """A Python text that is cheap to edit and always has trees.

    Attributes:
        lines: the text, cut by :func:`~jaxpert.text.lines.split_lines`.
        units: in order; together they cover every line.
        module: the module scope.
        problem: what the last full parse said, if it failed.
        environment: changes whenever so much changes at module or class level that every fact may be another one.
        cut: changes with every edit but those that exchange one statement of a function for another.
    """

    def __init__(self, text: str) -> None:
        self.lines = split_lines(text)
        self._text: str | None = text
        self._contained: dict[str, bool] = {}
        self.units: list[Unit] = []
        self.module = Scope("module", None, None, None)
        self.problem: SyntaxProblem | None = None
        self.environment = 0
        self.cut = 0
        self._trees: list[TreeIndex] = []
        self._bases: list[int] = []
        self._next_virtual = 1
        if not self._parse_whole():
            self._parse_pieces()

    @property
    def text(self) -> str:
        """The whole text."""
        if self._text is None:
            self._text = "".join(self.lines)
        return self._text

    def contains(self, word: str) -> bool:
        """Whether ``word``, which is of one line, stands anywhere in the text; remembered from edit to edit."""
        known = self._contained.get(word)
        if known is None:
            known = self._contained[word] = word in self.text
        return known

    def contains_any(self, words: Iterable[str]) -> bool:
        """Whether one of ``words`` stands in the text."""
        return any(map(self.contains, words))

    @property
    def is_current(self) -> bool:
        """Whether every unit's tree is the tree of its text."""
        return not any(unit.stale for unit in self.units)

    def trees(self) -> list[TreeIndex]:
        """All trees, in the order of the document."""
        return [tree for unit in self.units for tree in unit.trees]

    def dismantle(self) -> None:
        """Free all trees at once, without a garbage collection. Nothing may use the file any more."""
        for tree in self.trees():
            tree.dismantle()
        self.units = []
        self._trees = []
        self._text = None
        self.module.rebind({})

    # -- positions --------------------------------------------------------------------------------------------

    def tree_at(self, virtual_line: int) -> TreeIndex:
        """The tree that owns a node's ``lineno``."""
        return self._trees[max(0, bisect_right(self._bases, virtual_line) - 1)]

    def line_of(self, virtual_line: int) -> int | None:
        """Zero-based document line of a node's ``lineno``; None when that line was edited since."""
        tree = self.tree_at(virtual_line)
        return tree.line_now(virtual_line - tree.virtual_base)

    def range_of(self, node: ast.AST) -> Range | None:
        """Where ``node`` stands now; None when its lines were edited since its tree was made."""
        return self.range_between(node, node)

    def range_between(self, first: ast.AST, last: ast.AST) -> Range | None:
        """From the start of ``first`` to the end of ``last`` (nodes of the same tree)."""
        start = self.line_of(first.lineno)  # type: ignore[attr-defined]
        end = self.line_of(last.end_lineno)  # type: ignore[attr-defined]
        if start is None or end is None or end >= len(self.lines):
            return None
        return range_at(
            start,
            self._column(start, first.col_offset),  # type: ignore[attr-defined]
            end,
            self._column(end, last.end_col_offset),  # type: ignore[attr-defined]
        )

    def _column(self, line: int, utf8_column: int) -> int:
        shift = 1 if line == 0 and self.lines[0].startswith(_BOM) else 0
        if shift:
            return column_of([self.lines[0][1:]], 0, utf8_column) + 1
        return column_of(self.lines, line, utf8_column)

    def unit_at(self, line: int) -> Unit:
        """The unit that covers a document line."""
        return self.units[self._unit_number(line)]

    def _unit_number(self, line: int) -> int:
        low, high = 0, len(self.units) - 1
        while low < high:
            middle = (low + high) // 2
            if self.units[middle].end > line:
                high = middle
            else:
                low = middle + 1
        return low

    # -- parsing ----------------------------------------------------------------------------------------------

    def _source(self, first: int, end: int) -> str:
        text = "".join(self.lines[first:end])
        return text[1:] if first == 0 and text.startswith(_BOM) else text

    def _parse_whole(self) -> bool:
        """Parse the whole text and replace all units. False, changing no unit, when it does not parse."""
        read = self._read_whole()
        if read is None:
            return False
        self.problem = None
        self.module, self.units = read
        self._next_virtual = len(self.lines) + 2
        self._refresh()
        return True

    def _read_whole(self) -> tuple[Scope, list[Unit]] | None:
        """The module scope and units of the whole text; None, setting ``problem``, when it does not parse."""
        if len(self.lines) > MAX_LINES:
            self.problem = SyntaxProblem(f"longer than {MAX_LINES:,} lines: not analysed", range_at(0, 0, 0, 0), True)
            return None
        tree = parse(self._source(0, len(self.lines)))
        if isinstance(tree, SyntaxProblem):
            self.problem = tree
            return None
        module, self.module = self.module, Scope("module", None, None, None)
        try:
            return self.module, self._cut(tree.body, 0, len(self.lines), None, base=1)
        except RecursionError:
            self.problem = SyntaxProblem("nested too deeply to be analysed", range_at(0, 0, 0, 0), True)
            return None
        finally:
            self.module = module

    def _parse_pieces(self) -> None:
        """Make units of a text that has never parsed: cut at column 0 and keep what parses."""
        total = self.problem is not None and self.problem.total
        starts = [0]
        if not total:
            for number, line in enumerate(self.lines):
                if number and line[:1].strip() and line[0] != "#" and not _CONTINUES.match(line):
                    if not self.lines[number - 1].startswith("@"):
                        starts.append(number)
        starts.append(len(self.lines))
        self.units = []
        position = 0
        while position < len(starts) - 1:
            first = starts[position]
            for reach in (1, 2, 3, 5, 9):
                end = starts[min(position + reach, len(starts) - 1)]
                if not total and (units := self._parse_region(first, end, None)) is not None:
                    self.units.extend(units)
                    position = min(position + reach, len(starts) - 1)
                    break
            else:
                end = starts[position + 1]
                self.units.extend(
                    self._pieces_of_class(first, end) if not total else [self._unread(first, end, self.module)]
                )
                position += 1
        self._refresh()

    def _pieces_of_class(self, first: int, end: int) -> list[Unit]:
        """A broken chunk: if it is a class, keep the members that parse; else an empty stale unit."""
        if not self.lines[first].startswith("class "):
            return [self._unread(first, end, self.module)]
        indent = next(
            (
                line[: len(line) - len(line.lstrip())]
                for line in self.lines[first + 1 : end]
                if line.strip() and not line.lstrip().startswith("#")
            ),
            "",
        )
        starts = [
            n
            for n in range(first + 1, end)
            if indent
            and self.lines[n].startswith(indent)
            and self.lines[n][len(indent) : len(indent) + 1].strip(" \t#)]}\r\n")
            and not self.lines[n - 1].startswith(indent + "@")
        ]
        header = parse(self._source(first, starts[0]) + indent + "pass\n") if starts else None
        if not isinstance(header, ast.Module) or len(header.body) != 1 or not isinstance(header.body[0], ast.ClassDef):
            return [self._unread(first, end, self.module)]
        node = header.body[0]
        node.body = []
        tree = self._adopt([node], first, starts[0], self.module, self._claim(first, starts[0], header, 0))
        opening = Unit(first, starts[0], [tree])
        scope = opening.opens = tree.classes[node]
        units = [opening]
        for start, stop in zip(starts, [*starts[1:], end]):
            member = self._parse_region(start, stop, scope)
            units.extend(member if member is not None else [self._unread(start, stop, scope, scope)])
        return units

    def _parse_region(self, first: int, end: int, class_scope: Scope | None) -> list[Unit] | None:
        """Units of the lines ``first`` up to ``end`` alone, or None when they do not parse."""
        source = self._source(first, end)
        tree = parse("class _:\n" + source if class_scope else source)
        if isinstance(tree, SyntaxProblem):
            blank = all(not line.strip() or line.lstrip().startswith("#") for line in self.lines[first:end])
            if not (class_scope and blank):
                return None
            tree = ast.Module([], [])
        body = tree.body
        if class_scope and body:
            if len(body) != 1 or not isinstance(body[0], ast.ClassDef):
                return None
            body = body[0].body
        base = self._claim(first, end, tree, 1 if class_scope else 0)
        try:
            return self._cut(body, first, end, class_scope, base)
        except RecursionError:
            return None

    def _unread(self, first: int, end: int, top: Scope, class_scope: Scope | None = None) -> Unit:
        """A stale unit of lines that have never parsed."""
        tree = self._adopt([], first, first, top, self._next_virtual)
        tree.line_map = []
        self._next_virtual += 1
        unit = Unit(first, end, [tree], class_scope)
        unit.stale = True
        return unit

    def _claim(self, first: int, end: int, tree: ast.AST, wrapped: int) -> int:
        """Move ``tree`` to virtual lines of its own; returns the virtual line of document line ``first``."""
        base = self._next_virtual
        self._next_virtual = base + (end - first) + 2
        shift = base - 1 - wrapped
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            fields = node.__dict__
            if "lineno" in fields:
                fields["lineno"] += shift
                fields["end_lineno"] += shift
            waiting += children(node)
        return base

    def _cut(self, body: list[ast.stmt], first: int, end: int, class_scope: Scope | None, base: int) -> list[Unit]:
        """Cut statements, whose virtual line ``base`` is document line ``first``, into units covering all lines."""
        groups: list[tuple[int, int, list[ast.stmt]]] = []
        for statement in body:
            start = _first_line(statement) - base + first
            stop = statement.end_lineno - base + first + 1  # type: ignore[operator]
            if groups and start < groups[-1][1]:  # a; b on one line
                last = groups[-1]
                groups[-1] = (last[0], max(last[1], stop), [*last[2], statement])
            else:
                groups.append((start, stop, [statement]))
        top = class_scope or self.module
        units: list[Unit] = []
        at = first
        for number, (_, stop, statements) in enumerate(groups):
            stop = end if number == len(groups) - 1 else stop
            node = statements[0]
            if (
                class_scope is None
                and len(statements) == 1
                and isinstance(node, ast.ClassDef)
                and stop - at > _LONG_CLASS
                and node.body[0].lineno > node.lineno
            ):
                units.extend(self._cut_class(node, at, stop, base + at - first))
            else:
                units.append(Unit(at, stop, [self._adopt(statements, at, stop, top, base + at - first)], class_scope))
            at = stop
        if not units:
            units.append(Unit(first, end, [self._adopt([], first, end, top, base)], class_scope))
        return units

    def _cut_class(self, node: ast.ClassDef, first: int, end: int, base: int) -> list[Unit]:
        members, node.body = node.body, []
        header_end = _first_line(members[0]) - base + first
        if header_end <= node.lineno - base + first:
            node.body = members
            return [Unit(first, end, [self._adopt([node], first, end, self.module, base)])]
        tree = self._adopt([node], first, header_end, self.module, base)
        opening = Unit(first, header_end, [tree])
        scope = opening.opens = tree.classes[node]
        return [opening, *self._cut(members, header_end, end, scope, base + header_end - first)]

    def _adopt(self, statements: list[ast.stmt], first: int, end: int, top: Scope, base: int) -> TreeIndex:
        tree = index(statements, top)
        tree.first_line = first
        tree.virtual_base = base
        tree.virtual_length = end - first
        return tree

    def _refresh(self) -> None:
        """Bring everything that is derived from the units up to date."""
        self.cut += 1
        self._trees = sorted(self.trees(), key=lambda tree: tree.virtual_base)
        self._bases = [tree.virtual_base for tree in self._trees]
        scopes: dict[int, tuple[Scope, dict[str, list[Binding]]]] = {}
        for unit in self.units:
            for tree in unit.trees:
                tree.first_line = unit.first
                merged = scopes.setdefault(id(tree.top), (tree.top, {}))[1]
                for name, bindings in tree.contribution.items():
                    known = merged.get(name)
                    merged[name] = bindings if known is None else known + bindings
        self.module.rebind({})
        for scope, merged in scopes.values():
            scope.rebind(merged)

    # -- editing ----------------------------------------------------------------------------------------------

    def edit(self, area: Range, new_text: str) -> None:
        """Replace ``area`` (clamped to the text) by ``new_text``, re-parsing as little as possible."""
        start, end = clamp(self.lines, area.start), clamp(self.lines, area.end)
        if end < start:
            start, end = end, start
        first, last = start.line, end.line
        merged = self.lines[first][: start.column] + new_text + self.lines[last][end.column :]
        if first and merged.startswith("\n") and self.lines[first - 1].endswith("\r"):
            first -= 1
            merged = self.lines[first] + merged
        while last + 1 < len(self.lines) and merged.endswith("\r") and self.lines[last + 1].startswith("\n"):
            last += 1
            merged += self.lines[last]
        new_lines = split_lines(merged)
        if last + 1 < len(self.lines) and new_lines[-1] == "":
            new_lines.pop()
        if last + 1 < len(self.lines) and new_lines and not new_lines[-1].endswith(("\n", "\r")):
            last += 1  # the line end itself was replaced
            new_lines[-1] += self.lines[last]
        self._replace_lines(first, last + 1, new_lines)

    def replace(self, text: str) -> None:
        """Make ``text`` the whole text, keeping every unit outside the first and last changed line."""
        new = split_lines(text)
        old = self.lines
        head = 0
        while head < min(len(old), len(new)) and old[head] == new[head]:
            head += 1
        tail = 0
        while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
            tail += 1
        if head == len(old) == len(new):
            return
        head = min(head, len(old) - 1)
        end = max(len(old) - tail, head + 1)
        self._replace_lines(head, end, new[head : len(new) - (len(old) - end)])

    def reconcile(self) -> bool:
        """Parse the whole text again; True when that changes what the file means."""
        before = self.problem
        read = self._read_whole()
        if read is None:
            return before != self.problem
        self.problem = None
        if self.is_current and _shape(read[1]) == _shape(self.units):  # each unit has been parsed from this very text
            return before is not None
        self.module, self.units = read
        self._next_virtual = len(self.lines) + 2
        self.environment += 1
        self._refresh()
        return True

    def _replace_lines(self, first: int, end: int, new: list[str]) -> None:
        low = self._unit_number(first)
        high = self._unit_number(end - 1)
        grown = len(new) - (end - first)
        gone, come = "".join(self.lines[first:end]), "".join(new)
        for word, known in list(self._contained.items()):
            if known and word in gone:
                del self._contained[word]
            elif not known and word in come:
                self._contained[word] = True
        self.lines[first:end] = new
        self._text = None
        for unit in self.units[high + 1 :]:
            unit.first += grown
            unit.end += grown
        self.units[high].end += grown
        if low == high and not grown:
            if self._exchange(self.units[low], first, end):
                return
            if _code_of(gone) == _code_of(come) and self._is_unchanged(self.units[low]):
                return
        if self._reparse(low, high):
            return
        if self._may_continue(low) and self._reparse(low - 1, high):
            return
        if self._may_be_continued(high) and self._reparse(low, high + 1):
            return
        touched = self.units[low : high + 1]
        if (
            any(unit.opens or unit.class_scope is not touched[0].class_scope for unit in touched)
            and self._parse_whole()
        ):
            self.environment += 1
            return
        self._let_stale(low, high, first, end, grown)

    def _exchange(self, unit: Unit, first: int, end: int) -> bool:
        """Take in what changed in lines ``first`` up to ``end`` of ``unit``, if that is one statement of a function."""
        if unit.opens or len(unit.trees) != 1:
            return False
        tree = unit.trees[0]
        if tree.line_map is not None and len(tree.line_map) != unit.end - unit.first:
            return False
        made = exchanged(tree, self.lines[unit.first : unit.end], first - unit.first, end - unit.first)
        if made is None:
            return False
        if made is not tree:
            unit.trees = [made]
            unit.stale = False
            self._trees[self._trees.index(tree)] = made
        return True

    def _is_unchanged(self, unit: Unit) -> bool:
        """Whether the statements of ``unit``, whose lines have changed, are what they were, at the same places."""
        if unit.stale or unit.opens or len(unit.trees) != 1 or unit.trees[0].line_map is not None:
            return False
        wrapped = 1 if unit.class_scope else 0
        source = self._source(unit.first, unit.end)
        read = parse("class _:\n" + source if wrapped else source)
        if isinstance(read, SyntaxProblem):
            return False
        body = read.body
        if wrapped:
            if len(body) != 1 or not isinstance(body[0], ast.ClassDef):
                return False
            body = body[0].body
        tree = unit.trees[0]
        return are_the_same(tree.statements, body, tree.virtual_base - 1 - wrapped)

    def _may_continue(self, number: int) -> bool:
        """Whether a unit that does not parse alone may do so with the one before it."""
        if not number:
            return False
        before, code = self._code(number - 1), self._code(number)
        if self.units[number - 1].stale or not before or not code:
            return True
        return _indent(code[0]) > _indent(before[0]) or bool(_CONTINUES.match(code[0].lstrip()))

    def _may_be_continued(self, number: int) -> bool:
        """Whether a unit that does not parse alone may do so with the one after it: rarely where that starts afresh."""
        if number + 1 >= len(self.units):
            return False
        code, after = self._code(number), self._code(number + 1)
        if self.units[number + 1].stale or not code or not after or not _STARTS_AFRESH.match(after[0].lstrip()):
            return True
        is_open = any(sum(line.count(quotes) for line in code) % 2 for quotes in _TRIPLE_QUOTES)
        return is_open or code[-1].lstrip().startswith("@")

    def _code(self, number: int) -> list[str]:
        """The lines of a unit that are neither blank nor comments."""
        unit = self.units[number]
        return [line for line in self.lines[unit.first : unit.end] if line.strip() and line.lstrip()[0] != "#"]

    def _reparse(self, low: int, high: int) -> bool:
        """Parse units ``low`` to ``high`` as one region and put the result in their place."""
        if low < 0 or high >= len(self.units):
            return False
        touched = self.units[low : high + 1]
        class_scope = touched[0].class_scope
        if any(unit.opens or unit.class_scope is not class_scope for unit in touched):
            return False
        first, end = touched[0].first, touched[-1].end
        if first >= end and len(touched) < len(self.units):  # all its lines were deleted
            self.units[low : high + 1] = []
            self.environment += 1
            self._refresh()
            return True
        made = self._parse_region(first, end, class_scope)
        if made is None:
            return False
        changed = _outline(touched) ^ _outline(made)
        for unit in touched:
            for tree in unit.trees:
                tree.alive = False
        self.units[low : high + 1] = made
        self._refresh()
        self._forget_facts_about(changed)
        return True

    def _forget_facts_about(self, changed: set[tuple[str, str, str]]) -> None:
        """Drop what trees remember that may rest, directly or through other names, on what changed."""
        if any(kind in ("CLASS", "STAR_IMPORT", "IMPORT") for _, kind, _ in changed):
            self.environment += 1  # anything may rest on that
            return
        names = {name for name, _, _ in changed}
        waiting = self.trees() if names else []
        reached = waiting
        while reached:
            reached = [tree for tree in waiting if not names.isdisjoint(tree.mentions())]
            waiting = [tree for tree in waiting if names.isdisjoint(tree.mentions())]
            for tree in reached:
                tree.facts.clear()
                tree.values.clear()
                names |= {name for name, _, _ in _outline_of(tree)}

    def _let_stale(self, low: int, high: int, first: int, end: int, grown: int) -> None:
        """Keep the trees of units ``low`` to ``high``, whose lines ``first`` to ``end`` changed, as last good ones."""
        touched = self.units[low : high + 1]
        start = touched[0].first
        trees = []
        for unit in touched:
            for tree in unit.trees:
                # first_line is still the one before this edit
                lines = tree.line_map or list(range(tree.virtual_length))
                tree.line_map = [_moved(line, tree.first_line, start, first, end, grown) for line in lines]
                trees.append(tree)
        merged = Unit(start, touched[-1].end, trees, touched[0].class_scope)
        merged.opens = next((unit.opens for unit in touched if unit.opens), None)
        merged.stale = True
        self.units[low : high + 1] = [merged]
        self._refresh()


def _moved(line: int | None, tree_first: int, unit_first: int, first: int, end: int, grown: int) -> int | None:
    """Where a line of a tree stands after an edit, relative to the unit that now holds it."""
    if line is None:
        return None
    absolute = tree_first + line
    if first <= absolute < end:
        return None
    return absolute - unit_first + (grown if absolute >= end else 0)


def _shape(units: list[Unit]) -> list[tuple[int, int, bool, bool]]:
    """Where a file is cut. Blank lines at a cut may belong to either side, so empty units do not count."""
    return [
        (tree.first_line, len(tree.statements), unit.class_scope is not None, unit.opens is not None)
        for unit in units
        for tree in unit.trees
        if tree.statements
    ]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _code_of(line: str) -> str:
    """What stands before the comment, if there is one; what a string holds behind a ``#`` does not count either."""
    return line.partition("#")[0].rstrip()


def _first_line(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", None)
    return min(statement.lineno, decorators[0].lineno) if decorators else statement.lineno


def _outline(units: list[Unit]) -> set[tuple[str, str, str]]:
    """What ``units`` bind at module and class level and on ``self``, and with what.

    While outlines stay equal, an edit can change other units' facts only through the bodies of functions.
    """
    return {item for unit in units for tree in unit.trees for item in _outline_of(tree)}


def _outline_of(tree: TreeIndex) -> Iterator[tuple[str, str, str]]:
    """Names and, with a dot before them, attributes; how each is bound; and with what."""
    dot = "." if tree.top.kind == "class" else ""
    for name, known in tree.contribution.items():
        for binding in known:
            yield dot + name, binding.kind.name, _dump(binding)
    for scope in tree.classes.values():
        for name, known in scope.bindings.items():
            for binding in known:
                yield f".{name}", binding.kind.name, _dump(binding)
    for statement in tree.block_of:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
            yield f".{statement.targets[0].attr}", "", ast.dump(statement.value)
    for name, made in changes(tree).items():
        for change in made:
            if change.is_seen_elsewhere:
                yield name, "changed", change.text


def _dump(binding: Binding) -> str:
    if binding.value is not None or binding.kind is BindingKind.AUGMENTED:
        return ast.dump(binding.value or binding.node)
    decorators = getattr(binding.node, "decorator_list", ())
    return repr(binding.detail) + "".join(ast.dump(decorator) for decorator in decorators)
