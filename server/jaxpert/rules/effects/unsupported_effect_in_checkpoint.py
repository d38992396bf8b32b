"""A checkpointed function has an effect that its backward pass does not support.

## What it finds

Inside a function that `jax.checkpoint` (or a wrapper around it) makes, also through helper functions and other
modules of the workspace:

- `io_callback`, whatever it is given, ordered or not;
- `checkify.check` and `debug_check`, before JAX 0.8;
- mutable arrays (Refs) made inside, before JAX 0.7.2;
- mutable arrays that come from outside, closed over or passed, before JAX 0.8.1, and with `jax_remat3` before 0.11.1.

## Why it matters

The forward pass works, under `jit` too. JAX raises when the function is differentiated:

    NotImplementedError: Effects not supported in partial-eval of `checkpoint`/`remat`: [<…IOEffect object at 0x…>]

Since 0.11.1 the text says `in AD of`, except with `jax_remat3` on. When the callback is given a value that carries
the derivative, another error comes first, the one that also comes without `jax.checkpoint`:

    ValueError: IO callbacks do not support JVP.

`jax.lax.stop_gradient` only trades the second error for the first.

## In which versions

`io_callback`: all; with `jax_remat3` in 0.10.2 and 0.11.0 only where it is given a value that carries the derivative.
The others as listed above.

## What to write instead

Return the value from the checkpointed function and call `io_callback` outside. Where it is enough to look at values,
`jax.debug.callback` is allowed inside; it runs again on the backward pass. Checks: put `checkify.checkify` around the
function inside the checkpoint, or upgrade. Refs: upgrade, or pass values in and out.

## Known limits

An error where this file differentiates the checkpointed function by reverse mode (`grad`, `value_and_grad`, `vjp`,
`linearize`, `jacrev`, …); information where no such use is seen, since calling alone works. Callbacks in functions
whose derivative is given by hand (`custom_vjp`, `custom_jvp`) are left out.

## Source

`remat_partial_eval` in `jax/_src/ad_checkpoint.py`, `io_callback_jvp_rule` in `jax/_src/callback.py`; measured on
0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.differentiation import carries_derivative, where_differentiated
from jaxpert.model.effect_kinds import REF_EFFECTS, Effect, EffectKind, RefOrigin
from jaxpert.model.effect_paths import operands_of
from jaxpert.model.effect_places import effects_at, function_name, shown, ways
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import is_none
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "unsupported-effect-in-checkpoint"

_CHECKS, _REFS_INSIDE, _REFS_OUTSIDE = Version("0.8.0"), Version("0.7.2"), Version("0.8.1")
_IN_AD = Version("0.11.1")  # also the first whose remat3 handles Refs, and rejects callbacks that it passed before
_KINDS = REF_EFFECTS | {EffectKind.IO_CALLBACK, EffectKind.CHECK}


def check(model: FileModel) -> Iterator[Finding]:
    """Effects of checkpointed functions that the backward pass rejects in the target version."""
    version, remat3 = model.target.version, model.target.remat3
    kinds = {EffectKind.IO_CALLBACK}
    if version < _CHECKS:
        kinds |= {EffectKind.CHECK}
    if version < _REFS_OUTSIDE or (remat3 and version < _IN_AD):
        kinds |= REF_EFFECTS
    named: set[tuple[object, ...]] = set()
    for checkpoint, effect, where in effects_at(model, kinds):
        creation = effect.ref.creation if effect.ref is not None else None
        key = (id(checkpoint.node), creation.call if creation is not None else where)
        if not _is_rejected(model, effect) or key in named:
            continue
        named.add(key)  # one use of each Ref is enough
        found = where_differentiated(model, checkpoint, effect)
        carries = found is not None and carries_derivative(model, found, operands_of(effect)) is not None
        is_certain, exception, text = _raised(model, effect, carries)
        if not is_certain:
            continue
        function = function_name(model, checkpoint)
        yield Finding(
            NAME,
            where,
            f"`{shown(effect)}` is an effect that the backward pass of a checkpointed function does not support: JAX "
            f"raises when `{function}` is differentiated; {_cure(effect)}",
            Severity.ERROR if found is not None else Severity.INFORMATION,
            raises(model, f"when `{function}` is differentiated", exception, text),
            ways(model, checkpoint, effect, where),
            exceptions=("NotImplementedError", "ValueError", exception),
        )


def _is_rejected(model: FileModel, effect: Effect) -> bool:
    if any(step.own_derivative for step in effect.steps):
        return False
    if effect.kind not in REF_EFFECTS:
        return True
    inside = effect.ref is not None and effect.ref.origin is RefOrigin.INSIDE
    if model.target.remat3:
        return not inside
    return model.target.version < (_REFS_INSIDE if inside else _REFS_OUTSIDE)


def _raised(model: FileModel, effect: Effect, carries: bool) -> tuple[bool, str, str]:
    """Whether JAX raises, the exception and its text; ``carries``: the callback gets what is differentiated."""
    remat3, version = model.target.remat3, model.target.version
    if effect.kind in REF_EFFECTS and remat3:
        return True, "AssertionError", "(without any text)"
    if effect.kind is EffectKind.IO_CALLBACK and remat3 and version < _IN_AD and not carries:
        return False, "", ""
    if effect.kind is EffectKind.IO_CALLBACK and carries and not (remat3 and version >= _IN_AD):
        return True, "ValueError", "IO callbacks do not support JVP."
    stage = "AD" if version >= _IN_AD and not remat3 else "partial-eval"
    what = {EffectKind.IO_CALLBACK: "IOEffect", EffectKind.CHECK: "ErrorEffect"}.get(effect.kind, "WriteEffect")
    return True, "NotImplementedError", f"Effects not supported in {stage} of `checkpoint`/`remat`: [… {what} …]"


def _cure(effect: Effect) -> str:
    if effect.kind is EffectKind.IO_CALLBACK:
        return "call it outside with what the function returns, or use `jax.debug.callback`, which runs twice"
    if effect.kind is EffectKind.CHECK:
        return "check outside of it, or put `checkify.checkify` inside the checkpoint"
    return "pass the value in and return the new one"


def _at(model: FileModel, where: Range) -> tuple[Checkpoint, Effect] | None:
    for checkpoint, effect, place in effects_at(model, {EffectKind.IO_CALLBACK}):
        if place == where and effect.model is model and not effect.steps:
            return checkpoint, effect
    return None


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Turn an ``io_callback`` whose result is nothing into ``jax.debug.callback``."""
    found = _at(model, finding.range)
    call = found[1].call if found is not None else None
    if call is None:
        return None
    result = call.arguments.get("result_shape_dtypes")
    is_nothing = result is not None and is_none(result.value)
    known = {"callback", "result_shape_dtypes", "ordered"}
    if result is None or not is_nothing or call.is_partial or set(call.arguments) - known:
        return None
    lines, where, func = model.source.lines, model.range_of(call.node), model.range_of(call.node.func)
    index = next((n for n, argument in enumerate(call.node.args) if argument is result.node), None)
    jax = ensure_import(lines, "import jax", where.start) if where is not None else None
    if where is None or func is None or index is None or jax is None:
        return None
    renamed = verbs.replace_expression(lines, func, f"{jax.name}.debug.callback")
    removed = verbs.remove_argument(lines, where, index)
    if not renamed or not removed:
        return None
    title = "Use `jax.debug.callback`, which runs again on the backward pass"
    return Fix(title, Safety.UNSAFE, (*jax.edits, *renamed, *removed))


