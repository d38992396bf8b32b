"""Which functions are rematerialized, by which wrapper, with which static parameters, and where they are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import ApiCall, Argument, bind
from jaxpert.model.values import CallResult, ClassValue, Def, Instance, Literal, Partial, Sequence, Symbol, Value
from jaxpert.syntax.scopes import CallSite, Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """One application of a checkpoint wrapper.

    Attributes:
        api: the wrapper.
        call: the wrapping call with its bound arguments; None for a bare decorator.
        node: the expression that wraps: a call or a decorator.
        site: where it stands.
        target: what is wrapped.
        by_decorator: whether it stands above a ``def`` or ``class``.
    """

    api: Api
    call: ApiCall | None
    node: ast.expr
    site: Site
    target: Value
    by_decorator: bool

    def role(self, role: str) -> Argument | None:
        """The argument that plays ``role``; see :attr:`~jaxpert.jaxdb.schema.Api.roles`."""
        return self.call.role(role) if self.call else None


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a wrapped function as its wrapper counts them.

    Attributes:
        names: positional parameters, ``self`` among them where the wrapper counts it.
        keyword_only: parameters that can only be passed by name.
        takes_more: whether ``*args`` takes further positional ones.
        takes_keywords: whether ``**kwargs`` takes further names.
        defaults: positional or keyword-only parameters that need not be passed.
        function: the function whose body runs.
        offset: how many leading parameters are given already and not counted.
        counts_self: whether index 0 is ``self``.
    """

    names: tuple[str, ...]
    keyword_only: tuple[str, ...]
    takes_more: bool
    takes_keywords: bool
    defaults: frozenset[str]
    function: Def
    counts_self: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class WrappedCall:
    """A call of a wrapped function: the site, and whether ``self`` is given by the way it is called."""

    site: CallSite
    self_given: bool = field(default=False)


def checkpoints(model: FileModel) -> tuple[Checkpoint, ...]:
    """Every application of a checkpoint wrapper in the file, in the order of their kinds."""
    return tuple(_found(model))


def _found(model: FileModel) -> Iterator[Checkpoint]:
    for call in model.calls:
        if call.api.kind is ApiKind.CHECKPOINT and not call.is_partial:
            fun = call.role("fun")
            if fun is not None:
                for target in fun.value.options():
                    yield Checkpoint(call.api, call, call.node, call.site, target, False)
    for applied, callee in model.callees.calls:  # nnx.remat(policy=…)(f)
        if isinstance(callee, CallResult) and applied.node.args:
            made = _from_factory(model, callee)
            if made is not None:
                for target in model.evaluate(applied.node.args[0], applied.scope, applied.block).options():
                    yield Checkpoint(made.api, made, applied.node, applied, target, False)
    for function, decorator, value in model.callees.decorated:
        site = Site(decorator, function.scope, function.block)
        owner = model.evaluator.class_of(function.scope) if function.scope.kind == "class" else None
        target = Def(function, owner, site=Site(function.node, function.scope, function.block), model=model)
        made_by = _decorating(model, value, decorator, site)
        if made_by is not None:
            yield Checkpoint(made_by[0], made_by[1], decorator, site, target, True)
    for _, scope, decorator, value in model.callees.decorated_classes:
        cls = model.evaluator.class_of(scope)
        if cls is None or cls.site is None:
            continue
        site = Site(decorator, cls.site.scope, cls.site.block)
        made_by = _decorating(model, value, decorator, site)
        if made_by is not None:
            yield Checkpoint(made_by[0], made_by[1], decorator, site, cls, True)


def _decorating(model: FileModel, value: Value, decorator: ast.expr, site: Site) -> tuple[Api, ApiCall | None] | None:
    """The wrapper that a decorator applies, with its call where there is one."""
    if isinstance(value, Symbol):
        api = model.db.api(value.path)
        return (api, None) if api is not None and api.kind is ApiKind.CHECKPOINT else None
    if isinstance(value, CallResult):
        made = _from_factory(model, value)
        return (made.api, made) if made is not None else None
    if isinstance(value, Partial):
        made = _from_partial(model, value)
        return (made.api, made) if made is not None else None
    return None


def _from_factory(model: FileModel, value: CallResult) -> ApiCall | None:
    """The call behind ``nnx.remat(policy=…)``, for wrappers that may be called without the function."""
    api = model.db.api(value.path)
    if api is None or api.kind is not ApiKind.CHECKPOINT or "callable_without_fun" not in api.traits or value.site is None:
        return None
    made = bind(value.model or model, _call_site(value.site, value.call), value.callee)
    return made if made is not None and made.role("fun") is None else None


def _from_partial(model: FileModel, value: Partial) -> ApiCall | None:
    """The options given to a checkpoint wrapper through ``functools.partial``."""
    target: Value = value
    while isinstance(target, Partial):
        target = target.target
    api = model.db.api(target.path) if isinstance(target, Symbol) else None
    if api is None or api.kind is not ApiKind.CHECKPOINT or value.site is None or not isinstance(value.site.node, ast.Call):
        return None
    return bind(value.model or model, _call_site(value.site, value.site.node), value.target, is_partial=True)


