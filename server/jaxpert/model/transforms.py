"""Which functions are rematerialized, by which wrapper, and which of their parameters are static."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import ApiCall, Argument, bind
from jaxpert.model.values import (
    UNKNOWN,
    CallResult,
    ClassValue,
    Def,
    Instance,
    Literal,
    Partial,
    Sequence,
    Symbol,
    Value,
    truth,
)
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import CallSite, Function, Site

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
        names: those that can be passed by position, numbered as ``static_argnums`` numbers them.
        keyword_only: parameters that can only be passed by name.
        takes_more: whether ``*args`` takes further positional ones.
        takes_keywords: whether ``**kwargs`` takes further names.
        defaults: the default of each parameter that need not be passed.
        function: the function whose body runs.
        receiver: the parameter that takes ``self``, the module or the scope; "" when there is none or it is given
            already. It is the first of ``names``, except where the wrapper does not count it.
    """

    names: tuple[str, ...]
    keyword_only: tuple[str, ...]
    takes_more: bool
    takes_keywords: bool
    defaults: dict[str, ast.expr]
    function: Def
    receiver: str = ""

    @property
    def display(self) -> str:
        """What to call the function in a message."""
        owner = self.function.owner
        return f"{owner.node.name}.{self.function.name}" if owner is not None else self.function.name


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
        wrapped: Value = UNKNOWN
        if _is_seen_by(model, function, decorator):
            wrapped = Def(function, owner, site=Site(function.node, function.scope, function.block), model=model)
        made_by = _decorating(model, value, decorator, site)
        if made_by is not None:
            yield Checkpoint(made_by[0], made_by[1], decorator, site, wrapped, True)
    for _, scope, decorator, value in model.callees.decorated_classes:
        cls = model.evaluator.class_of(scope)
        if cls is None or cls.site is None:
            continue
        site = Site(decorator, cls.site.scope, cls.site.block)
        made_by = _decorating(model, value, decorator, site)
        if made_by is not None:
            yield Checkpoint(made_by[0], made_by[1], decorator, site, cls, True)


def _is_seen_by(model: FileModel, function: Function, decorator: ast.expr) -> bool:
    """Whether ``decorator`` gets the function as it is written: those below it do not change its arguments."""
    below: list[ast.expr] = getattr(function.node, "decorator_list", [])
    below = below[below.index(decorator) + 1 :]
    values = (model.evaluate(inner, function.scope, function.block) for inner in below)
    return all(model.evaluator.keeps_function(option) for value in values for option in value.options())


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
    if api is None or api.kind is not ApiKind.CHECKPOINT or "callable_without_fun" not in api.traits:
        return None
    if value.site is None:
        return None
    made = bind(value.model or model, call_site(value.site, value.call), value.callee)
    return made if made is not None and made.role("fun") is None else None


def _from_partial(model: FileModel, value: Partial) -> ApiCall | None:
    """The options given to a checkpoint wrapper through ``functools.partial``."""
    target: Value = value
    while isinstance(target, Partial):
        target = target.target
    api = model.db.api(target.path) if isinstance(target, Symbol) else None
    if api is None or api.kind is not ApiKind.CHECKPOINT:
        return None
    if value.site is None or not isinstance(value.site.node, ast.Call):
        return None
    return bind(value.model or model, call_site(value.site, value.site.node), value.target, is_partial=True)


def call_site(site: Site, node: ast.Call) -> CallSite:
    """``node``, which stands at ``site``, where :func:`~jaxpert.model.calls.bind` wants a call site."""
    return CallSite(node, site.scope, site.block, ast.Expr(node))


