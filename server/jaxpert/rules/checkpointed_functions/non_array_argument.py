"""A checkpointed function gets a string, a function, a dtype or a plain object as argument.

## What it finds

A call of a checkpointed function, directly, through `jax.grad`, or through `functools.partial`, that passes a string, a
member of an enumeration, a dtype, a function, a class, a set, a range, or an object of a class that is no pytree, for a
parameter that is not static; also inside a list, tuple or dictionary. And `jax.checkpoint` on a method of such a class,
whose `self` is an argument like any other.

## Why it matters

`jax.checkpoint` traces the function, also outside of `jit`: every leaf of every argument must be an array or a number.
The same code works without `jax.checkpoint`. JAX raises at the call:

    TypeError: Argument 'gelu' of type <class 'str'> is not a valid JAX type
    TypeError: Cannot interpret value of type <enum 'Mode'> as an abstract array; it does not have a dtype attribute

## In which versions

All, with and without `jax_remat3`, which words every case like the first.

## What to write instead

`static_argnums`, and pass the argument by position; or bind it before wrapping, with `functools.partial` or in a
closure. For a method: wrap the bound method, `jax.checkpoint(self.layer)(x)`, make `self` static (number 0), or
register the class as a pytree.

## Known limits

A parameter that the call leaves to its default is not traced and may be anything, except under `nnx.remat`. A class is
taken for plain only when its bases and decorators are known and no class in the file is derived from it.
`equinox.filter_checkpoint` takes any argument.

## Source

`shaped_abstractify` in `jax/_src/api_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing.checkpoint_options import made_static
from jaxpert.model.file_model import FileModel
from jaxpert.model.fuel import FUEL
from jaxpert.model.modules import holds_functions
from jaxpert.model.refused_types import Refused, is_plain, refused_in
from jaxpert.model.registrations import has_heirs
from jaxpert.model.speech import raises
from jaxpert.model.transforms import Checkpoint, Parameters, parameters, static_names, traces_only_arrays
from jaxpert.model.values import ClassValue, Def, Symbol
from jaxpert.model.wrapped_calls import Passing, WrappedCall, called_checkpoints, passed, wrapped_calls
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "non-array-argument"

_NEVER_REFUSED = (ast.Compare, ast.BinOp, ast.UnaryOp)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """An argument that JAX refuses."""

    checkpoint: Checkpoint
    known: Parameters
    name: str
    call: WrappedCall
    passing: Passing
    refused: Refused
    range: Range


def check(model: FileModel) -> Iterator[Finding]:
    """Arguments that are no arrays, and methods whose ``self`` is none."""
    for place in _places(model):
        shown = model.text_of(place.passing.node)
        verb = "is" if _is_whole(model, place) else "contains"
        yield Finding(
            NAME,
            place.range,
            f"`{shown}` {verb} {place.refused.words}, which `{place.checkpoint.api.name}` cannot trace: JAX "
            f"raises when `{place.known.display}` is called; {_cure(place)}",
            Severity.ERROR,
            raises(model, "at this call", "TypeError", _text(model, place.refused)),
            tuple(_wrapped_here(model, place.checkpoint, place.known)),
            exceptions=("TypeError",),
        )
    for _, owner, where in _methods(model):
        cls = f"<class '{owner.partition('.')[0]}'>"
        yield Finding(
            NAME,
            where,
            f"`self` of `{owner}` is an argument like any other and no pytree: JAX raises when the method is called; "
            "wrap the bound method instead, make `self` static with `static_argnums`, or register the class",
            Severity.ERROR,
            raises(model, "when the method is called", "TypeError", _text_for(model, cls)),
            exceptions=("TypeError",),
        )


_STEPS = 60
"""What one argument may cost; those that JAX refuses are mostly written in sight."""


def _places(model: FileModel) -> Iterator[_Place]:
    for checkpoint in called_checkpoints(model):
        if traces_only_arrays(checkpoint.api):
            continue
        known = parameters(model, checkpoint)
        static = static_names(model, checkpoint, known) if known is not None else None
        if known is None or static is None:
            continue
        for call in wrapped_calls(model, checkpoint):
            if model.is_dead(call.site.block) or call.transformed:  # then it is `jax.jit` that refuses it
                continue
            for name, passing in passed(known, call).arguments.items():
                if name in static or isinstance(passing.node, _NEVER_REFUSED):
                    continue
                with FUEL.at_most(_STEPS):
                    value = model.evaluate(passing.node, passing.site.scope, passing.site.block)
                refused = next(refused_in(model, value), None)
                where = model.range_of(passing.node)
                if refused is not None and where is not None and not holds_functions(refused.value):
                    yield _Place(checkpoint, known, name, call, passing, refused, where)


def _methods(model: FileModel) -> Iterator[tuple[Checkpoint, str, Range]]:
    """Decorated methods whose ``self`` is traced and no pytree."""
    for checkpoint in model.checkpoints:
        target = checkpoint.target
        if not checkpoint.by_decorator or not isinstance(target, Def) or target.owner is None:
            continue
        known = parameters(model, checkpoint)
        static = static_names(model, checkpoint, known) if known is not None else None
        where = model.range_of(checkpoint.node)
        if known is None or static is None or where is None or model.is_dead(checkpoint.site.block):
            continue
        receiver = known.receiver
        if not receiver or known.names[:1] != (receiver,) or receiver in static or checkpoint.api.library != "jax":
            continue
        if not _has_own_bases(model, target.owner) or has_heirs(model, target.owner):
            continue
        if not is_plain(model, target.owner):
            continue
        if not any("classmethod" in ast.unparse(one) for one in getattr(target.function.node, "decorator_list", ())):
            yield checkpoint, known.display, where


_PLAIN_BASES = {"builtins.object", "abc.ABC", "typing.Generic"}


def _has_own_bases(model: FileModel, cls: ClassValue) -> bool:
    """Whether every base of the class is a class of the user's, or adds nothing."""
    if cls.site is None:
        return False
    for base in cls.node.bases:
        node = base.value if isinstance(base, ast.Subscript) else base
        for option in (cls.model or model).evaluate(node, cls.site.scope, cls.site.block).options():
            is_plain_symbol = isinstance(option, Symbol) and option.path in _PLAIN_BASES
            if not isinstance(option, ClassValue) and not is_plain_symbol:
                return False
    return True


