"""What a function returned is given to a checkpoint wrapper, not the function.

## What it finds

`jax.checkpoint(layer(x))`: the function is called first, without any rematerialization, and the array that it returns
is wrapped as if it were a function. The same with an expression, a literal, or a variable that holds an array.

## Why it matters

Wrapping does not look at what it gets and returns a function. Using that as the array it was meant to be raises
(`'function' object has no attribute 'sum'`), and so does calling it:

    TypeError: unhashable type: 'jaxlib._jax.ArrayImpl'

## In which versions

All.

## What to write instead

Wrap the function and call what comes out: `jax.checkpoint(layer)(x)`.

## Known limits

The value must be known to be data: arithmetic, array functions, or what a function of yours returns when all its
results are that. A call that may return a function, as a factory of layers does, is not reported.

## Source

`checkpoint` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8, Haiku 0.0.17 and Equinox
0.13.8.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import wrapper_calls
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.plain_data import is_data
from jaxpert.model.speech import raises
from jaxpert.model.values import CallResult
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity

NAME = "checkpoint-of-result"

_CHEAP = (ast.Attribute, ast.Lambda, ast.Starred)
_LONGEST_SHOWN = 40


def check(model: FileModel) -> Iterator[Finding]:
    """Wrappers around something that cannot be called."""
    for call, fun in _faults(model):
        where = model.range_of(fun.node)
        if where is None or model.is_dead(call.site.block):
            continue
        shown = model.text_of(fun.node)
        shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[: _LONGEST_SHOWN - 1].rstrip()}…"
        yield Finding(
            NAME,
            where,
            f"`{shown}` gives a value, and `{model.text_of(call.node.func)}` wraps functions: JAX raises TypeError "
            f"when the result is used; {_advice(model, call, fun)}",
            Severity.ERROR,
            raises(model, "when the result is called", "TypeError", "unhashable type: … (the value's class)"),
            exceptions=("TypeError", "AttributeError"),
        )


def _faults(model: FileModel) -> Iterator[tuple[ApiCall, Argument]]:
    for call in model.calls:
        fun = call.role("fun") if call.api.kind is ApiKind.CHECKPOINT else None
        if fun is None or fun.model is not model or isinstance(fun.node, _CHEAP) or call.is_partial:
            continue
        if isinstance(fun.node, ast.Constant) and fun.node.value in (None, Ellipsis):
            continue  # stands for "no function" where that is legal
        if is_data(model, fun.node, fun.site.scope, fun.site.block):
            yield call, fun


def _advice(model: FileModel, call: ApiCall, fun: Argument) -> str:
    wrapper = model.text_of(call.node.func)
    if not isinstance(fun.node, ast.Call):
        return "wrap the function that computes it"
    callee = model.text_of(fun.node.func)
    if _is_called(model, call.node):
        return f"write `{wrapper}({callee})`"
    arguments = model.text_of(fun.node)[len(callee) :]
    arguments = arguments if len(arguments) <= _LONGEST_SHOWN else "(…)"
    return f"write `{wrapper}({callee}){arguments}`"


def _is_called(model: FileModel, node: ast.Call) -> bool:
    """Whether what the wrapper returns is called somewhere in the file."""
    return any(
        isinstance(callee, CallResult) and callee.call is node
        for site, callee in model.callees.calls
        if site.node is not node
    )


def fix(model: FileModel, finding: Finding) -> Fix | tuple[Fix, ...] | None:
    """Wrap the function, and call the wrapper's result with the arguments unless that is called already."""
    for call, fun in model.every(_faults):
        where = model.range_of(call.node)
        if model.range_of(fun.node) != finding.range or where is None or not isinstance(fun.node, ast.Call):
            continue
        callee = model.text_of(fun.node.func)
        is_called = _is_called(model, call.node)
        fixes: list[Fix] = []
        for drops in (is_called, not is_called):
            edits = wrapper_calls.wrap_callee(model.source.lines, where, drop_arguments=drops)
            title = f"Wrap `{callee}` itself" if drops else f"Wrap `{callee}` and call the result"
            is_guess = bool(fixes) or isinstance(call.site.statement, ast.Return)
            if edits:
                fixes.append(Fix(title, Safety.UNSAFE if is_guess else Safety.SAFE, edits))
        return tuple(fixes) or None
    return None


_BAD = """\
import jax
import jax.numpy as jnp


def layer(x):
    return jnp.sin(jnp.sin(x))


def loss(x):
    h = jax.checkpoint(layer(x))
    return h.sum()


STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
"""

_CALLED = """\
import jax
import jax.numpy as jnp


def loss(x):
    return jnp.sum(jnp.sin(x))


x = jnp.ones(3)
STAGE = "decorate"
loss_remat = jax.checkpoint(loss(x))
STAGE = "call"
loss_remat(x)
"""

RULE = Rule(
    code="JXP106",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("layer(x))", "layer)(x)"),
            proof=Raises("AttributeError", "object has no attribute 'sum'", "grad"),
        ),
        Example(
            bad=_CALLED,
            good=_CALLED.replace("loss(x))", "loss)"),
            proof=Raises("TypeError", "unhashable type", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
