"""Which expressions in the body of a checkpointed function are traced.

Inside, every argument that is not static is replaced by a tracer, and so is every leaf of an argument that is a list,
a dictionary or another pytree. That is followed through assignments, arithmetic, comparisons, items, array methods and
array functions of JAX; attributes, and whatever an unknown function gives, are not followed.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jaxpert.model.values import Def, Literal, Sequence, Symbol, Table, Typed, Value
from jaxpert.records import dataclass
from jaxpert.syntax.reaching import reaching
from jaxpert.syntax.scopes import Binding, BindingKind, Block, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_ARRAY_METHODS = {
    "sum", "mean", "max", "min", "any", "all", "std", "var", "prod", "argmax", "argmin", "astype", "reshape", "ravel",
    "squeeze", "dot", "cumsum", "round", "clip", "conj", "flatten", "transpose",
}  # fmt: skip
_ARRAY_ATTRIBUTES = {"T", "mT", "real", "imag"}
_ARRAY_FUNCTIONS = {
    "sum", "mean", "max", "min", "amax", "amin", "any", "all", "prod", "std", "var", "abs", "absolute", "sqrt",
    "square", "exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "dot", "matmul", "einsum", "where",
    "maximum", "minimum", "clip", "isnan", "isinf", "isfinite", "isclose", "allclose", "array_equal", "logical_and",
    "logical_or", "logical_not", "logical_xor", "equal", "not_equal", "greater", "greater_equal", "less", "less_equal",
    "argmax", "argmin", "asarray", "array", "sign", "floor", "ceil", "round", "cumsum", "linalg.norm", "linalg.det",
    "nanmax", "nanmin", "nansum", "nanmean", "mod", "power", "add", "subtract", "multiply", "divide", "negative",
    "count_nonzero", "median", "average", "trace", "vdot", "inner", "ravel", "reshape", "squeeze", "ones_like",
    "zeros_like", "isin", "stack", "concatenate", "take", "bitwise_and", "bitwise_or", "float32", "int32", "bool_",
}  # fmt: skip
_RANDOM = {"uniform", "normal", "bernoulli", "randint", "categorical", "gumbel", "truncated_normal", "permutation"}
_DEEPEST = 60
_MOST_STEPS = 2_000
_MOST_STEPS_IN_ALL = 200_000
_IDENTITIES = (ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Level(enum.IntEnum):
    """How sure it is that an expression is a tracer."""

    NOT = 0  # not followed
    MAYBE = 1  # an argument that may be a plain Python value, or None
    LEAVES = 2  # a tracer, or a container of tracers
    ARRAY = 3  # a tracer


@dataclass(frozen=True, slots=True)
class Traced:
    """What is known about an expression.

    Attributes:
        names: the parameters that its value comes from.
        needs_array: whether it is part of a container or went through an array operation, so that the parameter
            cannot be a Python flag.
    """

    level: Level
    names: frozenset[str] = frozenset()
    needs_array: bool = False


class Place(NamedTuple):
    """Where an expression stands; ``hidden`` are names that are something else there.

    A comprehension around it binds them anew, or a condition says that they are None.
    """

    scope: Scope
    block: Block
    hidden: frozenset[str] = frozenset()


_NOT = Traced(Level.NOT)


def gives_array(path: str) -> bool:
    """Whether a JAX function gives one array: a tracer, when called inside the checkpointed function."""
    if path.startswith("jax.numpy."):
        return path.removeprefix("jax.numpy.") in _ARRAY_FUNCTIONS
    module, _, name = path.rpartition(".")
    if module == "jax.random":
        return name in _RANDOM
    return (module == "jax.nn" and name.islower()) or path in ("jax.lax.stop_gradient", "jax.device_get")


class Body:
    """The body of a checkpointed function.

    Args:
        model: the model of the file that defines the function.
        target: the function.
        levels: how sure it is that a parameter is a tracer; parameters that are left out are not.
    """

    def __init__(self, model: FileModel, target: Def, levels: Mapping[str, Level]) -> None:
        self.model = model
        self.function = target.function
        self.levels = levels
        self.helper_depth = 0
        """How many calls of other functions lead here."""
        self._running: set[int] = set()
        self._known: dict[int, Traced] = {}
        self._depth = 0
        self._steps = 0
        self._all_steps = 0
        self._cuts = 0

    def traced(self, node: ast.expr, place: Place) -> Traced:
        """What is known about ``node``."""
        known = self._known.get(id(node))
        if known is not None:
            return known
        if not self._depth:
            self._steps = 0
        self._steps += 1
        self._all_steps += 1
        if self._depth > _DEEPEST or self._steps > _MOST_STEPS or self._all_steps > _MOST_STEPS_IN_ALL:
            self._cuts += 1
            return _NOT
        cuts = self._cuts
        self._depth += 1
        try:
            known = self._trace(node, place)
        finally:
            self._depth -= 1
        # Below a cut less is known than when it is asked for by itself.
        if cuts == self._cuts or not self._depth:
            self._known[id(node)] = known
        return known

    def _trace(self, node: ast.expr, place: Place) -> Traced:
        if isinstance(node, ast.Name):
            return self._name(node, place)
        if isinstance(node, ast.Compare):
            results = []
            left = node.left
            for operator, right in zip(node.ops, node.comparators):
                results.append(self.compared(left, operator, right, place))
                left = right
            return _NOT if any(isinstance(operator, _IDENTITIES) for operator in node.ops) else _surest(results)
        if isinstance(node, ast.BinOp):
            return self._calculated(node.left, node.op, node.right, place)
        if isinstance(node, ast.UnaryOp):
            inner = self.traced(node.operand, place)
            return _NOT if isinstance(node.op, ast.Not) else _as_number(inner)
        if isinstance(node, ast.Subscript):
            base = self.traced(node.value, place)
            return replace(base, needs_array=True) if base.level else _NOT
        if isinstance(node, ast.Attribute):
            base = self.traced(node.value, place)
            return as_array(base) if node.attr in _ARRAY_ATTRIBUTES and base.level is Level.ARRAY else _NOT
        if isinstance(node, ast.Call):
            return self._result(node, place)
        if isinstance(node, ast.NamedExpr):
            return self.traced(node.value, place)
        if isinstance(node, ast.IfExp):
            inside, outside = (where_none(node.test, came_out, place) for came_out in (True, False))
            return _either([self.traced(node.body, inside), self.traced(node.orelse, outside)])
        return _NOT

    def compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr, place: Place) -> Traced:
        """The result of one comparison: a tracer when a side is one, or is compared as only a number can be."""
        if isinstance(operator, _IDENTITIES):
            return _NOT
        one, other = self.traced(left, place), self.traced(right, place)
        best, against = (one, right) if one.level >= other.level else (other, left)
        value = self.model.evaluate(against, place.scope, place.block) if not place.hidden else Value()
        if isinstance(value, (Literal, Sequence, Table)) and not _is_numeric(value):
            return _NOT  # a tracer equals no string and no tuple, and has no order with them
        like_a_number = not isinstance(operator, (ast.Eq, ast.NotEq)) or _is_numeric(value)
        if best.level is Level.ARRAY or (best.level is Level.LEAVES and like_a_number):
            return Traced(Level.ARRAY, one.names | other.names, one.needs_array or other.needs_array)
        return _NOT

    def _calculated(self, left: ast.expr, operator: ast.operator, right: ast.expr, place: Place) -> Traced:
        sides = (left, right)
        together = _surest([self.traced(side, place) for side in sides])
        if together.level in (Level.NOT, Level.ARRAY):
            return together
        for side in sides:
            if isinstance(side, (ast.JoinedStr, ast.List, ast.Tuple)):
                return _NOT
            if isinstance(side, ast.Constant) and not is_number(side):
                return _NOT
        if isinstance(operator, (ast.Sub, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv)):
            return _as_number(together)
        if isinstance(operator, (ast.Add, ast.Mod)) and any(map(is_number, sides)):
            return _as_number(together)
        return together

    def _result(self, node: ast.Call, place: Place) -> Traced:
        """What a call gives: followed only through array methods, array functions of JAX, and ``abs``."""
        if isinstance(node.func, ast.Attribute):
            base = self.traced(node.func.value, place)
            if base.level is not Level.NOT:
                return as_array(base) if node.func.attr in _ARRAY_METHODS else _NOT
        elif not isinstance(node.func, ast.Name):
            return _NOT
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        together = _surest([self.traced(argument, place) for argument in arguments])
        if together.level is Level.NOT:
            return _NOT
        value = self.model.evaluate(node.func, place.scope, place.block)
        path = value.path if isinstance(value, Symbol) else ""
        if path == "builtins.abs":
            return together
        if path == "jax.numpy.where" and len(arguments) < 3:
            return _NOT  # a tuple of indices
        return as_array(together) if gives_array(path) else _NOT

    # -- names --------------------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, place: Place) -> Traced:
        found = None if node.id in place.hidden else place.scope.lookup(node.id)
        if found is None or not self._is_inside(found[0]):
            return _NOT
        owner, bindings = found
        values = [self._binding(binding) for binding in reaching(bindings, node, place.scope, place.block, owner)]
        return _either([value for value in values if value is not None])

    def _is_inside(self, scope: Scope) -> bool:
        while scope is not self.function.inner:
            if scope.parent is None:
                return False
            scope = scope.parent
        return True

    def _binding(self, binding: Binding) -> Traced | None:
        """What a name gets; None when that depends only on itself."""
        if binding.kind is BindingKind.PARAMETER:
            level = self.levels.get(binding.name, Level.NOT) if binding.scope is self.function.inner else Level.NOT
            return Traced(level, frozenset({binding.name})) if level else _NOT
        if id(binding) in self._running:
            self._cuts += 1
            return None
        self._running.add(id(binding))
        try:
            return self._assigned(binding)
        finally:
            self._running.discard(id(binding))

    def _assigned(self, binding: Binding) -> Traced:
        changed = binding.node
        if binding.kind is BindingKind.AUGMENTED and isinstance(changed, ast.AugAssign):
            place = Place(binding.scope, binding.block)
            return self._calculated(changed.target, changed.op, changed.value, place)
        value, path = binding.value, list(binding.detail)
        if value is None or binding.scope.kind == "comprehension":
            return _NOT
        if binding.kind is BindingKind.LOOP:
            value, path = _loop_source(value, path)
            path.append(0)  # an item of it
        elif binding.kind not in (BindingKind.ASSIGN, BindingKind.UNPACK):
            return _NOT
        elif isinstance(value, (ast.Tuple, ast.List)):
            while path and isinstance(value, (ast.Tuple, ast.List)):
                step = path.pop(0)
                stars = any(isinstance(item, ast.Starred) for item in value.elts)
                if not isinstance(step, int) or not -len(value.elts) <= step < len(value.elts) or stars:
                    return _NOT
                value = value.elts[step]
        if None in path:
            return _NOT  # `*rest` is a list
        traced = self.traced(value, Place(binding.scope, binding.block))
        return replace(traced, needs_array=True) if path and traced.level else traced


def where_none(test: ast.expr, came_out: bool, place: Place) -> Place:
    """``place`` where ``test`` came out so: a name that is None there is hidden, as it is no tracer."""
    names = set[str]()
    waiting = [(test, came_out)]
    while waiting:
        node, outcome = waiting.pop()
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            waiting.append((node.operand, not outcome))
        elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) is outcome:
            waiting += [(value, outcome) for value in node.values]
        elif isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and len(node.ops) == 1:
            right = node.comparators[0]
            if isinstance(right, ast.Constant) and right.value is None:
                if isinstance(node.ops[0], ast.Is if outcome else ast.IsNot):
                    names.add(node.left.id)
    return place._replace(hidden=place.hidden | names) if names else place


def _loop_source(value: ast.expr, path: list[object]) -> tuple[ast.expr, list[object]]:
    """What a loop over ``enumerate(…)`` or ``zip(…)`` takes this name from; a plain index comes from nothing."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or not path or not value.args:
        return value, path
    if value.func.id == "enumerate" and path[0] == 1:
        return value.args[0], path[1:]
    if value.func.id == "zip" and isinstance(path[0], int) and 0 <= path[0] < len(value.args):
        return value.args[path[0]], path[1:]
    return value, path


def as_array(traced: Traced) -> Traced:
    """``traced`` as the result of something that only arrays have."""
    return Traced(Level.ARRAY, traced.names, True) if traced.level else _NOT


def _as_number(traced: Traced) -> Traced:
    """``traced`` as the result of arithmetic that containers do not have."""
    return replace(traced, level=Level.ARRAY) if traced.level >= Level.LEAVES else traced


def _surest(parts: list[Traced]) -> Traced:
    """The result of combining ``parts``."""
    level = max((part.level for part in parts), default=Level.NOT)
    names = frozenset(name for part in parts for name in part.names)
    return Traced(level, names, any(part.needs_array for part in parts)) if level else _NOT


def _either(parts: list[Traced]) -> Traced:
    """One of ``parts``, which one is not known."""
    level = min((part.level for part in parts), default=Level.NOT)
    return replace(_surest(parts), level=level) if level else _NOT


def is_number(node: ast.expr) -> bool:
    """Whether ``node`` is a number as it is written."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex))


def _is_numeric(value: Value) -> bool:
    if isinstance(value, Literal):
        return isinstance(value.value, (int, float, complex))
    return isinstance(value, Typed) and value.type in ("int", "float", "bool", "number")
