"""Whether a function loops over layers, all known, without a checkpoint inside."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.tracing import gives_array
from jaxpert.model.values import CallResult, Def, Partial, Symbol, Value
from jaxpert.syntax.children import walk
from jaxpert.syntax.scopes import CallSite, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DEEPEST = 4
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
_LOOPING = {"jax.lax.scan", "jax.lax.fori_loop", "jax.lax.map"}
_ARRAY_METHODS = {
    "sum", "mean", "max", "min", "astype", "reshape", "ravel", "squeeze", "dot", "transpose", "std", "var", "prod",
    "items", "values", "keys", "append",
}  # fmt: skip
_PRODUCTS = {"dot", "matmul", "einsum", "tensordot", "dot_general", "conv", "conv_general_dilated"}
_KNOWN_MODULES = ("jax.numpy", "jax.nn", "jax.lax", "jax.random", "math", "numpy", "builtins", "jax.tree")


def looped_call(model: FileModel, target: Def) -> tuple[ast.AST, str] | None:
    """The loop of a function, and the name of the user's function that it calls, "" for none.

    None where there is no loop, where a checkpoint is inside, or where something is called that is not known.
    """
    owner = target.model or model
    tree = target.function.block.tree
    if target.frame:
        return None
    return owner.tree_fact(tree, f"looped call {id(target.function)}", lambda _: _looped(owner, target))


def _looped(model: FileModel, target: Def) -> tuple[ast.AST, str] | None:
    if not _is_known(model, target, set()):
        return None
    tree = target.function.block.tree
    sites = {id(site.node): site for site in tree.calls}
    for node in walk(target.function.node):
        if isinstance(node, _LOOPS):
            name = _called(model, node, sites)
            if name or _multiplies(model, node, sites):
                return node, name
        if isinstance(node, ast.Call) and id(node) in sites:
            site = sites[id(node)]
            value = model.evaluate(node.func, site.scope, site.block)
            if isinstance(value, Symbol) and value.path in _LOOPING and node.args:
                body = node.args[2 if value.path == "jax.lax.fori_loop" and len(node.args) > 2 else 0]
                made = model.evaluate(body, site.scope, site.block)
                return node, made.name if isinstance(made, Def) and made.name != "lambda" else ""
    return None


def _called(model: FileModel, loop: ast.AST, sites: dict[int, CallSite]) -> str:
    for node in walk(loop):
        site = sites.get(id(node))
        value = model.evaluate(site.node.func, site.scope, site.block) if site is not None else None
        if isinstance(value, Def):
            return value.name
    return ""


def _multiplies(model: FileModel, loop: ast.AST, sites: dict[int, CallSite]) -> bool:
    """Whether the loop computes a product of matrices, as layers do."""
    for node in walk(loop):
        if isinstance(getattr(node, "op", None), ast.MatMult):
            return True
        site = sites.get(id(node))
        value = model.evaluate(site.node.func, site.scope, site.block) if site is not None else None
        if isinstance(value, Symbol) and value.path.rpartition(".")[2] in _PRODUCTS:
            return True
    return False


def _is_known(model: FileModel, target: Def, seen: set[int], depth: int = 0) -> bool:
    """Whether everything that the function calls is known and no checkpoint."""
    owner = target.model or model
    if id(target.function) in seen:
        return True
    seen.add(id(target.function))
    tree: TreeIndex = target.function.block.tree
    node = target.function.node
    decorators = _decorators(node)
    if depth > _DEEPEST or (depth and decorators):
        return False
    inside = {id(one) for one in walk(node)} - {id(one) for each in decorators for one in walk(each)}
    for function in tree.functions.values():
        if id(function.node) in inside and function.node is not node and _decorators(function.node):
            return False
    return all(_is_plain(owner, site, seen, depth) for site in tree.calls if id(site.node) in inside)


def _decorators(node: ast.AST) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])


def _is_plain(model: FileModel, site: CallSite, seen: set[int], depth: int) -> bool:
    for argument in site.node.args:
        if isinstance(argument, (ast.Name, ast.Attribute)):
            for given in model.evaluate(argument, site.scope, site.block).options():
                if isinstance(given, (Def, Partial)) and not _is_plain_callee(model, given, seen, depth):
                    return False
                if isinstance(given, CallResult) and _makes_function(model, given):
                    return False
    options = list(model.evaluate(site.node.func, site.scope, site.block).options())
    if all(type(option) is Value for option in options):
        func = site.node.func
        return isinstance(func, ast.Attribute) and func.attr in _ARRAY_METHODS
    return all(_is_plain_callee(model, option, seen, depth) for option in options)


def _makes_function(model: FileModel, value: CallResult) -> bool:
    api = model.db.api(value.path)
    return api is not None and api.kind in (ApiKind.CHECKPOINT, ApiKind.TRANSFORM)


def _is_plain_callee(model: FileModel, value: Value, seen: set[int], depth: int) -> bool:
    if isinstance(value, Partial):
        return _is_plain_callee(model, value.target, seen, depth)
    if isinstance(value, Def):
        return _is_known(model, value, seen, depth + 1)
    if isinstance(value, CallResult):
        return False
    if not isinstance(value, Symbol):
        return False
    api = model.db.api(value.path)
    if api is not None and api.kind in (ApiKind.CHECKPOINT, ApiKind.CHECKPOINT_NAME, ApiKind.POLICY_FACTORY):
        return False
    if api is not None and api.name in _LOOPING:
        return True
    return gives_array(value.path) or value.path.startswith(_KNOWN_MODULES)
