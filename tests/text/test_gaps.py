"""Texts with gaps."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxpert.text.gaps import ANY, Parts, fits, joined


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        ([], ("",)),
        ([("a",), ("b",)], ("ab",)),
        ([("a",), ANY, ("b",)], ("a", "b")),
        ([ANY, ANY], ANY),
        ([("a", "b"), ("c", "d")], ("a", "bc", "d")),
        ([("a", ""), ("",), ANY, ("b",)], ("a", "b")),
    ],
)
def test_texts_are_put_together(texts: list[Parts], parts: Parts) -> None:
    assert joined(texts) == parts


@given(st.text("ab", max_size=8), st.lists(st.text("ab", max_size=3), min_size=1, max_size=5).map(tuple))
def test_a_gap_is_any_text(text: str, parts: Parts) -> None:
    assert fits(text, parts) is (re.fullmatch(".*".join(parts), text) is not None)
    assert fits(text, joined([parts])) is fits(text, parts)


def test_many_gaps_do_not_multiply() -> None:
    """A search that goes back on what it found does not end here."""
    text = "encoder_block_12_attention_projection_output" * 4
    assert not fits(text, ("", *"_o_o_o_o" * 5, "_out"))
    assert fits(f"{text}_out", ("", *"_o_o_o_o" * 2, "_out"))
