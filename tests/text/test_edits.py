"""Edits that were made one after the other, as edits made at once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxpert.text.edits import Edit, apply_edits, as_one
from jaxpert.text.lines import Position, Range, range_at, split_lines


@st.composite
def rounds_of_edits(draw):
    """A text, the sets of edits that were applied to it, and what came out."""
    texts = st.text(st.sampled_from("ab\r\n😀"), max_size=12)
    first = text = draw(texts)
    rounds = []
    for _ in range(draw(st.integers(0, 4))):
        places = [Position(row, column) for row, line in enumerate(split_lines(text)) for column in range(len(line) + 1)]
        cuts = sorted(draw(st.lists(st.sampled_from(places), max_size=6, unique=True)))
        rounds.append([Edit(Range(*pair), draw(texts)) for pair in zip(cuts[::2], cuts[1::2])])
        text = apply_edits(text, rounds[-1])
    return first, rounds, text


@given(rounds_of_edits())
def test_they_do_the_same(case):
    before, rounds, after = case
    edits = as_one(before, rounds)
    assert apply_edits(before, edits) == after
    assert all(edit.new_text or edit.range.start != edit.range.end for edit in edits)


TEXT = "a = f(1)\nb = 2\nc = g(3)\n"


@pytest.mark.parametrize(
    ("rounds", "expected"),
    [
        ([], []),
        (
            [[Edit(range_at(2, 4, 2, 5), "h"), Edit(range_at(0, 7, 0, 7), "0")]],
            [(range_at(0, 7, 0, 7), "0"), (range_at(2, 4, 2, 5), "h")],
        ),
        (
            [[Edit(range_at(0, 0, 0, 0), "import h\n")], [Edit(range_at(3, 4, 3, 5), "h")]],
            [(range_at(0, 0, 0, 0), "import h\n"), (range_at(2, 4, 2, 5), "h")],
        ),
        ([[Edit(range_at(1, 4, 1, 5), "23")], [Edit(range_at(1, 5, 1, 6), "")]], []),
        ([[Edit(range_at(1, 4, 1, 5), "23")], [Edit(range_at(1, 4, 1, 5), "4")]], [(range_at(1, 4, 1, 5), "43")]),
        ([[Edit(range_at(1, 0, 2, 0), "")], [Edit(range_at(1, 0, 2, 0), "")]], [(range_at(1, 0, 3, 0), "")]),
    ],
    ids=["none", "apart", "moved", "there and back", "one in the other", "side by side"],
)
def test_they_stay_small(rounds, expected):
    assert [(edit.range, edit.new_text) for edit in as_one(TEXT, rounds)] == expected
