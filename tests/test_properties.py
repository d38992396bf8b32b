"""What must be true of every text and every edit, tried with many of both."""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxpert.engine.analyze import analyze
from jaxpert.engine.fixing import fix_for, fix_until_quiet
from jaxpert.rulekit.rule import Finding
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import apply_edits
from jaxpert.text.lines import Position, Range, clamp, split_lines, without_line_end
from tests.projects import Project
from tests.rules.pages import PageExample, all_examples

EXAMPLES = all_examples()

LONG_CLASS = "class Model(nn.Module):\n    '''Long enough to be cut into its methods.'''\n" + "".join(
    f"""
    # what comes before a method belongs to it
    @functools.partial(jax.checkpoint, policy=save{number}(), static_argnums=(0,))
    def block_{number}(self, x, *rest):
        text = '''
not indented
'''
        if x > {number}:
            return checkpoint_name(x, "block_{number}")
        return x
"""
    for number in range(6)
)

TEXTS = [
    "",
    "x",
    "\n\n\n",
    "\ufeffimport jax\r\nx = '😀'; jax.checkpoint(f)\r\n",
    "import jax\rdef f(x):\r\treturn x\r",
    "import jax\ndef f():\n\tpass\n\x0c\ndef g():\n\tif 1:\n\t\tpass",
    "import jax, functools\nfrom flax import linen as nn\n\n" + LONG_CLASS + "\nx = 1; y = 2\n",
    "import jax\nif (\n",
]  # fmt: skip

PIECES = [
    *"()[]{}'\":,.#\\ \t=@;x1",
    '"""', "\n", "\r\n", "\r", "\f", "\v", "\u2028", "\0", "é", "漢字", "😀", "\ufeff",
    "    ", "import jax\n", "def f(x):\n", "    return x\n", "class C:\n", "@jax.checkpoint\n", "else:\n", "try:\n",
    "async def g():\n    await h()\n", "lambda x: x", "f'{x!r:{y}}'", "# jaxpert: ignore[policy-called]\n",
    "    def method(self, y):\n        return y\n", "policy=None", "jax.checkpoint(f, policy=p)\n",
]  # fmt: skip


class Change(NamedTuple):
    """An edit whose place is given as fractions, so that it fits every text."""

    at: float
    reach: int
    new_text: str


changes = st.lists(
    st.builds(
        Change,
        at=st.floats(0, 1),
        reach=st.one_of(st.just(0), st.integers(0, 3), st.integers(0, 400)),
        new_text=st.lists(st.sampled_from(PIECES), max_size=3).map("".join),
    ),
    min_size=1,
    max_size=8,
)
texts = st.one_of(
    st.sampled_from(TEXTS), st.sampled_from([block.text for example in EXAMPLES for block in example.blocks] or TEXTS)
)


def _area(text: str, change: Change) -> Range:
    """The range of ``text`` that ``change`` replaces."""
    start = int(change.at * len(text))
    return Range(_position(text, start), _position(text, min(len(text), start + change.reach)))


def _position(text: str, offset: int) -> Position:
    lines = split_lines(text[:offset])
    place = Position(len(lines) - 1, len(lines[-1]))
    return clamp(split_lines(text), place)


def _replaced(text: str, area: Range, new_text: str) -> str:
    lines = split_lines(text)
    start, end = (sum(map(len, lines[:line])) + column for line, column in area)
    return text[:start] + new_text + text[end:]


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _is_inside(area: Range, lines: list[str]) -> bool:
    return area.start <= area.end and all(clamp(lines, position) == position for position in area)


# -- text and trees ---------------------------------------------------------------------------------------------------


@given(texts, changes)
def test_units_cover_the_text_and_nodes_stay_inside(text: str, edits: list[Change]) -> None:
    source = SourceFile(text)
    for edit in edits:
        area = _area(text, edit)
        text = _replaced(text, area, edit.new_text)
        source.edit(area, edit.new_text)
        assert source.lines == split_lines(text)
        borders = [(unit.first, unit.end) for unit in source.units]
        assert [first for first, _ in borders] + [len(source.lines)] == [0, *(end for _, end in borders)]
        for _, area in _places(source):
            assert area is None or _is_inside(area, source.lines), area


@given(texts, changes)
def test_reconciled_trees_are_those_of_a_fresh_parse(text: str, edits: list[Change]) -> None:
    source = SourceFile(text)
    for edit in edits:
        source.edit(_area(source.text, edit), edit.new_text)
    source.reconcile()
    if _parses(source.text):
        fresh = SourceFile(source.text)
        assert list(_places(source)) == list(_places(fresh))
        assert source.is_current


def _places(source: SourceFile) -> Iterator[tuple[str, Range | None]]:
    for tree in source.trees():
        for statement in tree.statements:
            for node in ast.walk(statement):
                if hasattr(node, "lineno"):
                    yield type(node).__name__, source.range_of(node)


# -- findings ---------------------------------------------------------------------------------------------------------


@given(texts, changes)
def test_findings_survive_any_edit(text: str, edits: list[Change]) -> None:
    """Nothing raises, ranges lie inside the document, and typing ends where a fresh analysis would."""
    with tempfile.TemporaryDirectory() as folder:
        typed, fresh = (Project(Path(folder, name), {}) for name in ("typed", "fresh"))
        path = typed.root / "example.py"
        typed.workspace.open(path, text)
        for edit in edits:
            area = _area(text, edit)
            text = _replaced(text, area, edit.new_text)
            typed.workspace.edit(path, area, edit.new_text)
            _check_ranges(typed.findings("example.py", quick=True), text)
        if _parses(text):
            typed.workspace.snapshot(path).source.reconcile()
            fresh.workspace.open(fresh.root / "example.py", text)
            assert typed.findings("example.py") == fresh.findings("example.py")


def _check_ranges(findings: tuple[Finding, ...], text: str) -> None:
    lines = split_lines(text)
    for finding in findings:
        assert _is_inside(finding.range, lines), finding
        for related in finding.related:
            assert related.path or _is_inside(related.range, lines), finding


# -- fixes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.where for example in EXAMPLES])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_every_fix_leaves_a_file_that_parses(example: PageExample, line_end: str, tmp_path: Path) -> None:
    """Each fix alone, and all of them until quiet; only lines that a fix touches change their line end."""
    files = {block.path: block.text.replace("\n", line_end) for block in example.blocks}
    project = Project(tmp_path, files, **example.settings)
    for name, text in files.items():
        if not _parses(text):
            continue
        analysis = project.analysis(name)
        for finding in analysis.findings:
            fix = fix_for(analysis, finding)
            if fix:
                fixed = apply_edits(text, fix.edits)
                assert _parses(fixed), (finding, fixed)
                assert fixed != text
                assert {line[len(without_line_end(line)) :] for line in split_lines(fixed)} <= {line_end, ""}

        path = project.root / name

        def analyse(changed: str, path: Path = path) -> object:
            project.workspace.open(path, changed)
            return analyze(project.workspace.snapshot(path))

        assert _parses(fix_until_quiet(text, analyse, unsafe=True).text)
