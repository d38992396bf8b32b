"""A remat policy compares the primitive with a string.

## What it finds

A policy that treats the primitive as if it were its name: `prim == "dot_general"`, `prim in {"dot_general"}`,
`prim in "dot_general"`, `match prim: case "dot_general"`, `prim.startswith("dot")`, `TABLE[prim]` and
`TABLE.get(prim)` where the keys are strings, `re.match("dot", prim)`. The primitive is followed through other
variables, nested functions and functions of the same file that it is passed on to.

## Why it matters

The primitive is an object, and no string equals it. A comparison is false for every primitive, so the policy
saves nothing that it was written to save, and JAX says nothing. What needs a string raises when the function is
differentiated:

    AttributeError: 'Primitive' object has no attribute 'startswith'

## In which versions

All. With `jax_remat3` on, custom policies are not asked before 0.12, so nothing is raised.

## What to write instead

`prim.name == "dot_general"`, or `prim is jax.lax.dot_general_p`.

## Known limits

Strings mixed with primitives in one collection are not reported, nor is anything that need not be the primitive.

## Source

`Primitive` in `jax/_src/core.py` has a `name` and defines neither `__eq__` nor string methods; measured on 0.4.30
to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.primitive_tests import StringUse, string_uses
from jaxpert.model.speech import at_first_grad, policy_places, raised_in_policy, silent
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent

NAME = "policy-compares-primitive-with-string"


def check(model: FileModel) -> Iterator[Finding]:
    """Everything in policies that only makes sense for strings, done to the primitive."""
    for policy in model.custom_policies:
        here = policy.model is model
        for use in string_uses(policy):
            where = model.range_of(use.node if here else policy.uses[0].argument.node)
            if where is None:
                continue
            if use.exception:
                consequence, severity, exceptions = raised_in_policy(model, use.exception, use.text)
            else:
                consequence = silent(model, "no string equals a primitive, so the policy is wrong about all of them")
                severity, exceptions = Severity.WARNING, ()
            yield Finding(
                NAME, where, f"policy `{policy.name}` takes the primitive for a string: {_effect(policy.model, use)}; "
                f"write `{_written(policy.model, use)}`", severity, consequence,
                policy_places(model, policy, policy.model.range_of(use.node), "this is what it does with it"),
                exceptions=exceptions,
            )  # fmt: skip


def _effect(model: FileModel, use: StringUse) -> str:
    text = f"`{model.text_of(use.node)}`"
    return {
        "raises": at_first_grad(model, text),
        "default": f"{text} never finds it",
        "no match": "no `case` ever matches it",
    }.get(use.result, f"{text} is {use.result} whatever it is")


def _written(model: FileModel, use: StringUse) -> str:
    """The expression with the primitive's name in place of the primitive."""
    whole, part = model.range_of(use.node), model.range_of(use.primitive)
    named = f"{model.text_of(use.primitive)}.name"
    if whole is None or part is None or whole.start.line != whole.end.line:
        return named
    text, start = model.text_of(use.node), whole.start.column
    return text[: part.start.column - start] + named + text[part.end.column - start :]


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Put ``.name`` behind the primitive."""
    for policy in model.custom_policies:
        for use in string_uses(policy) if policy.model is model else ():
            where = model.range_of(use.primitive)
            if model.range_of(use.node) != finding.range or where is None:
                continue
            if not isinstance(use.primitive, (ast.Name, ast.Attribute, ast.Subscript)):
                return None
            named = f"{model.text_of(use.primitive)}.name"
            edits = verbs.replace_expression(model.source.lines, where, named)
            return Fix(f"Write `{named}`", Safety.SAFE, edits) if edits else None
    return None


_BAD = '''\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals


def keep_dots(prim, *_, **__):
    return prim == "dot_general"


def loss(w, x):
    return jnp.sum(jnp.sin(jnp.sin(x @ w)))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=keep_dots)
STAGE = "grad"
w, x = jnp.ones((3, 3)), jnp.ones((2, 3))
jax.grad(loss_remat)(w, x)
saved = [why for _, why in saved_residuals(loss_remat, w, x) if "from the argument" not in why]
'''

RULE = Rule(
    code="JXP205",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies"),
    examples=(
        Example(bad=_BAD, good=_BAD.replace("prim ==", "prim.name =="), proof=Silent("not saved", remat3=False)),
        Example(
            bad=_BAD.replace('prim == "dot_general"', 'prim in ("dot_general", "conv_general_dilated")'),
            good=_BAD.replace('prim == "dot_general"', 'prim.name in ("dot_general", "conv_general_dilated")'),
            proof=Silent("not saved", remat3=False),
        ),
        Example(
            bad=_BAD.replace('prim == "dot_general"', 'prim.startswith("dot")'),
            good=_BAD.replace('prim == "dot_general"', 'prim.name.startswith("dot")'),
            proof=Raises("AttributeError", "'Primitive' object has no attribute 'startswith'", "grad", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
