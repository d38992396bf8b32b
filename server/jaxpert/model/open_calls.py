"""Which API is being called at a place that is being typed, and what of its arguments is there already."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, Parameter
from jaxpert.model.dotted_names import scope_at, values_of_name
from jaxpert.model.values import Partial, Symbol, Value
from jaxpert.records import dataclass

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel
    from jaxpert.syntax.open_brackets import OpenBracket, Surroundings
    from jaxpert.syntax.scopes import Scope

_POSITIONAL = ("positional_only", "positional_or_keyword")


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call, or a partial application, whose closing bracket is not there yet.

    Attributes:
        parameters: those of the API in the JAX at hand.
        current: the one that the argument at the place is for; None when nothing shows that.
        given: names of the parameters that have an argument already.
    """

    api: Api
    parameters: tuple[Parameter, ...]
    current: Parameter | None
    given: frozenset[str]


def open_call(model: FileModel, around: Surroundings, directly: bool = True) -> OpenCall | None:
    """The call of a known API that the place is in, the innermost call of all; None when that is of something else.

    Args:
        directly: only when the place is not inside a list or another bracket of an argument.
    """
    for depth, bracket in enumerate(reversed(around.brackets)):
        if bracket.callee:
            return _call(model, bracket, scope_at(model, around.line)) if not (directly and depth) else None
    return None


def called_apis(
    model: FileModel, value: Value, bracket: OpenBracket, scope: Scope
) -> Iterator[tuple[Api, int, frozenset[str]]]:
    """The APIs that are called, or made a partial of; the number of the argument; the names of arguments given."""
    number, given = bracket.number, frozenset[str]()
    if isinstance(value, Symbol) and value.path == "functools.partial" and number:
        for target in values_of_name(model, bracket.first, scope) if re.fullmatch(r"[\w.]+", bracket.first) else ():
            if not (isinstance(target, Symbol) and target.path == value.path):
                for api, inner, names in called_apis(model, target, bracket, scope):
                    yield api, inner - 1, names
        return
    while isinstance(value, Partial):
        number += len(value.args)
        given |= value.keywords.keys()
        value = value.target
    found = model.db.api(value.path) if isinstance(value, Symbol) else None
    if found is not None:
        yield found, number, given


def _call(model: FileModel, bracket: OpenBracket, scope: Scope) -> OpenCall | None:
    for value in values_of_name(model, bracket.callee, scope):
        for api, number, given in called_apis(model, value, bracket, scope):
            signature = api.signature(model.target.version)
            if signature is not None:
                return _bound(api, signature.parameters, number - len(bracket.keywords), given, bracket)
    return None


def _bound(
    api: Api, parameters: tuple[Parameter, ...], number: int, given: frozenset[str], bracket: OpenBracket
) -> OpenCall:
    """``number``: how many arguments stand before the place by position."""
    slots = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    filled = {slot.name for slot in slots[:number]} if not bracket.has_star else set()
    current: Parameter | None = None
    if bracket.keyword:
        current = next((it for it in parameters if it.name == bracket.keyword and it.kind != "positional_only"), None)
    elif not bracket.keywords and not bracket.has_star:
        rest = next((parameter for parameter in parameters if parameter.kind == "var_positional"), None)
        current = slots[number] if number < len(slots) else rest
    return OpenCall(api, parameters, current, frozenset({*given, *bracket.keywords, *filled}))
