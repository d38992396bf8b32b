"""`jnp.array` gets None, a string, or something else that is no number.

## What it finds

`jnp.array` or `jnp.asarray` of None, a string, a dictionary, a set, a generator or a function, also inside a list or
tuple.

## Why it matters

JAX arrays hold numbers and bools only; NumPy makes arrays of objects and strings:

    ValueError: None is not a valid value for jnp.array
    TypeError: Value 'a' with dtype <U1 is not a valid JAX array type. Only arrays of numeric types are supported by
    JAX.

## In which versions

All; None raises since 0.6.0. Before that a list of floats with None in it silently holds nan in its place.

## What to write instead

`jnp.nan` for a missing number, or a mask. For strings keep a NumPy array, or number them.

## Known limits

Only what is written in the call itself is looked at.

## Source

`array` in `jax/_src/numpy/array_constructors.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.values import Symbol
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity

NAME = "array-of-non-numbers"

_MAKERS = {"jax.numpy.array", "jax.numpy.asarray"}
_NONE_RAISES = Version("0.6.0")
_OTHERS = {
    ast.Dict: "a dictionary",
    ast.DictComp: "a dictionary",
    ast.Set: "a set",
    ast.SetComp: "a set",
    ast.GeneratorExp: "a generator",
    ast.Lambda: "a function",
}


def check(model: FileModel) -> Iterator[Finding]:
    """Calls of the two functions with such a value written in place."""
    for tree in model.trees:
        for site in tree.calls:
            func = site.node.func
            called = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if called not in ("array", "asarray") or not site.node.args:
                continue
            node = _first_wrong(site.node.args[0])
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, bytes)
                and len(site.node.args + site.node.keywords) > 1
            ):
                continue  # the dtype may say what they are
            if node is None or model.is_dead(site.block):
                continue
            callee = model.evaluate(func, site.scope, site.block)
            where = model.range_of(node)
            if isinstance(callee, Symbol) and callee.path in _MAKERS and where is not None:
                yield _finding(model, node, called, node is site.node.args[0])


def _first_wrong(node: ast.expr) -> ast.expr | None:
    """The first part that is no number."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return next((found for element in node.elts if (found := _first_wrong(element)) is not None), None)
    is_constant = isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (str, bytes)))
    return node if is_constant or isinstance(node, (*_OTHERS, ast.JoinedStr)) else None


def _finding(model: FileModel, node: ast.expr, called: str, is_whole: bool) -> Finding:
    where = model.range_of(node)
    assert where is not None
    verb = "gets" if is_whole else "gets a list with"
    if isinstance(node, ast.Constant) and node.value is None:
        if model.target.version < _NONE_RAISES:
            return Finding(
                NAME,
                where,
                f"`jnp.{called}` {verb} None: this JAX puts nan in its place, later ones raise; write `jnp.nan`",
                Severity.WARNING,
                silent(model, "None becomes nan"),
            )
        text = "None is not a valid value for jnp.array"
        message = f"`jnp.{called}` {verb} None and raises ValueError; write `jnp.nan`, or leave it out"
        return Finding(
            NAME, where, message, Severity.ERROR, raises(model, "here", "ValueError", text), exceptions=("ValueError",)
        )
    shown = model.text_of(node)
    words = _OTHERS.get(
        type(node), "a string" if not isinstance(node, ast.Constant) or isinstance(node.value, str) else "bytes"
    )
    text = (
        f"Value {shown} with dtype … is not a valid JAX array type. Only arrays of numeric types are supported by JAX."
    )
    return Finding(
        NAME,
        where,
        f"`jnp.{called}` {verb} {words} and raises TypeError: JAX arrays hold numbers only; keep it out of the array",
        Severity.ERROR,
        raises(model, "here", "TypeError", text),
        exceptions=("TypeError",),
    )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write nan for None."""
    if "None" not in finding.message:
        return None
    module = ensure_import(model.source.lines, "import jax.numpy as jnp", finding.range.start)
    edits = (
        verbs.replace_expression(model.source.lines, finding.range, f"{module.name}.nan")
        if module is not None
        else None
    )
    return Fix("Write `jnp.nan`", Safety.UNSAFE, (*module.edits, *edits)) if module is not None and edits else None


_NONE = """\
import jax.numpy as jnp

STAGE = "call"
x = jnp.array([1.0, None])
"""

_STRING = """\
import jax.numpy as jnp

STAGE = "call"
jnp.array(["a", "b"])
"""

RULE = Rule(
    code="JXP612",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    examples=(
        Example(
            bad=_NONE,
            good=_NONE.replace("None", "jnp.nan"),
            proof=Raises("ValueError", "None is not a valid value for jnp.array", "call", since="0.6.0"),
        ),
        Example(
            bad=_STRING,
            good=_STRING.replace('"a", "b"', "0, 1"),
            proof=Raises("TypeError", "is not a valid JAX array type", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
