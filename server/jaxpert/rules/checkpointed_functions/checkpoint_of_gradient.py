"""A gradient is checkpointed, and not the function that it is taken of.

## What it finds

`jax.checkpoint(jax.grad(f))`, also with `value_and_grad` and its relatives and as decorators, at module level or in a
function that is compiled with `jax.jit` or runs eagerly; and at module level a checkpointed function, a training step
for one, that takes a gradient in its own body. Not where the file differentiates the result once more.

## Why it matters

`jax.checkpoint` changes what is stored for a backward pass through what it wraps. Around a gradient, forward and
backward pass are both inside, and nobody runs backward through them: all intermediate values of `f` are stored as if
there was no checkpoint. Nothing is raised.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

`jax.grad(jax.checkpoint(f))`, or better a checkpoint around each layer inside `f`.

## Known limits

For second derivatives, in meta-learning and in fits of forces, the checkpoint around a gradient is right. Where another
module differentiates the result we do not see it.

## Source

The rules of `remat_p` in `jax/_src/ad_checkpoint.py`; operations counted in the jaxprs of 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import Api
from jaxpert.model.checkpoint_places import (
    derivative,
    derivative_below,
    gradient_inside,
    is_differentiated,
    is_outermost,
)
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import CallResult, Def
from jaxpert.rulekit.rule import Example, Finding, Fix, Related, Rule, Safety, Severity, Silent

NAME = "checkpoint-of-gradient"


def check(model: FileModel) -> Iterator[Finding]:
    """Checkpoints around gradients that nothing differentiates again."""
    for checkpoint in model.checkpoints:
        if model.is_dead(checkpoint.site.block) or checkpoint.api.library != "jax":
            continue
        taken = derivative(model, checkpoint.target) or derivative_below(model, checkpoint)
        inside = None if taken is not None else gradient_inside(model, checkpoint)
        where = model.range_of(checkpoint.node)
        if where is None or (taken is None and inside is None) or is_differentiated(model, checkpoint):
            continue
        if not is_outermost(model, checkpoint.site.scope):
            continue
        area = model.range_of(inside.node) if inside is not None else None
        yield Finding(
            NAME,
            where,
            f"{_what(checkpoint, taken)}, so all of its intermediate values are stored as without "
            f"`{checkpoint.api.name}`; {_cure(model, checkpoint, taken)}",
            Severity.INFORMATION,
            silent(model, "nothing is recomputed on the backward pass"),
            (Related(area, "the gradient is taken here"),) if area is not None else (),
        )


def _what(checkpoint: Checkpoint, taken: Api | None) -> str:
    if taken is not None:
        return f"forward and backward pass of `{taken.name}` are both inside the checkpoint"
    name = checkpoint.target.name if isinstance(checkpoint.target, Def) else "the function"
    return f"`{name}` takes the gradient inside the checkpoint"


def _cure(model: FileModel, checkpoint: Checkpoint, taken: Api | None) -> str:
    if taken is None:
        return "checkpoint the function that is differentiated"
    swapped = _swapped(model, checkpoint)
    return f"write `{swapped}`" if swapped and len(swapped) < 80 else f"put it inside `{taken.name}`"


def _swapped(model: FileModel, checkpoint: Checkpoint) -> str:
    """``jax.grad(jax.checkpoint(f))`` for ``jax.checkpoint(jax.grad(f))``; "" where that is not written so."""
    node, taken = checkpoint.node, checkpoint.target
    if not isinstance(node, ast.Call) or not isinstance(taken, CallResult) or not node.args:
        return ""
    inner = taken.call
    if node.args[0] is not inner or not inner.args or isinstance(inner.args[0], ast.Starred):
        return ""
    outer = ", ".join([model.text_of(inner.args[0]), *map(model.text_of, node.keywords)])
    wrapped = f"{model.text_of(node.func)}({outer})"
    rest = [*map(model.text_of, inner.args[1:]), *map(model.text_of, inner.keywords)]
    return f"{model.text_of(inner.func)}({', '.join([wrapped, *rest])})"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Put the checkpoint inside the gradient."""
    for checkpoint in model.checkpoints:
        if model.range_of(checkpoint.node) != finding.range:
            continue
        swapped = _swapped(model, checkpoint)
        edits = verbs.replace_expression(model.source.lines, finding.range, swapped) if swapped else None
        return Fix("Checkpoint the function, not its gradient", Safety.UNSAFE, edits) if edits else None
    return None


_BAD = '''\
import jax
import jax.numpy as jnp


def loss(x):
    return jnp.sum(jnp.sin(jnp.sin(jnp.sin(x))))


gradient = jax.checkpoint(jax.grad(loss))
sines = str(jax.make_jaxpr(gradient)(jnp.ones(3))).count("= sin ")
'''

RULE = Rule(
    code="JXP123",
    name=NAME,
    severity=Severity.INFORMATION,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.grad", "jax.value_and_grad"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("jax.checkpoint(jax.grad(loss))", "jax.grad(jax.checkpoint(loss))"),
            proof=Silent("sines == 3"),
        ),
    ),
    check=check,
    fix=fix,
)
