"""Which findings a comment silences, and what is said about comments that silence nothing.

Each case is a text in which ``<rule|...|>`` marks a finding of ``rule``.
"""

import re

import pytest

from jaxpert.engine.suppress import Outcome, apply
from jaxpert.rulekit.rule import Finding, Severity
from jaxpert.syntax.comments import find_suppressions, suppression_edit
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import apply_edits
from jaxpert.text.lines import Position, Range, slice_lines

KNOWN = {
    "syntax-error": "JXP001",
    "unused-suppression": "JXP002",
    "unknown-suppression": "JXP003",
    "policy-signature": "JXP201",
    "policy-falls-through": "JXP202",
    "unknown-checkpoint-name": "JXP301",
}


def judged(marked: str, enabled: set[str] | None = None, report: bool = True) -> tuple[SourceFile, Outcome]:
    findings: list[Finding] = []
    text = ""
    open_marks: list[tuple[str, Position]] = []
    for piece in re.split(r"(<[a-z-]+\||\|>)", marked):
        at = Position(text.count("\n"), len(text) - text.rfind("\n") - 1)
        if piece == "|>":
            rule, start = open_marks.pop()
            findings.append(Finding(rule, Range(start, at), "", Severity.ERROR))
        elif piece.startswith("<") and piece.endswith("|"):
            open_marks.append((piece[1:-1], at))
        else:
            text += piece
    source = SourceFile(text)
    return source, apply(findings, find_suppressions(source), KNOWN, enabled or set(KNOWN), report)


SILENCED = {
    "no comment": ("<policy-signature|x|>", []),
    "name": ("<policy-signature|x|>  # jaxpert: ignore[policy-signature]", ["policy-signature"]),
    "name in capitals": ("<policy-signature|x|>  # jaxpert: ignore[Policy-Signature]", ["policy-signature"]),
    "code": ("<policy-signature|x|>  # jaxpert: ignore[JXP201]", ["policy-signature"]),
    "prefix": ("<policy-signature|x|>, <unknown-checkpoint-name|y|>  # jaxpert: ignore[JXP2]", ["policy-signature"]),
    "all of ours": ("<policy-signature|x|>  # jaxpert: ignore[jxp]", ["policy-signature"]),
    "another rule": ("<policy-signature|x|>  # jaxpert: ignore[policy-falls-through]", []),
    "another line": ("<policy-signature|x|>\ny  # jaxpert: ignore[policy-signature]", []),
    "own line does not reach the next": ("# jaxpert: ignore[policy-signature]\n<policy-signature|x|>", []),
    "file": ("<policy-signature|x|>\n# jaxpert: ignore-file[JXP201]\n", ["policy-signature"]),
    "file, misplaced": ("<policy-signature|x|>  # jaxpert: ignore-file[policy-signature]", []),
    "without rules": ("<policy-signature|x|>  # jaxpert: ignore", []),
    "unclosed": ("<policy-signature|x|>  # jaxpert: ignore[policy-signature", []),
    "bare noqa": ("<policy-signature|x|>  # noqa", ["policy-signature"]),
    "noqa with our code": ("<policy-signature|x|>  # noqa: E501,JXP202,JXP201", ["policy-signature"]),
    "noqa with other codes": ("<policy-signature|x|>  # noqa: E501", []),
    "first line of the statement": ("f(  # noqa: JXP2\n  <policy-signature|x|>,\n)", ["policy-signature"]),
    "last line of the statement": ("f(\n  <policy-signature|x|>,\n)  # noqa: JXP2", ["policy-signature"]),
    "inner line of the statement": ("f(\n  <policy-signature|x|>,\n  y,  # noqa: JXP2\n)", []),
    "own line inside the statement": ("f(\n  <policy-signature|x|>,  # noqa: JXP2\n)", ["policy-signature"]),
    "end of the finding": ("<policy-signature|def f(\n  p,\n):\n  pass|>  # noqa: JXP2", ["policy-signature"]),
    "in the middle of the finding": ("<policy-signature|def f():\n  y  # noqa: JXP2\n  pass|>", []),
    "only the header of the block": ("if x:  # noqa: JXP2\n  <policy-signature|y|>", []),
}


@pytest.mark.parametrize("case", SILENCED)
def test_silenced(case: str) -> None:
    marked, silenced = SILENCED[case]
    _, outcome = judged(marked)
    assert [it.rule for it in outcome.silenced] == silenced
    assert len(outcome.kept) + len(silenced) == marked.count("|>")


