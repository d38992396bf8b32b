"""Completion inside strings that are checkpoint names: those of the project, each with where it stands."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jaxpert.ide.completion_item import MOST, CompletionItem, CompletionKind
from jaxpert.ide.name_graph import Access, KnownName, known_names, name_at, places_in_words
from jaxpert.model.name_slots import name_slot
from jaxpert.syntax.logical_lines import PLAIN_BODY
from jaxpert.syntax.open_brackets import OpenString, surroundings
from jaxpert.text.lines import Position, Range, without_line_end

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MOST_PLACES = 8
_NAME = re.compile(r"[\w.\-/]*")


def name_completions(model: FileModel, position: Position) -> list[CompletionItem]:
    """The names that may stand at ``position``; none when that is in no string that is one. Long lists are cut.

    In a policy the names that are tagged come first, in a tag those that policies ask for and nothing has.
    """
    if not set(model.source.lines[position.line][: position.column]) & {'"', "'"}:
        return []
    around = surroundings(model.source, position)
    if around.string is None:
        return []
    slot = name_slot(model, around)
    role, given = (slot[0], frozenset(slot[1].strings)) if slot is not None else ("", frozenset[str]())
    if slot is None:
        here = name_at(model, position)
        if here is None or not (here.range.contains(position) and any(place.text for place in here.places)):
            return []
        role = here.role
    area = _replaced(model, around.string, position)
    names = known_names(model.project_names, model.path, position)
    fitting = [it for it in names if it.name not in given and _is_writable(it, around.string)]
    if len(fitting) > MOST:
        typed = model.source.lines[position.line][area.start.column : position.column].lower()
        fitting = [name for name in fitting if _fits(name.name, typed)]
    ranked = sorted(((_rank(name, role), name.name, name) for name in fitting), key=lambda it: it[:2])
    return [_item(name, area, rank) for rank, _, name in ranked[:MOST]]


def _fits(name: str, typed: str) -> bool:
    """Whether the characters typed stand in the name, in order."""
    rest = iter(name.lower())
    return all(character in rest for character in typed)


def _rank(name: KnownName, role: str) -> int:
    return int(name.is_tagged) if role == "tag" else int(not name.is_tagged)


def _replaced(model: FileModel, string: OpenString, position: Position) -> Range:
    """The content of the string, or what of it stands in the cursor's line; of one without an end, a word of it."""
    line = without_line_end(model.source.lines[position.line])
    start = string.start if string.start.line == position.line else Position(position.line, 0)
    body = PLAIN_BODY[string.quote].match(line, start.column)
    end = body.end() if body is not None else position.column
    if not line.startswith(string.quote, end):
        word = _NAME.match(line, position.column)
        end = word.end() if word is not None else position.column
    return Range(start, Position(position.line, max(end, position.column)))


def _is_writable(name: KnownName, string: OpenString) -> bool:
    return not ({"\\", "\n", "\r", string.quote[0]} & set(name.name))


def _item(name: KnownName, area: Range, rank: int) -> CompletionItem:
    tags, uses = name.spots(Access.TAG), name.spots(Access.USE)
    said = []
    if tags:
        said.append(f"tagged at {places_in_words(tags)}")
    if uses:
        said.append(f"used at {places_in_words(uses)}")
    lines = [f"- tag: {places_in_words([spot])}" for spot in tags[:_MOST_PLACES]]
    lines += [f"- policy: {places_in_words([spot])}" for spot in uses[:_MOST_PLACES]]
    return CompletionItem(
        name.name,
        area,
        name.name,
        CompletionKind.NAME,
        " · ".join(said),
        "\n".join(lines) if len(lines) > 1 else "",
        rank,
    )
