"""Which findings the user's comments silence, and which of those comments silence nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from jaxpert.project.config import likely_meant, rules_meant
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Finding, Rule, Severity, Tag
from jaxpert.syntax.comments import Malformation, SuppressedCode, Suppression, SuppressionKind, find_suppressions
from jaxpert.text.lines import Range
from jaxpert.text.near_misses import did_you_mean, nearest

if TYPE_CHECKING:
    from jaxpert.project.workspace import Snapshot

UNUSED = "unused-suppression"
UNKNOWN = "unknown-suppression"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What :func:`apply` decides.

    Attributes:
        kept: the findings that nothing silences.
        silenced: the others.
        reports: findings of ``unused-suppression`` and ``unknown-suppression``. Where one can be fixed, its data
            holds "title" and, unless the suppression or code at its range is to be removed, "replacement".
    """

    kept: tuple[Finding, ...]
    silenced: tuple[Finding, ...]
    reports: tuple[Finding, ...]


def apply_suppressions(snapshot: Snapshot, findings: Iterable[Finding], enabled: Iterable[Rule]) -> tuple[Finding, ...]:
    """``findings`` without those that the comments in the file silence, and with those about the comments.

    Args:
        enabled: the rules that ran.
    """
    source = snapshot.source
    suppressions = find_suppressions(source)
    parses = source.problem is None and source.is_current
    outcome = apply(findings, suppressions, snapshot.known_rules, {rule.name for rule in enabled}, parses)
    return outcome.kept + outcome.reports


def apply(
    findings: Iterable[Finding],
    suppressions: Sequence[Suppression],
    known: Mapping[str, str],
    enabled: Collection[str],
    report: bool = True,
) -> Outcome:
    """Divide ``findings`` by ``suppressions``.

    Args:
        known: name -> code of every rule there is.
        enabled: names of the rules that ran on this file. A suppression of any other cannot be called unused.
        report: whether to judge the suppressions; not while the file does not parse, when findings are missing.
    """
    if not suppressions:
        return Outcome(tuple(findings), (), ())
    judge = _Judge(suppressions, known)
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        (silenced if judge.silences(finding) else kept).append(finding)
    reports = [it for it in judge.reports(enabled, kept) if it.rule in enabled] if report else []
    return Outcome(tuple(kept), tuple(silenced), tuple(it for it in reports if not judge.silences(it)))


class _Judge:
    def __init__(self, suppressions: Sequence[Suppression], known: Mapping[str, str]) -> None:
        self.suppressions = suppressions
        self.known = known
        self.rules: dict[SuppressedCode, frozenset[str]] = {
            code: rules_meant(code.text, known) for it in suppressions for code in it.codes if not code.foreign
        }
        self.used: set[SuppressedCode] = set()
        self._of_file: list[Suppression] = []
        self._of_line: dict[int, list[Suppression]] = {}
        for suppression in suppressions:
            if suppression.kind is SuppressionKind.FILE:
                self._of_file.append(suppression)
            else:
                for line in range(suppression.first, suppression.last + 1):
                    self._of_line.setdefault(line, []).append(suppression)

    def _around(self, areas: Iterable[Range]) -> Iterable[Suppression]:
        """The suppressions that may apply to one of ``areas``, each once."""
        lines = dict.fromkeys(line for area in areas for line in (area.start.line, area.end.line))
        found = {id(it): it for line in lines for it in self._of_line.get(line, ())}
        return (*self._of_file, *found.values())

    def silences(self, finding: Finding) -> bool:
        """Whether ``finding`` is silenced; notes by what."""
        silenced = False
        related = [place.range for place in finding.related if not place.path]
        for suppression in self._around((finding.range, *related)):
            at_finding = _applies(suppression, finding.range)
            if suppression.blanket and at_finding:
                silenced = True
            # A comment that names the rule may also stand at a related place: where a faulty policy is used, say.
            if at_finding or any(_applies(suppression, area) for area in related):
                for code in suppression.codes:
                    if finding.rule in self.rules.get(code, ()):
                        self.used.add(code)
                        silenced = True
        return silenced

    def reports(self, enabled: Collection[str], kept: Sequence[Finding]) -> list[Finding]:
        """What is wrong with the suppressions; ``kept`` are the findings that none of them silences."""
        found: list[Finding] = []
        for suppression in self.suppressions:
            if suppression.malformation:
                found.append(_malformed(suppression, _rules_at(suppression, kept)))
            elif suppression.kind is SuppressionKind.FILE and not suppression.own_line:
                meant = {rule for code in suppression.codes for rule in self.rules[code]}
                nearby = _rules_at(suppression, kept)
                found.append(_misplaced_file(suppression, [rule for rule in nearby if rule in meant]))
            elif not suppression.blanket:
                found.extend(self._judge_codes(suppression, enabled))
        return found

    def _judge_codes(self, suppression: Suppression, enabled: Collection[str]) -> list[Finding]:
        found: list[Finding] = []
        unused: list[SuppressedCode] = []
        for code in suppression.codes:
            if code.foreign:
                continue
            rules = self.rules[code]
            if not rules:
                found.append(self._unknown(code))
            # Whether the reports themselves are silenced is not known yet.
            elif code not in self.used and rules <= set(enabled) and not rules & {UNUSED, UNKNOWN}:
                unused.append(code)
        if not unused:
            return found
        if suppression.own_line and suppression.kind is not SuppressionKind.FILE:
            message = (
                "a suppression on a line of its own silences nothing: "
                "put it at the end of the line that it is about, or write `ignore-file` for the whole file"
            )
            return [*found, _report(UNUSED, suppression.range, message)]
        if len(unused) == len(suppression.codes):
            place = "in this file" if suppression.kind is SuppressionKind.FILE else "on this line"
            message = f"there is no {_or([code.text for code in unused])} {place}: take this comment out"
            return [_report(UNUSED, suppression.range, message, "Remove the unused suppression")]
        for code in unused:
            message = f"`{code.text}` silences nothing here: take it out of this comment"
            found.append(_report(UNUSED, code.range, message, f"Remove `{code.text}` from the suppression"))
        return found

    def _unknown(self, code: SuppressedCode) -> Finding:
        names = likely_meant(code.text, self.known)
        near = nearest(code.text, names)
        message = f"no rule is called `{code.text}`{did_you_mean(code.text, names)}"
        if near:
            return _report(UNKNOWN, code.range, message, f"Write `{near}`", near)
        return _report(UNKNOWN, code.range, f"{message}: take it out", f"Remove `{code.text}` from the suppression")


