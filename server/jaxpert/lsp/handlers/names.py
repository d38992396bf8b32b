"""Where checkpoint names are tagged and used: definitions, references, highlights, and new names for them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.client import ClientProfile
from jaxpert.lsp.convert import to_range, to_text_edits, uri_from_path
from jaxpert.lsp.locations import location
from jaxpert.lsp.protocol import Refusal
from jaxpert.lsp.session import Session
from jaxpert.lsp.workspace_edits import FileEdits, buffer_edits, to_workspace_edit
from jaxpert.text.edits import Edit

if TYPE_CHECKING:
    from jaxpert.ide.name_graph import NameHere
    from jaxpert.lsp.documents import Document, Part
    from jaxpert.model.names import Spot
    from jaxpert.project.workspace import Snapshot


def rename_options(client: ClientProfile) -> types.RenameOptions:
    """What we offer ``client``."""
    return types.RenameOptions(prepare_provider=client.prepares_renames or None)


def definition(
    session: Session, params: types.DefinitionParams
) -> list[types.Location] | list[types.LocationLink] | None:
    """``textDocument/definition``: from a name in a policy to its tags."""
    from jaxpert.ide.name_graph import definitions

    found = _name(session, params.text_document, params.position)
    if found is None:
        return None
    document, part, snapshot, here = found
    locations = _locations(session, document, snapshot, definitions(snapshot.model, here))
    if not locations or not session.client.links:
        return locations or None
    placed = document.locate(here.range)
    origin = to_range(part.text.lines, placed[1], session.client.encoding) if placed is not None else None
    return [types.LocationLink(it.uri, it.range, it.range, origin) for it in locations]


def references(session: Session, params: types.ReferenceParams) -> list[types.Location] | None:
    """``textDocument/references``. Tags count as declarations."""
    from jaxpert.ide.name_graph import references as find

    found = _name(session, params.text_document, params.position)
    if found is None:
        return None
    document, _, snapshot, here = found
    spots = find(snapshot.model, here, params.context.include_declaration)
    return _locations(session, document, snapshot, spots)


def document_highlight(
    session: Session, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight] | None:
    """``textDocument/documentHighlight``: tags are writes, names in policies are reads."""
    from jaxpert.ide.name_graph import Access, highlights

    found = _name(session, params.text_document, params.position)
    if found is None:
        return None
    document, part, snapshot, here = found
    given = []
    for area, access in highlights(snapshot.model, here):
        placed = document.locate(area)
        if placed is not None and placed[0] is part:
            kind = types.DocumentHighlightKind.Write if access is Access.TAG else types.DocumentHighlightKind.Read
            given.append(
                types.DocumentHighlight(to_range(part.text.lines, placed[1], session.client.encoding), kind)
            )
    return given


def prepare_rename(session: Session, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
    """``textDocument/prepareRename``.

    Raises:
        Refusal: the name cannot be renamed.
    """
    from jaxpert.ide import rename as renames

    found = session.spot(params.text_document.uri, params.position)
    if found is None:
        return None
    document, part, snapshot, position = found
    try:
        prepared = renames.prepare_rename(session.workspace, snapshot.model, position)
    except renames.RenameRefused as reason:
        session.indexing.resume()
        raise Refusal(str(reason)) from reason
    placed = document.locate(prepared[0]) if prepared is not None else None
    if prepared is None or placed is None:
        return None
    area = to_range(part.text.lines, placed[1], session.client.encoding)
    return types.PrepareRenamePlaceholder(area, prepared[1])


def rename(session: Session, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """``textDocument/rename``.

    Raises:
        Refusal: the name cannot be renamed, or not to that.
    """
    from jaxpert.ide import rename as renames

    found = session.spot(params.text_document.uri, params.position)
    if found is None:
        return None
    document, _, snapshot, position = found
    try:
        edits = renames.rename(session.workspace, snapshot.model, position, params.new_name)
    except renames.RenameRefused as reason:
        session.indexing.resume()
        raise Refusal(str(reason)) from reason
    if edits is None:
        return None
    made: list[FileEdits] = []
    for path, own in edits.items():
        target = document if path == snapshot.model.path else session.documents.by_path(Path(path))
        if target is None:
            made += _on_disk(session, path, own)
            continue
        placed = buffer_edits(target, own, session.client.encoding)
        if placed is None:
            raise Refusal(f"the name stands in a line of {target.path.name} that is not Python")
        made += placed
    return to_workspace_edit(session.client, made)


def _on_disk(session: Session, path: str, edits: Iterable[Edit]) -> Iterable[FileEdits]:
    text = session.disk.get(path)
    moved = []
    for edit in edits:
        area = text.locate(edit.range)
        if area is None:
            raise Refusal(f"{Path(path).name} has just changed on disk; try again")
        moved.append(Edit(area, edit.new_text))
    return [FileEdits(uri_from_path(path), None, to_text_edits(text.lines, moved, session.client.encoding))]


def _name(
    session: Session, identifier: types.TextDocumentIdentifier, position: types.Position
) -> tuple[Document, Part, Snapshot, NameHere] | None:
    from jaxpert.ide.name_graph import name_at

    found = session.spot(identifier.uri, position)
    here = name_at(found[2].model, found[3]) if found is not None else None
    return None if found is None or here is None else (*found[:3], here)


def _locations(
    session: Session, document: Document, snapshot: Snapshot, spots: Iterable[Spot]
) -> list[types.Location]:
    given = []
    for spot in spots:
        path = "" if spot.path == snapshot.model.path else spot.path
        if (place := location(session, document, path, spot.range, spot.written)) is not None:
            given.append(place)
    return given