def _call_site(site: Site, node: ast.Call) -> CallSite:
    return CallSite(node, site.scope, site.block, ast.Expr(node))


# -- parameters ---------------------------------------------------------------------------------------------------


def parameters(model: FileModel, checkpoint: Checkpoint) -> Parameters | None:
    """The parameters that ``static_argnums`` of this checkpoint counts; None when the function is not known."""
    target = checkpoint.target
    given_positional = 0
    given_names: set[str] = set()
    while isinstance(target, Partial):
        if target.open:
            return None
        given_positional += len(target.args)
        given_names |= set(target.keywords)
        target = target.target
    counts_self = False
    if isinstance(target, ClassValue):
        if "wraps_classes" not in checkpoint.api.traits:
            return None
        method = (target.model or model).evaluator.attribute(target, "__call__", None)
        if not isinstance(method, Def):
            return None
        target = method
        counts_self = "counts_self" in checkpoint.api.traits
    elif isinstance(target, Instance):
        method = (target.model or model).evaluator.attribute(target, "__call__", None)
        if not isinstance(method, Def):
            return None
        target = method
    if not isinstance(target, Def):
        return None
    arguments = target.function.node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    if target.bound and not counts_self:
        names = names[1:]
    elif target.owner is not None and checkpoint.by_decorator:
        counts_self = True  # a decorated method: self is the first positional parameter
    names = names[given_positional:]
    pairs = list(zip(reversed([a.arg for a in (*arguments.posonlyargs, *arguments.args)]), reversed(arguments.defaults)))
    defaults = {name for name, _ in pairs}
    defaults |= {a.arg for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None}
    defaults |= given_names
    return Parameters(
        tuple(names), tuple(a.arg for a in arguments.kwonlyargs), arguments.vararg is not None, arguments.kwarg is not None,
        frozenset(defaults), target, counts_self,
    )


def static_indices(model: FileModel, checkpoint: Checkpoint) -> tuple[int, ...] | None:
    """The values of ``static_argnums``: () when absent, None when they are not known or not integers."""
    argument = checkpoint.role("static_argnums")
    if checkpoint.call is not None and checkpoint.call.opened:
        return None
    if argument is None:
        return ()
    return indices_in(argument.value)


def indices_in(value: Value) -> tuple[int, ...] | None:
    """The integers of an int or tuple of ints; None for anything else."""
    if isinstance(value, Literal) and isinstance(value.value, int) and not isinstance(value.value, bool):
        return (value.value,)
    if isinstance(value, Sequence) and value.exact:
        found = []
        for item in value.items:
            if not isinstance(item, Literal) or not isinstance(item.value, int) or isinstance(item.value, bool):
                return None
            found.append(item.value)
        return tuple(found)
    return None


def static_names(model: FileModel, checkpoint: Checkpoint, known: Parameters) -> frozenset[str] | None:
    """Names of the parameters that are static; None when that is not known.

    ``static_argnames`` counts only where the wrapper honours it: under ``jax_remat3`` for ``jax.checkpoint``
    (measured on 0.10.2 to 0.12.0.1: accepted and ignored otherwise).
    """
    indices = static_indices(model, checkpoint)
    if indices is None:
        return None
    names = set()
    for index in indices:
        position = index + len(known.names) if index < 0 else index
        if 0 <= position < len(known.names):
            names.add(known.names[position])
    by_name = checkpoint.role("static_argnames")
    if by_name is not None and (model.target.remat3 or checkpoint.api.library != "jax"):
        value = by_name.value
        items = value.items if isinstance(value, Sequence) else (value,)
        for item in items:
            if not isinstance(item, Literal) or not isinstance(item.value, str):
                return None
            names.add(item.value)
    return frozenset(names)


# -- calls of the wrapped function --------------------------------------------------------------------------------


def wrapped_calls(model: FileModel, checkpoint: Checkpoint) -> Iterator[WrappedCall]:
    """Calls, in this file, of the function that ``checkpoint`` makes."""
    made = checkpoint.node
    for site, callee in model.callees.calls:
        if isinstance(callee, CallResult) and callee.call is made:
            yield WrappedCall(site)
        elif checkpoint.by_decorator and isinstance(callee, Def) and isinstance(checkpoint.target, Def) \
                and callee.function is checkpoint.target.function:
            yield WrappedCall(site, callee.bound)
    if checkpoint.by_decorator or not isinstance(checkpoint.site, CallSite):
        return
    for site in checkpoint.site.block.tree.calls:  # jax.checkpoint(f)(x): the callee is the wrapping call itself
        if site.node.func is made and not any(s is site for s, _ in model.callees.calls):
            yield WrappedCall(site)
