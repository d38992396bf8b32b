"""Values of a checkpointed function have names, and its policy never looks at names.

## What it finds

`checkpoint_name` in the body of a function that is checkpointed with a ready-made policy such as `dots_saveable` or
`nothing_saveable`, when no policy of the whole project asks for any name.

## Why it matters

Only the policies that are made with names look at them. Under any other the named values are recomputed, or stored,
like all others: the tags do nothing.

## In which versions

All, with `jax_remat3` on or off.

## What to write instead

`policy=jax.checkpoint_policies.save_only_these_names("attn_out")`; or, to keep what the policy saves as well,
`jax.checkpoint_policies.save_from_both_policies(policy, save_only_these_names("attn_out"))`.

## Known limits

Only names in the body of the function itself are seen. Silent without a policy, under `everything_saveable`, with
custom policies, and whenever a policy of the project takes names: it may be chosen elsewhere.

## Source

`jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1 with `saved_residuals`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import ApiCall, Argument, api_calls_in
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import Def, Symbol, string
from jaxpert.rulekit.rule import Example, Finding, Related, Rule, Severity, Silent

NAME = "policy-ignores-names"


def check(model: FileModel) -> Iterator[Finding]:
    """Ready-made policies of functions that name values, in projects where no policy asks for names."""
    if not model.name_facts.tags:
        return
    for checkpoint in model.checkpoints:
        policy = checkpoint.role("policy")
        if policy is None or policy.model is not model or model.is_dead(policy.site.block):
            continue
        api = _ready_made(model, policy)
        tags = _tags_inside(model, checkpoint) if api is not None else []
        if api is not None and tags and not any(True for _ in model.project_names.uses()):
            yield from _finding(model, policy, api, tags)


def _ready_made(model: FileModel, policy: Argument) -> Api | None:
    """The ready-made policy that is given, if it certainly is one and does not store everything anyway."""
    value = policy.value
    api = model.db.api(value.path) if isinstance(value, Symbol) else None
    is_plain = api is not None and api.kind is ApiKind.POLICY and "saves_everything" not in api.traits
    return api if is_plain else None


def _tags_inside(model: FileModel, checkpoint: Checkpoint) -> list[ApiCall]:
    target = checkpoint.target
    if not isinstance(target, Def) or target.model is not model:
        return []
    return [
        call
        for call in api_calls_in(model, target.function.block.tree)
        if call.api.kind is ApiKind.CHECKPOINT_NAME and not call.is_partial and call.site.scope is target.function.inner
    ]


def _finding(model: FileModel, policy: Argument, api: Api, tags: list[ApiCall]) -> Iterator[Finding]:
    where = model.range_of(policy.node)
    names = [string(name.value) for tag in tags if (name := tag.role("name")) is not None]
    known = list(dict.fromkeys(name for name in names if name))
    if where is None or not known:
        return
    written = ", ".join(f'"{name}"' for name in known[:3])
    places = [model.range_of(tag.node) for tag in tags[:3]]
    yield Finding(
        NAME,
        where,
        f"`{api.name.rpartition('.')[2]}` never looks at names, so {written} {'has' if len(known) == 1 else 'have'} no "
        f"effect; write `save_only_these_names({written})`",
        Severity.INFORMATION,
        silent(model, "named values are treated like all others"),
        tuple(Related(place, "a value is named here") for place in places if place is not None),
    )


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name


def loss(w, x):
    return jnp.sum(jnp.cos(checkpoint_name(jnp.sin(x @ w), "hidden")))


policy = jax.checkpoint_policies.nothing_saveable
residuals = saved_residuals(jax.checkpoint(loss, policy=policy), jnp.ones((3, 3)), jnp.ones((2, 3)))
saved = [source for _, source in residuals if "argument" not in source]
"""

RULE = Rule(
    code="JXP308",
    name=NAME,
    severity=Severity.INFORMATION,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint name", "policy"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("nothing_saveable", 'save_only_these_names("hidden")'),
            proof=Silent("not saved"),
        ),
    ),
    check=check,
)
