"""What running a function does besides giving its result.

Effects of the compiled program are callbacks, debug prints, checks, and the use of mutable arrays (Refs). Effects of
the Python code happen while JAX traces the function: prints, logging, random numbers of NumPy, the clock, and changes
of objects that outlive the call. Both are followed through calls that resolve: helper functions, methods, lambdas,
functions of the workspace's other modules, and functions given to ``scan``, ``cond``, ``vmap``, ``jit`` and their like.
What does not resolve has no effect here, and neither do the functions that callbacks run later.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.model.body_effects import Made, means_ref, read_body, ref_creation
from jaxpert.model.callables import bodies, worth_evaluating
from jaxpert.model.calls import callees_in
from jaxpert.model.effect_kinds import Effect, EffectKind, Ref, RefOrigin, Step
from jaxpert.model.frames import identity, remembered, telling
from jaxpert.model.node_children import children_of
from jaxpert.model.touched import is_touched
from jaxpert.model.transforms import Checkpoint, parameters
from jaxpert.model.values import (
    ClassValue,
    Def,
    Frame,
    Instance,
    Sequence,
    Table,
    Value,
    choice,
)
from jaxpert.model.wrapped_calls import WrappedCall, passed, reaches
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import CallSite, Scope, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MOST_FUNCTIONS = 100
_MOST_STEPS = 12


def effects_of(model: FileModel, function: Value) -> tuple[Effect, ...]:
    """What calling ``function`` does; of a class, what calling its objects does. Nothing for unknown values.

    Every effect is listed once, with the shortest way that leads to it, the nearest first.
    """
    return tuple(effect for target in _targets(model, function) for effect in _effects(model, target, {}))


def checkpoint_effects(model: FileModel) -> tuple[tuple[Checkpoint, tuple[Effect, ...]], ...]:
    """Every checkpoint of the file with the effects of its function.

    A parameter that a visible call of the checkpointed function gives a Ref is one, also without annotation.
    """
    refs: list[_PassedRefs] = []
    if model.checkpoints and any("creates_ref" in call.api.traits for call in model.calls):
        refs = model.from_each_tree("passed refs", _passed_refs)
    found = []
    for checkpoint in model.checkpoints:
        given = _given_refs(model, checkpoint, refs) if refs else {}
        targets = _targets(model, checkpoint.target)
        found.append((checkpoint, tuple(effect for target in targets for effect in _effects(model, target, given))))
    return tuple(found)


_PassedRefs = tuple[CallSite, Value, dict[int, Ref]]
"""A call that passes Refs, its callee, and each Ref by the identity of the argument."""


def _passed_refs(model: FileModel, tree: TreeIndex) -> list[_PassedRefs]:
    """The calls in one tree that pass Refs."""
    found = []
    for site, callee in callees_in(model, tree).calls:
        refs = {}
        for node in (*site.node.args, *(keyword.value for keyword in site.node.keywords)):
            if worth_evaluating(model, node, site, {}):
                for option in model.evaluate(node, site.scope, site.block).options():
                    creation = ref_creation(model, option)
                    if creation is not None:
                        refs[id(node)] = Ref(RefOrigin.PARAMETER, creation, site=option.site, model=option.model)
        if refs:
            found.append((site, callee, refs))
    return found


def _given_refs(model: FileModel, checkpoint: Checkpoint, refs: list[_PassedRefs]) -> Frame:
    """The parameters of the checkpointed function that are Refs in calls of it."""
    known = parameters(model, checkpoint)
    given: dict[tuple[int, str], list[Value]] = {}
    for site, callee, arguments in refs if known is not None else ():
        reached = reaches(model, checkpoint, callee)
        if reached is not None and known is not None:
            for name, passing in passed(known, WrappedCall(site, self_given=reached[0])).arguments.items():
                ref = arguments.get(id(passing.node))
                if ref is not None:
                    given.setdefault((id(known.function.function.inner), name), []).append(ref)
    return {key: choice(values) for key, values in given.items()}


def _targets(model: FileModel, function: Value) -> Iterator[Def]:
    """The functions whose bodies run when ``function`` is called, each with the values of its parameters."""
    for option in function.options():
        if isinstance(option, ClassValue):
            option = (option.model or model).evaluator.attribute(option, "__call__", None)
        for target, frame in bodies(model, option, None, {}, {}):
            yield replace(target, frame=frame)


# -- from body to body ------------------------------------------------------------------------------------------------


def _effects(model: FileModel, target: Def, refs: Frame) -> tuple[Effect, ...]:
    """The effects of ``target`` and of all that it runs, remembered in its tree."""
    owner = target.model or model
    frame = telling(owner, target, {**_annotated_refs(owner, target), **target.frame, **refs})
    return _run(owner, target, frame).effects


@dataclass(frozen=True, slots=True)
class _Run:
    """What a function does; the scopes of all functions that ran, by identity, and whether all of them were read."""

    effects: tuple[Effect, ...]
    ran: frozenset[int]
    is_whole: bool


_RUNNING: set[int] = set()
"""The functions that are being followed, one inside the other."""


def _run(model: FileModel, target: Def, frame: Frame) -> _Run:
    return remembered(model, target, "effects", frame, lambda: _follow(model, target, frame))


def _if_without_effects(model: FileModel, target: Def) -> frozenset[int]:
    """What runs when ``target`` is called, if that has no effects; nothing when it is not known to have none."""
    function = id(target.function)
    if function in _RUNNING or len(_RUNNING) > _MOST_STEPS:
        return frozenset()
    _RUNNING.add(function)
    try:
        run = _run(model, target, {})
    finally:
        _RUNNING.discard(function)
    return frozenset() if run.effects or not run.is_whole else run.ran


def _follow(model: FileModel, root: Def, given: Frame) -> _Run:
    """Read bodies breadth first, so that each effect is found by the shortest way."""
    waiting: deque[tuple[Def, Frame, tuple[Step, ...]]] = deque([(root, given, ())])
    seen: dict[object, Frame] = {}
    receivers: dict[int, Made | None] = {id(root.function.inner): None}
    ran: set[int] = set()
    found: list[tuple[Effect, Made | None]] = []
    is_cut = False
    while waiting and len(seen) < _MOST_FUNCTIONS:
        target, frame, steps = waiting.popleft()
        key = (id(target.function), identity(frame))
        if key in seen:
            continue
        seen[key] = frame
        ran.add(id(target.function.inner))
        model.evaluator.entered.append(target.function.block.tree)
        owner = target.model or model
        body = read_body(owner, target, frame)
        found.extend((replace(effect, steps=steps), made) for effect, made in body.effects)
        is_cut |= len(steps) == _MOST_STEPS and bool(body.followed)
        for each in body.followed if len(steps) < _MOST_STEPS else ():
            receivers.setdefault(id(each.target.function.inner), each.receiver)
            inner = telling(each.target.model or owner, each.target, each.frame)
            if not inner and (silent := _if_without_effects(each.target.model or owner, each.target)):
                ran |= silent
                continue
            step = Step(each.node, owner, each.site, each.target, each.passes, each.own_derivative)
            waiting.append((each.target, inner, (*steps, step)))

    def runs_inside(made: Made | None) -> bool:
        """Whether the object is made by what runs here, and so is gone afterwards."""
        for _ in range(_MOST_STEPS):
            if made is None or not made.is_receiver:
                break
            made = receivers.get(id(made.scope))
        function = made.scope.function() if made is not None else None
        return function is not None and id(function) in ran

    effects: dict[tuple[EffectKind, int, int], Effect] = {}
    for effect, made in found:
        if effect.ref is not None:
            effect = replace(effect, ref=_settled(effect.ref, made, runs_inside(made)))
        elif runs_inside(made):
            continue
        creation = effect.ref.creation if effect.ref is not None else None
        effects.setdefault((effect.kind, id(effect.node), id(creation.call if creation else None)), effect)
    return _Run(tuple(effects.values()), frozenset(ran), is_whole=not waiting and not is_cut)


def _settled(ref: Ref, made: Made | None, inside: bool) -> Ref:
    """``ref`` with its origin, now that it is known what ran."""
    if made is None:
        return ref
    if not inside:
        return replace(ref, origin=RefOrigin.OUTSIDE)
    return replace(ref, origin=RefOrigin.UNKNOWN if ref.creation is None else RefOrigin.INSIDE)


def _annotated_refs(model: FileModel, target: Def) -> Frame:
    """The parameters of ``target`` that are Refs by their annotation."""
    function = target.function
    arguments = function.node.args
    return {
        (id(function.inner), argument.arg): Ref(
            RefOrigin.PARAMETER, site=Site(argument, function.inner, function.body_block), model=model
        )
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        if argument.annotation is not None and means_ref(model, argument.annotation, function.scope, function.block)
    }


# -- Refs that leave a function ---------------------------------------------------------------------------------------


def returned_refs(model: FileModel) -> Iterator[tuple[Checkpoint, Def, ast.expr]]:
    """Where the functions of the file's checkpoints return a Ref: the part of what they return that is one."""
    if not model.checkpoints or not model.source.contains_any(_REF_WORDS):
        return
    refs = model.from_each_tree("passed refs", _passed_refs)
    for checkpoint in model.checkpoints:
        given = _given_refs(model, checkpoint, refs) if refs else {}
        for target in _targets(model, checkpoint.target):
            owner = target.model or model
            frame = {**_annotated_refs(owner, target), **target.frame, **given}
            for part, _ in refs_returned_by(owner, target, frame):
                yield checkpoint, target, part


