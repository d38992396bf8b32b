"""The two results of `jax.tree.flatten` are unpacked in the wrong order.

## What it finds

`treedef, leaves = jax.tree.flatten(tree)`: the first name is that of a treedef and the second is not, or the first
name is later used as a treedef.

## Why it matters

`jax.tree.flatten` gives the leaves first. What is called `treedef` is a list of leaves, which shows when it is used:

    AttributeError: 'list' object has no attribute 'unflatten'

## In which versions

All.

## What to write instead

`leaves, treedef = jax.tree.flatten(tree)`. It is `jax.tree.unflatten(treedef, leaves)` that takes the treedef first.

## Known limits

Without a telling name, and without a use as a treedef in the same file, nothing is reported.

## Source

`jax/_src/tree_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.model.calls import ApiCall
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.treedefs import (
    TREEDEF_MEMBERS,
    flattened,
    flattens,
    is_named_swapped,
    place_of,
    unpacked_names,
)
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.scopes import Site
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range, slice_lines

NAME = "flatten-order"


@dataclass(frozen=True, slots=True)
class _Case:
    """A call whose results are unpacked the wrong way round; ``use`` is where that raises, ``wants`` what it wants."""

    call: ApiCall
    where: Range
    use: ast.expr | None
    wants: str


def check(model: FileModel) -> Iterator[Finding]:
    """Calls whose results are unpacked in the wrong order."""
    for case in _cases(model):
        names = unpacked_names(case.call)
        assert names is not None
        first, second = names[0].id, names[1].id
        function = model.text_of(case.call.node.func)
        message = f"`{function}` gives the leaves first, so `{first}` holds the leaves; write `{second}, {first} = …`"
        area = model.range_of(case.use) if case.use is not None else None
        if area is None:
            consequence = silent(model, "the names are swapped, and the first use of one fails")
            yield Finding(NAME, case.where, message, Severity.WARNING, consequence, exceptions=("AttributeError",))
            continue
        yield Finding(
            NAME, case.where, message, Severity.ERROR,
            raises(
                model, f"where `{first}` is used", "AttributeError", f"'list' object has no attribute '{case.wants}'"
            ),
            (Related(area, f"`{first}` is used as a treedef here"),), exceptions=("AttributeError",),
        )  # fmt: skip


def _cases(model: FileModel) -> Iterator[_Case]:
    uses: dict[int, tuple[ApiCall, ast.expr | None, str]] = {}
    for call, use, wants in _uses(model):
        uses.setdefault(id(call.node), (call, use, wants))
    for call in flattens(model):
        if id(call.node) in uses or is_named_swapped(call):
            uses.setdefault(id(call.node), (call, None, ""))
    for call, shown, wants in uses.values():
        names = unpacked_names(call)
        first = model.range_of(names[0]) if names is not None else None
        second = model.range_of(names[1]) if names is not None else None
        if first is None or second is None or model.is_dead(call.site.block):
            continue
        yield _Case(call, Range(first.start, second.end), shown, wants)


def _uses(model: FileModel) -> Iterator[tuple[ApiCall, ast.expr, str]]:
    """Where the leaves of an unpacked ``flatten`` are used as a treedef."""
    for call in model.calls:
        if call.api.name == "jax.tree.unflatten" and not call.is_partial:
            given, leaves = call.arguments.get("treedef"), call.arguments.get("leaves")
            if given is None or given.model is not model:
                continue
            part = flattened(model, place_of(given))
            other = flattened(model, place_of(leaves)) if leaves is not None else None
            if part is None or part.index or part.call.node is call.node:
                continue
            both = other is not None and other.index == 1 and other.call.node is part.call.node
            if is_named_swapped(part.call) or not both:
                yield part.call, given.node, "unflatten"
    for tree in model.trees:
        for site in tree.calls:
            func = site.node.func
            if isinstance(func, ast.Attribute) and func.attr in TREEDEF_MEMBERS and isinstance(func.value, ast.Name):
                part = flattened(model, Site(func.value, site.scope, site.block))
                if part is not None and part.index == 0:
                    yield part.call, func.value, func.attr


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Swap the names."""
    for case in model.every(_cases):
        names = unpacked_names(case.call)
        if case.where != finding.range or names is None:
            continue
        one, other = model.range_of(names[0]), model.range_of(names[1])
        if one is None or other is None:
            return None
        first, second = slice_lines(model.source.lines, one), slice_lines(model.source.lines, other)
        return Fix(f"Write `{second}, {first} = …`", Safety.SAFE, (Edit(one, second), Edit(other, first)))
    return None


_BAD = """\
import jax

STAGE = "call"
treedef, leaves = jax.tree.flatten({"a": 1})
jax.tree.unflatten(treedef, leaves)
"""

RULE = Rule(
    code="JXP506",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.flatten", "jax.tree.flatten_with_path"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("treedef, leaves =", "leaves, treedef ="),
            proof=Raises("AttributeError", "'list' object has no attribute 'unflatten'"),
        ),
    ),
    check=check,
    fix=fix,
)
