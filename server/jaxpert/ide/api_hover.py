"""Hover on the name of a known function, policy or class: what it is in the JAX at hand, and how to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxpert.ide.blocks import Block, Code, Link, Links, Prose
from jaxpert.jaxdb.schema import Api, ApiKind, Parameter, Signature, VersionNote
from jaxpert.rulekit.rule import Severity
from jaxpert.rulekit.urls import rule_url
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from packaging.version import Version

    from jaxpert.model.file_model import FileModel

_MOST_NOTES = 6
_MOST_MISTAKES = 8
_UNTOLD_DEFAULTS = frozenset({"...", "Deprecated", "UnspecifiedValue"})
"""Defaults that stand for "not given" and are nothing that somebody would write."""


def api_at(model: FileModel, position: Position) -> tuple[Range, Api, str] | None:
    """The API whose name stands at ``position``, and the dotted path that is used."""
    symbol = model.symbol_at(position)
    api = model.db.api(symbol[1]) if symbol is not None else None
    return (symbol[0], api, symbol[1]) if symbol is not None and api is not None else None


def api_hover(model: FileModel, position: Position) -> tuple[Range, list[Block]] | None:
    """What there is to say about the API whose name stands at ``position``."""
    found = api_at(model, position)
    if found is None:
        return None
    area, api, path = found
    return area, api_blocks(api, model.target.version, model.db.exists(path))


def api_blocks(api: Api, version: Version, exists: bool | None = True) -> list[Block]:
    """What ``api`` is in JAX ``version``; ``exists``: whether that version has it (None when not known)."""
    of_jax = api.library == "jax"
    signature = api.signature(version)
    call = f"`{signature_text(signature)}`" if signature else ""
    where = f"JAX {version}" if of_jax else api.library
    blocks: list[Block] = [Prose(f"**`{api.name}`**{call} · {api.kind.value} · {where}")]
    if of_jax and exists is False:
        blocks.append(Prose(f"**Not in JAX {version}.**"))
    if api.summary:
        blocks.append(Prose(api.summary))
    if signature is not None and (lines := argument_lines(api, signature)):
        blocks.append(Prose("\n".join(f"- {line}" for line in lines)))
    if api.notes:
        notes = [_note_text(note) for note in api.notes[-_MOST_NOTES:]]
        blocks.append(Prose("\n".join(["History:", "", *(f"- {note}" for note in notes)])))
    if api.example and (api.example_since is None or api.example_since <= version):
        blocks.append(Code(api.example.strip("\n")))
    if mistakes := usual_mistakes(api):
        blocks.append(Links("Usual mistakes", mistakes))
    if api.url:
        blocks.append(Link("Documentation", api.url))
    return blocks


def docstring_blocks(docstring: str, origin: str) -> list[Block]:
    """The ``docstring`` that ``origin``, the installed library, has for an API; nothing when there is none."""
    return [Prose("---"), Prose(f"From {origin}:"), Code(docstring, "text")] if docstring else []


def argument_lines(api: Api, signature: Signature) -> list[str]:
    """A line for each argument of ``signature``: its name, its default and what it is, in inline Markdown."""
    if api.kind is ApiKind.POLICY:  # JAX calls it, not the user
        return []
    described = [parameter for parameter in signature.parameters if parameter.name in api.arguments]
    return [f"`{parameter_text(parameter)}`: {api.arguments[parameter.name]}" for parameter in described]


def usual_mistakes(api: Api) -> tuple[Link, ...]:
    """The rules about wrong uses of ``api``, the gravest first."""
    from jaxpert.rules import ALL_RULES  # not needed before the first hover

    about = {api.name, api.kind.value}
    gravity = list(Severity)
    rules = [rule for rule in ALL_RULES if about.intersection(rule.apis)]
    rules.sort(key=lambda rule: (api.name not in rule.apis, gravity.index(rule.severity)))
    links = [Link(rule.name, rule_url(rule.name)) for rule in rules[:_MOST_MISTAKES]]
    if len(rules) > _MOST_MISTAKES:
        links.append(Link(f"{len(rules) - _MOST_MISTAKES} more", rule_url("README")))
    return tuple(links)


def signature_text(signature: Signature) -> str:
    """``signature`` as Python writes it, in brackets; without what is private."""
    return f"({', '.join(text for text, _ in signature_pieces(signature))})"


def signature_pieces(signature: Signature) -> list[tuple[str, Parameter | None]]:
    """What stands between the commas of ``signature``, without what is private; with the parameter unless a mark."""
    shown: list[tuple[str, Parameter | None]] = []
    previous = ""
    for parameter in signature.parameters:
        if parameter.name.startswith("_") and parameter.default is not None:
            continue
        if previous == "positional_only" != parameter.kind:
            shown.append(("/", None))
        if parameter.kind == "keyword_only" and previous not in ("keyword_only", "var_positional"):
            shown.append(("*", None))
        default = f"={parameter.default}" if parameter.default is not None else ""
        shown.append((f"{_stars(parameter)}{parameter.name}{default}", parameter))
        previous = parameter.kind
    if previous == "positional_only":
        shown.append(("/", None))
    return shown


def parameter_text(parameter: Parameter) -> str:
    """``parameter`` with its stars, and with its default where that says something."""
    told = parameter.default is not None and parameter.default not in _UNTOLD_DEFAULTS
    return f"{_stars(parameter)}{parameter.name}" + (f"={parameter.default}" if told else "")


def _stars(parameter: Parameter) -> str:
    return {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")


def _note_text(note: VersionNote) -> str:
    when = "" if note.version in ("", "any") else f"**{note.version}** "
    change = "" if note.change == "note" else note.change
    return f"{when}{change}{': ' if note.text and (when or change) else ''}{note.text}"