_REF_WORDS = ("new_ref", "mutable_array", "array_ref", "empty_ref", "ArrayRef", "MutableArray", ".Ref", "import Ref")


def refs_returned_by(model: FileModel, target: Def, frame: Frame) -> Iterator[tuple[ast.expr, Value]]:
    """The parts of what ``target`` returns that are Refs, each with its value."""
    function = target.function
    returned = [(function.node.body, function.body_block)] if isinstance(function.node, ast.Lambda) else [
        (statement.value, block) for statement, block in function.returns if statement.value is not None
    ]  # fmt: skip
    for value, block in returned:
        for part in _leaves(value):
            site = Site(part, function.inner, block)
            if model.is_dead(block) or not worth_evaluating(model, part, site, frame):
                continue
            for option in model.evaluate(part, function.inner, block, frame).options():
                if isinstance(option, Ref) or ref_creation(model, option) is not None:
                    yield part, option
                    break
                if isinstance(option, Instance) and isinstance(part, ast.Call):
                    yield from _refs_in_fields(model, option, part, site, frame)
                yield from _refs_collected(model, function.inner, part, option, frame)


def _refs_in_fields(
    model: FileModel, made: Instance, call: ast.Call, site: Site, frame: Frame
) -> Iterator[tuple[ast.expr, Value]]:
    """The Refs among the fields of a named tuple that is made where it is returned."""
    if made.call is not call or not any(child.is_in_named_tuple for child in children_of(model, made)):
        return
    for given in (*call.args, *(keyword.value for keyword in call.keywords)):
        for option in model.evaluate(given, site.scope, site.block, frame).options():
            if isinstance(option, Ref) or ref_creation(model, option) is not None:
                yield given, option
                break


def _refs_collected(
    model: FileModel, scope: Scope, part: ast.expr, value: Value, frame: Frame
) -> Iterator[tuple[ast.expr, Value]]:
    """The Refs in a dictionary, list or tuple of the function's that ``part``, a variable, stands for."""
    if not isinstance(part, ast.Name) or not isinstance(value, (Table, Sequence)) or not value.exact:
        return
    site = value.site
    if site is None or site.scope is not scope or value.model is not model or is_touched(model, part, scope):
        return
    if isinstance(site.node, (ast.Dict, ast.List, ast.Tuple)):
        for leaf in _leaves(site.node):
            for option in model.evaluate(leaf, site.scope, site.block, frame).options():
                if isinstance(option, Ref) or ref_creation(model, option) is not None:
                    yield leaf, option
                    break


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, (ast.Tuple, ast.List)):
        for part in node.elts:
            yield from _leaves(part)
    elif isinstance(node, ast.Dict):
        for part in node.values:
            yield from _leaves(part)
    elif isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
        yield node
