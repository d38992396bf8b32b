"""Frozen dataclasses and named tuples as plain JSON values and back: each as a list of its fields, in order."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Callable, Hashable
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
_PLAIN = (str, int, bool, type(None))


class BadRecord(ValueError):
    """A value that no record of the wanted type was written as."""


def to_plain(value: object) -> object:
    """``value`` as lists, strings, integers, truth values and None.

    Raises:
        TypeError: something in it is none of these, nor a dataclass, a tuple or a member of an enumeration.
    """
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, _PLAIN):
        return value
    if dataclasses.is_dataclass(value):
        return [to_plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return [to_plain(item) for item in value]
    raise TypeError(f"no plain form of {type(value).__name__}")


def from_plain(kind: type[T], value: object) -> T:
    """What :func:`to_plain` made ``value`` of, a ``kind``.

    Raises:
        BadRecord: it is no plain form of a ``kind``.
    """
    read: Callable[[object], T] = _reader(typing.cast(Hashable, kind))
    return read(value)


@cache
def _reader(kind: Any) -> Callable[[object], Any]:
    """What reads a ``kind``, which is a type as annotations write it."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is ...:
            return _sequence(_reader(arguments[0]))
        return _row(tuple, [_reader(each) for each in arguments])
    if origin in (typing.Union, types.UnionType):
        (inner,) = (each for each in arguments if each is not type(None))
        read = _reader(inner)
        return lambda value: None if value is None else read(value)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return lambda value: _member(kind, value)
    if isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields")):
        names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else kind._fields
        hints = typing.get_type_hints(kind)
        return _row(lambda items: kind(*items), [_reader(hints[name]) for name in names])
    if kind in _PLAIN:
        return lambda value: _exactly(kind, value)
    raise TypeError(f"no reader of {kind}")


def _sequence(read: Callable[[object], Any]) -> Callable[[object], Any]:
    return lambda value: tuple([read(item) for item in _exactly(list, value)])


def _row(make: Callable[[list[Any]], Any], readers: list[Callable[[object], Any]]) -> Callable[[object], Any]:
    def read(value: object) -> Any:
        items: list[object] = _exactly(list, value)
        if len(items) != len(readers):
            raise BadRecord(f"{len(items)} fields instead of {len(readers)}")
        return make([read(item) for read, item in zip(readers, items)])

    return read


def _member(kind: type[enum.Enum], value: object) -> enum.Enum:
    try:
        return kind(value)
    except ValueError as error:
        raise BadRecord(str(error)) from error


def _exactly(kind: type, value: object) -> Any:
    if type(value) is not kind:
        raise BadRecord(f"{type(value).__name__} instead of {kind.__name__}")
    return value
