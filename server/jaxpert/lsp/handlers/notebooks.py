"""Notebooks that the client opens, edits and closes; all Python cells are analysed as one module."""

from __future__ import annotations

from lsprotocol import types

from jaxpert.lsp.session import Session


def did_open(session: Session, params: types.DidOpenNotebookDocumentParams) -> None:
    """``notebookDocument/didOpen``."""
    session.opened(session.documents.open_notebook(params))


def did_change(session: Session, params: types.DidChangeNotebookDocumentParams) -> None:
    """``notebookDocument/didChange``. What was said about cells that are gone, or no longer Python, is taken back."""
    if changed := session.documents.change_notebook(params):
        document, gone = changed
        session.forget_parts(document, gone)
        session.changed(document)


def did_close(session: Session, params: types.DidCloseNotebookDocumentParams) -> None:
    """``notebookDocument/didClose``."""
    if document := session.documents.close(params.notebook_document.uri):
        session.closed(document)
