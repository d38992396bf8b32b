"""Which arguments of a checkpointed function are tracers inside it, and how sure that is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.argument_questions import questions
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.caller_arrays import enclosing_function, given_by_callers
from jaxpert.model.conversions import Conversion, conversions
from jaxpert.model.handed_over import handed_over
from jaxpert.model.tracing import Body, Level, gives_array
from jaxpert.model.transforms import (
    Checkpoint,
    Parameters,
    fills_defaults,
    marked,
    parameters,
    static_indices,
    static_names,
    traces_only_arrays,
)
from jaxpert.model.values import CallResult, Def, Literal, Symbol, Typed, Value
from jaxpert.model.wrapped_calls import Passing, passed, wrapped_calls
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import BindingKind, Block, Scope, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_FLAGS = {"builtins.bool", "builtins.int"}
_NUMBERS = {"builtins.float", "builtins.complex"}
_ARRAYS = {
    "jax.Array", "jax.numpy.ndarray", "numpy.ndarray", "jax.typing.ArrayLike", "chex.Array", "chex.ArrayDevice",
    "chex.Numeric", "chex.Scalar", "chex.PRNGKey", "jaxtyping.Array", "jaxtyping.PRNGKeyArray",
}  # fmt: skip
_WRITTEN_OUT = {"bool": "flag", "int": "flag", "float": "number", "jax.Array": "array", "jnp.ndarray": "array"}
_KINDS = {"bool": "bool", "int": "int", "number": "int", "float": "float", "complex": "float", "str": "string"}
_NUMPY_MAKERS = {
    "ones", "zeros", "array", "asarray", "arange", "linspace", "full", "eye", "float32", "float64", "int32", "int64",
    "random.normal", "random.rand", "random.randn", "random.uniform", "ones_like", "zeros_like",
}  # fmt: skip
_JAX_MAKERS = {"ones", "zeros", "arange", "linspace", "full", "eye", "float32", "bfloat16", "float16", "int32", "bool_"}


@dataclass(frozen=True, slots=True, eq=False)
class TracedArgument:
    """A parameter of a checkpointed function that is traced.

    Attributes:
        index: its number in ``static_argnums``; None when it cannot be passed by position.
        kinds: what the visible calls give it: "bool", "int", "float", "array", "none", "string", "unknown".
        annotation: "flag" (bool or int), "number", "array", "optional" or "".
        always_by_position: whether every visible call passes it by position, or the wrapper sees to that.
        called_directly: whether no other transformation and no ``functools.partial`` stands in between.
        passed_by: the transformation that passes a tracer, so that ``static_argnums`` does not help; "" when none does.
    """

    name: str
    level: Level
    index: int | None
    kinds: frozenset[str]
    annotation: str
    always_by_position: bool
    called_directly: bool
    passed_by: str = ""

    @property
    def is_flag(self) -> bool:
        """Whether there are visible calls and each gives it a Python bool or int by position."""
        plain = bool(self.kinds) and self.kinds <= {"bool", "int"}
        return plain and self.always_by_position and self.called_directly

    @property
    def is_array(self) -> bool:
        """Whether it is known to be an array."""
        return "array" in self.kinds or self.annotation == "array"


def traced_arguments(model: FileModel, checkpoint: Checkpoint) -> dict[str, TracedArgument]:
    """The parameters that the wrapped function gets as tracers, by name.

    There are none where it is not known which parameters are static, or where ``static_argnums`` is itself at fault.

    A parameter that the visible calls leave to its default is a plain Python value inside (measured on all versions;
    only ``nnx.remat`` passes defaults along) and is not among them, nor is one that the function itself looks at
    with ``isinstance`` or by a function of its own.
    """
    known = parameters(model, checkpoint)
    static = static_names(model, checkpoint, known) if known is not None else None
    indices = static_indices(model, checkpoint) or ()
    if known is None or static is None:
        return {}
    if any(index and marked(checkpoint.api, known, index) is None for index in indices):
        return {}
    passers = {name: by for by, names in handed_over(model, checkpoint) for name in names}
    calls = [(call, passed(known, call)) for call in wrapped_calls(model, checkpoint)]
    fills = fills_defaults(checkpoint) is True
    looked_at, asked_for_none = questions(known.function)
    found = {}
    for name in (*known.names, *known.keyword_only):
        given = [one.arguments[name] for _, one in calls if name in one.arguments]
        left_out = name in known.defaults and not given and not fills
        if name == known.receiver or (name in static and name not in passers) or name in looked_at or left_out:
            continue
        kinds = {kind for passing in given for kind in _kinds_passed(model, passing)}
        if name in passers and kinds == {"unknown"}:
            kinds |= {"array" for passing in given if _is_given_an_array(model, passing)}
        if fills and name in known.defaults and len(given) < max(len(calls), 1):
            kinds |= _kinds_of_default(model, known, name)
        annotation = _annotated(known.function.model or model, known.function, name)
        default = known.defaults.get(name)
        if annotation and isinstance(default, ast.Constant) and default.value is None:
            annotation = "optional"
        level = _level(checkpoint, kinds, annotation, name in asked_for_none)
        if level is not Level.NOT:
            found[name] = TracedArgument(
                name,
                level,
                known.names.index(name) if name in known.names else None,
                frozenset(kinds),
                annotation,
                all(fills or (name in one.arguments and not one.arguments[name].keyword) for _, one in calls)
                and not any(one.opened for _, one in calls),
                not any(call.transformed or call.is_partial for call, _ in calls),
                passers.get(name, ""),
            )
    return found


@dataclass(frozen=True, slots=True, eq=False)
class AskedArgument:
    """A place where the wrapped function asks for the value of a traced argument.

    Attributes:
        arguments: the parameters that are traced.
        used_as_arrays: those of them that another conversion of the function shows to be arrays.
        model: of the file that holds the function.
    """

    checkpoint: Checkpoint
    known: Parameters
    arguments: dict[str, TracedArgument]
    conversion: Conversion
    used_as_arrays: frozenset[str]
    model: FileModel

    @property
    def passer(self) -> str:
        """The transformation that passes a tracer from outside; "" when there is none."""
        names = sorted(self.conversion.traced.names)
        return next((by for name in names if (by := self.arguments[name].passed_by)), "")

    @property
    def static_candidate(self) -> tuple[str, int | None]:
        """The one parameter that may be made static, and its number; "" when there is none."""
        traced = self.conversion.traced
        if len(traced.names) != 1 or traced.needs_array or "static_argnums" not in self.checkpoint.api.roles:
            return "", None
        argument = self.arguments[next(iter(traced.names))]
        if argument.passed_by:
            return "", None
        is_array = argument.is_array or argument.name in self.used_as_arrays
        is_alone = len(self.arguments) == 1 and not self.known.takes_more  # nothing would be left to trace
        return ("", None) if is_array or is_alone else (argument.name, argument.index)


_Converted = list[tuple[Conversion, frozenset[str]]]


def asked_arguments(model: FileModel, checkpoint: Checkpoint) -> list[AskedArgument]:
    """Where the wrapped function asks for the value of a traced argument.

    Remembered while the function, the wrapping and the visible calls stay as they are.
    """
    known = parameters(model, checkpoint)
    if known is None:
        return []
    calls = "".join(f" {id(call.site.node)}" for call in wrapped_calls(model, checkpoint))
    passers = "".join(f" {by}:{','.join(names)}" for by, names in handed_over(model, checkpoint))
    key = f"converted {id(checkpoint.node)} {id(known.function.function)}{calls} by{passers}"

    def convert(_: TreeIndex) -> tuple[dict[str, TracedArgument], _Converted]:
        model.evaluator.entered.append(known.function.function.block.tree)
        anything = dict.fromkeys((*known.names, *known.keyword_only), Level.ARRAY)
        if not _conversions(model, known.function, anything):  # then what the calls pass need not be looked into
            return {}, []
        arguments = traced_arguments(model, checkpoint)
        levels = {name: argument.level for name, argument in arguments.items()}
        found = _conversions(model, known.function, levels) if levels else []
        arrays = frozenset(name for one in found if one.traced.needs_array for name in one.traced.names)
        return arguments, [(conversion, arrays) for conversion in found]

    arguments, found = model.tree_fact(checkpoint.site.block.tree, key, convert)
    owner = known.function.model or model
    return [AskedArgument(checkpoint, known, arguments, one, arrays, owner) for one, arrays in found]


def _conversions(model: FileModel, function: Def, levels: dict[str, Level]) -> list[Conversion]:
    """What the function asks of parameters traced at ``levels``; remembered while the function stays as it is."""
    owner = function.model or model
    if function.frame:
        return list(conversions(Body(owner, function, levels)))
    key = f"conversions {id(function.function)} {sorted((name, level.name) for name, level in levels.items())}"
    return owner.tree_fact(
        function.function.block.tree, key, lambda _: list(conversions(Body(owner, function, levels)))
    )


def _level(checkpoint: Checkpoint, kinds: set[str], annotation: str, asked_for_none: bool) -> Level:
    if traces_only_arrays(checkpoint.api):
        return Level.ARRAY if "array" in kinds or annotation == "array" else Level.MAYBE
    if kinds & {"bool", "int", "float", "array"}:
        return Level.ARRAY
    if kinds and kinds <= {"string", "none"}:
        return Level.NOT
    if asked_for_none or annotation == "optional" or "none" in kinds:
        return Level.MAYBE
    return Level.ARRAY if annotation else Level.LEAVES


def _kinds_passed(model: FileModel, passing: Passing) -> Iterator[str]:
    value = model.evaluate(passing.node, passing.site.scope, passing.site.block)
    return (_kind(option) for option in value.options())


def _is_given_an_array(model: FileModel, passing: Passing) -> bool:
    """Whether a function passes on a parameter of its own that a visible call gives an array or a number."""
    owner, bindings = passing.site.scope.lookup(getattr(passing.node, "id", "")) or (None, [])
    if owner is None or len(bindings) != 1 or bindings[0].kind is not BindingKind.PARAMETER:
        return False
    function, key = enclosing_function(model, owner), (id(owner), bindings[0].name)
    return function is not None and any(
        isinstance(given.get(key), ArrayType) for given, _ in given_by_callers(model, function)
    )


def _kinds_of_default(model: FileModel, known: Parameters, name: str) -> set[str]:
    function = known.function.function
    value = (known.function.model or model).evaluate(known.defaults[name], function.scope, function.block)
    return {_kind(option) for option in value.options()}


def _kind(value: Value) -> str:
    if isinstance(value, Literal):
        return "none" if value.value is None else _KINDS.get(type(value.value).__name__, "unknown")
    if isinstance(value, Typed):
        return _KINDS.get(value.type, "unknown")
    if isinstance(value, CallResult):
        path = value.path
        if path.removeprefix("numpy.") in _NUMPY_MAKERS or path.removeprefix("jax.numpy.") in _JAX_MAKERS:
            return "array"
        return "array" if gives_array(path) else "unknown"
    return "unknown"


# -- annotations ------------------------------------------------------------------------------------------------------


def _annotated(model: FileModel, target: Def, name: str) -> str:
    arguments = target.function.node.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if argument.arg == name and argument.annotation is not None:
            return _annotation(model, argument.annotation, target.function.scope, target.function.block)
    return ""


def _annotation(model: FileModel, node: ast.expr, scope: Scope, block: Block) -> str:
    """What it can be at most: "flag", "number", "array", "none", "optional" when None is possible; "" for anything."""
    if isinstance(node, ast.Constant):
        return "none" if node.value is None else _WRITTEN_OUT.get(str(node.value), "")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _united([_annotation(model, side, scope, block) for side in (node.left, node.right)])
    value = model.evaluate(node.value if isinstance(node, ast.Subscript) else node, scope, block)
    path = value.path if isinstance(value, Symbol) else ""
    if not isinstance(node, ast.Subscript):
        return "flag" if path in _FLAGS else "number" if path in _NUMBERS else "array" if path in _ARRAYS else ""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if path == "typing.Optional":
        return "optional"
    if path == "typing.Union":
        return _united([_annotation(model, part, scope, block) for part in parts])
    if path == "typing.Annotated":
        return _annotation(model, parts[0], scope, block)
    is_typed_array = path.startswith("jaxtyping.") and _annotation(model, parts[0], scope, block) == "array"
    return "array" if is_typed_array else ""


def _united(parts: list[str]) -> str:
    kinds = set(parts)
    if kinds & {"none", "optional"}:
        return "optional"
    return "" if "" in kinds else parts[0] if len(kinds) == 1 else "number"
