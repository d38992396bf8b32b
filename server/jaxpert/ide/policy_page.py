"""What a policy does, for somebody who asks about a line and not about one expression in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxpert.ide.checkpoint_hover import checkpoint_hover
from jaxpert.ide.policy_hover import policy_hover

if TYPE_CHECKING:
    from jaxpert.ide.blocks import Block
    from jaxpert.model.file_model import FileModel
    from jaxpert.text.lines import Position


def policy_page(model: FileModel, position: Position) -> list[Block] | None:
    """What the policy at ``position`` does, else the first one given in that line, else what is said about the
    rematerialized function at ``position``; None when there is nothing of this kind.
    """
    if found := policy_hover(model, position):
        return found[1]
    areas = [
        area
        for use in (model.policy_uses if model.concerns_jax else ())
        if use.argument.model is model and (area := model.range_of(use.argument.node)) is not None
    ]
    for area in sorted(area for area in areas if area.start.line <= position.line <= area.end.line):
        if found := policy_hover(model, area.start):
            return found[1]
    around = checkpoint_hover(model, position)
    return around[1] if around else None
