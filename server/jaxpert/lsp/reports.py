"""The findings of an analysis as the diagnostics of each part of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.convert import SOURCE, to_diagnostic, to_range
from jaxpert.lsp.documents import LARGEST
from jaxpert.lsp.locations import location
from jaxpert.rulekit.rule import Finding, Related
from jaxpert.rulekit.urls import rule_url

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis
    from jaxpert.lsp.documents import Document
    from jaxpert.lsp.session import Session

_SYNTAX_ERROR = "syntax-error"


def diagnostics_of(session: Session, document: Document, analysis: Analysis) -> dict[str, list[types.Diagnostic]]:
    """The diagnostics of each part of ``document``, by its URI; parts without any have an empty list."""
    found: dict[str, list[types.Diagnostic]] = {part.uri: [] for part in document.parts}
    for finding in analysis.findings:
        if finding.rule == _SYNTAX_ERROR and not finding.datum("total"):
            continue  # editors have Python's own syntax errors from elsewhere
        if placed := document.locate(finding.range):
            part, area = placed
            found[part.uri].append(
                one_diagnostic(session, document, finding, to_range(part.text.lines, area, session.client.encoding))
            )
    return found


def one_diagnostic(session: Session, document: Document, finding: Finding, area: types.Range) -> types.Diagnostic:
    """The diagnostic for ``finding``, which lies at ``area`` of its part."""
    from jaxpert.rules import rule_named

    client = session.client
    rule = rule_named(finding.rule)
    return to_diagnostic(
        finding,
        area,
        url=rule_url(finding.rule) if client.code_links else None,
        code=rule.code if rule else "",
        related=[place for it in finding.related if (place := _related(session, document, it))]
        if client.related
        else None,
        tags=client.tags,
        data=client.data,
    )


def _related(session: Session, document: Document, related: Related) -> types.DiagnosticRelatedInformation | None:
    place = location(session, document, related.path, related.range)
    return types.DiagnosticRelatedInformation(place, related.message) if place is not None else None


def too_large_diagnostic() -> types.Diagnostic:
    """Says that a document is not looked at."""
    start = types.Position(0, 0)
    return types.Diagnostic(
        range=types.Range(start, start),
        severity=types.DiagnosticSeverity.Information,
        source=SOURCE,
        message=f"not analysed: longer than {LARGEST:,} characters",
    )
