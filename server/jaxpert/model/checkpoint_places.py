"""Where a checkpointed function stands: under which transformation, in which loop, and whether it runs eagerly."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import ApiCall
from jaxpert.model.handed_functions import handed_functions
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import CallResult, Def, Partial, Symbol, Value
from jaxpert.model.wrapped_calls import leading_to, reaches, wrapped_calls
from jaxpert.syntax.expressions import expressions
from jaxpert.syntax.scopes import Block, CallSite, Function, Scope, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DEEPEST = 4
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def given_to(model: FileModel, checkpoint: Checkpoint, trait: str) -> Iterator[ApiCall]:
    """The calls of transformations with ``trait`` that get the checkpointed function itself."""
    given = leading_to(model, checkpoint, "transformed", _transformed)
    found = (call for call, option in given if trait in call.api.traits and _is(model, checkpoint, option))
    yield from dict.fromkeys(found)


def _transformed(model: FileModel) -> Iterator[tuple[ApiCall, Value]]:
    """What is given to transformations, and to helpers that differentiate it."""
    for call in model.calls:
        fun = call.role("fun") if call.api.kind is ApiKind.TRANSFORM and not call.is_partial else None
        if fun is not None:
            yield from ((call, option) for option in fun.value.options())
    for handed in handed_functions(model):
        yield from ((handed.taken, option) for option in handed.argument.value.options())


def _is(model: FileModel, checkpoint: Checkpoint, value: Value) -> bool:
    """Whether ``value`` is what the checkpoint makes, with nothing in between."""
    if isinstance(value, CallResult):
        return value.call is checkpoint.node
    found = reaches(model, checkpoint, value) if isinstance(value, Def) else None
    return found is not None and not found[1]


def derivative(model: FileModel, value: Value) -> Api | None:
    """The API that made ``value``, when it is the derivative of a function: ``jax.grad(f)``."""
    while isinstance(value, Partial):
        value = value.target
    if not isinstance(value, CallResult) or not isinstance(value.callee, (Symbol, Partial)):
        return None
    api = model.db.api(value.path)
    known = api is not None and api.kind is ApiKind.TRANSFORM
    return api if known and api and "differentiates" in api.traits and "applies" not in api.traits else None


def derivative_below(model: FileModel, checkpoint: Checkpoint) -> Api | None:
    """The API of a derivative taken by a decorator between the checkpoint's and the function."""
    target = checkpoint.target
    decorators = getattr(target.function.node, "decorator_list", []) if isinstance(target, Def) else []
    if not isinstance(target, Def) or not checkpoint.by_decorator or checkpoint.node not in decorators:
        return None
    for decorator in decorators[decorators.index(checkpoint.node) + 1 :]:
        value = model.evaluate(decorator, target.function.scope, target.function.block)
        while isinstance(value, Partial):
            value = value.target
        api = model.db.api(value.path) if isinstance(value, Symbol) else None
        if api is not None and api.kind is ApiKind.TRANSFORM and "differentiates" in api.traits:
            return api
    return None


def gradient_inside(model: FileModel, checkpoint: Checkpoint) -> CallSite | None:
    """The call of a derivative in the body of a function that the module's own code checkpoints and runs."""
    target, site = checkpoint.target, checkpoint.site
    if not isinstance(target, Def) or target.model is not model or site.scope.kind != "module" or target.frame:
        return None
    if any(call.site.scope.kind != "module" for call in wrapped_calls(model, checkpoint)):
        return None
    key = f"gradient inside {id(target.function)}"
    return model.tree_fact(target.function.block.tree, key, lambda _: _gradient_call(model, target))


def _gradient_call(model: FileModel, target: Def) -> CallSite | None:
    calls = _calls_by_scope(target.function.block.tree).get(target.function.inner, ())
    taken = (call for call in calls if derivative(model, model.evaluate(call.node.func, call.scope, call.block)))
    return next(taken, None)


def _calls_by_scope(tree: TreeIndex) -> dict[Scope, list[CallSite]]:
    known = tree.facts.get("calls by scope")
    if isinstance(known, dict):
        return known
    found: dict[Scope, list[CallSite]] = {}
    for call in tree.calls:
        found.setdefault(call.scope, []).append(call)
    tree.facts["calls by scope"] = found
    return found


