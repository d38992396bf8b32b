"""From findings to fixed text: one fix on request, or all of them until nothing more can be fixed.

No fix is handed out or applied that is unsound: its edits lie inside the file and apart from each other, change
something, and leave a file that parses if it parsed before. Findings that are suppressed are not part of an
analysis, so they are not fixed either.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from jaxpert.fixing.passage import already_read
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Finding, Fix, Safety
from jaxpert.rules import rule_named
from jaxpert.syntax.parse import SyntaxProblem, parse
from jaxpert.syntax.simple_statements import parses_with
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, OverlappingEdits, apply_edits, disjoint
from jaxpert.text.lines import Range, clamp, slice_lines

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis

MOST_ROUNDS = 10
"""Fixes that go on longer undo each other."""

_log = logging.getLogger("jaxpert")


class FixedFinding(NamedTuple):
    """A fix, by the name of its rule and its title."""

    rule: str
    title: str


@dataclass(frozen=True, slots=True)
class FixResult:
    """What :func:`fix_until_quiet` made of a text.

    Attributes:
        text: the text with the fixes.
        applied: what was fixed, in order.
        remaining: the findings in ``text``.
        refused: fixes that were not applied because with them the text would not parse any more.
        rounds: the edits of each round, over the text that the one before left.
    """

    text: str
    applied: tuple[FixedFinding, ...]
    remaining: tuple[Finding, ...]
    refused: tuple[FixedFinding, ...]
    rounds: tuple[tuple[Edit, ...], ...] = ()


def fix_for(analysis: Analysis, finding: Finding) -> Fix | None:
    """The first of :func:`fixes_for`, or None."""
    return next(iter(fixes_for(analysis, finding)), None)


def fixes_for(analysis: Analysis, finding: Finding) -> tuple[Fix, ...]:
    """The fixes of one of the findings of ``analysis``, the best first.

    Returns:
        () when the rule has none for it, when the text there has changed since it last parsed, or when the rule
        fails or proposes something unsound (then one line is logged).
    """
    source = analysis.snapshot.source
    sound = []
    for fix in _proposed(analysis, finding):
        if source.problem is None and not parses_with(source, fix.edits):
            _log.error("the fix of %s leaves a file that does not parse: %s", finding.rule, fix.title)
        else:
            sound.append(fix)
    return tuple(sound)


def fixable(analysis: Analysis) -> list[Finding]:
    """The findings whose rules make fixes, if not for each of them."""
    return [finding for finding in analysis.findings if (rule := rule_named(finding.rule)) and rule.fix]


def fix_until_quiet(
    text: str,
    analyse: Callable[[str], Analysis],
    *,
    unsafe: bool,
    rules: Collection[str] | None = None,
    apply: Callable[[str, Sequence[Edit]], str] = apply_edits,
) -> FixResult:
    """Apply fixes, analyse again, and so on until there is nothing left to fix.

    Of two fixes that touch each other only the first is applied in a round; the other may come in the next one.

    Args:
        text: the whole text.
        analyse: analyses a text.
        unsafe: whether to apply unsafe fixes too.
        rules: names of the rules whose findings to fix; None for all.
        apply: makes the edits of one round; a notebook's change its cells.
    """
    applied: list[FixedFinding] = []
    refused: list[FixedFinding] = []
    rounds: list[tuple[Edit, ...]] = []
    analysis = analyse(text)
    for _ in range(MOST_ROUNDS):
        fixes = [
            (FixedFinding(finding.rule, fix.title), fix)
            for finding in analysis.findings
            if (rules is None or finding.rule in rules)
            for fix in _proposed(analysis, finding)[:1]
            if unsafe or fix.safety is Safety.SAFE
        ]
        chosen = _apart(fixes)
        kept = _parsing_together(text, chosen)
        refused = [name for number, (name, _) in enumerate(chosen) if number not in kept]
        if not kept:
            break
        rounds.append(_edits(chosen[number] for number in sorted(kept)))
        text = apply(text, rounds[-1])
        applied += [chosen[number][0] for number in sorted(kept)]
        analysis = analyse(text)
    return FixResult(text, tuple(applied), analysis.findings, tuple(refused), tuple(rounds))


def _proposed(analysis: Analysis, finding: Finding) -> tuple[Fix, ...]:
    """What the rule proposes, if that is a change of the file at all; whether the result parses is not known yet."""
    source, rule = analysis.snapshot.source, rule_named(finding.rule)
    if rule is None or rule.fix is None or not _is_current(source, finding.range):
        return ()
    try:
        with already_read(source):
            proposed = rule.fix(analysis.model, finding)
    except Exception as error:
        if isinstance(error, ImportError) and str(error.name).startswith("libcst"):
            return ()  # not installed, or not for this Python; the server's status says so
        if os.environ.get("JAXPERT_CRASH"):
            raise
        _log.error("the fix of %s crashed: %s: %s", finding.rule, type(error).__name__, error)
        return ()
    fixes = () if proposed is None else (proposed,) if isinstance(proposed, Fix) else proposed
    sound = tuple(fix for fix in fixes if _changes(source, fix))
    for fix in fixes:
        if fix not in sound:
            _log.error("the fix of %s has edits that overlap, lie outside or do nothing: %s", finding.rule, fix.title)
    return sound


def _is_current(source: SourceFile, area: Range) -> bool:
    """Whether the trees of the lines of ``area`` are those of their text."""
    return not any(unit.stale for unit in source.units if unit.first <= area.end.line and area.start.line < unit.end)


def _changes(source: SourceFile, fix: Fix) -> bool:
    """Whether the edits of ``fix`` lie inside the file and apart from each other, and change something."""
    for start, end in (edit.range for edit in fix.edits):
        if start > end or clamp(source.lines, start) != start or clamp(source.lines, end) != end:
            return False
    try:
        edits = disjoint(fix.edits)
    except OverlappingEdits:
        return False
    return any(slice_lines(source.lines, edit.range) != edit.new_text for edit in edits)


@lru_cache(maxsize=4)
def _parses(text: str) -> bool:
    return not isinstance(parse(text.removeprefix("\ufeff")), SyntaxProblem)


_NamedFix = tuple[FixedFinding, Fix]


def _edits(fixes: Iterable[_NamedFix]) -> tuple[Edit, ...]:
    return tuple(edit for _, fix in fixes for edit in fix.edits)


def _apart(fixes: Sequence[_NamedFix]) -> list[_NamedFix]:
    """Those of ``fixes`` that touch no earlier one."""
    chosen: list[_NamedFix] = []
    taken: list[Range] = []  # in order, and so are their ends
    for name, fix in fixes:
        ranges = [edit.range for edit in fix.edits]
        if not any(_touches_one(area, taken) for area in ranges):
            chosen.append((name, fix))
            for area in ranges:
                insort(taken, area)
    return chosen


def _touches_one(area: Range, taken: Sequence[Range]) -> bool:
    at = after = bisect_left(taken, area)
    while at and taken[at - 1].end >= area.start:
        at -= 1
        if area.overlaps(taken[at]):
            return True
    while after < len(taken) and taken[after].start <= area.end:
        if area.overlaps(taken[after]):
            return True
        after += 1
    return False


def _parsing_together(text: str, fixes: Sequence[_NamedFix]) -> set[int]:
    """The numbers of as many of ``fixes`` as leave a text that parses, if ``text`` does: usually all, else those that
    break it are looked for by halves.
    """
    kept: set[int] = set()
    waiting = [range(len(fixes))]
    while waiting:
        some = waiting.pop()
        together = sorted(kept.union(some))
        if not _parses(text) or _parses(apply_edits(text, _edits(fixes[number] for number in together))):
            kept.update(some)
        elif len(some) > 1:
            half = len(some) // 2
            waiting += [some[half:], some[:half]]
    return kept
