"""Expressions that give data and nothing else: whatever they are, they cannot be called.

Followed are literals, arithmetic, array functions and methods, local variables, and calls of the user's own functions
all of whose results are data. Everything else may be a function.
"""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from jaxpert.model.tracing import gives_array
from jaxpert.model.values import Def, Symbol
from jaxpert.syntax.reaching import reaching
from jaxpert.syntax.scopes import BindingKind, Block, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DEEPEST = 8
_NUMPY_FUNCTIONS = frozenset({
    "array", "asarray", "zeros", "ones", "full", "empty", "eye", "arange", "linspace", "sum", "mean", "exp", "log",
    "sin", "cos", "tanh", "sqrt", "square", "dot", "matmul", "einsum", "maximum", "minimum", "where", "abs", "float32",
    "float64", "int32", "int64", "zeros_like", "ones_like", "concatenate", "stack",
})  # fmt: skip
_LAX_FUNCTIONS = frozenset({
    "add", "sub", "mul", "div", "dot", "dot_general", "exp", "log", "sin", "cos", "tanh", "max", "min", "select",
    "psum", "pmean", "conv", "conv_general_dilated", "rsqrt", "sqrt", "reshape", "transpose", "broadcast_in_dim",
    "logistic", "with_sharding_constraint",
})  # fmt: skip
_METHODS = frozenset({
    "sum", "mean", "std", "var", "prod", "argmax", "argmin", "astype", "reshape", "ravel", "squeeze", "cumsum",
})  # fmt: skip
_CONTAINERS = (
    ast.Tuple, ast.List, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr,
)  # fmt: skip
_BUILTINS = frozenset({"int", "float", "bool", "str", "len", "abs", "list", "tuple", "dict", "set", "range", "round"})


class Kind(enum.IntEnum):
    """What is known about an expression; the smaller of two is what is known about "one or the other"."""

    ANYTHING = 0
    DATA = 1  # cannot be called; may hold things that can
    ARRAY = 2  # an array or a number, and so are its items and what its methods give


def is_data(model: FileModel, node: ast.expr, scope: Scope, block: Block) -> bool:
    """Whether ``node``, which stands in ``scope`` and ``block``, certainly gives something that cannot be called."""
    return kind_of(model, node, scope, block) > Kind.ANYTHING


def kind_of(model: FileModel, node: ast.expr, scope: Scope, block: Block, depth: int = 0) -> Kind:
    """See :class:`Kind`."""
    if depth > _DEEPEST:
        return Kind.ANYTHING

    def inner(part: ast.expr) -> Kind:
        return kind_of(model, part, scope, block, depth + 1)

    if isinstance(node, ast.Constant):
        return Kind.ARRAY if isinstance(node.value, (int, float, complex)) else Kind.DATA
    if isinstance(node, _CONTAINERS):
        return Kind.DATA
    if isinstance(node, ast.BinOp):
        return _binary(node, inner(node.left), inner(node.right))
    if isinstance(node, ast.Compare):
        return Kind.DATA
    if isinstance(node, ast.UnaryOp):
        return Kind.DATA if isinstance(node.op, ast.Not) else inner(node.operand)
    if isinstance(node, ast.IfExp):
        return min(inner(node.body), inner(node.orelse))
    if isinstance(node, ast.NamedExpr):
        return inner(node.value)
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        return Kind.ARRAY if inner(node.value) is Kind.ARRAY and getattr(node, "attr", "T") == "T" else Kind.ANYTHING
    if isinstance(node, ast.Name):
        return _name(model, node, scope, block, depth)
    return _call(model, node, scope, block, depth) if isinstance(node, ast.Call) else Kind.ANYTHING


def _binary(node: ast.BinOp, left: Kind, right: Kind) -> Kind:
    if isinstance(node.op, ast.MatMult) or Kind.ARRAY in (left, right):
        return Kind.ARRAY
    return Kind.DATA if Kind.DATA in (left, right) else Kind.ANYTHING


def _name(model: FileModel, node: ast.Name, scope: Scope, block: Block, depth: int) -> Kind:
    found = scope.lookup(node.id)
    if found is None:
        return Kind.ANYTHING
    bindings = reaching(found[1], node, scope, block, found[0])
    kinds = [
        kind_of(model, binding.value, binding.scope, binding.block, depth + 1)
        if binding.kind is BindingKind.ASSIGN and binding.value is not None
        else Kind.ANYTHING
        for binding in bindings
    ]
    return min(kinds, default=Kind.ANYTHING)


def _call(model: FileModel, node: ast.Call, scope: Scope, block: Block, depth: int) -> Kind:
    kinds = [_called(model, option, depth) for option in model.evaluate(node.func, scope, block).options()]
    known = min(kinds, default=Kind.ANYTHING)
    if known is Kind.ANYTHING and isinstance(node.func, ast.Attribute):
        is_array = kind_of(model, node.func.value, scope, block, depth + 1) is Kind.ARRAY
        if is_array and node.func.attr in _METHODS:
            return Kind.ARRAY
    return known


def _called(model: FileModel, callee: object, depth: int) -> Kind:
    """What a call of ``callee`` gives."""
    if isinstance(callee, Symbol):
        module, _, name = callee.path.rpartition(".")
        if module == "builtins":
            return Kind.DATA if name in _BUILTINS else Kind.ANYTHING
        known = (module == "numpy" and name in _NUMPY_FUNCTIONS) or (module == "jax.lax" and name in _LAX_FUNCTIONS)
        makes = module == "jax.numpy" and name in _NUMPY_FUNCTIONS
        return Kind.ARRAY if known or makes or gives_array(callee.path) else Kind.ANYTHING
    if not isinstance(callee, Def):
        return Kind.ANYTHING
    function, owner = callee.function, callee.model or model
    if isinstance(function.node, ast.Lambda):
        return kind_of(owner, function.node.body, function.inner, function.body_block, depth + 1)
    if function.is_generator or isinstance(function.node, ast.AsyncFunctionDef):
        return Kind.DATA
    kinds = [
        Kind.ANYTHING if one.value is None else kind_of(owner, one.value, function.inner, block, depth + 1)
        for one, block in function.returns
    ]
    return min(kinds, default=Kind.ANYTHING)
