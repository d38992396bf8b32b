"""What every refactoring is made of: an offer with a title, and the edits that are worked out when it is chosen."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from jaxpert.fixing.imports import ImportedName, ensure_import, known_name
from jaxpert.model.cursor import expressions_at
from jaxpert.model.file_model import FileModel
from jaxpert.model.values import Symbol
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Severity
from jaxpert.syntax.scopes import BindingKind, TreeIndex
from jaxpert.syntax.units import SourceFile, Unit
from jaxpert.text.edits import Edit, apply_edits, disjoint
from jaxpert.text.lines import Position, Range, slice_lines, split_lines

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis
    from jaxpert.syntax.expressions import Expression

Edits = tuple[Edit, ...]

REWRITE = "refactor.rewrite"
EXTRACT = "refactor.extract"

_LONGEST_SHOWN = 40


class RefactoringRefused(Exception):
    """The refactoring would not keep what the program does, or has no place; the text says why, for the user."""


@dataclass(frozen=True, slots=True)
class Refactoring:
    """Something that can be done to the code at a place.

    Attributes:
        title: an imperative.
        kind: the protocol's kind of action, :data:`REWRITE` or :data:`EXTRACT`.
        make: works out the edits; raises :class:`RefactoringRefused`.
    """

    title: str
    kind: str
    make: Callable[[], Edits]


class Spot:
    """The place that the user points at: a cursor, or a selection.

    Attributes:
        analysis: of the file.
        area: the selection without blanks at its ends; empty for a cursor.
    """

    def __init__(self, analysis: Analysis, area: Range) -> None:
        self.analysis = analysis
        self.area = _trimmed(analysis.model.source.lines, area)

    @property
    def model(self) -> FileModel:
        """The facts about the file."""
        return self.analysis.model

    @property
    def is_selection(self) -> bool:
        """Whether something is selected."""
        return self.area.start != self.area.end

    @cached_property
    def expressions(self) -> list[tuple[Expression, Range]]:
        """The expressions around the start of the place, the innermost first."""
        return expressions_at(self.model, self.area.start)

    @cached_property
    def selected(self) -> tuple[Expression, Range] | None:
        """The outermost expression that is selected exactly, with or without parentheses around it."""
        if not self.is_selection:
            return None
        start, end = _without_parentheses(self.model.source.lines, self.area)
        inside = expressions_at(self.model, start) if start != self.area.start else self.expressions
        return next((one for one in reversed(inside) if one[1] in (self.area, Range(start, end))), None)

    def is_in(self, area: Range | None) -> bool:
        """Whether the whole place lies in ``area``."""
        return area is not None and area.contains(self.area.start) and area.contains(self.area.end)

    def holds(self, node: ast.AST) -> bool:
        """Whether the whole place lies in a node of this file."""
        return self.is_in(self.model.range_of(node))


def _trimmed(lines: list[str], area: Range) -> Range:
    text = slice_lines(lines, area)
    if not text.strip():
        return Range(area.start, area.start) if area.start == area.end or not text else Range(area.end, area.end)
    first, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return Range(_ahead(area.start, text, first), _ahead(area.start, text, end))


def _without_parentheses(lines: list[str], area: Range) -> tuple[Position, Position]:
    while (text := slice_lines(lines, area)).startswith("(") and text.endswith(")"):
        inner = Range(_ahead(area.start, text, 1), _ahead(area.start, text, len(text) - 1))
        if (tighter := _trimmed(lines, inner)).start == tighter.end:
            break
        area = tighter
    return area.start, area.end


def _ahead(start: Position, text: str, count: int) -> Position:
    before = split_lines(text[:count])
    column = len(before[-1])
    return Position(start.line + len(before) - 1, column + start.column if len(before) == 1 else column)


# -- names ------------------------------------------------------------------------------------------------------------


def imported_api(
    model: FileModel, apis: Sequence[str], use: Position, statement: str, member: str = "{}"
) -> ImportedName:
    """How to write an API at ``use``: as the file does, else by the import ``statement``.

    Args:
        apis: its name, and those of others that will do as well.
        member: how the API is written with the name that ``statement`` gives in place of ``{}``.

    Raises:
        RefactoringRefused: it cannot be named there.
    """
    known = [api for name in apis if (api := model.db.api(name)) is not None]
    paths = [path for api in known for path in api.paths if "._" not in path]
    text = model.source.text
    written = known_name(model.source, sorted(paths, key=lambda path: -text.count(path)), use)
    if written is None or "." in written:
        written = next(_aliases(model, paths, use), written)
    if written is not None:
        return ImportedName(written, ())
    name, edits = imported(model, statement, use)
    return ImportedName(member.format(name), edits)


def _aliases(model: FileModel, paths: Sequence[str], use: Position) -> Iterator[str]:
    """Variables of the module that are one of ``paths``, seen from ``use``: ``cp = jax.checkpoint_policies``."""
    site = model.site_at(use)
    for name, bindings in model.source.module.bindings.items():
        binding = bindings[0]
        if len(bindings) > 1 or binding.kind is not BindingKind.ASSIGN or binding.block.parent is not None:
            continue
        value = model.evaluator.binding(binding) if isinstance(binding.value, (ast.Name, ast.Attribute)) else None
        where = model.range_of(binding.node)
        if isinstance(value, Symbol) and value.path in paths and where is not None and where.end < use:
            found = site.scope.lookup(name) if site is not None else None
            if found is not None and found[0] is model.source.module:
                yield name


def imported(model: FileModel, statement: str, use: Position) -> ImportedName:
    """How to write what ``statement`` imports, with the edits that import it where that is needed.

    Raises:
        RefactoringRefused: there is no safe place for the import, or the name means something else.
    """
    found = ensure_import(model.source.lines, statement, use, model.source)
    if found is None:
        raise RefactoringRefused(f"there is no safe place here for `{statement}`")
    return found


def shortened(text: str) -> str:
    """``text`` on one line, cut where it is long: for titles."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


