"""None in one tree meets a value in another.

## What it finds

Calls of `jax.tree.map` and `jax.tree.map_with_path` (under every name they have had) where one tree holds None at a
place where another holds a value: None in the first tree against anything; a container in the first tree against
None; a leaf in the first tree against None that the function computes with; and `is_leaf` that hands None to a
function which computes with it. The trees are followed through variables, calls of your own functions and other
modules.

## Why it matters

For JAX, None is not a leaf but an empty container. In the first tree it fits None and nothing else:

    ValueError: Expected None, got Array([1., 1.], dtype=float32).
    ValueError: pytree structure error: different types at key path

Below a leaf of the first tree anything may stand, so there the function gets None as a value, and fails by itself:

    TypeError: unsupported operand type(s) for *: 'float' and 'NoneType'

## In which versions

None in the first tree met anything before 0.4.34, and the function was not called there; since then it raises
"Expected None, got …", from 0.10.2 on "pytree structure error". The other directions raise in all versions.

## What to write instead

For None in the first tree, make it a leaf and let the function look at it:
`jax.tree.map(lambda x, y: None if x is None else f(x, y), a, b, is_leaf=lambda x: x is None)`. For None in a later
tree `is_leaf` does nothing, as it is asked about the first tree only: write `x if y is None else …`. Where the first
tree has a container, the later one needs the same container.

## Known limits

Trees that are filled in loops or by unknown functions are not known. With another `is_leaf` than a test for None
nothing is said. Whether the function computes with an argument is read off its own body.

## Source

`PyTreeDef.flatten_up_to` in jaxlib and `jax/_src/tree_util.py`; measured on 0.4.30 to 0.12.0.1. The public error page
that tells of this shows it under another error's name, and its remedy covers None in the first tree only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.structures import Leaf, NoneNode, places_of_none
from jaxpert.model.tree_maps import (
    NONE_IS_NO_PREFIX,
    Difference,
    TreeMap,
    Use,
    differences,
    parameter_names,
    structure_at,
    tree_maps,
    use_of,
    with_callers,
)
from jaxpert.model.tree_speech import at, key_path_error, mapped_name, place_in_tree, written_at
from jaxpert.model.values import Def, Symbol
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range, slice_lines

NAME = "none-against-value"

_IS_LEAF = "lambda x: x is None"


@dataclass(frozen=True, slots=True)
class _Case:
    """One call that fails.

    Attributes:
        where: what to point at.
        difference: where the trees differ; None where the first tree alone decides.
        given: positions of the trees whose None the function would get.
        path: where in the trees, as JAX writes it.
        shown: the expression in the function that fails, or None.
    """

    map: TreeMap
    where: Range
    difference: Difference | None
    given: tuple[int, ...]
    path: str
    shown: ast.expr | None = None


def check(model: FileModel) -> Iterator[Finding]:
    """Calls in which None meets a value."""
    for tree_map in tree_maps(model):
        case = _first_case(model, tree_map)
        if case is not None:
            yield _finding(model, case)


def _first_case(model: FileModel, tree_map: TreeMap) -> _Case | None:
    """The first fault of a call, as it stands or with the arguments of a caller."""
    return next((case for one in with_callers(tree_map) if (case := _case(model, one)) is not None), None)


def _case(model: FileModel, tree_map: TreeMap) -> _Case | None:
    """The first fault of a call."""
    for difference in differences(tree_map):
        if not difference.is_about_none:
            return None  # the trees differ in another way before
        mismatch = difference.mismatch
        holder = 0 if isinstance(mismatch.left, NoneNode) else difference.index
        side = mismatch.left if holder == 0 else mismatch.right
        where = place_in_tree(model, tree_map.trees[holder], side)
        if where is None:
            continue
        if not difference.reaches_function:
            if holder == 0 and model.target.version < NONE_IS_NO_PREFIX:
                continue
            given = (0,) if holder == 0 else ()
            return _Case(tree_map, where, difference, given, mismatch.key_path)
        if isinstance(side, NoneNode):
            shown = _fails(tree_map, difference.index, isinstance(mismatch.left, Leaf) and mismatch.left.type != "None")
            if shown is not None:
                given = (difference.index,)
                return _Case(tree_map, where, difference, given, mismatch.key_path, shown[0])
    if tree_map.none_is_leaf:
        return _handed_on(model, tree_map)
    return None


def _handed_on(model: FileModel, tree_map: TreeMap) -> _Case | None:
    """``is_leaf`` hands None of the first tree to a function that computes with it."""
    for path, none in places_of_none(structure_at(tree_map.trees[0], tree_map.frame)):
        shown = _fails(tree_map, 0)
        where = place_in_tree(model, tree_map.trees[0], none)
        if shown is not None and where is not None:
            return _Case(tree_map, where, None, (0,), path, shown[0])
    return None


def _fails(tree_map: TreeMap, position: int, first_is_value: bool = False) -> tuple[ast.expr | None] | None:
    """The expression with which the function fails when it gets None there; None when it may not fail."""
    use, shown = use_of(tree_map.fun, position + tree_map.leading, tree_map.leading if first_is_value else None)
    return (shown,) if use in (Use.COMPUTES, Use.READS) else None


def _finding(model: FileModel, case: _Case) -> Finding:
    tree_map, difference = case.map, case.difference
    name = mapped_name(tree_map.call)
    if difference is not None and not difference.reaches_function:
        mismatch, index = difference.mismatch, difference.index
        first, later = _shown(model, case, 0), _shown(model, case, index)
        if isinstance(mismatch.left, NoneNode) and not mismatch.path and not isinstance(mismatch.right, Leaf):
            message = (
                f"{first} is None where {later} is {mismatch.right.words}: `{name}` raises, as None is an empty "
                "container; start from a tree with the same containers, or leave the call out while there is none"
            )
        elif isinstance(mismatch.left, NoneNode):
            message = (
                f"{first} has None{at(case.path)} where {later} has {mismatch.right.words}: `{name}` raises, as None "
                "is an empty container; make it a leaf with `is_leaf=lambda x: x is None` and let the function test it"
            )
        else:
            message = (
                f"{later} has None{at(case.path)} where {first} has {mismatch.left.words}: `{name}` raises; "
                "give both the same container there, or None"
            )
        related = written_at(model, difference, case.where)
        return Finding(
            NAME, case.where, message, Severity.ERROR,
            raises(model, "at this call", "ValueError", key_path_error(model, difference)),
            related, exceptions=("ValueError",),
        )  # fmt: skip
    position = case.given[0]
    parameter = _parameter(tree_map, position)
    does = f"`{model.text_of(case.shown)}`" if case.shown is not None and model.text_of(case.shown) else "computing"
    gets = f"the function gets None for {parameter}{at(case.path)}, and {does} fails"
    if position:
        message = f"{gets}: `is_leaf` is not asked about later trees; let the function test {parameter} for None"
    else:
        message = f"{gets}: `is_leaf` makes None a leaf; let the function test {parameter} for None"
    exception = "AttributeError" if isinstance(case.shown, ast.Attribute) else "TypeError"
    text = "unsupported operand type(s): … 'NoneType'"
    if isinstance(case.shown, ast.Attribute):
        text = f"'NoneType' object has no attribute '{case.shown.attr}'"
    elif isinstance(case.shown, ast.Subscript):
        text = "'NoneType' object is not subscriptable"
    related = written_at(model, difference, case.where) if difference is not None else ()
    return Finding(
        NAME, case.where, message, Severity.ERROR, raises(model, "at this call", exception, text),
        related, exceptions=(exception,),
    )  # fmt: skip


def _shown(model: FileModel, case: _Case, position: int) -> str:
    text = model.text_of(case.map.trees[position].node)
    if text and len(text) <= 30:
        return f"`{text}`"
    return "the first tree" if position == 0 else "the later tree" if len(case.map.trees) == 2 else "a later tree"


def _parameter(tree_map: TreeMap, position: int) -> str:
    value = tree_map.fun.value if tree_map.fun is not None else None
    names = parameter_names(value) if isinstance(value, Def) else []
    index = position + tree_map.leading
    return f"`{names[index]}`" if index < len(names) else f"argument {index + 1}"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make None a leaf where that is missing, and let a lambda test for it where it does not."""
    for tree_map in model.every(tree_maps):
        case = _first_case(model, tree_map)
        if case is None or case.where != finding.range or not case.given:
            continue
        is_none_at_root = case.difference is not None and not case.difference.reaches_function and not case.path
        return None if is_none_at_root else _fix(model, case)
    return None


