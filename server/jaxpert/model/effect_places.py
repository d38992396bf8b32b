"""Where a finding about an effect of a checkpointed function points, and what it says about the way there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.effect_kinds import Effect, EffectKind
from jaxpert.model.effect_paths import Reaching
from jaxpert.model.traced_arguments import traced_arguments
from jaxpert.model.transforms import Checkpoint, parameters
from jaxpert.model.values import CallResult, ClassValue, Def, Instance, Partial, Symbol, Value, is_none
from jaxpert.rulekit.rule import Related
from jaxpert.syntax.children import walk
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_LONGEST_SHOWN = 60
_MAY_SAVE_ALL = {"saves_everything", "names_have_no_effect", "policies_as_varargs"}

EffectPlace = tuple[Checkpoint, Effect, Range]
"""A checkpoint, an effect of its function, and where that is seen in this file."""


def effects_at(model: FileModel, kinds: frozenset[EffectKind] | set[EffectKind]) -> Iterator[EffectPlace]:
    """The effects of some kinds of the file's checkpoints, each place once.

    Those in other files are seen at the last call in this one that leads to them, else at the wrapping.
    """
    seen: set[tuple[Range, EffectKind]] = set()
    for checkpoint, effects in model.checkpoint_effects:
        if model.is_dead(checkpoint.site.block):
            continue
        for effect in effects:
            where = model.range_of(effect.node_in(model) or checkpoint.node) if effect.kind in kinds else None
            if where is not None and (where, effect.kind) not in seen:
                seen.add((where, effect.kind))
                yield checkpoint, effect, where


def traced_body(model: FileModel, checkpoint: Checkpoint) -> Reaching | None:
    """What is traced in the checkpointed function; None when its parameters are not known."""
    known = parameters(model, checkpoint)
    if known is None:
        return None
    levels = {name: argument.level for name, argument in traced_arguments(model, checkpoint).items()}
    return Reaching(known.function.model or model, known.function, levels) if levels else None


def function_name(model: FileModel, checkpoint: Checkpoint) -> str:
    """What to call the checkpointed function in a message."""
    value: Value = checkpoint.target
    while isinstance(value, (Partial, CallResult)):
        if isinstance(value, Partial):
            value = value.target
            continue
        arguments = value.call.args
        inner = (value.model or model).evaluate(arguments[0], value.site.scope, value.site.block) if (
            arguments and value.site is not None and not isinstance(arguments[0], ast.Starred)
        ) else None  # fmt: skip
        if inner is None or inner is value:
            break
        value = inner
    if isinstance(value, Def):
        return f"{value.owner.node.name}.{value.name}" if value.owner is not None else value.name
    if isinstance(value, ClassValue):
        return value.node.name
    return value.cls.node.name if isinstance(value, Instance) else "function"


def shown(effect: Effect) -> str:
    """The effect as it is written, shortened."""
    text = effect.model.text_of(effect.node) or effect.name
    if len(text) > _LONGEST_SHOWN and isinstance(effect.node, ast.Call):
        text = f"{effect.model.text_of(effect.node.func)}(…)"
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"


def ways(model: FileModel, checkpoint: Checkpoint, effect: Effect, where: Range) -> tuple[Related, ...]:
    """The other places: the effect when it is in another file, and where the function is wrapped."""
    found = []
    if effect.model is not model:
        area = effect.model.range_of(effect.node)
        if area is not None:
            found.append(Related(area, f"`{shown(effect)}` is here", effect.model.path))
    area = model.range_of(checkpoint.node)
    if area is not None and area != where:
        found.append(Related(area, f"`{function_name(model, checkpoint)}` is wrapped here"))
    return tuple(found)


def recomputes(model: FileModel, checkpoint: Checkpoint) -> bool:
    """Whether the backward pass is sure to run the function again: the policy is known and does not save everything."""
    call, policy = checkpoint.call, checkpoint.role("policy")
    if policy is None:
        return call is None or not call.opened
    for option in policy.value.options():
        value = option
        while isinstance(value, Partial):
            value = value.target
        if is_none(value):
            continue
        api = model.db.api(value.path) if isinstance(value, (Symbol, CallResult)) else None
        if api is None or api.kind not in (ApiKind.POLICY, ApiKind.POLICY_FACTORY) or _MAY_SAVE_ALL & api.traits:
            return False
    return True


def is_only_text(effect: Effect) -> bool:
    """Whether the effect's value goes into an f-string and nowhere else: a label, and nothing to compute with."""
    texts = (node for node in around(effect) if isinstance(node, ast.JoinedStr))
    return any(part is effect.node for text in texts for part in walk(text))


def asks_for_tracers(effect: Effect) -> bool:
    """Whether the function that has the effect names JAX's tracers: it knows what it does."""
    names = (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "") for node in around(effect))
    return any(name.endswith("Tracer") for name in names)


def around(effect: Effect) -> Iterator[ast.AST]:
    """Everything in the function that holds the effect."""
    function = effect.site.scope.function() if effect.site is not None else None
    if function is not None and function.node is not None:
        yield from walk(function.node)
