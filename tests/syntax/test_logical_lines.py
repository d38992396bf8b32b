"""Comments and logical lines without a parser, against Python's own tokenizer."""

import io
import tokenize
from pathlib import Path

import pytest

import jaxpert
from jaxpert.syntax.logical_lines import find_comments

Seen = tuple[int, int, str, int, int]


def seen(text: str, broken: bool = False) -> list[Seen]:
    return [(c.line, c.column, c.text, c.first, c.last) for c in find_comments(text, broken)]


def by_tokenizer(text: str) -> list[Seen]:
    found: list[Seen] = []
    waiting: list[tuple[int, int, str]] = []
    first = -1
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        line = token.start[0] - 1
        if token.type == tokenize.COMMENT:
            waiting.append((line, token.start[1], token.string))
        elif token.type == tokenize.NEWLINE:
            found += [(*comment, first, line) for comment in waiting]
            waiting, first = [], -1
        elif token.type in (tokenize.NL, tokenize.ENDMARKER) and first < 0:
            found += [(*comment, comment[0], comment[0]) for comment in waiting]
            waiting = []
        elif first < 0 and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
            first = line
    return found


SOURCES = [*Path(jaxpert.__file__).parent.rglob("*.py"), *Path(__file__).parents[1].rglob("*.py")]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_agrees_with_the_tokenizer(path: Path) -> None:
    text = path.read_text("utf-8")
    assert seen(text) == by_tokenizer(text)


CASES = {
    "none": ("x = '# no'\n", []),
    "no line end": ("x # a", [(0, 2, "# a", 0, 0)]),
    "line ends of all kinds": ("# a\r\n# b\r# c\n", [(0, 0, "# a", 0, 0), (1, 0, "# b", 1, 1), (2, 0, "# c", 2, 2)]),
    "form feed is no line end": ("\f# a\nx\f# b\n", [(0, 1, "# a", 0, 0), (1, 2, "# b", 1, 1)]),
    "astral characters": ("'\U0001f600' # a", [(0, 4, "# a", 0, 0)]),
    "brackets": (
        "f(  # a\n  # b\n)  # c\n# d",
        [(0, 4, "# a", 0, 2), (1, 2, "# b", 0, 2), (2, 3, "# c", 0, 2), (3, 0, "# d", 3, 3)],
    ),
    "backslash": ("x = \\\n  1  # a\n", [(1, 5, "# a", 0, 1)]),
    "string over lines": ('"""\n# no\n"""  # a\n', [(2, 5, "# a", 0, 2)]),
    "escaped quotes": ("'\\'# no' # a\n r'\\' # no' # b", [(0, 9, "# a", 0, 0), (1, 12, "# b", 1, 1)]),
    "escaped line end": ("'\\\n# no' # a", [(1, 6, "# a", 0, 1)]),
    "nested quotes in an f-string": ("f'{d['#']} # no' # a", [(0, 17, "# a", 0, 0)]),
    "braces in an f-string": ("f'{{ # no' # a\nrf'\\{x}}}' # b", [(0, 11, "# a", 0, 0), (1, 11, "# b", 1, 1)]),
    "format specification": ("f'{x:{w}#>3}' # a\nf'{x!r:#}{x[1:2]}' # b", [(0, 14, "# a", 0, 0), (1, 19, "# b", 1, 1)]),
    "named character in an f-string": ("f'\\N{DIGIT ONE}#' # a", [(0, 18, "# a", 0, 0)]),
    "comment inside an f-string": ("f'''{\n  x  # a\n} # no'''", [(1, 5, "# a", 0, 2)]),
    "f is also a name": ("f('{') # a\nxf = '{' # b", [(0, 7, "# a", 0, 0), (1, 9, "# b", 1, 1)]),
    "unclosed f-string": ("f'{x\n# a\nf'x{y:'\n# b", [(1, 0, "# a", 0, 3), (3, 0, "# b", 0, 3)]),
    "stray closers": (") } ]  # a\nx # b", [(0, 7, "# a", 0, 0), (1, 2, "# b", 1, 1)]),
}


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    text, expected = CASES[case]
    assert seen(text) == expected


BROKEN = {
    "open bracket": ("f(  # a\ndef g():\n  x  # b\n", [(0, 4, "# a", 0, 0), (2, 5, "# b", 2, 2)]),
    "open string": ('x = """\ny  # a\nz # b\n', [(1, 3, "# a", 1, 1), (2, 2, "# b", 2, 2)]),
    "open and closed strings": ('x = """\ny  # a\n"""doc\n"""\nz # b', [(1, 3, "# a", 1, 1), (4, 2, "# b", 4, 4)]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_text_hides_no_comment(case: str) -> None:
    text, expected = BROKEN[case]
    assert seen(text, broken=True) == expected
