"""`Offloadable` is returned as a class, given as a policy, or built with the wrong fields.

## What it finds

A policy that returns the class `Offloadable` itself, or a `functools.partial` of it; the class, or one of its
objects, given where a policy belongs; and calls of `Offloadable` that do not give exactly its two fields, `src`
and `dst`, by whatever name the class was imported.

## Why it matters

The class is not one of the decisions that JAX accepts, and an object of it cannot be called. JAX raises when the
function is differentiated:

    TypeError: Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`,
    `ad_checkpoint.Saveable` or `ad_checkpoint.Offloadable(...)`. Got <class '…Offloadable'> of type <class 'type'>.

A call with other fields raises where it runs, inside a policy also when the function is differentiated:

    TypeError: Offloadable.__new__() got an unexpected keyword argument 'ziel'

## In which versions

All. A returned class is an `AssertionError` without any text before 0.7.1. With `jax_remat3` on, custom policies
are not asked before 0.12, so nothing is raised and nothing is offloaded.

## What to write instead

`return Offloadable(src="device", dst="pinned_host")` in the policy.

## Known limits

Which memory kinds are given is not looked at.

## Source

`Offloadable` in `jax/_src/interpreters/partial_eval.py`, a named tuple; measured on 0.4.30 to 0.12.0.1. The public
error page builds it with a field that does not exist, and promises a hint in the message when the class is
returned, which never appears.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import CustomPolicy, PolicyUse, Result, results
from jaxpert.model.speech import at_first_grad, bad_policy_result, raised_in_policy, raises, wrong_arguments
from jaxpert.model.values import CallResult, Literal, Partial, Symbol, Value
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.near_misses import nearest

NAME = "offloadable-misused"

_FIELDS = 'src="device", dst="pinned_host"'


def check(model: FileModel) -> Iterator[Finding]:
    """Calls with wrong fields, then classes returned, then whatever is given as a policy."""
    policies = {id(policy.value.function.node) for policy in model.custom_policies if policy.model is model}
    for call in model.calls:
        if _is_offloadable(call.api):
            asked = any(id(block.owner) in policies for block in call.site.block.enclosing())
            yield from _wrong_fields(model, call, asked)
    for policy in model.custom_policies:
        for result in results(policy):
            if _is_class(model, result.value):
                yield from _class_returned(model, policy, result)
    for use in model.policy_uses:
        for option in use.value.options():
            yield from _given(model, use, option)


def _is_offloadable(api: Api | None) -> bool:
    return api is not None and api.kind is ApiKind.CLASS and "offload_dst" in api.roles


def _is_class(model: FileModel, value: Value) -> bool:
    """Whether ``value`` is the class, or a partial of it that nobody has called."""
    while isinstance(value, Partial):
        value = value.target
    return isinstance(value, Symbol) and _is_offloadable(model.db.api(value.path))


def _wrong_fields(model: FileModel, call: ApiCall, asked: bool) -> Iterator[Finding]:
    """``asked``: the call stands in a policy."""
    for argument, fault, text in wrong_arguments(call):
        mine = argument is not None and argument.model is model
        where = model.range_of((argument.keyword or argument.node) if argument is not None and mine else call.node)
        consequence, severity, exceptions = raised_in_policy(model, "TypeError", text)
        if not asked:
            consequence, severity = raises(model, "when this runs", "TypeError", text), Severity.ERROR
        if where is not None:
            yield Finding(
                NAME, where, f"`Offloadable` {fault}: {at_first_grad(model, 'it') if asked else 'it raises here'}; "
                f"write `Offloadable({_FIELDS})`", severity, consequence, exceptions=exceptions or ("TypeError",),
            )  # fmt: skip


def _class_returned(model: FileModel, policy: CustomPolicy, result: Result) -> Iterator[Finding]:
    here = policy.model is model
    place, use = policy.model.range_of(result.node), model.range_of(policy.uses[0].argument.node)
    if place is None or use is None:
        return
    got = "<class 'jax._src.interpreters.partial_eval.Offloadable'> of type <class 'type'>"
    consequence, severity, exceptions = bad_policy_result(model, got)
    used = Related(use, f"`{policy.name}` is used as a policy here")
    yield Finding(
        NAME, place if here else use, f"policy `{policy.name}` returns the class `Offloadable`, not an object of it: "
        f"{at_first_grad(model)}; return `Offloadable({_FIELDS})`", severity, consequence,
        (used if here else Related(place, "this is what it returns", policy.model.path),), exceptions=exceptions,
    )  # fmt: skip


def _given(model: FileModel, use: PolicyUse, option: Value) -> Iterator[Finding]:
    where = model.range_of(use.argument.node)
    made = isinstance(option, CallResult) and _is_offloadable(model.db.api(option.path))
    if where is None or not (made or _is_class(model, option)):
        return
    text = "'Offloadable' object is not callable" if made else \
        "Offloadable.__new__() got an unexpected keyword argument … (a parameter of the first primitive)"
    consequence, severity, exceptions = raised_in_policy(model, "TypeError", text)
    yield Finding(
        NAME, where, f"`{model.text_of(use.argument.node)}` is what a policy returns, not a policy: "
        f"{at_first_grad(model)}; write a function that returns `Offloadable({_FIELDS})`", severity, consequence,
        exceptions=exceptions,
    )  # fmt: skip


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Call the class, rename a misspelled field, or give the fields that are missing."""
    lines = model.source.lines
    for policy in model.custom_policies:
        for result in results(policy) if policy.model is model else ():
            if model.range_of(result.node) == finding.range and isinstance(result.value, Symbol):
                edits = verbs.call_expression(lines, finding.range, _FIELDS)
                return Fix(f"Return `Offloadable({_FIELDS})`", Safety.UNSAFE, edits) if edits else None
    for call in model.calls:
        where = model.range_of(call.node)
        if not _is_offloadable(call.api) or call.is_partial or where is None:
            continue
        for wrong in call.unexpected:
            if wrong.keyword is not None and model.range_of(wrong.keyword) == finding.range:
                return _with_field(model, call, wrong)
        if where == finding.range and call.missing == ("src",):
            edits = verbs.add_keyword(lines, where, "src", '"device"')
            return Fix('Add `src="device"`', Safety.SAFE, edits) if edits else None
        if where == finding.range and (call.missing or call.surplus or call.unexpected):
            return _rewritten(model, call)
    return None


