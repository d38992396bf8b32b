"""Notebooks: magics that leave every position in place, positions and edits there and back, JSON kept as it is."""

import ast
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxpert.syntax.notebook import BadNotebook, NotebookMap, UnwritableEdit, read_notebook, write_cells
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range, range_at, split_lines, without_line_end

# A cell -> what the analyser sees
MAGICS = {
    "x = 1": "x = 1",
    "%matplotlib inline\nx": "pass              \nx",
    "!ls": "0  ",
    "%x\n": "0 \n",
    "if x:\n    !pip install jax\n    y\n": "if x:\n    pass            \n    y\n",
    "!pip install \\\n  jax\ny": "pass          \n     \ny",
    "files = !ls *.py\nx": "files = __      \nx",
    "a.b, c = %timeit -o f": "a.b, c = __          ",
    "jax.jit?\nx": "pass    \nx",
    "?jax.jit": "pass    ",
    "f(x)[0]??  # doc": "pass            ",
    "%time params = train(x)": "0;    params = train(x)",
    "if x:\n  %timeit -n 10 -r3 f(x)": "if x:\n  0;                f(x)",
    "%time": "pass ",
    "%time x = (": "pass       ",
    "pip install -q jax": "pass              ",
    "cd ../data": "pass      ",
    "timeit -n 5 f(x)": "pass            ",
    "cat = 1\ncat in x\nls\nls - 1": "cat = 1\ncat in x\nls\nls - 1",
    "/f 1 2": "pass  ",
    "x = (a\n  % b)\ny = '''\n!ls\n'''": "x = (a\n  % b)\ny = '''\n!ls\n'''",
    "x = a % b\ny = a != b\nz = '?'  # why?": "x = a % b\ny = a != b\nz = '?'  # why?",
    "'\U0001f600'\r\n!é\r\nx": "'\U0001f600'\r\n0 \r\nx",
    "!echo \"it's\nx": "pass       \nx",
    "%%bash\nls\necho 'x": "      \n  \n       ",
    "\n%%time\nx\n!ls": "\n      \nx\n0  ",
    "%%writefile a.py\nx": "                \n ",
}


@pytest.mark.parametrize("cell", MAGICS)
def test_magics(cell: str) -> None:
    expected = MAGICS[cell]
    text = NotebookMap([cell]).text
    assert text == (expected if expected.endswith("\n") else expected + "\n") + "\n"
    assert [len(line) for line in split_lines(cell)] == [len(line) for line in split_lines(expected)]
    ast.parse(text)


def test_indented_cell() -> None:
    notebook = NotebookMap(["a", "\n  b\n !ls\nc\n", "  d\n\n  e", "f"])
    assert notebook.text.splitlines()[7:] == ["if True:", "  d", "", "  e", "", "f", ""]
    assert notebook.to_cell(Position(10, 2)) == (3, Position(2, 2))
    assert notebook.from_cell(3, Position(0, 2)) == Position(8, 2)
    assert notebook.from_cell(4, Position(0, 0)) == Position(12, 0)
    assert notebook.edited([Edit(range_at(10, 2, 10, 3), "E")]) == {3: "  d\n\n  E"}


@given(st.lists(st.none() | st.text("a(x'\"\\%!?é\U0001f600 \t\r\n#:", max_size=30), max_size=4))
def test_every_position_survives(sources: list[str | None]) -> None:
    notebook = NotebookMap(sources)
    joined = split_lines(notebook.text)
    for index, source in enumerate(sources, 1):
        if source is None:
            assert notebook.from_cell(index, Position(0, 0)) is None
            continue
        for line, content in enumerate(split_lines(source)):
            for column in range(len(without_line_end(content)) + 1):
                there = notebook.from_cell(index, Position(line, column))
                assert there
                assert column <= len(without_line_end(joined[there.line]))
                assert notebook.to_cell(there) == (index, Position(line, column))


# cells, edit of the joined text -> changed cells; None: cannot be
EDITS = {
    "inside": (["a\nb", "c"], (1, 0, 1, 1, "B"), {1: "a\nB"}),
    "start of a cell": (["a", "c"], (2, 0, 2, 0, "import x\n"), {2: "import x\nc"}),
    "behind the last line": (["a", "c"], (1, 0, 1, 0, "b\n"), {1: "a\nb"}),
    "behind the last line, two lines": (["a", "c"], (1, 0, 1, 0, "b\nb\n"), {1: "a\nb\nb"}),
    "behind a last line that ends": (["a\n", "c"], (1, 0, 1, 0, "b\n"), {1: "a\nb\n"}),
    "at the end of the last line": (["a", "c"], (0, 1, 0, 1, "\nb"), {1: "a\nb"}),
    "into an empty cell": (["", "c"], (0, 0, 0, 0, "b\n"), {1: "b"}),
    "the whole last line": (["a\nb", "c"], (1, 0, 2, 0, "B\n"), {1: "a\nB"}),
    "the whole last line away": (["a\nb\n", "c"], (1, 0, 2, 0, ""), {1: "a\n"}),
    "over two cells": (["a", "c"], (0, 0, 2, 1, ""), None),
    "into a magic": (["a\n!ls"], (1, 1, 1, 1, "x"), None),
    "over a magic": (["a\n!ls\nb"], (0, 0, 2, 1, "x"), None),
    "before a magic": (["a\n!ls"], (1, 0, 1, 0, "x\n"), {1: "a\nx\n!ls"}),
    "up to a magic": (["a\n!ls"], (0, 0, 1, 0, "x\n"), {1: "x\n!ls"}),
    "behind markdown": ([None, "a"], (0, 0, 0, 1, "A"), {2: "A"}),
}


