"""Edits of several files in the form that the client takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.client import ClientProfile
from jaxpert.lsp.convert import to_text_edits
from jaxpert.records import dataclass
from jaxpert.text.columns import Encoding
from jaxpert.text.edits import Edit

if TYPE_CHECKING:
    from jaxpert.lsp.documents import Document


@dataclass(frozen=True, slots=True)
class FileEdits:
    """Edits of one text; ``version`` is None for a file that is not open."""

    uri: str
    version: int | None
    edits: list[types.TextEdit]


def buffer_edits(document: Document, edits: Iterable[Edit], encoding: Encoding) -> list[FileEdits] | None:
    """Edits of the text of ``document`` that is analysed, in the texts that the client knows; None when they cannot be
    made there.
    """
    placed = document.part_edits(edits)
    if placed is None:
        return None
    return [
        FileEdits(part.uri, part.version, to_text_edits(part.text.lines, [edit], encoding)) for part, edit in placed
    ]


def to_workspace_edit(client: ClientProfile, made: Iterable[FileEdits]) -> types.WorkspaceEdit:
    """The edits, for the versions that they were made for where the client takes those."""
    merged: dict[str, FileEdits] = {}
    for one in made:
        merged.setdefault(one.uri, FileEdits(one.uri, one.version, [])).edits.extend(one.edits)
    if not client.versioned_edits:
        return types.WorkspaceEdit(changes={uri: one.edits for uri, one in merged.items()})
    return types.WorkspaceEdit(
        document_changes=[
            types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(one.uri, one.version), one.edits)
            for one in merged.values()
        ]
    )
