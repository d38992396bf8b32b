"""Attributes of the user's classes, of their instances, and of enumerations."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxpert.model import call_results
from jaxpert.model.values import UNKNOWN, Choice, ClassValue, Def, EnumMember, Instance, Symbol, Value, choice
from jaxpert.syntax.scopes import BindingKind, Function, Site

if TYPE_CHECKING:
    from jaxpert.model.evaluate import Evaluator

_ENUMS = {"enum.Enum", "enum.IntEnum", "enum.StrEnum", "enum.Flag"}
_PROPERTIES = {"property", "cached_property", "functools.cached_property"}
_MOST_BASES = 8


def attribute(evaluator: Evaluator, cls: ClassValue, name: str, bound: bool, depth: int = 0) -> Value:
    """What a class or one of its bases gives ``name``; ``bound`` when asked through an instance."""
    model = cls.model or evaluator.model
    found = cls.scope.bindings.get(name)
    if not found:
        if depth > _MOST_BASES or cls.site is None:
            return UNKNOWN
        for base in cls.node.bases:
            for option in model.evaluate(base, cls.site.scope, cls.site.block).options():
                if isinstance(option, ClassValue):
                    value = attribute(evaluator, option, name, bound, depth + 1)
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
        values.append(value)
    return choice(values)


def _method(evaluator: Evaluator, function: Function, cls: ClassValue, bound: bool) -> Value:
    """A function of a class as its instances (``bound``) or the class itself give it; a property is its result."""
    decorators = {ast.unparse(d) for d in getattr(function.node, "decorator_list", ())}
    free = "staticmethod" in decorators
    method = evaluator.definition(function, {}, cls, (bound or "classmethod" in decorators) and not free)
    if not decorators & _PROPERTIES:
        return method
    return call_results.result_of(evaluator, method, [], {}) if bound and isinstance(method, Def) else UNKNOWN


def enum_kind(evaluator: Evaluator, cls: ClassValue) -> str:
    """"string" for an enumeration whose members are strings, "plain" for another one, "" for no enumeration."""
    if cls.site is None:
        return ""
    paths = set()
    for base in cls.node.bases:
        for option in evaluator.evaluate(base, cls.site.scope, cls.site.block).options():
            if isinstance(option, Symbol):
                paths.add(option.path)
            elif isinstance(option, ClassValue):
                kind = enum_kind((option.model or evaluator.model).evaluator, option)
                if kind:
                    return kind
    if not paths & _ENUMS:
        return ""
    return "string" if paths & {"builtins.str", "enum.StrEnum"} else "plain"


def instance_attribute(evaluator: Evaluator, instance: Instance, name: str) -> Value:
    """``instance.name``: what its methods assign to it, what its call gives it, or what its class has."""
    model = instance.cls.model or evaluator.model
    assigned = model.self_attributes(instance.cls.scope).get(name)
    if assigned:
        evaluator.entered.extend(block.tree for _, _, block in assigned)
        return choice([model.evaluate(v, s, b) for v, s, b in assigned])
    if "__init__" not in instance.cls.scope.bindings:
        given = _keyword(instance, name)
        if given is not None:
            return given
    value = attribute(evaluator, instance.cls, name, bound=True)
    if value is UNKNOWN or instance.call is None:
        return value
    written = instance.cls.scope.bindings.get(name, ())
    if isinstance(value, (Def, Choice)) or any(binding.kind is BindingKind.FUNCTION for binding in written):
        return value
    return choice([value, UNKNOWN])  # a dataclass field: the class attribute is its default


def _keyword(instance: Instance, name: str) -> Value | None:
    """The value that the call which made ``instance`` gives the keyword ``name``; None when it gives none."""
    if instance.call is None or instance.site is None or instance.model is None:
        return None
    for keyword in instance.call.keywords:
        if keyword.arg == name:
            return instance.model.evaluate(keyword.value, instance.site.scope, instance.site.block)
    return None
