"""The signature of the call that is being typed."""

from __future__ import annotations

from lsprotocol import types

from jaxpert.lsp.client import ClientProfile
from jaxpert.lsp.session import Session

OPTIONS = types.SignatureHelpOptions(trigger_characters=["(", ","], retrigger_characters=["=", ")"])


def signature_help(session: Session, params: types.SignatureHelpParams) -> types.SignatureHelp | None:
    """``textDocument/signatureHelp``."""
    from jaxpert.ide.signature_help import signature_help as find

    found = session.spot(params.text_document.uri, params.position)
    shown = find(found[2].model, found[3]) if found is not None else None
    if shown is None:
        return None
    parameters = [
        types.ParameterInformation(
            label=(it.start, it.end) if session.client.label_offsets else shown.label[it.start : it.end],
            documentation=_documentation(session.client, it.documentation),
        )
        for it in shown.parameters
    ]
    # Protocols before 3.17 cannot say "none of them" but by a number that is out of range.
    active = shown.active if shown.active is not None else len(parameters)
    signature = types.SignatureInformation(shown.label, _documentation(session.client, shown.documentation), parameters)
    return types.SignatureHelp([signature], active_signature=0, active_parameter=active)


def _documentation(client: ClientProfile, text: str) -> str | types.MarkupContent | None:
    from jaxpert.ide.blocks import plain

    if text and client.documents_signatures:
        return types.MarkupContent(types.MarkupKind.Markdown, text)
    return plain(text) or None
