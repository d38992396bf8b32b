"""What can be done about findings: their fixes, silencing them, fixing everything at once. Plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Finding, Safety
from jaxpert.syntax.comments import SuppressionKind, find_suppressions
from jaxpert.syntax.logical_lines import find_comments, read_logical_line
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, as_one
from jaxpert.text.lines import Position, Range, without_line_end

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis

QUICK_FIX = "quickfix"
FIX_ALL = "source.fixAll.jaxpert"

_FEW = 30
"""Where more findings than these may have a fix, "fix everything" is offered without a look whether one is safe."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something that the user may do.

    Attributes:
        title: an imperative.
        kind: the protocol's kind of action, :data:`QUICK_FIX` or :data:`FIX_ALL`.
        edits: over the text of the analysis.
        finding: what goes away, or None when it is about the whole file.
        preferred: whether it is the obvious thing to do.
        ignores: whether the finding goes away because it is silenced.
        later: works out the edits when they are needed; raises ``RefactoringRefused`` where it cannot be done.
    """

    title: str
    kind: str
    edits: tuple[Edit, ...]
    finding: Finding | None = None
    preferred: bool = False
    ignores: bool = False
    later: Callable[[], tuple[Edit, ...]] | None = None


def wanted(kind: str, only: Sequence[str] | None) -> bool:
    """Whether a client that asks for the kinds ``only`` wants ``kind``; a kind includes those below it."""
    return only is None or any(not each or kind == each or kind.startswith(f"{each}.") for each in only)


def quick_fixes(analysis: Analysis, area: Range) -> Iterator[Action]:
    """The actions for the findings that touch ``area``: every fix first, then every way to silence one."""
    touched = [finding for finding in analysis.findings if _touches(finding.range, area)]
    for finding in touched:
        yield from fixes_of(analysis, finding)
    silenced: set[Edit] = set()
    for finding in touched:
        edit = ignore_edit(analysis.model.source, finding.rule, finding.range.start.line)
        if edit is not None and edit not in silenced:
            silenced.add(edit)
            yield Action(f"Ignore {finding.rule} on this line", QUICK_FIX, (edit,), finding, ignores=True)


def fixes_of(analysis: Analysis, finding: Finding) -> Iterator[Action]:
    """The fixes of one finding, the best first."""
    from jaxpert.engine.fixing import fixes_for  # brings in libcst, which the server does not need before

    for place, fix in enumerate(fixes_for(analysis, finding)):
        yield Action(fix.title, QUICK_FIX, fix.edits, finding, place == 0 and fix.safety is Safety.SAFE)


def refactoring_actions(analysis: Analysis, area: Range, only: Sequence[str] | None) -> Iterator[Action]:
    """What can be done to the code at ``area`` whether or not something is found there, of the kinds ``only``."""
    from jaxpert.ide.refactoring import EXTRACT, REWRITE

    if any(wanted(kind, only) for kind in (REWRITE, EXTRACT)):
        from jaxpert.ide.refactorings import refactorings

        for offer in refactorings(analysis, area):
            if wanted(offer.kind, only):
                yield Action(offer.title, offer.kind, (), later=offer.make)


def fix_all(analysis: Analysis, analyse: Callable[[str], Analysis]) -> Action | None:
    """Everything that can be fixed safely, fixed, which is worked out later and may turn out to be nothing; None when
    it certainly is nothing.

    Args:
        analyse: analyses another text in the place of the document's.
    """
    from jaxpert.engine.fixing import fix_until_quiet, fixable, fixes_for

    some = fixable(analysis)
    if len(some) <= _FEW and not any(
        fix.safety is Safety.SAFE for finding in some for fix in fixes_for(analysis, finding)[:1]
    ):
        return None
    text = analysis.model.source.text

    def make() -> tuple[Edit, ...]:
        return as_one(text, fix_until_quiet(text, analyse, unsafe=False).rounds)

    return Action("Fix everything that can be fixed safely", FIX_ALL, (), later=make)


def ignore_edit(source: SourceFile, rule_name: str, line: int) -> Edit | None:
    """The edit that silences what a rule finds in a line by a comment there, or on the last line of its statement where
    that line cannot take one (it ends inside a string or with a backslash). None for findings about such comments, and
    for a line that does not exist.
    """
    from jaxpert.rules import rule_named

    rule = rule_named(rule_name)
    if rule is None or rule.code.startswith("JXP0") or not 0 <= line < len(source.lines):
        return None
    for suppression in find_suppressions(source):
        if suppression.kind is SuppressionKind.LINE and not suppression.malformation:
            if suppression.first <= line <= suppression.last and suppression.codes:
                end = suppression.codes[-1].range.end
                return Edit(Range(end, end), f", {rule.name}")
    for candidate in (line, _last_line(source, line)):
        if edit := _comment_edit(source, candidate, f"# jaxpert: ignore[{rule.name}]"):
            return edit
    return None


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
