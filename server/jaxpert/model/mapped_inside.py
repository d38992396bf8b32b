"""What a `vmap` inside another transformation gets: ``jax.jit(jax.vmap(f))(x, lr=0.3)``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.decorators import decorating
from jaxpert.model.transformed_calls import TransformedCall, made_by_call, made_by_decorator
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import CallResult, Def
from jaxpert.syntax.scopes import Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MOST_WRAPPERS = 6


def mapped_inside(model: FileModel, call: TransformedCall) -> TransformedCall | None:
    """The same call as ``vmap`` sees it; None where it is not known that one gets the arguments as they are.

    Shapes stay what they are on the way, while numbers become tracers without axes.
    """
    made_by, owner = call.made_by, call.owner
    for _ in range(_MOST_WRAPPERS):
        if not _passes_on(made_by.api):
            return None
        inner = _inner(owner, made_by)
        if inner is None:
            return None
        made_by, owner = inner
        if is_vmap(made_by.api):
            return replace(call, made_by=made_by, owner=owner)
    return None


def is_vmap(api: Api) -> bool:
    """Whether it maps over axes and does nothing else."""
    return "maps_axes" in api.traits and "compiles" not in api.traits


def _passes_on(api: Api) -> bool:
    is_jit = api.kind is ApiKind.TRANSFORM and "compiles" in api.traits and "maps" not in api.traits
    return is_jit or (api.kind is ApiKind.CHECKPOINT and api.library == "jax")


def _inner(owner: FileModel, made_by: Checkpoint) -> tuple[Checkpoint, FileModel] | None:
    """How the function that ``made_by`` gets was made itself."""
    target = made_by.target
    if made_by.by_decorator and isinstance(target, Def):
        return next(_below(owner, made_by, target), None)
    made = made_by_call(owner, target) if isinstance(target, CallResult) else made_by_decorator(owner, target)
    return (made[0], made[1]) if made is not None and not made[2] else None


def _below(owner: FileModel, made_by: Checkpoint, target: Def) -> Iterator[tuple[Checkpoint, FileModel]]:
    """The decorators below that of ``made_by``, if they are transformations."""
    function = target.function
    decorators = getattr(function.node, "decorator_list", [])
    for decorator in decorators[decorators.index(made_by.node) + 1 :]:
        value = owner.evaluate(decorator, function.scope, function.block)
        api, options = decorating(owner, value) or (None, None)
        if api is None:
            return
        yield Checkpoint(api, options, decorator, Site(decorator, function.scope, function.block), target, True), owner