def _fix(model: FileModel, case: _Case) -> Fix | None:
    call = model.range_of(case.map.call.node)
    edits: list[Edit] = []
    needs_leaf = case.given == (0,) and not case.map.none_is_leaf
    if call is None:
        return None
    if needs_leaf:
        added = verbs.add_keyword(model.source.lines, call, "is_leaf", _IS_LEAF)
        if added is None:
            return None
        edits.extend(added)
        if use_of(case.map.fun, case.map.leading)[0] is Use.TESTED:
            return Fix("Make None a leaf with `is_leaf`", Safety.SAFE, tuple(edits))
    guard = _guarded(model, case)
    if guard is None:
        return None
    title = "Make None a leaf, and let the function test for it" if needs_leaf else "Let the function test for None"
    return Fix(title, Safety.UNSAFE, (*edits, *guard))


def _guarded(model: FileModel, case: _Case) -> tuple[Edit, ...] | None:
    """Let a lambda, or a function of a library, test the argument first."""
    fun, lines = case.map.fun, model.source.lines
    if fun is None or fun.model is not model:
        return None
    position = case.given[0] + case.map.leading
    value = fun.value
    if isinstance(fun.node, ast.Lambda) and isinstance(value, Def):
        names = parameter_names(value)
        body = model.range_of(fun.node.body)
        if body is None or position >= len(names):
            return None
        result = "None" if case.given[0] == 0 else names[case.map.leading]
        source = slice_lines(lines, body)
        return verbs.replace_expression(lines, body, f"{result} if {names[position]} is None else {source}")
    area = model.range_of(fun.node)
    if isinstance(value, Symbol) and area is not None and not case.map.leading and len(case.map.trees) <= 3:
        names = ["x", "y", "z"][: len(case.map.trees)]
        result = "None" if case.given[0] == 0 else "x"
        arguments = ", ".join(names)
        called = f"{model.text_of(fun.node)}({arguments})"
        new = f"lambda {arguments}: {result} if {names[position]} is None else {called}"
        return verbs.replace_expression(lines, area, new)
    return None


