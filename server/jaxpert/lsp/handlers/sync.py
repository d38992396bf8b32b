"""Files that the client opens, edits and closes."""

from __future__ import annotations

from lsprotocol import types

from jaxpert.lsp.session import Session


def did_open(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    """``textDocument/didOpen``."""
    if document := session.documents.open_file(params.text_document):
        session.opened(document)


def did_change(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    """``textDocument/didChange``."""
    identifier = params.text_document
    if document := session.documents.change_file(identifier.uri, identifier.version, params.content_changes):
        session.changed(document)


def did_close(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    """``textDocument/didClose``."""
    if document := session.documents.close(params.text_document.uri):
        session.closed(document)
