"""A mutable array is written in a checkpointed function.

## What it finds

A write to a mutable array (`jax.new_ref`, before that `jax.array_ref` and `mutable_array`) inside a function that
`jax.checkpoint` (or a wrapper around it) makes: `ref[...] += 1`, `ref[...] = x`, `jax.ref.set`, `swap`, `addupdate`,
also through helper functions and other modules. Whether the Ref is passed, closed over or global makes no difference.

## Why it matters

The backward pass runs the function again, and its writes with it. A counter counts one `jax.grad` twice, a running
sum takes each value in twice, and JAX says nothing:

    three evaluations, two of them differentiated: the counter is 5

What the function reads from the Ref is read again, too, and is the changed value by then: the gradient of
`jnp.sin(y) * scale[...]` with `scale[...] = 5.0` below it is that of `5 * jnp.sin(y)`.

A write that takes nothing from the Ref stores the same value again, which only matters when something else was stored
in between.

Some writes raise instead when the function is differentiated. Storing a value that carries the derivative in a Ref
from outside, which happens without `jax.checkpoint` too:

    Exception: performing a set/swap operation with a differentiated value on a non-differentiated array reference …

`addupdate` of a Ref from outside, whatever is added (`TypeError: … type <class 'jax._src.ad_util.Zero'> …`). And
storing such a value in a Ref that the function itself makes from a constant, which works without `jax.checkpoint`:

    NotImplementedError: Mutating a reference with unknown/differentiated values is not supported.

(before 0.11.2 a `KeyError`; it works with `jax_remat3`).

## In which versions

0.8.1 and later; before that JAX rejects every such Ref (see `unsupported-effect-in-checkpoint`). With `jax_remat3` on
from 0.11.1.

## What to write instead

Since 0.10: `jax.new_ref(x, kind="no_grad_no_remat")`, whose writes are not repeated and not differentiated. In earlier
versions return the new value from the function and write it outside. A Ref made inside: start it from a value that
carries the derivative, or compute without it.

## Known limits

A warning only where the write takes its value from the Ref or the Ref is read above it, information for others; an
error only where this file differentiates the function and the value plainly comes from what it differentiates. Refs
known by annotation alone may be of the kind that is not repeated: information. Not reported when the policy is
`everything_saveable` or unknown.

## Source

`remat_partial_eval` in `jax/_src/ad_checkpoint.py` replays state effects; `_swap_jvp` in
`jax/_src/state/primitives.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.differentiation import DifferentiatedEffect, carries_derivative, where_differentiated
from jaxpert.model.effect_kinds import Effect, EffectKind, RefOrigin
from jaxpert.model.effect_places import effects_at, function_name, recomputes, shown, ways
from jaxpert.model.file_model import FileModel
from jaxpert.model.ref_crossings import ref_crossings
from jaxpert.model.ref_writes import (
    NOT_REPEATED,
    adds,
    can_be_marked,
    is_constant,
    is_not_repeated,
    markable,
    read_before,
    takes_from_itself,
)
from jaxpert.model.speech import raises, silent
from jaxpert.model.transforms import Checkpoint
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity, Silent
from jaxpert.text.lines import Range

NAME = "ref-written-in-checkpoint"

_REFS_OUTSIDE, _REFS_INSIDE = Version("0.8.1"), Version("0.7.2")
_REMAT3_REFS, _NAMED_ERROR = Version("0.11.1"), Version("0.11.2")
_CROSSING = Version("0.12.0")  # before, a Ref of the differentiated function may not be used by a checkpointed one


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    """A write that is worth a word.

    Attributes:
        marked: the call that makes the Ref, when it can say that writes are not repeated.
    """

    checkpoint: Checkpoint
    effect: Effect
    range: Range
    problem: str
    cure: str
    severity: Severity
    consequence: str
    exceptions: tuple[str, ...]
    marked: ast.Call | None


def check(model: FileModel) -> Iterator[Finding]:
    """Writes of Refs in checkpointed functions."""
    for write in _writes(model):
        function = function_name(model, write.checkpoint)
        yield Finding(
            NAME,
            write.range,
            f"{write.problem}; {write.cure}",
            write.severity,
            write.consequence,
            (*_made(model, write.effect), *ways(model, write.checkpoint, write.effect, write.range)),
            data=(("function", function),),
            exceptions=write.exceptions,
        )


def _writes(model: FileModel) -> Iterator[_Write]:
    version, remat3 = model.target.version, model.target.remat3
    if version < _REFS_INSIDE or (remat3 and version < _REMAT3_REFS):
        return
    crossing = {id(each.node) for each in ref_crossings(model) if each.made_inside} if remat3 else set()
    for checkpoint, effect, where in effects_at(model, {EffectKind.REF_WRITE}):
        ref = effect.ref
        if ref is None or any(step.own_derivative for step in effect.steps) or is_not_repeated(model, ref):
            continue
        found = where_differentiated(model, checkpoint, effect)
        if id(effect.node) in crossing:
            continue  # JAX raises, which is another rule's
        if ref.origin is RefOrigin.INSIDE:
            write = None if remat3 or found is None else _inside(model, checkpoint, effect, where, found)
        elif version < _REFS_OUTSIDE or _made_where_differentiated(model, found):
            write = None
        else:
            write = _raising(model, checkpoint, effect, where, found) or _repeated(model, checkpoint, effect, where)
        if write is not None:
            yield write


def _made_where_differentiated(model: FileModel, found: DifferentiatedEffect | None) -> bool:
    """Whether the function that is differentiated makes the Ref, which raises in this JAX: another rule's."""
    ref = found[1].ref if found is not None else None
    return ref is not None and ref.origin is RefOrigin.INSIDE and model.target.version < _CROSSING


