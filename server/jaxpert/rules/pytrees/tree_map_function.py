"""The function and the trees of `jax.tree.map` do not go together.

## What it finds

A tree given where the function belongs (`jax.tree.map(tree, f)`), and a function that takes fewer or more arguments
than there are trees.

## Why it matters

`jax.tree.map` calls its first argument with one leaf of each tree:

    TypeError: 'dict' object is not callable
    TypeError: <lambda>() takes 1 positional argument but 2 were given

## In which versions

All.

## What to write instead

The function first, then the trees: `jax.tree.map(f, tree, other)`, with a function that takes as many arguments as
there are trees. For `map_with_path` the path comes before the leaves.

## Known limits

Only functions of your own are counted, not those of libraries.

## Source

`jax/_src/tree_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.structures import Dict, Leaf, List, Structure, Tuple, leaf_count
from jaxpert.model.tree_maps import TreeMap, structure_at, tree_maps
from jaxpert.model.tree_speech import mapped_name
from jaxpert.model.values import Def, Partial
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Position, Range, slice_lines

NAME = "tree-map-function"


def check(model: FileModel) -> Iterator[Finding]:
    """Calls whose function cannot be called with the leaves."""
    for tree_map in tree_maps(model):
        if tree_map.fun is None or tree_map.fun.model is not model:
            continue
        finding = _not_callable(model, tree_map) or _wrong_count(model, tree_map)
        if finding is not None:
            yield finding


def _not_callable(model: FileModel, tree_map: TreeMap) -> Finding | None:
    assert tree_map.fun is not None
    kind = _python_type(structure_at(tree_map.fun))
    where = model.range_of(tree_map.fun.node)
    if not kind or where is None or not leaf_count(structure_at(tree_map.trees[0])):
        return None
    swapped = _is_function(tree_map)
    name = mapped_name(tree_map.call)
    cure = "write the function first, then the tree" if swapped else "give a function first, then the trees"
    what = _article(kind)
    return Finding(
        NAME, where, f"`{name}` calls its first argument, and this is {what}: {cure}", Severity.ERROR,
        raises(model, "at this call", "TypeError", f"'{kind}' object is not callable"), exceptions=("TypeError",),
    )  # fmt: skip


def _python_type(structure: Structure) -> str:
    """The Python type of something that is no function; "" for all else."""
    if isinstance(structure, Dict):
        return structure.type
    if isinstance(structure, (List, Tuple)):
        return "list" if isinstance(structure, List) else "tuple"
    return "array" if isinstance(structure, Leaf) and structure.type == "array" else ""


def _article(kind: str) -> str:
    return f"{'an' if kind[0] in 'aO' else 'a'} {kind}"


def _is_function(tree_map: TreeMap) -> bool:
    """Whether the first tree is a function."""
    return isinstance(tree_map.trees[0].value, (Def, Partial)) and len(tree_map.trees) == 1


def _wrong_count(model: FileModel, tree_map: TreeMap) -> Finding | None:
    assert tree_map.fun is not None
    value, given = tree_map.fun.value, tree_map.leading + len(tree_map.trees)
    bound = 0
    names: set[str] = set()
    while isinstance(value, Partial) and not value.open:
        bound += len(value.args)
        names |= set(value.keywords)
        value = value.target
    where = model.range_of(tree_map.fun.node)
    if not isinstance(value, Def) or where is None or value.function.is_generator:
        return None
    arguments = value.function.node.args
    positional = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
    own = 1 if value.bound else 0
    most = len(positional)
    least = sum(1 for name in positional[: most - len(arguments.defaults)] if name not in names)
    count = own + bound + given
    if (arguments.vararg is not None or count <= most) and count >= least:
        return None
    if leaf_count(structure_at(tree_map.trees[0])) == 0:
        return None
    called = "<lambda>" if isinstance(value.function.node, ast.Lambda) else value.name
    trees = "1 tree" if len(tree_map.trees) == 1 else f"{len(tree_map.trees)} trees"
    extra = "a path and " if tree_map.leading else ""
    if count > most:
        text = f"{called}() takes {most} positional argument{'' if most == 1 else 's'} but {count} were given"
        takes = f"takes {_arguments(most - own - bound)}"
    else:
        missing = [name for name in positional[count : most - len(arguments.defaults)] if name not in names]
        plural = "s" if len(missing) > 1 else ""
        text = f"{called}() missing {len(missing)} required positional argument{plural}: {_listed(missing)}"
        takes = f"needs {_arguments(least - own - bound)}"
    owner, site = value.model, value.site
    where_defined = owner.range_of(site.node) if owner is not None and site is not None else None
    related: tuple[Related, ...] = ()
    if where_defined is not None and owner is not None and not isinstance(tree_map.fun.node, ast.Lambda):
        path = "" if owner is model else owner.path
        related = (Related(_header(where_defined, value.name), f"`{value.name}` is defined here", path),)
    return Finding(
        NAME, where, f"this function {takes}, and `{mapped_name(tree_map.call)}` calls it with {extra}the leaves of "
        f"{trees}; let it take {_arguments(given)}", Severity.ERROR,
        raises(model, "at this call", "TypeError", text), related, exceptions=("TypeError",),
    )  # fmt: skip


def _header(area: Range, name: str) -> Range:
    """``def name`` of a definition."""
    return Range(area.start, Position(area.start.line, area.start.column + len(f"def {name}")))


def _arguments(count: int) -> str:
    return f"{count} argument{'' if count == 1 else 's'}"


def _listed(names: list[str]) -> str:
    shown = [repr(name) for name in names]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Put the function before the tree."""
    for tree_map in model.every(tree_maps):
        if tree_map.fun is None or model.range_of(tree_map.fun.node) != finding.range or not _is_function(tree_map):
            continue
        call, tree = tree_map.call.node, tree_map.trees[0]
        if call.args[:2] != [tree_map.fun.node, tree.node] or not _python_type(structure_at(tree_map.fun)):
            return None
        one, other = finding.range, model.range_of(tree.node)
        if other is None:
            return None
        lines = model.source.lines
        first = verbs.replace_expression(lines, one, slice_lines(lines, other))
        second = verbs.replace_expression(lines, other, slice_lines(lines, one))
        return Fix("Put the function first", Safety.SAFE, (*first, *second)) if first and second else None
    return None


_BAD = """\
import jax

STAGE = "call"
jax.tree.map({"a": 1.0}, lambda x: x * 2)
"""

_COUNT = """\
import jax

STAGE = "call"
jax.tree.map(lambda x: x * 2, {"a": 1.0}, {"a": 2.0})
"""

RULE = Rule(
    code="JXP504",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.map", "jax.tree.map_with_path"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace('{"a": 1.0}, lambda x: x * 2', 'lambda x: x * 2, {"a": 1.0}'),
            proof=Raises("TypeError", "'dict' object is not callable"),
        ),
        Example(
            bad=_COUNT,
            good=_COUNT.replace("lambda x: x * 2", "lambda x, y: x * y"),
            proof=Raises("TypeError", "takes 1 positional argument but 2 were given"),
        ),
    ),
    check=check,
    fix=fix,
)
