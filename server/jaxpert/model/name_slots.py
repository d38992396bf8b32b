"""Whether a string that is being typed is a checkpoint name: by the text around it, and last good facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api, ApiKind
from jaxpert.model.dotted_names import scope_at, values_of_name
from jaxpert.model.open_calls import called_apis

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel
    from jaxpert.syntax.open_brackets import OpenBracket, Surroundings
    from jaxpert.syntax.scopes import Scope

_WHOLE_ARGUMENT = re.compile(r"(?:.*\b(?:else|or|and)|\s*\*?\s*)\s*\Z", re.DOTALL)
"""What may stand before a string that is an argument by itself."""

_COLLECTIONS = frozenset({"list", "tuple", "set", "frozenset", "sorted", "dict.fromkeys"})


def name_slot(model: FileModel, around: Surroundings) -> tuple[str, OpenBracket] | None:
    """The role of the name that the open string is, "tag" or "use", and the bracket of the call that takes it.

    None when the string is no checkpoint name, or nothing shows that it is one.
    """
    string = around.string
    if string is None or set(string.prefix) & set("bft") or not _WHOLE_ARGUMENT.match(around.before):
        return None
    for depth, bracket in enumerate(reversed(around.brackets)):
        if bracket.kind == "(" and bracket.callee and bracket.callee not in _COLLECTIONS:
            role = _role(model, bracket, scope_at(model, around.line), is_item=depth > 0)
            return (role, bracket) if role else None
    return None


def _role(model: FileModel, bracket: OpenBracket, scope: Scope, is_item: bool) -> str:
    if bracket.keyword.endswith("checkpoint_name") and not is_item:
        return "tag"
    for value in values_of_name(model, bracket.callee, scope):
        for api, number, given in called_apis(model, value, bracket, scope):
            if role := _role_in(model, api, number, bracket.keyword, given, is_item):
                return role
    return ""


def _role_in(model: FileModel, api: Api, number: int, keyword: str, given: frozenset[str], is_item: bool) -> str:
    """The role that an argument of ``api`` plays: number ``number``, or given as ``keyword``."""
    signature = api.signature(model.target.version)
    slots = [p.name for p in signature.parameters if p.kind.startswith("positional")] if signature is not None else []
    name = keyword or (slots[number] if number < len(slots) else "")
    if api.kind is ApiKind.CHECKPOINT_NAME:
        return "tag" if name == api.roles.get("name") and name not in given and not is_item else ""
    if api.kind is not ApiKind.POLICY_FACTORY:
        return ""
    if "names_as_varargs" in api.traits:
        return "" if keyword else "use"
    collections = {api.roles.get("names"), api.roles.get("offloaded_names")}
    return "use" if "names_as_collections" in api.traits and name in collections and is_item else ""
