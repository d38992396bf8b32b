"""A traced array is changed in place.

## What it finds

`x[i] = value`, `x[i] += value` and their like in a function that `jax.checkpoint` (or a wrapper around it) makes, where
`x` is an array that comes from the arguments, or that JAX has made inside.

## Why it matters

Arrays of JAX never change, not even NumPy arrays that were passed: inside they are tracers. JAX raises when the
function is called:

    TypeError: JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use
    x = x.at[idx].set(y) …

Before 0.4.35 the text begins with the type: `'<class '….DynamicJaxprTracer'>' object does not support item assignment`.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

`x = x.at[i].set(value)`, `x = x.at[i].add(value)`. For an array that changes over time, `jax.new_ref`.

## Known limits

An argument counts as an array where a visible call passes one or its annotation says so; the items of a dictionary or
list that was passed may be assigned.

## Source

`Array.__setitem__` in `jax/_src/numpy/array_methods.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from packaging.version import Version

from jaxpert.model.arrays import array_type
from jaxpert.model.effect_places import function_name, traced_body
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.tracing import Level, Place
from jaxpert.model.transforms import Checkpoint, parameters
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.scopes import Block, Function, scope_of
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "array-changed-in-place"

_PLAIN_TEXT = Version("0.4.35")
_METHODS = {ast.Add: "add", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"}

_Store = tuple[ast.Assign | ast.AugAssign, ast.Subscript, Block]


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """An item that is assigned: the statement, its target, and where that is seen in this file."""

    checkpoint: Checkpoint
    statement: ast.Assign | ast.AugAssign
    target: ast.Subscript
    model: FileModel
    range: Range


def check(model: FileModel) -> Iterator[Finding]:
    """Items of traced arrays that checkpointed functions assign."""
    for change in _changes(model):
        function = function_name(model, change.checkpoint)
        base, index = (change.model.text_of(node) for node in (change.target.value, change.target.slice))
        text = "JAX arrays are immutable and do not support in-place item assignment. …"
        if model.target.version < _PLAIN_TEXT:
            text = "'<class '….DynamicJaxprTracer'>' object does not support item assignment. …"
        wrapped = model.range_of(change.checkpoint.node)
        area = change.model.range_of(change.target)
        related = (Related(wrapped, f"`{function}` is wrapped here"),) if wrapped is not None else ()
        if change.model is not model:
            related = (Related(area, f"here, in `{function}`", change.model.path),) if area is not None else ()
        yield Finding(
            NAME,
            change.range,
            f"`{base}` is a traced array, which cannot be changed in place: JAX raises when `{function}` is called; "
            f"write `{_replacement(change) or f'{base} = {base}.at[{index}].set(…)'}`",
            Severity.ERROR,
            raises(model, f"when `{function}` is called", "TypeError", text),
            related,
            exceptions=("TypeError",),
        )


def _changes(model: FileModel) -> Iterator[_Change]:
    seen: set[Range] = set()
    for checkpoint in model.checkpoints:
        known = parameters(model, checkpoint)
        if known is None or model.is_dead(checkpoint.site.block):
            continue
        function, owner = known.function.function, known.function.model or model
        key = f"item stores of {id(function)}"
        stores = owner.tree_fact(function.block.tree, key, lambda _, it=function: list(_stores(it)))  # type: ignore[misc]
        body = traced_body(model, checkpoint) if stores else None
        for statement, target, block in stores if body is not None else ():
            assert body is not None
            where = model.range_of(target if owner is model else checkpoint.node)
            if where is None or where in seen or owner.is_dead(block):
                continue
            scope = scope_of(block)
            traced = body.traced(target.value, Place(scope, block))
            made = array_type(owner, target.value, scope, block) if traced.level is not Level.ARRAY else None
            if traced.level is Level.ARRAY or (made is not None and made.library == "jax"):
                seen.add(where)
                yield _Change(checkpoint, statement, target, owner, where)


def _stores(function: Function) -> Iterator[_Store]:
    """The statements of the function that assign items."""
    for statement, block in function.block.tree.block_of.items():
        if isinstance(statement, (ast.Assign, ast.AugAssign)) and function.body_block in tuple(block.enclosing()):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    yield statement, target, block


def _replacement(change: _Change) -> str:
    """The statement with ``at``; "" when there is none that does the same."""
    statement, text_of = change.statement, change.model.text_of
    base, index, value = (text_of(node) for node in (change.target.value, change.target.slice, statement.value))
    if isinstance(statement, ast.Assign):
        method = "set" if len(statement.targets) == 1 else ""
    elif isinstance(statement.op, ast.Sub):
        is_simple = isinstance(statement.value, (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript))
        method, value = "add", f"-{value}" if is_simple else f"-({value})"
    else:
        method = _METHODS.get(type(statement.op), "")
    if isinstance(change.target.slice, ast.Tuple) and not change.target.slice.elts:
        index = "()"
    return f"{base} = {base}.at[{index}].{method}({value})" if method and base and value else ""


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """``x[i] = v`` becomes ``x = x.at[i].set(v)``."""
    for change in _changes(model):
        where = model.range_of(change.statement) if change.model is model else None
        new = _replacement(change)
        if change.range == finding.range and where is not None and where.start.line == where.end.line and new:
            title = f"Write `{new}`" if len(new) <= 60 else f"Use `{model.text_of(change.target.value)}.at[…]`"
            return Fix(title, Safety.SAFE, (Edit(where, new),))
    return None


_BAD = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def first_is_one(x):
    x[0] = 1.0
    return jnp.sum(x)


STAGE = "call"
first_is_one(jnp.zeros(3))
'''

RULE = Rule(
    code="JXP410",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            _BAD, _BAD.replace("x[0] = 1.0", "x = x.at[0].set(1.0)"),
            Raises("TypeError", "item assignment", "call"),
        ),
    ),
    check=check,
    fix=fix,
)  # fmt: skip
