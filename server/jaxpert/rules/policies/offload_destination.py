"""Values are offloaded to a place that JAX does not know, and stay on the device.

## What it finds

`dst` and `offload_dst` other than `"pinned_host"`, in `Offloadable(…)`, `offload_dot_with_no_batch_dims(…)` and
`save_and_offload_only_these_names(…)`: misspelled kinds, `"device"`, `"unpinned_host"`, `jax.memory.Space.Host`. And
`"pinned_host"` as the source, with which source and destination are mostly swapped.

## Why it matters

From 0.7.1 on every destination but the string `"pinned_host"` means the device. Nothing is moved, the memory stays
as full as it was, and JAX says nothing. A source `"pinned_host"` raises when the function is differentiated, with an
`AssertionError` without any text.

## In which versions

From 0.7.1 on as said. Before, any kind of memory that the device has was taken, `"unpinned_host"` among them; names
that no device has, and moves from `"device"` to `"device"`, were as useless as today. With `jax_remat3` a source
`"pinned_host"` raises another error.

## What to write instead

`Offloadable(src="device", dst="pinned_host")`.

## Known limits

A wrong source other than `"pinned_host"` does no harm and is not reported. Where neither the source nor the
destination is a kind of memory that JAX has, they may be names of your own, and it is only information.

## Source

`mem_kind_to_space` in `jax/_src/core.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import certain_options
from jaxpert.model.speech import raises, silent
from jaxpert.model.values import Literal, Symbol, Value, string
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Silent
from jaxpert.text.edits import Edit
from jaxpert.text.near_misses import nearest

NAME = "offload-destination"

_HOST = "pinned_host"
_KINDS = ("device", _HOST, "unpinned_host")
_ONLY_HOST = Version("0.7.1")
_MEANT_HOST = ("host", "cpu", "unpinned_host", "pinned", "ram", "cpu_pinned", "host_pinned")


class _Offload(NamedTuple):
    """Where a call moves values from and to, as far as it is certain."""

    call: ApiCall
    source: Argument | None
    destination: Argument | None


def check(model: FileModel) -> Iterator[Finding]:
    """Destinations that are none, and sources that cannot be."""
    for offload in _offloads(model):
        swapped = _is_from_host(offload.source)
        if swapped and offload.source is not None and (where := model.range_of(offload.source.node)) is not None:
            yield _from_host(model, offload, where_is=offload.source)
        elif offload.destination is not None:
            wrong = _wrong_destination(model, offload)
            where = model.range_of(offload.destination.node)
            if wrong and where is not None:
                yield _nowhere(model, offload, wrong)


def _offloads(model: FileModel) -> Iterator[_Offload]:
    seen: set[int] = set()
    for call in model.calls:
        if "offload_dst" not in call.api.roles or model.is_dead(call.site.block):
            continue
        if call.missing or call.unexpected or call.surplus:
            continue  # it raises, as other rules say
        found = [call.role(role) for role in ("offload_src", "offload_dst")]
        source, destination = (
            argument if argument is not None and argument.model is model else None for argument in found
        )
        key = id((destination or source).node) if destination or source else id(call.node)  # type: ignore[union-attr]
        if key not in seen:  # a partial is seen again at its calls
            seen.add(key)
            yield _Offload(call, source, destination)


def _is_from_host(source: Argument | None) -> bool:
    return source is not None and [string(option) for option in certain_options(source)] == [_HOST]


def _wrong_destination(model: FileModel, offload: _Offload) -> str:
    """The destination as the user knows it, when values sent there stay where they are; else ""."""
    assert offload.destination is not None
    for option in certain_options(offload.destination):
        text = string(option)
        if text == _HOST or (text is None and not _is_no_string(option)):
            continue
        if text == "unpinned_host" and model.target.version < _ONLY_HOST:
            continue
        return f'`"{text}"`' if text is not None else f"`{model.text_of(offload.destination.node)}`"
    return ""


def _is_no_string(value: Value) -> bool:
    """Whether ``value`` is certainly no string: a member of ``jax.memory.Space``, None, a number."""
    if isinstance(value, Symbol):
        return ".memory.Space." in value.path or value.path.endswith(".memory.Space")
    return isinstance(value, Literal)


def _is_unknown_source(offload: _Offload) -> bool:
    if offload.source is None:
        return False
    texts = [string(option) for option in certain_options(offload.source)]
    return len(texts) == 1 and texts[0] is not None and texts[0] not in _KINDS


def _nowhere(model: FileModel, offload: _Offload, wrong: str) -> Finding:
    assert offload.destination is not None
    where = model.range_of(offload.destination.node)
    assert where is not None
    foreign = _is_unknown_source(offload) and wrong.strip('`"') not in _KINDS
    what = 'every destination but "pinned_host" means the device'
    if model.target.version < _ONLY_HOST:
        what = "nothing is moved to the memory of the host"
    return Finding(
        NAME, where, f'{wrong} is no memory that values are offloaded to: they stay on the device; write '
        f'`"{_HOST}"`', Severity.INFORMATION if foreign else Severity.WARNING, silent(model, what),
    )  # fmt: skip


def _from_host(model: FileModel, offload: _Offload, where_is: Argument) -> Finding:
    where = model.range_of(where_is.node)
    assert where is not None
    to = [string(option) for option in certain_options(offload.destination)] if offload.destination else []
    advice = "swap source and destination" if to == ["device"] else 'the source is `"device"`'
    if model.target.version < _ONLY_HOST:
        return Finding(
            NAME, where, f'values are computed on the device, not in `"{_HOST}"`: they are not offloaded; {advice}',
            Severity.WARNING, silent(model, "the move is written into the program the wrong way round"),
        )  # fmt: skip
    exception, text = "AssertionError", "(without any text)"
    if model.target.remat3:
        exception, text = "ValueError", "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: …"
    return Finding(
        NAME, where, f'values are computed on the device, not in `"{_HOST}"`: it raises at the first `grad`; {advice}',
        Severity.ERROR, raises(model, "when this is differentiated", exception, text), exceptions=(exception,),
    )  # fmt: skip


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the one destination that works, or swap the two."""
    lines = model.source.lines
    for offload in model.every(_offloads):
        source, destination = offload.source, offload.destination
        if source is not None and model.range_of(source.node) == finding.range and _is_from_host(source):
            edits: tuple[Edit, ...] | None = None
            if destination is not None and [string(o) for o in certain_options(destination)] == ["device"]:
                there = model.range_of(destination.node)
                one = verbs.replace_expression(lines, finding.range, model.text_of(destination.node))
                other = verbs.replace_expression(lines, there, model.text_of(source.node)) if there else None
                edits = (*one, *other) if one and other else None
                return Fix("Swap source and destination", Safety.SAFE, edits) if edits else None
            edits = verbs.replace_expression(lines, finding.range, '"device"')
            return Fix('Write `"device"`', Safety.SAFE, edits) if edits else None
        if destination is None or model.range_of(destination.node) != finding.range:
            continue
        option = next(iter(certain_options(destination)), None)
        text = string(option) if option is not None else None
        host = (text is None and model.text_of(destination.node).endswith(".Host")) or text in _MEANT_HOST
        near = text is not None and nearest(text, [_HOST]) is not None
        edits = verbs.replace_expression(lines, finding.range, f'"{_HOST}"')
        safety = Safety.SAFE if host or near else Safety.UNSAFE
        return Fix(f'Write `"{_HOST}"`', safety, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import Offloadable


def offload_dots(prim, *_, **__):
    if prim.name == "dot_general":
        return Offloadable(src="device", dst="host")
    return False


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=offload_dots)
STAGE = "grad"
program = str(jax.make_jaxpr(jax.grad(loss_remat))(jnp.ones((3, 3)), jnp.ones((2, 3))))
is_moved = "pinned_host" in program or "host>" in program or "Space.Host" in program
"""

RULE = Rule(
    code="JXP219",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "jax.checkpoint_policies.offload_dot_with_no_batch_dims",
        "jax.checkpoint_policies.save_and_offload_only_these_names",
        "jax.ad_checkpoint.Offloadable",
    ),
    examples=(
        Example(
            bad=_BAD, good=_BAD.replace('dst="host"', 'dst="pinned_host"'), proof=Silent("not is_moved", remat3=False)
        ),
        Example(
            bad=_BAD.replace('src="device", dst="host"', 'src="pinned_host", dst="device"'),
            good=_BAD.replace('dst="host"', 'dst="pinned_host"'),
            proof=Raises("AssertionError", "", "grad", since="0.7.1", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
