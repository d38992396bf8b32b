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

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxpert.fixing import verbs
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.values import Sequence, Value, string
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity

NAME = "offload-names-overlap"


class _Written(NamedTuple):
    """Where a name is given: the element of a list, tuple or set, or the whole argument; and in which file."""

    node: ast.expr
    model: FileModel
    is_element: bool


class _Overlap(NamedTuple):
    """One name of both collections."""

    name: str
    offloaded: _Written
    saved: _Written


def check(model: FileModel) -> Iterator[Finding]:
    """Every name that stands in both collections of one call."""
    for call, offloaded, saved in _calls(model):
        keep, to = call.api.roles["names"], call.api.roles["offloaded_names"]
        for overlap in _overlaps(offloaded, saved):
            where = model.range_of(overlap.offloaded.node if overlap.offloaded.model is model else offloaded.node)
            if where is None:
                continue
            text = f"The names should be exclusive and should not intersect in `{keep}` and `{to}`. Got …"
            yield Finding(
                NAME, where, f'"{overlap.name}" is in `{keep}` as well: JAX raises when the policy is made; '
                "name it in one of the two", Severity.ERROR, raises(model, "where this stands", "ValueError", text),
                tuple(_related(model, overlap, keep, to)), (("name", overlap.name),), ("ValueError",),
            )  # fmt: skip


def _calls(model: FileModel) -> Iterator[tuple[ApiCall, Argument, Argument]]:
    for call in model.calls:
        if "names_disjoint" not in call.api.traits or call.is_partial or model.is_dead(call.site.block):
            continue
        offloaded, saved = call.role("offloaded_names"), call.role("names")
        if offloaded is not None and offloaded.model is model and saved is not None:
            yield call, offloaded, saved


def _overlaps(offloaded: Argument, saved: Argument) -> Iterator[_Overlap]:
    to, keep = list(offloaded.value.options()), list(saved.value.options())
    if len(to) > 1 and len(keep) > 1:
        return  # they may depend on the same condition
    for one in to:
        for other in keep:
            for name in dict.fromkeys(_names(one)):
                if name in _names(other):
                    yield _Overlap(name, _written(offloaded, one, name), _written(saved, other, name))


def _are_made_of_one(offloaded: Argument, saved: Argument) -> bool:
    """Whether the same variable stands in both: what is taken out of one is gone from the other."""
    names = [{part.id for part in ast.walk(one.node) if isinstance(part, ast.Name)} for one in (offloaded, saved)]
    return not names[0].isdisjoint(names[1])


def _names(value: Value) -> list[str]:
    texts = [string(item) for item in value.items] if isinstance(value, Sequence) else []
    return [text for text in texts if text is not None]


def _written(argument: Argument, value: Value, name: str) -> _Written:
    node = value.site.node if value.site is not None else None
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)) and value.model is not None and value.site is not None:
        for element in node.elts:
            if string(value.model.evaluate(element, value.site.scope, value.site.block)) == name:
                return _Written(element, value.model, True)
    return _Written(argument.node, argument.model, False)


def _related(model: FileModel, overlap: _Overlap, keep: str, to: str) -> Iterator[Related]:
    for written, collection in ((overlap.saved, keep), (overlap.offloaded, to)):
        area = written.model.range_of(written.node)
        elsewhere = written.model is not model
        if area is not None and (elsewhere or collection == keep):
            yield Related(area, f"`{collection}` has it here", written.model.path if elsewhere else "")


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Take the name out of those that are saved: it is asked to be offloaded."""
    for call, offloaded, saved in model.every(_calls):
        if _are_made_of_one(offloaded, saved):
            continue  # without it, another name would take its place
        for overlap in _overlaps(offloaded, saved):
            if finding.datum("name") != overlap.name or model.range_of(overlap.offloaded.node) != finding.range:
                continue
            saved_at, here = overlap.saved, overlap.saved.model is model
            where = model.range_of(saved_at.node) if here and saved_at.is_element else None
            if where is None or where == finding.range:
                return None
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
    apis=("jax.checkpoint_policies.save_and_offload_only_these_names",),
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