# -- parameters -------------------------------------------------------------------------------------------------------


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
    api = checkpoint.api
    has_receiver = "wraps_classes" in api.traits or "excludes_self" in api.traits  # a module, or a scope
    if isinstance(target, ClassValue):
        method = (target.model or model).evaluator.attribute(target, "__call__", None)
        if "wraps_classes" not in api.traits or given_positional or not isinstance(method, Def):
            return None
        if checkpoint.call is not None and "methods" in checkpoint.call.arguments:
            return None  # other methods than __call__ are wrapped
        target = method
    elif isinstance(target, Instance):
        method = (target.model or model).evaluator.attribute(target, "__call__", None)
        if not isinstance(method, Def):
            return None
        target = method
    if not isinstance(target, Def) or (target.bound and has_receiver):
        return None
    arguments = target.function.node.args
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    names = positional[1:] if target.bound else positional
    if not target.bound and target.owner is not None and not _is_static(target):
        has_receiver = True
    receiver = ""
    if has_receiver and names and not given_positional:
        receiver = names[0]
        if "excludes_self" in api.traits:
            names = names[1:]
    names = names[given_positional:]
    by_keyword = [a.arg for a in arguments.kwonlyargs]
    for index, name in enumerate(names):
        if name in given_names:  # what stands behind it can only be passed by keyword
            by_keyword = [*names[index:], *by_keyword]
            names = names[:index]
            break
    defaults: dict[str, ast.expr] = dict(zip(reversed(positional), reversed(arguments.defaults)))
    defaults.update({a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None})
    return Parameters(
        tuple(names),
        tuple(name for name in by_keyword if name not in given_names),
        arguments.vararg is not None,
        arguments.kwarg is not None,
        defaults,
        target,
        receiver,
    )


def _is_static(target: Def) -> bool:
    return any(ast.unparse(d) == "staticmethod" for d in getattr(target.function.node, "decorator_list", ()))


def static_indices(model: FileModel, checkpoint: Checkpoint) -> tuple[int, ...] | None:
    """The values of ``static_argnums``: () when absent, None when they are not known or not integers."""
    argument = checkpoint.role("static_argnums")
    if checkpoint.call is not None and checkpoint.call.opened:
        return None
    if argument is None:
        return ()
    return indices_in(argument.value)


def indices_in(value: Value) -> tuple[int, ...] | None:
    """The integers of an int or a collection of ints; None for anything else."""
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


def marked(api: Api, known: Parameters, index: int) -> str | None:
    """The parameter that ``index`` in ``static_argnums`` makes static; None when it makes none static.

    Negative numbers count from the end, except where the wrapper puts arguments of its own before the user's.
    Measured on Flax 0.12.8: ``flax.linen.remat`` shifts them by one, so that -2 is the last argument and -1 is
    none; ``flax.linen.partitioning.remat`` ignores them.
    """
    count = len(known.names)
    position = index
    if index < 0:
        if "excludes_self" in api.traits:
            return None
        position = count + index + (1 if "no_negative_argnums" in api.traits else 0)
        if known.takes_more or (position == count and "no_negative_argnums" in api.traits):
            return None
    if not 0 <= position < count:
        return None
    name = known.names[position]
    return None if name == known.receiver and "counts_self" in api.traits else name


def static_names(model: FileModel, checkpoint: Checkpoint, known: Parameters) -> frozenset[str] | None:
    """Names of the parameters that are static; None when that is not known.

    ``static_argnames`` counts only where the wrapper honours it: under ``jax_remat3`` for ``jax.checkpoint``
    (measured on 0.10.2 to 0.12.0.1: accepted and ignored otherwise).
    """
    indices = static_indices(model, checkpoint)
    if indices is None or (known.takes_more and any(index < 0 for index in indices)):
        return None
    names = {marked(checkpoint.api, known, index) for index in indices}
    if None in names and not known.takes_more:  # out of range: what was meant to be static is not known
        return None
    by_name = checkpoint.role("static_argnames")
    if by_name is not None and (model.target.remat3 or checkpoint.api.library != "jax"):
        value = by_name.value
        items = value.items if isinstance(value, Sequence) else (value,)
        for item in items:
            if not isinstance(item, Literal) or not isinstance(item.value, str):
                return None
            names.add(item.value)
    return frozenset(name for name in names if name is not None)


def fills_defaults(checkpoint: Checkpoint) -> bool | None:
    """Whether the wrapper turns keywords into positional arguments and passes defaults along, as nnx does.

    ``graph=False`` and ``graph_updates=False`` switch that off (measured on Flax 0.12.8); None where that is not known.
    """
    if checkpoint.api.name not in _FILL_DEFAULTS:
        return False
    call = checkpoint.call
    if call is None:
        return True
    switches = [call.arguments[name].value for name in ("graph", "graph_updates") if name in call.arguments]
    states = [truth(value) if isinstance(value, Literal) and value.value is not None else None for value in switches]
    return False if False in states else None if call.opened or None in states else True


_FILL_DEFAULTS = frozenset({"flax.nnx.remat"})


def traces_only_arrays(api: Api) -> bool:
    """Whether arguments that are not arrays stay what they are: the wrappers that need no ``static_argnums``."""
    return "static_argnums" not in api.roles
