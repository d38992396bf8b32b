"""`compute_on` gets an unknown compute type, or is called as another release of JAX wants it.

## What it finds

A `compute_type` that is no string or not one of those that the detected JAX knows; `with compute_on("device_host"):`
and `@compute_on("device_host")` on a JAX where `compute_on` takes the function and two keyword arguments; and that
newer form on a JAX where `compute_on` is a context manager.

## Why it matters

    TypeError: `compute_on`'s compute_type argument must be a string.
    ValueError: Invalid compute type host. Current supported values are `device_host`, `device`, `tpu_sparsecore`, and
    `gpu_stream:#`.
    TypeError: compute_on() missing 2 required keyword-only arguments: 'compute_type' and 'out_memory_spaces'
    TypeError: compute_on() got multiple values for argument 'compute_type'

## In which versions

Types: all; `tpu_sparsecore` is known since 0.4.36, `gpu_stream:#` since 0.5.1. Up to 0.11.0 `compute_on` is a context
manager that takes `compute_type` only; since 0.11.1 it takes the function, `compute_type` and `out_memory_spaces`.
From 0.10.1 to 0.11.0 the newer form is called `compute_on2`.

## What to write instead

    with compute_on("device_host"):                                               # up to 0.11.0
        y = f(x)

    y = compute_on(f, compute_type="device_host",                                 # since 0.11.1
                   out_memory_spaces=jax.memory.Space.Device)(x)

## Known limits

Which memory the result belongs in is the author's choice, so the change of form has no fix.

## Source

`jax/_src/compute_on.py`; measured on all releases from 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.arrays import Arrays
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.values import CallResult, Choice, Literal, Sequence, Table, string
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity

NAME = "compute-on-misused"

_APIS = "jax.experimental.compute_on."
_SPARSECORE, _STREAMS = Version("0.4.36"), Version("0.5.1")
_MEANT = {"host": "device_host", "cpu": "device_host", "device-host": "device_host", "pinned_host": "device_host"}


def check(model: FileModel) -> Iterator[Finding]:
    """Calls of ``compute_on`` and of the later ``compute_on2``."""
    for call in model.calls:
        if not call.api.name.startswith(_APIS) or model.is_dead(call.site.block):
            continue
        form = _other_form(model, call)
        if form is not None:
            yield form
            continue
        argument = call.arguments.get("compute_type")
        if argument is not None and argument.model is model:
            yield from _type(model, call, argument)


def _other_form(model: FileModel, call: ApiCall) -> Finding | None:
    """A call that Python refuses, because it is that of another release."""
    signature = call.api.signature(model.target.version)
    where = model.range_of(call.node)
    if signature is None or where is None or call.opened or call.is_partial or _is_guarded(call):
        return None
    name = call.api.name.rpartition(".")[2]
    takes_function = any(parameter.name == "f" for parameter in signature.parameters)
    if takes_function and call.missing:
        names = " and ".join(map(repr, call.missing))
        plural = "s" if len(call.missing) > 1 else ""
        text = f"{name}() missing {len(call.missing)} required keyword-only argument{plural}: {names}"
        shown = string(call.arguments["f"].value) if "f" in call.arguments else None
        how = (
            f'`{name}(f, compute_type="{shown or "device_host"}", out_memory_spaces=jax.memory.Space.Device)(x)`'
            if shown is not None or "compute_type" not in call.arguments
            else "`out_memory_spaces=jax.memory.Space.Device`"
        )
        return _finding(
            model,
            call,
            f"in JAX {model.target.version} `{name}` takes the function, `compute_type` and `out_memory_spaces`, and "
            f"is no context manager: it raises TypeError; write {how}",
            "TypeError",
            text,
        )
    if not takes_function and (call.unexpected or call.surplus or _twice(call)):
        unexpected = next((one.keyword.arg for one in call.unexpected if one.keyword is not None), "")
        text = f"{name}() got an unexpected keyword argument '{unexpected}'"
        if _twice(call):
            text = f"{name}() got multiple values for argument 'compute_type'"
        return _finding(
            model,
            call,
            f"in JAX {model.target.version} `{name}` is a context manager that takes `compute_type` alone: it raises "
            'TypeError; write `with compute_on("device_host"):`',
            "TypeError",
            text,
        )
    return None


def _is_guarded(call: ApiCall) -> bool:
    """Whether the code asks before what ``compute_on`` takes."""
    for block in call.site.block.enclosing():
        if isinstance(block.owner, ast.If):
            for node in ast.walk(block.owner.test):
                name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
                if name in ("compute_on", "signature", "getfullargspec"):
                    return True
    return False


def _twice(call: ApiCall) -> bool:
    return bool(call.node.args) and any(keyword.arg == "compute_type" for keyword in call.node.keywords)


def _type(model: FileModel, call: ApiCall, argument: Argument) -> Iterator[Finding]:
    value = argument.value
    where = model.range_of(argument.node)
    if isinstance(value, Choice) or where is None:
        return
    shown, text = model.text_of(argument.node), string(value)
    if text is None:
        place = (argument.site.scope, argument.site.block)
        is_other = isinstance(value, (Literal, Sequence, Table)) or (
            isinstance(value, CallResult) and Arrays(model).of(argument.node, place) is not None
        )
        if is_other:
            yield Finding(
                NAME,
                where,
                f'`compute_type` must be a string, and `{shown}` is none: JAX raises TypeError; write `"device_host"`',
                Severity.ERROR,
                raises(model, "here", "TypeError", "`compute_on`'s compute_type argument must be a string."),
                exceptions=("TypeError",),
            )
        return
    version = model.target.version
    known = ["device_host", "device", *(["tpu_sparsecore"] if version >= _SPARSECORE else [])]
    if text in known or (version >= _STREAMS and text.startswith("gpu_stream:")):
        return
    said = (
        f"Invalid compute type {text}. Current supported values are `device_host`, `device`, `tpu_sparsecore`, and "
        "`gpu_stream:#`."
        if version >= _STREAMS
        else "Invalid compute type received. Current supported values are "
        + ("`device_host`, `device` and `tpu_sparsecore`" if version >= _SPARSECORE else "`device_host` and `device`")
        + f". Got {text}"
    )
    written = [*known, *(["gpu_stream:0"] if version >= _STREAMS else [])]
    advice = (
        f'write `"{_MEANT[text]}"`' if text in _MEANT else f"write one of {', '.join(f'`{one}`' for one in written)}"
    )
    yield Finding(
        NAME,
        where,
        f"JAX {version} has no compute type `{shown}` and raises ValueError: {advice}",
        Severity.ERROR,
        raises(model, "here", "ValueError", said),
        data=(("meant", _MEANT.get(text, "")),),
        exceptions=("ValueError",),
    )


def _finding(model: FileModel, call: ApiCall, message: str, exception: str, text: str) -> Finding:
    where = model.range_of(call.node)
    assert where is not None
    return Finding(
        NAME, where, message, Severity.ERROR, raises(model, "here", exception, text), exceptions=(exception,)
    )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the compute type that was meant."""
    meant = finding.datum("meant")
    call = next(
        (
            call
            for call in model.calls
            if (argument := call.arguments.get("compute_type")) is not None
            and model.range_of(argument.node) == finding.range
            and isinstance(argument.node, ast.Constant)
        ),
        None,
    )
    if not meant or call is None:
        return None
    edits = verbs.replace_expression(model.source.lines, finding.range, f'"{meant}"')
    return Fix(f'Write `"{meant}"`', Safety.SAFE, edits) if edits else None