def _inside(
    model: FileModel, checkpoint: Checkpoint, effect: Effect, where: Range, found: DifferentiatedEffect
) -> _Write | None:
    """A Ref made inside from a constant that gets a value which carries the derivative."""
    creation = effect.ref.creation if effect.ref is not None else None
    if creation is None or not is_constant(model, creation) or carries_derivative(model, found, effect.stored) is None:
        return None
    function = function_name(model, checkpoint)
    named = model.target.version >= _NAMED_ERROR
    text = "Mutating a reference with unknown/differentiated values is not supported." if named else "Var(id=…)"
    exception = "NotImplementedError" if named else "KeyError"
    return _Write(
        checkpoint, effect, where,
        f"`{effect.name}` starts as a constant and gets a value that carries the derivative, which a checkpointed "
        f"function does not support: JAX raises when `{function}` is differentiated",
        "compute the value without a Ref", Severity.ERROR,
        raises(model, f"when `{function}` is differentiated", exception, text), (exception,), None,
    )  # fmt: skip


def _raising(
    model: FileModel, checkpoint: Checkpoint, effect: Effect, where: Range, found: DifferentiatedEffect | None
) -> _Write | None:
    """A write to a Ref from outside that raises where the file differentiates the function."""
    ref = found[1].ref if found is not None else None
    if found is None or ref is None or ref.origin not in (RefOrigin.OUTSIDE, RefOrigin.PARAMETER):
        return None
    root = effect.name.partition(".")[0].partition("[")[0]
    if ref.creation is None or root in found[0].names:  # a Ref that is differentiated itself may be written
        return None
    function = function_name(model, checkpoint)
    when = f"when `{function}` is differentiated"
    marked = markable(model, effect.ref)
    cure = _cure(model, effect)
    if adds(effect):
        text = "… The problematic value is of type <class 'jax._src.ad_util.Zero'> and was passed to addupdate …"
        return _Write(
            checkpoint, effect, where,
            f"`{shown(effect)}` adds to a Ref that is not differentiated: JAX raises {when}", cure, Severity.ERROR,
            raises(model, when, "TypeError", text), ("TypeError",), marked,
        )  # fmt: skip
    carrier = carries_derivative(model, found, effect.stored)
    if carrier is None:
        return None
    stopped = f"store `jax.lax.stop_gradient({effect.model.text_of(carrier)})`"
    text = "performing a set/swap operation with a differentiated value on a non-differentiated array reference …"
    return _Write(
        checkpoint, effect, where,
        f"`{effect.model.text_of(carrier)}` carries the derivative, and `{effect.name}` is a Ref from outside: JAX "
        f"raises {when}", f"{cure}, or {stopped}" if marked else stopped, Severity.ERROR,
        raises(model, when, "Exception", text), ("Exception",), marked,
    )  # fmt: skip


def _repeated(model: FileModel, checkpoint: Checkpoint, effect: Effect, where: Range) -> _Write | None:
    """A write that runs again on the backward pass."""
    if effect.ref is None or not recomputes(model, checkpoint):
        return None
    function = function_name(model, checkpoint)
    takes, before = adds(effect) or takes_from_itself(model, checkpoint, effect), read_before(model, checkpoint, effect)
    is_certain = (takes or before) and effect.ref.creation is not None
    effected = "takes the change in twice" if takes else "stores it a second time"
    if before:
        effected = "reads the changed value, so that the gradient is wrong"
    return _Write(
        checkpoint, effect, where,
        f"`{effect.name}` is written in a checkpointed function: the backward pass runs `{function}` again and "
        f"{effected}", _cure(model, effect), Severity.WARNING if is_certain else Severity.INFORMATION,
        silent(model, f"one `jax.grad` of `{function}` writes `{effect.name}` twice"), (), markable(model, effect.ref),
    )  # fmt: skip


