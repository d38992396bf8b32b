"""Refs made while a function is differentiated that something inside needs again on the backward pass."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.body_effects import ref_creation
from jaxpert.model.callables import has_own_derivative
from jaxpert.model.differentiation import where_differentiated
from jaxpert.model.effect_kinds import Effect, EffectKind, RefOrigin
from jaxpert.model.effects import refs_returned_by
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import CallResult, Def, Value
from jaxpert.model.wrapped_calls import reaches
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True, eq=False)
class Crossing:
    """A Ref that crosses the border of a checkpointed function while it is differentiated.

    Attributes:
        node: where it crosses, in the file of ``model``: the use in an inner checkpointed function, or the argument
            of a function whose derivative is given by hand.
        checkpoint: what would have to keep the Ref: the checkpoint whose function makes it; or, where the function
            that is differentiated makes it, the checkpoint that uses it.
        made_inside: whether the function of ``checkpoint`` makes it.
        is_write, is_read: how it is used, where it is used by a checkpointed function.
    """

    node: ast.expr
    model: FileModel
    creation: CallResult
    checkpoint: Checkpoint
    made_inside: bool
    is_write: bool = False
    is_read: bool = False


def ref_crossings(model: FileModel) -> Iterator[Crossing]:
    """The Refs that cross in functions that this file checkpoints."""
    uses = (EffectKind.REF_READ, EffectKind.REF_WRITE)
    all_effects = model.checkpoint_effects
    made: list[tuple[Checkpoint, Effect]] = []
    for checkpoint, effects in all_effects:
        made.extend((checkpoint, e) for e in effects if e.ref is not None and e.ref.origin is RefOrigin.INSIDE)
    for inner, effects in all_effects:
        for effect in effects:
            ref = effect.ref
            if effect.kind not in uses or ref is None or ref.creation is None:
                continue
            if ref.origin not in (RefOrigin.OUTSIDE, RefOrigin.PARAMETER):
                continue
            is_write = effect.kind is EffectKind.REF_WRITE
            is_read = not is_write and not any(other.node is effect.node and other is not effect for other in effects)
            outer = next((one for one in made if _runs_in(model, inner, effect, *one)), None)
            if outer is not None:
                yield Crossing(effect.node, effect.model, ref.creation, outer[0], True, is_write, is_read)
                continue
            found = where_differentiated(model, inner, effect)
            at = found[1].ref if found is not None else None
            if at is not None and at.origin is RefOrigin.INSIDE and at.creation is not None:
                yield Crossing(effect.node, effect.model, ref.creation, inner, False, is_write, is_read)
    for checkpoint, effect in made:
        if effect.kind is EffectKind.REF_CREATION and effect.ref is not None and effect.ref.creation is not None:
            for argument in _kept_by_hand(effect, effect.ref.creation):
                yield Crossing(argument, effect.model, effect.ref.creation, checkpoint, True)


def _runs_in(model: FileModel, inner: Checkpoint, use: Effect, outer: Checkpoint, effect: Effect) -> bool:
    """Whether ``effect`` of ``outer`` is ``use``, on a way through ``inner``."""
    if outer is inner or effect.node is not use.node or effect.kind is not use.kind or effect.ref is None:
        return False
    if effect.ref.creation is None or use.ref is None or use.ref.creation is None:
        return False
    if effect.ref.creation.call is not use.ref.creation.call:
        return False
    for step in effect.steps:
        for node in (step.node.func, *step.node.args):
            value = step.model.evaluate(node, step.site.scope, step.site.block)
            if any(reaches(model, inner, option) is not None for option in value.options()):
                return True
    return False


# -- functions whose derivative is given by hand ----------------------------------------------------------------------


def _kept_by_hand(effect: Effect, creation: CallResult) -> Iterator[ast.expr]:
    """Arguments, in the function that makes the Ref, that a ``custom_vjp`` keeps for its backward rule."""
    model, site = effect.model, effect.site
    function = site.scope.function() if site is not None else None
    if site is None or function is None:
        return
    for call in site.block.tree.calls:
        if call.scope.function() is not function:
            continue
        for index, argument in enumerate(call.node.args):
            if not isinstance(argument, ast.Name):
                continue
            values = model.evaluate(argument, call.scope, call.block).options()
            if not any((it := ref_creation(model, value)) and it.call is creation.call for value in values):
                continue
            callee = model.evaluate(call.node.func, call.scope, call.block)
            if any(index in kept_arguments(model, option) for option in callee.options()):
                yield argument


def kept_arguments(model: FileModel, callee: Value) -> frozenset[int]:
    """Which arguments of a ``custom_vjp`` function its forward rule returns as residuals."""
    primal = _primal(model, callee)
    if primal is None:
        return frozenset()
    owner = primal.model or model
    for forward in forward_rules(owner, primal):
        arguments = forward.function.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        kept = set()
        for returned, _ in forward.function.returns:
            pair = returned.value.elts if isinstance(returned.value, ast.Tuple) else []
            residuals = pair[1] if len(pair) == 2 else None
            parts = residuals.elts if isinstance(residuals, (ast.Tuple, ast.List)) else [residuals]
            kept |= {names.index(part.id) for part in parts if isinstance(part, ast.Name) and part.id in names}
        return frozenset(kept)
    return frozenset()


def forward_rules(model: FileModel, primal: Def) -> Iterator[Def]:
    """The first arguments of ``primal.defvjp(fwd, bwd)`` in the file of ``model``."""
    for tree in model.every_tree:
        for defined, forward in model.tree_fact(tree, "defvjp", lambda t: list(_defvjp(model, t))):
            if defined is primal.function:
                yield forward


def refs_of_forward_rules(model: FileModel) -> Iterator[tuple[Def, ast.expr]]:
    """Refs that forward rules return though they did not get them."""
    if not model.source.contains("defvjp"):
        return
    for tree in model.trees:
        for _, forward in model.tree_fact(tree, "defvjp", lambda t: list(_defvjp(model, t))):
            owner = forward.model or model
            for part, value in refs_returned_by(owner, forward, {}):
                if ref_creation(owner, value) is not None and value.site is not None:
                    if value.site.scope.function() is not forward.function.inner:
                        yield forward, part


def _defvjp(model: FileModel, tree: TreeIndex) -> Iterator[tuple[object, Def]]:
    for call in tree.calls:
        func = call.node.func
        if not isinstance(func, ast.Attribute) or func.attr != "defvjp" or not call.node.args:
            continue
        defined = model.evaluate(func.value, call.scope, call.block)
        rule = model.evaluate(call.node.args[0], call.scope, call.block)
        for option in defined.options():
            primal = _primal(model, option)
            if primal is not None and isinstance(rule, Def):
                yield primal.function, rule


def _primal(model: FileModel, callee: Value) -> Def | None:
    """The function that ``custom_vjp`` was given."""
    value = callee
    if isinstance(value, CallResult) and value.call.args and value.site is not None:
        given = (value.model or model).evaluate(value.call.args[0], value.site.scope, value.site.block)
        return given if isinstance(given, Def) and has_own_derivative(model, callee, given) else None
    return value if isinstance(value, Def) and has_own_derivative(model, value, value) else None
