"""`jax.tree.unflatten` gets its arguments swapped, or leaves that do not fit.

## What it finds

Calls of `jax.tree.unflatten` whose arguments stand in the wrong order, a tree where the treedef belongs, both results
of `jax.tree.flatten` or a dictionary where the leaves belong, and more or fewer leaves than the treedef has. Also
calls of the method `treedef.unflatten`.

## Why it matters

    AttributeError: 'list' object has no attribute 'unflatten'
    ValueError: Too few leaves for PyTreeDef; expected 2, got 1
    ValueError: Too many leaves for PyTreeDef; expected 2.

A dictionary of leaves does not raise: its keys become the leaves.

## In which versions

All.

## What to write instead

`jax.tree.unflatten(treedef, leaves)`: the treedef first, though `jax.tree.flatten` gives it second.

## Known limits

Leaves are counted where the list and the tree are written out. What is unpacked in the wrong order is reported by
*flatten-order*.

## Source

`jax/_src/tree_util.py` and `PyTreeDef.unflatten` in jaxlib; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.structures import Dict, List, Tuple, leaf_count
from jaxpert.model.tree_maps import structure_at
from jaxpert.model.treedefs import (
    Treedef,
    count_of_leaves,
    flatten_call,
    flattened,
    is_named_swapped,
    made_by,
    method_calls,
    place_of,
    source_of,
    treedef_of,
)
from jaxpert.model.values import Table
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.syntax.scopes import Site
from jaxpert.text.lines import Range, slice_lines

NAME = "unflatten-arguments"


@dataclass(frozen=True, slots=True)
class _Case:
    """One fault.

    Attributes:
        exception, text: what is raised; "" when nothing is.
        other: the other argument, to swap with, or None.
        fix: "swap", "wrap" in `jax.tree.structure`, "leaves" to take the first of a pair, "reverse" for one, or "".
    """

    where: Range
    message: str
    exception: str = "AttributeError"
    text: str = ""
    other: Range | None = None
    fix: str = ""


def check(model: FileModel) -> Iterator[Finding]:
    """Calls whose arguments do not fit."""
    for case in _cases(model):
        if case.exception:
            consequence = raises(model, "at this call", case.exception, case.text)
            severity, exceptions = Severity.ERROR, (case.exception,)
        else:
            consequence, severity, exceptions = silent(model, case.text), Severity.WARNING, ("ValueError",)
        yield Finding(NAME, case.where, case.message, severity, consequence, exceptions=exceptions)


def _cases(model: FileModel) -> Iterator[_Case]:
    for call in model.calls:
        if call.api.name != "jax.tree.unflatten" or call.is_partial or model.is_dead(call.site.block):
            continue
        if call.opened:
            yield from _spread(model, call)
            continue
        treedef, leaves = call.arguments.get("treedef"), call.arguments.get("leaves")
        if treedef is None or leaves is None or treedef.model is not model or leaves.model is not model:
            continue
        case = _no_treedef(model, treedef, leaves) or _wrong_leaves(model, treedef_of(treedef), place_of(leaves))
        if case is not None:
            yield case
    for method in method_calls(model, frozenset({"unflatten"})):
        given = method.argument(0)
        case = _wrong_leaves(model, method.treedef, given) if given is not None else None
        if case is not None:
            yield case


def _spread(model: FileModel, call: ApiCall) -> Iterator[_Case]:
    """`jax.tree.unflatten(*jax.tree.flatten(tree))`, which gives the leaves first."""
    given = call.node.args[0] if len(call.node.args) == 1 and not call.node.keywords else None
    if not isinstance(given, ast.Starred):
        return
    made = flatten_call(model, source_of(Site(given.value, call.site.scope, call.site.block)))
    where = model.range_of(given.value)
    if made is not None and where is not None and made.api.name == "jax.tree.flatten":
        message = "this gives the leaves first, and the treedef belongs there: turn the two around with `[::-1]`"
        yield _Case(where, message, text="'list' object has no attribute 'unflatten'", fix="reverse")


def _no_treedef(model: FileModel, treedef: Argument, leaves: Argument) -> _Case | None:
    """Something else than a treedef stands where it belongs."""
    kind = _python_type(model, treedef)
    where, other = model.range_of(treedef.node), model.range_of(leaves.node)
    if not kind or where is None:
        return None
    text = f"'{kind}' object has no attribute 'unflatten'"
    if treedef_of(leaves) is not None:
        message = "the arguments are swapped: the treedef comes first, then the leaves"
        return _Case(where, message, text=text, other=other, fix="swap")
    if kind == "dict" or isinstance(treedef.node, (ast.List, ast.Tuple)):
        message = f"this is a {kind}, not a treedef: take its structure with `jax.tree.structure`"
        return _Case(where, message, text=text, fix="wrap")
    return _Case(where, f"this is a {kind}, not a treedef: the treedef comes first, then the leaves", text=text)


def _python_type(model: FileModel, argument: Argument) -> str:
    """The type of what is no treedef for certain; "" for all else."""
    structure = structure_at(argument)
    if isinstance(structure, (Dict, List, Tuple)):
        return structure.type if isinstance(structure, Dict) else "list" if isinstance(structure, List) else "tuple"
    part = flattened(model, place_of(argument))
    if part is not None and part.index == 0:
        return "" if is_named_swapped(part.call) or not _is_swapped_with(model, argument) else "list"
    call = made_by(model, place_of(argument))
    return "list" if call is not None and call.api.name == "jax.tree.leaves" else ""


def _is_swapped_with(model: FileModel, argument: Argument) -> bool:
    """Whether the leaves of ``flatten`` are given here and its treedef in the same call: then that is what is wrong."""
    part = flattened(model, place_of(argument))
    for call in model.calls:
        leaves = call.arguments.get("leaves")
        if call.arguments.get("treedef") is argument and leaves is not None and part is not None:
            other = flattened(model, place_of(leaves))
            return other is not None and other.index == 1 and other.call.node is part.call.node
    return False


def _wrong_leaves(model: FileModel, treedef: Treedef | None, leaves: Site) -> _Case | None:
    where = model.range_of(leaves.node)
    if where is None or not isinstance(leaves.node, ast.expr):
        return None
    expected = leaf_count(treedef.structure) if treedef is not None else None
    pair = flatten_call(model, leaves)
    if pair is not None and not isinstance(leaves.node, ast.Subscript):
        message = "these are both results of `tree.flatten`, the leaves and the treedef: take the first one"
        if expected is not None and expected != 2:
            return _Case(where, message, "ValueError", _count_text(expected, 2), fix="leaves")
        return _Case(where, message, "", "the treedef becomes a leaf where there are two of them", fix="leaves")
    if treedef is None:
        return None
    value = model.evaluate(leaves.node, leaves.scope, leaves.block)
    if isinstance(value, Table):
        message = "the keys of this dictionary become the leaves: pass a list of leaves"
        return _Case(where, message, "", "a dictionary gives its keys when it is gone through")
    counted = count_of_leaves(model, leaves)
    if counted is None or expected is None or counted[0] == expected:
        return None
    count = counted[0]
    message = (
        f"the treedef has {_leaves(expected)} and this gives {count}: pass as many leaves as the tree has "
        "(None is not one)"
    )
    return _Case(where, message, "ValueError", _count_text(expected, count))


def _leaves(count: int) -> str:
    return "1 leaf" if count == 1 else f"{count} leaves"


def _count_text(expected: int, count: int) -> str:
    if count < expected:
        return f"Too few leaves for PyTreeDef; expected {expected}, got {count}"
    return f"Too many leaves for PyTreeDef; expected {expected}."


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Swap the arguments, take the structure of a tree, or the leaves of a pair."""
    lines = model.source.lines
    for case in model.every(_cases):
        if case.where != finding.range:
            continue
        if case.fix == "swap" and case.other is not None:
            one = verbs.replace_expression(lines, case.where, slice_lines(lines, case.other))
            two = verbs.replace_expression(lines, case.other, slice_lines(lines, case.where))
            return Fix("Swap the arguments", Safety.SAFE, (*one, *two)) if one and two else None
        if case.fix == "wrap":
            edits = verbs.wrap_call(lines, case.where, "jax.tree.structure")
            return Fix("Take the structure of the tree", Safety.UNSAFE, edits) if edits else None
        if case.fix == "reverse":
            edits = verbs.replace_expression(lines, case.where, f"{slice_lines(lines, case.where)}[::-1]")
            return Fix("Turn the two around", Safety.SAFE, edits) if edits else None
        if case.fix == "leaves":
            edits = verbs.replace_expression(lines, case.where, f"{slice_lines(lines, case.where)}[0]")
            return Fix("Take the leaves", Safety.SAFE, edits) if edits else None
    return None


_BAD = """\
import jax

STAGE = "call"
leaves, treedef = jax.tree.flatten({"a": 1})
jax.tree.unflatten(leaves, treedef)
"""

_COUNT = """\
import jax

STAGE = "call"
jax.tree.unflatten(jax.tree.structure({"a": 0, "b": 0}), [1])
"""

RULE = Rule(
    code="JXP507",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.unflatten",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("unflatten(leaves, treedef)", "unflatten(treedef, leaves)"),
            proof=Raises("AttributeError", "'list' object has no attribute 'unflatten'"),
        ),
        Example(
            bad=_COUNT,
            good=_COUNT.replace("[1]", "[1, 2]"),
            proof=Raises("ValueError", "Too few leaves for PyTreeDef; expected 2, got 1"),
        ),
        Example(
            bad=_COUNT.replace("[1]", "[1, 2, 3]"),
            good=_COUNT.replace("[1]", "[1, 2]"),
            proof=Raises("ValueError", "Too many leaves for PyTreeDef; expected 2."),
        ),
    ),
    check=check,
    fix=fix,
)
