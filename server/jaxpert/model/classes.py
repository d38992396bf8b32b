"""Attributes of the user's classes, of their instances, and of enumerations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.model import call_results
from jaxpert.model.values import (
    UNKNOWN,
    ClassValue,
    Def,
    EnumMember,
    Frame,
    Instance,
    Symbol,
    Value,
    choice,
)
from jaxpert.syntax.scopes import BindingKind, Function, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.evaluate import Evaluator
    from jaxpert.model.file_model import FileModel

_ENUMS = {"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag"}
_PROPERTIES = {"property", "cached_property", "functools.cached_property"}
_MOST_BASES = 8


def attribute(evaluator: Evaluator, cls: ClassValue, name: str, bound: bool, depth: int = 0) -> Value:
    """What a class or one of its bases gives ``name``; ``bound`` when asked through an instance."""
    model = cls.model or evaluator.model
    found = cls.scope.bindings.get(name)
    if not found:
        for base in _bases(evaluator, cls) if depth < _MOST_BASES else ():
            if isinstance(base, ClassValue):
                value = attribute(evaluator, base, name, bound, depth + 1)
                if value is not UNKNOWN:
                    return value
        return UNKNOWN
    values: list[Value] = []
    for binding in found:
        if binding.kind is BindingKind.FUNCTION:
            function = binding.block.tree.functions.get(binding.node)  # type: ignore[call-overload]
            if function is None:
                return UNKNOWN
            values.append(_method(model.evaluator, function, cls, bound))
            continue
        value = model.evaluator.binding(binding)
        enum = binding.kind is BindingKind.ASSIGN and enum_kind(model.evaluator, cls)
        if enum:
            site = Site(binding.node, binding.scope, binding.block)
            value = EnumMember(name, value, enum == "string", site=site, model=model)
        elif binding.kind is BindingKind.ASSIGN and _is_some_enum(model.evaluator, cls):
            value = UNKNOWN
        values.append(value)
    return choice(values)


def _bases(evaluator: Evaluator, cls: ClassValue) -> Iterator[Value]:
    """What the bases of a class can be."""
    model = cls.model or evaluator.model
    for base in cls.node.bases if cls.site is not None else ():
        assert cls.site is not None
        yield from model.evaluate(base, cls.site.scope, cls.site.block).options()


def _method(evaluator: Evaluator, function: Function, cls: ClassValue, bound: bool) -> Value:
    """A function of a class as its instances (``bound``) or the class itself give it; a property is its result."""
    decorators = {ast.unparse(d) for d in getattr(function.node, "decorator_list", ())}
    free = "staticmethod" in decorators
    method = evaluator.definition(function, {}, cls, (bound or "classmethod" in decorators) and not free)
    if not decorators & _PROPERTIES:
        return method
    return call_results.result_of(evaluator, method, [], {}) if bound and isinstance(method, Def) else UNKNOWN


def enum_kind(evaluator: Evaluator, cls: ClassValue, depth: int = 0) -> str:
    """"string" for an enumeration whose members are strings, "plain" for another one, "" for no enumeration."""
    paths = set()
    for base in _bases(evaluator, cls) if depth < _MOST_BASES else ():
        if isinstance(base, Symbol):
            paths.add(base.path)
        elif isinstance(base, ClassValue):
            kind = enum_kind((base.model or evaluator.model).evaluator, base, depth + 1)
            if kind:
                return kind
    if not paths & _ENUMS:
        return ""
    return "string" if paths & {"builtins.str", "enum.StrEnum"} else "plain"


def _is_some_enum(evaluator: Evaluator, cls: ClassValue, depth: int = 0) -> bool:
    """Whether a base of another library is called an enumeration: then what is written is not what members are."""
    for base in _bases(evaluator, cls) if depth < _MOST_BASES else ():
        if isinstance(base, Symbol) and "enum" in base.path.rpartition(".")[2].lower():
            return True
        if isinstance(base, ClassValue) and _is_some_enum((base.model or evaluator.model).evaluator, base, depth + 1):
            return True
    return False


def instance_attribute(evaluator: Evaluator, instance: Instance, name: str) -> Value:
    """``instance.name``: what its methods assign to it, what its call gives it, or what its class has."""
    if instance.call is None:
        value = _instance_attribute(evaluator, instance, name)
    else:  # the object is known by the call that makes it, which is kept alive with what is said of it
        key = ("attribute", id(instance.cls.scope), id(instance.call), name)
        found = evaluator.model.remembered(key, lambda: (_instance_attribute(evaluator, instance, name), instance))
        value = found[0]
    if value is UNKNOWN or isinstance(value, Def):
        return value
    for file in (instance.cls.model, instance.model, evaluator.model):
        if file is not None and file.source.contains("setattr("):  # it may set any attribute
            return choice([value, UNKNOWN])
    return value


def _instance_attribute(evaluator: Evaluator, instance: Instance, name: str) -> Value:
    model = instance.cls.model or evaluator.model
    assigned = model.self_attributes(instance.cls.scope).get(name)
    if assigned:
        evaluator.entered.extend(block.tree for _, _, block in assigned)
        frame = _initial_frame(model.evaluator, instance)
        return choice([model.evaluate(v, s, b, frame) for v, s, b in assigned])
    if "__init__" not in instance.cls.scope.bindings:
        given = _field(evaluator, instance, name)
        if given is not None:
            return given
    value = attribute(evaluator, instance.cls, name, bound=True)
    if instance.call is None and _is_overridden(model, instance.cls, name):
        return UNKNOWN
    if value is UNKNOWN:
        return value
    is_field = any(isinstance(binding.node, ast.AnnAssign) for binding in instance.cls.scope.bindings.get(name, ()))
    if instance.call is None:  # `self`, whose fields whoever made it may have given
        made_by_fields = is_field and (instance.cls.node.bases or instance.cls.node.decorator_list)
        return choice([value, UNKNOWN]) if made_by_fields else value
    if isinstance(value, Def):
        return _knowing_self(value, instance)
    may_be_given = instance.call.args or any(keyword.arg is None for keyword in instance.call.keywords)
    if is_field and may_be_given and not _is_left_to_default(evaluator, instance, name):
        return choice([value, UNKNOWN])
    return value


def _is_left_to_default(evaluator: Evaluator, instance: Instance, name: str) -> bool:
    """Whether the call gives too few arguments to reach the field, and nothing in sight sets it afterwards."""
    cls, call = instance.cls, instance.call
    if call is None or any(isinstance(base, ClassValue) for base in _bases(evaluator, cls)):
        return False
    if _hides_some(call):
        return False
    if any(method in cls.scope.bindings for method in ("__new__", "__post_init__", "__getattr__", "__getattribute__")):
        return False
    own = [field for field, found in cls.scope.bindings.items() if isinstance(found[0].node, ast.AnnAssign)]
    models = (cls.model, instance.model, evaluator.model)
    sets = any(file is not None and file.source.contains_any((f".{name} =", "__setattr__")) for file in models)
    return name in own and own.index(name) >= len(call.args) and not sets


def _hides_some(call: ast.Call) -> bool:
    """Whether a star hides some of the arguments."""
    return any(isinstance(one, ast.Starred) for one in call.args) or any(one.arg is None for one in call.keywords)


def _is_overridden(model: FileModel, cls: ClassValue, name: str) -> bool:
    """Whether a subclass in the same file has a ``name`` of its own: ``self`` may be an object of that."""
    heirs = model.remembered("heirs by base", lambda: _heirs(model))
    return any(name in scope.bindings for scope in heirs.get(cls.node.name, ()))


def _heirs(model: FileModel) -> dict[str, list[Scope]]:
    """The classes of the file by the names of their bases."""
    found: dict[str, list[Scope]] = {}
    for tree in model.source.trees():
        for node, scope in tree.classes.items():
            for base in node.bases:
                if isinstance(base, ast.Name):
                    found.setdefault(base.id, []).append(scope)
    return found


def _knowing_self(method: Def, instance: Instance) -> Def:
    """A bound method whose ``self`` is ``instance``, with what its call gives it."""
    arguments = method.function.node.args
    first = next(iter((*arguments.posonlyargs, *arguments.args)), None)
    if not method.bound or first is None:
        return method
    return replace(method, frame={**method.frame, (id(method.function.inner), first.arg): instance})


def _initial_frame(evaluator: Evaluator, instance: Instance) -> Frame:
    """The parameters of ``__init__`` in the call that made the instance."""
    found = instance.cls.scope.bindings.get("__init__", ())
    function = found[0].block.tree.functions.get(found[0].node) if len(found) == 1 else None  # type: ignore[call-overload]
    call, site, owner = instance.call, instance.site, instance.model
    if function is None or call is None or site is None or owner is None:
        return {}

    def made() -> tuple[Frame, Instance]:
        args, keywords = call_results.arguments_of(owner.evaluator, call, site, {})
        return call_results.frame_of(evaluator, Def(function, instance.cls, bound=True), args, keywords), instance

    # One and the same for all attributes: what is known under it is known to each.
    return evaluator.model.remembered(("initial frame", id(function), id(call)), made)[0]


def _field(evaluator: Evaluator, instance: Instance, name: str) -> Value | None:
    """The value that the call which made a dataclass object gives the field ``name``; None when it gives none."""
    if instance.call is None or instance.site is None or instance.model is None:
        return None
    call, site = instance.call, instance.site
    if _hides_some(call):
        return None
    given = next((one.value for one in call.keywords if one.arg == name), None)
    own = [field for field, found in instance.cls.scope.bindings.items() if isinstance(found[0].node, ast.AnnAssign)]
    if given is None and name in own[: len(call.args)]:
        # Fields of the user's own bases would come first.
        if not any(isinstance(base, ClassValue) for base in _bases(evaluator, instance.cls)):
            given = call.args[own.index(name)]
    return instance.model.evaluate(given, site.scope, site.block) if given is not None else None
