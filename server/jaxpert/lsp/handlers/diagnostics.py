"""Diagnostics for clients that ask for them."""

from __future__ import annotations

from lsprotocol import types

from jaxpert.lsp.session import Session

OPTIONS = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier="jaxpert")


DocumentReport = types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport


def document_diagnostic(session: Session, params: types.DocumentDiagnosticParams) -> DocumentReport:
    """``textDocument/diagnostic``. Notebook cells have an empty answer: theirs are pushed."""
    document = session.documents.get(params.text_document.uri)
    if document is None or session.pushes(document):
        return types.RelatedFullDocumentDiagnosticReport([])
    report = session.reports(document)[document.uri]
    report.told = True
    if report.result_id == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(report.result_id)
    return types.RelatedFullDocumentDiagnosticReport(report.diagnostics, result_id=report.result_id)


def nothing_new(params: types.DocumentDiagnosticParams) -> DocumentReport:
    """The answer when there is none: what the client has stays, if it has anything."""
    if params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(params.previous_result_id)
    return types.RelatedFullDocumentDiagnosticReport([])
