"""A mapped function tests a leaf for None, which it never gets.

## What it finds

A function given to `jax.tree.map` that has a case of its own for `x is None`, where `x` comes from the first tree and
the call has no `is_leaf`.

## Why it matters

None is a container without leaves, not a leaf: the function is not called for it, and the result has None there. The
case for None never runs, and JAX says nothing:

    >>> jax.tree.map(lambda x: 0 if x is None else x, [1, None])
    [1, None]

## In which versions

All.

## What to write instead

Make None a leaf: `jax.tree.map(f, tree, is_leaf=lambda x: x is None)`.

## Known limits

A case that gives None, or the leaf itself, is not reported: without `is_leaf` the result is the same. It is a warning
where the tree is known to hold None, and an information where the tree is not known.

## Source

`jax/_src/tree_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.structures import leaf_count, places_of_none
from jaxpert.model.tree_maps import TreeMap, differences, is_none_test, parameter_names, structure_at, tree_maps
from jaxpert.model.tree_speech import at, mapped_name
from jaxpert.model.values import Def
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Related, Rule, Safety, Severity, Silent
from jaxpert.syntax.children import walk
from jaxpert.text.lines import Range

NAME = "none-test-without-is-leaf"


@dataclass(frozen=True, slots=True)
class _Case:
    """A test that is never true; ``path`` is where the tree holds None, or None when that is not known."""

    map: TreeMap
    test: ast.expr
    name: str
    where: Range
    path: str | None


def check(model: FileModel) -> Iterator[Finding]:
    """Functions with a case for None that no leaf comes to."""
    for case in _cases(model):
        known = case.path is not None
        holds = f", and the one{at(case.path or '')} is passed over" if known else ""
        call = model.range_of(case.map.call.node)
        yield Finding(
            NAME,
            case.where,
            f"`{case.name}` is never None here: `{mapped_name(case.map.call)}` does not take None for a leaf{holds}; "
            "pass `is_leaf=lambda x: x is None`",
            Severity.WARNING if known else Severity.INFORMATION,
            silent(model, "the function is not called for None, which stays as it is"),
            (Related(call, "in this call"),) if call is not None and not call.contains(case.where.start) else (),
        )


def _cases(model: FileModel) -> Iterator[_Case]:
    for tree_map in tree_maps(model):
        fun = tree_map.fun
        value = fun.value if fun is not None and tree_map.none_is_leaf is False else None
        if fun is None or not isinstance(value, Def) or value.model is not model:
            continue
        names = parameter_names(value)
        name = names[tree_map.leading] if tree_map.leading < len(names) else ""
        test = _useless_test(value, name)
        where = model.range_of(test) if test is not None else None
        if test is None or where is None:
            continue
        structure = structure_at(tree_map.trees[0])
        path = next((path for path, _ in places_of_none(structure)), None)
        if path is None and (leaf_count(structure) is not None or not isinstance(fun.node, ast.Lambda)):
            continue  # there is none, or other callers of the function may pass it
        if path is not None and any(difference.is_about_none for difference in differences(tree_map)):
            continue  # that fails before
        yield _Case(tree_map, test, name, where, path)


def _useless_test(function: Def, name: str) -> ast.expr | None:
    """The test for None of a case that gives something else than None."""
    for node in walk(function.function.node):
        if not isinstance(node, (ast.IfExp, ast.If)):
            continue
        is_none = is_none_test(node.test, name)
        if is_none is None:
            continue
        if isinstance(node, ast.IfExp):
            result: ast.expr | None = node.body if is_none else node.orelse
        else:
            last = node.body[-1] if is_none else None
            result = last.value if isinstance(last, ast.Return) else None
        if result is not None and not _gives_none(result, name):
            return node.test
    return None


def _gives_none(result: ast.expr, name: str) -> bool:
    if isinstance(result, ast.Name):
        return result.id == name
    return isinstance(result, ast.Constant) and result.value is None


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make None a leaf."""
    for case in model.every(_cases):
        call = model.range_of(case.map.call.node)
        if case.where != finding.range or call is None:
            continue
        edits = verbs.add_keyword(model.source.lines, call, "is_leaf", "lambda x: x is None")
        safety = Safety.SAFE if case.path is not None else Safety.UNSAFE
        return Fix("Make None a leaf with `is_leaf`", safety, edits) if edits else None
    return None


_BAD = """\
import jax

result = jax.tree.map(lambda x: 0 if x is None else x, [1, None])
"""

RULE = Rule(
    code="JXP502",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.map",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("[1, None])", "[1, None], is_leaf=lambda x: x is None)"),
            proof=Silent("result == [1, None]"),
        ),
    ),
    check=check,
    fix=fix,
)
