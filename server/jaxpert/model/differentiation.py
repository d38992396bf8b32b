"""Which functions a file differentiates, and what that reaches: checkpoints, effects, arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.callables import bodies
from jaxpert.model.calls import api_calls_in, callees_in
from jaxpert.model.effect_kinds import Effect, Step
from jaxpert.model.effect_paths import Differentiated, traced_operand
from jaxpert.model.effects import effects_of
from jaxpert.model.tracing import Level
from jaxpert.model.transforms import Checkpoint, indices_in
from jaxpert.model.values import CallResult, Def, Partial, Symbol, Value
from jaxpert.model.wrapped_calls import reaches
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_FORWARD = frozenset({"jax.jvp", "jax.jacfwd"})


@dataclass(frozen=True, slots=True, eq=False)
class Differentiation:
    """A use of ``grad`` or its like.

    Attributes:
        node: the call or decorator, in the file of the model that was asked.
        value: what is differentiated, as it is given.
        function: the function whose body runs.
        names: its parameters that the derivative is taken of, as far as that is known.
        is_reverse: whether the backward pass runs, which recomputes what is checkpointed.
    """

    api: Api
    node: ast.expr
    value: Value
    function: Def
    names: tuple[str, ...]
    is_reverse: bool

    def body(self, model: FileModel) -> Differentiated:
        """What carries the derivative in the body."""
        levels = dict.fromkeys(self.names, Level.LEAVES)
        return Differentiated(self.function.model or model, self.function, levels)


DifferentiatedEffect = tuple[Differentiation, Effect]


def differentiations(model: FileModel) -> Iterator[Differentiation]:
    """Every use of ``grad`` and its like in the file whose function is known."""
    for tree in model.every_tree:
        yield from model.tree_fact(tree, "differentiations", lambda t: list(_in_tree(model, t)))


def differentiated_effects(model: FileModel) -> Iterator[DifferentiatedEffect]:
    """Every effect of a function that the file differentiates."""
    for tree in model.every_tree:
        for each in model.tree_fact(tree, "differentiations", lambda t: list(_in_tree(model, t))):
            for effect in effects_of(model, each.function):
                yield each, effect


def _in_tree(model: FileModel, tree: TreeIndex) -> Iterator[Differentiation]:
    for call in api_calls_in(model, tree):
        api = call.api
        if api.kind is not ApiKind.TRANSFORM or "differentiates" not in api.traits or call.is_partial:
            continue
        fun = call.role("fun")
        if fun is None or model.is_dead(call.site.block):
            continue
        argnums = call.arguments.get("argnums")
        given = indices_in(argnums.value) if argnums is not None else () if call.opened else (0,)
        if "applies" in api.traits:
            given = None
        for option in fun.value.options():
            yield from _bodies(model, api, call.node, option, given, "applies" in api.traits)
    for function, decorator, value in callees_in(model, tree).decorated:
        target = value
        while isinstance(target, Partial):
            target = target.target
        known = model.db.api(target.path) if isinstance(target, Symbol) else None
        if known is None or known.kind is not ApiKind.TRANSFORM or "differentiates" not in known.traits:
            continue
        decorators: list[ast.expr] = getattr(function.node, "decorator_list", [])
        below = decorators[decorators.index(decorator) + 1 :]
        is_open = isinstance(value, Partial) and (value.args or value.open or "argnums" in value.keywords)
        is_method = function.scope.kind == "class"
        wrapped = Def(function, site=Site(function.node, function.scope, function.block), model=model)
        is_plain = not is_open and not is_method and _keep(model, wrapped, below)
        yield from _bodies(model, known, decorator, wrapped, (0,) if is_plain else (), False)


def _keep(model: FileModel, wrapped: Def, decorators: list[ast.expr]) -> bool:
    function = wrapped.function
    values = (model.evaluate(decorator, function.scope, function.block) for decorator in decorators)
    return all(model.evaluator.keeps_function(option) for value in values for option in value.options())


def _bodies(
    model: FileModel, api: Api, node: ast.expr, value: Value, indices: tuple[int, ...] | None, all_of_them: bool
) -> Iterator[Differentiation]:
    is_reverse = api.name not in _FORWARD
    for target, frame in bodies(model, value, None, {}, {}):
        arguments = target.function.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        names = names[1:] if target.bound else names
        given: tuple[str, ...] = ()
        if not _hides_arguments(value):
            if all_of_them:
                given = tuple(names)
            else:
                given = tuple(names[index] for index in indices or () if -len(names) <= index < len(names))
        # What is known of the parameters comes with the function.
        function = Def(target.function, target.owner, target.bound, frame, site=target.site, model=target.model)
        yield Differentiation(api, node, value, function, given, is_reverse)


def _hides_arguments(value: Value) -> bool:
    """Whether the arguments of ``value`` may be others than those of the function that it runs."""
    while isinstance(value, CallResult):
        if isinstance(value.callee, CallResult) or not value.call.args or value.site is None:
            return True
        model = value.model
        if model is None:
            return True
        value = model.evaluate(value.call.args[0], value.site.scope, value.site.block)
    return not isinstance(value, Def)


def runs_through(model: FileModel, checkpoint: Checkpoint, each: Differentiation, steps: tuple[Step, ...]) -> bool:
    """Whether what is differentiated runs the function that ``checkpoint`` makes, on the way that ``steps`` go."""
    if any(reaches(model, checkpoint, option) is not None for option in each.value.options()):
        return True
    if each.function.function is _function_of(checkpoint) and checkpoint.by_decorator:
        return True
    for step in steps:
        if checkpoint.by_decorator and step.target.function is _function_of(checkpoint):
            return True
        for node in (step.node.func, *step.node.args):
            value = step.model.evaluate(node, step.site.scope, step.site.block)
            if any(reaches(model, checkpoint, option) is not None for option in value.options()):
                return True
    return False


def _function_of(checkpoint: Checkpoint) -> object:
    target = checkpoint.target
    return target.function if isinstance(target, Def) else None


def where_differentiated(model: FileModel, checkpoint: Checkpoint, effect: Effect) -> DifferentiatedEffect | None:
    """Where the file runs the backward pass of ``checkpoint`` with this effect of its function in it."""
    for each, other in differentiated_effects(model):
        same = other.node is effect.node and other.kind is effect.kind
        if same and each.is_reverse and runs_through(model, checkpoint, each, other.steps):
            return each, other
    return None


def carries_derivative(
    model: FileModel, found: DifferentiatedEffect, operands: tuple[ast.expr, ...]
) -> ast.expr | None:
    """The first of an effect's operands that carries the derivative for certain."""
    each, effect = found
    if any(step.own_derivative for step in effect.steps):
        return None
    return traced_operand(each.body(model), effect, operands)
