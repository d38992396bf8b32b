"""The answer of a policy is used as a bool although it may be `Recompute`, which is true.

## What it finds

An answer that can be `Recompute`, `Saveable` or `Offloadable(…)` where its truth decides: `one(prim) or other(prim)`,
`one(prim) and other(prim)`, `if one(prim)`, `not one(prim)`, `bool(…)`, `any([…])`, `one(prim) == True`; and such
answers joined by `|` or `&`. Answers come from your own policies, also of other modules, from the sentinels
themselves, and from the policies that offload.

## Why it matters

`Recompute` and `Saveable` are plain objects and both are true. `one(prim) or other(prim)` therefore never asks the
other policy, and what that one would save is recomputed; JAX says nothing. `|` raises when the function is
differentiated:

    TypeError: unsupported operand type(s) for |: 'RecomputeType' and 'bool'

## In which versions

All. With `jax_remat3` on, custom policies are not asked before 0.12, so `|` does not raise there.

## What to write instead

Let policies that you combine return bools, or look at the answer: `one(prim, *avals, **params) is Saveable`.

## Known limits

`or` after an answer that is never `Recompute` is right, and not reported. Answers that come from parameters are not
seen.

## Source

`jax/_src/interpreters/partial_eval.py`, where the two classes define no `__bool__`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.policy_expressions import TruthTest, may_recompute, truth_tests
from jaxpert.model.speech import at_first_grad, raised_in_policy, silent
from jaxpert.model.values import Symbol
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent

NAME = "sentinel-truth-value"

_OPERATORS = ("|", "&", "^")


def check(model: FileModel) -> Iterator[Finding]:
    """Every answer whose truth is taken, at the answer."""
    for test in truth_tests(model):
        where = model.range_of(test.node)
        if where is None or not _misleads(model, test):
            continue
        shown = _shown(model, test.node)
        if test.how in _OPERATORS:
            text = f"unsupported operand type(s) for {test.how}: 'RecomputeType' and 'bool'"
            consequence, severity, exceptions = raised_in_policy(model, "TypeError", text)
            yield Finding(
                NAME, where, f"`{shown}` can be {_answer(model, test)}, which has no `{test.how}`: "
                f"{at_first_grad(model, 'it')}; let both policies return bools",
                severity, consequence, exceptions=exceptions,
            )  # fmt: skip
            continue
        subject = f"`{shown}` can be {_answer(model, test)}, which is"
        written = test.answers[0].site
        if not isinstance(test.node, ast.Call) and written is not None and written.node is test.node:
            subject = f"`{shown}` is"
        yield Finding(
            NAME, where, f"{subject} {_effect(test)}; {_advice(model, test)}",
            Severity.WARNING, silent(model, "both `Recompute` and `Saveable` are true, like every object"),
        )  # fmt: skip


def _misleads(model: FileModel, test: TruthTest) -> bool:
    """Whether the truth of the answer says something else than the answer does."""
    if test.how in (*_OPERATORS, "=="):
        return True
    options = list(model.evaluate(test.node, test.site.scope, test.site.block).options())
    if len(options) == len(test.answers):
        return True  # always true, whatever it is
    return any(may_recompute(model, answer) for answer in test.answers)


def _answer(model: FileModel, test: TruthTest) -> str:
    """The answer to name: the misleading one, if there is one."""
    if any(may_recompute(model, answer) for answer in test.answers):
        return "`Recompute`"
    first = test.answers[0]
    return f"`{first.path.rpartition('.')[2]}`" if isinstance(first, Symbol) else "an `Offloadable(…)`"


def _shown(model: FileModel, node: ast.expr) -> str:
    return f"{model.text_of(node.func)}(…)" if isinstance(node, ast.Call) else model.text_of(node)


def _effect(test: TruthTest) -> str:
    return {
        "or": "true like every object: what stands behind `or` is never asked",
        "and": "true like every object: what stands behind `and` decides alone",
        "not": "true like every object, so `not` gives False for it",
        "==": "equal to neither True nor False",
    }.get(test.how, "true like every object")


def _advice(model: FileModel, test: TruthTest) -> str:
    if isinstance(test.node, ast.Name) or not isinstance(test.node, ast.Call):
        return "compare it: `is Saveable`"
    return "let the policy return True and False, or compare its answer: `is Saveable`"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Compare an answer that is one of the two sentinels with ``Saveable``, where the file has that name."""
    for test in model.every(truth_tests):
        if model.range_of(test.node) != finding.range or test.how in (*_OPERATORS, "=="):
            continue
        value = model.evaluate(test.node, test.site.scope, test.site.block)
        if len(test.answers) != len(list(value.options())) or not all(isinstance(a, Symbol) for a in test.answers):
            return None
        name = _name_of_saveable(model, test)
        if not name:
            return None
        edits = verbs.replace_expression(model.source.lines, finding.range, f"{model.text_of(test.node)} is {name}")
        return Fix(f"Write `{_shown(model, test.node)} is {name}`", Safety.UNSAFE, edits) if edits else None
    return None


def _name_of_saveable(model: FileModel, test: TruthTest) -> str:
    """How the file names ``Saveable`` where the test stands; "" when it does not."""
    for name in ("Saveable", "ad_checkpoint.Saveable", "jax.ad_checkpoint.Saveable"):
        first = name.partition(".")[0]
        found = test.site.scope.lookup(first)
        bindings = found[1] if found is not None else []
        values = [model.evaluator.binding(binding) for binding in bindings]
        paths = [f"{value.path}{name[len(first):]}" for value in values if isinstance(value, Symbol)]
        api = model.db.api(paths[0]) if len(paths) == 1 == len(bindings) else None
        if api is not None and api.name.endswith(".Saveable") and first != "jax":
            return name
    return ""


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import Recompute, Saveable


def keep_sines(prim, *_, **__):
    return Saveable if prim.name == "sin" else Recompute


def keep_either(prim, *avals, **params):
    return keep_sines(prim, *avals, **params) or prim.name == "dot_general"


def loss(w, x):
    return jnp.sum(jnp.exp(x @ w)) ** 2


residuals = saved_residuals(jax.checkpoint(loss, policy=keep_either), jnp.ones((3, 3)), jnp.ones((2, 3)))
computed = [source for _, source in residuals if "argument" not in source]
"""

RULE = Rule(
    code="JXP214",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("sentinel",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("**params) or", "**params) is Saveable or"),
            proof=Silent("not computed", remat3=False),
        ),
    ),
    error_texts=(
        "TypeError: unsupported operand type(s) for |: 'RecomputeType' and 'bool'",
        "TypeError: unsupported operand type(s) for |: 'SaveableType' and 'RecomputeType'",
    ),
    check=check,
    fix=fix,
)
