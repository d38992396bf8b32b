"""A NumPy masked array meets JAX, which has no masks.

## What it finds

A masked array (`np.ma.masked_array(…)`, `np.ma.masked_invalid(…)` and their like) that is given to a function of
`jax.numpy`, `jax.nn` or `jax.device_put`, to what `jax.jit`, `jax.vmap` or `jax.grad` made, to a loop of `jax.lax`,
or that is combined with a JAX array by an operator.

## Why it matters

JAX raises:

    ValueError: numpy masked arrays are not supported as direct inputs to JAX functions. Use arr.filled() to convert
    the value to a standard numpy array.

`jnp.array(m)` and `jnp.float32(m)` say nothing: the mask is dropped and the hidden values are back.

## In which versions

All.

## What to write instead

`m.filled(0.0)`, or `m.filled(np.nan)` with `jnp.nanmean` and its like; or pass the values and the mask as two arrays:
`jnp.where(mask, 0.0, values)`.

## Known limits

Masked arrays are known when the file shows where they are made. `jnp.concatenate` and `jnp.stack` of masked arrays
drop masks or raise, depending on the release, and are not reported.

## Source

`jax/_src/abstract_arrays.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.aliases import mentioned
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.arrays import Arrays
from jaxpert.model.calls import Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.tracing import gives_array
from jaxpert.model.transformed_calls import looked_at, operands, transformed_calls
from jaxpert.model.values import Sequence, Symbol, Table, Value
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import BindingKind, Block, Scope

NAME = "masked-array"

_TEXT = (
    "numpy masked arrays are not supported as direct inputs to JAX functions. Use arr.filled() to convert the value to "
    "a standard numpy array."
)
_MOST_PARTS = 40
_DROPPING = {"array", "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint32"}
_DIFFERENT = {
    "concatenate", "stack", "vstack", "hstack", "ones_like", "zeros_like", "full_like", "shape", "ndim", "size",
    "bool_", "empty_like", "take", "array_equal", "isin", "einsum",
}  # fmt: skip


def check(model: FileModel) -> Iterator[Finding]:
    """Masked arrays where JAX wants arrays."""
    if not _speaks_of_masked_arrays(model):
        return
    for node, dropped, is_whole in _places(model):
        where = model.range_of(node)
        if where is None:
            continue
        shown = model.text_of(node)
        if dropped:
            yield Finding(
                NAME,
                where,
                f"`{shown}` is a masked array, and `{dropped}` drops its mask: the hidden values are back; write "
                "`.filled(…)` with the value that stands for them",
                Severity.WARNING,
                silent(model, "the array holds what the mask hid"),
            )
        else:
            yield Finding(
                NAME,
                where,
                f"`{shown}` {'is' if is_whole else 'holds'} a masked array, which JAX does not take: it raises "
                "ValueError; write `.filled(…)` with the value that stands for what is hidden",
                Severity.ERROR,
                raises(model, "here", "ValueError", _TEXT),
                exceptions=("ValueError",),
            )


def _speaks_of_masked_arrays(model: FileModel) -> bool:
    """A cheap look: whether ``numpy.ma`` can be meant anywhere in the file."""
    if any(mentioned(tree, ("ma",)) for tree in model.every_tree):
        return True
    imported = (binding for bindings in model.source.module.bindings.values() for binding in bindings)
    return any(it.kind is BindingKind.IMPORT and str(it.detail[1]).endswith(".ma") for it in imported)


def _places(model: FileModel) -> Iterator[tuple[ast.expr, str, bool]]:
    """Each masked array where JAX gets it, with the function that drops its mask, where it does not raise.

    Last, whether it is the array itself and not a container with one.
    """
    for tree in model.trees:
        for site in tree.calls:
            if model.is_dead(site.block):
                continue
            callee = model.evaluate(site.node.func, site.scope, site.block)
            path = callee.path if isinstance(callee, Symbol) else ""
            module, _, name = path.rpartition(".")
            takes = path == "jax.device_put" or (module in ("jax.numpy", "jax.nn") and gives_array(path))
            if name in _DIFFERENT or not (takes or (module == "jax.numpy" and name in _DROPPING)):
                continue
            drops = module == "jax.numpy" and name in _DROPPING
            given = site.node.args[:1] if drops else site.node.args
            for one in given:
                if not isinstance(one, ast.Starred) and _is_masked(model, one, site.scope, site.block):
                    yield one, model.text_of(site.node.func) if drops else "", True
        for found in compounds(tree, ast.BinOp):
            node = found.node
            if isinstance(node, ast.BinOp) and not model.is_dead(found.block):
                for one, other in ((node.left, node.right), (node.right, node.left)):
                    if _is_masked(model, one, found.scope, found.block):
                        against = Arrays(model).of(other, (found.scope, found.block))
                        if against is not None and against.library == "jax":
                            yield one, "", True
    arguments = [passed.argument for call in transformed_calls(model) for passed in looked_at(call) or ()]
    arguments += [argument for call in model.calls if call.api.name != "jax.jvp" for argument in operands(call)]
    for argument in arguments:
        if argument.model is model and not model.is_dead(argument.site.block):
            for node in _leaves(argument.node):
                if _is_masked(model, node, argument.site.scope, argument.site.block):
                    yield node, "", True
                elif node is argument.node and isinstance(node, ast.Name) and _holds_masked(argument):
                    yield node, "", False


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of a container that is written in place; else the expression itself."""
    inner: list[ast.expr] = []
    if isinstance(node, (ast.List, ast.Tuple)):
        inner = node.elts
    elif isinstance(node, ast.Dict):
        inner = node.values
    else:
        yield node
    for part in inner:
        yield from _leaves(part)


