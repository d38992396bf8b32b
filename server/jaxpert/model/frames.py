"""What is known of a function's parameters where it is called, as far as it decides which effects the function has."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from jaxpert.model.callables import wraps
from jaxpert.model.effect_kinds import Ref
from jaxpert.model.values import (
    CallResult,
    Choice,
    ClassValue,
    Def,
    Frame,
    Instance,
    Literal,
    Partial,
    Sequence,
    Symbol,
    Table,
    Value,
)
from jaxpert.syntax.scopes import Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

T = TypeVar("T")

_MOST_REMEMBERED = 16


def telling(model: FileModel, target: Def, frame: Frame) -> Frame:
    """The part of ``frame`` that can decide which effects ``target`` has: functions, objects, Refs and flags.

    A body read without any is read once for all its calls.
    """
    if not frame:
        return frame
    visible = set()
    scope: Scope | None = target.function.inner
    while scope is not None:
        visible.add(id(scope))
        scope = scope.parent
    return {
        key: value
        for key, value in frame.items()
        if key[0] in visible and any(_tells(model, option) for option in value.options())
    }


def _tells(model: FileModel, value: Value) -> bool:
    if isinstance(value, Sequence):
        return any(_tells(model, option) for item in value.items for option in item.options())
    if isinstance(value, Table):
        return any(_tells(model, option) for _, item in value.entries for option in item.options())
    if isinstance(value, Literal):
        return value.value is None or isinstance(value.value, bool)
    if isinstance(value, CallResult):
        api = model.db.api(value.path)
        is_known = api is not None and (wraps(api) or "creates_ref" in api.traits)
        return is_known or isinstance(value.callee, CallResult)
    return isinstance(value, (Def, Partial, Instance, ClassValue, Symbol, Ref))


def identity(frame: Frame) -> object:
    """Equal for frames that give the same."""
    if not frame:
        return ()
    return tuple(sorted((key, _identity(value)) for key, value in frame.items()))


def _identity(value: Value) -> str:
    if isinstance(value, Literal):
        return repr(value.value)
    if isinstance(value, Symbol):
        return value.path
    if isinstance(value, Def):
        return f"{id(value.function)} {identity(value.frame)}"
    parts: tuple[Value, ...] = ()
    if isinstance(value, Choice):
        parts = value.values
    elif isinstance(value, Sequence):
        parts = value.items
    elif isinstance(value, Table):
        parts = tuple(item for _, item in value.entries)
    elif isinstance(value, Partial):
        parts = (value.target, *value.args, *value.keywords.values())
    itself = 0 if isinstance(value, Choice) else id(value.site.node if value.site is not None else value)
    return f"{type(value).__name__} {itself} ({', '.join(map(_identity, parts))})"


def remembered(model: FileModel, target: Def, what: str, frame: Frame, compute: Callable[[], T]) -> T:
    """A fact about ``target`` when its parameters are as ``frame`` says, kept in its tree."""
    tree = target.function.block.tree
    prefix = f"{what} of {id(target.function)} given "
    key = f"{prefix}{identity(frame)}"
    if key not in tree.facts:  # values come and go with the text that gives them
        keys = tree.facts.setdefault(prefix, [])
        assert isinstance(keys, list)
        while len(keys) >= _MOST_REMEMBERED:
            tree.facts.pop(keys.pop(0), None)
        keys.append(key)
    # The frame is kept with the fact: its values are known by their identity.
    return model.tree_fact(tree, key, lambda _: (compute(), frame))[0]
