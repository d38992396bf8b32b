"""A debug callback or print in a checkpointed function runs a second time on the backward pass.

## What it finds

`jax.debug.print`, `jax.debug.callback`, `jax.debug.log` and `jax.debug.breakpoint` inside a function that
`jax.checkpoint` (or a wrapper around it) makes, also through helper functions and other modules of the workspace.

## Why it matters

The backward pass runs the function again to get its intermediate values back, and its debug callbacks with it: each
line appears twice for one `jax.grad`, each count is doubled, each breakpoint stops twice. JAX says nothing.

## In which versions

All, with and without `jax_remat3`, ordered or not, under `jit` too. Before 0.6 callbacks inside a `scan` do not run
again.

## What to write instead

For looking at values nothing: know that the second line is the recomputation. Where the count matters (metrics,
logging), return the value and call `jax.debug.callback` outside of the checkpointed function.

## Known limits

Not reported when the policy is `everything_saveable`, which recomputes nothing, or when the policy is not known.

## Source

`debug_callback_p` in `jax/_src/debugging.py` has an effect that `jax.checkpoint` allows and replays; measured on
0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.model.effect_kinds import Effect, EffectKind
from jaxpert.model.effect_places import effects_at, function_name, recomputes, shown, ways
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.rulekit.rule import Example, Finding, Rule, Severity, Silent

NAME = "callback-runs-again"

_KINDS = frozenset({EffectKind.DEBUG_CALLBACK, EffectKind.DEBUG_PRINT})
_VERBS = {"print": "prints", "log": "logs", "breakpoint": "stops", "callback": "runs"}


def check(model: FileModel) -> Iterator[Finding]:
    """Debug callbacks of checkpointed functions."""
    for checkpoint, effect, where in effects_at(model, _KINDS):
        if not recomputes(model, checkpoint):
            continue
        function, does = function_name(model, checkpoint), _does(effect)
        yield Finding(
            NAME,
            where,
            f"`{shown(effect)}` {does} again when the backward pass recomputes `{function}`; move it out of "
            f"`{function}` where once is meant",
            Severity.INFORMATION,
            silent(model, f"it {does} twice for one `jax.grad`"),
            ways(model, checkpoint, effect, where),
        )


def _does(effect: Effect) -> str:
    return _VERBS.get(effect.name.rpartition(".")[2], "runs")


_BAD = '''\
import jax
import jax.numpy as jnp

seen = []


@jax.checkpoint
def loss(x):
    y = jnp.sin(x)
    jax.debug.callback(lambda v: seen.append(float(v)), y)
    return jnp.sin(y)


STAGE = "grad"
jax.grad(loss)(1.0)
jax.effects_barrier()
'''

_GOOD = '''\
import jax
import jax.numpy as jnp

seen = []


@jax.checkpoint
def loss(x):
    y = jnp.sin(x)
    return jnp.sin(y), y


STAGE = "grad"
_, y = jax.grad(loss, has_aux=True)(1.0)
jax.debug.callback(lambda v: seen.append(float(v)), y)
jax.effects_barrier()
'''

RULE = Rule(
    code="JXP403",
    name=NAME,
    severity=Severity.INFORMATION,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.debug.print", "jax.debug.callback", "jax.debug.log"),
    examples=(Example(_BAD, _GOOD, Silent("len(seen) == 2")),),
    check=check,
)
