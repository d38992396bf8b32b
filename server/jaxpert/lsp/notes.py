"""Hints and lenses that are out of date because another file changed: a client asks again only when it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.lsp.documents import Document
    from jaxpert.lsp.session import Session
    from jaxpert.project.workspace import Snapshot

_WHOLE = Range(Position(0, 0), Position(1 << 30, 0))


class Notes:
    """What the client last read in the hints and lenses of each open document, to see when that is no longer so."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._read: dict[str, tuple[Snapshot, object]] = {}

    def asked(self, document: Document, snapshot: Snapshot) -> None:
        """The client asks for hints or lenses of a document, and reads those of ``snapshot``."""
        before = self._read.get(document.uri)
        if self._is_wanted and (before is None or before[0] is not snapshot):
            self._read[document.uri] = snapshot, _said(snapshot)

    def closed(self, uri: str) -> None:
        """The client closed a document."""
        self._read.pop(uri, None)

    @property
    def _is_wanted(self) -> bool:
        client = self._session.client
        return client.refreshes_hints or client.refreshes_lenses

    def refresh(self) -> None:
        """Ask the client to ask again for everything."""
        client, server = self._session.client, self._session.server
        if client.refreshes_hints:
            server.ask(types.WORKSPACE_INLAY_HINT_REFRESH, None)
        if client.refreshes_lenses:
            server.ask(types.WORKSPACE_CODE_LENS_REFRESH, None)

    def steps(self) -> Iterator[None]:
        """Look at the open documents, one with each step, until one says something else than the client has read."""
        for document in self._session.documents:
            before = self._read.get(document.uri)
            snapshot = self._session.snapshot(document) if before is not None else None
            if before is None or snapshot is None or snapshot is before[0]:
                continue
            said = _said(snapshot)
            if said != before[1]:
                self._read.clear()  # it asks for all of them again
                self.refresh()
                return
            self._read[document.uri] = snapshot, said
            yield


def _said(snapshot: Snapshot) -> object:
    from jaxpert.ide.code_lenses import code_lenses
    from jaxpert.ide.inlay_hints import HintKind, inlay_hints

    hints = inlay_hints(snapshot.model, _WHOLE, frozenset(HintKind))
    lenses = code_lenses(snapshot.model)
    return [(hint.position, hint.label) for hint in hints], [(lens.range, lens.title) for lens in lenses]
