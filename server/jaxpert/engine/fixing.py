"""From findings to fixed text: one fix on request, or all of them until nothing more can be fixed.

No fix is handed out or applied that is unsound: its edits lie inside the file and apart from each other, change
something, and leave a file that parses if it parsed before. Findings that are suppressed are not part of an
analysis, so they are not fixed either.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from jaxpert.rulekit.rule import Finding, Fix, Safety
from jaxpert.rules import rule_named
from jaxpert.syntax.parse import SyntaxProblem, parse
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, OverlappingEdits, apply_edits
from jaxpert.text.lines import Range, clamp

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
    """

    text: str
    applied: tuple[FixedFinding, ...]
    remaining: tuple[Finding, ...]
    refused: tuple[FixedFinding, ...]


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
        if source.problem is None and not source.parses_with(fix.edits):
            _log.error("the fix of %s leaves a file that does not parse: %s", finding.rule, fix.title)
        else:
            sound.append(fix)
    return tuple(sound)


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
        refused = [name for name, fix in chosen if (name, fix) not in kept]
        if not kept:
            break
        text = apply(text, [edit for _, fix in kept for edit in fix.edits])
        applied += [name for name, _ in kept]
        analysis = analyse(text)
    return FixResult(text, tuple(applied), analysis.findings, tuple(refused))


def _proposed(analysis: Analysis, finding: Finding) -> tuple[Fix, ...]:
    """What the rule proposes, if that is a change of the file at all; whether the result parses is not known yet."""
    source, rule = analysis.snapshot.source, rule_named(finding.rule)
    if rule is None or rule.fix is None or not _is_current(source, finding.range):
        return ()
    try:
        proposed = rule.fix(analysis.model, finding)
    except Exception as error:
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
        return apply_edits(source.text, fix.edits) != source.text
    except OverlappingEdits:
        return False


@lru_cache(maxsize=4)
def _parses(text: str) -> bool:
    return not isinstance(parse(text.removeprefix("\ufeff")), SyntaxProblem)


_NamedFix = tuple[FixedFinding, Fix]


def _apart(fixes: Sequence[_NamedFix]) -> list[_NamedFix]:
    """Those of ``fixes`` that touch no earlier one."""
    chosen: list[_NamedFix] = []
    taken: list[Range] = []
    for name, fix in fixes:
        ranges = [edit.range for edit in fix.edits]
        if not any(one.overlaps(other) for one in ranges for other in taken):
            chosen.append((name, fix))
            taken += ranges
    return chosen


def _parsing_together(text: str, fixes: list[_NamedFix]) -> list[_NamedFix]:
    """As many of ``fixes`` as leave a text that parses, if ``text`` does: usually all, else tried one by one."""
    if not _parses(text) or _parses(apply_edits(text, [edit for _, fix in fixes for edit in fix.edits])):
        return fixes
    kept: list[_NamedFix] = []
    for one in fixes:
        if _parses(apply_edits(text, [edit for _, fix in (*kept, one) for edit in fix.edits])):
            kept.append(one)
    return kept
