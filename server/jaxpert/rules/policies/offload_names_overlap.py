"""A name is given both as saved and as offloaded.

## What it finds

Calls of `save_and_offload_only_these_names` whose two collections of names have a name in common. The names are
followed through variables, constants of other modules, concatenations and unions.

## Why it matters

A value is either kept where it is or moved; JAX raises when the policy is made:

    ValueError: The names should be exclusive and should not intersect in `names_which_can_be_saved` and
    `names_which_can_be_offloaded`. Got names_which_can_be_saved={'a', 'b'}, names_which_can_be_offloaded={'b'} …

## In which versions

All, with and without `jax_remat3`.

## What to write instead

Each name in one of the two. What is offloaded need not be listed as saved as well.

## Known limits

Names that are put together at run time are not seen. Where both collections depend on a condition, nothing is
reported.

## Source

`save_and_offload_only_these_names` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jaxpert.fixing import verbs
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.values import Sequence, Value, string
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "offload-names-overlap"


class _Overlap(NamedTuple):
    """One name, where it is written as offloaded and where as saved."""

    name: str
    offloaded: Value
    saved: Value


def check(model: FileModel) -> Iterator[Finding]:
    """Every name that stands in both collections of one call."""
    for call, offloaded, saved in _calls(model):
        for overlap in _overlaps(offloaded, saved):
            where = _place(model, overlap.offloaded) or model.range_of(offloaded.node)
            if where is None or offloaded.model is not model:
                continue
            to, keep = str(call.api.roles["offloaded_names"]), str(call.api.roles["names"])
            text = f"The names should be exclusive and should not intersect in `{keep}` and `{to}`. Got …"
            yield Finding(
                NAME, where, f'"{overlap.name}" is in `{keep}` as well: JAX raises when the policy is made; '
                f"name it in one of the two", Severity.ERROR, raises(model, "where this stands", "ValueError", text),
                tuple(_related(model, overlap, saved, keep)), exceptions=("ValueError",),
            )  # fmt: skip


def _calls(model: FileModel) -> Iterator[tuple[ApiCall, Argument, Argument]]:
    for call in model.calls:
        offloaded, saved = call.role("offloaded_names"), call.role("names")
        if offloaded is not None and saved is not None and not call.is_partial and not model.is_dead(call.site.block):
            yield call, offloaded, saved


def _overlaps(offloaded: Argument, saved: Argument) -> Iterator[_Overlap]:
    to, keep = list(offloaded.value.options()), list(saved.value.options())
    if len(to) > 1 and len(keep) > 1:
        return  # they may depend on the same condition
    for one in to:
        for other in keep:
            kept = {string(item): item for item in other.items} if isinstance(other, Sequence) else {}
            moved = {string(item): item for item in one.items} if isinstance(one, Sequence) else {}
            for name, item in moved.items():
                if name is not None and name in kept:
                    yield _Overlap(name, item, kept[name])


def _place(model: FileModel, name: Value) -> Range | None:
    """Where the name is written, if it is in this file."""
    return model.range_of(name.site.node) if name.site is not None and name.model is model else None


def _related(model: FileModel, overlap: _Overlap, saved: Argument, keep: str) -> Iterator[Related]:
    name = overlap.saved
    elsewhere = name.model is not None and name.model is not model
    area = name.model.range_of(name.site.node) if name.model is not None and name.site is not None else None
    if area is None and saved.model is model:
        area, elsewhere = model.range_of(saved.node), False
    if area is not None:
        yield Related(area, f"`{keep}` has it here", name.model.path if elsewhere and name.model is not None else "")


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Take the name out of those that are saved: it is asked to be offloaded."""
    for call, offloaded, saved in _calls(model):
        for overlap in _overlaps(offloaded, saved):
            where = _place(model, overlap.saved)
            if where is None or (_place(model, overlap.offloaded) or model.range_of(offloaded.node)) != finding.range:
                continue
            if where == finding.range:
                return None  # one constant is given as both
            edits = verbs.remove_element(model.source.lines, where)
            title = f'Remove "{overlap.name}" from `{call.api.roles["names"]}`'
            return Fix(title, Safety.UNSAFE, edits) if edits else None
    return None


_BAD = '''\
import jax

STAGE = "decorate"
policy = jax.checkpoint_policies.save_and_offload_only_these_names(
    names_which_can_be_saved=["attn_out", "mlp_up"],
    names_which_can_be_offloaded=["mlp_up"],
    offload_src="device",
    offload_dst="pinned_host",
)
'''

RULE = Rule(
    code="JXP209",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace('["attn_out", "mlp_up"]', '["attn_out"]'),
            proof=Raises("ValueError", "The names should be exclusive and should not intersect", "decorate"),
        ),
    ),
    check=check,
    fix=fix,
)