def _cure(model: FileModel, effect: Effect) -> str:
    if can_be_marked(model, effect.ref.creation if effect.ref is not None else None):
        return f'make the Ref with `kind="{NOT_REPEATED}"`'
    return "return the new value and write it outside"


def _made(model: FileModel, effect: Effect) -> tuple[Related, ...]:
    creation = effect.ref.creation if effect.ref is not None else None
    owner = creation.model or model if creation is not None else model
    area = owner.range_of(creation.call) if creation is not None else None
    if area is None:
        return ()
    return (Related(area, f"`{effect.name}` is made here", "" if owner is model else owner.path),)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Say where the Ref is made that its writes are not repeated."""
    for write in model.every(_writes):
        where = model.range_of(write.marked) if write.marked is not None else None
        if write.range != finding.range or where is None:
            continue
        edits = verbs.add_keyword(model.source.lines, where, "kind", f'"{NOT_REPEATED}"')
        safety = Safety.SAFE if write.severity is Severity.WARNING else Safety.UNSAFE
        return Fix(f'Make `{write.effect.name}` with `kind="{NOT_REPEATED}"`', safety, edits) if edits else None
    return None


_BAD = '''\
import jax
import jax.numpy as jnp

calls = jax.new_ref(0.0)


@jax.checkpoint
def loss(x):
    calls[...] += 1.0
    return jnp.sin(jnp.sin(x))


STAGE = "grad"
jax.grad(loss)(1.0)
counted = float(calls[...])
'''

_MARKED = _BAD.replace("(0.0)", '(0.0, kind="no_grad_no_remat")')

_OUTSIDE = _BAD.replace("    calls[...] += 1.0\n", "").replace("counted", "calls[...] += 1.0\ncounted")

_GRADIENT = '''\
import jax
import jax.numpy as jnp

scale = jax.new_ref(1.0)


@jax.checkpoint
def loss(x):
    y = jnp.sin(x) * scale[...]
    scale[...] = 5.0
    return y


STAGE = "grad"
gradient = float(jax.grad(loss)(0.0))
'''

_GRADIENT_GOOD = _GRADIENT.replace("    scale[...] = 5.0\n", "") + "scale[...] = 5.0\n"

_STORED = '''\
import jax
import jax.numpy as jnp

hidden = jax.new_ref(jnp.zeros(3))


@jax.checkpoint
def loss(x):
    y = jnp.sin(x)
    hidden[...] = y
    return jnp.sum(jnp.sin(y))


STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
'''

_STORED_GOOD = '''\
import jax
import jax.numpy as jnp

hidden = jax.new_ref(jnp.zeros(3))


@jax.checkpoint
def loss(x):
    y = jnp.sin(x)
    return jnp.sum(jnp.sin(y)), y


STAGE = "grad"
_, y = jax.grad(loss, has_aux=True)(jnp.ones(3))
hidden[...] = y
'''

_MADE_INSIDE = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def loss(x):
    hidden = jax.new_ref(jnp.zeros(3))
    hidden[...] = jnp.sin(x)
    return jnp.sum(jnp.sin(hidden[...]))


STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
'''

_MADE_INSIDE_GOOD = _MADE_INSIDE.replace("    hidden = jax.new_ref(jnp.zeros(3))\n", "").replace(
    "hidden[...]", "hidden"
)

RULE = Rule(
    code="JXP404",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "checkpoint",
        "jax.new_ref",
        "jax.empty_ref",
        "jax.Ref",
        "jax.experimental.mutable_array",
        "jax.ref.set",
        "jax.ref.swap",
        "jax.ref.addupdate",
    ),
    examples=(
        Example(_BAD, _OUTSIDE, Silent("counted == 2.0", since="0.8.1", remat3=False)),
        Example(_BAD, _MARKED, Silent("counted == 2.0", since="0.10.0", remat3=False)),
        Example(_GRADIENT, _GRADIENT_GOOD, Silent("gradient == 5.0", since="0.8.1", remat3=False)),
        Example(
            _STORED, _STORED_GOOD,
            Raises("Exception", "with a differentiated value", "grad", since="0.8.1", remat3=False),
        ),
        Example(
            _MADE_INSIDE, _MADE_INSIDE_GOOD,
            Raises("NotImplementedError", "Mutating a reference with", "grad", since="0.11.2", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
    error_texts=("KeyError: Var(id=…):float32[4]", "TypeError: … type <class 'jax._src.ad_util.Zero'> … addupdate …"),
)  # fmt: skip
