"""What reaches an effect: which of its operands are traced, and which carry a derivative, through the calls to it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from jaxpert.model.effect_kinds import Effect, Passes, Step
from jaxpert.model.tracing import Body, Level, Place, Traced
from jaxpert.model.values import Def, Symbol
from jaxpert.syntax.scopes import Binding, BindingKind, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_NOT = Traced(Level.NOT)
_SMOOTH_METHODS = {
    "sum", "mean", "max", "min", "std", "var", "prod", "reshape", "ravel", "squeeze", "dot", "cumsum", "clip",
    "flatten", "transpose",
}  # fmt: skip
_FLAT = {
    "any", "all", "isnan", "isinf", "isfinite", "isclose", "allclose", "array_equal", "logical_and", "logical_or",
    "logical_not", "logical_xor", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal", "argmax",
    "argmin", "sign", "floor", "ceil", "round", "count_nonzero", "ones_like", "zeros_like", "isin", "bitwise_and",
    "bitwise_or", "int32", "bool_", "stop_gradient", "one_hot", "asarray", "array",
}  # fmt: skip
"""Functions whose derivative is nothing; the last two may make integers."""


class Reaching(Body):
    """What is traced in a function and in those that its calls lead to, as long as they stand in one file."""

    def __init__(self, model: FileModel, target: Def, levels: Mapping[str, Level]) -> None:
        super().__init__(model, target, levels)
        self._given: dict[int, Mapping[str, Level]] = {id(target.function.inner): levels}

    def followed(self, step: Step) -> Reaching:
        """The same for the function that ``step`` runs, with what it is given."""
        levels = self._passed(step)
        owner = step.target.model or self.model
        inner = type(self)(owner, step.target, levels)
        if owner is self.model:
            inner._given = {**self._given, **inner._given}
        return inner

    def _passed(self, step: Step) -> dict[str, Level]:
        arguments = step.target.function.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        if step.target.bound:
            names = names[1:]
        if step.passes is Passes.TRACERS:
            return dict.fromkeys(names, self.tracers)
        if step.passes is not Passes.ARGUMENTS:
            return {}
        place = Place(step.site.scope, step.site.block)
        given: dict[str, Level] = {}
        for name, argument in zip(names, step.node.args):
            if isinstance(argument, ast.Starred):
                break
            given[name] = self.traced(argument, place).level
        for keyword in step.node.keywords:
            if keyword.arg is not None:
                given[keyword.arg] = self.traced(keyword.value, place).level
        return given

    tracers = Level.LEAVES
    """What loops and branches of JAX give to the functions that they run."""

    def _is_inside(self, scope: Scope) -> bool:
        around: Scope | None = scope
        while around is not None:
            if id(around) in self._given:
                return True
            around = around.parent
        return False

    def _binding(self, binding: Binding) -> Traced | None:
        if binding.kind is BindingKind.PARAMETER:
            level = self._given.get(id(binding.scope), {}).get(binding.name, Level.NOT)
            return Traced(level, frozenset({binding.name})) if level else _NOT
        return super()._binding(binding)


class Differentiated(Reaching):
    """What carries a derivative: like what is traced, but not through comparisons, integers and ``stop_gradient``."""

    tracers = Level.NOT  # which of them carry one is not known

    def compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr, place: Place) -> Traced:
        """Nothing: a truth value has no derivative."""
        return _NOT

    def _calculated(self, left: ast.expr, operator: ast.operator, right: ast.expr, place: Place) -> Traced:
        if isinstance(operator, (ast.FloorDiv, ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)):
            return _NOT
        return super()._calculated(left, operator, right, place)

    def _result(self, node: ast.Call, place: Place) -> Traced:
        if isinstance(node.func, ast.Attribute) and self.traced(node.func.value, place).level:
            return super()._result(node, place) if node.func.attr in _SMOOTH_METHODS else _NOT
        value = self.model.evaluate(node.func, place.scope, place.block)
        path = value.path if isinstance(value, Symbol) else ""
        if path.rpartition(".")[2] in _FLAT or path.startswith("jax.random."):
            return _NOT
        return super()._result(node, place)


def reaching(body: Reaching, effect: Effect) -> Reaching:
    """``body``, of the function whose effect this is, followed to the function that holds the effect."""
    for step in effect.steps:
        body = body.followed(step)
    return body


def traced_operand(body: Reaching, effect: Effect, operands: tuple[ast.expr, ...]) -> ast.expr | None:
    """The first of ``operands`` that is a tracer for certain (or, in a ``Differentiated`` body, carries a derivative).

    Of one that is a display or an f-string, its first such part.
    """
    if effect.site is None:
        return None
    at = reaching(body, effect)
    place = Place(effect.site.scope, effect.site.block)
    parts = (part for operand in operands for part in _parts(operand))
    return next((part for part in parts if at.traced(part, place).level >= Level.LEAVES), None)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, (ast.Tuple, ast.List, ast.JoinedStr)):
        for part in node.elts if isinstance(node, (ast.Tuple, ast.List)) else node.values:
            yield from _parts(part)
    elif isinstance(node, ast.Dict):
        for part in node.values:
            yield from _parts(part)
    elif isinstance(node, ast.FormattedValue):
        yield from _parts(node.value)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and is_text(node.left):
        yield from _parts(node.right)
    elif isinstance(node, ast.Starred):
        yield from _parts(node.value)
    else:
        yield node


def is_text(node: ast.expr) -> bool:
    """Whether ``node`` is a string as it is written."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def operands_of(effect: Effect) -> tuple[ast.expr, ...]:
    """What a callback is given for its host function."""
    node = effect.node
    if not isinstance(node, ast.Call):
        return ()
    known = set()
    if effect.call is not None:
        signature = effect.model.db.signature(effect.call.api)
        named = {p.name for p in signature.parameters if p.kind != "var_positional"} if signature is not None else set()
        known = {id(argument.node) for name, argument in effect.call.arguments.items() if name in named}
    values = (*node.args, *(keyword.value for keyword in node.keywords))
    return tuple(value for value in values if id(value) not in known and not isinstance(value, ast.Starred))
