"""The functions that take objects of registered classes apart: ``tree_flatten`` and its like."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.model.call_results import result_of
from jaxpert.model.registrations import Registration, registrations
from jaxpert.model.values import CallResult, ClassValue, Def, Instance, Sequence, Value
from jaxpert.records import dataclass

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_METHODS = {
    "register_pytree_node_class": ("tree_flatten", False),
    "register_pytree_with_keys_class": ("tree_flatten_with_keys", True),
}
_ARGUMENTS = {
    "register_pytree_node": ("flatten_func", False),
    "register_pytree_with_keys": ("flatten_with_keys", True),
}


@dataclass(frozen=True, slots=True, eq=False)
class FlattenFunction:
    """A function that gives children and auxiliary data; ``with_keys`` when each child comes with its key."""

    registration: Registration
    function: Def
    with_keys: bool
    model: FileModel = field(repr=False)

    @property
    def results(self) -> Iterator[Value]:
        """Everything that it can return; None where it can reach its end."""
        evaluator = (self.function.model or self.model).evaluator
        return result_of(evaluator, self.function, None, {}).options()

    @property
    def is_stub(self) -> bool:
        """Whether its body is only a docstring, ``pass`` or ``...``."""
        body = getattr(self.function.function.node, "body", None)
        if not isinstance(body, list):
            return False
        return all(
            isinstance(one, ast.Pass) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            for one in body
        )


def flatten_functions(model: FileModel) -> Iterator[FlattenFunction]:
    """Those of the registrations in the file, once each."""
    seen: set[int] = set()
    for registration in registrations(model):
        if model.is_dead(registration.site.block):
            continue
        for value, with_keys in _candidates(model, registration):
            for option in value.options():
                if isinstance(option, Def) and id(option.function) not in seen:
                    seen.add(id(option.function))
                    yield FlattenFunction(registration, option, with_keys, model)


def _candidates(model: FileModel, registration: Registration) -> Iterator[tuple[Value, bool]]:
    method, with_keys = _METHODS.get(registration.name, ("", False))
    cls = registration.cls
    if method and isinstance(cls, ClassValue):
        me = Instance(cls, None, site=cls.site, model=cls.model)
        yield (cls.model or model).evaluator.attribute(me, method, None), with_keys
    name, with_keys = _ARGUMENTS.get(registration.name, ("", False))
    argument = registration.call.arguments.get(name) if registration.call is not None and name else None
    if argument is not None:
        yield argument.value, with_keys


_KEYS = {f"jax.tree_util.{name}" for name in ("GetAttrKey", "DictKey", "SequenceKey", "FlattenedIndexKey")}


def is_child_with_key(value: Value) -> bool:
    """Whether a value is one ``(key, child)``, as functions with keys give many of."""
    if not isinstance(value, Sequence) or not value.exact or len(value.items) != 2:
        return False
    key = value.items[0]
    return isinstance(key, CallResult) and key.path in _KEYS
