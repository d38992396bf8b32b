"""`static_argnames` is given to a checkpoint wrapper that does not heed it.

## What it finds

`static_argnames=` in a call of `jax.checkpoint`, `jax.remat` or another library's wrapper, where it is ignored or not
accepted.

## Why it matters

`jax.jit` has the option, `jax.checkpoint` only seems to. Up to 0.10.1 it is an unexpected keyword:

    TypeError: checkpoint() got an unexpected keyword argument 'static_argnames'

From 0.10.2 on it is accepted and does nothing: the argument is traced, and the first `if` on it raises.

## In which versions

All. `jax.checkpoint` heeds it only from 0.10.2 on and with `jax_remat3` on; `jax.remat` never takes it.

## What to write instead

`static_argnums`: count the positional parameters from 0. An argument that is static must then be passed by position.

## Known limits

The fix needs the wrapped function in sight, and parameters that can be passed by position.

## Source

`checkpoint` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.fixing import verbs, wrapper_calls
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent, wrapper_name
from jaxpert.model.transforms import Checkpoint, parameters, static_indices
from jaxpert.model.values import Sequence, string
from jaxpert.model.wrapped_calls import passed, wrapped_calls
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent

NAME = "static-argnames-ignored"

_OPTION = "static_argnames"


def check(model: FileModel) -> Iterator[Finding]:
    """Every ``static_argnames`` that makes nothing static."""
    for call, argument in _uses(model):
        keyword = argument.keyword
        where = model.range_of(keyword) if keyword is not None and argument.model is model else None
        if where is None or model.is_dead(argument.site.block):
            continue
        advice = _advice(model, call, argument)
        if argument in call.unexpected:
            when = "when it is applied to a function" if call.is_partial else "where this stands"
            text = f"{wrapper_name(model, call.api)}() got an unexpected keyword argument '{_OPTION}'"
            message = f"`{call.api.name}` has no `{_OPTION}`: JAX raises TypeError; {advice}"
            yield Finding(
                NAME, where, message, Severity.ERROR, raises(model, when, "TypeError", text), exceptions=("TypeError",)
            )
        elif not model.target.remat3:
            message = f"`{call.api.name}` accepts `{_OPTION}` and ignores it, so these arguments are traced; {advice}"
            consequence = silent(model, "without jax_remat3 no argument becomes static by its name")
            yield Finding(NAME, where, message, Severity.WARNING, consequence)


def _uses(model: FileModel) -> Iterator[tuple[ApiCall, Argument]]:
    seen: set[int] = set()
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT:
            continue
        named = [one for one in call.unexpected if one.keyword is not None and one.keyword.arg == _OPTION]
        honoured = call.arguments.get(_OPTION)
        for argument in (*named, *((honoured,) if honoured is not None else ())):
            if id(argument.node) not in seen:
                seen.add(id(argument.node))
                yield call, argument


def _indices(model: FileModel, argument: Argument) -> tuple[Checkpoint, tuple[int, ...]] | None:
    """The checkpoint that gets this option, and ``static_argnums`` for the same arguments; None when not known."""
    names = [argument.value] if not isinstance(argument.value, Sequence) else list(argument.value.items)
    found: set[tuple[int, ...]] = set()
    last: Checkpoint | None = None
    for checkpoint in model.checkpoints:
        call = checkpoint.call
        if call is None or not any(one.node is argument.node for one in (*call.unexpected, *call.arguments.values())):
            continue
        known, numbers = parameters(model, checkpoint), static_indices(model, checkpoint)
        if known is None or numbers is None:
            return None
        indices = set(numbers)
        for value in names:
            name = string(value)
            if name is None or name not in known.names:
                return None
            indices.add(known.names.index(name))
        found.add(tuple(sorted(indices)))
        last = checkpoint
    return (last, found.pop()) if last is not None and len(found) == 1 else None


def _advice(model: FileModel, call: ApiCall, argument: Argument) -> str:
    if "static_argnums" not in call.api.roles:
        return "take it out: what is no array is static here by itself"
    known = _indices(model, argument)
    return f"write `{_numbers(known[1])}`" if known else "write `static_argnums=(…)`, counted from 0"


def _numbers(indices: tuple[int, ...]) -> str:
    return f"static_argnums=({', '.join(map(str, indices))}{',' if len(indices) == 1 else ''})"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Number the arguments that are named."""
    for call, argument in model.every(_uses):
        keyword = argument.keyword
        if keyword is None or argument.model is not model or model.range_of(keyword) != finding.range:
            continue
        where = model.range_of(argument.site.node)
        if where is None or argument.is_spread:  # other functions may be given the same dictionary
            return None
        lines = model.source.lines
        if "static_argnums" not in call.api.roles:
            edits = verbs.remove_keyword(lines, where, _OPTION)
            return Fix(f"Take `{_OPTION}` out", Safety.SAFE, edits) if edits else None
        known = _indices(model, argument)
        if known is None:
            return None
        checkpoint, indices = known
        if static_indices(model, checkpoint):
            is_covered = set(static_indices(model, checkpoint) or ()) == set(indices)
            edits = verbs.remove_keyword(lines, where, _OPTION) if is_covered else None
            return Fix(f"Take `{_OPTION}` out", Safety.SAFE, edits) if edits else None
        new = _numbers(indices)
        edits = wrapper_calls.replace_keyword(lines, where, _OPTION, *new.split("=", 1))
        safety = Safety.SAFE if _passes_by_position(model, checkpoint, indices) else Safety.UNSAFE
        return Fix(f"Write `{new}`", safety, edits) if edits else None
    return None


def _passes_by_position(model: FileModel, checkpoint: Checkpoint, indices: tuple[int, ...]) -> bool:
    """Whether every visible call gives these arguments by position, or by a keyword, which has a rule of its own."""
    known = parameters(model, checkpoint)
    if known is None:
        return False
    given = [passed(known, call) for call in wrapped_calls(model, checkpoint)]
    names = {known.names[index] for index in indices}
    return bool(given) and all(not one.opened and names <= set(one.arguments) for one in given)


_BAD = """\
import jax
import jax.numpy as jnp


def loss(x, train):
    return jnp.sum(jnp.sin(x)) if train is True else jnp.sum(x)


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, static_argnames=("train",))
STAGE = "call"
y = loss_remat(jnp.zeros(3) + 1, True)
"""
_REMAT = _BAD.replace("jax.checkpoint(", "jax.remat(")

RULE = Rule(
    code="JXP110",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace('static_argnames=("train",)', "static_argnums=(1,)"),
            proof=Silent("float(y) == 3.0", since="0.10.2", remat3=False),
        ),
        Example(
            bad=_BAD,
            good=_BAD.replace('static_argnames=("train",)', "static_argnums=(1,)"),
            proof=Raises("TypeError", "unexpected keyword argument 'static_argnames'", "decorate", until="0.10.2"),
        ),
        Example(
            bad=_REMAT,
            good=_REMAT.replace('static_argnames=("train",)', "static_argnums=(1,)"),
            proof=Raises("TypeError", "unexpected keyword argument 'static_argnames'", "decorate"),
        ),
    ),
    check=check,
    fix=fix,
)
