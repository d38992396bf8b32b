"""Quick fixes, "ignore on this line", "fix all" and refactorings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.client import ClientProfile
from jaxpert.lsp.convert import range_from, to_range
from jaxpert.lsp.protocol import Refusal
from jaxpert.lsp.reports import one_diagnostic
from jaxpert.lsp.session import Session
from jaxpert.lsp.workspace_edits import buffer_edits, to_workspace_edit
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.ide.actions import Action
    from jaxpert.lsp.documents import Document, Part


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
    given = [
        _code_action(session, document, part, params.range, action)
        for action in session.actions(document, analysis, area, only)
    ]
    return [action for action in given if action is not None]


def resolve(session: Session, action: types.CodeAction) -> types.CodeAction:
    """``codeAction/resolve``: the edit of an action that :func:`code_action` offered, for the text as it is now.

    Raises:
        Refusal: it would not keep what the program does.
    """
    from jaxpert.ide.refactoring import RefactoringRefused

    data = action.data if isinstance(action.data, dict) else {}
    if "range" not in data or (found := session.place(str(data.get("uri")))) is None:
        return action
    document, part, analysis = found
    area = _absolute(session, document, part, session.server.protocol.structured(data["range"], types.Range))
    if area is None:
        return action
    kind = str(getattr(action.kind, "value", action.kind))
    for offered in session.actions(document, analysis, area, [kind]):
        if offered.title == action.title:
            try:
                action.edit = _workspace_edit(session, document, offered)
            except RefactoringRefused as reason:
                raise Refusal(str(reason)) from reason
            break
    return action


def _absolute(session: Session, document: Document, part: Part, area: types.Range) -> Range | None:
    start, end = range_from(part.text.lines, area, session.client.encoding)
    first, last = document.absolute(part, start), document.absolute(part, end)
    return Range(first, last) if first is not None and last is not None else None


def _code_action(
    session: Session, document: Document, part: Part, asked: types.Range, action: Action
) -> types.CodeAction | None:
    from jaxpert.ide.refactoring import RefactoringRefused

    deferred = session.client.resolves_edits
    try:
        edit = None if deferred else _workspace_edit(session, document, action)
    except RefactoringRefused:
        return None
    if edit is None and not deferred:
        return None
    data = {"uri": part.uri, "range": session.server.protocol.unstructured(asked)}
    return types.CodeAction(
        title=action.title,
        kind=action.kind,
        diagnostics=_diagnostics(session, document, action),
        is_preferred=action.preferred or None,
        edit=edit,
        data=data if deferred else None,
    )


def _diagnostics(session: Session, document: Document, action: Action) -> Sequence[types.Diagnostic] | None:
    if action.finding is None or (placed := document.locate(action.finding.range)) is None:
        return None
    part, area = placed
    shown = to_range(part.text.lines, area, session.client.encoding)
    return [one_diagnostic(session, document, action.finding, shown)]


def _workspace_edit(session: Session, document: Document, action: Action) -> types.WorkspaceEdit | None:
    """The edits of ``action`` in the texts that the client knows; None when they cannot be made there."""
    edits = action.edits if action.later is None else action.later()
    made = buffer_edits(document, edits, session.client.encoding)
    return None if made is None else to_workspace_edit(session.client, made)
