"""Which arguments must stay Python values when a function is rematerialized that was not before."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from jaxpert.model.conversions import STATIC, conversions
from jaxpert.model.traced_arguments import TracedArgument, traced_arguments
from jaxpert.model.tracing import Body, Level
from jaxpert.model.transformed_calls import applications, static_parameters
from jaxpert.model.transforms import Checkpoint, Parameters, parameters
from jaxpert.model.values import ClassValue, Def, Literal, Partial, Symbol, Value
from jaxpert.model.wrapped_calls import Passed, passed, wrapped_calls
from jaxpert.records import dataclass
from jaxpert.syntax.children import walk
from jaxpert.syntax.scopes import Function

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_PLAIN = {"bool", "int", "string", "none"}
_NO_ARRAYS = STATIC | {"index", "key", "hash"}
"""What only a Python value can be used for, whatever else is known of it."""


@dataclass(frozen=True, slots=True)
class StaticNeeds:
    """What a wrapper must be told.

    Attributes:
        indices: numbers for ``static_argnums``.
        keywords: names that the only call passes by keyword, where ``static_argnums`` does not reach.
        obstacle: why it cannot be wrapped so, as a clause; "" when it can.
    """

    indices: tuple[int, ...] = ()
    keywords: tuple[str, ...] = ()
    obstacle: str = ""


def static_needs(model: FileModel, checkpoint: Checkpoint, also: Collection[str] = ()) -> StaticNeeds:
    """What ``checkpoint``, which has no options yet, must be told so that its function still runs.

    Args:
        also: parameters that are known to be Python values, because ``jit`` leaves them alone.
    """
    known = parameters(model, checkpoint)
    calls = [call.site.node for call in wrapped_calls(model, checkpoint)]
    if known is None:
        return _of_unknown(model, checkpoint, calls)
    visible = [passed(known, call) for call in wrapped_calls(model, checkpoint)]
    needed, obstacle = _needed(model, checkpoint, known, visible)
    for name in also:
        needed.setdefault(name, f"`{name}` is static under `jit`")
    indices, keywords = [], []
    for name, reason in needed.items():
        given = [one.arguments.get(name) for one in visible]
        if given and not any(given) and name in known.defaults:
            continue  # a default that nobody overrides is not traced
        if not checkpoint.by_decorator and given and all(one is not None and one.keyword for one in given):
            keywords.append(name)
            continue
        if name not in known.names or any(one is not None and one.keyword for one in given):
            how = "it is passed by keyword: `static_argnums` counts positional arguments"
            obstacle = obstacle or f"{reason}, and {how}"
        elif name in known.defaults and not (given and all(given)):
            obstacle = obstacle or f"{reason}, and not every call passes it: `static_argnums` needs it in each"
        elif any(one.opened for one in visible):
            obstacle = obstacle or f"{reason}, and a `*` hides whether calls pass it by position"
        else:
            indices.append(known.names.index(name))
    if indices and len(indices) == len(known.names) and not known.takes_more:
        obstacle = obstacle or "no argument would be left to trace"
    return StaticNeeds(tuple(sorted(indices)), tuple(keywords), obstacle)


def static_under_jit(model: FileModel, function: Function) -> frozenset[str]:
    """The parameters that a ``jit`` of this file leaves alone when it compiles ``function``."""
    found: set[str] = set()
    for made_by in applications(model):
        target = made_by.target
        if isinstance(target, Def) and target.function is function and "compiles" in made_by.api.traits:
            static = static_parameters(made_by)
            found |= static[0] if static is not None else set()
    return frozenset(found)


def _needed(
    model: FileModel, checkpoint: Checkpoint, known: Parameters, visible: list[Passed]
) -> tuple[dict[str, str], str]:
    """The parameters that must stay what they are, each with the reason; and what would not even help, or ""."""
    owner, target = known.function.model or model, known.function
    names = (*known.names, *known.keyword_only)
    arguments = traced_arguments(model, checkpoint)
    needed: dict[str, str] = {}
    obstacle = ""
    for one in conversions(Body(owner, target, dict.fromkeys(names, Level.ARRAY))):
        text = " ".join(owner.text_of(one.node).split())
        listed = " and ".join(f"`{name}`" for name in sorted(one.traced.names))
        reason = f"`{text}` in `{known.display}` asks for the value of {listed}"
        name = next(iter(one.traced.names))
        if len(one.traced.names) > 1 or one.traced.needs_array:
            if any(each in arguments for each in one.traced.names):
                obstacle = obstacle or f"{reason}, which a traced array does not have"
        elif one.how in _NO_ARRAYS or _is_python(arguments.get(name), isinstance((one.inner or one).node, ast.Name)):
            needed.setdefault(name, reason)
        else:
            obstacle = obstacle or f"{reason}, and it is not certain that this is a Python value"
    for name in names:
        for call in visible:
            given = call.arguments.get(name)
            for option in model.evaluate(given.node, given.site.scope, given.site.block).options() if given else ():
                if _cannot_be_traced(option):
                    needed.setdefault(name, f"`{name}` is no array")
    for name in _called(target.function):
        if name in names:
            needed.setdefault(name, f"`{name}` is called in `{known.display}`")
    return needed, obstacle


def _is_python(argument: TracedArgument | None, is_bare: bool) -> bool:
    """Whether an argument that is asked for its value is a Python value: by what is passed, or asked for ``if flag:``.
    """
    if argument is None or argument.annotation == "flag":
        return True
    return not argument.is_array if is_bare else bool(argument.kinds) and argument.kinds <= _PLAIN


def _cannot_be_traced(value: Value) -> bool:
    if isinstance(value, Literal):
        return isinstance(value.value, (str, bytes))
    return isinstance(value, (Def, ClassValue, Partial)) or (isinstance(value, Symbol) and "." in value.path)


def _called(function: Function) -> Iterator[str]:
    """Names that the body calls as functions, and its own parameters with them."""
    for node in walk(function.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            yield node.func.id


def _of_unknown(model: FileModel, checkpoint: Checkpoint, calls: list[ast.Call]) -> StaticNeeds:
    """Of a function that is not known: whatever is written out in its call, but for numbers with a point and None."""
    if checkpoint.by_decorator or len(calls) != 1:
        return StaticNeeds()
    site = checkpoint.site

    def is_plain(node: ast.expr) -> bool:
        options = list(model.evaluate(node, site.scope, site.block).options())
        if len(options) != 1:
            return False
        one = options[0]
        if isinstance(one, Literal):
            return one.value is not None and not isinstance(one.value, (float, complex))
        return _cannot_be_traced(one)

    node = calls[0]
    indices = tuple(index for index, argument in enumerate(node.args) if is_plain(argument))
    starred = [index for index, argument in enumerate(node.args) if isinstance(argument, ast.Starred)]
    if indices and starred and starred[0] < indices[-1]:
        return StaticNeeds(obstacle="a `*` hides which argument is which")
    keywords = tuple(keyword.arg for keyword in node.keywords if keyword.arg and is_plain(keyword.value))
    return StaticNeeds(indices, keywords)