def _rules_at(suppression: Suppression, findings: Iterable[Finding]) -> list[str]:
    return sorted({it.rule for it in findings if _covers(suppression, it.range)})


def _applies(suppression: Suppression, area: Range) -> bool:
    if suppression.malformation:
        return False
    if suppression.kind is SuppressionKind.FILE:
        return suppression.own_line
    return _covers(suppression, area)


def _covers(suppression: Suppression, area: Range) -> bool:
    first, last = suppression.first, suppression.last
    return first <= area.start.line <= last or first <= area.end.line <= last


def _malformed(suppression: Suppression, nearby: list[str]) -> Finding:
    scope = SuppressionKind.FILE.value if suppression.kind is SuppressionKind.FILE else SuppressionKind.LINE.value
    written = [code.text for code in suppression.codes]
    right = f"# jaxpert: {scope}[{', '.join(written or nearby or ['rule-name'])}]"
    if suppression.malformation is Malformation.NO_RULES:
        message = f"`{suppression.word}` without rule names silences nothing: write `{right}`"
    elif suppression.malformation is Malformation.UNCLOSED:
        message = f"`{suppression.word}[` without `]` silences nothing: write `{right}`"
    else:
        message = f"`jaxpert: {suppression.word}` means nothing: write `{right}`"
    if suppression.malformation is not Malformation.NO_RULES or scope == SuppressionKind.FILE.value:
        return _report(UNKNOWN, suppression.head, message)
    if nearby:
        return _report(UNKNOWN, suppression.head, message, f"Write `{right}`", right)
    return _report(UNKNOWN, suppression.head, message, "Remove the suppression")


def _misplaced_file(suppression: Suppression, nearby: list[str]) -> Finding:
    codes = ", ".join(code.text for code in suppression.codes)
    message = (
        "`ignore-file` beside code silences nothing: "
        f"put it on a line of its own, or write `ignore[{codes}]` for this line only"
    )
    if nearby:
        right = f"# jaxpert: ignore[{codes}]"
        return _report(UNUSED, suppression.head, message, f"Write `{right}`", right)
    return _report(UNUSED, suppression.head, message)


def _report(rule: str, area: Range, message: str, title: str = "", replacement: str = "") -> Finding:
    data = (("title", title), ("replacement", replacement)) if title else ()
    tags = (Tag.UNNECESSARY,) if title and not replacement else ()
    return Finding(rule, area, message, Severity.WARNING, data=data, tags=tags)


def _or(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
