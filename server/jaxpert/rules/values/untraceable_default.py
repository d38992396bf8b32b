"""A parameter of a jitted function has a default that could never be passed.

## What it finds

A function under `@jax.jit` with a parameter whose default is a string, a function, a dtype, or something else that
JAX cannot trace, while the parameter is not static.

## Why it matters

As long as nobody passes the argument the default is used inside as it is. The first call that passes it, even with
the same value, raises:

    TypeError: Error interpreting argument to <function act at 0x…> as an abstract array. The problematic value is of
    type <class 'str'> and was passed to the function at path kind.

## In which versions

All. Before 0.4.34 JAX says "Argument 'relu' of type <class 'str'> is not a valid JAX type".

## What to write instead

`static_argnames=("kind",)`: then the parameter can be passed, and the function is compiled once for each value.

## Known limits

Only functions that are decorated: where `jax.jit(f)` is called, `f` itself may be called elsewhere with other values.

## Source

`shaped_abstractify` in `jax/_src/api_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing.static_names import named_static
from jaxpert.model.file_model import FileModel
from jaxpert.model.refused_types import Refused, refused_in
from jaxpert.model.speech import silent
from jaxpert.model.transformed_calls import applications, static_parameters
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import Def
from jaxpert.rulekit.rule import Example, Finding, Fix, Related, Rule, Safety, Severity, Silent
from jaxpert.text.lines import Range

NAME = "untraceable-default"

_PLAIN = (ast.Compare, ast.BinOp, ast.UnaryOp)


def check(model: FileModel) -> Iterator[Finding]:
    """Defaults of decorated functions."""
    for made_by, name, refused, where in _places(model):
        area = model.range_of(made_by.node)
        related = (Related(area, f"`{made_by.api.name}` is applied here"),) if area is not None else ()
        yield Finding(
            NAME,
            where,
            f"the default of `{name}` is {refused.words}: it works until a call passes `{name}`, which raises "
            f'TypeError; make it static with `static_argnames=("{name}",)`',
            Severity.WARNING,
            silent(model, f"`{name}` may be anything as long as no call passes it"),
            related,
        )


def _places(model: FileModel) -> Iterator[tuple[Checkpoint, str, Refused, Range]]:
    for made_by in applications(model):
        target, traits = made_by.target, made_by.api.traits
        if not made_by.by_decorator or "compiles" not in traits or "maps" in traits or not isinstance(target, Def):
            continue
        arguments = target.function.node.args
        positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
        defaults = dict(zip(reversed(positional), reversed(arguments.defaults)))
        defaults.update({a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None})
        static = static_parameters(made_by) if defaults else None
        if static is None or model.is_dead(made_by.site.block):
            continue
        for name, node in defaults.items():
            where = model.range_of(node)
            if name in static[0] or where is None or isinstance(node, _PLAIN):
                continue
            value = model.evaluate(node, target.function.scope, target.function.block)
            refused = next(refused_in(model, value), None)
            if refused is not None:
                yield made_by, name, refused, where


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Make the parameter static."""
    for made_by, name, _, where in model.every(_places):
        if where == finding.range:
            made = named_static(model, made_by, name)
            title = f"Make `{name}` static with `static_argnames={made[0]}`" if made else ""
            return Fix(title, Safety.SAFE, made[1]) if made else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp


@jax.jit
def act(x, kind="tanh"):
    return jnp.tanh(x) if kind == "tanh" else x


act(jnp.ones(3))


def refused():
    try:
        act(jnp.ones(3), "tanh")
    except TypeError:
        return True
    return False
"""

RULE = Rule(
    code="JXP602",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.jit",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("import jax\n", "import functools\n\nimport jax\n", 1).replace(
                "@jax.jit", '@functools.partial(jax.jit, static_argnames=("kind",))'
            ),
            proof=Silent("refused()"),
        ),
    ),
    check=check,
    fix=fix,
)