# marked text -> (rule, reported text, part of the message, text after the fix or None) of each report
REPORTED: dict[str, list[tuple[str, str, str, str | None]]] = {
    "<policy-signature|x|>  # jaxpert: ignore[policy-signature] why": [],
    "x  # noqa": [],
    "x  # noqa: E501": [],
    "x  # jaxpert: ignore[JXP201] why\ny": [
        ("unused-suppression", "# jaxpert: ignore[JXP201] why", "no `JXP201` on this line", "x\ny")
    ],
    "x  # jaxpert: ignore[JXP201, policy-falls-through]": [
        ("unused-suppression", "# jaxpert: ignore[JXP201, policy-falls-through]", "`JXP201` or `policy-falls", "x")
    ],
    "<policy-signature|x|>  # jaxpert: ignore[JXP2, JXP301] why": [
        ("unused-suppression", "JXP301", "`JXP301` silences nothing", "x  # jaxpert: ignore[JXP2] why")
    ],
    "x  # noqa: E501,JXP201": [("unused-suppression", "JXP201", "silences nothing", "x  # noqa: E501")],
    "x  # type: ignore  # noqa:JXP201": [
        ("unused-suppression", "# noqa:JXP201", "no `JXP201`", "x  # type: ignore")
    ],
    "# jaxpert: ignore-file[JXP301]\nx": [
        ("unused-suppression", "# jaxpert: ignore-file[JXP301]", "no `JXP301` in this file", "x")
    ],
    "# jaxpert: ignore[JXP301]\nx": [
        ("unused-suppression", "# jaxpert: ignore[JXP301]", "on a line of its own silences nothing", None)
    ],
    "x  # jaxpert: ignore-file[JXP301]": [
        ("unused-suppression", "# jaxpert: ignore-file[JXP301]", "beside code silences nothing", None)
    ],
    "<policy-signature|x|>  # jaxpert: ignore-file[JXP2] why": [
        ("unused-suppression", "# jaxpert: ignore-file[JXP2]", "`ignore[JXP2]`", "x  # jaxpert: ignore[JXP2] why")
    ],
    "x  # jaxpert: ignore[policy-fall-through]": [
        (
            "unknown-suppression",
            "policy-fall-through",
            "did you mean `policy-falls-through`?",
            "x  # jaxpert: ignore[policy-falls-through]",
        )
    ],
    "x  # jaxpert: ignore[JXP209, E501]": [
        ("unknown-suppression", "JXP209", "no rule is called `JXP209`: take it out", "x  # jaxpert: ignore[E501]"),
        ("unknown-suppression", "E501", "no rule is called `E501`: take it out", "x  # jaxpert: ignore[JXP209]"),
    ],
    "x  # jaxpert: ignore[JPX201]": [
        ("unknown-suppression", "JPX201", "did you mean `JXP201`?", "x  # jaxpert: ignore[JXP201]")
    ],
    "<policy-signature|x|>  # jaxpert: ignore why": [
        (
            "unknown-suppression",
            "# jaxpert: ignore",
            "write `# jaxpert: ignore[policy-signature]`",
            "x  # jaxpert: ignore[policy-signature] why",
        )
    ],
    "x  # jaxpert: ignore": [("unknown-suppression", "# jaxpert: ignore", "write `# jaxpert: ignore[rule-name]`", "x")],
    "x  # jaxpert: ignore[JXP201": [
        ("unknown-suppression", "# jaxpert: ignore[JXP201", "write `# jaxpert: ignore[JXP201]`", None)
    ],
    "x  # jaxpert: disable=JXP201": [
        ("unknown-suppression", "# jaxpert: disable", "`jaxpert: disable` means nothing", None)
    ],
    "x  # jaxpert: ignore[nonsense, unknown-suppression]": [],
    "x  # jaxpert: ignore[nonsense]  # noqa": [],
    "x  # jaxpert: ignore[JXP201]\n# jaxpert: ignore-file[JXP0] we keep old ones": [],
}


@pytest.mark.parametrize("marked", REPORTED)
def test_reported(marked: str) -> None:
    source, outcome = judged(marked)
    seen = []
    for report, expected in zip(outcome.reports, REPORTED[marked]):
        edit = None
        if report.datum("title"):
            edit = suppression_edit(source, report.range, report.datum("replacement") or None)
            assert edit
        part = expected[2] if expected[2] in report.message else report.message
        fixed = apply_edits(source.text, [edit]) if edit else None
        seen.append((report.rule, slice_lines(source.lines, report.range), part, fixed))
    assert seen == REPORTED[marked]
    assert len(outcome.reports) == len(seen)


def test_no_report_while_the_file_does_not_parse() -> None:
    assert judged("x  # jaxpert: ignore[JXP201, nonsense]\n", report=False)[1].reports == ()


@pytest.mark.parametrize(
    ("enabled", "reported"),
    [
        ({"unused-suppression", "policy-signature"}, 0),  # a rule of JXP2 did not run
        ({"unused-suppression", "policy-signature", "policy-falls-through"}, 1),
        ({"policy-signature", "policy-falls-through"}, 0),  # nobody asked for the report
    ],
)
def test_rules_that_did_not_run_are_not_called_unused(enabled: set[str], reported: int) -> None:
    assert len(judged("x  # jaxpert: ignore[JXP2]", enabled)[1].reports) == reported

