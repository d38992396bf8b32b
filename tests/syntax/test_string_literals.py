"""How string literals are written."""

import pytest

from jaxpert.syntax.string_literals import content, inside, literals_of, spells
from jaxpert.text.lines import Position, range_at

WRITTEN = {
    "'a'": (1, "a"),
    'r"a\\b"': (1, "a\\b"),
    "'''a'b'''": (1, "a'b"),
    "'a' \\\n  \"b\"": (2, "'a' \\\n  \"b\""),
    "f'a{b}'": (1, "a{b}"),
    "''": (1, ""),
    "'a' + 'b'": (0, "'a' + 'b'"),
    "name": (0, "name"),
    "'a": (0, "'a"),
    "('a')": (0, "('a')"),
    "'a'  # b\n'c'": (0, "'a'  # b\n'c'"),
    "": (0, ""),
}


@pytest.mark.parametrize("written", WRITTEN)
def test_literals_and_their_content(written):
    assert (len(literals_of(written)), content(written)) == WRITTEN[written]


SPELLS = [
    ("'a'", "a", True),
    ("'a' 'b'", "ab", True),
    ("u'\\x61'", "a", True),
    ("f'a'", "a", True),
    ("f'{a}'", "a", False),
    ("b'a'", "a", False),
    ("'a' + 'b'", "ab", False),
    ("'b'", "a", False),
    ("a", "a", False),
]


@pytest.mark.parametrize(("written", "text", "expected"), SPELLS)
def test_what_is_spelled(written, text, expected):
    assert spells(written, text) is expected


def test_where_the_content_stands():
    assert inside(range_at(2, 4, 2, 8), "r'a'") == range_at(2, 6, 2, 7)
    assert inside(range_at(2, 4, 3, 4), "'''a\nb'''") == range_at(2, 7, 3, 1)
    assert inside(range_at(2, 4, 2, 8), "name") == range_at(2, 4, 2, 8)
    assert inside(range_at(0, 0, 0, 2), "''").start == Position(0, 1)