_BAD = '''\
import jax
import jax.numpy as jnp
from jax.experimental import io_callback

seen = []


@jax.checkpoint
def loss(x):
    y = jnp.sin(x)
    io_callback(seen.append, None, jax.lax.stop_gradient(y))
    return jnp.sum(jnp.sin(y))


STAGE = "call"
loss(jnp.ones(3))
STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
'''

_GOOD = '''\
import jax
import jax.numpy as jnp
from jax.experimental import io_callback

seen = []


@jax.checkpoint
def loss(x):
    y = jnp.sin(x)
    return jnp.sum(jnp.sin(y)), y


STAGE = "call"
loss(jnp.ones(3))
STAGE = "grad"
_, y = jax.grad(loss, has_aux=True)(jnp.ones(3))
io_callback(seen.append, None, y)
'''

_ON_PATH = _BAD.replace("jax.lax.stop_gradient(y)", "y")

RULE = Rule(
    code="JXP401",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.experimental.io_callback"),
    examples=(
        Example(_BAD, _GOOD, Raises("NotImplementedError", "Effects not supported in", "grad", remat3=False)),
        Example(_ON_PATH, _GOOD, Raises("ValueError", "IO callbacks do not support JVP.", "grad", remat3=False)),
    ),
    check=check,
    fix=fix,
    error_texts=("NotImplementedError: Effects not supported in AD of `checkpoint`/`remat`: […]",),
)
