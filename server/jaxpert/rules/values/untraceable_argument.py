"""A transformed function gets a string, a function or a plain object for an argument that is traced.

## What it finds

A call of what `jax.jit`, `jax.vmap`, `jax.grad` or another transformation made, or of `jax.lax.scan`, `cond`,
`jax.vjp`, `jax.eval_shape` and their like, that passes a string, a member of an enumeration, a function, a dtype, a
class, a set, a range, or an object of a class that is no pytree, where JAX wants an array; also inside a list, tuple
or dictionary, and by way of a parameter whose default is a string. And `@jax.jit` on a method of such a class, whose
`self` is an argument like any other.

## Why it matters

JAX replaces every argument by a tracer, and a tracer stands for an array. It raises at the call:

    TypeError: Error interpreting argument to <function act at 0x…> as an abstract array. The problematic value is of
    type <class 'str'> and was passed to the function at path kind.
    TypeError: Cannot interpret value of type <class 'function'> as an abstract array; it does not have a dtype
    attribute

## In which versions

All. Before 0.4.34 `jax.jit` says "Argument 'a' of type <class 'str'> is not a valid JAX type" or "Cannot interpret
value of type …"; `jax.vmap` before 0.7.2 takes the value for a scalar: "vmap was requested to map its argument along
axis 0, which implies that its rank should be at least 1".

## What to write instead

With `jax.jit`, make the parameter static: `static_argnames=("kind",)`. With `jax.vmap`, give it `None` in `in_axes`.
Elsewhere bind it before: `functools.partial(f, kind="relu")`, or a closure. For a method of a plain class make `self`
static, or register the class as a pytree.

## Known limits

A parameter that the call leaves to its default is not traced and may be anything. `jax.grad` looks only at the
arguments of `argnums`. Of classes of other modules nothing is said when they may be registered there.

## Source

`shaped_abstractify` in `jax/_src/api_util.py`, `_check_arg` in `jax/_src/api.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from packaging.version import Version

from jaxpert.fixing.checkpoint_options import with_option
from jaxpert.fixing.static_names import named_static, unmapped
from jaxpert.jaxdb.schema import Api
from jaxpert.model.arrays import Arrays
from jaxpert.model.calls import Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.first_turns import on_first_turn
from jaxpert.model.refused_types import Refused, is_plain, refused_in
from jaxpert.model.registrations import has_heirs
from jaxpert.model.speech import raises
from jaxpert.model.transformed_calls import (
    TransformedCall,
    applications,
    looked_at,
    operands,
    parameter_names,
    static_parameters,
    string_parameter,
    transformed_calls,
)
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import Def, Instance
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "untraceable-argument"

_JIT_NAMES_ARGUMENT = Version("0.4.34")
_VMAP_LOOKS_AT_TYPE = Version("0.7.2")
_VJP_HAS_OWN_EXCEPTION = Version("0.8.0")
_NEVER_REFUSED = (ast.Compare, ast.BinOp, ast.UnaryOp, ast.Constant)


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """An argument that JAX refuses.

    ``call`` is None when the transformation runs at once, ``is_swapped`` when its function stands in this place.
    """

    api: Api
    argument: Argument
    refused: Refused
    range: Range
    name: str
    position: int | None
    call: TransformedCall | None
    is_swapped: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the argument itself is what is refused, not a part of it."""
        refused = self.refused.value
        options = list(self.argument.value.options())
        return refused.site is None or any(option is refused for option in options)


def check(model: FileModel) -> Iterator[Finding]:
    """Arguments that are no arrays, and methods whose ``self`` is none."""
    for place in _places(model):
        text, exception = _text(model, place)
        verb = "is" if place.is_whole else "contains"
        yield Finding(
            NAME,
            place.range,
            f"`{model.text_of(place.argument.node)}` {verb} {place.refused.words}, which `{place.api.name}` cannot "
            f"trace: JAX raises {exception} at this call; {_cure(place)}",
            Severity.ERROR,
            raises(model, "at this call", exception, text),
            tuple(_made_here(model, place)),
            exceptions=tuple({exception, "TypeError"}),
        )
    for _, owner, where in _methods(model):
        yield Finding(
            NAME,
            where,
            f"`self` of `{owner}` is an argument like any other and no pytree: JAX raises TypeError when the method is "
            "called; make `self` static with `static_argnums=0`, or register the class as a pytree",
            Severity.ERROR,
            raises(
                model, "when the method is called", "TypeError", _jit_text(model, f"<class '{owner}'>", "self", False)
            ),
            exceptions=("TypeError",),
        )