@pytest.mark.parametrize("case", EDITS)
def test_edits(case: str) -> None:
    cells, (line, column, end_line, end_column, new), expected = EDITS[case]
    edit = Edit(range_at(line, column, end_line, end_column), new)
    notebook = NotebookMap(cells)
    if expected is None:
        with pytest.raises(UnwritableEdit):
            notebook.edited([edit])
    else:
        assert notebook.edited([edit]) == expected
        after = NotebookMap([expected.get(number, source) for number, source in enumerate(cells, 1)]).text
        assert after == apply_edits(notebook.text, [edit])


def test_no_cells() -> None:
    notebook = NotebookMap([None])
    assert notebook.text == ""
    assert notebook.to_cell(Position(0, 0))[0] == 0


def ipynb(cells: list[dict[str, object]], **more: object) -> str:
    return json.dumps({"cells": cells, "nbformat": 4, **more}, indent=1)


def code(source: object, **more: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "metadata": {}, **more}


READ = {
    "list and string": (ipynb([code(["a\n", "b"]), code("c")]), "a\nb\n\nc\n\n"),
    "markdown": (ipynb([{"cell_type": "markdown", "source": "# t"}, code("c")]), "c\n\n"),
    "cell in another language": (ipynb([code("c", metadata={"vscode": {"languageId": "shellscript"}})]), ""),
    "another language": (ipynb([code("c")], metadata={"language_info": {"name": "julia"}}), ""),
    "Python by kernel": (ipynb([code("c")], metadata={"kernelspec": {"language": "python"}}), "c\n\n"),
    "old format": ('{"worksheets": [{"cells": [{"cell_type": "code", "language": "python", "input": "a"}]}]}', "a\n\n"),
    "no cells": (ipynb([]), ""),
    "strange cells": ('{"cells": [null, {"cell_type": "code"}, {"cell_type": "code", "source": [1, "a"]}]}', "a\n\n"),
}


@pytest.mark.parametrize("case", READ)
def test_read(case: str) -> None:
    text, joined = READ[case]
    assert read_notebook(text).text == joined


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "3", '{"cells": 3}', "[" * 100_000])
def test_bad(text: str) -> None:
    with pytest.raises(BadNotebook):
        read_notebook(text)
    with pytest.raises(BadNotebook):
        write_cells(text, {})


WRITTEN_BEFORE = """{
 "cells": [
  {"cell_type": "markdown", "source": ["t\\u00e9\\n", "source"]},
  {
   "cell_type": "code",
   "outputs": [{"source": "no", "cells": [{"source": "no"}], "n": 1.50e-3, "é": "\\/"}],
   "source": [
    "a\\n",
    "b = '\\u00e9'\\n",
    "c"
   ]
  },
  {"source": "one\\ntwo"},
  {"source": ["x"]},
  {"source": []}
 ]
}

"""


def test_write_keeps_everything_else() -> None:
    after = write_cells(WRITTEN_BEFORE, {2: "a\nb = 'é'\nC→\nd", 3: "one\nthree", 4: "x\ny", 5: "z"})
    expected = WRITTEN_BEFORE.replace('"c"\n', '"C→\\n",\n    "d"\n').replace("two", "three")
    expected = expected.replace('["x"]', '["x\\n", "y"]').replace("[]", '["z"]')
    assert after == expected
    assert write_cells(WRITTEN_BEFORE, {}) == WRITTEN_BEFORE
    assert "\\u2192" in write_cells(ipynb([code("a")]), {1: "→"})  # a file in ASCII stays in ASCII


def test_edit_to_json_and_back() -> None:
    text = ipynb([code(["x\n", "y"]), code("!ls\nz\n")])
    edits = [Edit(range_at(1, 0, 1, 1), "why"), Edit(Range(Position(4, 1), Position(4, 1)), " = 1")]
    notebook = read_notebook(text)
    after = write_cells(text, notebook.edited(edits))
    assert read_notebook(after).text == apply_edits(notebook.text, edits)
