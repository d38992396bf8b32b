"""The place of every key and value, checked by reading the text at that place again."""

import sys
from typing import Any

import pytest

from jaxpert.project.toml_positions import KeyPath, locate
from jaxpert.text.lines import slice_lines, split_lines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TEXTS = {
    "tables": "a = 1\n[b]\nc = 'x' # no = 1\n[b.d]\ne.f = 2\n[ \"g h\" . 'i.j' ]\nk = true\n",
    "arrays": "a = [ 1, 'x', [2, # no\n 3,], ]\nb = []\nc=[\n'#',\n\"]\",\n]\n",
    "inline tables": "a = { b = 1, c.d = [2], 'e' = { f = '}' } }\ng = {}",
    "strings": 'e=\'\\\'\na = "\\"#\\\\"\nb = \'\'\'\n[no]\n\'\'\'\nc = """"x""""\nd = """\\\n  "" \\""" [no]"""\n',
    "scalars": "a = 1979-05-27 07:32:00Z # c\nb = +1_000.5e3\nc = inf\nd = [1.5,-2]\n",
    "odd keys": "'' = 1\n\"\\u00e9\\t\" = 2\n1.2 = 3\n-_ = 4\n",
    "line ends": "a = 1\r\n\r\n[b]\r\nc = [\r\n'x',\r\n]\r\n",
    "not ASCII": "# \U0001f600\n\"\U0001f600\" = ['\U0001f600', 'é'] # é\n",
    "empty": "# nothing\n",
}


def leaves(value: Any, path: KeyPath = ()) -> list[tuple[KeyPath, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    inner = [leaf for key, item in items for leaf in leaves(item, (*path, key))]
    return [*inner, (path, value)] if path else inner


@pytest.mark.parametrize("case", TEXTS)
def test_every_value_is_found(case: str) -> None:
    text = TEXTS[case]
    places = locate(text)
    lines = split_lines(text)
    expected = leaves(tomllib.loads(text))
    assert set(places) == {path for path, _ in expected}
    for path, value in expected:
        key, area = (slice_lines(lines, it) for it in places[path])
        if key == area and not isinstance(path[-1], int):
            assert isinstance(value, dict)  # a table has only its name
        else:
            assert tomllib.loads(f"x = {area}")["x"] == value
        if isinstance(path[-1], str):
            assert leaves(tomllib.loads(f"{key} = 1"))[0][0][-1] == path[-1]


NOT_TOML = ["a", "a =", "[", "[[", "a = [", "a = {", "a = {b", "a = '", "= 1", "a = [" * 5000, '"\\U99999999" = 1']


@pytest.mark.parametrize("text", NOT_TOML, ids=lambda text: text[:8])
def test_no_toml_is_no_crash(text: str) -> None:
    assert isinstance(locate(text), dict)
