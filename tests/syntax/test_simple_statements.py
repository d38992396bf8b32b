"""Simple statements that can be parsed on their own, and what edits of a text would do to it."""

from __future__ import annotations

import random

import pytest

from jaxpert.syntax.simple_statements import lines_of_simple_statement, parses_with
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Range, range_at
from tests.syntax.test_units import SAMPLE

PLACES = '''import a
def f(x):
    y = g(
  x,  # less indented
    )
    if x: y = 1
    z = 1; w = 2
    for i in range(
        3
    ):
        return x
    return """
def not_code():
"""
x = \\
  2
'''


@pytest.mark.parametrize(
    ("area", "lines"),
    [
        (range_at(2, 8, 2, 9), (2, 5)),
        (range_at(3, 2, 3, 3), (2, 5)),
        (range_at(2, 2, 2, 9), None),  # the indentation is not a part of it
        (range_at(2, 8, 5, 9), None),  # two statements
        (range_at(5, 10, 5, 11), None),  # on the line of what it is in
        (range_at(6, 4, 6, 5), (6, 7)),
        (range_at(6, 11, 6, 12), (6, 7)),  # both are read
        (range_at(8, 8, 8, 9), None),  # the head of a compound one
        (range_at(10, 8, 10, 9), (10, 11)),
        (range_at(15, 2, 15, 3), (14, 16)),
        (range_at(0, 0, 0, 1), None),  # a byte order mark might stand there
    ],
)
def test_the_lines_of_a_simple_statement(area: Range, lines: tuple[int, int] | None) -> None:
    source = SourceFile(PLACES)
    assert source.problem is None
    assert lines_of_simple_statement(source, area) == lines


def test_moved_lines_are_not_looked_at() -> None:
    source = SourceFile(SAMPLE)
    place = range_at(6, 8, 6, 9)
    assert lines_of_simple_statement(source, place) == (6, 7)
    source.edit(range_at(7, 4, 7, 4), "(")
    assert lines_of_simple_statement(source, place) is None


@pytest.mark.parametrize(
    ("area", "new_text", "parses"),
    [
        (range_at(6, 8, 6, 13), "x + 2", True),
        (range_at(6, 8, 6, 13), "x +", False),
        (range_at(0, 0, 0, 0), "import os\n", True),
        (range_at(14, 8, 14, 9), "y", True),
        (range_at(14, 4, 14, 5), "(", False),
        (range_at(10, 0, 10, 12), "class Other:", True),
        (range_at(10, 0, 10, 12), "class Other", False),
    ],
)
def test_what_an_edit_would_do(area: Range, new_text: str, parses: bool) -> None:
    source = SourceFile(SAMPLE)
    edits = [Edit(area, new_text)]
    assert parses_with(source, edits) is parses
    assert SourceFile(apply_edits(SAMPLE, edits)).problem is None or not parses
    assert source.text == SAMPLE


@pytest.mark.parametrize("seed", range(12))
def test_what_random_edits_would_do(seed: int) -> None:
    source, chance = SourceFile(SAMPLE), random.Random(seed)
    pieces = ["", "x", "(", ")", "\n", "\n    ", "\n        y = 1", ":", "if x: pass", "\\", '"""', "; z", " # c", "else"]
    for _ in range(60):
        line = chance.randrange(1, len(source.lines) - 1)
        end = min(line + chance.choice([0, 0, 0, 1]), len(source.lines) - 1)
        start, stop = (chance.randrange(len(source.lines[at].rstrip("\n")) + 1) for at in (line, end))
        area = range_at(line, min(start, stop) if line == end else start, end, max(start, stop) if line == end else stop)
        edits = [Edit(area, chance.choice(pieces))]
        whole = SourceFile(apply_edits(SAMPLE, edits)).problem is None
        assert whole or not parses_with(source, edits), edits
