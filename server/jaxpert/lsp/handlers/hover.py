"""What to show under the mouse."""

from __future__ import annotations

from lsprotocol import types

from jaxpert.lsp.convert import position_from, to_range
from jaxpert.lsp.session import Session


def hover(session: Session, params: types.HoverParams) -> types.Hover | None:
    """``textDocument/hover``."""
    from jaxpert.ide import hover as texts  # brings in the rules, which are not needed before

    if (found := session.place(params.text_document.uri)) is None:
        return None
    document, part, analysis = found
    encoding = session.client.encoding
    position = document.absolute(part, position_from(part.text.lines, params.position, encoding))
    shown = texts.hover_at(analysis, position) if position is not None else None
    placed = document.locate(shown.range) if shown is not None else None
    if shown is None or placed is None:
        return None
    if session.client.markdown:
        contents = types.MarkupContent(types.MarkupKind.Markdown, texts.to_markdown(shown))
    else:
        contents = types.MarkupContent(types.MarkupKind.PlainText, texts.to_plain_text(shown))
    return types.Hover(contents, to_range(part.text.lines, placed[1], encoding))
