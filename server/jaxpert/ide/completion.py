"""Completion around checkpoints: policies, options of the wrappers, kinds of memory. Works while the line is broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.ide.call_shapes import as_snippet, as_text
from jaxpert.ide.completion_item import CompletionItem, CompletionKind
from jaxpert.jaxdb.load import POLICIES
from jaxpert.jaxdb.schema import Api, ApiKind, Parameter
from jaxpert.model.dotted_names import scope_at, values_of_name
from jaxpert.model.memory_kinds import memory_kinds
from jaxpert.model.open_calls import OpenCall, open_call
from jaxpert.model.reachable_policies import named_policies, way_to_policies
from jaxpert.model.values import Symbol
from jaxpert.syntax.open_brackets import OpenString, surroundings
from jaxpert.text.lines import Position, Range, without_line_end

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DOTTED = re.compile(r"(?<![\w.)\]\"'])((?:[^\W\d]\w*\s*\.\s*)*)([^\W\d]\w*|)\Z")
"""A name, or the beginning of one, at the end of a text: what stands before the last dot, and the last word."""

_WORD = re.compile(r"\w*")
_IMPORT = re.compile(r"\s*(?:import|from)\b")
COMPLETED = frozenset({ApiKind.CHECKPOINT, ApiKind.POLICY_FACTORY, ApiKind.CHECKPOINT_NAME, ApiKind.CLASS})
"""The kinds of APIs whose calls are helped with. General tools for Python know enough about the others."""

_GONE = "Deprecated"


def api_completions(model: FileModel, position: Position) -> list[CompletionItem]:
    """What may stand at ``position`` of the APIs around checkpoints."""
    if not model.concerns_jax:
        return []
    around = surroundings(model.source, position)
    call = open_call(model, around)
    if around.is_comment:
        return []
    if around.string is not None:
        area = _content(model, around.string, position)
        return [] if around.before.strip() else list(_memory(model, call, area, quote=""))
    found = _DOTTED.search(around.before)
    if found is None or (not around.brackets and _IMPORT.match(around.before)):
        return []
    base, word = re.sub(r"\s", "", found[1]).removesuffix("."), found[2]
    area = _word(model, position, len(word))
    if base and _is_namespace(model, base, around.line):
        return list(_members(model, area, ""))
    if around.before[: found.start()].strip():
        return []
    items: list[CompletionItem] = []
    if call is not None and call.current is not None and _has_role(call, "policy"):
        if not base:
            items += _policies(model, area, around.line)
    if base or call is None:
        return items
    items += _memory(model, call, area, quote='"')
    if not any(bracket.keyword for bracket in around.brackets[-1:]):
        items += _options(call, area)
    return items


# -- policies ---------------------------------------------------------------------------------------------------------


def _is_namespace(model: FileModel, base: str, line: int) -> bool:
    values = values_of_name(model, base, scope_at(model, line))
    apis = [model.db.api(value.path) for value in values if isinstance(value, Symbol)]
    return any(api is not None and api.name == POLICIES for api in apis)


def _members(model: FileModel, area: Range, way: str) -> Iterator[CompletionItem]:
    """The members of the policy namespace; ``way``: what has to be written before them."""
    is_called = without_line_end(model.source.lines[area.end.line]).startswith("(", area.end.column)
    for name in sorted(model.db.policy_names()):
        api = model.db.api(f"{POLICIES}.{name}")
        if api is None:
            yield CompletionItem(name, area, way + name, CompletionKind.POLICY, filter_text=name)
            continue
        text, snippet = way + name, ""
        signature = api.signature(model.target.version)
        if api.kind is ApiKind.POLICY_FACTORY and signature is not None and not is_called:
            text, snippet = as_text(way + name, api, signature), as_snippet(way + name, api, signature)
        yield CompletionItem(
            name,
            area,
            text,
            CompletionKind.POLICY if api.kind is ApiKind.POLICY else CompletionKind.FUNCTION,
            f"{api.kind.value}, JAX {model.target.version}",
            _documentation(api),
            snippet=snippet,
            filter_text=name,
        )


def _policies(model: FileModel, area: Range, line: int) -> Iterator[CompletionItem]:
    """Everything that may be given as a policy: what has a name here, and the members of JAX's namespace."""
    scope = scope_at(model, line)
    for name, api in named_policies(model, scope):
        detail = api.name.rpartition(".")[2] if api is not None else "policy of yours"
        yield CompletionItem(name, area, name, CompletionKind.POLICY, detail, _documentation(api) if api else "")
    way = way_to_policies(model, scope)
    for item in _members(model, area, f"{way}.") if way else ():
        yield replace(item, rank=1)


def _documentation(api: Api) -> str:
    return f"{api.summary}\n\n```python\n{api.example}\n```" if api.example else api.summary


# -- arguments --------------------------------------------------------------------------------------------------------


def _options(call: OpenCall, area: Range) -> Iterator[CompletionItem]:
    """The keywords that are not given yet."""
    if call.api.kind not in COMPLETED:
        return
    for number, parameter in enumerate(call.parameters):
        if parameter.kind not in ("positional_or_keyword", "keyword_only") or parameter.name in call.given:
            continue
        if parameter.default != _GONE and not parameter.name.startswith("_"):
            yield CompletionItem(
                f"{parameter.name}=",
                area,
                f"{parameter.name}=",
                CompletionKind.PARAMETER,
                _default(parameter),
                call.api.arguments.get(parameter.name, ""),
                rank=2 + number,
            )


def _default(parameter: Parameter) -> str:
    return "required" if parameter.default is None else f"default {parameter.default}"


def _memory(model: FileModel, call: OpenCall | None, area: Range, quote: str) -> Iterator[CompletionItem]:
    """The kinds of memory that may stand at the argument at hand."""
    for role in ("offload_src", "offload_dst") if call is not None else ():
        if call is not None and _has_role(call, role):
            for number, (kind, said) in enumerate(memory_kinds(role, model.target.version)):
                text = f"{quote}{kind}{quote}"
                yield CompletionItem(text, area, text, CompletionKind.VALUE, said, rank=number)


def _has_role(call: OpenCall, role: str) -> bool:
    return call.current is not None and call.api.roles.get(role) == call.current.name


# -- what is replaced -------------------------------------------------------------------------------------------------


def _word(model: FileModel, position: Position, length: int) -> Range:
    """The word that the cursor is in, ``length`` characters behind its start."""
    end = _WORD.match(model.source.lines[position.line], position.column)
    assert end is not None  # it matches the empty string too
    return Range(Position(position.line, position.column - length), Position(position.line, end.end()))


def _content(model: FileModel, string: OpenString, position: Position) -> Range:
    """What stands between the quotes, up to where the string or its word ends."""
    line = without_line_end(model.source.lines[position.line])
    start = string.start if string.start.line == position.line else position
    end = _WORD.match(line, position.column)
    assert end is not None
    return Range(start, Position(position.line, end.end()))
