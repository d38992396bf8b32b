"""`in_axes` or `out_axes` of `jax.vmap` do not fit the function, its arguments, or JAX.

## What it finds

`in_axes` that is a dictionary, a string, a float, a bool or an array at the top; entries that are neither int nor
None nor containers of them; a tuple with more or fewer entries than there are positional arguments, often because one
of them is passed by keyword; only None; `out_axes` with another number of entries than the tuple that the function
returns; and options that `jax.vmap` does not have, such as `axis=`.

## Why it matters

JAX raises, about types where `vmap` is applied, about numbers when the function is called:

    TypeError: vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments
    passed to the function, but got {'x': 0}.
    ValueError: vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments
    passed to the function, but got len(in_axes)=2, len(args)=1

## In which versions

All.

## What to write instead

One entry for each positional argument: an int, None, or a container like the argument: `in_axes=({"x": 0, "b":
None},)`. A keyword argument is always mapped over its first axis and has no entry: pass it by position, or bind it
with `functools.partial`.

## Known limits

Calls in other files than the one that is checked are not seen. A list in place of the tuple is fine.

## Source

`vmap` in `jax/_src/api.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.arrays import Arrays
from jaxpert.model.axes_dictionary import meant_by_dictionary
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.transformed_calls import TransformedCall, parameter_names, results, transformed_calls
from jaxpert.model.values import CallResult, Choice, Def, Literal, Sequence, Table, Value, is_none
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "vmap-axes-mismatch"

_IN_AXES = (
    "vmap in_axes must be an int, None, or a tuple of entries corresponding to the positional arguments passed to the "
    "function, but got {}"
)
_LEAVES = "vmap {} must be an int, None, or (nested) container with those types as leaves, but got {}."
_MEANT = {"axis": "in_axes", "axes": "in_axes", "in_axis": "in_axes", "out_axis": "out_axes", "size": "axis_size"}


def check(model: FileModel) -> Iterator[Finding]:
    """Options of ``vmap`` by themselves, against the function, and against its calls."""
    for call in model.calls:
        if "maps_axes" in call.api.traits and "compiles" not in call.api.traits and not model.is_dead(call.site.block):
            yield from _unknown_options(model, call)
            for name in ("in_axes", "out_axes"):
                argument = call.arguments.get(name)
                if argument is not None and argument.model is model:
                    yield from _of_wrong_type(model, call, name, argument)
            yield from _against_function(model, call)
    for mapped in transformed_calls(model):
        is_vmap = "maps_axes" in mapped.api.traits and "compiles" not in mapped.api.traits
        if is_vmap and not mapped.opened and not model.is_dead(mapped.site.block):
            yield from _against_call(model, mapped)


def _unknown_options(model: FileModel, call: ApiCall) -> Iterator[Finding]:
    for argument in call.unexpected:
        where = model.range_of(argument.keyword) if argument.keyword is not None and argument.model is model else None
        if where is None or argument.keyword is None:
            continue
        name = str(argument.keyword.arg)
        advice = (
            f"write `{_MEANT[name]}`"
            if name in _MEANT
            else "options of the function are bound with `functools.partial`"
        )
        text = f"vmap() got an unexpected keyword argument '{name}'"
        yield Finding(
            NAME,
            where,
            f"`jax.vmap` has no `{name}` and raises TypeError: {advice}",
            Severity.ERROR,
            raises(model, "where vmap is applied", "TypeError", text),
            data=(("rename", name),),
            exceptions=("TypeError",),
        )


def _of_wrong_type(model: FileModel, call: ApiCall, name: str, argument: Argument) -> Iterator[Finding]:
    value = argument.value
    if isinstance(value, Choice):
        return
    where = model.range_of(argument.node)
    shown, kind = model.text_of(argument.node), _kind(argument, value)
    wrong = kind if name == "in_axes" or kind not in ("a dictionary", "a set") else ""
    message = f"`{name}` is {wrong}"
    data: tuple[tuple[str, str], ...] = ()
    text = _IN_AXES.format(f"{shown}.") if name == "in_axes" else _LEAVES.format(name, shown)
    if not wrong and isinstance(value, Sequence):
        item, wrong = next(((item, kind) for item in value.items if (kind := _kind_of_item(item))), (None, ""))
        message, text = f"`{name}` holds {wrong}", _LEAVES.format(name, shown)
        site = item.site if item is not None else None
        if site is not None and item is not None and item.model is model and isinstance(site.node, ast.expr):
            where = model.range_of(site.node)
    if not wrong or where is None:
        return
    if wrong == "a dictionary":
        advice = "it has one entry for each positional argument"
        meant, is_sure = meant_by_dictionary(model, call, argument)
        if meant:
            data = (("meant", meant), ("sure", "yes" if is_sure else ""))
            advice = f"{advice}: write `{meant}`"
        else:
            advice = f"{advice}: write a tuple of them"
    else:
        advice = "write an int, None, or a tuple with one of them for each argument"
    yield Finding(
        NAME,
        where,
        f"{message}, and `jax.vmap` raises TypeError: {advice}",
        Severity.ERROR,
        raises(model, "where vmap is applied", "TypeError", text),
        data=data,
        exceptions=("TypeError",),
    )


def _kind(argument: Argument, value: Value) -> str:
    """What ``in_axes`` is, when that is none of int, None, tuple and list; "" for these and for the unknown."""
    if isinstance(value, Table):
        return "a dictionary"
    if isinstance(value, Sequence):
        return "" if value.kind in ("tuple", "list") else f"a {value.kind}"
    if isinstance(value, CallResult):
        found = Arrays(argument.model).of(argument.node, (argument.site.scope, argument.site.block))
        return "an array" if found is not None and found.library in ("jax", "numpy") else ""
    return _kind_of_item(value)


def _kind_of_item(value: Value) -> str:
    kinds = {"str": "a string", "float": "a float", "bool": "a bool"}
    return kinds.get(type(value.value).__name__, "") if isinstance(value, Literal) else ""


def _against_function(model: FileModel, call: ApiCall) -> Iterator[Finding]:
    """More entries than the function has parameters, or another number than it returns."""
    fun, argument, out = call.role("fun"), call.arguments.get("in_axes"), call.arguments.get("out_axes")
    target = fun.value if fun is not None else None
    if not isinstance(target, Def) or call.opened:
        return
    names = parameter_names(target)
    count = _count(argument)
    if argument is not None and count is not None and names is not None and count > len(names):
        where = model.range_of(argument.node) if argument.model is model else None
        if where is not None:
            text = _IN_AXES.format(f"len(in_axes)={count}, len(args)={len(names)}")
            yield Finding(
                NAME,
                where,
                f"`in_axes` has {count} entries, but {_called(target)} takes {_plural(len(names), 'argument')}: JAX "
                "raises ValueError at every call; write one entry for each",
                Severity.ERROR,
                raises(model, "when the function is called", "ValueError", text),
                exceptions=("ValueError", "TypeError"),
            )
    count = _count(out)
    where = model.range_of(out.node) if out is not None and out.model is model else None
    if out is None or count is None or where is None:
        return
    returned = list(results(model, target))
    sizes = {len(v.items) if isinstance(v, Sequence) and v.exact and v.kind == "tuple" else None for v in returned}
    if len(sizes) == 1 and None not in sizes and count not in sizes:
        size = next(iter(sizes))
        yield Finding(
            NAME,
            where,
            f"`out_axes` has {_plural(count, 'entry')}, but {_called(target)} returns {size} values: JAX raises "
            "ValueError when it is called; write one entry for each, or a single int",
            Severity.ERROR,
            raises(
                model,
                "when the function is called",
                "ValueError",
                "vmap out_axes specification must be a tree prefix of the corresponding value",
            ),
            exceptions=("ValueError",),
        )


def _called(target: Def) -> str:
    return "the lambda" if target.name == "lambda" else f"`{target.name}`"


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun[:-1]}ies" if noun.endswith("y") else f"{count} {noun}s"


def _count(argument: Argument | None) -> int | None:
    value = argument.value if argument is not None else None
    known = isinstance(value, Sequence) and value.exact and value.kind in ("tuple", "list")
    return len(value.items) if known and isinstance(value, Sequence) else None


def _against_call(model: FileModel, call: TransformedCall) -> Iterator[Finding]:
    """Entries against the arguments of one call."""
    axes = call.options.arguments.get("in_axes") if call.options is not None else None
    if axes is None:
        return
    value, count, given = axes.value, _count(axes), call.count
    area = model.range_of(axes.node) if axes.model is model else None
    where = area or model.range_of(call.site.node)
    at_call = model.range_of(call.site.node)
    if where is None or at_call is None:
        return
    names = parameter_names(call.target)
    if count is not None and count != given and (given or count):
        by_name = [one for one in call.keywords if names is not None and str(one.keyword and one.keyword.arg) in names]
        text = _IN_AXES.format(f"len(in_axes)={count}, len(args)={given}")
        if by_name and count == given + len(by_name) and by_name[0].keyword is not None:
            keyword = model.range_of(by_name[0].keyword)
            if keyword is not None:
                name = by_name[0].keyword.arg
                yield _finding(
                    model,
                    keyword,
                    f"`in_axes` has {count} entries, but they count positional arguments only, and `{name}` is passed "
                    "by keyword: JAX raises ValueError; pass it by position",
                    text,
                    _axes_here(model, area),
                    (("positional", str(name)),),
                )
            return
        among = ", `self` among them" if call.self_given else ""
        yield _finding(
            model,
            where,
            f"`in_axes` has {_plural(count, 'entry')}, but the function is called with "
            f"{_plural(given, 'positional argument')}{among}: JAX raises ValueError; write one entry for each",
            text,
            (Related(at_call, "called here"),) if where != at_call else (),
        )
        return
    only_none = (is_none(value) and not call.keywords) or (
        count and isinstance(value, Sequence) and all(is_none(v) for v in value.items)
    )
    sized = call.options is not None and "axis_size" in call.options.arguments
    if only_none and not sized and not call.keywords:
        yield _finding(
            model,
            where,
            "`in_axes` maps nothing, and JAX raises ValueError: give at least one argument an axis, or say `axis_size`",
            "vmap must have at least one non-None value in in_axes",
            (Related(at_call, "called here"),) if where != at_call else (),
        )


def _axes_here(model: FileModel, area: Range | None) -> tuple[Related, ...]:
    return (Related(area, "`in_axes` is here"),) if area is not None else ()


def _finding(
    model: FileModel,
    where: Range,
    message: str,
    text: str,
    related: tuple[Related, ...],
    data: tuple[tuple[str, str], ...] = (),
) -> Finding:
    consequence = raises(model, "when the function is called", "ValueError", text)
    return Finding(NAME, where, message, Severity.ERROR, consequence, related, data, ("ValueError",))


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write a tuple for the dictionary, rename the option, or pass the argument by position."""
    lines = model.source.lines
    meant, old, name = finding.datum("meant"), finding.datum("rename"), finding.datum("positional")
    if meant:
        edits = verbs.replace_expression(lines, finding.range, meant)
        safety = Safety.SAFE if finding.datum("sure") else Safety.UNSAFE
        return Fix("Write a tuple", safety, edits) if edits else None
    if old in _MEANT:
        for call in model.calls:
            where = model.range_of(call.node)
            if where is not None and any(
                one.keyword and model.range_of(one.keyword) == finding.range for one in call.unexpected
            ):
                edits = verbs.rename_keyword(lines, where, old, _MEANT[old])
                return Fix(f"Rename it to `{_MEANT[old]}`", Safety.SAFE, edits) if edits else None
    if name:
        for mapped in transformed_calls(model):
            first = mapped.keywords[0] if len(mapped.keywords) == 1 else None
            names = parameter_names(mapped.target) or ()
            by_name = first.keyword if first is not None else None
            if by_name is not None and model.range_of(by_name) == finding.range and mapped.count < len(names):
                value = model.range_of(by_name.value)
                if names[mapped.count] == name and value is not None:
                    edit = Edit(Range(finding.range.start, value.start), "")
                    return Fix(f"Pass `{name}` by position", Safety.SAFE, (edit,))
    return None


