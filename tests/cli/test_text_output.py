"""The text that people read: excerpts, underlines, wrapping, fixes, the last line."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from jaxpert.cli.output.source_lines import crop, shown_line
from jaxpert.cli.output.text import TextOutput, summary_line
from jaxpert.cli.report import Change, FileReport, Place, Run
from jaxpert.rulekit.rule import Safety, Severity
from jaxpert.text.decoding import SourceText
from jaxpert.text.lines import range_at
from tests.cli.samples import BLOCK, block_run, finding_at, fix_with, range_of, run_of


def rendered(run: Run, width: int | None = None, *, color: bool = False, fix_lines: bool = True) -> str:
    stream = io.StringIO()
    console = Console(file=stream, color_system="standard" if color else None, force_terminal=color, width=width or 80)
    TextOutput(console, width, fix_lines=fix_lines).findings(run.files)
    return stream.getvalue()


def test_a_finding_with_everything() -> None:
    assert rendered(block_run()) == """\
model/block.py:10:41  error  JXP202 policy-falls-through

   1 | def keep_dots(prim, *avals, **params):
   2 |     if prim.name == "dot_general":
   3 |         return True
     |         ----------- the only result
     ...
  10 | block = jax.checkpoint(block_fn, policy=keep_dots)
     |                                         ^^^^^^^^^ `keep_dots` returns None for every other primitive

  model/head.py:12:5  also used here
  JAX 0.12.0 raises when this is differentiated:
      TypeError: Got None
  Fix (safe): add `return False` to `keep_dots`
   3 |         return True
   + |     return False

