"""Trees of different structure are mapped together.

## What it finds

Calls of `jax.tree.map` and `jax.tree.map_with_path` whose later tree does not have the structure of the first one:
a list against a tuple, other keys, another length, a leaf where the first tree has a container, another type of
dictionary or of registered class. Also a container where the first tree has a leaf, when the function takes it for a
leaf. The trees are followed through variables, calls of your own functions and other modules.

## Why it matters

The first tree decides the structure, and the others must have it, or go on below its leaves:

    ValueError: Expected list, got (1, 2).
    ValueError: pytree structure error: different types at key path

A container below a leaf of the first tree is legal: the function gets the whole container.

## In which versions

All. The texts changed in 0.10.2: before, they are "Expected list, got …", "Dict key mismatch", "List arity mismatch"
and "Custom node type mismatch".

## What to write instead

Give both trees the same containers, keys and lengths. `dict`, `OrderedDict` and `defaultdict` are different types,
and so are a named tuple and a plain one. The order of keys counts for `OrderedDict` only.

## Known limits

Only trees that are written out are compared; what is filled in loops or by unknown functions is not known. None
against a value is reported by *none-against-value*.

## Source

`PyTreeDef.flatten_up_to` in jaxlib and `jax/_src/tree_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.structures import Dict, Leaf, List, MismatchKind, Structure, Tuple
from jaxpert.model.tree_maps import Difference, TreeMap, Use, differences, tree_maps, use_of, with_callers
from jaxpert.model.tree_speech import at, key_path_error, mapped_name, place_in_tree, written_at
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent
from jaxpert.text.lines import Range, slice_lines

NAME = "tree-structure-mismatch"


def check(model: FileModel) -> Iterator[Finding]:
    """The first difference in each call."""
    for difference, where in _faults(model):
        mismatch = difference.mismatch
        name = mapped_name(difference.map.call)
        there = f"{mismatch.right.words}{at(mismatch.key_path)} where the first tree has {mismatch.left.words}"
        if difference.reaches_function:
            yield _below_a_leaf(model, difference, where, there)
            continue
        yield Finding(
            NAME,
            where,
            f"{there}: `{name}` raises; {_cure(difference)}",
            Severity.ERROR,
            raises(model, "at this call", "ValueError", key_path_error(model, difference)),
            written_at(model, difference, where),
            exceptions=("ValueError",),
        )


def _faults(model: FileModel) -> Iterator[tuple[Difference, Range]]:
    for tree_map in tree_maps(model):
        found = next((fault for one in with_callers(tree_map) if (fault := _fault(model, one)) is not None), None)
        if found is not None:
            yield found


def _fault(model: FileModel, tree_map: TreeMap) -> tuple[Difference, Range] | None:
    """The first difference that matters, unless one about None comes before."""
    for difference in differences(tree_map):
        if difference.is_about_none:
            if difference.reaches_function:
                continue
            return None
        if difference.reaches_function and _use(difference) is None:
            continue
        where = place_in_tree(model, tree_map.trees[difference.index], difference.mismatch.right)
        return (difference, where) if where is not None else None
    return None


def _use(difference: Difference) -> Use | None:
    """What the function does with a container that it gets for a leaf; None when it may be made for that."""
    left = difference.mismatch.left
    if not isinstance(left, Leaf) or not left.is_array:
        return None
    use = use_of(difference.map.fun, difference.index + difference.map.leading)[0]
    return use if use in (Use.COMPUTES, Use.KEEPS) else None


def _below_a_leaf(model: FileModel, difference: Difference, where: Range, there: str) -> Finding:
    right = difference.mismatch.right
    related = written_at(model, difference, where)
    if _use(difference) is Use.COMPUTES and isinstance(right, Dict):
        text = f"unsupported operand type(s): … '{right.type}'"
        return Finding(
            NAME, where, f"{there}: the function gets the whole {right.type} and computes with it; {_cure(difference)}",
            Severity.ERROR, raises(model, "at this call", "TypeError", text), related, exceptions=("TypeError",),
        )  # fmt: skip
    return Finding(
        NAME, where, f"{there}: the function gets all of it in place of a leaf; {_cure(difference)}",
        Severity.WARNING, silent(model, "below a leaf of the first tree anything may stand"), related,
        exceptions=("TypeError", "ValueError", "AssertionError"),
    )  # fmt: skip


def _cure(difference: Difference) -> str:
    mismatch = difference.mismatch
    left, right = mismatch.left, mismatch.right
    if mismatch.kind is MismatchKind.KEYS:
        lacking = [*mismatch.only_left, *mismatch.only_right]
        if not lacking:
            return "put the keys of both in the same order"
        names = ", ".join(map(repr, lacking[:4]))
        return f"give both the same keys ({names} {'are' if lacking[1:] else 'is'} in one only)"
    if mismatch.kind is MismatchKind.LENGTH:
        return "give both the same length"
    if isinstance(left, (List, Tuple)) and isinstance(right, (List, Tuple)):
        return "make both lists, or both tuples"
    if isinstance(left, Leaf) or isinstance(right, Leaf):
        return "give both the same containers"
    return "give both the same type"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make a tuple of the list, or a list of the tuple."""
    for difference, where in model.every(_faults):
        left, right = difference.mismatch.left, difference.mismatch.right
        if where != finding.range or difference.mismatch.kind is not MismatchKind.TYPE:
            continue
        if not isinstance(left, (List, Tuple)) or not isinstance(right, (List, Tuple)):
            return None
        wanted = "list" if isinstance(left, List) else "tuple"
        if not _same_items(left, right):
            return None
        return _retyped(model, difference, where, wanted) if difference.map.caller is None else None
    return None


