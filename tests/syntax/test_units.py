"""The incremental file: edits, stale units, positions; always compared with a file made from scratch."""

from __future__ import annotations

import ast
import random

import pytest

from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range, clamp, range_at, slice_lines, split_lines

LONG_CLASS = "class Model:\n    scale = 2\n" + "".join(
    f"\n    @property\n    def layer_{n}(self):\n        x = {n}\n        return x\n" for n in range(12)
)
SAMPLE = f'''"""Doc."""
import jax
from jax import checkpoint as ckpt


def first(x):
    y = x + 1  # é 😀
    return y


{LONG_CLASS}

if True:
    z = 1
else:
    z = 2
a = 1; b = 2
text = """
def not_code():
"""


@ckpt
def last(x):
    return first(x)
'''


def outline(source: SourceFile) -> list[tuple[str, Range | None]]:
    """Every statement and call with its place."""
    found = []
    for tree in source.trees():
        for statement in tree.block_of:
            shown = ast.dump(statement) if not isinstance(statement, ast.ClassDef) else f"class {statement.name}"
            found.append((shown, None if isinstance(statement, ast.ClassDef) else source.range_of(statement)))
        found.extend((ast.dump(call.node), source.range_of(call.node)) for call in tree.calls)
    return sorted(found, key=str)


def bindings(source: SourceFile) -> dict[str, list[str]]:
    return {name: [b.kind.name for b in found] for name, found in source.module.bindings.items()}


def assert_same(source: SourceFile, text: str) -> None:
    fresh = SourceFile(text)
    assert outline(source) == outline(fresh)
    assert bindings(source) == bindings(fresh)


def test_units_cover_every_line_once() -> None:
    source = SourceFile(SAMPLE)
    assert source.units[0].first == 0
    assert source.units[-1].end == len(source.lines)
    for before, after in zip(source.units, source.units[1:]):
        assert before.end == after.first


def test_a_long_class_is_cut_into_its_members() -> None:
    source = SourceFile(SAMPLE)
    members = [unit for unit in source.units if unit.class_scope is not None]
    assert len(members) == 13
    scope = members[0].class_scope
    assert scope is not None
    assert set(scope.bindings) == {"scale", *(f"layer_{n}" for n in range(12))}


def test_typing_in_one_unit_keeps_the_trees_of_the_others() -> None:
    source = SourceFile(SAMPLE)
    before = {id(tree) for tree in source.trees()}
    source.edit(range_at(6, 13, 6, 14), "2")
    after = {id(tree) for tree in source.trees()}
    assert len(before - after) == 1
    assert len(after - before) == 1


def test_a_broken_unit_keeps_its_last_tree_outside_the_edited_lines() -> None:
    source = SourceFile("import jax\n\n\ndef f(x):\n    a = g(x)\n    b = h(x)\n    return k(b)\n")
    source.edit(range_at(5, 9, 5, 12), "h(x")
    assert not source.is_current
    texts = {
        slice_lines(source.lines, area)
        for tree in source.trees()
        for call in tree.calls
        if (area := source.range_of(call.node)) is not None
    }
    assert texts == {"g(x)", "k(b)"}
    source.edit(range_at(4, 0, 4, 0), "\n")
    calls = [source.range_of(call.node) for tree in source.trees() for call in tree.calls]
    assert range_at(7, 11, 7, 15) in calls
    source.edit(range_at(6, 12, 6, 12), ")")
    assert source.is_current
    assert_same(source, source.text)


def test_facts_are_forgotten_where_what_changed_is_mentioned() -> None:
    source = SourceFile("import jax\na = 1\nb = a\ndef f():\n    return b\ndef g():\n    return 2\n")
    for tree in source.trees():
        tree.facts["kept"] = True
    source.edit(range_at(1, 4, 1, 5), "3")
    assert ["kept" in tree.facts for tree in source.trees()] == [True, False, False, False, True]
    environment = source.environment
    source.edit(range_at(6, 11, 6, 12), "4")
    assert source.environment == environment
    source.edit(range_at(0, 7, 0, 10), "os")
    assert source.environment != environment


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("def a():\n    f()\n\ndef b(:\n    g()\n\ndef c():\n    h()\n", {"f()", "h()"}),
        ("x = (1,\n\ndef c():\n    h()\n", {"h()"}),
        (
            "class A:\n    def m(self):\n        f()\n    def n(self:\n        g()\n    def o(self):\n        h()\n",
            {"f()", "h()"},
        ),
    ],
)
def test_a_file_opened_broken_keeps_what_parses(text: str, kept: set[str]) -> None:
    source = SourceFile(text)
    assert source.problem is not None
    found = {
        slice_lines(source.lines, area)
        for tree in source.trees()
        for call in tree.calls
        if (area := source.range_of(call.node)) is not None
    }
    assert found == kept


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "\r",
        "\ufeff",
        "\ufeffx = f(1)\n",
        "x = f(1)\r\ny = 2\r\n",
        "x = f(1)\ry = 2",
        "\x0cx = f(1)\n",
        "if x:\n\tf(1)\n",
        "s = 'é😀'; f(1)\n",
        "x = 1 \\\n  + f(1)\n",
        "f(\n  1,\n)",
        'y = f"{f(1)!r:>{width}}"\n',
    ],
)
def test_odd_texts_have_exact_positions(text: str) -> None:
    source = SourceFile(text)
    assert source.text == text
    for tree in source.trees():
        for call in tree.calls:
            area = source.range_of(call.node)
            assert area is not None
            assert slice_lines(source.lines, area).startswith("f(")