def _places(model: FileModel) -> Iterator[_Place]:
    for call in transformed_calls(model):
        if {"compiles", "maps"} <= call.api.traits or model.is_dead(call.site.block):
            continue  # pmap: what it says differs from release to release
        for passed in looked_at(call) or ():
            yield from _refused(model, call.api, passed.argument, passed.name, passed.position, call)
    for made in model.calls:
        for argument in operands(made) if not model.is_dead(made.site.block) else ():
            if argument.model is model:
                for place in _refused(model, made.api, argument, "", None, None):
                    fun = made.role("fun")
                    is_number = fun is not None and _is_number(fun)
                    yield replace(place, is_swapped=is_number and place.refused.words == "a function")


def _is_number(argument: Argument) -> bool:
    """Whether an argument that should be a function is a number or an array."""
    return Arrays(argument.model).of(argument.node, (argument.site.scope, argument.site.block)) is not None


def _refused(
    model: FileModel, api: Api, argument: Argument, name: str, position: int | None, call: TransformedCall | None
) -> Iterator[_Place]:
    node = argument.node
    if isinstance(node, _NEVER_REFUSED) and not (
        isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes))
    ):
        return
    found = next(refused_in(model, argument.value), None) or string_parameter(argument)
    if found is None:
        found = next(refused_in(model, on_first_turn(model, argument)), None)
        if found is not None and not found.cure and isinstance(found.value, Instance):
            found = replace(found, cure="register the class as a pytree")
    where = model.range_of(node)
    if found is not None and where is not None:
        yield _Place(api, argument, found, where, name, position, call)


def _methods(model: FileModel) -> Iterator[tuple[Checkpoint, str, Range]]:
    """Methods under ``@jax.jit`` whose ``self`` is traced and no pytree."""
    for made_by in applications(model):
        target, where = made_by.target, model.range_of(made_by.node)
        if not made_by.by_decorator or not isinstance(target, Def) or target.owner is None or where is None:
            continue
        names = parameter_names(target)
        static = static_parameters(made_by) if "compiles" in made_by.api.traits else None
        if not names or static is None or 0 in static[1] or names[0] != "self" or model.is_dead(made_by.site.block):
            continue
        decorators = [ast.unparse(one) for one in getattr(target.function.node, "decorator_list", ())]
        if target.owner.node.bases or has_heirs(model, target.owner) or "staticmethod" in decorators:
            continue
        if is_plain(model, target.owner) and "maps" not in made_by.api.traits:
            yield made_by, target.owner.node.name, where


def _cure(place: _Place) -> str:
    name = f"`{place.name}`" if place.name else "it"
    if place.is_swapped:
        return "the function stands before the value that it gets: swap them"
    if place.refused.cure and "maps" not in place.api.traits:
        return place.refused.cure
    if place.call is None or "differentiates" in place.api.traits:
        return "bind it before with `functools.partial`, or leave it to a closure"
    if "maps" in place.api.traits:
        return (
            f"give {name} None in `in_axes`" if place.position is not None else f"bind {name} with `functools.partial`"
        )
    if not place.is_whole:
        return "leave it out there, and pass it on its own as a static argument"
    if "static_argnames" not in place.api.roles:
        return f"make {name} static with `static_argnums`"
    shown = f'`static_argnames=("{place.name}",)`' if place.name else "`static_argnames`"
    return f"make {name} static with {shown}"


def _text(model: FileModel, place: _Place) -> tuple[str, str]:
    """What JAX says, and the exception's class."""
    refused, version = place.refused, model.target.version
    if place.is_swapped and place.api.name == "jax.lax.fori_loop":
        return "lax.fori_loop: body_fun argument should be callable.", "TypeError"
    if "static_argnums" in place.api.roles or place.api.name == "jax.eval_shape":
        return _jit_text(model, refused.type, place.name, refused.is_string), "TypeError"
    if "maps" in place.api.traits and version < _VMAP_LOOKS_AT_TYPE:
        text = (
            "vmap was requested to map its argument along axis 0, which implies that its rank should be at least 1, "
            "but is only 0 (its shape is ())"
        )
        return text, "ValueError"
    own = place.api.name == "jax.vjp" and version >= _VJP_HAS_OWN_EXCEPTION
    return f"Argument … of type {refused.type} is not a valid JAX type", "InvalidInputException" if own else "TypeError"


