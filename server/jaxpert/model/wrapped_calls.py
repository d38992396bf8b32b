"""Where the functions that checkpoints make are called, and what these calls pass."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import bind, callees_in
from jaxpert.model.spread_arguments import spread_keywords
from jaxpert.model.transforms import Checkpoint, Parameters, call_site
from jaxpert.model.values import CallResult, ClassValue, Def, Instance, Partial, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import CallSite, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

S = TypeVar("S")


@dataclass(frozen=True, slots=True, eq=False)
class WrappedCall:
    """A call of a wrapped function.

    Attributes:
        self_given: whether ``self`` is given by the way it is called.
        transformed: whether another transformation stands between, so that arguments may be traced before.
        skipped: how many leading positional arguments are not the function's.
        own_keywords: keywords that are not the function's.
        is_partial: whether this is ``functools.partial(wrapped, …)`` and not a call yet.
        model: of the file that the call stands in; without it ``**options`` is not looked into.
    """

    site: CallSite
    self_given: bool = False
    transformed: bool = False
    skipped: int = 0
    own_keywords: frozenset[str] = frozenset()
    is_partial: bool = False
    model: FileModel | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Passing:
    """An argument of a wrapped call; ``keyword`` when it is passed by name, or by ``**`` out of a dictionary."""

    node: ast.expr
    site: Site
    keyword: ast.keyword | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """What a call gives to a wrapped function.

    Attributes:
        arguments: parameter name → argument; also names that only ``**kwargs`` can take.
        positional: how many arguments JAX counts as positional.
        opened: whether ``*`` or ``**`` may give more.
    """

    arguments: dict[str, Passing]
    positional: int
    opened: bool


def wrapped_calls(model: FileModel, checkpoint: Checkpoint) -> tuple[WrappedCall, ...]:
    """Calls, in this file, of the function that ``checkpoint`` makes."""
    if model.has_focus:
        return tuple(_wrapped_calls(model, checkpoint))
    return model.remembered(("wrapped calls", checkpoint), lambda: tuple(_wrapped_calls(model, checkpoint)))


def _wrapped_calls(model: FileModel, checkpoint: Checkpoint) -> Iterator[WrappedCall]:
    for site, callee in leading_to(model, checkpoint, "callees", _all_callees):
        found = reaches(model, checkpoint, callee)
        if found is not None:
            yield WrappedCall(site, self_given=found[0], transformed=found[1], model=model)
    for site, option in leading_to(model, checkpoint, "partial targets", _all_partial_targets):
        found = reaches(model, checkpoint, option)
        if found is not None:
            yield WrappedCall(site, found[0], found[1], skipped=1, is_partial=True, model=model)
    if "wraps_classes" in checkpoint.api.traits:
        for site, option in model.from_each_tree("module receivers", _module_receivers):
            if reaches(model, checkpoint, option) is not None:
                own = _MODULE_METHODS[site.node.func.attr]  # type: ignore[attr-defined]
                yield WrappedCall(site, True, skipped=1, own_keywords=own, model=model)


def _all_callees(model: FileModel) -> Iterable[tuple[CallSite, Value]]:
    return model.callees.calls


def _all_partial_targets(model: FileModel) -> Iterable[tuple[CallSite, Value]]:
    return model.from_each_tree("partial targets", _partial_targets)


def leading_to(
    model: FileModel,
    checkpoint: Checkpoint,
    key: str,
    sites: Callable[[FileModel], Iterable[tuple[S, Value]]],
) -> Iterable[tuple[S, Value]]:
    """Those of ``sites`` whose value may run the wrapped function, so that not all are looked at for each checkpoint.

    ``key`` names ``sites``, under which what their values lead to is remembered.
    """
    if model.has_focus:
        return sites(model)
    by_end = model.remembered(("ends", key), lambda: _by_end(model, sites(model)))
    found = {place: pair for end in _ends_of_checkpoint(checkpoint) for place, pair in by_end.get(end, ())}
    return [found[place] for place in sorted(found)]


def _by_end(
    model: FileModel, sites: Iterable[tuple[S, Value]]
) -> dict[int, list[tuple[int, tuple[S, Value]]]]:
    """``sites``, numbered, by the identity of what their callees can lead to."""
    found: dict[int, list[tuple[int, tuple[S, Value]]]] = {}
    for place, pair in enumerate(sites):
        for end in _ends(model, pair[1]):
            found.setdefault(end, []).append((place, pair))
    return found


def _ends_of_checkpoint(checkpoint: Checkpoint) -> Iterator[int]:
    """What :func:`_ends` gives for callees that :func:`reaches` takes for the wrapped function."""
    target = checkpoint.target
    yield id(checkpoint.node)
    if isinstance(target, Def):
        yield id(target.function)
        if target.owner is not None:
            yield id(target.owner.scope)
    elif isinstance(target, ClassValue):
        yield id(target.scope)


def _ends(model: FileModel, callee: Value, depth: int = 0) -> Iterator[int]:
    """The call, function or class behind ``callee``, and behind the transformations around it."""
    if isinstance(callee, CallResult):
        yield id(callee.call)
        if isinstance(callee.callee, CallResult):
            yield id(callee.callee.call)
        for option in _transformed(model, callee, depth):
            yield from _ends(model, option, depth + 1)
    elif isinstance(callee, Def):
        yield id(callee.function)
    elif isinstance(callee, Instance):
        yield id(callee.cls.scope)


_Sites = list[tuple[CallSite, Value]]


def _partial_targets(model: FileModel, tree: TreeIndex) -> _Sites:
    """What is given to ``functools.partial``: a wrapped function, or the wrapper itself that gets options this way."""
    return [
        (site, option)
        for site, callee in callees_in(model, tree).calls
        if isinstance(callee, Symbol) and callee.path == "functools.partial"
        if site.node.args and not isinstance(site.node.args[0], ast.Starred)
        for option in model.evaluate(site.node.args[0], site.scope, site.block).options()
    ]


def _module_receivers(model: FileModel, tree: TreeIndex) -> _Sites:
    """The modules of ``Module().init(rngs, x)`` and ``Module().apply(variables, x)``."""
    return [
        (site, option)
        for site in tree.calls
        if isinstance(site.node.func, ast.Attribute) and site.node.func.attr in _MODULE_METHODS
        if not any(keyword.arg == "method" for keyword in site.node.keywords)
        for option in model.evaluate(site.node.func.value, site.scope, site.block).options()
    ]


_MODULE_METHODS = {
    "init": frozenset({"rngs", "mutable", "capture_intermediates"}),
    "init_with_output": frozenset({"rngs", "mutable", "capture_intermediates"}),
    "apply": frozenset({"variables", "rngs", "mutable", "capture_intermediates"}),
}


def reaches(model: FileModel, checkpoint: Checkpoint, callee: Value, depth: int = 0) -> tuple[bool, bool] | None:
    """Whether calling ``callee`` runs the wrapped function.

    Returns:
        Whether ``self`` is given already, and whether a transformation such as ``jax.jit`` stands between; None
        when it does not run it.
    """
    target = checkpoint.target
    if isinstance(callee, CallResult):
        if isinstance(target, ClassValue):
            made = callee.callee
            return (True, False) if isinstance(made, CallResult) and made.call is checkpoint.node else None
        if callee.call is checkpoint.node:
            return False, False
        return _through(model, checkpoint, callee, depth)
    if not checkpoint.by_decorator:
        return None
    if isinstance(callee, Def) and isinstance(target, Def) and callee.function is target.function:
        transformed = _outside(model, checkpoint)
        return None if transformed is None else (callee.bound, transformed)
    if isinstance(callee, Instance):
        if isinstance(target, ClassValue):
            return (True, False) if callee.cls.scope is target.scope else None
        owner = target.owner if isinstance(target, Def) and target.name == "__call__" else None
        if owner is not None and callee.cls.scope is owner.scope:
            transformed = _outside(model, checkpoint)
            return None if transformed is None else (True, transformed)
    return None


def _through(model: FileModel, checkpoint: Checkpoint, made: CallResult, depth: int) -> tuple[bool, bool] | None:
    """The same for what ``jax.jit(f)`` and ``jax.grad(f)`` make: they pass the arguments on as they are given."""
    for option in _transformed(model, made, depth):
        found = reaches(model, checkpoint, option, depth + 1)
        if found is not None:
            api = model.db.api(made.path)
            return found[0], found[1] or (api is not None and "compiles" in api.traits)
    return None


def _transformed(model: FileModel, made: CallResult, depth: int) -> Iterator[Value]:
    """The functions in ``jax.jit(f)`` and ``jax.grad(f)``."""
    api = model.db.api(made.path)
    if api is None or api.kind is not ApiKind.TRANSFORM or depth > 4 or made.site is None:
        return
    if not {"compiles", "differentiates"} & api.traits or {"applies", "maps"} & api.traits:
        return
    call = bind(made.model or model, call_site(made.site, made.call), made.callee)
    fun = call.role("fun") if call is not None else None
    if fun is not None:
        yield from fun.value.options()


def _outside(model: FileModel, checkpoint: Checkpoint) -> bool | None:
    """Whether a decorator above the checkpoint's transforms the function; None when one may change its arguments.

    ``custom_vjp`` and ``custom_jvp`` do: they turn keywords into positional arguments and fill in defaults.
    """
    assert isinstance(checkpoint.target, Def)
    owner = checkpoint.target.model or model
    function = checkpoint.target.function
    decorators = getattr(function.node, "decorator_list", [])
    transformed = False
    for decorator in decorators[: decorators.index(checkpoint.node)] if checkpoint.node in decorators else []:
        for option in owner.evaluate(decorator, function.scope, function.block).options():
            target = option
            while isinstance(target, Partial):
                target = target.target
            path = target.path if isinstance(target, (Symbol, CallResult)) else ""
            api = owner.db.api(path)
            if api is not None and api.kind in (ApiKind.TRANSFORM, ApiKind.CHECKPOINT):
                if "custom_derivative" in api.traits:
                    return None
                transformed = True
            elif not owner.evaluator.keeps_function(option):
                return None
    return transformed


def passed(known: Parameters, call: WrappedCall) -> Passed:
    """Which parameters ``call`` gives, and how."""
    node, site = call.site.node, call.site
    written = [argument for one in node.args[call.skipped :] for argument in _spread(one)]
    stars = [index for index, argument in enumerate(written) if isinstance(argument, ast.Starred)]
    opened = bool(stars)
    written = written[: stars[0]] if stars else written
    names = list(known.names)
    start = 0
    if known.receiver and known.names[:1] == (known.receiver,):  # index 0 counts it
        start = 1 if call.self_given else 0
    elif known.receiver and not call.self_given:  # it is passed, but not counted
        written = written[1:]
    arguments = {name: Passing(argument, site) for name, argument in zip(names[start:], written)}
    for keyword in node.keywords:
        if keyword.arg is None:
            owner = call.model
            entries = spread_keywords(owner, keyword.value, site.scope, site.block) if owner is not None else None
            opened |= entries is None
            for name, value, where in ((one.keyword.arg, one.keyword.value, one.site) for one in entries or ()):
                if name is not None and name not in call.own_keywords:
                    arguments[name] = Passing(value, where, keyword)
        elif keyword.arg not in call.own_keywords:
            arguments[keyword.arg] = Passing(keyword.value, site, keyword)
    return Passed(arguments, start + len(written), opened)


def _spread(argument: ast.expr) -> list[ast.expr]:
    """The items of ``*(a, b)`` where they are written in place; else the argument itself."""
    shown = isinstance(argument, ast.Starred) and isinstance(argument.value, (ast.List, ast.Tuple))
    return argument.value.elts if shown else [argument]  # type: ignore[attr-defined]


def called_checkpoints(model: FileModel) -> tuple[Checkpoint, ...]:
    """The checkpoints of this file, and those of the workspace's other files whose functions it calls."""
    found = {id(checkpoint): checkpoint for checkpoint in model.checkpoints}
    for _, callee in model.callees.calls:
        owner = callee.model
        if owner is None or owner is model or not isinstance(callee, (CallResult, Def, Instance)):
            continue
        for checkpoint in owner.checkpoints:
            if reaches(model, checkpoint, callee) is not None:
                found[id(checkpoint)] = checkpoint
    return tuple(found.values())
