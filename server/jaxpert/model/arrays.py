"""What is known about the arrays that expressions give: whose they are, how many axes they have, which numbers.

It starts from calls that make arrays (``jnp.ones((3, 2))``), numbers and lists, and follows names, operators, items,
and methods and functions that keep or drop axes. Parameters are what the caller says they are, or unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.model.array_makers import (
    REDUCTIONS,
    ArrayType,
    Shape,
    combined,
    display,
    dtype_kind,
    is_sequence,
    made,
    number,
    reduced,
)
from jaxpert.model.operators import item
from jaxpert.model.values import UNKNOWN, CallResult, Choice, Literal, Symbol, Typed, Value, string
from jaxpert.model.values import Sequence as Items
from jaxpert.records import dataclass
from jaxpert.syntax.reaching import is_changed_elsewhere, reaching
from jaxpert.syntax.scopes import Binding, BindingKind, Block, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

Place = tuple[Scope, Block]
"""Where an expression stands."""


@dataclass(frozen=True, slots=True)
class Group:
    """A tuple or list of arrays, as a parameter of a function gets it."""

    items: tuple[Known | None, ...]


Known = ArrayType | Group
Given = Mapping[tuple[int, str], Known]
"""What parameters are: (id of the function's scope, name) → type."""

_DEEPEST = 24
_NUMBERS = {"int": "int", "float": "float", "bool": "bool", "number": ""}
_CONSTANTS = {"pi", "e", "inf", "nan"}
_KEEPING = {"copy", "conj", "block_until_ready", "round", "clip"}
_UPDATES = {"set", "add", "multiply", "divide", "power", "min", "max", "subtract", "apply", "mul"}


def array_type(model: FileModel, node: ast.expr, scope: Scope, block: Block) -> ArrayType | None:
    """The type of ``node`` when it is known to be an array or a number."""
    return Arrays(model).of(node, (scope, block))


class Arrays:
    """Answers what expressions of one file are.

    Args:
        model: the file.
        given: what parameters are known to be.
    """

    def __init__(self, model: FileModel, given: Given | None = None) -> None:
        self.model = model
        self.given: Given = given or {}
        self._depth = 0
        self._running: set[int] = set()

    def of_model(self, value: Value) -> Arrays:
        """These answers for the file in which ``value`` is written."""
        return self if value.model is None or value.model is self.model else Arrays(value.model)

    def of(self, node: ast.expr, place: Place) -> ArrayType | None:
        """The type of ``node`` when it is known to be an array or a number."""
        found = self.known(node, place)
        return found if isinstance(found, ArrayType) else None

    def known(self, node: ast.expr, place: Place) -> Known | None:
        """The same, also for a group of them."""
        if self._depth > _DEEPEST:
            return None
        self._depth += 1
        try:
            if self.given and isinstance(node, ast.Name):
                found = self._name(node, place)
                if found is not None:
                    return found
            value = self.model.evaluate(node, *place)
            return self._expression(node, place) if value is UNKNOWN else self.value(value)
        finally:
            self._depth -= 1

    def value(self, value: Value) -> Known | None:
        """The type of a value."""
        if isinstance(value, Choice):
            return _either([self.value(option) for option in value.options()])
        if isinstance(value, Literal):
            return number(value)
        if isinstance(value, Typed):
            site = value.site
            if site is not None and isinstance(site.node, ast.Compare):  # of arrays it is an array
                return self.of_model(value)._compared(site.node, (site.scope, site.block))
            return ArrayType("python", (), _NUMBERS[value.type]) if value.type in _NUMBERS else None
        if isinstance(value, Symbol):
            module, _, name = value.path.rpartition(".")
            constant = module in ("jax.numpy", "numpy", "math") and name in _CONSTANTS
            return ArrayType("python", (), "float") if constant else None
        if isinstance(value, CallResult):
            return made(self, value)
        return None

    # -- parts of calls -----------------------------------------------------------------------------------------------

    def displayed(self, node: ast.expr, place: Place) -> ArrayType | None:
        """The type of ``node``, where a list or tuple stands for the array that it is turned into."""
        if isinstance(node, (ast.List, ast.Tuple)):
            if any(isinstance(element, ast.Starred) for element in node.elts) or self._depth > _DEEPEST:
                return None
            self._depth += 1
            try:
                return display([self.displayed(element, place) for element in node.elts])
            finally:
                self._depth -= 1
        value = self.model.evaluate(node, *place)
        if isinstance(value, Items):
            return self._displayed_value(value)
        return self.of(node, place)

    def _displayed_value(self, value: Value) -> ArrayType | None:
        if isinstance(value, Items):
            return display([self._displayed_value(one) for one in value.items]) if is_sequence(value) else None
        found = self.value(value)
        return found if isinstance(found, ArrayType) else None

    def kind(self, node: ast.expr, place: Place) -> str:
        """The kind of number that a dtype stands for; "" when it is not known."""
        value = self.model.evaluate(node, *place)
        if isinstance(value, Symbol):
            module, _, name = value.path.rpartition(".")
            return dtype_kind(name) if module in ("jax.numpy", "numpy", "builtins") else ""
        return dtype_kind(string(value) or "")

    def integer(self, node: ast.expr, place: Place) -> int | None:
        """The int that ``node`` is known to be."""
        value = self.model.evaluate(node, *place)
        return value.value if isinstance(value, Literal) and type(value.value) is int else None

    def sizes(self, node: ast.expr, place: Place) -> Shape | None:
        """The shape that ``3``, ``(3, 2)`` or ``(n, 2)`` stands for; None when the number of axes is not known."""
        value = self.model.evaluate(node, *place)
        if isinstance(value, Literal) and type(value.value) is int:
            return (value.value,)
        if isinstance(value, Typed) and value.type == "int":
            return (None,)
        if isinstance(value, Items) and is_sequence(value):
            return tuple(
                one.value if isinstance(one, Literal) and type(one.value) is int else None for one in value.items
            )
        found = self._expression(node, place) if value is UNKNOWN else None
        return (None,) if found == ArrayType("python", (), "int") else None

    # -- expressions --------------------------------------------------------------------------------------------------

    def _expression(self, node: ast.expr, place: Place) -> Known | None:
        if isinstance(node, ast.Name):
            return self._name(node, place)
        if isinstance(node, ast.BinOp):
            left, right = self.of(node.left, place), self.of(node.right, place)
            return combined(left, node.op, right) if left is not None and right is not None else None
        if isinstance(node, ast.Compare):
            return self._compared(node, place)
        if isinstance(node, ast.UnaryOp):
            return self.of(node.operand, place)
        if isinstance(node, ast.IfExp):
            return _either([self.known(node.body, place), self.known(node.orelse, place)])
        if isinstance(node, ast.Subscript):
            return self._item(node, place)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, place)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return self._method(node, node.func, place)
        if isinstance(node, ast.NamedExpr):
            return self.known(node.value, place)
        if isinstance(node, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in node.elts):
            return Group(tuple(self.known(element, place) for element in node.elts))
        return None

    def _compared(self, node: ast.Compare, place: Place) -> ArrayType | None:
        if isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            return ArrayType("python", (), "bool") if len(node.ops) == 1 else None
        if len(node.ops) != 1:
            return None
        left, right = self.of(node.left, place), self.of(node.comparators[0], place)
        if left is None or right is None:
            return None
        result = combined(left, ast.BitAnd(), right)
        return replace(result, kind="bool") if result is not None else None

    def _item(self, node: ast.Subscript, place: Place) -> Known | None:
        base = self.known(node.value, place)
        index = self.integer(node.slice, place) if not isinstance(node.slice, (ast.Slice, ast.Tuple)) else None
        if isinstance(base, Group):
            known = index is not None and -len(base.items) <= index < len(base.items)
            return base.items[index] if known and index is not None else None
        if base is None:
            is_size = isinstance(node.value, ast.Attribute) and node.value.attr == "shape" and index is not None
            owner = self.of(node.value.value, place) if is_size and isinstance(node.value, ast.Attribute) else None
            return ArrayType("python", (), "int") if owner is not None else None
        if base.shape is None or base.library == "python":
            kept_masked = base.library == "masked" and isinstance(node.slice, ast.Slice)
            return replace(base, shape=None) if base.library in ("jax", "numpy") or kept_masked else None
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        rest = list(base.shape[len(parts) :])
        kept: list[int | None] = []
        for part, size in zip(parts, base.shape):
            if isinstance(part, ast.Slice):
                kept.append(size if part.lower is part.upper is part.step is None else None)
            elif self.integer(part, place) is None:
                return replace(base, shape=None)
        if len(parts) > len(base.shape) or (base.library == "masked" and not kept and not rest):
            return None  # an item of a masked array is a number, or the constant that stands for hidden ones
        return replace(base, shape=(*kept, *rest))

    def _attribute(self, node: ast.Attribute, place: Place) -> Known | None:
        if node.attr not in ("T", "mT", "real", "imag", "ndim", "size", "data", "mask"):
            return None
        base = self.of(node.value, place)
        if base is None or base.library == "python":
            return None
        if node.attr in ("ndim", "size"):
            return ArrayType("python", (), "int")
        if node.attr in ("data", "mask"):
            return replace(base, library="numpy") if base.library == "masked" else None
        return replace(base, shape=base.shape[::-1] if base.shape is not None and node.attr == "T" else base.shape)

    def _method(self, node: ast.Call, func: ast.Attribute, place: Place) -> ArrayType | None:
        updated = func.value.value if isinstance(func.value, ast.Subscript) else None
        if isinstance(updated, ast.Attribute) and updated.attr == "at":
            base = self.of(updated.value, place)
            return base if base is not None and base.library == "jax" and func.attr in _UPDATES else None
        base = self.of(func.value, place)
        if base is None or base.library == "python":
            return None
        if func.attr in REDUCTIONS:
            found = reduced(base, func.attr, node, is_method=True)
            is_number = found is not None and found.shape == () and base.library == "masked"
            return replace(found, library="numpy") if found is not None and is_number else found
        if func.attr == "astype" and node.args:
            return replace(base, kind=self.kind(node.args[0], place))
        if func.attr == "reshape":
            sizes = node.args[0] if len(node.args) == 1 else ast.Tuple(node.args, ast.Load())
            return replace(base, shape=self.sizes(sizes, place) if not node.keywords else None)
        if func.attr in ("ravel", "flatten"):
            return replace(base, shape=(None,))
        if func.attr in ("filled", "compressed") and base.library == "masked":
            return replace(base, library="numpy", shape=(None,) if func.attr == "compressed" else base.shape)
        if func.attr in ("transpose", "squeeze", "dot", "cumsum"):
            return replace(base, shape=None, kind="")
        return base if func.attr in _KEEPING else None

    # -- names --------------------------------------------------------------------------------------------------------

    def _name(self, node: ast.Name, place: Place) -> Known | None:
        found = place[0].lookup(node.id)
        if found is None or is_changed_elsewhere(found[1], found[0]):
            return None
        seen = reaching(found[1], node, *place, found[0], self.model.is_dead)
        return _either([self._binding(binding) for binding in seen])

    def _binding(self, binding: Binding) -> Known | None:
        if binding.kind is BindingKind.PARAMETER:
            return self.given.get((id(binding.scope), binding.name))
        if id(binding) in self._running or self._depth > _DEEPEST:
            return None
        self._running.add(id(binding))
        self._depth += 1
        try:
            return self._bound(binding)
        finally:
            self._depth -= 1
            self._running.discard(id(binding))

    def _bound(self, binding: Binding) -> Known | None:
        place = (binding.scope, binding.block)
        changed = binding.node
        if binding.kind is BindingKind.AUGMENTED and isinstance(changed, ast.AugAssign):
            left, right = self.of(changed.target, place), self.of(changed.value, place)
            return combined(left, changed.op, right) if left is not None and right is not None else None
        if binding.value is None or binding.scope.kind == "comprehension":
            return None
        if binding.kind is BindingKind.ASSIGN:
            return self.known(binding.value, place)
        if binding.kind is BindingKind.UNPACK:
            value = self.model.evaluate(binding.value, *place)
            found: Known | None = None
            if value is UNKNOWN or isinstance(value, Items):
                found = self._expression(binding.value, place)
            for step in binding.detail:
                known = (
                    isinstance(found, Group) and isinstance(step, int) and -len(found.items) <= step < len(found.items)
                )
                if isinstance(found, Group):
                    found = found.items[step] if known and isinstance(step, int) else None
                elif found is not None and (found.library != "jax" or found.shape is not None):
                    found = None  # else it is iterated over: the items are arrays as well
            if found is None:
                for step in binding.detail:
                    value = item(value, step) if isinstance(step, int) else UNKNOWN
                found = self.value(value)
            return found
        return None


def _either(found: list[Known | None]) -> Known | None:
    """What all of them are."""
    first = found[0] if found else None
    if first is None or any(one is None for one in found):
        return None
    if isinstance(first, Group):
        return first if all(one == first for one in found) else None
    kinds, shapes, libraries = set(), set(), set()
    for one in found:
        if not isinstance(one, ArrayType):
            return None
        kinds.add(one.kind)
        shapes.add(one.shape)
        libraries.add(one.library)
    if len(libraries) > 1:
        return None
    shape = first.shape
    if len(shapes) > 1:
        ranks = {None if one is None else len(one) for one in shapes}
        shape = (None,) * len(first.shape or ()) if len(ranks) == 1 and None not in ranks else None
    return ArrayType(first.library, shape, first.kind if len(kinds) == 1 else "")