def _jit_text(model: FileModel, type_shown: str, name: str, is_string: bool) -> str:
    if model.target.version >= _JIT_NAMES_ARGUMENT:
        return (
            "Error interpreting argument to <function …> as an abstract array. The problematic value is of type "
            f"{type_shown} and was passed to the function at path {name or '…'}."
        )
    if is_string:
        return f"Argument … of type {type_shown} is not a valid JAX type"
    return f"Cannot interpret value of type {type_shown} as an abstract array; it does not have a dtype attribute"


def _made_here(model: FileModel, place: _Place) -> Iterator[Related]:
    if place.call is not None:
        owner = place.call.owner
        area = owner.range_of(place.call.made_by.node)
        if area is not None and not (owner is model and place.range.start in (area.start, area.end)):
            yield Related(area, f"{place.call.display} is transformed here", "" if owner is model else owner.path)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make the parameter static where the function is compiled, or leave the argument unmapped."""
    for place in model.every(_places):
        if place.range != finding.range or place.call is None:
            continue
        if "maps" in place.api.traits:
            made = unmapped(model, place.call, {place.position}) if place.position is not None else None
            return Fix(f"Leave it unmapped: `in_axes={made[0]}`", Safety.SAFE, made[1]) if made else None
        if place.call.owner is not model or not place.name or not place.is_whole or not _always(model, place):
            return None
        if place.refused.cure:
            return None
        made = named_static(model, place.call.made_by, place.name)
        title = f"Make `{place.name}` static with `static_argnames={made[0]}`" if made else ""
        return Fix(title, Safety.SAFE, made[1]) if made else None
    for made_by, owner, where in model.every(_methods):
        if (
            where == finding.range
            and made_by.role("static_argnums") is None
            and made_by.role("static_argnames") is None
        ):
            edits = with_option(model, made_by, "static_argnums", "0")
            return Fix(f"Make `self` of `{owner}` static", Safety.UNSAFE, edits) if edits else None
    return None


def _always(model: FileModel, place: _Place) -> bool:
    """Whether every visible call passes such a value, or none, for the parameter."""
    for call in transformed_calls(model):
        if place.call is not None and call.made_by.node is place.call.made_by.node:
            for passed in looked_at(call) or ():
                value = passed.argument.value
                if passed.name == place.name and next(refused_in(model, value), None) is None:
                    return False
    return True


_STRING = """\
import jax
import jax.numpy as jnp


@jax.jit
def act(x, kind):
    return jnp.tanh(x) if kind == "tanh" else x


STAGE = "call"
act(jnp.ones(3), "tanh")
"""

_FUNCTION = """\
import jax
import jax.numpy as jnp


def apply(f, x):
    return f(x)


STAGE = "call"
jax.jit(apply)(jnp.sin, 1.0)
"""

_VMAP = """\
import jax
import jax.numpy as jnp


def shift(x, mode):
    return x + 1 if mode == "up" else x - 1


STAGE = "call"
jax.vmap(shift)(jnp.arange(3.0), "up")
"""

_METHOD = """\
import jax


class Scale:
    def __init__(self):
        self.factor = 2.0

    @jax.jit
    def apply(self, x):
        return x * self.factor


STAGE = "call"
Scale().apply(1.0)
"""

RULE = Rule(
    code="JXP601",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.jit", "jax.grad", "jax.value_and_grad", "jax.vmap"),
    examples=(
        Example(
            bad=_STRING,
            good=_STRING.replace("import jax\n", "import functools\n\nimport jax\n", 1).replace(
                "@jax.jit", '@functools.partial(jax.jit, static_argnames=("kind",))'
            ),
            proof=Raises("TypeError", "of type <class 'str'>", "call"),
        ),
        Example(
            bad=_FUNCTION,
            good=_FUNCTION.replace("jit(apply)", 'jit(apply, static_argnames=("f",))'),
            proof=Raises("TypeError", "as an abstract array", "call"),
        ),
        Example(
            bad=_VMAP,
            good=_VMAP.replace("vmap(shift)", "vmap(shift, in_axes=(0, None))"),
            proof=Raises("TypeError", "of type <class 'str'> is not a valid JAX type", "call", since="0.7.2"),
        ),
        Example(
            bad=_METHOD,
            good=_METHOD.replace("import jax\n", "import functools\n\nimport jax\n", 1).replace(
                "@jax.jit", "@functools.partial(jax.jit, static_argnums=0)"
            ),
            proof=Raises("TypeError", "as an abstract array", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
