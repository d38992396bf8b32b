"""What there is in a document and in the client's projects: rematerialized functions, policies, checkpoint names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.convert import to_range
from jaxpert.lsp.locations import location
from jaxpert.lsp.session import Session

if TYPE_CHECKING:
    from jaxpert.ide.symbols import Symbol
    from jaxpert.lsp.documents import Document, Part
    from jaxpert.model.outline import OutlineEntry

_KINDS = {
    "rematerialized function": types.SymbolKind.Function,
    "rematerialized class": types.SymbolKind.Class,
    "policy function": types.SymbolKind.Function,
    "policy": types.SymbolKind.Constant,
    "checkpoint name": types.SymbolKind.Key,
}


def document_symbol(
    session: Session, params: types.DocumentSymbolParams
) -> list[types.DocumentSymbol] | list[types.SymbolInformation] | None:
    """``textDocument/documentSymbol``: nested where the client shows that, else one list."""
    from jaxpert.ide.symbols import document_symbols

    if (found := session.glance(params.text_document.uri)) is None:
        return None
    document, part, snapshot = found
    symbols = document_symbols(snapshot.model)
    if session.client.nested_symbols:
        return list(_nested(session, document, part, symbols))
    return list(_flat(session, document, part, symbols, ""))


def workspace_symbol(session: Session, params: types.WorkspaceSymbolParams) -> list[types.SymbolInformation] | None:
    """``workspace/symbol``."""
    from jaxpert.ide.symbols import matching

    given = []
    for entry in matching(session.workspace.outlines(), params.query):
        place = location(session, None, entry.path, entry.selection, is_ascii=entry.is_ascii)
        if place is not None:
            given.append(types.SymbolInformation(place, entry.name, _kind(entry), container_name=_container(entry)))
    return given


def _nested(
    session: Session, document: Document, part: Part, symbols: list[Symbol]
) -> Iterator[types.DocumentSymbol]:
    for symbol in symbols:
        entry = symbol.entry
        whole, selection = document.locate(entry.range), document.locate(entry.selection)
        if whole is None or selection is None or whole[0] is not part or selection[0] is not part:
            continue
        yield types.DocumentSymbol(
            name=entry.name,
            kind=_kind(entry),
            range=to_range(part.text.lines, whole[1], session.client.encoding),
            selection_range=to_range(part.text.lines, selection[1], session.client.encoding),
            detail=symbol.detail,
            children=list(_nested(session, document, part, symbol.children)),
        )


def _flat(
    session: Session, document: Document, part: Part, symbols: list[Symbol], container: str
) -> Iterator[types.SymbolInformation]:
    for symbol in symbols:
        placed = document.locate(symbol.entry.range)
        if placed is not None and placed[0] is part:
            place = types.Location(part.uri, to_range(part.text.lines, placed[1], session.client.encoding))
            around = symbol.entry.container or container or None
            yield types.SymbolInformation(place, symbol.entry.name, _kind(symbol.entry), container_name=around)
        yield from _flat(session, document, part, symbol.children, symbol.entry.name)


def _kind(entry: OutlineEntry) -> types.SymbolKind:
    return _KINDS[entry.kind.value]


def _container(entry: OutlineEntry) -> str:
    return entry.container or entry.kind.value
