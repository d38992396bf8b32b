"""Notes inside the code."""

from __future__ import annotations

from lsprotocol import types

from jaxpert.lsp.convert import range_from, to_position
from jaxpert.lsp.session import Session
from jaxpert.text.lines import Range

OPTIONS = types.InlayHintOptions(resolve_provider=False)


def inlay_hint(session: Session, params: types.InlayHintParams) -> list[types.InlayHint] | None:
    """``textDocument/inlayHint``."""
    from jaxpert.ide.blocks import plain
    from jaxpert.ide.inlay_hints import HintKind, inlay_hints

    found = session.glance(params.text_document.uri)
    if found is None:
        return None
    document, part, snapshot = found
    session.notes.asked(document, snapshot)
    settings = session.folders.settings(session.folders.folder_of(document.path))
    kinds = frozenset(kind for kind in HintKind if kind.value not in settings.hints_off)
    encoding = session.client.encoding
    start, end = range_from(part.text.lines, params.range, encoding)
    first, last = document.absolute(part, start), document.absolute(part, end)
    if first is None or last is None:
        return None
    given = []
    for hint in inlay_hints(snapshot.model, Range(first, last), kinds):
        placed = document.locate(Range(hint.position, hint.position))
        if placed is None or placed[0] is not part:
            continue
        tooltip: str | types.MarkupContent = plain(hint.tooltip)
        if session.client.markdown:
            tooltip = types.MarkupContent(types.MarkupKind.Markdown, hint.tooltip)
        given.append(
            types.InlayHint(
                position=to_position(part.text.lines, placed[1].start, encoding),
                label=hint.label,
                kind=types.InlayHintKind.Parameter if hint.before else None,
                tooltip=tooltip,
                padding_left=None if hint.before else True,
                padding_right=True if hint.before else None,
            )
        )
    return given
