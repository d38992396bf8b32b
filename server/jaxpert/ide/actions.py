"""What can be done about findings: their fixes, silencing them, fixing everything at once. Plain data."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jaxpert.rulekit.rule import Finding, Safety
from jaxpert.syntax.comments import SuppressionKind, find_suppressions
from jaxpert.syntax.logical_lines import find_comments, read_logical_line
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range, split_lines, without_line_end

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis

QUICK_FIX = "quickfix"
FIX_ALL = "source.fixAll.jaxpert"


@dataclass(frozen=True, slots=True)
class Action:
    """Something that the user may do.

    Attributes:
        title: an imperative.
        kind: the protocol's kind of action, :data:`QUICK_FIX` or :data:`FIX_ALL`.
        edits: over the text of the analysis.
        finding: what goes away, or None when it is about the whole file.
        preferred: whether it is the obvious thing to do.
        later: works out the edits when they are needed; raises ``RefactoringRefused`` where it cannot be done.
    """

    title: str
    kind: str
    edits: tuple[Edit, ...]
    finding: Finding | None = None
    preferred: bool = False
    later: Callable[[], tuple[Edit, ...]] | None = None


def wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a client that asks for the kinds ``only`` wants ``kind``; a kind includes those below it."""
    return only is None or any(not each or kind == each or kind.startswith(f"{each}.") for each in only)


def quick_fixes(analysis: Analysis, area: Range) -> Iterator[Action]:
    """The actions for the findings that touch ``area``: every fix first, then every way to silence one."""
    from jaxpert.engine.fixing import fixes_for  # brings in libcst, which the server does not need before

    touched = [finding for finding in analysis.findings if _touches(finding.range, area)]
    for finding in touched:
        for place, fix in enumerate(fixes_for(analysis, finding)):
            yield Action(fix.title, QUICK_FIX, fix.edits, finding, place == 0 and fix.safety is Safety.SAFE)
    silenced: set[Edit] = set()
    for finding in touched:
        edit = ignore_edit(analysis.model.source, finding)
        if edit is not None and edit not in silenced:
            silenced.add(edit)
            yield Action(f"Ignore {finding.rule} on this line", QUICK_FIX, (edit,), finding)


def refactoring_actions(analysis: Analysis, area: Range, only: Sequence[str] | None) -> Iterator[Action]:
    """What can be done to the code at ``area`` whether or not something is found there, of the kinds ``only``."""
    from jaxpert.ide.refactoring import EXTRACT, REWRITE

    if any(wanted(kind, only) for kind in (REWRITE, EXTRACT)):
        from jaxpert.ide.refactorings import refactorings

        for offer in refactorings(analysis, area):
            if wanted(offer.kind, only):
                yield Action(offer.title, offer.kind, (), later=offer.make)


def fix_all(analysis: Analysis, analyse: Callable[[str], Analysis]) -> Action | None:
    """Everything that can be fixed safely, fixed; None when that is nothing.

    Args:
        analyse: analyses another text in the place of the document's.
    """
    from jaxpert.engine.fixing import fix_until_quiet
    from jaxpert.rules import rule_named

    if not any((rule := rule_named(finding.rule)) and rule.fix for finding in analysis.findings):
        return None
    text = analysis.model.source.text
    edits = edits_between(text, fix_until_quiet(text, analyse, unsafe=False).text)
    return Action("Fix everything that can be fixed safely", FIX_ALL, edits) if edits else None


def ignore_edit(source: SourceFile, finding: Finding) -> Edit | None:
    """The edit that silences ``finding`` by a comment on its line, or on the last line of its statement where that
    line cannot take one (it ends inside a string or with a backslash). None for findings about such comments.
    """
    from jaxpert.rules import rule_named

    rule = rule_named(finding.rule)
    if rule is None or rule.code.startswith("JXP0"):
        return None
    line = finding.range.start.line
    for suppression in find_suppressions(source):
        if suppression.kind is SuppressionKind.LINE and not suppression.malformation:
            if suppression.first <= line <= suppression.last and suppression.codes:
                end = suppression.codes[-1].range.end
                return Edit(Range(end, end), f", {finding.rule}")
    for candidate in (line, _last_line(source, line)):
        if edit := _comment_edit(source, candidate, f"# jaxpert: ignore[{finding.rule}]"):
            return edit
    return None


def edits_between(before: str, after: str) -> tuple[Edit, ...]:
    """Edits that turn ``before`` into ``after``, one for each run of changed lines, cut down to what differs."""
    if before == after:
        return ()
    old, new = split_lines(before), split_lines(after)
    edits = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, first, end, new_first, new_end in matcher.get_opcodes():
        if kind != "equal":
            edits.append(_narrowed(old, first, "".join(old[first:end]), "".join(new[new_first:new_end])))
    return tuple(edits)


def _narrowed(lines: list[str], first: int, old: str, new: str) -> Edit:
    """Replace ``old``, which begins with line ``first``, by ``new``, leaving out what both begin and end with."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    if head and old[head - 1] == "\r":  # a line end is one character to an editor
        head -= 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    if tail and old[-tail] == "\n" and (old[: len(old) - tail].endswith("\r") or new[: len(new) - tail].endswith("\r")):
        tail -= 1
    start = _advance(lines, Position(first, 0), head)
    end = _advance(lines, start, len(old) - head - tail)
    return Edit(Range(start, end), new[head : len(new) - tail])


def _advance(lines: list[str], position: Position, count: int) -> Position:
    line, column = position
    while count and line < len(lines):
        rest = len(lines[line]) - column
        if count < rest or line == len(lines) - 1:
            return Position(line, column + count)
        count -= rest
        line, column = line + 1, 0
    return Position(line, column)


def _touches(finding: Range, area: Range) -> bool:
    return finding.start <= area.end and area.start <= finding.end


def _last_line(source: SourceFile, line: int) -> int:
    """The last line of the logical line that ``line`` belongs to."""
    unit = source.unit_at(line)
    text = "".join(source.lines[unit.first : unit.end])
    at, current = 0, unit.first
    while at < len(text):
        logical = read_logical_line(text, at, current, broken=unit.stale)
        if current <= line <= logical.last:
            return logical.last
        at, current = logical.end, logical.last + 1
    return line


def _comment_edit(source: SourceFile, line: int, comment: str) -> Edit | None:
    """The edit that puts ``comment`` at the end of ``line``; None where Python would not read it as a comment."""
    content = without_line_end(source.lines[line])
    code = content.rstrip(" \t")
    if code.endswith("\\"):
        return None
    edit = Edit(Range(Position(line, len(code)), Position(line, len(content))), f"  {comment}")
    unit = source.unit_at(line)
    lines = list(source.lines[unit.first : unit.end])
    lines[line - unit.first] = code + edit.new_text + source.lines[line][len(content) :]
    for found in find_comments("".join(lines), broken=unit.stale):
        if found.line == line - unit.first and comment in found.text:
            return edit
    return None
