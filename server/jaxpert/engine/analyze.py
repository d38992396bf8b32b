"""The one way from a file to its findings, used by the command line and the language server alike."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from jaxpert.engine.standing import remember, standing
from jaxpert.engine.suppress import apply_suppressions
from jaxpert.model import guarded_places, guards
from jaxpert.model.file_model import FileModel
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Finding, Rule, Severity
from jaxpert.rules import ALL_RULES
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.project.workspace import Snapshot

log = logging.getLogger("jaxpert")


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What is known about one state of one file: plain findings, the model they came from, and rules that crashed."""

    findings: tuple[Finding, ...]
    model: FileModel
    snapshot: Snapshot
    crashed: tuple[str, ...] = ()


def analyze(snapshot: Snapshot, rules: Sequence[Rule] = ALL_RULES, *, quick: bool = False) -> Analysis:
    """Run every enabled rule over the file of ``snapshot``.

    Findings come sorted by position. A crash inside a rule costs that rule's findings and one log line (and is
    raised only when the environment variable ``JAXPERT_CRASH`` is set, as the tests do).

    Args:
        quick: whether findings of before may stand where the change since then cannot concern them.
    """
    model = snapshot.model
    chosen = snapshot.options.enabled_rules(snapshot.path, {rule.name: rule.code for rule in rules})
    enabled = [rule for rule in rules if rule.name in chosen]
    found: list[Finding] = []
    crashed: list[str] = []
    if model.concerns_jax:
        own = [rule for rule in enabled if rule.is_own]
        others = [rule for rule in enabled if not rule.is_own]

        def ask(rules: Sequence[Rule]) -> list[Finding]:
            return [finding for rule in rules for finding in _run(rule, model, snapshot.path, crashed)]

        seen = standing(model, chosen, lambda: ask(others)) if quick else None
        if seen is None:
            seen = ask(others)
            if snapshot.on_disk is None:  # somebody has it open, and may go on typing
                remember(model, chosen, seen)
            for tree in model.every_tree:
                tree.compounds = None  # large, and made in a moment
        found = [finding for finding in (*ask(own), *seen) if not _is_meant(model, finding)]
    kept = apply_suppressions(snapshot, _unique(found), enabled)
    return Analysis(tuple(sorted(kept, key=_order)), model, snapshot, tuple(crashed))


def _run(rule: Rule, model: FileModel, path: object, crashed: list[str]) -> Iterator[Finding]:
    try:
        yield from rule.check(model)
    except Exception as error:
        if os.environ.get("JAXPERT_CRASH"):
            raise
        crashed.append(rule.name)
        log.error("rule %s crashed on %s: %s: %s", rule.name, path, type(error).__name__, error)


def _is_meant(model: FileModel, finding: Finding) -> bool:
    """Whether the finding is in code that does not run on this JAX, or that expects the failure."""
    if _expected_at(model, finding.range, finding):
        return True
    return any(not place.path and _expected_at(model, place.range, finding) for place in finding.related)


def _expected_at(model: FileModel, area: Range, finding: Finding) -> bool:
    site = model.site_at(area.start)
    if site is None:
        return False
    if model.is_dead(site.block) or guards.leaves_before(model, site.node, site.block):  # type: ignore[arg-type]
        return True
    if guarded_places.is_ruled_out(model, site, area):
        return True
    if "AttributeError" in finding.exceptions and area == finding.range:
        if guarded_places.is_asked_for(model, site, area):
            return True
    return guards.expects_failure(model, site.node, site.block, finding.exceptions)


def _unique(findings: list[Finding]) -> list[Finding]:
    seen: set[tuple[str, object]] = set()
    unique = []
    for finding in findings:
        key = (finding.rule, finding.range)
        if key not in seen:
            seen.add(key)
            unique.append(finding)
    return unique


def _order(finding: Finding) -> tuple[object, ...]:
    severities = list(Severity)
    return (finding.range.start, finding.range.end, severities.index(finding.severity), finding.rule)