_NEW_TYPE = """\
import jax
from jax.experimental.compute_on import compute_on

STAGE = "call"
compute_on(lambda x: x, compute_type="host", out_memory_spaces=jax.memory.Space.Device)
"""

_OLD_FORM = """\
from jax.experimental.compute_on import compute_on

STAGE = "call"
with compute_on("device_host"):
    pass
"""

_NEW_FORM = """\
import jax
from jax.experimental.compute_on import compute_on

STAGE = "call"
compute_on(lambda x: x, compute_type="device_host", out_memory_spaces=jax.memory.Space.Device)
"""

RULE = Rule(
    code="JXP607",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.experimental.compute_on.compute_on", "jax.experimental.compute_on.compute_on2"),
    examples=(
        Example(
            bad=_NEW_TYPE,
            good=_NEW_TYPE.replace('"host"', '"device_host"'),
            proof=Raises("ValueError", "Invalid compute type host", "call", since="0.11.1"),
        ),
        Example(
            bad=_OLD_FORM,
            good=_NEW_FORM,
            proof=Raises("TypeError", "missing 2 required keyword-only arguments", "call", since="0.11.1"),
        ),
        Example(
            bad=_NEW_TYPE.replace('"host"', "0"),
            good=_NEW_TYPE.replace('"host"', '"device_host"'),
            proof=Raises("TypeError", "compute_type argument must be a string", "call", since="0.11.1"),
        ),
    ),
    check=check,
    fix=fix,
)
