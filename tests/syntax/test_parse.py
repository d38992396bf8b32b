"""What the parser says about text that the running Python cannot read."""

from __future__ import annotations

import ast
import sys

import pytest

from jaxpert.syntax.parse import SyntaxProblem, parse


@pytest.mark.parametrize(
    ("newer", "since"), [("type X = int\n", (3, 12)), ("def f[T](x): pass\n", (3, 12)), ('x = t"{y}"\n', (3, 14))]
)
def test_newer_syntax_names_the_grammar(newer: str, since: tuple[int, int]) -> None:
    found = parse(newer)
    if sys.version_info >= since:
        assert isinstance(found, ast.Module)
    else:
        grammar = f"(read with the grammar of Python {sys.version_info.major}.{sys.version_info.minor};"
        assert isinstance(found, SyntaxProblem) and grammar in found.message


def test_wrong_indentation_is_wrong_in_every_grammar() -> None:
    found = parse("if x:\npass\n")
    assert isinstance(found, SyntaxProblem) and "grammar" not in found.message


def test_lone_surrogates_are_read_and_keep_the_columns() -> None:
    text = 's = "\ud800"; y = 1\n'
    found = parse(text)
    assert isinstance(found, ast.Module)
    assert found.body[1].col_offset == len(text[: text.index("y")].encode("utf-8", "surrogatepass"))
