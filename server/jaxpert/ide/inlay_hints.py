"""Notes inside the code, as plain data: what a policy keeps, what is static, what becomes of a named value."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from jaxpert.ide.policy_words import AGAIN, NOT_LOOKED, fates_of_name, in_words, short_form, together
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.cursor import parameter_range, parameters_of
from jaxpert.model.decoded_policies import decoded_argument, policy_of
from jaxpert.model.effect_places import function_name
from jaxpert.model.rematerialized import alive
from jaxpert.model.tags_inside import tags_inside
from jaxpert.model.transforms import parameters, static_names
from jaxpert.model.values import string
from jaxpert.records import dataclass
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


class HintKind(enum.Enum):
    """What a hint is about; the values are the names of the client's settings."""

    POLICY = "policy"
    STATIC = "staticArguments"
    NAME = "checkpointNames"


@dataclass(frozen=True, slots=True)
class Hint:
    """A note at ``position``; ``before``: it belongs to what stands behind it."""

    position: Position
    label: str
    kind: HintKind
    tooltip: str
    before: bool = False


def inlay_hints(model: FileModel, area: Range, kinds: frozenset[HintKind]) -> list[Hint]:
    """The hints of some kinds in ``area``, in the order of the text. None where the text was edited since it last
    parsed, and none about what is not known.
    """
    if not model.concerns_jax or not model.checkpoints:
        return _sorted(_names(model, area)) if HintKind.NAME in kinds and model.concerns_jax else []
    found: list[Hint] = []
    if HintKind.POLICY in kinds:
        found.extend(_policies(model, area))
    if HintKind.STATIC in kinds:
        found.extend(_static(model, area))
    if HintKind.NAME in kinds:
        found.extend(_names(model, area))
    return _sorted(found)


def _sorted(hints: Iterator[Hint] | list[Hint]) -> list[Hint]:
    return sorted(hints, key=lambda hint: (hint.position, hint.kind.value))


def _policies(model: FileModel, area: Range) -> Iterator[Hint]:
    """Behind each policy, its short form."""
    for use in model.policy_uses:
        where = model.range_of(use.argument.node)
        if use.takes_bools or where is None or not area.contains(where.end):
            continue
        policy = decoded_argument(model, use.argument)
        label = short_form(policy)
        if label:
            lines = []
            for branch in policy.branches:
                when = f" where `{branch.when}`" if branch.when else ""
                lines.append(f"`{branch.text}`{when}")
            yield Hint(where.end, label, HintKind.POLICY, "  \n".join(lines))


def _static(model: FileModel, area: Range) -> Iterator[Hint]:
    """Before each parameter that is static wherever its function is rematerialized."""
    found: dict[tuple[int, str], list[bool]] = {}
    places: dict[tuple[int, str], Range] = {}
    names: dict[tuple[int, str], str] = {}
    for checkpoint in alive(model):
        known = parameters(model, checkpoint)
        if known is None or (known.function.model or model) is not model:
            continue
        static = static_names(model, checkpoint, known) or frozenset()
        for parameter in parameters_of(known.function.function):
            where = parameter_range(model, parameter)
            if where is not None and area.contains(where.start):
                key = (id(parameter), parameter.arg)
                places[key] = where
                names[key] = function_name(model, checkpoint)
                found.setdefault(key, []).append(parameter.arg in static)
    for key, verdicts in found.items():
        if any(verdicts):
            all_alike = all(verdicts)
            label = "static" if all_alike else f"static in {sum(verdicts)} of {len(verdicts)}"
            text = f"`{key[1]}` stays a plain Python value in `{names[key]}`, which is traced again for each new one"
            yield Hint(places[key].start, label, HintKind.STATIC, text, before=True)


def _names(model: FileModel, area: Range) -> Iterator[Hint]:
    """Behind each ``checkpoint_name``, whether the policies around it keep the value."""
    calls = []
    for call in model.calls:
        if call.api.kind is ApiKind.CHECKPOINT_NAME and not call.is_partial and not model.is_dead(call.site.block):
            where = model.range_of(call.node)
            if where is not None and area.contains(where.end):
                calls.append((call, where))
    if not calls:
        return
    fates: dict[int, list[str]] = {}
    told: dict[int, list[str]] = {}
    for checkpoint in alive(model):
        for tag in tags_inside(model, checkpoint):
            if tag.model is not model:
                continue
            policy = policy_of(model, checkpoint)
            fates.setdefault(id(tag.call.node), []).extend(fates_of_name(policy, tag.name) if tag.name else [""])
            words = " or ".join(
                in_words(branch.decoded.name(tag.name), model.target.version)
                for branch in policy.branches
                if branch.decoded is not None
            )
            line = f"`{tag.name}` in `{function_name(model, checkpoint)}`: {words}"
            told.setdefault(id(tag.call.node), []).append(line)
    asking = _Asking(model)
    for call, where in calls:
        name = call.role("name")
        text = string(name.value) if name is not None else None
        label = _label(fates.get(id(call.node)), text, asking)
        tooltip = "  \n".join(dict.fromkeys(told.get(id(call.node), ["No checkpoint around it is seen."])))
        if label:
            yield Hint(where.end, label, HintKind.NAME, tooltip)


def _label(fates: list[str] | None, name: str | None, asking: _Asking) -> str:
    """What becomes of a value: under the policies around it here, else under those that ask for its name elsewhere."""
    if fates is None:
        count = asking.count(name) if name is not None and asking.is_project else None
        return "" if count is None else f"kept by {_so_many(count)}" if count else "no policy asks for it"
    label = together(fates)
    if label not in (AGAIN, NOT_LOOKED):
        return label
    count = asking.count(name) if name is not None else None
    if count:
        return f"{AGAIN} here, kept by {_so_many(count)}"
    return label if count == 0 else AGAIN


def _so_many(count: int) -> str:
    return f"{count} polic{'ies' if count > 1 else 'y'}"


class _Asking:
    """Which policies of the project ask for which names; looked at when first needed."""

    def __init__(self, model: FileModel) -> None:
        self.model = model
        self.is_project = model.names is not None

    @cached_property
    def _counts(self) -> Counter[str] | None:
        index = self.model.project_names
        if any(not tag.text and tag.range is None for tag in index.tags()):
            return None  # the project is not read yet
        asking: set[tuple[str, str, Range | None]] = set()
        for use in index.uses():
            api = self.model.db.api(use.policy)
            if not use.text or api is None or "names_excluded" in api.traits:
                return None
            asking.add((use.text, use.path, use.range))
        return Counter(text for text, _, _ in asking)

    def count(self, name: str) -> int | None:
        """How many policies ask for a name; None when that is not known."""
        return None if self._counts is None else self._counts[name]
