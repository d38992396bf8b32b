"""A custom remat policy is not asked about what it decides, because `jax_remat3` is on.

## What it finds

Only where `jax_remat3` is on: a policy of your own that looks for primitives about which JAX does not ask, such as
`prim.name == "sin"`; and, before 0.12, policies that are not asked about matrix products, or about anything at all.

## Why it matters

With `jax_remat3` JAX asks a custom policy about matrix products, convolutions and tagged values, and recomputes all the
rest without asking. What the policy was to save is recomputed; JAX says nothing.

## In which versions

Only with `jax_remat3`, which exists from 0.10.2 on. From 0.12.0 on policies are asked about `dot_general`,
`conv_general_dilated` and `name`; in 0.11.2 about `name` alone; before that about nothing, and then
`save_from_both_policies` has no effect either, and in 0.10.2 neither have the policies that offload.

## What to write instead

Tag the value by `checkpoint_name` and save it by its name:
`jax.checkpoint_policies.save_only_these_names("sine")`. JAX's own policies work in every version.

## Known limits

A policy that always answers the same is not reported from 0.11.2 on. `jax_remat3` is seen where the project's
configuration, its environment or its code turns it on.

## Source

The remat rules in `jax/_src/ad_checkpoint.py`; measured on 0.10.2 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import CustomPolicy, PolicyUse, callable_behind
from jaxpert.model.primitive_matches import name_tests, object_tests
from jaxpert.model.speech import policy_places, silent
from jaxpert.model.values import CallResult, Value
from jaxpert.rulekit.rule import Example, Finding, Rule, Severity, Silent

NAME = "policy-not-asked"

_OFFLOADS, _NAMES, _PRODUCTS = Version("0.11.0"), Version("0.11.2"), Version("0.12.0")


def check(model: FileModel) -> Iterator[Finding]:
    """Policies, or what they look for, that JAX does not ask about."""
    if not model.target.remat3:
        return
    if model.target.version < _NAMES:
        seen: set[int] = set()
        for use in model.policy_uses:
            if id(use.argument.node) not in seen and not use.takes_bools and _is_ignored(model, use):
                seen.add(id(use.argument.node))
                yield from _never(model, use)
        return
    asked = {"name", "dot_general", "conv_general_dilated"} if model.target.version >= _PRODUCTS else {"name"}
    for policy in model.custom_policies:
        yield from _never_true(model, policy, asked)


def _is_ignored(model: FileModel, use: PolicyUse) -> bool:
    options = list(use.value.options())
    return bool(options) and all(_is_not_known(model, option) for option in options)


def _is_not_known(model: FileModel, value: Value) -> bool:
    """Whether a policy is a function of the user's, or made by a factory whose policies are like those."""
    api = model.db.api(value.path) if isinstance(value, CallResult) else None
    if api is not None and api.kind is ApiKind.POLICY_FACTORY:
        offloads = "offload_dst" in api.roles and model.target.version < _OFFLOADS
        return offloads or "policies_as_varargs" in api.traits
    return callable_behind(model, value) is not None


def _never(model: FileModel, use: PolicyUse) -> Iterator[Finding]:
    where = model.range_of(use.argument.node)
    if where is not None:
        yield Finding(
            NAME, where, "with `jax_remat3` this policy is never asked, and everything is recomputed; use one of JAX's "
            "own, such as `save_only_these_names`", Severity.WARNING,
            silent(model, "with jax_remat3 it asks none but its own policies"),
        )  # fmt: skip


def _never_true(model: FileModel, policy: CustomPolicy, asked: set[str]) -> Iterator[Finding]:
    """Primitives that the policy looks for, which exist and are never asked about."""
    here = policy.model is model
    looked_for: dict[int, tuple[str, ast.AST]] = {}
    known = model.db.primitive_names()
    for found in name_tests(policy):
        matches = {found.name} if not found.is_part else {name for name in known if found.name in name}
        if matches & known and not matches & asked:
            looked_for.setdefault(id(found.node), (found.name, found.node))
    for compared in object_tests(policy):
        name = compared.path.rpartition(".")[2].removesuffix("_p")
        if compared.path.endswith("_p") and name in known and name not in asked and not compared.by_name:
            looked_for.setdefault(id(compared.node), (name, compared.node))
    for name, node in looked_for.values():
        where = model.range_of(node if here else policy.uses[0].argument.node)
        if where is None:
            continue
        about = "matrix products, convolutions and names" if "dot_general" in asked else "names"
        yield Finding(
            NAME, where, f"with `jax_remat3` policies are asked about {about} only, never about `{name}`: it is "
            "recomputed; tag the value by `checkpoint_name` and use `save_only_these_names`", Severity.WARNING,
            silent(model, f"with jax_remat3 it does not ask policy `{policy.name}` about `{name}`"),
            policy_places(model, policy, policy.model.range_of(node), "this is what it looks for"),
        )  # fmt: skip


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name

jax.config.update("jax_remat3", True)


def keep_sines(prim, *_, **__):
    return prim.name == "sin"


def loss(x):
    return jnp.sum(jnp.exp(checkpoint_name(jnp.sin(x), "sine")) ** 2)


residuals = saved_residuals(jax.checkpoint(loss, policy=keep_sines), jnp.ones(3))
computed = [source for _, source in residuals if "argument" not in source]
"""

RULE = Rule(
    code="JXP223",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace(
                "policy=keep_sines", 'policy=jax.checkpoint_policies.save_only_these_names("sine")'
            ),
            proof=Silent("not computed", since="0.10.2"),
        ),
    ),
    check=check,
)
