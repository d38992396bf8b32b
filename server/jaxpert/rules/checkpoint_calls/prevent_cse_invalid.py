"""`prevent_cse` of a checkpoint wrapper is neither a bool nor a tuple of the right shape.

## What it finds

`prevent_cse` that is None, a number, a string, a dictionary, a function or a NumPy bool; a tuple or list with another
number of entries than the function gets arguments; and entries that are None or strings.

## Why it matters

Up to 0.7.1 JAX asks only whether the value is true: None counts as False, and `"no"` and `(False, False)` count as
True. From 0.7.2 on it checks the type where the function is wrapped, and a tuple must have one entry for each
positional argument that is not static:

    TypeError: prevent_cse must be a bool or tuple of bools, got type(prevent_cse)=<class 'NoneType'>
    ValueError: pytree structure error: different lengths of tuple at key path

## In which versions

Types: 0.7.2 and newer. Strings: from 0.9.1 on each letter counts as an entry, so that the call raises. Tuples: 0.7.2
and newer; with `jax_remat3` they are ignored before 0.11 and raise another ValueError since.

## What to write instead

True or False. A tuple says it for each argument.

## Known limits

The number of entries is judged where the wrapped function, or a call of it, is visible. Entries for arguments that are
pytrees are not looked into.

## Source

`checkpoint` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8, Haiku 0.0.17 and Equinox
0.13.8.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.static_argnums import class_name
from jaxpert.model.transforms import Checkpoint, parameters, static_indices
from jaxpert.model.values import (
    CallResult,
    Choice,
    Def,
    Literal,
    Partial,
    Sequence,
    Symbol,
    Typed,
    Value,
    is_none,
    truth,
)
from jaxpert.model.wrapped_calls import passed, wrapped_calls
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity

NAME = "prevent-cse-invalid"

_CHECKED, _ITERATED, _REMAT3_LOOKS = Version("0.7.2"), Version("0.9.1"), Version("0.11.0")
_TYPE = "prevent_cse must be a bool or tuple of bools, got type(prevent_cse)=<class '{}'>"
_SHAPE = "pytree structure error: different lengths of tuple at key path …"
_REMAT3_SHAPE = "the prevent_cse argument to jax.checkpoint must form a tree prefix of the corresponding values …"
_REFUSED = {"NoneType": "None", "int": "an int", "float": "a float", "dict": "a dictionary", "function": "a function"}
_NUMPY_BOOL = "numpy.bool"
_WORDS = {
    **dict.fromkeys(("no", "false", "off", "0", "never", ""), "False"),
    **dict.fromkeys(("yes", "true", "on", "1", "always"), "True"),
}


@dataclass(frozen=True, slots=True, eq=False)
class _Fault:
    """A finding, the value at fault and where it is written: ``in_place``, or in a constant with other uses."""

    finding: Finding
    node: ast.expr
    value: Value
    in_place: bool


def check(model: FileModel) -> Iterator[Finding]:
    """Values of wrong types, and tuples of the wrong length."""
    return (fault.finding for fault in _faults(model))


def _faults(model: FileModel) -> Iterator[_Fault]:
    seen: set[int] = set()
    for call in model.calls:
        argument = call.arguments.get("prevent_cse") if call.api.kind is ApiKind.CHECKPOINT else None
        if argument is None or argument.model is not model or id(argument.node) in seen:
            continue
        seen.add(id(argument.node))
        if not model.is_dead(argument.site.block):
            yield from _of_wrong_type(model, argument)
    for checkpoint in model.checkpoints:
        argument = checkpoint.call.arguments.get("prevent_cse") if checkpoint.call is not None else None
        if argument is not None and argument.model is model and not model.is_dead(checkpoint.site.block):
            yield from _of_wrong_length(model, checkpoint, argument)


def _of_wrong_type(model: FileModel, argument: Argument) -> Iterator[_Fault]:
    value = argument.value
    for option in value.options():
        if isinstance(value, Choice) and is_none(option):
            continue  # a default that may have been replaced
        kind = _kind(option)
        if kind == "str":
            yield from _string(model, argument, option)
        elif kind in _REFUSED or kind == _NUMPY_BOOL:
            if model.target.version >= _CHECKED:
                said = _REFUSED.get(kind, "a NumPy bool")
                text = _TYPE.format(kind)
                yield from _report(
                    model, argument, option, f"is {said}: JAX raises TypeError", "where the function is wrapped",
                    "TypeError", text,
                )  # fmt: skip
        elif isinstance(option, Sequence) and option.kind in ("tuple", "list"):
            yield from _entries(model, argument, option)


def _kind(value: Value) -> str:
    if isinstance(value, (Def, Partial)):
        return "function"
    if isinstance(value, Typed):
        return value.type if value.type in ("str", "int", "float") else ""
    if isinstance(value, CallResult) and value.path in ("numpy.bool_", "numpy.bool"):
        return _NUMPY_BOOL
    if isinstance(value, Symbol):
        return ""
    return class_name(value)


def _string(model: FileModel, argument: Argument, value: Value) -> Iterator[_Fault]:
    version = model.target.version
    if version < _CHECKED:
        if truth(value):
            effect = "is a string, and every string but the empty one counts as True"
            yield from _report(model, argument, value, effect, "", "", "prevent_cse is on, whatever the string says")
    elif version < _ITERATED:
        text = _TYPE.format("str")
        effect, when = "is a string: JAX raises TypeError", "where the function is wrapped"
        yield from _report(model, argument, value, effect, when, "TypeError", text)
    elif not model.target.remat3 or version >= _REMAT3_LOOKS:
        text = _REMAT3_SHAPE if model.target.remat3 else _SHAPE
        effect = "is a string, of which each letter counts as an entry: JAX raises ValueError"
        yield from _report(model, argument, value, effect, "when the function is called", "ValueError", text)


def _entries(model: FileModel, argument: Argument, value: Sequence) -> Iterator[_Fault]:
    version = model.target.version
    if version < _CHECKED:
        if any(truth(item) is False for item in value.items) and value.items:
            effect = f"is a {value.kind}, which counts as True before JAX 0.7.2"
            yield from _report(model, argument, value, effect, "", "", "no entry of it is looked at")
        return
    if model.target.remat3 and version < _REMAT3_LOOKS:
        return
    for item in value.items:
        if isinstance(item, Literal) and (item.value is None or isinstance(item.value, str)):
            if item.value is None:
                said, when, exception = "None", "when the function is called", "ValueError"
                text = "pytree structure error: different types at key path …"
            else:
                said, when, exception = "a string", "when this is differentiated and compiled", "TypeError"
                text = "tuple indices must be integers or slices, not str"
            effect = f"has {said} as an entry: JAX raises {exception}"
            yield from _report(model, argument, item, effect, when, exception, text)


def _of_wrong_length(model: FileModel, checkpoint: Checkpoint, argument: Argument) -> Iterator[_Fault]:
    """Tuples that do not have one entry for each argument that is passed."""
    version = model.target.version
    known, static = parameters(model, checkpoint), static_indices(model, checkpoint)
    if version < _CHECKED or (model.target.remat3 and version < _REMAT3_LOOKS):
        return
    if checkpoint.api.library != "jax" or known is None or static is None:
        return
    values = [one for one in argument.value.options() if isinstance(one, Sequence) and one.kind in ("tuple", "list")]
    for value in (one for one in values if one.exact):
        given = len(value.items)
        expected: set[int] = set()
        for call in wrapped_calls(model, checkpoint):
            arguments = passed(known, call)
            if arguments.opened or call.is_partial:
                return
            by_name = any(passing.keyword is not None for passing in arguments.arguments.values())
            expected.add(2 if by_name else arguments.positional - len(static))
        if not expected and not (known.takes_more or known.defaults or known.keyword_only or known.takes_keywords):
            expected = {len(known.names) - len(static)}
        if expected and given not in expected:
            wanted = min(expected)
            effect = f"has {given} entr{'y' if given == 1 else 'ies'}, but `{known.display}` gets {wanted} " + (
                f"argument{'' if wanted == 1 else 's'} that are not static: JAX raises ValueError"
                if static
                else f"argument{'' if wanted == 1 else 's'}: JAX raises ValueError"
            )
            text = _REMAT3_SHAPE if model.target.remat3 else _SHAPE
            yield from _report(model, argument, value, effect, "when the function is called", "ValueError", text)


def _report(
    model: FileModel, argument: Argument, value: Value, effect: str, when: str, exception: str, text: str
) -> Iterator[_Fault]:
    node = argument.node
    if value.model is model and value.site is not None and isinstance(value.site.node, ast.expr):
        node = value.site.node
    where = model.range_of(node)
    if where is None:
        return
    advice = _meant(value)
    wanted = f"write {advice}" if advice else "write True or False"
    if isinstance(value, Sequence):
        wanted = "write one bool for all, or one for each" if exception else "write one bool for all"
    severity = Severity.ERROR if exception else Severity.WARNING
    consequence = raises(model, when, exception, text) if exception else silent(model, text)
    exceptions = (exception,) if exception else ()
    finding = Finding(NAME, where, f"`prevent_cse` {effect}; {wanted}", severity, consequence, exceptions=exceptions)
    yield _Fault(finding, node, value, any(inner is node for inner in ast.walk(argument.node)))


def _meant(value: Value) -> str | None:
    """The bool that was meant, where that is plain."""
    if isinstance(value, Literal):
        if isinstance(value.value, str):
            return _WORDS.get(value.value.strip().lower())
        if value.value in (0, 1, None):
            return str(bool(value.value))
    if isinstance(value, CallResult) and len(value.call.args) == 1 and isinstance(value.call.args[0], ast.Constant):
        return str(bool(value.call.args[0].value))
    return None


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the bool that the value stands for."""
    for fault in model.every(_faults):
        if fault.finding.range != finding.range or isinstance(fault.value, Sequence):
            continue
        new, where = _meant(fault.value), model.range_of(fault.node)
        if new is None or where is None:
            return None
        edits = verbs.replace_expression(model.source.lines, where, new)
        is_guess = isinstance(fault.value, Literal) and isinstance(fault.value.value, (str, type(None)))
        safety = Safety.UNSAFE if is_guess or not fault.in_place else Safety.SAFE
        return Fix(f"Write {new}", safety, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, prevent_cse=None)
STAGE = "call"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""
_TUPLE = _BAD.replace("None", "(True, False, True)")

RULE = Rule(
    code="JXP109",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("None", "False"),
            proof=Raises("TypeError", "prevent_cse must be a bool or tuple of bools", "decorate", since="0.7.2"),
        ),
        Example(
            bad=_TUPLE,
            good=_BAD.replace("None", "True"),
            proof=Raises("ValueError", "", "call", since="0.7.2", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
