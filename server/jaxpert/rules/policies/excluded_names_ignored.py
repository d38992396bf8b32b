"""`save_anything_except_these_names` saves everything, whatever its names are.

## What it finds

Calls of `save_anything_except_these_names` with names.

## Why it matters

A name tags a value, but the value is still there under its own primitive, and that is saved instead. What is kept is
exactly what `everything_saveable` keeps, so the memory that the names were to free stays taken; JAX says nothing.

## In which versions

All. From 0.10.2 on the names are not even looked at: it returns True for everything, and accepts a list.

## What to write instead

`everything_saveable` if that is what is wanted; `save_any_names_but_these("a")`, which saves tagged values only; or a
policy of your own that lists what to save.

## Known limits

Names behind a star are taken to be there when they are known, or when the code around asks whether there are any.

## Source

`jax/_src/ad_checkpoint.py`; the residuals are the same on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.values import Sequence, Table
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent

NAME = "excluded-names-ignored"


def check(model: FileModel) -> Iterator[Finding]:
    """Every call of it, at the function."""
    for call in _calls(model):
        where = model.range_of(call.node.func)
        if where is not None:
            yield Finding(
                NAME, where, f"`{call.api.name.rpartition('.')[2]}` saves everything, whatever the names are: write "
                "`everything_saveable`, or name what is to be saved", Severity.WARNING,
                silent(model, "what is saved is the same as with `everything_saveable`"),
            )  # fmt: skip


def _calls(model: FileModel) -> Iterator[ApiCall]:
    for call in model.calls:
        if call.api.kind is not ApiKind.POLICY_FACTORY or "names_have_no_effect" not in call.api.traits:
            continue
        if call.is_partial or not call.node.args or model.is_dead(call.site.block) or _raises(model, call):
            continue
        if any(_has_names(model, call, argument) for argument in call.node.args):
            yield call


def _has_names(model: FileModel, call: ApiCall, argument: ast.expr) -> bool:
    """Whether an argument gives at least one name: one behind a star that may be empty does where it was asked for."""
    if not isinstance(argument, ast.Starred):
        return True
    value = model.evaluate(argument.value, call.site.scope, call.site.block)
    if isinstance(value, Sequence) and (value.items or value.exact):
        return bool(value.items)
    names = {node.id for node in ast.walk(argument.value) if isinstance(node, ast.Name)}
    return any(
        isinstance(block.owner, ast.If)
        and block.part == "body"
        and any(isinstance(node, ast.Name) and node.id in names for node in ast.walk(block.owner.test))
        for block in call.site.block.enclosing()
    )


def _raises(model: FileModel, call: ApiCall) -> bool:
    """Whether it fails instead, as *names-in-one-argument* says."""
    if call.api.has("names_not_looked_at", model.target.version):
        return False
    values = [argument.value for argument in call.varargs]
    return any(isinstance(v, Table) or (isinstance(v, Sequence) and v.kind in ("list", "set")) for v in values)


def fix(model: FileModel, finding: Finding) -> tuple[Fix, ...] | None:
    """Say what it does, or save the other tagged values only."""
    for call in model.every(_calls):
        whole = model.range_of(call.node)
        if model.range_of(call.node.func) != finding.range or whole is None:
            continue
        written = model.text_of(call.node.func)
        if not written.endswith("save_anything_except_these_names") or "." not in written:
            return None
        owner = written.rpartition(".")[0]
        lines, fixes = model.source.lines, []
        edits = verbs.replace_expression(lines, whole, f"{owner}.everything_saveable")
        if edits:
            fixes.append(Fix("Write `everything_saveable`, which saves the same", Safety.UNSAFE, edits))
        edits = verbs.replace_expression(lines, finding.range, f"{owner}.save_any_names_but_these")
        if edits:
            fixes.append(Fix("Write `save_any_names_but_these`, which saves tagged values only", Safety.UNSAFE, edits))
        return tuple(fixes) or None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_anything_except_these_names("cosine")


def loss(x):
    return jnp.sum(checkpoint_name(jnp.cos(x), "cosine") ** 3)


residuals = saved_residuals(jax.checkpoint(loss, policy=policy), jnp.ones(3))
computed = [source for _, source in residuals if "argument" not in source]
"""

RULE = Rule(
    code="JXP218",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.checkpoint_policies.save_anything_except_these_names",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("save_anything_except_these_names", "save_any_names_but_these"),
            proof=Silent("len(computed) > 0", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
