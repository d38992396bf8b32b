"""Everything that can be done to right code at a place: offers that cost little, edits when one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from jaxpert.ide.lambda_refactorings import name_policy
from jaxpert.ide.policy_refactorings import choose_policy, leave_out_default, simplify_joined, use_ready_made
from jaxpert.ide.refactoring import Refactoring, Spot
from jaxpert.ide.tag_refactorings import tag_value
from jaxpert.ide.wrap_in_checkpoint import wrap_call, wrap_function
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis

_OFFERS: tuple[Callable[[Spot], Iterator[Refactoring]], ...] = (
    wrap_function,
    wrap_call,
    choose_policy,
    leave_out_default,
    use_ready_made,
    simplify_joined,
    name_policy,
    tag_value,
)


def refactorings(analysis: Analysis, area: Range) -> list[Refactoring]:
    """What can be done at ``area``, a cursor or a selection; nothing where the text does not parse at the moment."""
    model = analysis.model
    if not model.concerns_jax:
        return []
    units = [unit for unit in model.source.units if unit.first <= area.end.line and area.start.line < unit.end]
    if any(unit.stale for unit in units):
        return []
    spot = Spot(analysis, area)
    return [offer for find in _OFFERS for offer in find(spot)]