_DICT = """\
import jax
import jax.numpy as jnp


def apply(params):
    return params["x"] + params["b"]


STAGE = "decorate"
batched = jax.vmap(apply, in_axes={"x": 0, "b": None})
STAGE = "call"
batched({"x": jnp.ones(3), "b": 1.0})
"""

_KEYWORD = """\
import jax
import jax.numpy as jnp


def scale_by(x, scale):
    return x * scale


STAGE = "call"
jax.vmap(scale_by, in_axes=(0, None))(jnp.ones(3), scale=2.0)
"""

_NOTHING = """\
import jax
import jax.numpy as jnp

STAGE = "call"
jax.vmap(lambda x: x, in_axes=None)(jnp.ones(3))
"""

_OUT = """\
import jax
import jax.numpy as jnp

STAGE = "call"
jax.vmap(lambda x: (x, x * 2), out_axes=(0, 0, 0))(jnp.ones(3))
"""

RULE = Rule(
    code="JXP603",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.vmap", "jax.pmap"),
    examples=(
        Example(
            bad=_DICT,
            good=_DICT.replace('{"x": 0, "b": None}', '({"x": 0, "b": None},)'),
            proof=Raises("TypeError", "vmap in_axes must be an int, None, or a tuple of entries", "decorate"),
        ),
        Example(
            bad=_KEYWORD,
            good=_KEYWORD.replace("scale=2.0", "2.0"),
            proof=Raises("ValueError", "but got len(in_axes)=2, len(args)=1", "call"),
        ),
        Example(
            bad=_NOTHING,
            good=_NOTHING.replace("in_axes=None", "in_axes=0"),
            proof=Raises("ValueError", "vmap must have at least one non-None value in in_axes", "call"),
        ),
        Example(
            bad=_OUT,
            good=_OUT.replace("(0, 0, 0)", "(0, 0)"),
            proof=Raises("ValueError", "vmap out_axes specification must be a tree prefix", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
