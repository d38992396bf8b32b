"""Integers that are given a dtype of few bits: ``jnp.array(300, dtype=jnp.int8)``, ``jnp.uint8(-1)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.values import Literal, Symbol, string

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel
    from jaxpert.syntax.scopes import Scope

_DTYPES = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}
_LIMIT = 1 << 31


def small_dtypes(model: FileModel) -> Iterator[tuple[ast.expr, int, str]]:
    """Each int that is turned into an array of an integer dtype in one call: where it is written, its value, the dtype.

    Those beyond 32 bits are left to :mod:`~jaxpert.model.large_integers`.
    """
    for tree in model.trees:
        for site in tree.calls:
            node = site.node
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            is_maker = called in ("array", "asarray")
            if not is_maker and called not in _DTYPES:
                continue
            dtype_node = _dtype_node(node) if is_maker else None
            if not node.args or (is_maker and dtype_node is None):
                continue
            numbers = list(_numbers(node.args[0], site.scope))
            if not numbers:
                continue
            callee = model.evaluate(node.func, site.scope, site.block)
            if not isinstance(callee, Symbol) or callee.path != f"jax.numpy.{called}" or model.is_dead(site.block):
                continue
            dtype = called
            if dtype_node is not None:
                value = model.evaluate(dtype_node, site.scope, site.block)
                dtype = value.path.rpartition(".")[2] if isinstance(value, Symbol) else string(value) or ""
            if dtype not in _DTYPES:
                continue
            for one in numbers:
                number = model.evaluate(one, site.scope, site.block)
                if isinstance(number, Literal) and type(number.value) is int and -_LIMIT <= number.value < _LIMIT:
                    yield one, number.value, dtype


def _dtype_node(call: ast.Call) -> ast.expr | None:
    given = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    return given if given is not None else call.args[1] if len(call.args) == 2 else None


def _numbers(node: ast.expr, scope: Scope) -> Iterator[ast.expr]:
    """The numbers written in a nested list, or as a variable that is bound to one in one place."""
    if isinstance(node, (ast.List, ast.Tuple)):
        for element in node.elts:
            yield from _numbers(element, scope)
    written = node
    if isinstance(node, ast.Name) and (found := scope.lookup(node.id)) and len(found[1]) == 1:
        written = found[1][0].value or node
    inner = written.operand if isinstance(written, ast.UnaryOp) else written
    if isinstance(inner, ast.Constant) and type(inner.value) is int:
        yield node
