"""A policy given to `save_from_both_policies` answers with something else than a bool.

## What it finds

A policy that offloads, or one of your own that returns `Saveable`, `Recompute` or `Offloadable(…)`, as one of the two
policies of `save_from_both_policies`.

## Why it matters

Both answers are joined by `or`, so both must be bools. JAX raises when the function is differentiated:

    ValueError: The return value of the policies should be a boolean. Got: True and Offloadable(src='device',
    dst='pinned_host'). Please write a custom policy function directly, rather than using this helper function.

## In which versions

From 0.4.38 on. Before, nothing is checked, and a first policy that answers `Recompute`, which is true like every
object, keeps the second from ever being asked. From 0.12.0 on the other policy is passed through as it is when one of
the two is `nothing_saveable` or `everything_saveable`, and nothing is reported then. With `jax_remat3` on, nothing is
raised before 0.11.2.

## What to write instead

One policy of your own that asks both and decides, or True and False in place of `Saveable` and `Recompute`.

## Known limits

Policies that come from parameters are not seen.

## Source

`save_from_both_policies` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import CustomPolicy, Result, callable_behind, results
from jaxpert.model.policy_expressions import answers, may_recompute
from jaxpert.model.speech import at_first_grad, raises, silent
from jaxpert.model.values import CallResult, Symbol, Value
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit

NAME = "combined-policy-answers"

_CHECKED, _SHORTCUTS, _REMAT3_ASKS = Version("0.4.38"), Version("0.12.0"), Version("0.11.2")


class _Answer(NamedTuple):
    """A policy's answer that is no bool: in words, whether it may be ``Recompute``, and where a ``def`` gives it."""

    shown: str
    may_be_recompute: bool
    policy: CustomPolicy | None = None
    result: Result | None = None


def check(model: FileModel) -> Iterator[Finding]:
    """The policies of each such call that answer with other things than bools."""
    for call in model.calls:
        if "policies_as_varargs" not in call.api.traits or call.is_partial or model.is_dead(call.site.block):
            continue
        given = list(call.arguments.values())
        if len(given) != 2 or call.surplus or call.unexpected:
            continue
        for argument, other in ((given[0], given[1]), (given[1], given[0])):
            if argument.model is model and not _is_passed_through(model, other):
                answer = _answer(model, argument)
                if answer is not None:
                    yield from _report(model, call, argument, answer, is_first=argument is given[0])


def _is_passed_through(model: FileModel, other: Argument) -> bool:
    if model.target.version < _SHORTCUTS:
        return False
    apis = [model.db.api(option.path) if isinstance(option, Symbol) else None for option in other.value.options()]
    return any(api is not None and {"saves_everything", "saves_nothing"} & api.traits for api in apis)


def _answer(model: FileModel, argument: Argument) -> _Answer | None:
    for option in argument.value.options():
        if _offloads(model, option):
            return _Answer("`Offloadable(…)` and `Recompute`", True)
        function = callable_behind(model, option)
        if function is None:
            continue
        policy = CustomPolicy(*function, (), function[0].model or model)
        for result in results(policy):
            if answers(policy.model, result.value):
                return _Answer(_shown(result.value), may_recompute(policy.model, result.value), policy, result)
    return None


def _offloads(model: FileModel, value: Value) -> bool:
    api = model.db.api(value.path) if isinstance(value, CallResult) else None
    return api is not None and api.kind is ApiKind.POLICY_FACTORY and "offload_dst" in api.roles


def _shown(value: Value) -> str:
    if isinstance(value, Symbol):
        return f"`{value.path.rpartition('.')[2]}`"
    return "`Offloadable(…)`" if isinstance(value, CallResult) and value.path else "no bool"


def _report(model: FileModel, call: ApiCall, argument: Argument, answer: _Answer, is_first: bool) -> Iterator[Finding]:
    where = model.range_of(argument.node)
    if where is None or (model.target.version < _CHECKED and not (is_first and answer.may_be_recompute)):
        return
    name = call.api.name.rpartition(".")[2]
    related: tuple[Related, ...] = ()
    if answer.result is not None and answer.policy is not None:
        place = answer.policy.model.range_of(answer.result.node)
        path = "" if answer.policy.model is model else answer.policy.model.path
        related = (Related(place, "this is what it answers", path),) if place is not None else ()
    asks = not model.target.remat3 or model.target.version >= _REMAT3_ASKS
    if model.target.version < _CHECKED or not asks:
        effect = "the second is never asked" if asks else "neither is asked with jax_remat3"
        yield Finding(
            NAME, where, f"`{name}` joins bools, and this policy answers with {answer.shown}: {effect}; "
            "write one policy that asks both", Severity.WARNING, silent(model, effect), related,
        )  # fmt: skip
        return
    text = f"The return value of the policies should be a boolean. Got: … and {answer.shown.strip('`')}. …"
    yield Finding(
        NAME, where, f"`{name}` joins bools, and this policy answers with {answer.shown}: "
        f"{at_first_grad(model)}; write one policy that asks both", Severity.ERROR,
        raises(model, "when this is differentiated", "ValueError", text), related, exceptions=("ValueError",),
    )  # fmt: skip


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write True and False in a policy of this file that answers with the two sentinels only."""
    for policy in model.custom_policies:
        if policy.model is not model or not all(use.takes_bools for use in policy.uses):
            continue
        if all(model.range_of(use.argument.node) != finding.range for use in policy.uses):
            continue
        edits: list[Edit] = []
        for result in results(policy):
            if not answers(model, result.value):
                continue
            where = model.range_of(result.node)
            if not isinstance(result.node, (ast.Name, ast.Attribute)) or not isinstance(result.value, Symbol):
                return None
            written = "False" if may_recompute(model, result.value) else "True"
            made = verbs.replace_expression(model.source.lines, where, written) if where is not None else None
            if made is None:
                return None
            edits.extend(made)
        return Fix(f"Let `{policy.name}` answer True and False", Safety.SAFE, tuple(edits)) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import Recompute, Saveable


def keep_sines(prim, *_, **__):
    return Saveable if prim.name == "sin" else Recompute


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
policy = jax.checkpoint_policies.save_from_both_policies(jax.checkpoint_policies.dots_saveable, keep_sines)
STAGE = "grad"
jax.grad(jax.checkpoint(loss, policy=policy))(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

RULE = Rule(
    code="JXP220",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.checkpoint_policies.save_from_both_policies",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("Saveable if", "True if").replace("else Recompute", "else False"),
            proof=Raises(
                "ValueError", "The return value of the policies should be a boolean", "grad", since="0.4.38",
                remat3=False,
            ),
        ),
    ),
    check=check,
    fix=fix,
)  # fmt: skip
