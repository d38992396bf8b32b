"""What an object of a registered class holds for JAX, where the call that makes it shows that.

Named tuples of classes, dataclasses under ``register_dataclass``, and those of ``flax.struct``. Static fields are no
children.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model import classes
from jaxpert.model.dataclass_fields import Field, dataclass_decorator, fields_of
from jaxpert.model.registrations import registrations_of
from jaxpert.model.values import UNKNOWN, CallResult, ClassValue, Instance, Sequence, Symbol, Value, string
from jaxpert.records import dataclass

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_NAMED_TUPLE = "typing.NamedTuple"
_STRUCTS = {"flax.struct.dataclass", "flax.struct.PyTreeNode"}
_OWN_INITS = ("__init__", "__new__", "__post_init__", "create", "replace")


@dataclass(frozen=True, slots=True, eq=False)
class Child:
    """One child: the field that holds it, and what it is."""

    name: str
    value: Value
    is_in_named_tuple: bool


def children_of(model: FileModel, made: Instance) -> list[Child]:
    """The children whose values are known; none where the class, its constructor or the call leaves them open."""
    cls, call, site = made.cls, made.call, made.site
    owner = cls.model or model
    if call is None or site is None or cls.site is None or any(name in cls.scope.bindings for name in _OWN_INITS):
        return []
    stars = any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)
    fields = None if stars else fields_of(model, cls)
    if not fields:
        return []
    is_named_tuple = _NAMED_TUPLE in _bases(model, cls)
    if is_named_tuple and registrations_of(model, cls):
        return []
    static = set() if is_named_tuple else _static(model, cls, fields)
    if static is None:
        return []
    user = made.model or model
    taken = [name for name, one in fields.items() if one.in_init]
    given = {**dict(zip(taken, call.args)), **{str(one.arg): one.value for one in call.keywords}}
    found: list[Child] = []
    for name in taken:
        if name in static or (not is_named_tuple and user.source.contains(f".{name} =")):
            continue
        if name in given:
            value = user.evaluate(given[name], site.scope, site.block)
        else:
            value = classes.attribute(owner.evaluator, cls, name, bound=False)
            value = UNKNOWN if isinstance(value, CallResult) else value  # `field(default=…)`
        found.append(Child(name, value, is_named_tuple))
    return found


def _bases(model: FileModel, cls: ClassValue) -> set[str]:
    owner = cls.model or model
    assert cls.site is not None
    values = (owner.evaluate(base, cls.site.scope, cls.site.block) for base in cls.node.bases)
    return {value.path for value in values if isinstance(value, Symbol)}


def _static(model: FileModel, cls: ClassValue, fields: dict[str, Field]) -> set[str] | None:
    """The names of the static fields of a dataclass; None where JAX may not know the class by its fields."""
    by_option = {name for name, one in fields.items() if one.is_static}
    owner = cls.model or model
    assert cls.site is not None
    made_by = {*_bases(model, cls), *_decorators(owner, cls)}
    if made_by & _STRUCTS:
        return by_option
    registered = registrations_of(model, cls)
    if len(registered) != 1 or registered[0].name != "register_dataclass" or dataclass_decorator(owner, cls) is None:
        return None
    call = registered[0].call
    if call is None or not call.arguments.keys() & {"data_fields", "meta_fields"}:
        return None if call is not None and call.opened else by_option
    data = call.arguments.get("data_fields")
    listed = data.value if data is not None else UNKNOWN
    if not isinstance(listed, Sequence) or not listed.exact:
        return None
    return fields.keys() - {string(item) for item in listed.items}


def _decorators(model: FileModel, cls: ClassValue) -> Iterator[str]:
    assert cls.site is not None
    for decorator in cls.node.decorator_list:
        value = model.evaluate(decorator, cls.site.scope, cls.site.block)
        if isinstance(value, (Symbol, CallResult)):
            yield value.path
