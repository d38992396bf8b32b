"""From a function, or an expression that gives one, to the checkpoints that rematerialize it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxpert.model.transforms import Checkpoint, parameters
from jaxpert.model.values import CallResult, ClassValue, Def, Instance, Value
from jaxpert.syntax.scopes import Function, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

Wrapping = tuple["FileModel", Checkpoint]
"""A checkpoint, with the model of the file that it stands in."""


def wrappings_of(model: FileModel, function: Function) -> list[Checkpoint]:
    """The checkpoints of this file that wrap a function of it; of a method, also those that wrap its class."""
    found = []
    for checkpoint in alive(model):
        known = parameters(model, checkpoint)
        target = known.function if known is not None else checkpoint.target
        if isinstance(target, Def) and target.function is function:
            found.append(checkpoint)
    return found


def wrappings_of_class(model: FileModel, scope: Scope) -> list[Checkpoint]:
    """The checkpoints of this file that wrap a class of it."""
    return [
        checkpoint
        for checkpoint in alive(model)
        if isinstance(checkpoint.target, ClassValue) and checkpoint.target.scope is scope
    ]


def wrappings_behind(model: FileModel, value: Value) -> list[Wrapping]:
    """The checkpoints that run when ``value``, a rematerialized function or class, is called."""
    found = []
    for option in value.options():
        owner = option.model or model
        for checkpoint in alive(owner):
            if _made_by(checkpoint, option):
                found.append((owner, checkpoint))
    return found


def alive(model: FileModel) -> list[Checkpoint]:
    """The checkpoints of a file that run on the target JAX, once each."""
    found: dict[tuple[int, int], Checkpoint] = {}
    for checkpoint in model.checkpoints:
        if not model.is_dead(checkpoint.site.block):
            key = (id(checkpoint.node), id(getattr(checkpoint.target, "function", checkpoint.target)))
            found.setdefault(key, checkpoint)
    return list(found.values())


def _made_by(checkpoint: Checkpoint, value: Value) -> bool:
    target = checkpoint.target
    if isinstance(value, CallResult):
        if value.call is checkpoint.node:
            return True
        made = value.callee
        return isinstance(target, ClassValue) and isinstance(made, CallResult) and made.call is checkpoint.node
    if not checkpoint.by_decorator:
        return False
    if isinstance(value, Def) and isinstance(target, Def):
        return value.function is target.function
    cls = value.cls if isinstance(value, Instance) else value
    if isinstance(cls, ClassValue) and isinstance(target, ClassValue):
        return cls.scope is target.scope
    return isinstance(value, Instance) and isinstance(target, Def) and target.name == "__call__" and (
        target.owner is not None and target.owner.scope is value.cls.scope
    )
