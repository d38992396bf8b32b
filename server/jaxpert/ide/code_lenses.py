"""Lines above rematerialized functions: what their policy keeps, their names, and how often they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.ide.policy_words import KEPT, OFFLOADED, fates_of_name, short_form
from jaxpert.model.cursor import name_range
from jaxpert.model.decoded_policies import policy_of
from jaxpert.model.rematerialized import alive
from jaxpert.model.tags_inside import tags_inside
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import ClassValue, Def
from jaxpert.model.wrapped_calls import wrapped_calls
from jaxpert.records import dataclass
from jaxpert.text.lines import Position, Range, without_line_end

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True)
class Lens:
    """A line above ``range``, and the places that it is about: a path, "" for the same file, and a range there."""

    range: Range
    title: str
    places: tuple[tuple[str, Range], ...] = ()


def code_lenses(model: FileModel) -> list[Lens]:
    """The lenses of a file in the order of the text."""
    if not model.concerns_jax or not model.checkpoints:
        return []
    groups: dict[Range, list[Checkpoint]] = {}
    for checkpoint in alive(model):
        where = _place_of(model, checkpoint)
        if where is not None:
            groups.setdefault(where, []).append(checkpoint)
    return [lens for where in sorted(groups) for lens in _lenses(model, where, groups[where])]


def _place_of(model: FileModel, checkpoint: Checkpoint) -> Range | None:
    """The function or class where it is defined, its first decorator or its name; where it is wrapped, when that is
    elsewhere.
    """
    target = checkpoint.target
    node: ast.AST = checkpoint.node
    if isinstance(target, (ClassValue, Def)) and (target.model or model) is model:
        defined = target.node if isinstance(target, ClassValue) else target.function.node
        if not isinstance(defined, ast.Lambda):
            if not defined.decorator_list:
                return name_range(model, defined)
            node = defined.decorator_list[0]
    area = model.range_of(node)
    if area is None or area.start.line == area.end.line:
        return area
    end = Position(area.start.line, len(without_line_end(model.source.lines[area.start.line])))
    return Range(area.start, end)  # a lens spans one line


def _lenses(model: FileModel, where: Range, checkpoints: list[Checkpoint]) -> Iterator[Lens]:
    yield _policy_lens(model, where, checkpoints)
    names = _names_lens(model, where, checkpoints)
    if names is not None:
        yield names
    calls = {
        area: None
        for checkpoint in checkpoints
        for call in wrapped_calls(model, checkpoint)
        if not call.is_partial and (area := model.range_of(call.site.node)) is not None
    }
    if calls:
        title = f"{len(calls)} call{'' if len(calls) == 1 else 's'} in this file"
        yield Lens(where, title, tuple(("", area) for area in sorted(calls)))


def _policy_lens(model: FileModel, where: Range, checkpoints: list[Checkpoint]) -> Lens:
    forms: dict[str, None] = {}
    places = []
    for checkpoint in checkpoints:
        argument = checkpoint.role("policy")
        forms[short_form(policy_of(model, checkpoint)) or "policy not known"] = None
        area = argument.model.range_of(argument.node) if argument is not None else model.range_of(checkpoint.node)
        owner = argument.model if argument is not None else model
        if area is not None:
            places.append(("" if owner is model else owner.path, area))
    return Lens(where, f"rematerialized · {' | '.join(forms)}", tuple(dict.fromkeys(places)))


def _names_lens(model: FileModel, where: Range, checkpoints: list[Checkpoint]) -> Lens | None:
    fates: dict[str, list[str]] = {}
    places: dict[tuple[str, Range], None] = {}
    for checkpoint in checkpoints:
        policy = policy_of(model, checkpoint)
        for tag in tags_inside(model, checkpoint):
            fates.setdefault(tag.name, []).extend(fates_of_name(policy, tag.name) if tag.name else [""])
            area = tag.model.range_of(tag.call.node)
            if area is not None:
                places["" if tag.model is model else tag.model.path, area] = None
    if not fates:
        return None
    title = f"{len(fates)} name{'' if len(fates) == 1 else 's'}"
    if not any("" in each for each in fates.values()):
        title += f", {sum(bool({KEPT, OFFLOADED} & set(each)) for each in fates.values())} kept"
    return Lens(where, title, tuple(places))