"""


def test_without_the_lines_of_the_fix() -> None:
    assert rendered(block_run(), fix_lines=False).endswith("  Fix (safe): add `return False` to `keep_dots`\n\n")


@pytest.mark.parametrize("width", [100, 72, 50, 36])
def test_no_row_is_wider_than_the_terminal(width: int) -> None:
    rows = rendered(block_run(), width).splitlines()
    below = rows[1:]
    assert all(len(row) <= width for row in below)
    assert all(row == row.rstrip() for row in rows)
    words = re.sub(r"[\s|^]+", " ", " ".join(below))
    assert "`keep_dots` returns None for every other primitive" in words


@pytest.mark.parametrize(
    ("source", "covered", "expected"),
    [
        ("\tx = f(a)\n", "f(a)", ["   1 |     x = f(a)", "     |         ^^^^ m"]),
        ("a\t= f(a)\n", "f(a)", ["   1 | a   = f(a)", "     |       ^^^^ m"]),
        ("x = '日本' + f\n", "f", ["   1 | x = '日本' + f", "     |              ^ m"]),
        ("x = '日本'\n", "'日本'", ["   1 | x = '日本'", "     |     ^^^^^^ m"]),
        ("x = '🚀' + f\n", "f", ["   1 | x = '🚀' + f", "     |            ^ m"]),
        ("x = '👩‍👩‍👧' + f\n", "f", ["   1 | x = '👩‍👩‍👧' + f", "     |            ^ m"]),
        ("x = 'e\u0301' + f\n", "f", ["   1 | x = 'e\u0301' + f", "     |           ^ m"]),
        ("x = '\x1b[31m' + f\n", "f", ["   1 | x = '␛[31m' + f", "     |               ^ m"]),
        ("x = '\u202e' + f\n", "f", ["   1 | x = '\ufffd' + f", "     |           ^ m"]),
        ("\x0cx = f\r\n", "f", ["   1 | ␌x = f", "     |      ^ m"]),
    ],
)
def test_carets_stand_under_what_they_mark(source: str, covered: str, expected: list[str]) -> None:
    run = run_of(source, finding_at(range_of(source, covered, -1), "m"))
    assert rendered(run).splitlines()[2:4] == expected


def test_a_range_of_several_lines_is_underlined_on_each() -> None:
    source = "f(\n    a,\n    b)\n"
    rows = rendered(run_of(source, finding_at(range_at(0, 0, 2, 6), "m"))).splitlines()
    assert rows[2:8] == ["   1 | f(", "     | ^^", "   2 |     a,", "     |     ^^", "   3 |     b)", "     |     ^^ m"]


def test_a_long_range_is_shown_by_its_ends() -> None:
    source = "f(\n" + "    a,\n" * 20 + ")\n"
    rows = rendered(run_of(source, finding_at(range_at(0, 0, 21, 1), "m"))).splitlines()
    assert rows[2:9] == [
        "   1 | f(", "     | ^^", "   2 |     a,", "     |     ^^", "     ...", "  22 | )", "     | ^ m"
    ]  # fmt: skip


def test_an_empty_range_has_one_caret() -> None:
    rows = rendered(run_of("x = 1\n", finding_at(range_at(0, 4, 0, 4), "m"))).splitlines()
    assert rows[3] == "     |     ^ m"


def test_a_place_that_the_source_does_not_have() -> None:
    assert "gone" in rendered(run_of("", finding_at(range_at(7, 0, 7, 3), "gone")))


def test_two_marks_on_one_line() -> None:
    source = "f(names, policy)\n"
    mark = finding_at(range_of(source, "policy"), "here", related=(Place(range_of(source, "names"), "there"),))
    rows = rendered(run_of(source, mark)).splitlines()
    assert rows[2:5] == ["   1 | f(names, policy)", "     |          ^^^^^^ here", "     |   ----- there"]


def test_one_hidden_line_is_shown_instead_of_an_ellipsis() -> None:
    source = "a\nb\nc\n"
    mark = finding_at(range_at(2, 0, 2, 1), "here", related=(Place(range_at(0, 0, 0, 1), "there"),))
    assert "   2 | b" in rendered(run_of(source, mark))


def test_a_long_line_is_cropped_around_the_mark() -> None:
    source = "x = [" + "1, " * 100 + "bad, " + "2, " * 100 + "]\n"
    rows = rendered(run_of(source, finding_at(range_of(source, "bad"), "m")), 60).splitlines()
    shown, underline = rows[2], rows[3]
    assert len(shown) <= 60
    assert shown.startswith("   1 | …") and shown.endswith("…")
    assert shown[underline.index("^") : underline.rindex("^") + 1] == "bad"


def test_a_notebook_names_the_cell() -> None:
    run = run_of("f(x)\n", finding_at(range_at(0, 0, 0, 1), "m", cell=3), path="a.ipynb", cell=3)
    assert rendered(run).startswith("a.ipynb:cell 3:1:1  error")


def test_a_related_place_in_another_cell_is_named() -> None:
    place = Place(range_at(4, 0, 4, 1), "defined here", cell=1)
    run = run_of("f(x)\n", finding_at(range_at(0, 0, 0, 1), "m", cell=3, related=(place,)), path="a.ipynb", cell=3)
    assert "  a.ipynb:cell 1:5:1  defined here\n" in rendered(run)


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ([(range_at(0, 0, 0, 0), "import x\n")], ["   + | import x"]),
        ([(range_at(0, 0, 0, 3), "DEF")], [
            "   - | def keep_dots(prim, *avals, **params):", "   + | DEF keep_dots(prim, *avals, **params):"
        ]),
        ([(range_at(2, 0, 3, 0), "")], ["   - |         return True"]),
        ([(range_at(0, 0, 0, 0), "import x\n"), (range_at(9, 40, 9, 49), "other")], [
            "   + | import x", "     ...", "   - | block = jax.checkpoint(block_fn, policy=keep_dots)",
            "   + | block = jax.checkpoint(block_fn, policy=other)",
        ]),
        ([(range_at(10, 0, 10, 0), "end = 1")], [
            "  10 | block = jax.checkpoint(block_fn, policy=keep_dots)", "   + | end = 1"
        ]),
    ],
)  # fmt: skip
def test_a_fix_is_shown_as_the_lines_it_changes(edits: list[tuple], expected: list[str]) -> None:
    run = run_of(BLOCK, finding_at(range_at(0, 0, 0, 3), fix=fix_with(*edits)))
    rows = rendered(run).splitlines()
    start = next(number for number, row in enumerate(rows) if row.startswith("  Fix")) + 1
    assert rows[start:-1] == expected


def test_a_long_fix_is_cut_short() -> None:
    text = "".join(f"line{n}\n" for n in range(40))
    run = run_of(BLOCK, finding_at(range_at(0, 0, 0, 3), fix=fix_with((range_at(0, 0, 0, 0), text))))
    assert "... 26 more lines" in rendered(run)


def test_the_kind_of_fix_is_said_in_words() -> None:
    fix = fix_with((range_at(0, 0, 0, 3), "x"), safety=Safety.UNSAFE)
    run = run_of(BLOCK, finding_at(range_at(0, 0, 0, 3), fix=fix))
    assert "Fix (look at it first): " in rendered(run)


def test_colour_carries_nothing_alone() -> None:
    plain = rendered(block_run())
    colored = rendered(block_run(), color=True)
    assert "\x1b[" in colored
    assert "\x1b" not in plain


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (Run(()), "No problems found in 0 files."),
        (Run((FileReport(Path("a.py"), target="JAX 0.7.2 from uv.lock"),)),
         "No problems found in 1 file (JAX 0.7.2 from uv.lock)."),
        (Run((FileReport(Path("a.py"), failure="permission denied"),)),
         "1 file could not be checked; no problems found in 0 files."),
        (block_run(), "Found 1 error in 1 of 2 files (JAX 0.12.0 from .venv). 1 can be fixed: FIX"),
        (replace(block_run(), fixing=True), "Found 1 error in 1 of 2 files (JAX 0.12.0 from .venv)."),
        (run_of(BLOCK, *(finding_at(range_at(0, 0, 0, 1), severity=severity) for severity in Severity),
                finding_at(range_at(0, 0, 0, 1), severity=Severity.HINT)),
         "Found 1 error, 1 warning, 1 note, 2 hints in 1 of 2 files (JAX 0.12.0 from .venv)."),
        (run_of(BLOCK, finding_at(range_at(0, 0, 0, 1), fix=fix_with(safety=Safety.UNSAFE))),
         "Found 1 error in 1 of 2 files (JAX 0.12.0 from .venv). 1 can be fixed after a look: FIX --unsafe-fixes"),
        (run_of(BLOCK, finding_at(range_at(0, 0, 0, 1), fix=fix_with(safety=Safety.UNSAFE)),
                finding_at(range_at(0, 0, 0, 1), fix=fix_with())),
         "Found 2 errors in 1 of 2 files (JAX 0.12.0 from .venv). 1 can be fixed: FIX (1 more with --unsafe-fixes)"),
        (Run((FileReport(Path("a.py"), change=Change(SourceText("a"), "b", b"b", 2)),), fixing=True),
         "Fixed 2. No problems found in 1 file."),
        (Run((FileReport(Path("a.py"), (finding_at(range_at(0, 0, 0, 1)),), change=Change(SourceText("a"), "b", b"b", 2)),),
             fixing=True),
         "Fixed 2. 1 error left in 1 file."),
    ],
)  # fmt: skip
def test_the_last_line(run: Run, expected: str) -> None:
    assert summary_line(run, "FIX") == expected


@pytest.mark.parametrize(
    ("text", "left", "width", "expected"),
    [
        ("abcdef", 0, 6, "abcdef"),
        ("abcdef", 0, 4, "abc…"),
        ("abcdef", 2, 10, "…def"),
        ("日本語日本語", 0, 6, "日本…"),
        ("日本語日本語", 4, 20, "…日本語"),
    ],
)
def test_crop(text: str, left: int, width: int, expected: str) -> None:
    assert crop(text, left, width) == expected


def test_every_column_of_a_line_has_a_cell() -> None:
    line = "\ta日\x00\n"
    assert [shown_line(line).cells_before(column) for column in range(6)] == [0, 4, 5, 7, 8, 8]