@pytest.mark.parametrize("text", ["(" * 1000, "x = " + "-" * 20000 + "1", "x = 1\x00", "[" * 300 + "]" * 300 + "\n"])
def test_texts_that_cannot_be_read_are_a_problem_and_no_crash(text: str) -> None:
    source = SourceFile(text)
    if source.problem is not None:
        assert source.problem.message
    source.edit(range_at(0, 0, 0, 0), "y = 1\n")
    assert source.text == "y = 1\n" + text


def test_a_broken_class_may_end_in_a_bare_indent() -> None:
    source = SourceFile("import jax\nclass A:\n    x = (\n    def f(self):\n        pass\n    ")
    assert [unit.stale for unit in source.units] == [False, False, True, False]


def test_line_ends_may_be_split_and_joined() -> None:
    source = SourceFile("a = 1\r\nb = 2\n")
    source.edit(range_at(0, 5, 0, 5), "\r")
    assert source.text == "a = 1\r\r\nb = 2\n"
    assert source.lines == split_lines(source.text)
    source.replace("a = 1\rb = 2\n")
    source.edit(range_at(1, 0, 1, 0), "\n")
    assert source.lines == split_lines("a = 1\r\nb = 2\n")


@pytest.mark.parametrize("seed", range(6))
def test_random_edits_agree_with_a_file_made_from_scratch(seed: int) -> None:
    dice = random.Random(seed)
    source = SourceFile(SAMPLE)
    pieces = [
        "(",
        ")",
        "\n",
        "x",
        '"""',
        "'",
        "    ",
        "def f():\n    g(1)\n",
        "😀",
        "\r\n",
        "\r",
        "if x:\n",
        "#",
        "class A:\n",
        "@",
        ":",
        ";",
    ]
    for step in range(60):
        line = dice.randrange(len(source.lines))
        start = Position(line, dice.randrange(len(source.lines[line]) + 1))
        end = start
        if dice.random() < 0.4:
            other = min(len(source.lines) - 1, line + dice.choice([0, 0, 1, 4]))
            end = Position(other, dice.randrange(len(source.lines[other]) + 1))
        first, last = sorted([clamp(source.lines, start), clamp(source.lines, end)])
        piece = dice.choice(pieces)
        wanted = apply_edits(source.text, [Edit(Range(first, last), piece)])
        source.edit(Range(start, end), piece)
        assert source.text == wanted
        assert source.lines == split_lines(wanted)
        for tree in source.trees():
            for statement in tree.statements:
                area = source.range_of(statement)
                assert area is None or area.end <= Position(len(source.lines), 0)
        try:
            ast.parse(wanted)
        except (SyntaxError, ValueError):
            continue
        source.reconcile()
        assert_same(source, wanted)
        if step % 20 == 19:
            source.replace(SAMPLE)
            source.reconcile()
            assert_same(source, SAMPLE)


COMMENTS = {
    "a comment behind the code grows": ("x = 1  # a\n", range_at(0, 10, 0, 10), "b", True),
    "a comment is begun": ("def f():\n    return 1\n", range_at(1, 12, 1, 12), "  # why", True),
    "blanks at the end of a line": ("x = 1\n", range_at(0, 5, 0, 5), "  ", True),
    "a line of its own becomes a comment": ("def f():\n    pass\n\n    y = 2\n", range_at(2, 0, 2, 0), "# z", True),
    "code is commented out": ("x = 1\ny = 2\n", range_at(1, 0, 1, 0), "# ", False),
    "a blank inside the code": ("x = 1\n", range_at(0, 1, 0, 1), " ", False),
    "a string that holds the sign": ("x = '# a'\n", range_at(0, 7, 0, 7), "b", False),
}


@pytest.mark.parametrize("text, area, typed, stays", COMMENTS.values(), ids=list(COMMENTS))
def test_what_is_written_in_comments_makes_no_new_tree(text: str, area: Range, typed: str, stays: bool) -> None:
    source = SourceFile("a = 0\n\n\n" + text)
    shifted = range_at(area.start.line + 3, area.start.column, area.end.line + 3, area.end.column)
    before = source.trees()
    source.edit(shifted, typed)
    assert (source.trees() == before) is stays
    assert not source.reconcile()
