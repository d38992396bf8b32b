"""Data classes that are cheap to make behave as the standard library's."""

from __future__ import annotations

import pickle
from dataclasses import field, replace

from jaxpert.records import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    line: int
    names: tuple[str, ...] = ()
    unseen: object = field(default=None, repr=False, compare=False)


@dataclass(slots=True)
class Growing:
    places: list[object] = field(default_factory=list)


def test_frozen_ones_are_equal_and_hashed_by_what_they_hold() -> None:
    one, same, other = Place(1, ("a",), object()), Place(1, ("a",)), Place(2)
    assert one == same != other
    assert len({one, same, other}) == 2
    assert replace(other, line=1, names=("a",)) == one
    assert pickle.loads(pickle.dumps(same)) == one
    assert not hasattr(one, "__dict__")


def test_others_have_no_hash() -> None:
    assert Growing.__hash__ is None


def test_they_show_what_they_hold() -> None:
    assert repr(Place(1, ("a",), 2)) == "Place(line=1, names=('a',))"
    growing = Growing()
    growing.places.append(growing)
    assert repr(growing) == "Growing(places=[...])"
