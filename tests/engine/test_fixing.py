"""Which fixes are handed out, and what many of them together make of a text."""

from __future__ import annotations

import logging
import re
from types import SimpleNamespace
from typing import Any

import pytest

from jaxpert.engine import fixing
from jaxpert.engine.fixing import MOST_ROUNDS, FixResult, fix_for, fix_until_quiet
from jaxpert.rulekit.rule import Finding, Fix, Rule, Safety, Severity
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range, range_at

WORDS = "grow|twice|wide|gone|crash|nothing|noop|outside|overlap|backwards|broken|tick|tock"
"""Each word is found by the rule of its name wherever it stands."""


def _edits(finding: Finding, line: str) -> list[Edit]:
    (row, start), (_, end) = area = finding.range
    before = Range(area.start, area.start)
    return {
        "grow": [Edit(area, "grown")],
        "twice": [Edit(before, "("), Edit(Range(area.end, area.end), ")"), Edit(area, "two")],
        "wide": [Edit(range_at(row, 0, row, len(line)), "'narrow'")],
        "noop": [Edit(area, "noop")],
        "outside": [Edit(range_at(row, start, row + 99, 0), "")],
        "overlap": [Edit(area, "a"), Edit(range_at(row, start + 1, row, end), "b")],
        "backwards": [Edit(Range(area.end, area.start), "a")],
        "broken": [Edit(area, "(")],
        "gone": [Edit(area, "")],
        "tick": [Edit(area, "tock")],
        "tock": [Edit(area, "tick")],
    }[finding.rule]


def _fix(model: Any, finding: Finding) -> Fix | None:
    if finding.rule == "crash":
        raise ZeroDivisionError("by accident")
    if finding.rule == "nothing":
        return None
    line = model.source.lines[finding.range.start.line].rstrip("\r\n")
    safety = Safety.UNSAFE if finding.rule == "wide" else Safety.SAFE
    return Fix(f"Fix {finding.rule}", safety, tuple(_edits(finding, line)))


@pytest.fixture(autouse=True)
def _rules(monkeypatch: pytest.MonkeyPatch) -> None:
    def rule_named(name: str) -> Rule:
        fix = None if name == "unfixable" else _fix
        return Rule("JXP900", name, Severity.ERROR, "0.1.0", "", (), check=lambda model: iter(()), fix=fix)

    monkeypatch.setattr(fixing, "rule_named", rule_named)


def _analyse(text: str, source: SourceFile | None = None, words: str = WORDS) -> Any:
    """An analysis that finds each of ``words``."""
    source = source or SourceFile(text)
    findings = [
        Finding(match[0], range_at(row, match.start(), row, match.end()), "", Severity.ERROR)
        for row, line in enumerate(source.lines)
        for match in re.finditer(rf"\b(?:{words})\b", line)
    ]
    model = SimpleNamespace(source=source)
    return SimpleNamespace(findings=tuple(findings), model=model, snapshot=SimpleNamespace(source=source))


def _until_quiet(text: str, **options: Any) -> FixResult:
    return fix_until_quiet(text, _analyse, **{"unsafe": False, **options})


# -- one fix ----------------------------------------------------------------------------------------------------------


def test_the_rule_is_asked() -> None:
    analysis = _analyse("x = grow\n")
    assert fix_for(analysis, analysis.findings[0]) == Fix(
        "Fix grow", Safety.SAFE, (Edit(range_at(0, 4, 0, 8), "grown"),)
    )


@pytest.mark.parametrize("word", ["nothing", "unfixable"])
def test_no_fix_is_no_fix(word: str, caplog: pytest.LogCaptureFixture) -> None:
    analysis = _analyse(f"x = {word}\n", words=word)
    assert fix_for(analysis, analysis.findings[0]) is None
    assert not caplog.records


