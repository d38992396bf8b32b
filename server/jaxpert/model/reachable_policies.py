"""Policies that have a name where somebody types, and how JAX's own are reached from there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.load import POLICIES
from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.values import CallResult, Symbol, Value
from jaxpert.syntax.scopes import Binding, BindingKind, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MOST_NAMES = 60
_IMPORTS = (BindingKind.IMPORT, BindingKind.FROM_IMPORT)
_KINDS = (*_IMPORTS, BindingKind.ASSIGN, BindingKind.FUNCTION)


def named_policies(model: FileModel, scope: Scope) -> list[tuple[str, Api | None]]:
    """Names seen from ``scope`` that are policies, with the API that makes each; None for functions of the user's.

    Of very many, the nearest.
    """
    found: list[tuple[str, Api | None]] = []
    for name, binding in _names(scope):
        if binding.kind is BindingKind.FUNCTION:
            if _is_policy_like(binding.node):
                found.append((name, None))
        elif binding.kind is BindingKind.FROM_IMPORT or isinstance(binding.value, (ast.Call, ast.Attribute, ast.Name)):
            apis = (_policy_api(model, value) for value in model.evaluator.binding(binding).options())
            if (api := next(filter(None, apis), None)) is not None:
                found.append((name, api))
        if len(found) == _MOST_NAMES:
            break
    return found


def way_to_policies(model: FileModel, scope: Scope) -> str:
    """How the namespace of JAX's policies is written where ``scope`` is; "" when nothing leads there."""
    through_jax = ""
    for name, binding in _names(scope):
        if binding.kind not in _IMPORTS and not isinstance(binding.value, ast.Attribute):
            continue
        for value in model.evaluator.binding(binding).options():
            if isinstance(value, Symbol):
                api = model.db.api(value.path)
                if api is not None and api.name == POLICIES:
                    return name
                if value.path == "jax":
                    through_jax = f"{name}.{POLICIES.partition('.')[2]}"
    return through_jax


def _names(scope: Scope) -> Iterator[tuple[str, Binding]]:
    """What is seen from ``scope``, the nearest first, as it was last bound."""
    here: Scope | None = scope
    seen: set[str] = set()
    while here is not None:
        for name, bindings in here.bindings.items() if here.kind != "class" or here is scope else ():
            if name not in seen and bindings[-1].kind in _KINDS:
                seen.add(name)
                yield name, bindings[-1]
        here = here.parent


def _policy_api(model: FileModel, value: Value) -> Api | None:
    if isinstance(value, Symbol):
        api = model.db.api(value.path)
        return api if api is not None and api.kind is ApiKind.POLICY else None
    if isinstance(value, CallResult):
        api = model.db.api(value.path)
        return api if api is not None and api.kind is ApiKind.POLICY_FACTORY else None
    return None


def _is_policy_like(node: ast.AST) -> bool:
    """Whether a function takes what JAX passes to a policy, and is written as only policies are."""
    if not isinstance(node, ast.FunctionDef):
        return False
    given = node.args
    return len(given.posonlyargs) + len(given.args) == 1 and given.vararg is not None and given.kwarg is not None
