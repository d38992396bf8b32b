"""The result of `checkpoint_name` is thrown away.

## What it finds

`checkpoint_name(x, "a")` as a statement of its own (also inside a tuple, a conditional expression or a
comprehension that is a statement), assigned to a variable that nothing reads afterwards, calls of your own
functions that only return such a result, and `jax.tree.map` with a function that does.

## Why it matters

`checkpoint_name` changes nothing about `x`: it returns a value that has the name. If that value is not used, no
value of the program has the name, a policy that saves it saves nothing, and JAX says nothing.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

`x = checkpoint_name(x, "a")`, and go on with `x`.

## Known limits

A variable counts as read when a nested function mentions it, or when `locals()`, `eval` or the like can see it.
Attributes and variables outside of functions are not looked at. The last expression of a notebook cell is shown,
so module-level statements of notebooks are not reported.

## Source

`checkpoint_name` in `jax/_src/ad_checkpoint.py` binds a primitive that returns its operand; measured on 0.4.30 to
0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.discards import DiscardedTag, discarded_tags, is_bound_anew, may_be_read_after, may_be_read_anytime
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.values import string
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent, Tag

NAME = "checkpoint-name-discarded"

_LONGEST_SHOWN = 60


def check(model: FileModel) -> Iterator[Finding]:
    """Calls that tag a value which nothing uses."""
    for tag in discarded_tags(model):
        where = model.range_of(tag.site.node)
        shown_by_notebook = model.path.endswith(".ipynb") and tag.site.scope.kind == "module"
        if where is None or shown_by_notebook or model.is_dead(tag.site.block):
            continue
        yield Finding(
            NAME, where, _message(model, tag), Severity.WARNING,
            silent(model, "a name on a value that nothing uses has no effect"),
            exceptions=("TypeError", "ValueError", "AssertionError"), tags=(Tag.UNNECESSARY,),
        )  # fmt: skip


def _message(model: FileModel, tag: DiscardedTag) -> str:
    name = string(tag.name.value) if tag.name is not None else None
    named = f'the name "{name}"' if name is not None else "the name"
    if tag.variable:
        return f"`{tag.variable}` is never read, so no policy can save {named}; use `{tag.variable}` in what follows"
    call = model.text_of(tag.site.node)
    if len(call) > _LONGEST_SHOWN:
        call = f"{model.text_of(tag.site.node.func)}(…)"
    advice = f"write `{_target(tag) or 'x'} = {call}` and use that"
    if _target(tag) and is_bound_anew(tag.site, _target(tag)):
        advice = f"use what it returns, as `{_target(tag)}` is bound anew before anything reads it"
    return f"the result of `{call}` is thrown away, so no policy can save {named}; {advice}"


def _target(tag: DiscardedTag) -> str:
    """The variable that is tagged; "" when something else is."""
    node = tag.value.node if tag.value is not None else None
    return node.id if isinstance(node, ast.Name) else ""


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Assign the result to the variable that was tagged, where the rest of the function reads that."""
    for tag in model.every(discarded_tags):
        name, statement = _target(tag), tag.site.statement
        if model.range_of(tag.site.node) != finding.range or not isinstance(statement, ast.Expr):
            continue
        where = model.range_of(statement)
        if not name or statement.value is not tag.site.node or where is None or not may_be_read_after(tag.site, name):
            return None
        if is_bound_anew(tag.site, name):
            return None
        edits = verbs.assign_result(model.source.lines, where, name)
        scope = tag.site.scope
        plain = scope.kind == "module" or (name in scope.bindings and not may_be_read_anytime(scope, name))
        return Fix(f"Assign the result to `{name}`", Safety.SAFE if plain else Safety.UNSAFE, edits) if edits else None
    return None


_BAD = '''\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name


def loss(w, x):
    y = jnp.sin(x @ w)
    checkpoint_name(y, "hidden")
    return jnp.sum(jnp.cos(y) ** 2)


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=jax.checkpoint_policies.save_only_these_names("hidden"))
STAGE = "grad"
w, x = jnp.ones((3, 3)), jnp.ones((2, 3))
jax.grad(loss_remat)(w, x)
saved = [why for _, why in saved_residuals(loss_remat, w, x) if "from the argument" not in why]
'''

RULE = Rule(
    code="JXP302",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint name",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("    checkpoint_name", "    y = checkpoint_name"),
            proof=Silent("not saved"),
        ),
    ),
    check=check,
    fix=fix,
)
