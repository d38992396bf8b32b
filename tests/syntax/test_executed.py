"""What a call of a function evaluates in any case."""

from __future__ import annotations

import ast

import pytest

from jaxpert.syntax.executed import always_runs, executed
from jaxpert.syntax.units import SourceFile

ALWAYS = [
    "return it()",
    "x = [0 for _ in it()]",
    "if it(): pass",
    "for _ in it(): pass",
    "with it(): pass",
    "with a:\n        with b:\n            return it()",
    "def inner(): return 1\n    return it()",
    "return 1 if it() else 2",
    "return it() and x",
    "match it():\n        case 1: pass",
]
SOMETIMES = [
    "return it() if x else 2",
    "return x and it()",
    "return [it() for _ in x]",
    "if x: it()",
    "for _ in x: it()",
    "with a:\n        if x:\n            it()",
    "if x: return 1\n    return it()",
    "if x: raise ValueError\n    it()",
    "with a:\n        if x: return 1\n        it()",
    "try: it()\n    except ValueError: pass",
    "match x:\n        case 1: it()",
    "return lambda: it()",
    "def inner(): return it()\n    return inner",
]
IN_DEFINITIONS = SOMETIMES[-2:]


def runs(body: str, **how: bool) -> bool:
    function = ast.parse(f"def function(x, y):\n    {body}\n").body[0]
    assert isinstance(function, ast.FunctionDef)
    node = next(n for n in ast.walk(function) if isinstance(n, ast.Call) and ast.unparse(n) == "it()")
    return always_runs(function, node, **how)


@pytest.mark.parametrize("body", ALWAYS)
def test_what_runs_in_any_case(body: str) -> None:
    assert runs(body)


@pytest.mark.parametrize("body", SOMETIMES)
def test_what_may_not_run(body: str) -> None:
    assert not runs(body)


@pytest.mark.parametrize("body", IN_DEFINITIONS)
def test_functions_inside_may_be_taken_to_be_called(body: str) -> None:
    assert runs(body, in_definitions=True)
    assert not runs(body.replace("it()", "it() if x else 1"), in_definitions=True)


def test_what_runs_in_long_sums() -> None:
    """Each operand stands one level deeper than the next."""
    (tree,) = SourceFile(f"f = lambda x: {' + '.join('x' * 900)}\n").trees()
    (function,) = tree.functions.values()
    found = [site.node for site in executed(function, lambda test, scope, block: None)]
    assert sum(isinstance(node, ast.Name) for node in found) == 900
