"""The rematerialized function that a checkpoint wrapper returns is thrown away.

## What it finds

`jax.checkpoint(layer)` as a statement of its own, also inside a tuple, a conditional expression or a comprehension that
is a statement, and with any other wrapper (`flax.linen.remat(Block)`).

## Why it matters

The wrapper changes nothing about the function that it is given: it returns another one. If that is not used, nothing is
rematerialized, and JAX says nothing.

## In which versions

All.

## What to write instead

`layer = jax.checkpoint(layer)`, and go on with `layer`.

## Known limits

A variable that holds the result and is never read is left to other linters. The last expression of a notebook cell is
shown, so module-level statements of notebooks are not reported.

## Source

`checkpoint` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall
from jaxpert.model.discards import thrown_away
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent, Tag

NAME = "checkpoint-discarded"

_TRIED = ("TypeError", "ValueError", "NotImplementedError", "AttributeError", "AssertionError")


def check(model: FileModel) -> Iterator[Finding]:
    """Wrappings whose result nothing uses."""
    for call in _discarded(model):
        where = model.range_of(call.node)
        shown_by_notebook = model.path.endswith(".ipynb") and call.site.scope.kind == "module"
        if where is None or shown_by_notebook or model.is_dead(call.site.block):
            continue
        fun = call.role("fun")
        name = model.text_of(fun.node) if fun is not None else "the function"
        wrapper = model.text_of(call.node.func)
        advice = f"write `{name} = {wrapper}({name})`" if _target(call) else f"use what `{wrapper}` returns"
        yield Finding(
            NAME,
            where,
            f"what `{wrapper}` returns is thrown away, and `{name}` itself stays as it is; {advice}",
            Severity.WARNING,
            silent(model, "nothing is rematerialized"),
            exceptions=_TRIED,
            tags=(Tag.UNNECESSARY,),
        )


def _discarded(model: FileModel) -> Iterator[ApiCall]:
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT or call.is_partial or not isinstance(call.site.statement, ast.Expr):
            continue
        if call.surplus or call.unexpected or call.missing or call.role("fun") is None:
            continue  # it raises
        if any(node is call.node for node in thrown_away(call.site.statement.value)):
            yield call


def _target(call: ApiCall) -> str:
    """What the result belongs into: the variable or attribute that was wrapped; "" when something else was."""
    fun = call.role("fun")
    if fun is None or call.site.statement.value is not call.node:  # type: ignore[attr-defined]
        return ""
    node = fun.node
    is_plain = isinstance(node, ast.Name) or (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    return ast.unparse(node) if is_plain else ""


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Assign the result to what was wrapped."""
    for call in _discarded(model):
        where = model.range_of(call.site.statement)
        target = _target(call)
        if model.range_of(call.node) != finding.range or where is None or not target:
            continue
        edits = verbs.assign_result(model.source.lines, where, target)
        safety = Safety.UNSAFE if "." in target or call.site.scope.lookup(target) is None else Safety.SAFE
        return Fix(f"Assign the result to `{target}`", safety, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals


def layer(x):
    return jnp.sum(jnp.sin(jnp.sin(x)))


jax.checkpoint(layer)
x = jnp.ones(3)
saved = [why for _, why in saved_residuals(layer, x) if "from the argument" not in why]
"""

RULE = Rule(
    code="JXP107",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("\njax.checkpoint", "\nlayer = jax.checkpoint"),
            proof=Silent("bool(saved)"),
        ),
    ),
    check=check,
    fix=fix,
)
