"""Which functions of the user's run when a value is called: through partials, callable objects and wrappers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.call_results import frame_of
from jaxpert.model.calls import Argument, bind
from jaxpert.model.transforms import call_site
from jaxpert.model.values import CallResult, ClassValue, Def, Frame, Instance, Partial, Value

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

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
    model: FileModel, value: Value, args: list[Value] | None, keywords: Mapping[str, Value], frame: Frame
) -> Iterator[tuple[Def, Frame]]:
    """The functions that run when ``value`` is called, with what is known of their parameters.

    ``args`` is None when the arguments are not known; ``frame`` is what is known where the call stands.
    """
    given: list[Value] = []
    names: dict[str, Value] = {}
    while isinstance(value, Partial):
        args = None if value.open else args
        given = [*value.args, *given]
        names = {**value.keywords, **names}
        value = value.target
    if isinstance(value, Instance):
        value = (value.model or model).evaluator.attribute(value, "__call__", None)
    if isinstance(value, CallResult):
        for option, _ in _wrapped(model, value, frame):
            yield from bodies(model, option, args if args is None else [*given, *args], {**names, **keywords}, frame)
    for option in value.options():
        if isinstance(option, Def):
            evaluator = (option.model or model).evaluator
            passes = [*given, *(args or ())]
            yield option, frame_of(evaluator, option, passes, {**names, **keywords}, more=args is None)


def _wrapped(model: FileModel, made: CallResult, frame: Frame) -> Iterator[tuple[Value, Argument | None]]:
    """The functions that run when ``made``, which a call of a library gave, is called."""
    owner = made.model or model
    if made.site is None:
        return
    if isinstance(made.callee, CallResult):
        maker = made.callee
        api = model.db.api(maker.path)
        if api is not None and "callable_without_fun" in api.traits and made.call.args:  # nnx.remat(policy=…)(f)
            fun = Argument(made.call.args[0], made.site, owner)
            yield from ((option, fun) for option in value_of(fun, frame).options())
        for option, _ in _wrapped(model, maker, frame):
            if isinstance(option, ClassValue):  # nn.remat(Block)(…)
                yield (option.model or model).evaluator.attribute(option, "__call__", None), None
        return
    api = model.db.api(made.path)
    if api is None or not wraps(api):
        return
    call = bind(owner, call_site(made.site, made.call), made.callee)
    fun_given = call.role("fun") if call is not None else None
    if fun_given is not None:
        yield from ((option, fun_given) for option in value_of(fun_given, frame).options())


def value_of(argument: Argument, frame: Frame) -> Value:
    """The value of an argument where the names in ``frame`` are known."""
    return argument.model.evaluate(argument.node, argument.site.scope, argument.site.block, frame)
