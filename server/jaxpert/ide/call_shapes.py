"""How a call is written when it is inserted: with places to fill in, or as plain text."""

from __future__ import annotations

import re

from jaxpert.jaxdb.schema import Api, Parameter, Signature

_USUAL = {"offload_src": '"device"', "offload_dst": '"pinned_host"'}
"""By role, the argument that most users write."""


def as_snippet(name: str, api: Api, signature: Signature) -> str:
    """A call of ``name`` with a place for each required argument, in the protocol's snippet syntax."""
    arguments = []
    for number, parameter in enumerate(filter(_is_required, signature.parameters), 1):
        opening, text, closing = _shape(api, parameter)
        arguments.append(f"{_keyword(parameter)}{opening}${{{number}:{_escaped(text)}}}{closing}")
    return f"{name}({', '.join(arguments)})$0"


def as_text(name: str, api: Api, signature: Signature) -> str:
    """A call of ``name`` with what of the required arguments does not have to be thought up."""
    arguments = []
    for parameter in filter(_is_required, signature.parameters):
        opening, text, closing = _shape(api, parameter)
        if _role(api, parameter) in _USUAL:
            arguments.append(f"{_keyword(parameter)}{opening}{text}{closing}")
        elif parameter.kind == "keyword_only":
            arguments.append(f"{_keyword(parameter)}{'[]' if opening.startswith('[') else ''}")
    return f"{name}({', '.join(arguments)})"


def _is_required(parameter: Parameter) -> bool:
    """Whether a call is meaningless without it: it has no default, or takes any number of arguments."""
    return parameter.default is None and parameter.kind != "var_keyword"


def _shape(api: Api, parameter: Parameter) -> tuple[str, str, str]:
    """What is fixed before the text of an argument, that text, and what is fixed behind it."""
    role = _role(api, parameter)
    if role in _USUAL:
        return "", _USUAL[role], ""
    if role in ("names", "offloaded_names"):
        return ('"', "name", '"') if parameter.kind == "var_positional" else ('["', "name", '"]')
    return "", parameter.name, ""


def _keyword(parameter: Parameter) -> str:
    return f"{parameter.name}=" if parameter.kind == "keyword_only" else ""


def _role(api: Api, parameter: Parameter) -> str:
    return next((role for role, name in api.roles.items() if name == parameter.name), "")


def _escaped(text: str) -> str:
    return re.sub(r"([\\$}])", r"\\\1", text)
