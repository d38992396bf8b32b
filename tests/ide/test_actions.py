"""Silencing findings, and which kinds of actions are asked for."""

import ast

import pytest

from jaxpert.engine.suppress import apply
from jaxpert.ide.actions import FIX_ALL, QUICK_FIX, ignore_edit, wanted
from jaxpert.rulekit.rule import Finding, Severity
from jaxpert.syntax.comments import find_suppressions
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import apply_edits
from jaxpert.text.lines import Position, Range

RULE = "policy-falls-through"
KNOWN = {RULE: "JXP202", "policy-called": "JXP207"}


def finding_at(text: str, mark: str) -> Finding:
    """A finding over the first ``mark`` in ``text``."""
    before, _, _ = text.partition(mark)
    line = before.count("\n")
    column = len(before) - (before.rfind("\n") + 1)
    return Finding(RULE, Range(Position(line, column), Position(line, column + len(mark))), "m", Severity.ERROR)


IGNORED = {
    "a plain line": ("x = 1\ny = BAD\n", "x = 1\ny = BAD  # jaxpert: ignore[policy-falls-through]\n"),
    "no line end": ("y = BAD", "y = BAD  # jaxpert: ignore[policy-falls-through]"),
    "carriage returns": ("y = BAD\r\nz\r\n", "y = BAD  # jaxpert: ignore[policy-falls-through]\r\nz\r\n"),
    "blanks at the end": ("y = BAD  \n", "y = BAD  # jaxpert: ignore[policy-falls-through]\n"),
    "a comment": ("y = BAD  # why\n", "y = BAD  # why  # jaxpert: ignore[policy-falls-through]\n"),
    "inside brackets": ("y = f(\n  BAD,\n  2)\n", "y = f(\n  BAD,  # jaxpert: ignore[policy-falls-through]\n  2)\n"),
    "a backslash": ("y = BAD + \\\n  2\n", "y = BAD + \\\n  2  # jaxpert: ignore[policy-falls-through]\n"),
    "a string that goes on": (
        'y = f(BAD, """\n# no\n""")\nz = 1\n',
        'y = f(BAD, """\n# no\n""")  # jaxpert: ignore[policy-falls-through]\nz = 1\n',
    ),
    "a string and a backslash": (
        'y = f(BAD, """\n""", \\\n  3)\n',
        'y = f(BAD, """\n""", \\\n  3)  # jaxpert: ignore[policy-falls-through]\n',
    ),
    "another rule ignored": (
        "y = BAD  # jaxpert: ignore[policy-called] because\n",
        "y = BAD  # jaxpert: ignore[policy-called, policy-falls-through] because\n",
    ),
    "another rule ignored, on the last line": (
        "y = f(BAD,\n  2)  # jaxpert: ignore[JXP207]\n",
        "y = f(BAD,\n  2)  # jaxpert: ignore[JXP207, policy-falls-through]\n",
    ),
    "a wide character": ("y = '😀', BAD\n", "y = '😀', BAD  # jaxpert: ignore[policy-falls-through]\n"),
    "a header": ("if BAD:\n  pass\n", "if BAD:  # jaxpert: ignore[policy-falls-through]\n  pass\n"),
    "in a long class": (
        "class A:\n" + "  x = 1\n" * 50 + "  y = (BAD,\n    2)\n",
        "class A:\n" + "  x = 1\n" * 50 + "  y = (BAD,  # jaxpert: ignore[policy-falls-through]\n    2)\n",
    ),
}


@pytest.mark.parametrize("case", IGNORED)
def test_ignoring_silences_the_finding_and_changes_no_code(case):
    before, after = IGNORED[case]
    finding = finding_at(before, "BAD")
    edit = ignore_edit(SourceFile(before), RULE, finding.range.start.line)
    assert edit is not None
    assert apply_edits(before, [edit]) == after
    assert ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    assert apply([finding], find_suppressions(SourceFile(after)), KNOWN, KNOWN).kept == ()


@pytest.mark.parametrize(("rule", "line"), [("unused-suppression", 0), ("no-such-rule", 0), (RULE, 2), (RULE, -1)])
def test_what_cannot_be_ignored(rule, line):
    assert ignore_edit(SourceFile("x\n"), rule, line) is None


def test_a_broken_statement_can_be_silenced_too():
    before = "y = f(BAD\nz = 1\n"
    edit = ignore_edit(SourceFile(before), RULE, 0)
    assert edit is not None
    assert apply_edits(before, [edit]).startswith("y = f(BAD  # jaxpert: ignore[")


@pytest.mark.parametrize(
    ("only", "quick", "everything"),
    [
        (None, True, True),
        ([], False, False),
        ([""], True, True),
        (["quickfix"], True, False),
        (["source"], False, True),
        (["source.fixAll"], False, True),
        (["source.fixAll.jaxpert"], False, True),
        (["source.fixAll.ruff"], False, False),
        (["source.organizeImports"], False, False),
        (["source.fix"], False, False),
        (["refactor", "quickfix"], True, False),
    ],
)
def test_asking_for_a_kind_asks_for_those_below_it(only, quick, everything):
    assert (wanted(QUICK_FIX, only), wanted(FIX_ALL, only)) == (quick, everything)
