"""Remat policies are combined by an operator.

## What it finds

`one or other`, `one and other`, `one | other`, `one & other`, `one + other` and `not one` where the operands are
policies: members of `jax.checkpoint_policies`, what its factories make, and, where the expression is given as a
policy, functions of your own.

## Why it matters

A policy is a function, and functions are true. `or` therefore gives the first policy and never looks at the second,
`and` gives the last one, and `not` gives False, which is no policy at all; JAX says nothing. The other operators
raise where they stand:

    TypeError: unsupported operand type(s) for |: 'function' and 'function'

## In which versions

All, with and without `jax_remat3`. The types in the message differ.

## What to write instead

`jax.checkpoint_policies.save_from_both_policies(one, other)` saves what either of the two saves. For what both of
them save, write a policy that asks both.

## Known limits

An operand that may be None, as in `configured or jax.checkpoint_policies.nothing_saveable`, makes the expression a
usual default, and it is not reported.

## Source

Python's truth of objects; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import imports, verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.file_model import FileModel
from jaxpert.model.policy_expressions import Combination, combinations
from jaxpert.model.speech import raises, silent
from jaxpert.model.values import Symbol
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent

NAME = "policies-combined-by-operator"

_BOTH = "save_from_both_policies"


def check(model: FileModel) -> Iterator[Finding]:
    """Every such operator, at the whole expression."""
    for found in combinations(model):
        where = model.range_of(found.node)
        if where is None:
            continue
        effect, advice = _effect(model, found), _advice(found)
        if found.operator in ("or", "and", "not"):
            yield Finding(
                NAME, where, f"policies are functions, and functions are true: {effect}; {advice}", Severity.WARNING,
                silent(model, "an object of a class without a truth of its own is true"),
            )  # fmt: skip
            continue
        text = f"unsupported operand type(s) for {found.operator}: 'function' and 'function'"
        if found.operator == "~":
            text = "bad operand type for unary ~: 'function'"
        yield Finding(
            NAME, where, f"policies have no `{found.operator}`: it raises here; {advice}", Severity.ERROR,
            raises(model, "where this stands", "TypeError", text), exceptions=("TypeError",),
        )  # fmt: skip


def _effect(model: FileModel, found: Combination) -> str:
    if found.operator == "not":
        return "`not` gives False, which is no policy"
    chosen = found.policies[0] if found.operator == "or" else found.policies[-1]
    return f"`{found.operator}` gives `{_short(model, chosen)}` alone"


def _short(model: FileModel, node: ast.expr) -> str:
    if isinstance(node, ast.Lambda):
        return "lambda …"
    return f"{model.text_of(node.func)}(…)" if isinstance(node, ast.Call) else model.text_of(node)


def _advice(found: Combination) -> str:
    if found.operator in ("not", "~"):
        return "write a policy that returns `not policy(prim, *avals, **params)`"
    if len(found.policies) > 2:
        return f"nest `{_BOTH}(…, …)`"
    return f"write `{_BOTH}(…, …)`"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Put the operands into ``save_from_both_policies``, which is what ``or`` and ``|`` are meant for."""
    for found in model.every(combinations):
        where = model.range_of(found.node)
        if where is None or where != finding.range or found.operator in ("not", "~", "-", "^"):
            continue
        parts = [model.text_of(policy) for policy in found.policies]
        factory = _factory(model, found)
        added: imports.ImportedName | None = None
        if factory is None:
            added = imports.ensure_import(model.source.lines, "import jax", where.start, model.source)
            if added is None:
                return None
            factory = f"{added.name}.checkpoint_policies.{_BOTH}"
        new = parts[0]
        for part in parts[1:]:
            new = f"{factory}({new}, {part})"
        edits = verbs.replace_expression(model.source.lines, where, new)
        safety = Safety.SAFE if found.operator in ("or", "|", "+") else Safety.UNSAFE
        return Fix(f"Write `{_BOTH}(…)`", safety, (*(added.edits if added else ()), *edits)) if edits else None
    return None


def _factory(model: FileModel, found: Combination) -> str | None:
    """How the file names the namespace of policies beside one of the operands, with the factory behind it."""
    for policy in found.policies:
        node = policy.func if isinstance(policy, ast.Call) else policy
        if isinstance(node, ast.Attribute):
            base = model.evaluate(node.value, found.site.scope, found.site.block)
            api = model.db.api(base.path) if isinstance(base, Symbol) else None
            if api is not None and api.kind is ApiKind.NAMESPACE:
                return f"{model.text_of(node.value)}.{_BOTH}"
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name

cp = jax.checkpoint_policies
policy = cp.save_only_these_names("sine") or cp.dots_saveable


def loss(w, x):
    return jnp.sum(jnp.sin(jnp.sin(x @ w)))


residuals = saved_residuals(jax.checkpoint(loss, policy=policy), jnp.ones((3, 3)), jnp.ones((2, 3)))
computed = [source for _, source in residuals if "argument" not in source]
"""
_GOOD = _BAD.replace(
    'cp.save_only_these_names("sine") or cp.dots_saveable',
    'cp.save_from_both_policies(cp.save_only_these_names("sine"), cp.dots_saveable)',
)

RULE = Rule(
    code="JXP213",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("policy", "policy factory"),
    examples=(
        Example(bad=_BAD, good=_GOOD, proof=Silent("not computed", remat3=False)),
        Example(
            bad=_BAD.replace('("sine") or', '("sine") |').replace("policy = ", 'STAGE = "decorate"\npolicy = ', 1),
            good=_GOOD,
            proof=Raises("TypeError", "unsupported operand type(s) for |", "decorate"),
        ),
    ),
    error_texts=(
        "TypeError: unsupported operand type(s) for |: 'function' and 'function'",
    ),
    check=check,
    fix=fix,
)
