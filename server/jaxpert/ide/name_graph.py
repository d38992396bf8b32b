"""The checkpoint names of a project as an editor asks for them: what stands here, where it is tagged, who uses it."""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from jaxpert.model.names import NameIndex, NamePlace, Spot
from jaxpert.records import dataclass
from jaxpert.syntax.string_literals import content, inside, read_literal
from jaxpert.text.gaps import ANY, fits
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


class Access(enum.Enum):
    """What happens to a name at a place."""

    TAG = "tag"
    USE = "use"


@dataclass(frozen=True, slots=True)
class NameHere:
    """What stands under the cursor.

    Attributes:
        range: the name; between the quotes where it is a lone literal.
        places: everything that this expression is to the project: a constant can be both tag and use.
    """

    range: Range
    places: tuple[NamePlace, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The known names."""
        return tuple(dict.fromkeys(place.text for place in self.places if place.text))

    @property
    def role(self) -> str:
        """ "tag", "use" or "hint"; of several, that of the first."""
        return self.places[0].role

    def is_about(self, place: NamePlace) -> bool:
        """Whether ``place`` has, or by its pattern may have, one of the names here."""
        return any(_may_meet(here, place) for here in self.places)


def name_at(model: FileModel, position: Position) -> NameHere | None:
    """The checkpoint name that is spelled at ``position``; None when there is none.

    Where a variable is given instead, what stands there is the variable, and not ours.
    """
    found: dict[Range, tuple[str, list[NamePlace]]] = {}
    for facts in model.project_names.files.values():
        if model.path in facts.paths:
            for place in (*facts.tags, *facts.hints, *facts.uses, *facts.compared):
                area = place.range if place.path == model.path else None
                if area is not None and area.contains(position) and read_literal(place.written, 0) is not None:
                    found.setdefault(area, (place.written, []))[1].append(place)
    if not found:
        return None
    area = min(found, key=lambda it: (it.end.line - it.start.line, it.end.column - it.start.column, -it.start.column))
    written, places = found[area]
    return NameHere(inside(area, written), tuple(dict.fromkeys(places)))


def related(index: NameIndex, here: NameHere) -> Iterator[NamePlace]:
    """Every place that has, or by its pattern may have, one of the names here."""
    yield from index.named(here.names)
    for place in index.computed():
        if here.is_about(place):
            yield place
    if any(not place.text and place.parts != ANY for place in here.places):
        for facts in index.files.values():
            for name in facts.by_name:
                if name not in here.names:
                    yield from (place for place in facts.by_name[name] if here.is_about(place))


def inner(spot: Spot) -> Spot:
    """What stands between the quotes of a literal; any other expression as it is."""
    return Spot(spot.path, inside(spot.range, spot.written), content(spot.written))


def spots_of(place: NamePlace) -> Iterator[Spot]:
    """Where the name is written, and the argument that it is given by when that is another expression."""
    if place.range is not None:
        yield Spot(place.path, place.range, place.written)
    if place.argument is not None:
        yield place.argument


def shown(place: NamePlace) -> Spot | None:
    """Where a tag or use is to be looked at: the argument in the call; None when that was edited meanwhile."""
    return place.argument or next(spots_of(place), None)


def definitions(model: FileModel, here: NameHere) -> list[Spot]:
    """The tags of the names here, between their quotes; computed ones only where no tag has just this name."""
    tags = [place for place in related(model.project_names, here) if place.role != Access.USE.value]
    return _spots([place for place in tags if place.text in here.names] or tags)


def references(model: FileModel, here: NameHere, declarations: bool) -> list[Spot]:
    """Every use of the names here; with ``declarations`` also every tag, and every literal that spells one."""
    places = related(model.project_names, here)
    wanted = [place for place in places if declarations or place.role == Access.USE.value]
    spots = _spots(wanted)
    if declarations:
        literals = [inner(Spot(it.path, it.range, it.written)) for it in wanted if it.range is not None]
        spots = list(dict.fromkeys([*spots, *literals]))
    return sorted(spots, key=lambda spot: (spot.path != model.path, spot.path, spot.range))


def highlights(model: FileModel, here: NameHere) -> list[tuple[Range, Access]]:
    """The names here wherever they stand in this file."""
    found: dict[Range, Access] = {}
    for place in related(model.project_names, here):
        for spot in spots_of(place):
            if spot.path == model.path:
                access = Access.USE if place.role == Access.USE.value else Access.TAG
                found.setdefault(inner(spot).range, access)
    return sorted(found.items(), key=lambda it: it[0])


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name of the project and the places where it stands."""

    name: str
    places: tuple[NamePlace, ...]

    @property
    def is_tagged(self) -> bool:
        """Whether a value has this name."""
        return any(place.role != Access.USE.value for place in self.places)

    def spots(self, access: Access) -> list[Spot]:
        """Where values are tagged with it, or where it is used."""
        wanted = (place for place in self.places if (place.role == Access.USE.value) is (access is Access.USE))
        found = {(spot.path, spot.range): spot for place in wanted if (spot := shown(place)) is not None}
        return list(found.values())


def known_names(index: NameIndex, path: str, at: Position) -> list[KnownName]:
    """Every name that is written out somewhere else than ``at`` in the file ``path``, or in lines edited since."""
    found: dict[str, list[NamePlace]] = {}
    for facts in index.files.values():
        is_near = path in facts.paths
        for name, places in facts.by_name.items():
            if is_near:
                places = tuple(it for it in places if not any(_holds(spot, path, at) for spot in spots_of(it)))
            if any(place.range is not None or place.argument is not None for place in places):
                found.setdefault(name, []).extend(places)
    return [KnownName(name, tuple(places)) for name, places in found.items()]


def places_in_words(spots: Sequence[Spot], most: int = 2) -> str:
    """``block.py:31, block.py:88`` and how many more."""
    words = [f"{spot.path.rpartition(os.sep)[2]}:{spot.range.start.line + 1}" for spot in spots[:most]]
    more = f" and {len(spots) - most} more" if len(spots) > most else ""
    return ", ".join(words) + more


def _holds(spot: Spot, path: str, position: Position) -> bool:
    return spot.path == path and spot.range.contains(position)


def _spots(places: Iterable[NamePlace]) -> list[Spot]:
    return list(dict.fromkeys(inner(spot) for place in places if (spot := shown(place)) is not None))


def _may_meet(here: NamePlace, other: NamePlace) -> bool:
    """Whether two places may have one name. Of what is not known at all, only the very same place is meant."""
    if here == other:
        return True
    if ANY in (here.parts, other.parts):
        return False
    if here.text and other.text:
        return here.text == other.text
    if here.text or other.text:
        return fits(here.text, other.parts) if here.text else fits(other.text, here.parts)
    return here.parts == other.parts