@pytest.mark.parametrize("word", ["crash", "noop", "outside", "overlap", "backwards", "broken"])
def test_an_unsound_fix_is_one_log_line(
    word: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAXPERT_CRASH", raising=False)
    analysis = _analyse(f"x = {word}\n")
    with caplog.at_level(logging.DEBUG, "jaxpert"):
        assert fix_for(analysis, analysis.findings[0]) is None
    assert [record.name for record in caplog.records] == ["jaxpert"]
    assert word in caplog.text


def test_a_crash_is_raised_where_tests_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXPERT_CRASH", "1")
    analysis = _analyse("x = crash\n")
    with pytest.raises(ZeroDivisionError):
        fix_for(analysis, analysis.findings[0])


def test_only_current_lines_are_fixed() -> None:
    source = SourceFile("x = grow\n\n\ndef f():\n    return grow\n")
    end = Position(0, 8)
    source.edit(Range(end, end), " +")
    first, second = _analyse("", source).findings
    assert not source.is_current
    assert fix_for(_analyse("", source), first) is None
    assert fix_for(_analyse("", source), second) is not None


# -- many fixes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_all_fixes_of_a_round_are_applied_at_once(line_end: str) -> None:
    text = "'😀', grow, twice; grow # grow\nx = nothing\n".replace("\n", line_end)
    result = _until_quiet(text)
    assert result.text == "'😀', grown, (two); grown # grown\nx = nothing\n".replace("\n", line_end)
    assert result.applied == (("grow", "Fix grow"), ("twice", "Fix twice"), ("grow", "Fix grow"), ("grow", "Fix grow"))
    assert [finding.rule for finding in result.remaining] == ["nothing"]
    assert result.refused == ()


def test_unsafe_fixes_only_on_request() -> None:
    assert _until_quiet("wide\n").text == "wide\n"
    assert _until_quiet("wide\n", unsafe=True).text == "'narrow'\n"


def test_only_the_rules_asked_for() -> None:
    result = _until_quiet("grow, twice\n", rules={"twice"})
    assert result.text == "grow, (two)\n"
    assert [finding.rule for finding in result.remaining] == ["grow"]


def test_of_two_that_touch_the_first_wins_and_the_other_gets_its_turn() -> None:
    rounds: list[str] = []

    def analyse(text: str) -> Any:
        rounds.append(text)
        return _analyse(text)

    # The edit of "wide" is the whole line; after that nothing of "grow" is left.
    assert fix_until_quiet("wide, grow\n", analyse, unsafe=True).text == "'narrow'\n"
    # Here "grow" is the first.
    rounds.clear()
    assert fix_until_quiet("grow, wide\n", analyse, unsafe=True).text == "'narrow'\n"
    assert rounds == ["grow, wide\n", "grown, wide\n", "'narrow'\n"]


def test_insertions_at_one_place_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    start = Range(Position(0, 0), Position(0, 0))

    def fix(model: Any, finding: Finding) -> Fix:
        imported = "import a\n" not in model.source.lines
        edits = [Edit(finding.range, "a")] + ([Edit(start, "import a\n")] if imported else [])
        return Fix("Import a", Safety.SAFE, tuple(edits))

    rule = Rule("JXP900", "grow", Severity.ERROR, "0.1.0", "", (), check=lambda model: iter(()), fix=fix)
    monkeypatch.setattr(fixing, "rule_named", lambda name: rule)
    assert _until_quiet("x = grow, grow, grow\n").text == "import a\nx = a, a, a\n"


def test_what_breaks_the_file_is_refused_and_the_rest_applied() -> None:
    result = _until_quiet("grow, broken, grow\n")
    assert result.text == "grown, broken, grown\n"
    assert len(result.applied) == 2
    assert result.refused == (("broken", "Fix broken"),)
    assert [finding.rule for finding in result.remaining] == ["broken"]


@pytest.mark.parametrize("number", [0, 31, 63])
def test_what_breaks_a_large_file_is_looked_for_by_halves(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["grow"] * 64
    words[number] = "broken"
    parsed: list[str] = []
    monkeypatch.setattr(fixing, "_parses", lambda text, real=fixing._parses: (parsed.append(text), real(text))[1])
    result = _until_quiet("\n".join(words))
    assert result.text == "\n".join(words).replace("grow", "grown")
    assert len(parsed) < 40  # and not one for each fix


def test_rounds_are_told() -> None:
    result = _until_quiet("tick\n")
    assert len(result.rounds) == MOST_ROUNDS
    text = "tick\n"
    for edits in result.rounds:
        text = apply_edits(text, edits)
    assert text == result.text == "tick\n"


def test_of_fixes_that_only_together_break_the_file_the_first_are_applied() -> None:
    result = _until_quiet("if x:\n    gone\n    gone\n    gone\n")
    assert result.text == "if x:\n    \n    \n    gone\n"
    assert result.applied == (("gone", "Fix gone"),) * 2
    assert result.refused == (("gone", "Fix gone"),)


def test_a_file_that_does_not_parse_may_be_fixed_elsewhere() -> None:
    assert _until_quiet("def f(:\n    pass\n\n\nx = grow\n").text == "def f(:\n    pass\n\n\nx = grown\n"


def test_fixes_that_undo_each_other_come_to_an_end() -> None:
    result = _until_quiet("x = tick\n")
    assert len(result.applied) == fixing.MOST_ROUNDS
    assert [finding.rule for finding in result.remaining] == ["tick"]
