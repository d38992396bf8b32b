"""The language server: which method is handled where, and how handlers' failures end."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from jaxpert import __version__
from jaxpert.lsp.handlers import (
    actions,
    code_lenses,
    completion,
    configuration,
    diagnostics,
    hover,
    inlay_hints,
    lifecycle,
    names,
    notebooks,
    pages,
    progress,
    signature_help,
    status,
    symbols,
    sync,
)
from jaxpert.lsp.protocol import Protocol, Refusal
from jaxpert.lsp.session import Session

if TYPE_CHECKING:
    from jaxpert.ide.installed_docs import InstalledDocs

logger = logging.getLogger("jaxpert")
P = TypeVar("P")
R = TypeVar("R")

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithNotebook("jupyter-notebook", [types.NotebookCellLanguage("python")])]
)
_LEVELS = {
    logging.DEBUG: types.MessageType.Debug,
    logging.INFO: types.MessageType.Info,
    logging.WARNING: types.MessageType.Warning,
    logging.ERROR: types.MessageType.Error,
}


class JaxpertServer(LanguageServer):
    """pygls' server with our handlers, for one client.

    Attributes:
        session: everything about the client; None before ``initialize``.
    """

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__(
            "jaxpert",
            __version__,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
            notebook_document_sync=_NOTEBOOKS,
            protocol_cls=Protocol,
            max_workers=1,
        )
        self.session: Session | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._finish: Callable[[int], None] = lambda code: None
        self._register()

    @cached_property
    def docs(self) -> InstalledDocs:
        """Docstrings of the JAX that is installed for the user's code."""
        from jaxpert.ide.installed_docs import InstalledDocs

        return InstalledDocs()

    def _register(self) -> None:
        self.feature(types.INITIALIZE)(lambda params: self._initialize(params))
        self.handle(types.INITIALIZED, lifecycle.initialized)
        self.handle(types.SHUTDOWN, lifecycle.shutdown)
        self.handle(types.TEXT_DOCUMENT_DID_OPEN, sync.did_open)
        self.handle(types.TEXT_DOCUMENT_DID_CHANGE, sync.did_change)
        self.handle(types.TEXT_DOCUMENT_DID_CLOSE, sync.did_close)
        self.handle(types.NOTEBOOK_DOCUMENT_DID_OPEN, notebooks.did_open)
        self.handle(types.NOTEBOOK_DOCUMENT_DID_CHANGE, notebooks.did_change)
        self.handle(types.NOTEBOOK_DOCUMENT_DID_CLOSE, notebooks.did_close)
        self.handle_later(types.TEXT_DOCUMENT_HOVER, hover.hover)
        self.handle(types.TEXT_DOCUMENT_COMPLETION, completion.completion, completion.OPTIONS)
        self.handle(types.TEXT_DOCUMENT_SIGNATURE_HELP, signature_help.signature_help, signature_help.OPTIONS)
        self.handle(types.TEXT_DOCUMENT_DEFINITION, names.definition)
        self.handle(types.TEXT_DOCUMENT_REFERENCES, names.references)
        self.handle(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, names.document_highlight)
        self.handle(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, symbols.document_symbol)
        self.handle(types.WORKSPACE_SYMBOL, symbols.workspace_symbol)
        self.handle(types.TEXT_DOCUMENT_INLAY_HINT, inlay_hints.inlay_hint, inlay_hints.OPTIONS)
        self.handle(types.TEXT_DOCUMENT_CODE_LENS, code_lenses.code_lens, code_lenses.OPTIONS)
        self.handle(types.WINDOW_WORK_DONE_PROGRESS_CANCEL, progress.cancel)
        self.handle(status.STATUS, status.status)
        self.handle(pages.RULES, pages.rules)
        self.handle(pages.RULE_PAGE, pages.rule_page)
        self.handle(pages.POLICY_PAGE, pages.policy_page)
        self.handle(types.WORKSPACE_DID_CHANGE_CONFIGURATION, configuration.did_change_configuration)
        self.handle(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, configuration.did_change_watched_files)
        self.handle(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, configuration.did_change_workspace_folders)

    def _initialize(self, params: types.InitializeParams) -> None:
        assert self._loop is not None
        session = self.session = lifecycle.initialize(self, params, self._loop)
        logger.addHandler(ClientLog(self))
        logger.propagate = False
        self.handle(types.TEXT_DOCUMENT_RENAME, names.rename, names.rename_options(session.client))
        if session.client.prepares_renames:
            self.handle(types.TEXT_DOCUMENT_PREPARE_RENAME, names.prepare_rename)
        self.handle(types.TEXT_DOCUMENT_CODE_ACTION, actions.code_action, actions.options(session.client))
        if session.client.resolves_edits:
            self.handle(types.CODE_ACTION_RESOLVE, actions.resolve, otherwise=lambda action: action)
        if session.client.pulls:
            self.handle(
                types.TEXT_DOCUMENT_DIAGNOSTIC,
                diagnostics.document_diagnostic,
                diagnostics.OPTIONS,
                diagnostics.nothing_new,
            )

    def handle(
        self,
        method: str,
        handler: Callable[[Session, Any], R],
        options: object = None,
        otherwise: Callable[[Any], R] | None = None,
    ) -> None:
        """Let ``handler`` answer ``method``. When it fails, that is one log line and an empty answer.

        Args:
            options: what the client is told about our support of ``method``.
            otherwise: gives the empty answer where null is not allowed.
        """

        def guarded(params: Any = None) -> R | None:
            try:
                return handler(self.session, params) if self.session else None
            except Refusal:
                raise
            except Exception as error:
                self.failed(method, error)
                return otherwise(params) if otherwise else None

        self.feature(method, options)(guarded)

    def handle_later(self, method: str, handler: Callable[[Session, Any], Coroutine[Any, Any, R]]) -> None:
        """As :meth:`handle`, for a handler that waits for something while other messages are handled."""

        async def guarded(params: Any = None) -> R | None:
            try:
                return await handler(self.session, params) if self.session else None
            except Exception as error:
                self.failed(method, error)
                return None

        self.feature(method)(guarded)

    def failed(self, what: str, error: Exception) -> None:
        """Log that ``what`` failed, in one line."""
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        where = f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
        logger.error("%s failed: %s: %s%s", what, type(error).__name__, error, where)

    def report_server_error(self, error: Exception, source: object) -> None:
        """pygls met an error outside our handlers: the log is enough, no message box."""
        if not isinstance(error, Refusal):
            logger.error("%s: %s", getattr(source, "__name__", source), error)

    # -- sending ----------------------------------------------------------------------------------------------

    def publish(self, params: types.PublishDiagnosticsParams) -> None:
        """Push diagnostics."""
        self.text_document_publish_diagnostics(params)

    def status_changed(self) -> None:
        """Tell a client that shows our status to ask for it."""
        if self.session is not None and self.session.client.shows_status:
            self.protocol.notify(status.CHANGED, {})

    def show_warning(self, message: str) -> None:
        """Show ``message`` where the user sees it."""
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, message))

    def ask(self, method: str, params: Any, answered: Callable[[Any], None] | None = None) -> None:
        """Send a request; ``answered`` gets the result unless the client refuses."""

        def done(future: Any) -> None:
            if future.cancelled():
                return
            if (refusal := future.exception()) is not None:
                logger.info("the client refuses %s: %s", method, refusal)
            elif answered is not None:
                try:
                    answered(future.result())
                except Exception as error:
                    self.failed(f"the answer to {method}", error)

        self.protocol.send_request(method, params).add_done_callback(done)

    # -- life -------------------------------------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop, finish: Callable[[int], None]) -> None:
        """The event loop runs; ``finish`` ends it with an exit code."""
        self._loop = loop
        self._finish = finish
        gc.freeze()  # what was imported stays; looking for garbage in it would only delay the start

    def stop(self, code: int) -> None:
        """End the process with ``code``."""
        self._finish(code)

    def lost(self) -> None:
        """The client is gone without a word."""
        self.stop(0 if self.protocol.is_shut_down else 1)

    def end(self) -> None:
        """The event loop is about to end."""
        if self.session is not None:
            self.session.end()
        if "docs" in self.__dict__:
            self.docs.close()
        self.shutdown()  # type: ignore[no-untyped-call]


class ClientLog(logging.Handler):
    """Sends log records to the client."""

    def __init__(self, server: JaxpertServer) -> None:
        super().__init__(logging.INFO)
        self._server = server

    def emit(self, record: logging.LogRecord) -> None:
        """Send ``record``."""
        kind = _LEVELS.get(record.levelno, types.MessageType.Log)
        self._server.window_log_message(types.LogMessageParams(kind, record.getMessage()))
