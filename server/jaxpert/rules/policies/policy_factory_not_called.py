"""A policy factory is given as the policy without being called.

## What it finds

`save_only_these_names`, `save_from_both_policies` and the other members of `jax.checkpoint_policies` that make a
policy, given as `policy=` themselves; also in a table of policies that is looked up by name, and uncalled inside
`save_from_both_policies(…)`. A `functools.partial` of a factory is no better.

## Why it matters

JAX calls whatever it is given once per primitive. A factory that takes names turns the primitive into a name and
fails at the first primitive that has parameters:

    TypeError: save_only_these_names() got an unexpected keyword argument 'dimension_numbers'

## In which versions

All; raised when the function is differentiated.

## What to write instead

Call it with what it needs: `policy=jax.checkpoint_policies.save_only_these_names("attn_out")`.

## Known limits

In a table, a factory is reported only when every use of the entry gives it as a policy, or when the table also
holds ready-made policies and is not called after the look-up.

## Source

`jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import PolicyUse, policy_tables
from jaxpert.model.speech import at_first_grad, raised_in_policy
from jaxpert.model.values import Partial, Symbol, Value
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.scopes import Site

NAME = "policy-factory-not-called"


def check(model: FileModel) -> Iterator[Finding]:
    """Factories among the values of policy arguments, and among the entries of policy tables."""
    for use in model.policy_uses:
        for option in use.value.options():
            while isinstance(option, Partial):
                option = option.target
            if _is_factory(model, option) and isinstance(option, Symbol):
                yield from _report(model, option, use)
    for site, members in policy_tables(model):
        yield from _in_table(model, site, members)


def _is_factory(model: FileModel, value: Value) -> bool:
    api = model.db.api(value.path) if isinstance(value, Symbol) else None
    return api is not None and api.kind is ApiKind.POLICY_FACTORY


def _in_table(model: FileModel, table: Site, members: list[Symbol]) -> Iterator[Finding]:
    """A factory beside ready-made policies: whoever looks one up cannot know which of them to call."""
    factories = [member for member in members if _is_factory(model, member)]
    if factories and len(factories) < len(members) and not _is_called(model, table):
        for factory in factories:
            yield from _report(model, factory, None)


def _is_called(model: FileModel, table: Site) -> bool:
    """Whether an entry of the table is called somewhere after it was looked up: then it may be meant so."""
    names = {
        target.id
        for statement, block in table.block.tree.block_of.items()
        if block is table.block and isinstance(statement, ast.Assign) and statement.value is table.node
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    for tree in model.source.trees():
        for site in tree.calls:
            func = site.node.func
            if isinstance(func, ast.Subscript) and (
                func.value is table.node or getattr(func.value, "id", None) in names
            ):
                return True
            if (
                isinstance(func, ast.Call)
                and isinstance(func.func, ast.Attribute)
                and func.func.attr == "get"
                and getattr(func.func.value, "id", None) in names
            ):
                return True
    return False


def _report(model: FileModel, factory: Symbol, use: PolicyUse | None) -> Iterator[Finding]:
    here = factory.model is model and factory.site is not None
    node = factory.site.node if here and factory.site is not None else use.argument.node if use else None
    where = model.range_of(node) if node is not None else None
    if where is None:
        return
    api = model.db.api(factory.path)
    assert api is not None
    name = api.name.rpartition(".")[2]
    related: tuple[Related, ...] = ()
    if use is not None and use.argument.node is not node and (area := model.range_of(use.argument.node)):
        related = (Related(area, "it is used as a policy here"),)
    elif (
        not here
        and factory.model is not None
        and factory.site is not None
        and (area := factory.model.range_of(factory.site.node))
    ):
        related = (Related(area, f"`{name}` stands here", factory.model.path),)
    text = f"{name}() got an unexpected keyword argument … (whatever parameter the first primitive has)"
    consequence, severity, exceptions = raised_in_policy(model, "TypeError", text)
    yield Finding(
        NAME,
        where,
        f"`{name}` makes a policy and is none itself: {at_first_grad(model, 'JAX calls it with a primitive and')}; "
        f"call it: `{_call(name, api.traits)}`",
        severity,
        consequence,
        related,
        exceptions=exceptions,
    )


def _call(name: str, traits: frozenset[str]) -> str:
    if "policies_as_varargs" in traits:
        return f"{name}(policy_1, policy_2)"
    return f'{name}("…")' if "names_as_varargs" in traits else f"{name}(…)"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Call the factory with the names tagged in this file, when there are any."""
    names = sorted({tag.text for tag in model.name_facts.tags if tag.text})
    if not names or len(names) > 8:
        return None
    for use in model.policy_uses:
        for option in use.value.options():
            if not isinstance(option, Symbol) or option.site is None or option.model is not model:
                continue
            api = model.db.api(option.path)
            if api is None or "names_as_varargs" not in api.traits or model.range_of(option.site.node) != finding.range:
                continue
            if not isinstance(option.site.node, (ast.Name, ast.Attribute)):
                return None  # getattr(policies, name) may give others as well
            arguments = ", ".join(f'"{name}"' for name in names)
            edits = verbs.call_expression(model.source.lines, finding.range, arguments)
            title = f"Call `{api.name.rpartition('.')[2]}({arguments})`"
            return Fix(title, Safety.UNSAFE, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name


def loss(w, x):
    return jnp.sum(jnp.sin(checkpoint_name(x @ w, "product")))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=jax.checkpoint_policies.save_only_these_names)
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

RULE = Rule(
    code="JXP206",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("policy factory",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("save_only_these_names)", 'save_only_these_names("product"))'),
            proof=Raises("TypeError", "got an unexpected keyword argument", "grad", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
