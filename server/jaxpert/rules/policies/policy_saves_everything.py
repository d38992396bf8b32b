"""A policy stores everything, so that the checkpoint saves no memory.

## What it finds

`everything_saveable`, or a lambda that gives True whatever it is asked, as the policy of `jax.checkpoint` or one of its
relatives where no condition, table or setting chooses it.

## Why it matters

With this policy all intermediate values are kept for the backward pass, exactly as without `jax.checkpoint`. Nothing is
raised, and no memory is saved.

## In which versions

All. Under `jax_remat3` `everything_saveable` stores nothing before 0.11.2, and a policy of your own is not asked or
decides about less.

## What to write instead

No policy, to store only what goes into the function; `dots_saveable` and its relatives, to store what is dear to
compute; or no checkpoint.

## Known limits

A policy that comes from a parameter, an attribute, a table or a constant of the module is taken for a switch that is
meant.

## Source

Residuals counted on 0.4.30 to 0.12.0.1, with and without `jax_remat3`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import PolicyUse
from jaxpert.model.speech import silent
from jaxpert.model.values import Def, Symbol, Value
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent
from jaxpert.text.lines import Range

NAME = "policy-saves-everything"

_REMAT3_STORES = Version("0.11.2")


def check(model: FileModel) -> Iterator[Finding]:
    """Policies that store all there is."""
    for use, where in _uses(model):
        yield Finding(
            NAME,
            where,
            f"`{model.text_of(use.argument.node)}` stores every intermediate value, as if there were no checkpoint: "
            "leave the policy out, choose one that stores less, or take the checkpoint away",
            Severity.INFORMATION,
            silent(model, "what is kept for the backward pass is what it is without a checkpoint"),
        )


def _uses(model: FileModel) -> Iterator[tuple[PolicyUse, Range]]:
    for use in model.policy_uses:
        if use.takes_bools or not _is_written_here(model, use):
            continue
        where = model.range_of(use.argument.node) if _saves_everything(model, use.value) else None
        if where is not None:
            yield use, where


def _saves_everything(model: FileModel, value: Value) -> bool:
    if isinstance(value, Def) and isinstance(value.function.node, ast.Lambda) and not model.target.remat3:
        body = value.function.node.body
        return isinstance(body, ast.Constant) and body.value is True
    api = model.db.api(value.path) if isinstance(value, Symbol) else None
    if api is None or api.kind is not ApiKind.POLICY or "saves_everything" not in api.traits:
        return False
    return not model.target.remat3 or model.target.version >= _REMAT3_STORES


def _is_written_here(model: FileModel, use: PolicyUse) -> bool:
    """Whether the policy is named where it is given, or in a variable beside it, and in no constant of the module."""
    node, site = use.argument.node, use.argument.site
    if isinstance(node, ast.Attribute):
        return isinstance(model.evaluate(node.value, site.scope, site.block), Symbol)
    if isinstance(node, ast.Lambda):
        return True
    if not isinstance(node, ast.Name):
        return False
    found = site.scope.lookup(node.id)
    if found is None or len(found[1]) != 1:
        return False
    owner, (binding,) = found
    if binding.value is None:  # a function or an import
        return True
    is_constant = owner.kind == "module" and node.id.isupper()
    is_certain = binding.block.parent is None if owner.kind == "module" else binding.block in site.block.enclosing()
    return is_certain and not is_constant


def fix(model: FileModel, finding: Finding) -> tuple[Fix, ...] | None:
    """Store less."""
    for use, where in model.every(_uses):
        keyword, call = use.argument.keyword, model.range_of(use.argument.site.node)
        if where != finding.range or keyword is None or keyword.arg is None or call is None or use.argument.is_spread:
            continue
        lines, node, fixes = model.source.lines, use.argument.node, []
        edits = verbs.remove_keyword(lines, call, keyword.arg)
        if edits:
            fixes.append(Fix("Leave the policy out, which stores least", Safety.UNSAFE, edits))
        if isinstance(node, ast.Attribute):
            dots = f"{model.text_of(node.value)}.dots_saveable"
            edits = verbs.replace_expression(lines, where, dots)
            if edits:
                fixes.append(Fix(f"Write `{dots}`", Safety.UNSAFE, edits))
        return tuple(fixes) or None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals


def loss(w, x):
    return jnp.sum(jnp.cos(jnp.sin(x @ w)) ** 2)


w = x = jnp.ones((4, 4))
remat = jax.checkpoint(loss, policy=jax.checkpoint_policies.everything_saveable)


def stored(function):
    return [text for _, text in saved_residuals(function, w, x) if "argument" not in text]
"""

_OWN = _BAD.replace("jax.checkpoint_policies.everything_saveable", "lambda *_, **__: True")

_EVIDENCE = "len(stored(remat)) >= len(stored(loss))"

RULE = Rule(
    code="JXP224",
    name=NAME,
    severity=Severity.INFORMATION,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies.everything_saveable"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("everything_saveable", "dots_saveable"),
            proof=Silent(_EVIDENCE, remat3=False),
        ),
        Example(
            bad=_OWN,
            good=_OWN.replace("lambda *_, **__: True", "jax.checkpoint_policies.dots_saveable"),
            proof=Silent(_EVIDENCE, remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
