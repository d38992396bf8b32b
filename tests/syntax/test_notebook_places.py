"""Places of a notebook's text in the JSON of its file."""

import json

import pytest

from jaxpert.syntax.notebook import read_notebook
from jaxpert.syntax.notebook_places import range_in_json
from jaxpert.text.lines import Position, Range, range_at, slice_lines, split_lines

CELLS = [
    {"cell_type": "markdown", "source": ["attn"]},
    {"cell_type": "code", "source": ["import jax\n", "é = '😀'; y = tag(\"attn\")\n", "%time x"]},
    {"cell_type": "code", "source": "a = 1\n\tb = '\\\\'; n = \"mlp\""},
    {"cell_type": "code", "source": []},
]
LAYOUTS = {
    "indented": json.dumps({"cells": CELLS}, indent=1),
    "on one line": json.dumps({"cells": CELLS}),
    "not escaped": json.dumps({"cells": CELLS}, indent=2, ensure_ascii=False),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_words_are_found_where_they_are_written(layout):
    text = LAYOUTS[layout]
    cells = read_notebook(text)
    lines = split_lines(cells.text)
    for word in ("attn", "mlp", "import", "n"):
        number = next(number for number, line in enumerate(lines) if word in line)
        column = lines[number].index(word)
        found = range_in_json(text, cells, range_at(number, column, number, column + len(word)))
        assert found is not None
        assert slice_lines(split_lines(text), found) == word


def test_a_place_over_two_cells_is_none():
    text = LAYOUTS["indented"]
    cells = read_notebook(text)
    everything = Range(Position(0, 0), Position(len(split_lines(cells.text)) - 1, 0))
    assert range_in_json(text, cells, everything) is None
