"""The gradient is taken of a function that is checkpointed as a whole, and of nothing smaller.

## What it finds

`jax.grad(jax.checkpoint(loss))` and its like without a policy, when `loss` loops over layers or steps and nothing
inside is checkpointed.

## Why it matters

Between the forward and the backward pass nothing is stored, but then the backward pass computes all of `loss` again and
stores every intermediate value of every layer at once: the peak of memory is the same as without checkpoint, and the
time is that of two forward passes. Nothing is raised. With a checkpoint around each layer only one layer's values and
the layers' inputs are there at a time.

## In which versions

All. How much memory the compiled program needs depends on the compiler: on CPU the gain of the smaller checkpoints
shows from 0.11 on.

## What to write instead

`jax.checkpoint(layer)` inside the loop, or around the body of the scan, and the plain `loss` in `jax.grad`.

## Known limits

Silent unless every function that the loss calls is known, and where more is computed under the same gradient: then a
checkpoint of one part makes room for the others.

## Source

Compiled memory and residuals measured on 0.4.30 to 0.12.0.1: 32 activations without checkpoint and around the whole
loss, 17 around each of 16 layers.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.model.checkpoint_places import given_to
from jaxpert.model.file_model import FileModel
from jaxpert.model.loss_bodies import looped_call
from jaxpert.model.speech import silent
from jaxpert.model.transforms import parameters
from jaxpert.rulekit.rule import Example, Finding, Related, Rule, Severity, Silent

NAME = "checkpoint-of-whole-loss"

_FORWARD = {"jax.jvp", "jax.jacfwd", "jax.linearize", "jax.hessian"}


def check(model: FileModel) -> Iterator[Finding]:
    """Checkpoints around all that a gradient is taken of."""
    for checkpoint in model.checkpoints:
        call = checkpoint.call
        if model.is_dead(checkpoint.site.block) or checkpoint.api.library != "jax":
            continue
        if call is not None and (call.opened or call.role("policy") is not None):
            continue
        taken = next(given_to(model, checkpoint, "differentiates"), None)
        known = parameters(model, checkpoint) if taken is not None and taken.api.name not in _FORWARD else None
        where = model.range_of(checkpoint.node)
        looped = looped_call(model, known.function) if known is not None else None
        if taken is None or known is None or where is None or looped is None:
            continue
        place, name = looped
        area = model.range_of(place)
        smaller = f"checkpoint `{name}`" if name else "checkpoint the body of the loop"
        yield Finding(
            NAME,
            where,
            f"the backward pass of `{known.display}` computes all of it again and stores everything at once, so the "
            f"peak of memory is that without `{checkpoint.api.name}`; {smaller} inside the loop instead",
            Severity.INFORMATION,
            silent(model, "the time of a second forward pass is spent, and no memory saved at the peak"),
            (Related(area, "the loop over the layers"),) if area is not None else (),
        )


_BAD = '''\
import jax
import jax.numpy as jnp


def layer(w, h):
    return jnp.sin(h @ w)


def loss(weights, x):
    for w in weights:
        x = layer(w, x)
    return jnp.sum(x**2)


weights, x = [jnp.eye(64)] * 16, jnp.ones((2048, 64))
gradient = jax.grad(jax.checkpoint(loss))
compiled = jax.jit(gradient).lower(weights, x).compile()
activations = compiled.memory_analysis().temp_size_in_bytes // x.nbytes
'''

_GOOD = _BAD.replace("x = layer(w, x)", "x = jax.checkpoint(layer)(w, x)").replace(
    "jax.grad(jax.checkpoint(loss))", "jax.grad(loss)"
)

RULE = Rule(
    code="JXP124",
    name=NAME,
    severity=Severity.INFORMATION,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(Example(bad=_BAD, good=_GOOD, proof=Silent("activations >= 32", since="0.11.2")),),
    check=check,
)
