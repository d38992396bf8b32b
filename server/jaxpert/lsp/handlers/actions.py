"""Quick fixes, "ignore on this line", "fix all" and refactorings.

A client that fetches edits later sends back the data of the action that was chosen. It tells the action from any other
one: a finding by its rule, its place and the version of the text, a refactoring by what was selected, and which it is
among those of its title.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from jaxpert.lsp.client import ClientProfile
from jaxpert.lsp.convert import range_from, to_range
from jaxpert.lsp.protocol import ContentModified, Refusal
from jaxpert.lsp.reports import one_diagnostic
from jaxpert.lsp.session import Session
from jaxpert.lsp.workspace_edits import buffer_edits, to_workspace_edit
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.engine.analyze import Analysis
    from jaxpert.ide.actions import Action
    from jaxpert.lsp.documents import Document, Part
    from jaxpert.rulekit.rule import Finding
    from jaxpert.text.edits import Edit

_SHORT = 1_000
"""Lines of a document in which "fix everything" is worked out although nobody asks for it, if few findings are."""
_FEW = 20

_FIX, _IGNORE, _REFACTORING, _EVERYTHING = "fix", "ignore", "refactoring", "everything"
"""What the data of an action says that it is."""


def options(client: ClientProfile) -> types.CodeActionOptions:
    """What we offer ``client``."""
    kinds = [types.CodeActionKind.QuickFix, "source.fixAll.jaxpert", "refactor.rewrite", "refactor.extract"]
    return types.CodeActionOptions(code_action_kinds=kinds, resolve_provider=client.resolves_edits or None)


def code_action(session: Session, params: types.CodeActionParams) -> list[types.CodeAction] | None:
    """``textDocument/codeAction``."""
    if (found := session.place(params.text_document.uri)) is None:
        return None
    document, part, analysis = found
    area = _absolute(session, document, part, params.range)
    if area is None:
        return None
    only = [str(getattr(kind, "value", kind)) for kind in params.context.only] if params.context.only else None
    if only is None and params.context.trigger_kind == types.CodeActionTriggerKind.Automatic:
        only = [types.CodeActionKind.QuickFix.value]  # the cursor moved; nobody asked for more
    seen: Counter[tuple[str, str]] = Counter()
    given = []
    for action in _offered(session, document, analysis, area, only):
        number = seen[action.kind, action.title]
        seen[action.kind, action.title] += 1
        if (made := _code_action(session, document, part, params.range, action, number)) is not None:
            given.append(made)
    return given


def resolve(session: Session, action: types.CodeAction) -> types.CodeAction:
    """``codeAction/resolve``: the edit of an action that :func:`code_action` offered.

    Raises:
        ContentModified: what it was offered for is not there any more.
        Refusal: it would not keep what the program does.
    """
    from jaxpert.ide.refactoring import RefactoringRefused

    data = action.data if isinstance(action.data, dict) else {}
    found = session.documents.part(str(data.get("uri")))
    if "kind" not in data or found is None:
        return action
    document, part = found
    if data["kind"] != _EVERYTHING and data.get("version") != part.version:
        raise ContentModified("the text has changed since this was offered")
    try:
        edits = _edits(session, document, part, action, data)
    except RefactoringRefused as reason:
        raise Refusal(str(reason)) from reason
    if edits is None:
        raise ContentModified("what this was offered for is not there any more")
    action.edit = _workspace_edit(session, document, edits)
    return action


def _data(
    session: Session, part: Part, asked: types.Range, action: Action, number: int, at: tuple[Part, types.Range] | None
) -> dict[str, Any]:
    from jaxpert.ide.actions import FIX_ALL

    def data(kind: str, of: Part, **more: object) -> dict[str, Any]:
        return {"kind": kind, "uri": of.uri, "version": of.version, **more}

    unstructured = session.server.protocol.unstructured
    if action.finding is None or at is None:
        if action.kind == FIX_ALL:
            return data(_EVERYTHING, part)
        return data(_REFACTORING, part, range=unstructured(asked), number=number)
    if action.ignores:
        return data(_IGNORE, at[0], rule=action.finding.rule, line=at[1].start.line)
    return data(_FIX, at[0], rule=action.finding.rule, range=unstructured(at[1]))


def _edits(
    session: Session, document: Document, part: Part, action: types.CodeAction, data: dict[str, Any]
) -> Sequence[Edit] | None:
    """The edits that ``data`` stands for, in the text of ``document``; None when there are none any more."""
    from jaxpert.ide.actions import fixes_of, ignore_edit

    if data["kind"] == _IGNORE:
        line = document.absolute(part, Position(data["line"], 0))
        edit = ignore_edit(session.workspace.source(document.path), data["rule"], line.line) if line else None
        return None if edit is None else (edit,)
    analysis = session.analysis(document)
    if analysis is None:
        return None
    if data["kind"] == _EVERYTHING:
        everything = _fix_all(session, document, analysis)
        return () if everything is None else _edits_of(everything)
    area = session.server.protocol.structured(data["range"], types.Range)
    offered: Iterator[Action]
    if data["kind"] == _FIX:
        offered = (
            one
            for finding in analysis.findings
            if finding.rule == data["rule"] and _shown(session, document, finding) == (part, area)
            for one in fixes_of(analysis, finding)
        )
    else:
        place = _absolute(session, document, part, area)
        kind = str(getattr(action.kind, "value", action.kind))
        offered = _offered(session, document, analysis, place, [kind]) if place is not None else iter(())
    same = [one for one in offered if one.title == action.title]
    number = data.get("number", 0)
    return _edits_of(same[number]) if number < len(same) else None


def _offered(
    session: Session, document: Document, analysis: Analysis, area: Range, only: Sequence[str] | None
) -> Iterator[Action]:
    """What can be done about the findings at ``area`` and in the whole document, and to the code at ``area``, of the
    kinds ``only``.
    """
    from jaxpert.ide.actions import FIX_ALL, QUICK_FIX, quick_fixes, refactoring_actions, wanted

    if wanted(QUICK_FIX, only):
        yield from quick_fixes(analysis, area)
    yield from refactoring_actions(analysis, area, only)
    if wanted(FIX_ALL, only) and (only or session.client.resolves_edits or _is_little(analysis)):
        if action := _fix_all(session, document, analysis):
            yield action


def _is_little(analysis: Analysis) -> bool:
    from jaxpert.engine.fixing import fixable

    return len(analysis.model.source.lines) <= _SHORT and len(fixable(analysis)) <= _FEW


def _fix_all(session: Session, document: Document, analysis: Analysis) -> Action | None:
    """What fixes everything in ``document``, tried out on a text of its own."""
    from jaxpert.engine.analyze import analyze
    from jaxpert.ide.actions import fix_all
    from jaxpert.ide.refactoring import model_with

    snapshot = analysis.snapshot

    def analyse(text: str) -> Analysis:
        if text == snapshot.text:
            return analyze(snapshot) if session.is_changing(document) else analysis
        model = model_with(analysis.model, text)
        return analyze(replace(snapshot, source=model.source, model=model))

    return fix_all(analysis, analyse)


def _absolute(session: Session, document: Document, part: Part, area: types.Range) -> Range | None:
    start, end = range_from(part.text.lines, area, session.client.encoding)
    first, last = document.absolute(part, start), document.absolute(part, end)
    return Range(first, last) if first is not None and last is not None else None


def _code_action(
    session: Session, document: Document, part: Part, asked: types.Range, action: Action, number: int
) -> types.CodeAction | None:
    from jaxpert.ide.refactoring import RefactoringRefused

    deferred = session.client.resolves_edits
    try:
        edit = None if deferred else _workspace_edit(session, document, _edits_of(action))
    except RefactoringRefused:
        return None
    if edit is None and not deferred:
        return None
    at = _shown(session, document, action.finding) if action.finding is not None else None
    return types.CodeAction(
        title=action.title,
        kind=action.kind,
        diagnostics=[one_diagnostic(session, document, action.finding, at[1])] if action.finding and at else None,
        is_preferred=action.preferred or None,
        edit=edit,
        data=_data(session, part, asked, action, number, at) if deferred else None,
    )


def _shown(session: Session, document: Document, finding: Finding) -> tuple[Part, types.Range] | None:
    """Where the client sees a finding."""
    if (placed := document.locate(finding.range)) is None:
        return None
    part, area = placed
    return part, to_range(part.text.lines, area, session.client.encoding)


def _edits_of(action: Action) -> Sequence[Edit]:
    return action.edits if action.later is None else action.later()


def _workspace_edit(session: Session, document: Document, edits: Sequence[Edit]) -> types.WorkspaceEdit | None:
    """``edits`` in the texts that the client knows; None when there are none or they cannot be made there."""
    made = buffer_edits(document, edits, session.client.encoding)
    return to_workspace_edit(session.client, made) if made else None
