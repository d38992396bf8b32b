"""A remat policy reads a parameter that most primitives do not have.

## What it finds

`params["name"]`, `params["dimension_numbers"]` and the like in a policy, before it has looked at what the primitive
is.

## Why it matters

JAX asks the policy about every primitive, and each has its own parameters: only `name` has a `name`. The first one
without it raises when the function is differentiated:

    KeyError: 'name'

## In which versions

All. With `jax_remat3` on, custom policies are not asked before 0.12, and from then on about few primitives.

## What to write instead

`params.get("name")`, or look at the primitive first: `prim.name == "name" and params["name"] in NAMES`.

## Known limits

Only reads that are made for every primitive are reported, so those behind a condition, in a loop or in a `try` are not.

## Source

The policy is called in `jax/_src/interpreters/partial_eval.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.primitive_matches import certain_reads
from jaxpert.model.speech import at_first_grad, policy_places, raised_in_policy
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity

NAME = "policy-parameter-missing"

_COMPARED = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)
"""Comparisons that None on the left does no harm."""


def check(model: FileModel) -> Iterator[Finding]:
    """Every such read."""
    for policy in model.custom_policies:
        here = policy.model is model
        for read in certain_reads(policy):
            where = model.range_of(read.node if here else policy.uses[0].argument.node)
            if where is None:
                continue
            consequence, severity, exceptions = raised_in_policy(model, "KeyError", f"'{read.key}'")
            params = policy.model.text_of(read.node.value)
            yield Finding(
                NAME, where, f'policy `{policy.name}` reads `"{read.key}"`, which most primitives lack: '
                f'{at_first_grad(model, "it")}; write `{params}.get("{read.key}")`', severity, consequence,
                policy_places(model, policy, policy.model.range_of(read.node), "this is what it reads"),
                exceptions=exceptions,
            )  # fmt: skip


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Read it by ``get`` where None does no harm: in a comparison."""
    for policy in model.custom_policies:
        for read in certain_reads(policy) if policy.model is model else ():
            if model.range_of(read.node) != finding.range or not isinstance(read.around, ast.Compare):
                continue
            if read.around.left is not read.node or not all(isinstance(op, _COMPARED) for op in read.around.ops):
                return None
            new = f"{model.text_of(read.node.value)}.get({model.text_of(read.node.slice)})"
            edits = verbs.replace_expression(model.source.lines, finding.range, new)
            return Fix(f"Write `{new}`", Safety.SAFE, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp


def keep_named(prim, *_, **params):
    return params["name"] in ("attn_out", "mlp_up")


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=keep_named)
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

RULE = Rule(
    code="JXP222",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace('params["name"]', 'params.get("name")'),
            proof=Raises("KeyError", "'name'", "grad", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