def _holds_masked(argument: Argument) -> bool:
    """Whether the variable is a container with a masked array in it."""
    containers = [argument.value]
    for value in containers:
        inner: tuple[Value, ...] = ()
        if isinstance(value, Table):
            inner = tuple(item for _, item in value.entries)
        elif isinstance(value, Sequence) and value.kind in ("list", "tuple"):
            inner = value.items
        if len(containers) + len(inner) > _MOST_PARTS:
            return False
        containers.extend(inner)
    found = [Arrays(argument.model).value(value) for value in containers[1:]]
    return any(isinstance(one, ArrayType) and one.library == "masked" for one in found)


def _is_masked(model: FileModel, node: ast.expr, scope: Scope, block: Block) -> bool:
    value = model.evaluate(node, scope, block)
    if isinstance(value, (Sequence, Table)):
        return False
    found = Arrays(model).of(node, (scope, block))
    return found is not None and found.library == "masked"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Fill the masked places with zeros."""
    found = (node for node, _, is_whole in _places(model) if is_whole and model.range_of(node) == finding.range)
    node = next(found, None)
    if node is None:
        return None
    shown = model.text_of(node)
    written = shown if isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({shown})"
    edits = verbs.replace_expression(model.source.lines, finding.range, f"{written}.filled(0)")
    return Fix("Fill the masked places with 0", Safety.UNSAFE, edits) if edits else None


_RAISES = """\
import jax.numpy as jnp
import numpy as np

m = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
STAGE = "call"
jnp.sum(m)
"""

_JIT = """\
import jax
import numpy as np

STAGE = "call"
jax.jit(lambda x: x * 2)(np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]))
"""

_DROPS = """\
import jax.numpy as jnp
import numpy as np

m = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
x = jnp.array(m)
"""

RULE = Rule(
    code="JXP609",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.jit",),
    examples=(
        Example(
            bad=_RAISES,
            good=_RAISES.replace("sum(m)", "sum(m.filled(0.0))"),
            proof=Raises(
                "ValueError", "numpy masked arrays are not supported as direct inputs to JAX functions", "call"
            ),
        ),
        Example(
            bad=_JIT,
            good=_JIT.replace("0]))", "0]).filled(0.0))"),
            proof=Raises(
                "ValueError", "numpy masked arrays are not supported as direct inputs to JAX functions", "call"
            ),
        ),
        Example(
            bad=_DROPS,
            good=_DROPS.replace("array(m)", "array(m.filled(0.0))"),
            proof=Silent("float(x[1]) == 2.0"),
        ),
    ),
    check=check,
    fix=fix,
)
