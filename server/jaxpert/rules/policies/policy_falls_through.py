"""A remat policy has a path that returns None.

## What it finds

A function, lambda, method or callable object that is given as a remat policy and can reach its end, or a bare
`return`, without a decision. The policy is followed through variables, dictionaries, `functools.partial`,
factories that return a nested function, and imports of your own modules.

## Why it matters

JAX asks the policy about every primitive in the function. For those that no branch matches it gets `None`, and
raises when the function is differentiated, not when it is decorated or called:

    TypeError: Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`,
    `ad_checkpoint.Saveable` or `ad_checkpoint.Offloadable(...)`. Got None of type <class 'NoneType'>.

## In which versions

All. Before 0.7.1 it is an `AssertionError` without any text. With `jax_remat3` on, custom policies are not asked
about most primitives, so the mistake goes unnoticed.

## What to write instead

End the policy with `return False`: whatever it does not name is recomputed.

## Known limits

A function that always ends in `raise`, loops for ever, or has only a docstring, `...` or `pass` as its body is
not reported, nor is one whose decorators may replace it.

## Source

`jax/_src/ad_checkpoint.py` and `jax/_src/interpreters/partial_eval.py`; measured on 0.4.30 to 0.12.0.1. The public
error page for this message says that the text of the error contains a hint about the class `Offloadable`; it
never does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import CustomPolicy, falls_after
from jaxpert.model.speech import at_first_grad, bad_policy_result, policy_places
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "policy-falls-through"


def check(model: FileModel) -> Iterator[Finding]:
    """Policies whose end can be reached."""
    for policy in model.custom_policies:
        last = falls_after(policy)
        if last is None:
            continue
        consequence, severity, exceptions = bad_policy_result(model, "None of type <class 'NoneType'>", unmatched=True)
        here = policy.model is model
        where = _header(policy.model, last) if here else model.range_of(policy.uses[0].argument.node)
        if where is None:
            continue
        yield Finding(
            NAME,
            where,
            f"policy `{policy.name}` returns None when no branch matches: {at_first_grad(model)}; "
            "end it with `return False`",
            severity,
            consequence,
            policy_places(
                model, policy, _header(policy.model, last), f"`{policy.name}` can reach its end after this"
            ),
            exceptions=exceptions,
        )


def _header(model: FileModel, statement: ast.stmt) -> Range | None:
    """The first line of the statement after which the policy falls off its end."""
    test = getattr(statement, "test", None) or getattr(statement, "iter", None) or getattr(statement, "subject", None)
    return model.source.range_between(statement, test if test is not None else statement)


def _falling(model: FileModel) -> Iterator[tuple[CustomPolicy, ast.stmt, Range | None]]:
    """The policies of this file that fall through, after which statement, and the header of that."""
    for policy in model.custom_policies:
        last = falls_after(policy)
        if last is not None and policy.model is model:
            yield policy, last, _header(model, last)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Append ``return False``, or complete a bare ``return``."""
    for policy, last, header in model.every(_falling):
        if header != finding.range:
            continue
        where = model.range_of(last)
        definition = model.range_of(policy.value.function.node)
        if where is None or definition is None:
            return None
        if isinstance(last, ast.Return):
            edits = verbs.replace_expression(model.source.lines, where, "return False")
        else:
            edits = verbs.append_return(model.source.lines, definition, "return False")
        return Fix(f"Add `return False` to `{policy.name}`", Safety.SAFE, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp


def keep_dots(prim, *_, **__):
    if prim.name == "dot_general":
        return True


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=keep_dots)
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

RULE = Rule(
    code="JXP202",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies", "sentinel", "jax.ad_checkpoint.Offloadable"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("        return True\n", "        return True\n    return False\n"),
            proof=Raises(
                "TypeError", "Value returned by a remat policy should be a bool", "grad", since="0.7.1", remat3=False
            ),
        ),
    ),
    check=check,
    fix=fix,
)
