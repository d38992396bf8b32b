"""Which transformations call a wrapped function with tracers, so that its arguments are traced from outside already."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.calls import ApiCall, api_calls_in, callees_in
from jaxpert.model.transforms import Checkpoint, Parameters, parameters
from jaxpert.model.values import Def, Partial, Sequence, Symbol, Value
from jaxpert.model.wrapped_calls import leading_to, passed, reaches, wrapped_calls
from jaxpert.syntax.scopes import Scope, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


def handed_over(model: FileModel, checkpoint: Checkpoint) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Where the wrapped function is given to a transformation that calls it with tracers, or gets them in another way.

    Yields:
        The name of the transformation, and the parameters that it passes. Those with defaults are left out: how many
        arguments there are is not looked at. Transformations that may pass some arguments as they are do not count:
        ``jit`` with static arguments, ``vmap`` with ``in_axes``, and ``grad`` for all arguments but the first.
    """
    known = parameters(model, checkpoint)
    if known is None:
        return
    needed = [name for name in known.names if name not in {known.receiver} | known.defaults.keys()]
    for api in _bare_decorators_above(model, checkpoint):
        yield api.name, tuple(needed)
    for taken, function in leading_to(model, checkpoint, "taken", _all_taken):
        found = reaches(model, checkpoint, function)
        if found is not None:
            counted = known.receiver and known.names[:1] == (known.receiver,)
            passed_on = known.names[taken.given + (1 if counted and found[0] else 0) :][: taken.traced]
            yield taken.by, tuple(name for name in passed_on if name in needed and name not in taken.names)
    yield from _passed_on(model, checkpoint, known)


class _Taken(NamedTuple):
    """What a transformation passes to a function that it is given.

    Attributes:
        by: the name of the transformation.
        traced: how many leading arguments it passes as tracers; None for all of them.
        given: how many arguments were given before, by ``functools.partial``.
        names: those given by name.
    """

    by: str
    traced: int | None
    given: int
    names: frozenset[str]


def _all_taken(model: FileModel) -> Iterator[tuple[_Taken, Value]]:
    """Every function that a transformation is given which passes tracers."""
    for call in model.calls:
        count = _traced_count(call)
        for function in _functions_of(call) if count != 0 else ():
            given, names = 0, frozenset[str]()
            while isinstance(function, Partial) and not function.open:
                given += len(function.args)
                names |= set(function.keywords)
                function = function.target
            yield _Taken(call.api.name, count, given, names), function


def _passed_on(model: FileModel, checkpoint: Checkpoint, known: Parameters) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The same for calls in functions that are traced themselves and pass on their own parameters."""
    calls = [call for call in wrapped_calls(model, checkpoint) if call.site.scope.function() is not None]
    traced = model.from_each_tree("traced functions", _traced_functions) if calls else []
    for call in calls:
        around = call.site.scope.function()
        for function, by, count in traced:
            if function is not around or not isinstance(function.node, (ast.FunctionDef, ast.Lambda)):
                continue
            own = [argument.arg for argument in (*function.node.args.posonlyargs, *function.node.args.args)][:count]
            for name, passing in passed(known, call).arguments.items():
                if isinstance(passing.node, ast.Name) and passing.node.id in own:
                    owner, bindings = passing.site.scope.lookup(passing.node.id) or (None, [])
                    if owner is function and len(bindings) == 1:
                        yield by, (name,)


def _traced_functions(model: FileModel, tree: TreeIndex) -> list[tuple[Scope, str, int | None]]:
    """Functions that get tracers, each with who passes them and how many leading ones; None for all."""
    found: list[tuple[Scope, str, int | None]] = []
    for call in api_calls_in(model, tree):
        count = _traced_count(call)
        functions = _functions_of(call) if count != 0 else ()
        found += [(each.function.inner, call.api.name, count) for each in functions if isinstance(each, Def)]
    for function, _, value in callees_in(model, tree).decorated:
        api = model.db.api(value.path) if isinstance(value, Symbol) else None
        if api is not None and api.library == "jax" and {"compiles", "maps"} & api.traits:
            found.append((function.inner, api.name, None))
    return found


def _bare_decorators_above(model: FileModel, checkpoint: Checkpoint) -> Iterator[Api]:
    """``@jax.jit`` and ``@jax.vmap`` without options above the checkpoint's decorator."""
    target, node = checkpoint.target, checkpoint.node
    decorators = getattr(target.function.node, "decorator_list", []) if isinstance(target, Def) else []
    if not isinstance(target, Def) or not checkpoint.by_decorator or node not in decorators:
        return
    for decorator in decorators[: decorators.index(node)]:
        for option in model.evaluate(decorator, target.function.scope, target.function.block).options():
            api = model.db.api(option.path) if isinstance(option, Symbol) else None
            if api is None or api.library != "jax" or "applies" in api.traits:
                continue
            if {"compiles", "maps"} & api.traits:
                yield api


def _functions_of(call: ApiCall) -> Iterator[Value]:
    for role in ("fun", "second_fun"):
        argument = call.role(role)
        if argument is not None:
            yield from argument.value.options()
    branches = call.role("funs")
    value = branches.value if branches is not None else None
    if isinstance(value, Sequence):
        for item in value.items:
            yield from item.options()


def _traced_count(call: ApiCall) -> int | None:
    """How many leading arguments a transformation passes as tracers; None for all of them."""
    traits, given = call.api.traits, call.arguments.keys()
    if call.api.kind is not ApiKind.TRANSFORM or call.api.library != "jax" or call.is_partial or call.opened:
        return 0  # those of Equinox leave what is no array as it is
    if "applies" in traits:
        return None if {"control_flow", "differentiates"} & traits else 0
    if {"compiles", "maps"} & traits or call.api.name == "jax.make_jaxpr":
        return 0 if given & {"static_argnums", "static_argnames", "in_axes", "static_broadcasted_argnums"} else None
    return 1 if "differentiates" in traits and "argnums" not in given else 0