def _same_items(left: Structure, right: Structure) -> bool:
    assert isinstance(left, (List, Tuple)) and isinstance(right, (List, Tuple))
    return not (left.exact and right.exact) or len(left.items) == len(right.items)


def _retyped(model: FileModel, difference: Difference, where: Range, wanted: str) -> Fix | None:
    """Write the display of the later tree in the other brackets, or wrap the argument when it is all of the tree."""
    right = difference.mismatch.right
    node = right.site.node if right.site is not None and right.model is model else None
    area = model.range_of(node) if node is not None else None
    lines = model.source.lines
    if isinstance(node, (ast.List, ast.Tuple)) and area is not None and area == where:
        source = slice_lines(lines, area)
        if source[0] not in "([":
            return None
        inner = source[1:-1]
        comma = "," if wanted == "tuple" and len(node.elts) == 1 and not inner.rstrip().endswith(",") else ""
        new = f"({inner}{comma})" if wanted == "tuple" else f"[{inner}]"
        edits = verbs.replace_expression(lines, area, new)
    elif not difference.mismatch.path:
        edits = verbs.wrap_call(lines, where, wanted)
    else:
        return None
    return Fix(f"Make it a {wanted}", Safety.UNSAFE, edits) if edits else None


_BAD = """\
import jax

STAGE = "call"
jax.tree.map(lambda x, y: x + y, {"a": [1, 2]}, {"a": (1, 2)})
"""

_KEYS = """\
import jax

STAGE = "call"
jax.tree.map(lambda x, y: x + y, {"a": 1, "b": 2}, {"a": 1})
"""

_LENGTH = """\
import jax

STAGE = "call"
layers = {"layers": [1, 2, 3]}
updates = {"layers": [1, 2]}
jax.tree.map(lambda x, y: x + y, layers, updates)
"""

_BELOW = """\
import jax

result = jax.tree.map(lambda x, y: (y,), {"p": 1}, {"p": {"w": 1}})
"""

RULE = Rule(
    code="JXP503",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.map", "jax.tree.map_with_path"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("(1, 2)}", "[1, 2]}"),
            proof=Raises("ValueError", "pytree structure error: different types at key path", since="0.10.2"),
        ),
        Example(
            bad=_BAD,
            good=_BAD.replace("(1, 2)}", "[1, 2]}"),
            proof=Raises("ValueError", "Expected list, got (1, 2).", until="0.10.2"),
        ),
        Example(
            bad=_KEYS,
            good=_KEYS.replace('{"a": 1})', '{"a": 1, "b": 2})'),
            proof=Raises("ValueError", "different numbers of pytree children at key path", since="0.10.2"),
        ),
        Example(
            bad=_LENGTH,
            good=_LENGTH.replace("[1, 2]}", "[1, 2, 4]}"),
            proof=Raises("ValueError", "different lengths of list at key path", since="0.10.2"),
        ),
        Example(
            bad=_BELOW,
            good=_BELOW.replace('{"p": 1}', '{"p": {"w": 2}}'),
            proof=Silent("result == {'p': ({'w': 1},)}"),
        ),
    ),
    error_texts=(
        "ValueError: Dict key mismatch; expected keys: …",
        "ValueError: List arity mismatch: …",
        "ValueError: Tuple arity mismatch: …",
        "ValueError: Custom node type mismatch: expected type: …",
        "ValueError: Mismatch custom node data: …",
        "ValueError: Expected tuple, got …",
        "ValueError: Expected dict, got …",
    ),
    check=check,
    fix=fix,
)
