"""A statement of a function that is exchanged leaves everything as a fresh reading of the text would have it."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.units import SourceFile
from jaxpert.text.lines import range_at

BEFORE = '''\
import jax

def outer(x, *, names=("a",)):
    """What it is for."""
    key = [v for v in x if v]
    if x:
        total = jax.numpy.sum(x)
    elif names:
        for n in names:
            first, rest = n, lambda it: it
    else:
        with jax.named_scope("s"):
            pass
    try:
        y = {"a": 1}
    except ValueError:
        z: int = 3
    match x:
        case 0:
            w = (1 +
                 2)
    def inner():
        deep = outer(1)
        return deep
    return key


class Model:
    size = 1

    def call(self, x):
        h = self.layer(x)
        print(h)
        return h
'''


def shape(source: SourceFile) -> list[object]:
    """All that trees say, without identities and places."""
    return [
        (
            [ast.dump(statement) for statement in tree.statements],
            sorted(ast.dump(call.node) + ast.dump(call.statement) for call in tree.calls),
            sorted(ast.dump(site.node) for site in tree.dicts),
            sorted((it.name, it.kind.name) for it in tree.aliases),
            sorted(
                (scope.kind, name, it.kind.name, ast.dump(it.node))
                for scope in (*tree.scopes, *tree.comprehensions.values())
                for name, bound in scope.bindings.items()
                for it in bound
            ),
            sorted(map(ast.dump, tree.functions)),
            sorted(map(ast.dump, tree.comprehensions)),
            sorted(ast.dump(statement) for statement in tree.block_of),
            sorted(ast.dump(it.node) for it in compounds(tree, ast.Call, ast.Attribute, ast.Tuple, ast.BinOp)),
            tree.writes_large_integers,
            {block.tree is tree for block in tree.block_of.values()},
            [
                (source.range_of(node), type(node).__name__)
                for statement in tree.statements
                for node in ast.walk(statement)
                if hasattr(node, "lineno")
            ],
        )
        for tree in source.trees()
    ]


def type_into(source: SourceFile, line: int, column: int, text: str) -> None:
    for number, character in enumerate(text):
        source.edit(range_at(line, column + number, line, column + number), character)


def line_with(text: str) -> int:
    return next(number for number, line in enumerate(BEFORE.split("\n")) if text in line)


@pytest.mark.parametrize(
    ("at", "column", "typed"),
    [
        ("key =", 11, " + jax.tree.leaves(x) # all"),
        ("total =", 8, "other = sub"),
        ("total =", 32, " if x else (lambda q: [q for q in x])(2 ** 40)"),
        ("first, rest", 12, "second, "),
        ("y = {", 13, "'b': {}, "),
        ("z: int", 20, " + outer(x)"),
        ("2)", 18, " * int(x)"),
        ("deep =", 15, "jax.checkpoint("),
        ("h = self", 8, "more = "),
        ("print(h)", 13, ", h"),
    ],
)
def test_exchanged_statements_leave_what_a_fresh_reading_finds(at: str, column: int, typed: str) -> None:
    source = SourceFile(BEFORE)
    compounds(source.trees()[1], ast.Call)
    line = line_with(at)
    cuts = source.cut
    for number, character in enumerate(typed):
        source.edit(range_at(line, column + number, line, column + number), character)
        if source.is_current:
            assert shape(source) == shape(SourceFile(source.text))
    assert source.cut < cuts + len(typed), "never exchanged"


@pytest.mark.parametrize(
    ("at", "column", "typed"),
    [
        ("return key", 11, "s"),  # not a statement that anybody could miss
        ("h = self", 8, "self.state = "),  # attributes are known outside
        ("print(h)", 8, "x.append(h), "),  # and so is what is changed in place
        ("deep =", 15, "yield "),
        ("size =", 8, "0"),  # of the class
        ("import jax", 10, "lib"),
    ],
)
def test_what_others_may_see_is_read_again(at: str, column: int, typed: str) -> None:
    source = SourceFile(BEFORE)
    line = line_with(at)
    trees = source.trees()
    source.edit(range_at(line, column, line, column), typed)
    assert shape(source) == shape(SourceFile(source.text))
    assert source.cut and trees != source.trees()
    kept = {id(statement) for tree in trees for statement in tree.block_of}
    now = {id(statement) for statement in source.unit_at(line).trees[0].block_of}
    assert kept.isdisjoint(now)


def test_all_other_nodes_and_their_values_stay() -> None:
    source = SourceFile(BEFORE)
    line = line_with("total =")
    before = source.unit_at(line).trees[0]
    before.values.update({id(statement): ((), (before,), "known") for statement in before.block_of})
    type_into(source, line, 32, " + 1")
    after = source.unit_at(line).trees[0]
    assert after is not before and not before.alive and after.alive
    assert len(after.values) == len(before.block_of) - 1
    assert len({*before.block_of} - {*after.block_of}) == 1


def test_values_go_where_the_name_is_used_elsewhere() -> None:
    source = SourceFile(BEFORE)
    line = line_with("key =")
    tree = source.unit_at(line).trees[0]
    tree.values[1] = ((), (), "known")
    type_into(source, line, 10, "+ x")
    assert not source.unit_at(line).trees[0].values


@pytest.mark.parametrize(
    ("rest", "stays"),
    [
        ("def inner(y): return y", True),  # another y
        ("inner = lambda y: y", True),
        ("def inner(z, w=y): return z", False),
        ("def inner(z): return y", False),
        ("y += 1", False),
        ("for y in x: pass", False),
        ("inner = 'the y of x'", True),
    ],
)
def test_values_stay_where_the_name_is_another_one(rest: str, stays: bool) -> None:
    source = SourceFile(f"def outer(x):\n    y = 1\n    {rest}\n    return x\n")
    source.trees()[0].values[1] = ((), (), "known")
    type_into(source, 1, 9, "0")
    assert bool(source.trees()[0].values) is stays


LINES = st.sampled_from([number for number, line in enumerate(BEFORE.split("\n")) if line.startswith("    ")])
PIECES = st.sampled_from(
    ["x", " ", "(", ")", "=", ",", "total", "\n", "#", '"', "[", "]", ".append(1)", "lambda: 0", "\t", "\\", ":", ";"]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LINES, st.integers(0, 30), st.integers(0, 3), PIECES), max_size=8))
def test_any_edits_leave_what_a_fresh_reading_finds(edits: list[tuple[int, int, int, str]]) -> None:
    source = SourceFile(BEFORE)
    for line, column, length, text in edits:
        source.edit(range_at(line, column, line, column + length), text)
        fresh = SourceFile(source.text)
        if source.is_current and fresh.problem is None:
            assert shape(source) == shape(fresh)
