"""A host callback is given a value that is differentiated.

## What it finds

`jax.pure_callback` or `io_callback` with an argument that comes from what this file differentiates (`grad`,
`value_and_grad`, `vjp`, `jvp`, …), in the differentiated function or in functions that it calls, with or without
`jax.checkpoint` in between.

## Why it matters

JAX cannot look into a Python function, so it knows no derivative of a callback. It raises when the function is
differentiated:

    ValueError: Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking gradients.
    ValueError: IO callbacks do not support JVP.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

If the result takes part in the gradient, put `pure_callback` in a function with its own derivative (`jax.custom_jvp`
or `jax.custom_vjp`). If not, pass `jax.lax.stop_gradient(x)`.

## Known limits

Only where the argument plainly comes from what is differentiated: through arithmetic, array methods and the usual
functions of `jax.numpy`, not through loops and branches of `jax.lax`. `io_callback` in a checkpointed function is
`unsupported-effect-in-checkpoint`: there `stop_gradient` is not enough.

## Source

`pure_callback_jvp_rule` and `io_callback_jvp_rule` in `jax/_src/callback.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.differentiation import carries_derivative, differentiated_effects
from jaxpert.model.effect_kinds import EffectKind
from jaxpert.model.effect_paths import operands_of
from jaxpert.model.effect_places import shown
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "callback-differentiated"

_PURE = "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while taking gradients."
_IO = "IO callbacks do not support JVP."


def check(model: FileModel) -> Iterator[Finding]:
    """Callbacks whose arguments are differentiated."""
    if not any("runs_on_host" in call.api.traits and "debugging" not in call.api.traits for call in model.calls):
        return
    in_checkpoints = {id(effect.node) for _, effects in model.checkpoint_effects for effect in effects}
    seen: set[Range] = set()
    for each, effect in differentiated_effects(model):
        is_io = effect.kind is EffectKind.IO_CALLBACK
        if effect.kind is not EffectKind.PURE_CALLBACK and not is_io:
            continue
        where = model.range_of(effect.node) if effect.model is model else None
        if where is None or where in seen or (is_io and id(effect.node) in in_checkpoints):
            continue
        carrier = carries_derivative(model, (each, effect), operands_of(effect))
        carried = model.range_of(carrier) if carrier is not None else None
        if carrier is None or carried is None:
            continue
        seen.add(where)
        by = model.range_of(each.node)
        own = "" if is_io else "give the callback its own derivative with `jax.custom_jvp`, or "
        yield Finding(
            NAME,
            where,
            f"`{shown(effect)}` is given `{model.text_of(carrier)}`, which `{each.api.name}` differentiates, and a "
            f"callback has no derivative: JAX raises; {own}pass `jax.lax.stop_gradient({model.text_of(carrier)})`",
            Severity.ERROR,
            raises(model, "when this is differentiated", "ValueError", _IO if is_io else _PURE),
            (Related(by, "it is differentiated here"),) if by is not None else (),
            data=(("carrier", model.text_of(carrier)), ("at", f"{carried.start.line}:{carried.start.column}")),
            exceptions=("ValueError",),
        )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Stop the gradient at the argument."""
    for each, effect in model.every(differentiated_effects):
        if effect.model is not model or model.range_of(effect.node) != finding.range:
            continue
        carrier = carries_derivative(model, (each, effect), operands_of(effect))
        where = model.range_of(carrier) if carrier is not None else None
        if where is None:
            continue
        edits = verbs.wrap_call(model.source.lines, where, "jax.lax.stop_gradient")
        title = f"Keep `{finding.datum('carrier')}` out of the gradient with `jax.lax.stop_gradient`"
        has_jax = "jax" in model.source.module.bindings
        return Fix(title, Safety.UNSAFE, edits) if edits and has_jax else None
    return None


_BAD = '''\
import jax
import jax.numpy as jnp
import numpy as np


@jax.checkpoint
def loss(x):
    y = jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
    return jnp.sum(x * y)


STAGE = "call"
loss(jnp.ones(3))
STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
'''

RULE = Rule(
    code="JXP402",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.pure_callback", "jax.experimental.io_callback"),
    examples=(
        Example(
            _BAD,
            _BAD.replace("x.dtype), x)", "x.dtype), jax.lax.stop_gradient(x))").replace(
                "jax.pure_callback(np.sin,", "jax.pure_callback(lambda v: np.sin(np.asarray(v)),"
            ),
            Raises("ValueError", "Pure callbacks do not support JVP", "grad"),
        ),
    ),
    check=check,
    fix=fix,
    error_texts=(f"ValueError: {_IO}",),
)