def is_outermost(model: FileModel, scope: Scope) -> bool:
    """Whether what stands in ``scope`` runs eagerly or is compiled, so that hardly anybody differentiates it."""
    inside = scope.function()
    if is_eager(model, scope):
        return True
    if inside is None or inside.node is None:
        return False
    for decorator in getattr(inside.node, "decorator_list", ()):
        if inside.parent is None or inside.block is None:
            return False
        value = model.evaluate(decorator, inside.parent, inside.block)
        while isinstance(value, Partial):
            value = value.target
        path = value.path if isinstance(value, (Symbol, CallResult)) else ""
        api = model.db.api(path)
        if api is not None and "compiles" in api.traits:
            return True
    funs = (call.role("fun") for call in model.calls if "compiles" in call.api.traits and not call.is_partial)
    options = (option for fun in funs if fun is not None for option in fun.value.options())
    return any(isinstance(option, Def) and option.function.inner is inside for option in options)


def is_differentiated(model: FileModel, checkpoint: Checkpoint) -> bool:
    """Whether the file differentiates the checkpointed function, or a function that makes or calls it."""
    if any(given_to(model, checkpoint, "differentiates")):
        return True
    around = {id(scope) for site in _uses(model, checkpoint) if (scope := site.scope.function()) is not None}
    if not around:
        return False
    for call in model.calls:
        if call.api.kind is not ApiKind.TRANSFORM or "differentiates" not in call.api.traits:
            continue
        for role in ("fun", "second_fun"):
            fun = call.role(role)
            for option in fun.value.options() if fun is not None else ():
                while isinstance(option, Partial):
                    option = option.target
                if isinstance(option, Def) and id(option.function.inner) in around:
                    return True
    return False


def _uses(model: FileModel, checkpoint: Checkpoint) -> Iterator[Site]:
    yield checkpoint.site
    yield from (call.site for call in wrapped_calls(model, checkpoint))


# -- loops ------------------------------------------------------------------------------------------------------------


def loop_around(block: Block, scope: Scope) -> Block | None:
    """The body of the innermost loop around ``block`` in the same function."""
    function = scope.function()
    for one in block.enclosing():
        if isinstance(one.owner, _LOOPS) and one.part == "body":
            return one
        if function is not None and one.owner is function.node:
            return None
    return None


def is_eager(model: FileModel, scope: Scope, depth: int = 0) -> bool:
    """Whether what stands in ``scope`` runs outside of any trace: in the module, or in functions called only there."""
    inside = scope.function()
    if scope.kind == "class" or depth > _DEEPEST:
        return False
    if inside is None:
        return True
    calls = eager_calls(model, inside, depth)
    return calls is not None and bool(calls)


def eager_calls(model: FileModel, inside: Scope, depth: int = 0) -> list[Site] | None:
    """The calls of the function whose body is ``inside``, when that is all that is done with it and all are eager."""
    node = inside.node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list or inside.parent is None:
        return None
    if inside.parent.kind != "module":
        return None
    calls: list[Site] = []
    for tree in model.every_tree:
        if node.name not in tree.mentions():
            continue
        called = {id(call.node.func): call for call in tree.calls}
        for site in expressions(tree):
            if not isinstance(site.node, ast.Name) or site.node.id != node.name or isinstance(site.node.ctx, ast.Store):
                continue
            call = called.get(id(site.node))
            if call is None or not is_eager(model, call.scope, depth + 1):
                return None
            calls.append(call)
    return calls


def made_anew(checkpoint: Checkpoint, body: Block) -> bool:
    """Whether the function that is wrapped is another one each time ``body`` runs."""
    target = checkpoint.target
    if isinstance(target, Partial):
        return target.site is not None and body in target.site.block.enclosing()
    if not isinstance(target, Def):
        return False
    if body in target.function.block.enclosing():
        return True
    given = checkpoint.role("fun")
    is_attribute = given is not None and isinstance(given.node, ast.Attribute)
    return target.bound and is_attribute and body in checkpoint.site.block.enclosing()


def called_in(model: FileModel, checkpoint: Checkpoint, body: Block) -> bool:
    """Whether the checkpointed function is called while ``body`` runs."""
    return any(not call.is_partial and body in call.site.block.enclosing() for call in wrapped_calls(model, checkpoint))


def body_of(function: Scope) -> Block | None:
    """The block of a function's body."""
    node, block = function.node, function.block
    made = block.tree.functions.get(node) if block is not None else None  # type: ignore[call-overload]
    return made.body_block if isinstance(made, Function) else None
