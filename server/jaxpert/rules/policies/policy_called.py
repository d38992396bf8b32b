"""A ready-made policy is called where it should be passed.

## What it finds

`dots_saveable()`, `everything_saveable()`, `nothing_saveable()` and the other ready-made members of
`jax.checkpoint_policies`, called and the result used as a policy. They are policies already; only the factories
(`save_only_these_names`, …) are called.

## Why it matters

`dots_saveable()` raises where it stands. `everything_saveable()` gives `True`, which JAX tries to call when the
function is differentiated. `nothing_saveable()` gives `False`, which JAX takes for "no policy": it happens to do
the same, and stops doing so the day somebody puts another policy in its place.

    TypeError: dots_saveable() missing 1 required positional argument: 'prim'

## In which versions

All. With `jax_remat3` on, `everything_saveable()` raises only from 0.11.2 on, and from then on `nothing_saveable()`
does so too.

## What to write instead

Pass it as it is: `policy=jax.checkpoint_policies.dots_saveable`.

## Known limits

A call with arguments is a question about one primitive, as in a policy that delegates, and is not reported.

## Source

`jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent

NAME = "policy-called"

_REMAT3_ASKS = Version("0.11.2")
# Between these the policies about matrix products were objects and not functions (measured on all releases).
_SINCE_CALLABLE, _UNTIL_CALLABLE = Version("0.10.1"), Version("0.12.0")


def check(model: FileModel) -> Iterator[Finding]:
    """Calls of ready-made policies without any argument."""
    for call in model.calls:
        if call.api.kind is not ApiKind.POLICY or call.node.args or call.node.keywords or call.is_partial:
            continue
        where = model.range_of(call.node)
        if where is None or model.is_dead(call.site.block):
            continue
        name = call.api.name.rpartition(".")[2]
        effect, consequence, severity = _effect(model, name)
        yield Finding(
            NAME,
            where,
            f"`{name}` is a policy already: {effect}; pass `{model.text_of(call.node.func)}` without parentheses",
            severity,
            consequence,
            exceptions=("TypeError",) if severity is Severity.ERROR else (),
        )


def _effect(model: FileModel, name: str) -> tuple[str, str, Severity]:
    """What the call does, in a clause; what JAX says; how bad that is."""
    if name == "nothing_saveable" and model.target.remat3 and model.target.version >= _REMAT3_ASKS:
        return (
            "calling it gives False, which JAX then calls",
            raises(model, "when this is differentiated", "TypeError", "'bool' object is not callable"),
            Severity.ERROR,
        )
    if name == "nothing_saveable":
        return (
            "calling it gives False, which only by luck means the same",
            silent(model, "the policy is False, which it takes for no policy at all"),
            Severity.WARNING,
        )
    if name == "everything_saveable":
        return (
            "calling it gives True, which JAX then calls",
            raises(model, "when this is differentiated", "TypeError", "'bool' object is not callable"),
            Severity.ERROR,
        )
    callee = "DotsSaveable.__call__" if _SINCE_CALLABLE <= model.target.version < _UNTIL_CALLABLE else name
    return (
        "calling it raises at once",
        raises(model, "where this stands", "TypeError", f"{callee}() missing 1 required positional argument: 'prim'"),
        Severity.ERROR,
    )


def _call_at(model: FileModel, finding: Finding) -> ApiCall | None:
    return next((call for call in model.calls if model.range_of(call.node) == finding.range), None)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Drop the parentheses."""
    call = _call_at(model, finding)
    if call is None:
        return None
    edits = verbs.uncall(model.source.lines, finding.range)
    return Fix(f"Pass `{model.text_of(call.node.func)}` without calling it", Safety.SAFE, edits) if edits else None


_BAD = """\
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=jax.checkpoint_policies.dots_saveable())
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

_SILENT = """\
import jax
import jax.numpy as jnp

policy = jax.checkpoint_policies.nothing_saveable()
loss_remat = jax.checkpoint(lambda x: jnp.sum(jnp.sin(x)), policy=policy)
jax.grad(loss_remat)(jnp.ones(3))
"""

RULE = Rule(
    code="JXP207",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("policy",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("saveable()", "saveable"),
            proof=Raises("TypeError", "missing 1 required positional argument: 'prim'", "decorate"),
        ),
        Example(
            bad=_BAD.replace("dots_saveable", "everything_saveable"),
            good=_BAD.replace("dots_saveable()", "nothing_saveable"),
            proof=Raises("TypeError", "'bool' object is not callable", "grad", remat3=False),
        ),
        Example(
            bad=_SILENT,
            good=_SILENT.replace("saveable()", "saveable"),
            proof=Silent("policy is False"),
        ),
    ),
    check=check,
    fix=fix,
)
