"""The protocol's rules where pygls leaves them open, without pygls' own copy of every document.

pygls keeps documents in a workspace of its own and edits them before any handler runs. Ours are kept once, by
:mod:`jaxpert.lsp.documents`, so its built-in handlers for documents are taken out. So is the one for cancelled
progress bars, which knows none of ours.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInternalError, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol, lsp_method

logger = logging.getLogger("jaxpert")
T = TypeVar("T")

_KEPT_BY_US = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS,
    types.WINDOW_WORK_DONE_PROGRESS_CANCEL,
)
_PARSE_ERROR = -32700
_NOT_INITIALIZED = -32002
_INVALID_REQUEST = -32600
_LARGEST_NUMBER = 2**31 - 1
_NEVER_CALLED_OFF = (types.INITIALIZE, types.SHUTDOWN)


class Refusal(JsonRpcException):
    """A request that we do not carry out, for a reason that the client shows to the user."""

    CODE = types.LSPErrorCodes.RequestFailed.value


class ContentModified(Refusal):
    """A request about a text that is another one by now; a client drops it, or says why nothing happens."""

    CODE = types.LSPErrorCodes.ContentModified.value


class Protocol(LanguageServerProtocol):
    """pygls' protocol, answering also what it would leave unanswered.

    Attributes:
        called_off: ids of requests that were cancelled before their turn came.
    """

    def __init__(self, server: Any, converter: Any) -> None:
        super().__init__(server, converter)
        for method in _KEPT_BY_US:
            self.fm.builtin_features.pop(method, None)
        self._initialized = False
        self.called_off: set[int | str] = set()

    @property
    def is_shut_down(self) -> bool:
        """Whether the client has asked for the end."""
        return bool(self._shutdown)

    def warm_up(self) -> None:
        """Let the converter generate its code for the messages of a keystroke now and not at the first one."""
        place = {"line": 0, "character": 0}
        area = {"start": place, "end": place}
        document = {"uri": "", "version": 1, "languageId": "python", "text": ""}
        for method, params in (
            (types.TEXT_DOCUMENT_DID_OPEN, {"textDocument": document}),
            (
                types.TEXT_DOCUMENT_DID_CHANGE,
                {"textDocument": document, "contentChanges": [{"range": area, "text": ""}]},
            ),
            (types.TEXT_DOCUMENT_DIAGNOSTIC, {"textDocument": document}),
            (types.TEXT_DOCUMENT_HOVER, {"textDocument": document, "position": place}),
            (types.TEXT_DOCUMENT_COMPLETION, {"textDocument": document, "position": place}),
            (types.TEXT_DOCUMENT_SIGNATURE_HELP, {"textDocument": document, "position": place}),
            (
                types.TEXT_DOCUMENT_CODE_ACTION,
                {"textDocument": document, "range": area, "context": {"diagnostics": []}},
            ),
        ):
            self.structure_message({"jsonrpc": self.VERSION, "id": "", "method": method, "params": params})
        start = types.Position(0, 0)
        diagnostic = types.Diagnostic(types.Range(start, start), "")
        for result in (
            types.PublishDiagnosticsNotification(types.PublishDiagnosticsParams("", [diagnostic])),
            types.RelatedFullDocumentDiagnosticReport([diagnostic]),
            types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "")),
            types.CompletionList(False, [types.CompletionItem("")]),
            types.SignatureHelp([types.SignatureInformation("", "", [types.ParameterInformation((0, 0))])]),
        ):
            self.unstructured(result)
        self._result_types.pop("", None)

    def structured(self, value: Any, kind: type[T]) -> T:
        """``value``, as it came in JSON, as a ``kind``.

        Raises:
            cattrs.BaseValidationError: it is none.
        """
        structured: T = self._converter.structure(value, kind)
        return structured

    def unstructured(self, value: object) -> Any:
        """``value`` as it is written in JSON."""
        return self._converter.unstructure(value)

    def receive(self, body: bytes) -> None:
        """Handle one message. Whatever is wrong with it costs one log line, and an error for a request."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError) as error:
            logger.error("message is not JSON: %s", error)
            self._refuse(None, _PARSE_ERROR, "not JSON")
            return
        if not isinstance(message, dict):
            self._refuse(None, _INVALID_REQUEST, "not an object")
            return
        request_id = message.get("id") if "method" in message else None
        if isinstance(request_id, (bool, float, list, dict)):
            self._refuse(None, _INVALID_REQUEST, "an id is a number or a string")
            return
        if not self._is_due(message, request_id) or self._is_called_off(message, request_id):
            return
        try:
            structured = self._structure(message)
        except Exception:  # cattrs and the conversions of numbers raise many things
            logger.error("invalid parameters of %s", message.get("method", "a response"))
            if request_id is not None:
                self._refuse(request_id, JsonRpcInvalidParams.CODE, f"invalid parameters of {message['method']}")
            return
        try:
            self.handle_message(structured)
        except Exception:
            logger.exception("cannot handle %r", message.get("method", "response"))
            if request_id is not None:
                self._refuse(request_id, JsonRpcInternalError.CODE, "internal error")

    def _structure(self, message: dict[str, Any]) -> Any:
        try:
            return self.structure_message(message)
        except Exception:
            # Some clients mean "to the end" by numbers beyond the protocol's; an edit must not be lost for that.
            corrected = _with_possible_positions(message)
            if message.get("method") == types.INITIALIZE and isinstance(message.get("params"), dict):
                corrected["params"]["capabilities"] = self._readable(message["params"].get("capabilities"))
            if corrected == message:
                raise
            return self.structure_message(corrected)

    def _readable(self, capabilities: Any) -> dict[str, Any]:
        """The abilities that can be read: a client's slip in one of them must not cost all."""
        readable: dict[str, dict[str, Any]] = {}
        for group, abilities in capabilities.items() if isinstance(capabilities, dict) else ():
            for name, ability in abilities.items() if isinstance(abilities, dict) else ():
                try:
                    self.structured({group: {name: ability}}, types.ClientCapabilities)
                    readable.setdefault(group, {})[name] = ability
                except Exception:
                    logger.warning("cannot read what the client says about %s.%s", group, name)
        return readable

    def _is_due(self, message: dict[str, Any], request_id: int | str | None) -> bool:
        """Whether the state of the session allows ``message`` (LSP, "Server lifecycle")."""
        message.setdefault("jsonrpc", self.VERSION)
        method = message.get("method")
        if method in (None, types.EXIT):
            return True
        if method == types.INITIALIZE and not self._initialized:
            self._initialized = True
            return True
        if self._initialized and not self._shutdown and method != types.INITIALIZE:
            return True
        if request_id is not None:
            early = not self._initialized
            self._refuse(request_id, _NOT_INITIALIZED if early else _INVALID_REQUEST, f"{method} is not due now")
        return False

    def _is_called_off(self, message: dict[str, Any], request_id: int | str | None) -> bool:
        """Whether ``message`` is a request that was cancelled while it waited; then it is answered."""
        if message.get("method") == types.CANCEL_REQUEST:
            params = message.get("params")
            number = params.get("id") if isinstance(params, dict) else None
            if isinstance(number, (int, str)):
                self.called_off.discard(number)
            return False
        if request_id is None or request_id not in self.called_off or message["method"] in _NEVER_CALLED_OFF:
            return False
        self._refuse(request_id, types.LSPErrorCodes.RequestCancelled.value, "cancelled")
        return True

    def _refuse(self, request_id: int | str | None, code: int, message: str) -> None:
        error = {"code": code, "message": message}
        self._send_data({"jsonrpc": self.VERSION, "id": request_id, "error": error})

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        """pygls' answer, without the list of commands, which is empty."""
        result = yield from super().lsp_initialize(params)
        result.capabilities.execute_command_provider = None
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]
        """End the process: code 0 after a shutdown request, else 1."""
        server: Any = self._server
        server.stop(0 if self._shutdown else 1)


def _with_possible_positions(value: Any) -> Any:
    """``value`` with the numbers of its positions brought into the protocol's range."""
    if isinstance(value, list):
        return [_with_possible_positions(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: int(min(max(each, 0), _LARGEST_NUMBER))
        if key in ("line", "character") and isinstance(each, (int, float)) and each == each  # which NaN is not
        else _with_possible_positions(each)
        for key, each in value.items()
    }