def _is_whole(model: FileModel, place: _Place) -> bool:
    """Whether the argument itself is what is refused, not a part of it."""
    value = model.evaluate(place.passing.node, place.passing.site.scope, place.passing.site.block)
    return any(option is place.refused.value for option in value.options())


def _cure(place: _Place) -> str:
    name = place.name
    partial = " with `functools.partial`" if place.checkpoint.api.library == "jax" else ""
    bind = f"bind `{name}`{partial} before wrapping"
    if place.refused.cure:
        return f"{place.refused.cure}, or {bind}"
    if name not in place.known.names or "static_argnums" not in place.checkpoint.api.roles:
        return bind
    index = place.known.names.index(name)
    how = " and pass it by position" if place.passing.keyword is not None else ""
    return f"make `{name}` static with `static_argnums=({index},)`{how}, or {bind}"


def _text(model: FileModel, refused: Refused) -> str:
    if refused.is_string:
        return f"Argument … of type {refused.type} is not a valid JAX type"
    if refused.words == "a dtype" and "jax.numpy." in refused.type and not model.target.remat3:
        return f"JAX scalar type {refused.type} cannot be interpreted as a JAX array."
    if refused.words == "a dtype" and "numpy." in refused.type and refused.type != "<class 'numpy.dtype'>":
        return "Cannot interpret '<attribute 'dtype' of 'numpy.generic' objects>' as a data type"
    return _text_for(model, refused.type)


def _text_for(model: FileModel, type_shown: str) -> str:
    if model.target.remat3:
        return f"Argument … of type '{type_shown}' is not a valid JAX type"
    return f"Cannot interpret value of type {type_shown} as an abstract array; it does not have a dtype attribute"


def _wrapped_here(model: FileModel, checkpoint: Checkpoint, known: Parameters) -> Iterator[Related]:
    fun = checkpoint.role("fun")
    owner = (known.function.model or model) if checkpoint.by_decorator or fun is None else fun.model
    area = owner.range_of(checkpoint.node)
    if area is not None:
        yield Related(area, f"`{known.display}` is wrapped here", "" if owner is model else owner.path)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make the parameter, or ``self``, static where the function is wrapped."""
    for place in model.every(_places):
        if place.range != finding.range:
            continue
        calls = [passed(place.known, call) for call in wrapped_calls(model, place.checkpoint)]
        by_position = all(
            one.arguments.get(place.name) is not None and one.arguments[place.name].keyword is None and not one.opened
            for one in calls
        )
        if place.name not in place.known.names or not by_position or place.call.is_partial or place.refused.cure:
            return None
        if not _is_whole(model, place):
            return None  # the rest of a container is mostly arrays, which have no hash
        made = made_static(model, place.checkpoint, place.known.names.index(place.name))
        if made is None:
            return None
        return Fix(f"Make `{place.name}` static with `static_argnums={made[0]}`", Safety.SAFE, made[1])
    for checkpoint, owner, where in model.every(_methods):
        made = made_static(model, checkpoint, 0) if where == finding.range else None
        if made is not None:
            return Fix(f"Make `self` of `{owner}` static with `static_argnums={made[0]}`", Safety.UNSAFE, made[1])
    return None


_BAD = '''\
import jax
import jax.numpy as jnp


def block(x, activation):
    return jnp.sum(jnp.tanh(x) if activation == "tanh" else jax.nn.relu(x))


STAGE = "decorate"
block_remat = jax.checkpoint(block)
STAGE = "call"
block_remat(jnp.ones(3), "tanh")
'''

_FUNCTION = '''\
import jax
import jax.numpy as jnp


def block(x, activation):
    return jnp.sum(activation(x))


STAGE = "decorate"
block_remat = jax.checkpoint(block)
STAGE = "call"
block_remat(jnp.ones(3), jnp.tanh)
'''

_METHOD = '''\
import jax
import jax.numpy as jnp


class Block:
    @jax.checkpoint
    def layer(self, x):
        return jnp.sum(jnp.sin(x))


STAGE = "call"
Block().layer(jnp.ones(3))
'''

_METHOD_GOOD = '''\
import jax
import jax.numpy as jnp


class Block:
    def layer(self, x):
        return jnp.sum(jnp.sin(x))


STAGE = "call"
jax.checkpoint(Block().layer)(jnp.ones(3))
'''

_CANNOT = "as an abstract array; it does not have a dtype attribute"

RULE = Rule(
    code="JXP121",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("jax.checkpoint(block)", "jax.checkpoint(block, static_argnums=(1,))"),
            proof=Raises("TypeError", "of type <class 'str'> is not a valid JAX type", "call"),
        ),
        Example(
            bad=_FUNCTION,
            good=_FUNCTION.replace("jax.checkpoint(block)", "jax.checkpoint(block, static_argnums=(1,))"),
            proof=Raises("TypeError", _CANNOT, "call", remat3=False),
        ),
        Example(bad=_METHOD, good=_METHOD_GOOD, proof=Raises("TypeError", _CANNOT, "call", remat3=False)),
    ),
    check=check,
    fix=fix,
)
