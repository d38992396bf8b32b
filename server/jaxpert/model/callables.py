"""Which functions of the user's run when a value is called: through partials, callable objects and wrappers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.call_results import frame_of
from jaxpert.model.calls import Argument, bind
from jaxpert.model.transforms import call_site
from jaxpert.model.values import CallResult, ClassValue, Def, Frame, Instance, Partial, Symbol, Value
from jaxpert.syntax.reaching import reaching
from jaxpert.syntax.scopes import Binding, BindingKind, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MOST_WRAPPERS = 6
_DEFINED = {
    BindingKind.FUNCTION, BindingKind.CLASS, BindingKind.PARAMETER, BindingKind.IMPORT, BindingKind.FROM_IMPORT,
    BindingKind.STAR_IMPORT,
}  # fmt: skip
_RUNNING = {"compiles", "maps", "differentiates", "control_flow", "custom_derivative"}


def wraps(api: Api) -> bool:
    """Whether what the API makes of a function runs it, with the arguments it gets."""
    if api.kind is ApiKind.CHECKPOINT:
        return True
    return api.kind is ApiKind.TRANSFORM and bool(_RUNNING & api.traits) and "applies" not in api.traits


def applies(api: Api) -> bool:
    """Whether a call of the API runs the functions that it is given."""
    if api.kind is ApiKind.TRANSFORM:
        return bool(_RUNNING & api.traits) and "applies" in api.traits
    return api.kind is ApiKind.FUNCTION


def bodies(
    model: FileModel,
    value: Value,
    args: list[Value] | None,
    keywords: Mapping[str, Value],
    frame: Frame,
    depth: int = 0,
) -> Iterator[tuple[Def, Frame]]:
    """The functions that run when ``value`` is called, with what is known of their parameters.

    ``args`` is None when the arguments are not known; ``frame`` is what is known where the call stands.
    """
    given: list[Value] = []
    names: dict[str, Value] = {}
    while isinstance(value, Partial):
        if value.open:  # a star hides how many come before the others
            args, given = None, []
        else:
            given = [*value.args, *given]
        names = {**value.keywords, **names}
        value = value.target
    if isinstance(value, Instance):
        value = (value.model or model).evaluator.attribute(value, "__call__", None)
    if isinstance(value, CallResult) and depth < _MOST_WRAPPERS:
        passed_on = None if args is None else [*given, *args]
        for option in _wrapped(model, value, frame):
            yield from bodies(model, option, passed_on, {**names, **keywords}, frame, depth + 1)
    for option in value.options():
        if isinstance(option, Def):
            evaluator = (option.model or model).evaluator
            passes = [*given, *(args or ())]
            yield option, frame_of(evaluator, option, passes, {**names, **keywords}, more=args is None)


def _wrapped(model: FileModel, made: CallResult, frame: Frame) -> Iterator[Value]:
    """The functions and objects that are called when ``made``, which a call of a library gave, is called."""
    owner = made.model or model
    if made.site is None:
        return
    maker = made.callee
    if isinstance(maker, CallResult):
        api = model.db.api(maker.path)
        if api is not None and "callable_without_fun" in api.traits and made.call.args:  # nnx.remat(policy=…)(f)
            yield from value_of(Argument(made.call.args[0], made.site, owner), frame).options()
        for option in _wrapped(model, maker, frame):
            if isinstance(option, ClassValue):  # nn.remat(Block)(…)
                yield Instance(option, site=option.site, model=option.model)
        return
    api = model.db.api(made.path)
    call = bind(owner, call_site(made.site, made.call), maker) if api is not None and wraps(api) else None
    fun = call.role("fun") if call is not None else None
    if fun is not None:
        yield from value_of(fun, frame).options()


def has_own_derivative(model: FileModel, value: Value, target: Def) -> bool:
    """Whether calling ``value``, which runs ``target``, goes through ``custom_vjp`` or its like."""
    while isinstance(value, (Partial, CallResult)):
        if isinstance(value, CallResult):
            api = model.db.api(value.path)
            call = bind(value.model or model, call_site(value.site, value.call), value.callee) if value.site else None
            if api is not None and "custom_derivative" in api.traits:
                return True
            fun = call.role("fun") if call is not None else None
            if fun is None:
                break
            value = fun.value
        else:
            value = value.target
    owner = target.model or model
    for decorator in getattr(target.function.node, "decorator_list", ()):
        given = owner.evaluate(decorator, target.function.scope, target.function.block)
        while isinstance(given, Partial):
            given = given.target
        api = owner.db.api(given.path) if isinstance(given, (Symbol, CallResult)) else None
        if api is not None and "custom_derivative" in api.traits:
            return True
    return False


def is_receiver(scope: Scope, name: str) -> bool:
    """Whether ``name`` is the ``self`` of the method whose scope this is."""
    node = scope.node
    is_method = scope.parent is not None and scope.parent.kind == "class"
    if not is_method or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    positional = [*node.args.posonlyargs, *node.args.args]
    is_static = any(ast.unparse(decorator) == "staticmethod" for decorator in node.decorator_list)
    return bool(positional) and positional[0].arg == name and not is_static


def worth_evaluating(model: FileModel, node: ast.expr, site: Site, frame: Frame, is_called: bool = False) -> bool:
    """A cheap look: whether ``node`` can be a function, an object, a Ref or a flag.

    Most expressions of a model are array computations, and following those through all layers is what would take time.
    What the user's own functions give is taken for an array unless it ``is_called``.
    """
    return _is_worth(model, node, site, frame, is_called, set())


def _is_worth(
    model: FileModel, node: ast.expr, site: Site | Binding, frame: Frame, is_called: bool, seen: set[int]
) -> bool:
    calls: list[tuple[ast.Call, bool]] = []
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):  # a loop: chains of methods can be long
        if isinstance(node, ast.Call):
            calls.append((node, is_called))
            node, is_called = node.func, True
        else:
            node, is_called = node.value, False
    if not _is_root_worth(model, node, site, frame, is_called, seen):
        return False
    return all(_is_call_worth(model, call, site, frame, called, seen) for call, called in reversed(calls))


def _is_call_worth(
    model: FileModel, node: ast.Call, site: Site | Binding, frame: Frame, is_called: bool, seen: set[int]
) -> bool:
    for option in model.evaluate(node.func, site.scope, site.block, frame).options():
        if isinstance(option, Symbol) and option.path.startswith("builtins."):
            return all(_is_worth(model, argument, site, frame, False, seen) for argument in node.args)
        if isinstance(option, (Def, Instance)) and not is_called:
            return False
    return True


def _is_root_worth(
    model: FileModel, node: ast.expr, site: Site | Binding, frame: Frame, is_called: bool, seen: set[int]
) -> bool:
    if isinstance(node, ast.Name):
        found = site.scope.lookup(node.id)
        if found is None:
            return True
        for binding in reaching(found[1], node, site.scope, site.block, found[0]):
            if binding.value is None:
                if binding.kind not in _DEFINED:
                    return False
            elif id(binding) not in seen:
                seen.add(id(binding))
                if not _is_worth(model, binding.value, binding, frame, is_called, seen):
                    return False
        return True
    parts: list[ast.expr] | None = None
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, (ast.List, ast.Tuple)):
        parts = node.elts
    elif isinstance(node, (ast.BoolOp, ast.Dict)):
        parts = node.values
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        parts = [node.operand]
    if parts is None:
        return isinstance(node, (ast.Lambda, ast.Constant))
    return all(_is_worth(model, part, site, frame, is_called, seen) for part in parts)


def value_of(argument: Argument, frame: Frame) -> Value:
    """The value of an argument where the names in ``frame`` are known."""
    return argument.model.evaluate(argument.node, argument.site.scope, argument.site.block, frame)