# -- results ----------------------------------------------------------------------------------------------------------


def together(*parts: Iterable[Edit] | None) -> Edits:
    """The edits of several steps as one set, each once.

    Raises:
        RefactoringRefused: a step found no way to do it.
    """
    edits: list[Edit] = []
    for part in parts:
        if part is None:
            raise RefactoringRefused("the code is laid out in a way that cannot be changed without losing something")
        edits += [edit for edit in part if edit not in edits]
    return disjoint(edits)


def model_after(model: FileModel, edits: Iterable[Edit]) -> FileModel:
    """The facts about the file as it would be after ``edits``."""
    return model_with(model, apply_edits(model.source.text, edits))


def model_with(model: FileModel, text: str) -> FileModel:
    """The facts about the file as it would be with another text."""
    return FileModel(
        SourceFile(text),
        model.db,
        model.path,
        model.module,
        model.is_package,
        model.lookup,
        names=model.names,
        generation=model.generation,
    )


@contextmanager
def tried(model: FileModel, edits: Edits) -> Iterator[FileModel]:
    """Within, the facts about the file as it would be after ``edits``, collected where these can make a difference.

    That is where something is edited, and where its names, or names for those, are mentioned.
    """
    after = model_after(model, edits)
    concerned = _concerned(after.source, edits)
    try:
        if 2 * len(concerned) > len(after.every_tree):
            yield after
        else:
            with after.focus([tree for tree in after.every_tree if tree in concerned]):
                yield after
    finally:
        after.source.dismantle()


def _concerned(source: SourceFile, edits: Edits) -> set[TreeIndex]:
    """The trees of an edited text that what its edits say may concern."""
    edited = [tree for unit in _edited_units(source, edits) for tree in unit.trees]
    names = {name for tree in edited for name in _bound(tree, _IMPORTS)}
    concerned = set(edited)
    for is_last in (False, True):  # those that use it, and those that use the functions that do
        pending = set(names)
        while pending:
            words = pending | {f".{name}" for name in pending}
            found = [tree for tree in source.trees() if tree not in concerned and not words.isdisjoint(tree.mentions())]
            concerned.update(found)
            pending = set() if is_last else {name for tree in found for name in _bound(tree, _OTHERS)} - names
            names |= pending
        names = {name for tree in concerned for name in _bound(tree, _IMPORTS)} - names
    return concerned


_IMPORTS = frozenset({BindingKind.IMPORT, BindingKind.FROM_IMPORT, BindingKind.STAR_IMPORT})
_OTHERS = _IMPORTS | {BindingKind.FUNCTION, BindingKind.CLASS}


def _bound(tree: TreeIndex, without: frozenset[BindingKind]) -> Iterator[str]:
    """The names that a tree binds in its module or class, but by some ways, and the attributes that it assigns."""
    for name, bindings in tree.contribution.items():
        if any(binding.kind not in without for binding in bindings):
            yield name
    for statement in tree.block_of:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        yield from (target.attr for target in targets if isinstance(target, ast.Attribute))
    if BindingKind.FUNCTION not in without:  # methods, too
        yield from (name for scope in tree.classes.values() for name in scope.bindings)


def _edited_units(source: SourceFile, edits: Edits) -> Iterator[Unit]:
    """The units of an edited text that hold something of ``edits``, each once."""
    moved, seen = 0, -1
    for edit in sorted(edits, key=lambda edit: edit.range):
        first = edit.range.start.line + moved
        added = len(split_lines(edit.new_text)) - 1
        moved += added - (edit.range.end.line - edit.range.start.line)
        ends_line = edit.new_text.endswith("\n") and not edit.range.end.column
        for line in range(max(first, seen + 1), first + added + (0 if ends_line else 1)):
            if line > seen:
                unit = source.unit_at(line)
                seen = unit.end - 1
                yield unit


def checked(analysis: Analysis, edits: Edits, families: str, after: FileModel | None = None) -> Edits:
    """``edits``, if no rule finds an error that was not there before.

    Args:
        families: of the rules that are asked; the digits of their codes.
        after: what :func:`tried` gives for the edits, where it is at hand.

    Raises:
        RefactoringRefused: one does, or the file would not parse.
    """
    from jaxpert.engine.analyze import analyze
    from jaxpert.rules import ALL_RULES

    model = analysis.model
    if after is None:
        with tried(model, edits) as after:
            return checked(analysis, edits, families, after)
    if after.source.problem is not None and model.source.problem is None:
        raise RefactoringRefused("the file would not parse any more")
    rules = [rule for rule in ALL_RULES if rule.code[3] in families]
    before = Counter((finding.rule, finding.message) for finding in analysis.findings)
    findings = analyze(replace(analysis.snapshot, source=after.source, model=after), rules).findings
    for finding in findings:
        before[finding.rule, finding.message] -= 1
        if finding.severity is Severity.ERROR and before[finding.rule, finding.message] < 0:
            raise RefactoringRefused(finding.message)
    return edits
