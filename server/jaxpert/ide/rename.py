"""Renaming a checkpoint name wherever the project tags a value with it or asks for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from jaxpert.ide.name_graph import NameHere, name_at, spots_of
from jaxpert.model.names import NamePlace, Spot
from jaxpert.syntax.string_literals import inside, literals_of, spells
from jaxpert.text.edits import Edit
from jaxpert.text.gaps import ANY, fits
from jaxpert.text.lines import Position, Range, end_of, slice_lines

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel
    from jaxpert.project.workspace import Workspace

_LONGEST_SHOWN = 60


class RenameRefused(Exception):
    """The name cannot be renamed safely; the text says why, for the user."""


def prepare_rename(workspace: Workspace, model: FileModel, position: Position) -> tuple[Range, str] | None:
    """The name at ``position`` and where it stands; None when there is none.

    Raises:
        RenameRefused: it cannot be renamed, whatever the new name.
    """
    here = name_at(model, position)
    if here is None:
        return None
    old = _name_of(here)
    _spots_to_edit(workspace, model, old)
    return here.range, old


def rename(workspace: Workspace, model: FileModel, position: Position, new: str) -> dict[str, list[Edit]] | None:
    """The edits, by file, that rename the name at ``position``; None when there is none.

    Raises:
        RenameRefused: it cannot be renamed, or not to ``new``.
    """
    here = name_at(model, position)
    if here is None:
        return None
    old = _name_of(here)
    if new == old:
        return {}
    _check_new_name(new)
    spots = _spots_to_edit(workspace, model, old)
    tags = {name: [it for it in model.project_names.named([name]) if it.role == "tag"] for name in (old, new)}
    if tags[old] and tags[new]:
        raise RenameRefused(f'another value is named "{new}" already, at {_where(tags[new][0])}')
    edits: dict[str, list[Edit]] = {}
    for spot in spots:
        literals = literals_of(spot.written)
        if any("f" in literal.prefix for literal in literals) and set(new) & set("{}"):
            raise RenameRefused(f"{_place(spot)} is an f-string, where braces mean something else")
        if len(literals) == 1:
            edit = Edit(inside(spot.range, spot.written), new)
        else:
            edit = Edit(spot.range, f"{literals[0].quote}{new}{literals[0].quote}")
        edits.setdefault(spot.path, []).append(edit)
    return edits


def _name_of(here: NameHere) -> str:
    unknown = next((place for place in here.places if not place.text), None)
    if unknown is not None:
        raise RenameRefused(
            f"`{_shortened(unknown)}` is computed when the program runs: there is no one place to change"
        )
    return here.names[0]


def _check_new_name(new: str) -> None:
    if not new.strip():
        raise RenameRefused("a checkpoint name cannot be empty")
    if set(new) & set("'\"\\"):
        raise RenameRefused("write the new name without quotes and backslashes")
    if not new.isprintable() or new != new.strip():
        raise RenameRefused("a checkpoint name cannot begin or end with a blank, or hold line ends and other controls")


def _spots_to_edit(workspace: Workspace, model: FileModel, old: str) -> list[Spot]:
    """Every literal that spells ``old``.

    Raises:
        RenameRefused: one cannot be edited, or there may be others.
    """
    if reason := workspace.why_names_are_missing(model.path):
        raise RenameRefused(reason)
    index = model.project_names
    spots: dict[tuple[str, Range], Spot] = {}
    doubtful = [path for path, facts in index.files.items() if not facts.is_whole]
    for place in index.named([old]):
        spot = _editable(workspace, place, old)
        spots[spot.path, spot.range] = spot
    for place in index.computed():
        if place.parts == ANY:
            doubtful = list(workspace.project_files(model.path))
        elif fits(old, place.parts):
            raise RenameRefused(f'`{_shortened(place)}` at {_where(place)} may give "{old}" as well')
    for stray in _strays(workspace, doubtful, old, spots):
        raise RenameRefused(
            f'"{old}" also stands at {_place(stray)}, where it is not certain whether it is the checkpoint name'
        )
    return list(spots.values())


def _editable(workspace: Workspace, place: NamePlace, old: str) -> Spot:
    if place.range is None:
        raise RenameRefused(f"a place in {PurePath(place.path).name} was edited and does not parse at the moment")
    spot = Spot(place.path, place.range, place.written)
    if not spells(place.written, old):
        raise RenameRefused(f'"{old}" is put together at {_place(spot)}: `{_shortened(place)}`')
    if not workspace.may_edit(place.path):
        raise RenameRefused(f"{place.path} lies outside the workspace")
    lines = workspace.lines_of(place.path)
    if lines is None or spot.range.end > end_of(lines) or slice_lines(lines, spot.range) != spot.written:
        raise RenameRefused(f"{PurePath(place.path).name} has just changed on disk; try again")
    return spot


def _strays(
    workspace: Workspace, paths: list[str], old: str, spots: dict[tuple[str, Range], Spot]
) -> Iterator[Spot]:
    """Literals that spell ``old`` in some files, besides the known places."""
    literal = re.compile(rf"(?<!\w)[rRuUfF]?(?P<quote>['\"]){re.escape(old)}(?P=quote)")
    for path in paths:
        lines = workspace.lines_of(path, containing=old)
        for number, line in enumerate(lines or ()):
            for found in literal.finditer(line) if old in line and not line.lstrip().startswith("#") else ():
                area = Range(Position(number, found.start()), Position(number, found.end()))
                if not any(at == path and known.overlaps(area) for at, known in spots):
                    yield Spot(path, area, found[0])


def _shortened(place: NamePlace) -> str:
    written = place.argument.written if place.argument is not None and not place.written else place.written
    text = " ".join(written.split()) or "…".join(place.parts) or place.text
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"


def _where(place: NamePlace) -> str:
    spot = next(spots_of(place), None)
    return _place(spot) if spot is not None else PurePath(place.path).name


def _place(spot: Spot) -> str:
    return f"{PurePath(spot.path).name}:{spot.range.start.line + 1}"
