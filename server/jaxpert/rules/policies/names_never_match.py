"""A policy about names gets no names, or names that no tagged value can have.

## What it finds

`save_only_these_names()` without any name, `save_and_offload_only_these_names` with two empty lists, and names that
are no strings: numbers, None, lists and tuples among names, members of an enumeration that is not made of strings,
functions and policies.

## Why it matters

The names are compared with those given by `checkpoint_name`, which are strings. Without a match nothing is saved and
everything is recomputed; JAX says nothing.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

The names as strings, `save_only_these_names("attn_out")`, or `jax.checkpoint_policies.nothing_saveable` where nothing
is to be saved.

## Known limits

`save_any_names_but_these()` saves all tagged values and is fine. Names that are spread by `*` are not counted. Names
that are strings are looked at by *unknown-checkpoint-name* and *names-in-one-argument*.

## Source

`jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.values import CallResult, Def, EnumMember, Literal, Sequence, Symbol, Value, string
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent

NAME = "names-never-match"


def check(model: FileModel) -> Iterator[Finding]:
    """Calls without names, then each name that is none."""
    for call in model.calls:
        if call.api.kind is not ApiKind.POLICY_FACTORY or model.is_dead(call.site.block):
            continue
        if "names_have_no_effect" in call.api.traits or call.missing or call.unexpected or call.surplus:
            continue
        if _is_without_names(call):
            where = model.range_of(call.node)
            if where is not None:
                yield Finding(
                    NAME, where, f"`{_name(call)}` gets no names: nothing is saved and everything is recomputed; "
                    "name what is to be saved, or write `nothing_saveable`", Severity.WARNING,
                    silent(model, "the policy answers False for every value"),
                )  # fmt: skip
            continue
        for node, value in _names(model, call):
            where = model.range_of(node)
            if where is not None and isinstance(value, Sequence) and value.kind in ("list", "set"):
                yield Finding(
                    NAME, where, f"a {value.kind} stands where a name belongs: JAX raises here; write its names in its "
                    "place", Severity.ERROR,
                    raises(model, "where this stands", "TypeError", f"unhashable type: '{value.kind}'"),
                    exceptions=("TypeError",),
                )  # fmt: skip
                continue
            shown = _no_name(model, node, value)
            if shown and where is not None:
                yield Finding(
                    NAME, where, f"{shown} is no string and matches no checkpoint name: "
                    f"{_effect(call)}; write the name as a string", Severity.WARNING,
                    silent(model, "names are compared by `in`, and a string never equals it"),
                )  # fmt: skip


def _name(call: ApiCall) -> str:
    return call.api.name.rpartition(".")[2]


def _effect(call: ApiCall) -> str:
    return "it excludes nothing" if "names_excluded" in call.api.traits else "it saves nothing"


def _is_without_names(call: ApiCall) -> bool:
    if call.is_partial or call.opened or "names_excluded" in call.api.traits:
        return False
    if "names_as_varargs" in call.api.traits:
        return not call.node.args and not call.varargs
    if "names_as_collections" not in call.api.traits:
        return False
    given = [call.role(role) for role in ("names", "offloaded_names") if role in call.api.roles]
    return all(argument is not None and _is_empty(argument.value) for argument in given)


def _is_empty(value: Value) -> bool:
    return isinstance(value, Sequence) and value.exact and not value.items


def _names(model: FileModel, call: ApiCall) -> Iterator[tuple[ast.expr, Value]]:
    """Each name that the call is given, where it is written in this file."""
    given: list[Argument] = []
    if "names_as_varargs" in call.api.traits:
        given = [argument for argument in call.varargs if argument.model is model]
        for argument in given:
            if not isinstance(argument.value, Sequence):  # names-in-one-argument says it
                yield argument.node, argument.value
        return
    if "names_as_collections" not in call.api.traits:
        return
    for role in ("names", "offloaded_names"):
        argument_ = call.role(role)
        value = argument_.value if argument_ is not None and argument_.model is model else None
        if not isinstance(value, Sequence) or value.site is None or value.model is not model:
            continue
        if isinstance(value.site.node, (ast.List, ast.Tuple, ast.Set)):
            for element in value.site.node.elts:
                if not isinstance(element, ast.Starred):
                    yield element, model.evaluate(element, value.site.scope, value.site.block)


def _no_name(model: FileModel, node: ast.expr, value: Value) -> str:
    """What a name is, in words, when it is certainly no string; "" when it may be one."""
    options = list(value.options())
    if not options or not all(_is_no_name(model, option) for option in options):
        return ""
    first = options[0]
    if isinstance(first, EnumMember):
        return f"the enumeration member `{model.text_of(node)}`"
    if isinstance(first, CallResult) or (isinstance(first, Symbol) and model.db.api(first.path)):
        return f"the policy `{model.text_of(node)}`"
    if isinstance(first, Sequence):
        return f"the {first.kind} `{model.text_of(node)}`"
    if isinstance(first, Def):
        return f"the function `{model.text_of(node)}`"
    return f"`{model.text_of(node)}`"


def _is_no_name(model: FileModel, value: Value) -> bool:
    if isinstance(value, EnumMember):
        return not value.is_string
    if isinstance(value, (Symbol, CallResult)):
        api = model.db.api(value.path) if value.path else None
        wanted = ApiKind.POLICY if isinstance(value, Symbol) else ApiKind.POLICY_FACTORY
        return api is not None and api.kind is wanted
    return isinstance(value, (Def, Sequence)) or (isinstance(value, Literal) and string(value) is None)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """A member of an enumeration whose values are strings gets ``.value``."""
    for call in model.calls:
        if call.api.kind is not ApiKind.POLICY_FACTORY:
            continue
        for node, value in _names(model, call):
            if model.range_of(node) != finding.range or not isinstance(value, EnumMember):
                continue
            if string(value.value) is None or not isinstance(node, (ast.Name, ast.Attribute)):
                return None
            new = f"{model.text_of(node)}.value"
            edits = verbs.replace_expression(model.source.lines, finding.range, new)
            return Fix(f"Write `{new}`", Safety.SAFE, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_only_these_names()


def loss(w, x):
    return jnp.sum(jnp.sin(checkpoint_name(jnp.cos(x @ w), "product")))


residuals = saved_residuals(jax.checkpoint(loss, policy=policy), jnp.ones((3, 3)), jnp.ones((2, 3)))
computed = [source for _, source in residuals if "argument" not in source]
"""
_GOOD = _BAD.replace("these_names()", 'these_names("product")')

RULE = Rule(
    code="JXP217",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "jax.checkpoint_policies.save_only_these_names",
        "jax.checkpoint_policies.save_any_names_but_these",
        "jax.checkpoint_policies.save_and_offload_only_these_names",
    ),
    examples=(
        Example(bad=_BAD, good=_GOOD, proof=Silent("not computed")),
        Example(bad=_BAD.replace("these_names()", "these_names(1, None)"), good=_GOOD, proof=Silent("not computed")),
    ),
    check=check,
    fix=fix,
)
