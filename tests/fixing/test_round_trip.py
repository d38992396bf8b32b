"""Whatever the layout and whatever the verb: what comes out parses, and nothing but the statement changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxpert.fixing import verbs
from jaxpert.fixing.items import items_of
from jaxpert.syntax.logical_lines import find_comments
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import apply_edits
from jaxpert.text.lines import Range
from tests.fixing.marked import Verb

ON_EXPRESSIONS: list[Verb] = [
    partial(verbs.replace_expression, new_source="a if b else '😀'"),
    partial(verbs.replace_expression, new_source="f(\n    1,\n)"),
    partial(verbs.call_expression, arguments_source='"a", *b'),
    partial(verbs.wrap_call, function="bool"),
    verbs.wrap_in_list,
    verbs.star_argument,
    verbs.spread_argument,
    partial(verbs.assign_result, target="x"),
]
ON_CALLS: list[Verb] = [
    verbs.uncall,
    partial(verbs.add_keyword, name="new", value="1, 2"),
    partial(verbs.set_keyword, name="k", value="(\n  1,)"),
    partial(verbs.rename_keyword, old="k", new="kay"),
    partial(verbs.remove_keyword, name="k"),
    partial(verbs.remove_argument, index=0),
    partial(verbs.remove_argument, index=1),
]
ON_FUNCTIONS: list[Verb] = [
    verbs.add_parameters,
    verbs.append_return,
    partial(verbs.wrap_results, function="bool"),
]

# What may stand between two tokens inside brackets.
blanks = st.sampled_from(
    ["", "", "", " ", "\n", "\n        ", "\n\t\t", "  # c (\n  ", " # 😀'\n\n\t# d\n      ", " \\\n "]
)
atoms = st.sampled_from(
    ["x", "x.y", '"a"', "'😀' f'{x!r:>{y}}'", "'''\n# no\n'''", "1", "(x)", "x or y", "lambda p: x", "(x := 1)"]
)


@st.composite
def _bracketed(draw: st.DrawFn, items: st.SearchStrategy[str], opening: str, closing: str) -> str:
    parts = draw(st.lists(items, min_size=1, max_size=3))
    comma = draw(st.sampled_from(["", ","])) if len(parts) > 1 or opening != "(" else ","
    between = "".join(f"{draw(blanks)}{part}{draw(blanks)}," for part in parts)
    return f"{opening}{between[:-1]}{comma}{draw(blanks)}{closing}"


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arguments = st.one_of(inner, st.builds("{}={}".format, st.just("k"), inner), st.just("*x"), st.just("**x"))
    calls = st.one_of(_bracketed(arguments, "f(", ")"), st.builds("f({})".format, blanks), st.just("f(x for x in y)"))
    literals = st.one_of(_bracketed(inner, "[", "]"), _bracketed(inner, "(", ")"), _bracketed(inner, "{", "}"))
    return st.one_of(calls, literals, st.builds("{}(x)".format, calls), st.builds("({}).y".format, inner))


expressions = st.recursive(atoms, _larger, max_leaves=6)
signatures = st.one_of(
    st.just(""), _bracketed(st.sampled_from(["p", "*, k", "q: int = (1)", "**d", "_"]), "", ""), st.just("p, /, *, k=1")
)
statements = st.one_of(
    st.builds("x = {}  # e\n".format, expressions),
    st.builds("a; {}; b\n".format, expressions),
    st.builds("if {}: pass\nelif x:\n\t{}\n".format, expressions, expressions),
    st.builds("@f({})\nclass A:\n  def m(x):\n    y = 1; {}  # f\n".format, expressions, expressions),
    st.builds("def g({}):\n    if x: return {}\n\n    # last\n".format, signatures, expressions),
    st.builds("async def g({}): return {}; # g\n".format, signatures, expressions),
    st.builds("h = lambda {}: {}\n".format, signatures, expressions),
)
ABOVE = "'''\n😀 (\n'''\n# above\n\n"
BELOW = "\n\n# below\ndef below(): return '😀'  # (\n"


@given(
    statements.filter(lambda statement: _parses(statement)),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["", "\ufeff"]),
    st.data(),
)
def test_a_verb_changes_only_the_statement(statement: str, line_end: str, bom: str, data: st.DataObject) -> None:
    text = bom + (ABOVE + statement + BELOW).replace("\n", line_end)
    source = SourceFile(text)
    verb, area = data.draw(st.sampled_from(list(_uses(source, statement))))
    edits = verb(source.lines, area)
    if edits is None:
        return
    fixed = apply_edits(text, edits)
    assert fixed != text
    assert _parses(fixed.removeprefix(bom))
    above, below = ABOVE.replace("\n", line_end), BELOW.lstrip("\n").replace("\n", line_end)
    assert fixed.startswith(bom + above)
    assert fixed.endswith(below)
    assert set(fixed) & {"\r", "\n"} == set(line_end)
    assert fixed.replace(line_end, "").count("\r") == 0
    assert [comment.text for comment in find_comments(fixed)] == [comment.text for comment in find_comments(text)]


def _uses(source: SourceFile, statement: str) -> Iterator[tuple[Verb, Range]]:
    """Each verb with each range in ``statement`` that it could be asked to change."""
    first = ABOVE.count("\n")
    for tree in source.trees():
        for root in tree.statements:
            for node in ast.walk(root):
                if not isinstance(node, (ast.expr, ast.stmt)) or isinstance(getattr(node, "ctx", None), ast.Store):
                    continue
                area = source.range_of(node)
                if area is None or not first <= area.start.line < first + statement.count("\n"):
                    continue
                if isinstance(node, ast.expr):
                    yield from ((verb, area) for verb in ON_EXPRESSIONS)
                if isinstance(node, ast.Call):
                    yield from ((verb, area) for verb in ON_CALLS)
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                    yield from ((verb, area) for verb in ON_FUNCTIONS)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@pytest.mark.parametrize(
    "source",
    ["f(" + "[" * 90 + "]" * 90 + ")", "f(" + "-" * 900 + "x)", "f" + "()" * 900, "f(" + '"a"\n' * 5_000 + ")"],
    ids=["brackets", "signs", "calls", "lines"],
)
def test_what_would_overflow_the_native_stack_is_not_taken_apart(source: str) -> None:
    assert items_of(ast.parse(source, mode="eval").body, source) is None
