"""A tree is transposed with structures that are not its own.

## What it finds

Calls of `jax.tree.transpose` whose tree is not what the outer and the inner treedef describe: other keys or lengths,
both in the wrong order, another container that has as many leaves, or trees given where treedefs belong.

## Why it matters

JAX compares the number of leaves before anything else. When it differs, it raises:

    TypeError: Mismatch

When it happens to be the same, the leaves are put into the structure that was asked for, and JAX says nothing: a
dictionary is read as a tuple, and where outer and inner are swapped, leaves end up in wrong places.

    >>> jax.tree.transpose(treedef_of_list, treedef_of_tuple, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
    ([1, 3], [2, 4])

## In which versions

All. With a treedef that comes from a lowered or traced function the text is "PyTree registries of PyTreeDefs passed
to Compose() must match." from 0.10.0 on.

## What to write instead

`None` for the inner treedef: JAX then reads it off the tree. The outer treedef is that of the outermost containers,
with a leaf for each inner tree: `jax.tree.structure([0, 0])`.

## Known limits

Only treedefs and trees that are written out are compared.

## Source

`tree_transpose` in `jax/_src/tree_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.structures import (
    Dict,
    List,
    MismatchKind,
    Structure,
    Tuple,
    compare,
    composed,
    leaf_count,
    mismatches,
)
from jaxpert.model.tree_maps import structure_at
from jaxpert.model.treedefs import REGISTRIES_DIFFER, Registry, Treedef, treedef_of
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent
from jaxpert.text.lines import Range, slice_lines

NAME = "transpose-structure"


@dataclass(frozen=True, slots=True)
class _Case:
    """A call that goes wrong; ``silent`` when JAX does not notice."""

    call: ApiCall
    where: Range
    problem: str
    cure: str
    silent: bool
    exception: str = "TypeError"
    text: str = "Mismatch"
    fix: str = ""


def check(model: FileModel) -> Iterator[Finding]:
    """Calls whose arguments do not fit each other."""
    for case in _cases(model):
        message = f"{case.problem}; {case.cure}"
        if case.silent:
            consequence = silent(model, "only the numbers of leaves are compared")
            yield Finding(NAME, case.where, message, Severity.WARNING, consequence, exceptions=("AssertionError",))
            continue
        yield Finding(
            NAME, case.where, message, Severity.ERROR, raises(model, "at this call", case.exception, case.text),
            exceptions=(case.exception,),
        )  # fmt: skip


def _cases(model: FileModel) -> Iterator[_Case]:
    for call in model.calls:
        if call.api.name != "jax.tree.transpose" or call.is_partial or call.opened or model.is_dead(call.site.block):
            continue
        outer, inner = call.arguments.get("outer_treedef"), call.arguments.get("inner_treedef")
        tree = call.arguments.get("pytree_to_transpose")
        if outer is None or inner is None or tree is None:
            continue
        case = _tree_for_treedef(model, call, outer, inner) or _misfit(model, call, outer, inner, tree)
        if case is not None:
            yield case


def _tree_for_treedef(model: FileModel, call: ApiCall, *treedefs: Argument) -> _Case | None:
    for argument in treedefs:
        given = structure_at(argument)
        where = model.range_of(argument.node)
        if not isinstance(given, (Dict, List, Tuple)) or where is None:
            continue
        kind = given.type if isinstance(given, Dict) else "list" if isinstance(given, List) else "tuple"
        return _Case(
            call, where, f"`tree.transpose` wants a treedef here, and this is a {kind}: it raises",
            "wrap it in `jax.tree.structure`", False, "AttributeError",
            f"'{kind}' object has no attribute 'num_leaves'", "wrap",
        )  # fmt: skip
    return None


def _misfit(model: FileModel, call: ApiCall, outer: Argument, inner: Argument, tree: Argument) -> _Case | None:
    outside, inside = treedef_of(outer), treedef_of(inner)
    given = structure_at(tree)
    if outside is None or inside is None:
        return None  # also when the inner one is None, which fits any
    expected = composed(outside.structure, inside.structure)
    mismatch = compare(expected, given)
    differ = _counts_differ(outside.structure, inside.structure, given)
    if differ is None or (mismatch is None and not differ):
        return None
    swapped = compare(composed(inside.structure, outside.structure), given) is None
    exception, text = "TypeError", "Mismatch"
    if differ and model.target.version >= REGISTRIES_DIFFER and _mixed(outside, inside):
        exception, text = "ValueError", "PyTree registries of PyTreeDefs passed to Compose() must match."
    if swapped:
        where = model.range_of(outer.node)
        problem = "the outer and the inner treedef are swapped: the tree has the second one outside"
        end = "and it raises" if differ else "and leaves end up in wrong places"
        cure = "write them the other way round"
        if where is None:
            return None
        return _Case(call, where, f"{problem}, {end}", cure, not differ, exception, text, "swap")
    fits_outside = _fits(outside.structure, given)
    argument, treedef = (inner, inside) if fits_outside else (outer, outside)
    where = model.range_of(argument.node)
    if where is None:
        return None
    which = "inner" if fits_outside else "outer"
    there = f" at `{mismatch.key_path}`" if mismatch is not None and mismatch.key_path else ""
    has = mismatch.right.words if mismatch is not None else given.words
    wants = mismatch.left.words if mismatch is not None else treedef.structure.words
    problem = f"the {which} treedef is not that of the tree: the tree has {has}{there}, not {wants}"
    end = "and it raises" if differ else "and its leaves are put into the wrong containers"
    cure = "pass `None` for it, which fits any tree" if fits_outside else "give the treedef of the outermost containers"
    return _Case(call, where, f"{problem}, {end}", cure, not differ, exception, text, "none" if fits_outside else "")


def _counts_differ(outer: Structure, inner: Structure, tree: Structure) -> bool | None:
    """Whether the tree has another number of leaves than the two structures together; None when that is not known."""
    outside, inside, given = leaf_count(outer), leaf_count(inner), leaf_count(tree)
    if outside is None or given is None:
        return None
    if inside is None:
        return True if outside and given % outside else None
    return outside * inside != given


def _mixed(outer: Treedef, inner: Treedef) -> bool:
    return {outer.registry, inner.registry} == {Registry.DEFAULT, Registry.TRACING}


def _fits(outer: Structure, tree: Structure) -> bool:
    """Whether the tree starts with the outer structure: it may differ below the leaves only."""
    return all(one.kind is MismatchKind.LEAF_LEFT for one in mismatches(outer, tree))


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Swap the treedefs, leave the inner one to JAX, or take the structure of a tree."""
    lines = model.source.lines
    for case in model.every(_cases):
        if case.where != finding.range:
            continue
        if case.fix == "wrap":
            wrapped = verbs.wrap_call(lines, case.where, "jax.tree.structure")
            return Fix("Take the structure of the tree", Safety.SAFE, wrapped) if wrapped else None
        if case.fix == "none":
            edits = verbs.replace_expression(lines, case.where, "None")
            safety = Safety.SAFE if case.silent else Safety.UNSAFE
            return Fix("Let JAX read the inner structure off the tree", safety, edits) if edits else None
        other = case.call.arguments["inner_treedef"]
        second = model.range_of(other.node)
        if case.fix != "swap" or second is None:
            return None
        one = verbs.replace_expression(lines, case.where, slice_lines(lines, second))
        two = verbs.replace_expression(lines, second, slice_lines(lines, case.where))
        return Fix("Swap the treedefs", Safety.SAFE, (*one, *two)) if one and two else None
    return None


_BAD = """\
import jax

STAGE = "call"
outer = jax.tree.structure([0, 0])
inner = jax.tree.structure({"a": 0})
result = jax.tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}])
"""

_SILENT = _BAD.replace('{"a": 0}', "(0, 0)")

_SWAPPED = """\
import jax

outer = jax.tree.structure({"a": 0, "b": 0})
inner = jax.tree.structure([0, 0, 0])
result = jax.tree.transpose(outer, inner, [{"a": 1, "b": 2}, {"a": 3, "b": 4}, {"a": 5, "b": 6}])
"""

RULE = Rule(
    code="JXP505",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.transpose",),
    examples=(
        Example(bad=_BAD, good=_BAD.replace("outer, inner", "outer, None"), proof=Raises("TypeError", "Mismatch")),
        Example(
            bad=_SILENT, good=_SILENT.replace("(0, 0)", '{"a": 0, "b": 0}'), proof=Silent("result == ([1, 3], [2, 4])")
        ),
        Example(
            bad=_SWAPPED,
            good=_SWAPPED.replace("outer, inner", "inner, outer"),
            proof=Silent("isinstance(result, list)"),
        ),
    ),
    check=check,
    fix=fix,
)
