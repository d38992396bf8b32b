"""Python code in a checkpointed function has an effect while JAX traces, and not when the program runs.

## What it finds

In a function that `jax.checkpoint` (or a wrapper around it) makes: `print` and logging of traced values, also in
helpers; the clock (`time.time()`, `datetime.now()`); counters and containers of outside (`calls += 1` of a `global` or
`nonlocal` name, `seen.append(1)`, `config.count += 1`) that the function itself adds to.

## Why it matters

JAX runs the Python code of the function once for each combination of shapes and dtypes and keeps the program that
comes out, also without `jit`. Three calls count one, `print` shows `Traced<float32[3]>` instead of numbers and only at
the first call, and the clock stands still. Nothing is raised. Where the function returns the counter, later calls
return what the first returned: that is a warning.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

Values: `jax.debug.print("{x}", x=x)`. Counters and logs: return the value and count where the function is called, or
`jax.debug.callback`. Times: measure around the call, with `jax.block_until_ready`.

## Known limits

`print` and logging are reported only where an argument is a tracer for certain: messages about shapes and about
tracing itself are meant to appear once. Changes made by helper functions are not reported (caches and registries work
as intended), nor are plain assignments, which hand something known while tracing to the outside.

## Source

`jax.checkpoint` traces its function to a jaxpr and caches it; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.effect_kinds import Effect, EffectKind
from jaxpert.model.effect_paths import is_text, traced_operand
from jaxpert.model.effect_places import (
    around,
    asks_for_tracers,
    effects_at,
    function_name,
    shown,
    traced_body,
    ways,
)
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.transforms import Checkpoint
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent

NAME = "side-effect-while-tracing"

_WRITES = frozenset({EffectKind.PRINT, EffectKind.LOGGING})
_CHANGES = frozenset({EffectKind.NAME, EffectKind.ATTRIBUTE, EffectKind.CONTAINER})
_KINDS = _WRITES | _CHANGES | {EffectKind.CLOCK}


def check(model: FileModel) -> Iterator[Finding]:
    """Effects of Python code in checkpointed functions."""
    for checkpoint, effect, where in effects_at(model, _KINDS):
        said = _said(model, checkpoint, effect)
        if said is None:
            continue
        problem, cure = said
        function = function_name(model, checkpoint)
        yield Finding(
            NAME,
            where,
            f"{problem.format(function=function)}; {cure}",
            Severity.WARNING if effect.kind in _CHANGES and _is_returned(effect) else Severity.INFORMATION,
            silent(model, f"`{function}` is traced once for each combination of shapes and then reused"),
            ways(model, checkpoint, effect, where),
        )


def _said(model: FileModel, checkpoint: Checkpoint, effect: Effect) -> tuple[str, str] | None:
    """What happens and what to write; None when it is not worth a word."""
    if effect.kind is EffectKind.CLOCK:
        return (
            f"`{_escaped(shown(effect))}` is read while JAX traces `{{function}}`, and stands still after that",
            "measure around the call",
        )
    body = traced_body(model, checkpoint)
    if effect.kind in _WRITES:
        arguments = _arguments(effect)
        traced = traced_operand(body, effect, arguments) if body is not None else None
        if traced is None:
            return None
        text = _escaped(effect.model.text_of(traced))
        does = "prints" if effect.kind is EffectKind.PRINT else "logs"
        return (
            f"`{_escaped(shown(effect))}` {does} the tracer `{text}` while JAX traces `{{function}}`, not its value "
            "when it runs",
            "use `jax.debug.print`" if effect.kind is EffectKind.PRINT else "use `jax.debug.callback`",
        )
    is_attribute = effect.kind is EffectKind.ATTRIBUTE or "." in effect.name
    if not effect.is_sure or effect.steps or (is_attribute and checkpoint.api.library != "jax"):
        return None
    if asks_for_tracers(effect) or not _accumulates(effect):
        return None
    if body is not None and effect.stored and traced_operand(body, effect, effect.stored) is not None:
        return None  # a leak, which is worse
    return (
        f"`{_escaped(effect.name)}` is changed while JAX traces `{{function}}`, not at every call",
        "return the value, or use `jax.debug.callback`",
    )


def _accumulates(effect: Effect) -> bool:
    """Whether every run adds to what is there; storing the same once more makes no difference."""
    if isinstance(effect.node, ast.Call):
        return True
    if any(ast.unparse(part) == effect.name for value in effect.stored for part in ast.walk(value)):
        return True  # n = n + 1
    return any(isinstance(node, ast.AugAssign) and node.target is effect.node for node in around(effect))


def _is_returned(effect: Effect) -> bool:
    """Whether the function returns what it adds to, so that every later call gives the first call's result."""
    returned = (node.value for node in around(effect) if isinstance(node, ast.Return) and node.value is not None)
    changed = ast.unparse(effect.node) if not isinstance(effect.node, ast.Call) else effect.name
    return any(ast.unparse(part) == changed for value in returned for part in ast.walk(value))


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _arguments(effect: Effect) -> tuple[ast.expr, ...]:
    return tuple(effect.node.args) if isinstance(effect.node, ast.Call) else ()


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Turn ``print(x)`` into ``jax.debug.print("{}", x)``."""
    for _, effect, where in effects_at(model, {EffectKind.PRINT}):
        node = effect.node
        if where != finding.range or effect.model is not model or not isinstance(node, ast.Call) or node.keywords:
            continue
        if model.range_of(node) != where:
            return None
        written = _formatted(model, node.args)
        jax = ensure_import(model.source.lines, "import jax", where.start, model.source)
        if written is None or jax is None:
            return None
        edits = verbs.replace_expression(model.source.lines, where, f"{jax.name}.debug.print({written})")
        return Fix("Print values with `jax.debug.print`", Safety.UNSAFE, (*jax.edits, *edits)) if edits else None
    return None


def _formatted(model: FileModel, arguments: list[ast.expr]) -> str | None:
    """The arguments of ``jax.debug.print`` for those of ``print``."""
    parts: list[str] = []
    values: list[str] = []
    for argument in arguments:
        pieces = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
        text = ""
        for piece in pieces:
            if isinstance(piece, ast.Constant) and isinstance(piece.value, str):
                text += _escaped(piece.value)
            elif isinstance(piece, ast.FormattedValue):
                spec = piece.format_spec
                if piece.conversion != -1 or (isinstance(spec, ast.JoinedStr) and not all(map(is_text, spec.values))):
                    return None
                written = "".join(str(one.value) for one in spec.values) if isinstance(spec, ast.JoinedStr) else ""  # type: ignore[attr-defined]
                text += f"{{:{written}}}" if written else "{}"
                values.append(ast.unparse(piece.value))
            elif isinstance(piece, ast.Starred):
                return None
            else:
                text += "{}"
                values.append(model.text_of(piece))
        parts.append(text)
    written = " ".join(parts)
    if any(character in written for character in '"\\\n\r') or not all(values):
        return None
    return ", ".join([f'"{written}"', *values])


_BAD = '''\
import jax
import jax.numpy as jnp

calls = 0


@jax.checkpoint
def loss(x):
    global calls
    calls += 1
    return jnp.sin(x)


STAGE = "call"
for _ in range(3):
    loss(1.0)
'''

_GOOD = '''\
import jax
import jax.numpy as jnp

calls = 0


@jax.checkpoint
def loss(x):
    return jnp.sin(x)


STAGE = "call"
for _ in range(3):
    loss(1.0)
    calls += 1
'''

_PRINT = '''\
import contextlib
import io

import jax
import jax.numpy as jnp


@jax.checkpoint
def loss(x):
    y = jnp.sin(x)
    print("y", y)
    return jnp.sin(y), y


STAGE = "call"
shown = io.StringIO()
with contextlib.redirect_stdout(shown):
    _, y = loss(1.0)
'''

_PRINT_GOOD = '''\
import contextlib
import io

import jax
import jax.numpy as jnp


@jax.checkpoint
def loss(x):
    y = jnp.sin(x)
    return jnp.sin(y), y


STAGE = "call"
shown = io.StringIO()
with contextlib.redirect_stdout(shown):
    _, y = loss(1.0)
    print("y", y)
'''

RULE = Rule(
    code="JXP408",
    name=NAME,
    severity=Severity.INFORMATION,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(_BAD, _GOOD, Silent("calls == 1")),
        Example(
            _PRINT,
            _PRINT_GOOD,
            Silent("'Traced' in shown.getvalue() or 'Tracer' in shown.getvalue()"),
        ),
    ),
    check=check,
    fix=fix,
)