_BAD = """\
import jax
import jax.numpy as jnp

STAGE = "call"
steps = {"w": 0.1, "b": None}
grads = {"w": jnp.ones(2), "b": jnp.ones(1)}
jax.tree.map(lambda s, g: g if s is None else s * g, steps, grads)
"""

_LATER = """\
import jax
import jax.numpy as jnp

STAGE = "call"
params = {"w": jnp.ones(2), "b": jnp.ones(1)}
grads = {"w": jnp.ones(2), "b": None}
jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
"""

_CONTAINER = """\
import jax

STAGE = "call"
jax.tree.map(lambda x, y: x, {"p": {"w": 1}}, {"p": None})
"""

RULE = Rule(
    code="JXP501",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.map",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("steps, grads)", "steps, grads, is_leaf=lambda x: x is None)"),
            proof=Raises("ValueError", "pytree structure error: different types at key path", "call", since="0.10.2"),
        ),
        Example(
            bad=_LATER,
            good=_LATER.replace("p - 0.1", "p if g is None else p - 0.1"),
            proof=Raises("TypeError", "unsupported operand type(s) for *: 'float' and 'NoneType'", "call"),
        ),
        Example(
            bad=_CONTAINER,
            good=_CONTAINER.replace('{"p": None}', '{"p": {"w": 2}}'),
            proof=Raises("ValueError", "pytree structure error: different types", "call", since="0.10.2"),
        ),
    ),
    error_texts=("ValueError: Expected None, got …", "ValueError: Expected dict, got None."),
    check=check,
    fix=fix,
)