def _with_field(model: FileModel, call: ApiCall, wrong: Argument) -> Fix | None:
    """``dest=x`` becomes ``dst=x``; a field that is no misspelling makes the whole call a guess."""
    written = str(wrong.keyword.arg if wrong.keyword else "")
    meant = [name for name in call.missing if nearest(written, [name]) or _abbreviates(name, written)]
    where = model.range_of(call.node)
    if len(meant) != 1 or where is None:
        return _rewritten(model, call)
    edits = verbs.rename_keyword(model.source.lines, where, written, meant[0])
    value = wrong.value
    works = meant[0] == "src" or not isinstance(value, Literal) or value.value == "pinned_host"
    return Fix(f"Rename `{written}` to `{meant[0]}`", Safety.SAFE if works else Safety.UNSAFE, edits) if edits else None


def _abbreviates(short: str, long: str) -> bool:
    """Whether ``short`` is some of the letters of ``long``, the first among them."""
    letters = iter(long.lower())
    return short[:1] == long[:1].lower() and all(letter in letters for letter in short)


def _rewritten(model: FileModel, call: ApiCall) -> Fix | None:
    where = model.range_of(call.node)
    made = f"{model.text_of(call.node.func)}({_FIELDS})"
    edits = verbs.replace_expression(model.source.lines, where, made) if where is not None else None
    return Fix(f"Write `{made}`", Safety.UNSAFE, edits) if edits else None


_BAD = '''\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import Offloadable


def offload_dots(prim, *_, **__):
    return Offloadable if prim.name == "dot_general" else False


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=offload_dots)
STAGE = "grad"
jax.make_jaxpr(jax.grad(loss_remat))(jnp.ones((3, 3)), jnp.ones((2, 3)))
'''
_GOOD = _BAD.replace("Offloadable if", f"Offloadable({_FIELDS}) if")

RULE = Rule(
    code="JXP204",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.ad_checkpoint.Offloadable",),
    examples=(
        Example(
            bad=_BAD,
            good=_GOOD,
            proof=Raises("TypeError", "Value returned by a remat policy", "grad", since="0.7.1", remat3=False),
        ),
        Example(
            bad=_GOOD.replace('dst="pinned_host"', 'ziel="pinned_host"'),
            good=_GOOD,
            proof=Raises("TypeError", "got an unexpected keyword argument 'ziel'", "grad", remat3=False),
        ),
        Example(
            bad=_GOOD.replace("policy=offload_dots", "policy=Offloadable"),
            good=_GOOD,
            proof=Raises("TypeError", "got an unexpected keyword argument", "grad", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
