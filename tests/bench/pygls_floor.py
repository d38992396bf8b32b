"""The least a pygls server can do: it answers every change with no diagnostics and every hover with a word."""

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("floor", "0", text_document_sync_kind=types.TextDocumentSyncKind.Incremental)


def _publish(uri: str, version: int) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, version=version, diagnostics=[]))


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def opened(params: types.DidOpenTextDocumentParams) -> None:
    """Nothing is wrong."""
    _publish(params.text_document.uri, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def changed(params: types.DidChangeTextDocumentParams) -> None:
    """Nothing is wrong."""
    _publish(params.text_document.uri, params.text_document.version)


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(params: types.HoverParams) -> types.Hover:
    """A word."""
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "word"))


if __name__ == "__main__":
    server.start_io()
