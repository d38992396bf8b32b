"""What an editor lists of a file and of a project: rematerialized functions, policies and checkpoint names."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.ide.policy_words import short_form
from jaxpert.model.cursor import name_range
from jaxpert.model.decoded_policies import policy_of
from jaxpert.model.outline import OutlineEntry, outline
from jaxpert.model.rematerialized import alive
from jaxpert.model.values import Def
from jaxpert.records import dataclass
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

MOST = 100
"""How many symbols of a project are worth sending."""


@dataclass(slots=True)
class Symbol:
    """An entry of a file's outline, with a few words about it and what stands inside it."""

    entry: OutlineEntry
    detail: str
    children: list[Symbol] = field(default_factory=list)


def document_symbols(model: FileModel) -> list[Symbol]:
    """The symbols of a file, those inside others below them."""
    details = _details(model)
    tops: list[Symbol] = []
    around: list[Symbol] = []
    entries = [entry for entry in outline(model) if entry.path == model.path]
    for entry in sorted(entries, key=lambda it: (it.range.start, (-it.range.end.line, -it.range.end.column))):
        symbol = Symbol(entry, details.get(entry.selection) or entry.kind.value)
        while around and not (around[-1].entry.range.end >= entry.range.end):
            around.pop()
        (around[-1].children if around else tops).append(symbol)
        around.append(symbol)
    return tops


def matching(entries: Iterable[OutlineEntry], query: str) -> list[OutlineEntry]:
    """The entries whose names hold the characters of ``query`` in order, the closest first; all for an empty one."""
    wanted = query.lower()
    found = []
    for entry in entries:
        name = entry.name.lower()
        if (distance := _distance(name, wanted)) is not None:
            found.append(((distance, len(name), name, entry.path, entry.selection, entry.kind.value), entry))
    once = dict(sorted(found, key=lambda it: it[0])[: 2 * MOST])  # a policy is also listed by the files that use it
    return list(once.values())[:MOST]


def _distance(name: str, wanted: str) -> int | None:
    """How far ``name`` is from what is wanted: 0 for a beginning, then inside, then scattered; None for not at all."""
    if name.startswith(wanted):
        return 0
    if wanted in name:
        return 1
    at = 0
    for character in wanted:
        at = name.find(character, at) + 1
        if not at:
            return None
    return 2


def _details(model: FileModel) -> dict[Range, str]:
    """What the policies of rematerialized functions keep, by where the functions' names stand."""
    found: dict[Range, dict[str, None]] = {}
    for checkpoint in alive(model):
        target, form = checkpoint.target, short_form(policy_of(model, checkpoint))
        if form and isinstance(target, Def) and not isinstance(target.function.node, ast.Lambda):
            area = name_range(target.model or model, target.function.node)
            if area is not None and (target.model or model) is model:
                found.setdefault(area, {})[form] = None
    return {area: f"rematerialized · {' | '.join(forms)}" for area, forms in found.items()}
