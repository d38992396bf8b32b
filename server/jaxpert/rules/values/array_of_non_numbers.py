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

Only what is written in the call itself is looked at, lists in variables that nothing changes, and `values()` of a
dictionary.

## Source

`array` in `jax/_src/numpy/array_constructors.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.touched import is_touched
from jaxpert.model.values import Literal, Sequence, Symbol, Table
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.scopes import CallSite
from jaxpert.text.lines import slice_lines

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
            given = site.node.args[0]
            if isinstance(given, (ast.Name, ast.Call)):
                yield from _behind(model, site, called)
                continue
            node = _first_wrong(given)
            if node is None or (not _is_none(node) and _has_dtype(site.node)) or model.is_dead(site.block):
                continue
            callee = model.evaluate(func, site.scope, site.block)
            where = model.range_of(node)
            if isinstance(callee, Symbol) and callee.path in _MAKERS and where is not None:
                yield _finding(model, node, node, called, node is site.node.args[0])


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _has_dtype(call: ast.Call) -> bool:
    """Whether the call may say what to make of it: NumPy reads numbers in a text then, and anything has a truth."""
    return len(call.args) > 1 or any(keyword.arg in (None, "dtype") for keyword in call.keywords)


def _behind(model: FileModel, site: CallSite, called: str) -> Iterator[Finding]:
    """A list in a variable that nothing changes, a text in one, and what `values()` of a dictionary gives."""
    given, where = site.node.args[0], model.range_of(site.node.args[0])
    listed, node = _bound(site, given)
    is_view = isinstance(given, ast.Call) and getattr(given.func, "attr", "") == "values" and not given.args
    if (node is None and not is_view) or where is None or model.is_dead(site.block):
        return
    callee = model.evaluate(site.node.func, site.scope, site.block)
    if not isinstance(callee, Symbol) or callee.path not in _MAKERS:
        return
    if isinstance(given, ast.Name) and node is not None:
        value = model.evaluate(given, site.scope, site.block)
        if isinstance(listed, ast.Constant) and isinstance(value, Literal) and not _has_dtype(site.node):
            yield _finding(model, node, given, called, True)
        is_that = isinstance(value, Sequence) and value.exact and value.site is not None and value.site.node is listed
        if is_that and (_is_none(node) or not _has_dtype(site.node)) and not is_touched(model, given, site.scope):
            found = _finding(model, node, given, called, False)
            area = model.range_of(node)
            yield replace(found, related=(Related(area, "the list holds it here"),) if area is not None else ())
    elif isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute):
        if isinstance(model.evaluate(given.func.value, site.scope, site.block), Table):
            text = "Value dict_values([…]) with dtype object is not a valid JAX array type. …"
            yield Finding(
                NAME, where, f"`jnp.{called}` gets a view of a dictionary, which is no list, and raises TypeError; "
                f"write `list({model.text_of(given)})`", Severity.ERROR, raises(model, "here", "TypeError", text),
                data=(("list", "list"),), exceptions=("TypeError",),
            )  # fmt: skip


def _bound(site: CallSite, given: ast.expr) -> tuple[ast.expr | None, ast.expr | None]:
    """The list or text that the variable ``given`` is bound to, and its first part that is no number."""
    found = site.scope.lookup(given.id) if isinstance(given, ast.Name) else None
    bound = found[1][0].value if found is not None and len(found[1]) == 1 and not found[1][0].detail else None
    may_be_wrong = isinstance(bound, (ast.List, ast.Tuple)) or (isinstance(bound, ast.Constant) and _is_text(bound))
    return (bound, _first_wrong(bound)) if bound is not None and may_be_wrong else (None, None)


def _first_wrong(node: ast.expr) -> ast.expr | None:
    """The first part that is no number."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return next((found for element in node.elts if (found := _first_wrong(element)) is not None), None)
    return node if _is_none(node) or _is_text(node) or isinstance(node, tuple(_OTHERS)) else None


def _finding(model: FileModel, node: ast.expr, place: ast.expr, called: str, is_whole: bool) -> Finding:
    """``node`` is what is wrong, ``place`` where to say so."""
    where = model.range_of(place)
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
    """Write nan for None, or make a list of a view."""
    lines = model.source.lines
    if finding.datum("list"):
        wrapped = verbs.wrap_call(lines, finding.range, "list")
        return Fix("Make it a list", Safety.SAFE, wrapped) if wrapped else None
    if "None" not in finding.message or slice_lines(lines, finding.range) != "None":
        return None
    module = ensure_import(lines, "import jax.numpy as jnp", finding.range.start, model.source)
    edits = (
        verbs.replace_expression(lines, finding.range, f"{module.name}.nan")
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
