"""Parameters that are tracers whatever is passed: of functions that `jit`, a loop or a derivative in the file runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.calls import ApiCall, api_calls_in, callees_in
from jaxpert.model.decorators import decorating
from jaxpert.model.transformed_calls import static_parameters
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import Def
from jaxpert.syntax.scopes import Function, Scope, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_TRACED = ArrayType("jax", None, "")
_LOOPS = {"jax.lax.while_loop", "jax.lax.fori_loop", "jax.lax.scan", "jax.lax.map"}
_DERIVATIVES = {"jax.grad", "jax.value_and_grad", "jax.jacrev", "jax.jacfwd", "jax.hessian"}


def always_traced(model: FileModel, scope: Scope) -> dict[tuple[int, str], ArrayType]:
    """The parameters, of the functions around ``scope``, that are tracers for certain; what they hold is not known."""
    found: dict[tuple[int, str], ArrayType] = {}
    inside: Scope | None = scope
    while inside is not None:
        for traced in _all(model).get(id(inside.node), ()) if inside.node is not None else ():
            found[id(inside), traced] = _TRACED
        inside = inside.parent
    return found


def _all(model: FileModel) -> dict[int, set[str]]:
    """Names of such parameters by the identity of their function's node."""

    def find() -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}
        for tree in model.every_tree:
            for node, names in model.tree_fact(tree, "always traced", lambda t: list(_in_tree(model, t))):
                found.setdefault(id(node), set()).update(names)
        return found

    return model.remembered("always traced", find)


def _in_tree(model: FileModel, tree: TreeIndex) -> Iterator[tuple[ast.AST, list[str]]]:
    for call in api_calls_in(model, tree):
        if call.is_partial or call.opened or call.api.kind not in (ApiKind.TRANSFORM, ApiKind.CHECKPOINT):
            continue
        for role in ("fun", "second_fun"):
            fun = call.role(role)
            value = fun.value if fun is not None else None
            if isinstance(value, Def) and value.model is model and not value.function.is_generator:
                made_by = Checkpoint(call.api, call, call.node, call.site, value, False)
                yield value.function.node, _traced(made_by, call, value.function, value.bound)
    for function, decorator, value in callees_in(model, tree).decorated:
        if decorator is not getattr(function.node, "decorator_list", [None])[-1] or function.scope.kind == "class":
            continue
        api, options = decorating(model, value) or (None, None)
        if api is not None and api.kind in (ApiKind.TRANSFORM, ApiKind.CHECKPOINT):
            site = Site(decorator, function.scope, function.block)
            target = Def(function, site=Site(function.node, function.scope, function.block), model=model)
            made_by = Checkpoint(api, options, decorator, site, target, True)
            yield function.node, _traced(made_by, options, function, False)


def _traced(made_by: Checkpoint, options: ApiCall | None, function: Function, bound: bool) -> list[str]:
    """Those that must be given and that the transformation replaces by tracers."""
    api, arguments = made_by.api, function.node.args
    given = options.arguments if options is not None else {}
    positional = [*arguments.posonlyargs, *arguments.args]
    needed = [one.arg for one in positional[: len(positional) - len(arguments.defaults)]][1 if bound else 0 :]
    if api.name in _LOOPS:
        return needed
    if api.name in _DERIVATIVES:
        return needed[:1] if "argnums" not in given else []
    if "maps_axes" in api.traits and "compiles" not in api.traits:
        return needed if "in_axes" not in given else []
    if api.library != "jax" or not (api.kind is ApiKind.CHECKPOINT or "compiles" in api.traits) or "maps" in api.traits:
        return []
    static = static_parameters(made_by)
    return [name for name in needed if name not in static[0]] if static is not None else []
