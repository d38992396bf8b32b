"""Which named values a checkpointed function computes: in its own body, and in the functions that this calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.body_effects import read_body
from jaxpert.model.callables import bodies, value_of
from jaxpert.model.calls import ApiCall, api_calls_in
from jaxpert.model.frames import identity, telling
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import ClassValue, Def, Frame, Value, string
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MOST_FUNCTIONS = 100


@dataclass(frozen=True, slots=True, eq=False)
class TagInside:
    """A value that is named while a checkpointed function runs.

    Attributes:
        name: its name; "" when that is not known.
        call: the call that names it.
        model: of the file where that stands.
    """

    name: str
    call: ApiCall
    model: FileModel


def tags_inside(model: FileModel, checkpoint: Checkpoint) -> tuple[TagInside, ...]:
    """The named values of the checkpointed function, each call and name once, the nearest first."""
    def find(_: TreeIndex) -> tuple[TagInside, ...]:
        return tuple(_follow(model, checkpoint))

    key = f"tags inside {id(checkpoint.node)} {id(getattr(checkpoint.target, 'function', None))}"
    return model.tree_fact(checkpoint.site.block.tree, key, find)


def functions_inside(model: FileModel, checkpoint: Checkpoint) -> Iterator[tuple[Def, Frame]]:
    """The functions that run when the checkpointed function does, itself first, with what is known of their parameters.
    """
    waiting: deque[tuple[Def, Frame]] = deque(_targets(model, checkpoint.target))
    seen: set[object] = set()
    while waiting and len(seen) < _MOST_FUNCTIONS:
        target, given = waiting.popleft()
        owner = target.model or model
        frame = _telling(owner, target, given)
        key = (id(target.function), identity(frame))
        if key in seen:
            continue
        seen.add(key)
        model.evaluator.entered.append(target.function.block.tree)
        yield target, frame
        body = read_body(owner, target, telling(owner, target, frame))
        waiting.extend((each.target, each.frame) for each in body.followed)


def _follow(model: FileModel, checkpoint: Checkpoint) -> Iterator[TagInside]:
    told: set[tuple[int, str]] = set()
    for target, frame in functions_inside(model, checkpoint):
        owner = target.model or model
        for call in api_calls_in(owner, target.function.block.tree):
            is_tag = call.api.kind is ApiKind.CHECKPOINT_NAME and not call.is_partial
            if not is_tag or call.site.scope.function() is not target.function.inner or owner.is_dead(call.site.block):
                continue
            for name in _names(call, frame):
                if (id(call.node), name) not in told:
                    told.add((id(call.node), name))
                    yield TagInside(name, call, owner)


def _telling(model: FileModel, target: Def, frame: Frame) -> Frame:
    """The part of ``frame`` that can decide which functions run, and which names they give."""
    inner = id(target.function.inner)
    texts = {key: value for key, value in frame.items() if key[0] == inner and string(value) is not None}
    return {**telling(model, target, frame), **texts}


def _targets(model: FileModel, function: Value) -> Iterator[tuple[Def, Frame]]:
    for option in function.options():
        if isinstance(option, ClassValue):
            option = (option.model or model).evaluator.attribute(option, "__call__", None)
        yield from bodies(model, option, None, {}, {})


def _names(call: ApiCall, frame: Frame) -> Iterator[str]:
    argument = call.role("name")
    for option in value_of(argument, frame).options() if argument is not None else ():
        yield string(option) or ""
