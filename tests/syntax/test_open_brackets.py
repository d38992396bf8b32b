"""What is open at a place, on any text."""

import pytest

from jaxpert.syntax.open_brackets import surroundings
from jaxpert.syntax.units import SourceFile
from jaxpert.text.lines import Position


def around(text: str):
    before = text[: text.index("|")]
    source = SourceFile(before + text[len(before) + 1 :])
    return surroundings(source, Position(before.count("\n"), len(before) - (before.rfind("\n") + 1)))


CALLS = {
    "f(|": [("(", "f", 0, "")],
    "a.b . c(x, |)": [("(", "a.b.c", 1, "")],
    "f(x, key=[1, |": [("(", "f", 1, "key"), ("[", "", 1, "")],
    "f(g(1, 2), h(|": [("(", "f", 1, ""), ("(", "h", 0, "")],
    "f(')', \"(\", |": [("(", "f", 2, "")],
    "f(a, # (\n  |": [("(", "f", 1, "")],
    "return (x, |": [("(", "", 1, "")],
    "f()(|": [("(", "", 0, "")],
    "f(a == |": [("(", "f", 0, "")],
    "f(a)|": [],
    "f(a,\ndef g(x): |": [],
    "f(a,\n  x = g(|": [("(", "f", 1, "x"), ("(", "g", 0, "")],
    "'(' + f(|": [("(", "f", 0, "")],
    "x = 'open\nf(|": [("(", "f", 0, "")],
}


@pytest.mark.parametrize("text", CALLS)
def test_open_brackets(text):
    found = around(text).brackets
    assert [(it.kind, it.callee, it.number, it.keyword) for it in found] == CALLS[text]


STRINGS = {
    "f(x, '|": ("", "'", Position(0, 6), " "),
    'f(x, k="ab|c")': ("", '"', Position(0, 8), ""),
    "f(x,\n  rb'''|": ("rb", "'''", Position(1, 7), "\n  "),
    "f('a' if b else '|')": ("", "'", Position(0, 17), "'a' if b else "),
    "x = 'a\\'|": ("", "'", Position(0, 5), "x = "),
    "f('a'|)": None,
    "f('a', |": None,
    "f('a\n|": None,
    "# f('|": None,
}


@pytest.mark.parametrize("text", STRINGS)
def test_open_strings(text):
    found = around(text)
    string = found.string
    assert (string and (string.prefix, string.quote, string.start, found.before)) == STRINGS[text]


def test_what_the_arguments_so_far_are():
    bracket = around("f(first(1), *more, key='a', other=['b', \"c\"], |").brackets[0]
    assert (bracket.first, bracket.keywords, bracket.has_star) == ("first(1)", ["key", "other"], True)
    assert bracket.strings == ["a", "b", "c"]


def test_comments():
    assert around("f(x, # |").is_comment
    assert not around("f(x, # \n|").is_comment
    assert not around("f('# |").is_comment
