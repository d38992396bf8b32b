"""`static_argnums` of a checkpoint wrapper is of a wrong type or out of range.

## What it finds

`static_argnums` that is a list, set, range, string, bool, None or array, or a tuple that holds anything but ints;
numbers that the wrapped function has no positional parameter for; and calls that leave a static parameter to its
default. Each wrapper is judged by what it really does: `flax.linen.remat` counts `self` as 0 and shifts negative
numbers, `flax.linen.partitioning.remat` starts after `self` and wants a collection.

## Why it matters

`jax.checkpoint` compares types exactly, unlike `jax.jit`, and says so only when the function is called:

    TypeError: the `static_argnums` argument to `jax.checkpoint` / `jax.remat` must be an int, tuple of ints or, bool,
    but got value [1]

The message's "or, bool" is wrong. Numbers out of range raise, also when an argument is left to its default:

    ValueError: the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater
    than or equal to `-len(args)` and less than `len(args)`, but got (2,), while `len(args)` = 2

## In which versions

All. With `jax_remat3` on, collections of ints of any kind are fine, and numbers out of range are ignored.

## What to write instead

An int or a tuple of ints: `static_argnums=(1,)`. Count positional parameters from 0, with `self` where a method or a
linen module is wrapped. A keyword-only parameter cannot be static: move it before the `*`.

## Known limits

The wrapped function must be visible for numbers to be judged; functions with `*args` take any number. Of negative
numbers only -1 is reported for linen modules: it makes nothing static, -2 is the last argument.

## Source

`_remat_static_argnums` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1, with Flax 0.12.8 and Haiku
0.0.17.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.model.static_argnums import COLLECTIONS, class_name, misses, refused, refused_at_once, refused_item
from jaxpert.model.transforms import Checkpoint, Parameters, fills_defaults, indices_in, marked, parameters
from jaxpert.model.values import Choice, Literal, Sequence, Value, is_none
from jaxpert.model.wrapped_calls import Passed, WrappedCall, called_checkpoints, passed, wrapped_calls
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range, slice_lines

NAME = "static-argnums-invalid"

_RANGE = (
    "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values greater than or "
    "equal to `-len(args)` and less than `len(args)`, but got ({},)"
)
_WORDS = {"NoneType": "None", "int": "an int", "array": "an array", "str": "a string"}


@dataclass(frozen=True, slots=True, eq=False)
class _Fault:
    """A finding and the text that would cure it: ``new_text`` in place of ``old``."""

    finding: Finding
    old: Range
    new_text: str | None = None
    safety: Safety = Safety.SAFE


def check(model: FileModel) -> Iterator[Finding]:
    """Values of wrong types, numbers out of range, and calls that leave a static argument out."""
    return (fault.finding for fault in _faults(model))


def _faults(model: FileModel) -> Iterator[_Fault]:
    for call in model.calls:
        argument = call.role("static_argnums")
        is_ours = argument is not None and argument.model is model and not model.is_dead(call.site.block)
        if call.api.kind is ApiKind.CHECKPOINT and is_ours:
            assert argument is not None
            yield from _of_wrong_type(model, call.api, argument)
    for checkpoint in model.checkpoints:
        known = parameters(model, checkpoint)
        if known is not None and not model.is_dead(checkpoint.site.block):
            yield from _out_of_range(model, checkpoint, known)
    for checkpoint in called_checkpoints(model):
        known = parameters(model, checkpoint)
        if known is not None and known.defaults:
            yield from _left_out(model, checkpoint, known)


# -- types ------------------------------------------------------------------------------------------------------------


def _of_wrong_type(model: FileModel, api: Api, argument: Argument) -> Iterator[_Fault]:
    value = argument.value
    for option in value.options():
        if isinstance(value, Choice) and is_none(option):
            continue  # a default that may have been replaced
        text = refused(model, api, class_name(option))
        if text:
            yield from _type_fault(model, argument, option, "is", text)
        elif isinstance(option, Sequence):
            for item in option.items:
                text = refused_item(model, api, class_name(item))
                if text:
                    yield from _type_fault(model, argument, item, "holds", text)


def _type_fault(model: FileModel, argument: Argument, value: Value, verb: str, text: str) -> Iterator[_Fault]:
    node = argument.node
    if value.model is model and value.site is not None and isinstance(value.site.node, ast.expr):
        node = value.site.node
    where = model.range_of(node)
    if where is None:
        return
    new = _as_ints(model, argument, node, value, whole=verb == "is")
    kind = class_name(value)
    said = _WORDS.get(kind) or ("a NumPy integer" if kind.startswith("numpy.") else f"a {kind}")
    when = "where the function is wrapped" if refused_at_once(text) else "when the function is called"
    wanted = "a tuple" if kind in COLLECTIONS or kind == "int" else "an int or a tuple of ints"
    advice = f"`{new}`" if new is not None and "\n" not in new else wanted
    finding = Finding(
        NAME,
        where,
        f"`static_argnums` {verb} {said}: JAX raises TypeError {when}; write {advice}",
        Severity.ERROR,
        raises(model, when, "TypeError", text),
        exceptions=("TypeError",),
    )
    in_place = any(inner is node for inner in ast.walk(argument.node))
    yield _Fault(finding, where, new, Safety.SAFE if in_place else Safety.UNSAFE)  # a constant may have other uses


def _as_ints(model: FileModel, argument: Argument, node: ast.expr, value: Value, whole: bool) -> str | None:
    """What to write in place of ``node``; None when that is not plain."""
    where = model.range_of(node)
    if where is None:
        return None
    source = slice_lines(model.source.lines, where).replace("\r\n", "\n")
    if isinstance(node, (ast.List, ast.Set)) and whole:
        inner = source[1:-1]
        if len(node.elts) == 1 and "\n" not in inner:
            return f"({inner.strip().rstrip(',')},)"
        return f"({inner})" if len(node.elts) != 1 or inner.partition("#")[0].rstrip().endswith(",") else None
    kind = class_name(value)
    if isinstance(node, ast.Call) and not node.keywords and kind.startswith("numpy.") and len(node.args) == 1:
        return model.text_of(node.args[0]) if isinstance(node.args[0], ast.Constant) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and whole and kind in COLLECTIONS:
        is_copy = node.func.id in ("list", "set", "frozenset") and len(node.args) == 1
        return "tuple" + source[len(node.func.id) :] if is_copy else f"tuple({source})"
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)) and whole:
        return f"tuple{source}" if source.startswith("(") else f"tuple({source})"
    if isinstance(node, ast.Constant) and node.value is None and whole:
        return "()"
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return f"({source},)"
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        for checkpoint in model.checkpoints:
            known = parameters(model, checkpoint) if checkpoint.role("static_argnums") is argument else None
            if known is not None and node.value in known.names:
                index = known.names.index(node.value)
                return f"({index},)" if whole else str(index)
    return None


# -- numbers ----------------------------------------------------------------------------------------------------------


def _out_of_range(model: FileModel, checkpoint: Checkpoint, known: Parameters) -> Iterator[_Fault]:
    argument = checkpoint.role("static_argnums")
    if argument is None or (checkpoint.call is not None and checkpoint.call.opened):
        return
    for option in argument.value.options():
        if refused(model, checkpoint.api, class_name(option)):
            continue
        items = option.items if isinstance(option, Sequence) and option.exact else (option,)
        numbers = [item.value for item in items if isinstance(item, Literal) and type(item.value) is int]
        for item in items:
            if not isinstance(item, Literal) or type(item.value) is not int:
                continue
            node = _place_of(model, checkpoint, argument, item)
            where = model.range_of(node)
            said = misses(checkpoint.api, known, item.value, numbers)
            if said and where is not None:
                yield _number_fault(model, checkpoint, known, item.value, numbers, said, node, where)


def _number_fault(
    model: FileModel, checkpoint: Checkpoint, known: Parameters, index: int, numbers: list[int], said: str,
    node: ast.expr, where: Range,
) -> _Fault:  # fmt: skip
    api = checkpoint.api
    count = len(known.names)
    harmless = model.target.remat3 or "argnums_iterable" in api.traits or (index in (0, -1) and count > 0)
    if harmless:
        effect = "makes nothing static"
        consequence = silent(model, f"{index} {effect}")
    else:
        when = f"when `{known.display}` is called"
        effect = f"is out of range: JAX raises ValueError {when}"
        consequence = raises(model, when, "ValueError", _RANGE.format(index))
    last, first = count - 1, 1 if known.names[:1] == (known.receiver,) else 0
    guess = last if index in (count, -1) and last not in numbers and last >= first else None
    if known.keyword_only and index >= count:
        advice, guess = f"move `{known.keyword_only[0]}` before the `*`", None
    elif guess is not None:
        advice = f"write {guess} for `{known.names[guess]}`"
    else:
        advice = "number the parameters from 0" if first == 0 else f"the first argument `{known.names[1]}` is 1"
    finding = Finding(
        NAME,
        where,
        f"`static_argnums` {index} {effect}, because {said}; {advice}",
        Severity.WARNING if harmless else Severity.ERROR,
        consequence,
        tuple(_definition(model, known)),
        exceptions=() if harmless else ("ValueError",),
    )
    is_plain = isinstance(node, (ast.Constant, ast.UnaryOp))
    return _Fault(finding, where, str(guess) if guess is not None and is_plain else None, Safety.UNSAFE)


def _place_of(model: FileModel, checkpoint: Checkpoint, argument: Argument, item: Value) -> ast.expr:
    """The number where it is written for this function; else the expression that wraps."""
    if argument.model is not model or not any(node is argument.node for node in ast.walk(checkpoint.node)):
        return checkpoint.node
    node = item.site.node if item.site is not None else None
    inside = isinstance(node, ast.expr) and any(inner is node for inner in ast.walk(argument.node))
    return node if inside and isinstance(node, ast.expr) else argument.node


def _definition(model: FileModel, known: Parameters) -> Iterator[Related]:
    owner = known.function.model or model
    arguments = known.function.function.node.args
    written = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    area = owner.source.range_between(written[0], written[-1]) if written else None
    if area is not None:
        yield Related(area, "these are its parameters", "" if owner is model else owner.path)


# -- calls ------------------------------------------------------------------------------------------------------------


def _left_out(model: FileModel, checkpoint: Checkpoint, known: Parameters) -> Iterator[_Fault]:
    """Calls with fewer positional arguments than a static number needs."""
    argument = checkpoint.role("static_argnums")
    numbers = indices_in(argument.value) if argument is not None else None
    if not numbers or model.target.remat3 or "argnums_iterable" in checkpoint.api.traits:
        return
    if fills_defaults(checkpoint) is not False:
        return
    for call in wrapped_calls(model, checkpoint):
        given = passed(known, call)
        where = model.range_of(call.site.node)
        if given.opened or call.is_partial or where is None or model.is_dead(call.site.block):
            continue
        for index in numbers:
            name = marked(checkpoint.api, known, index)
            if index < given.positional or name is None or name in given.arguments or name not in known.defaults:
                continue
            finding = Finding(
                NAME,
                where,
                f"this call leaves out `{name}`, which is static (`static_argnums` {index}) and must be passed by "
                f"position: JAX raises ValueError; pass `{ast.unparse(known.defaults[name])}`",
                Severity.ERROR,
                raises(model, "at this call", "ValueError", _RANGE.format(index)),
                exceptions=("ValueError",),
            )
            end = model.range_of(call.site.node.args[-1]) if call.site.node.args else None
            if end is None:
                yield _Fault(finding, where)
            else:
                yield _Fault(finding, Range(end.end, end.end), _defaults(model, known, given, index, call))


def _defaults(model: FileModel, known: Parameters, given: Passed, index: int, call: WrappedCall) -> str | None:
    """The defaults up to ``index``, as they continue the arguments of ``call``; None when they are not constants."""
    names = known.names[given.positional : index + 1]
    values = [known.defaults.get(name) for name in names]
    if any(name in given.arguments for name in names) or not all(isinstance(value, ast.Constant) for value in values):
        return None
    arguments = call.site.node.args
    before = model.range_of(arguments[-2] if len(arguments) > 1 else call.site.node.func)
    last = model.range_of(arguments[-1])
    if before is None or last is None:
        return None
    between = slice_lines(model.source.lines, Range(before.end, last.start))
    plain = between.lstrip(") ").rstrip() in ("(", ",")  # else the argument stands in parentheses of its own
    return "".join(f", {ast.unparse(value)}" for value in values if value is not None) if plain else None


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write what the message says."""
    for fault in model.every(_faults):
        if fault.finding != finding or fault.new_text is None:
            continue
        if fault.old.start == fault.old.end:
            return Fix(f"Pass `{fault.new_text.lstrip(', ')}`", Safety.SAFE, (Edit(fault.old, fault.new_text),))
        edits = verbs.replace_expression(model.source.lines, fault.old, fault.new_text)
        shown = " ".join(fault.new_text.split())
        return Fix(f"Write `{shown}`", fault.safety, edits) if edits else None
    return None


_TYPE = '''\
import jax
import jax.numpy as jnp


def block(x, train):
    if train:
        x = jnp.sin(x)
    return jnp.sum(x)


STAGE = "decorate"
block_remat = jax.checkpoint(block, static_argnums=[1])
STAGE = "call"
block_remat(jnp.ones(3), True)
'''

RULE = Rule(
    code="JXP101",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_TYPE,
            good=_TYPE.replace("[1]", "(1,)"),
            proof=Raises("TypeError", "must be an int, tuple of ints or, bool", "call", remat3=False),
        ),
        Example(
            bad=_TYPE.replace("[1]", "2"),
            good=_TYPE.replace("[1]", "1"),
            proof=Raises("ValueError", "can only take integer values greater than or equal to", "call", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
