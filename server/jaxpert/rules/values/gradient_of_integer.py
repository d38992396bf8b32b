"""A gradient is asked for with respect to an integer.

## What it finds

A call of what `jax.grad`, `jax.value_and_grad`, `jax.jacfwd`, `jax.jacrev` or `jax.hessian` made, with an int, a
bool, or an array of them where the function is differentiated; also inside a dictionary, list or tuple.

## Why it matters

JAX raises at the call:

    TypeError: grad requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got
    int32. If you want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True.

## In which versions

All.

## What to write instead

A float: `3.0`, `jnp.arange(3.0)`, `jnp.array([1, 2], dtype=float)`. To differentiate with respect to another
argument, say which with `argnums`. With `allow_int=True` the gradient of an integer is an array of type `float0` that
holds nothing.

## Known limits

Arrays are known when the file shows where they are made.

## Source

`_check_input_dtype_revderiv` in `jax/_src/api.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.arrays import Arrays
from jaxpert.model.calls import Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.transformed_calls import TransformedCall, looked_at, transformed_calls
from jaxpert.model.values import Sequence, Table, Value, truth
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "gradient-of-integer"

_FORWARD = {"jax.jacfwd", "jax.hessian"}
_TEXT = (
    "{} requires real- or complex-valued inputs (input dtype that is a sub-dtype of np.inexact), but got {}. If you "
    "want to use Boolean- or integer-valued inputs, use vjp or set allow_int to True."
)
_FORWARD_TEXT = (
    "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), but got {}. For holomorphic "
    "differentiation, pass holomorphic=True. For differentiation of non-holomorphic functions involving complex inputs "
    "or integer inputs, use jax.jvp directly."
)


def check(model: FileModel) -> Iterator[Finding]:
    """Differentiated arguments that hold integers."""
    for call in transformed_calls(model):
        if "differentiates" not in call.api.traits or model.is_dead(call.site.block) or _may_take_integers(call):
            continue
        for passed in looked_at(call) or ():
            found = _integer(passed.argument)
            where = model.range_of(passed.argument.node)
            if found is not None and where is not None:
                yield _finding(model, call, passed.argument, found, where)


def _may_take_integers(call: TransformedCall) -> bool:
    options = call.options.arguments if call.options is not None else {}
    return any(name in options and truth(options[name].value) is not False for name in ("allow_int", "holomorphic"))


def _integer(argument: Argument) -> ArrayType | None:
    """The first integer in an argument."""
    arrays = Arrays(argument.model)
    found = arrays.of(argument.node, (argument.site.scope, argument.site.block))
    if found is None:
        return next(_in_container(arrays, argument.value), None)
    return found if found.kind in ("int", "bool") else None


def _in_container(arrays: Arrays, value: Value) -> Iterator[ArrayType]:
    items: list[Value] = []
    if isinstance(value, Sequence) and value.kind in ("list", "tuple"):
        items = list(value.items)
    elif isinstance(value, Table):
        items = [item for _, item in value.entries]
    for item in items:
        found = arrays.value(item)
        if isinstance(found, ArrayType) and found.kind in ("int", "bool"):
            yield found
        yield from _in_container(arrays, item)


def _finding(model: FileModel, call: TransformedCall, argument: Argument, found: ArrayType, where: Range) -> Finding:
    shown = model.text_of(argument.node)
    is_container = isinstance(argument.value, (Sequence, Table))
    noun = {"int": "an integer", "bool": "a bool"}[found.kind]
    what = f"`{shown}` {'holds' if is_container else 'is'} {noun if not found.rank else f'an array of {found.kind}s'}"
    name = call.api.name.removeprefix("jax.")
    dtype = "bool" if found.kind == "bool" else "int64" if model.target.x64 else "int32"
    said = "jacrev" if name == "jacobian" else name
    text = _FORWARD_TEXT.format(dtype) if call.api.name in _FORWARD else _TEXT.format(said, dtype)
    area = call.owner.range_of(call.made_by.node) if call.owner is model else None
    is_elsewhere = area is not None and not (area.start <= where.start and where.end <= area.end)
    related = (
        (Related(area, "differentiated here"),)
        if area is not None and is_elsewhere and call.made_by.by_decorator
        else ()
    )
    return Finding(
        NAME,
        where,
        f"{what}, which `{call.api.name}` cannot differentiate: JAX raises TypeError at this call; pass a float, or "
        "choose another argument with `argnums`",
        Severity.ERROR,
        raises(model, "at this call", "TypeError", text),
        related,
        exceptions=("TypeError",),
    )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write a float, or make an array of floats."""
    for call in model.every(transformed_calls):
        for passed in looked_at(call) or ():
            node = passed.argument.node
            if model.range_of(node) == finding.range and passed.argument.model is model:
                return _as_float(model, node, finding.range)
    return None


def _as_float(model: FileModel, node: ast.expr, where: Range) -> Fix | None:
    lines, shown = model.source.lines, model.text_of(node)
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    if isinstance(inner, ast.Constant) and type(inner.value) is int and shown.lstrip("-+").replace("_", "").isdigit():
        edits = verbs.replace_expression(lines, where, f"{shown}.0")
        return Fix(f"Write `{shown}.0`", Safety.SAFE, edits) if edits else None
    if isinstance(node, ast.Call) and not any(keyword.arg in ("dtype", None) for keyword in node.keywords):
        last = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        literal = [one for one in node.args if isinstance(one, (ast.Constant, ast.List, ast.Tuple))]
        if last in ("arange", "array", "asarray") and len(literal) == len(node.args) == 1:
            edits = verbs.add_keyword(lines, where, "dtype", "float")
            return Fix("Make it an array of floats", Safety.SAFE, edits) if edits else None
    return None


_NUMBER = """\
import jax


def square(x):
    return x**2


STAGE = "call"
jax.grad(square)(3)
"""

_ARRAY = """\
import jax
import jax.numpy as jnp

STAGE = "call"
jax.grad(lambda x: jnp.sum(x * 2.0))(jnp.arange(3))
"""

_FORWARD_MODE = """\
import jax

STAGE = "call"
jax.jacfwd(lambda x: x * 2.0)(3)
"""

RULE = Rule(
    code="JXP610",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.grad", "jax.value_and_grad", "jax.jacrev", "jax.jacfwd"),
    examples=(
        Example(
            bad=_NUMBER,
            good=_NUMBER.replace("(3)", "(3.0)"),
            proof=Raises("TypeError", "grad requires real- or complex-valued inputs", "call"),
        ),
        Example(
            bad=_ARRAY,
            good=_ARRAY.replace("arange(3)", "arange(3.0)"),
            proof=Raises("TypeError", "grad requires real- or complex-valued inputs", "call"),
        ),
        Example(
            bad=_FORWARD_MODE,
            good=_FORWARD_MODE.replace("(3)", "(3.0)"),
            proof=Raises("TypeError", "jacfwd requires real-valued inputs", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
