"""What to show under the mouse."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.convert import to_range
from jaxpert.lsp.session import Session
from jaxpert.lsp.without_tls import asyncio

if TYPE_CHECKING:
    from jaxpert.ide.blocks import Block
    from jaxpert.model.file_model import FileModel
    from jaxpert.text.lines import Position

PATIENCE = 0.03
"""Seconds that a hover waits for the docstring of the installed JAX; a later hover has it at once."""


async def hover(session: Session, params: types.HoverParams) -> types.Hover | None:
    """``textDocument/hover``. Before the document was first analysed, it does not wait for the findings there where
    something else can be said.
    """
    from jaxpert.engine.analyze import Analysis
    from jaxpert.ide import hover as texts  # brings in the rules, which are not needed before

    if (found := session.spot(params.text_document.uri, params.position)) is None:
        return None
    document, part, snapshot, position = found
    analysis = session.analysis_at_hand(document)
    shown = texts.hover_at(analysis or Analysis((), snapshot.model, snapshot), position)
    if shown is None and analysis is None and (analysis := session.analysis(document)) is not None:
        shown = texts.hover_at(analysis, position)
    placed = document.locate(shown.range) if shown is not None else None
    if shown is None or placed is None:
        return None
    area = to_range(part.text.lines, placed[1], session.client.encoding)  # before the text may change
    shown = replace(shown, blocks=(*shown.blocks, *await _docstring(session, snapshot.model, position)))
    if session.client.markdown:
        contents = types.MarkupContent(types.MarkupKind.Markdown, texts.to_markdown(shown))
    else:
        contents = types.MarkupContent(types.MarkupKind.PlainText, texts.to_plain_text(shown))
    return types.Hover(contents, area)


async def _docstring(session: Session, model: FileModel, position: Position) -> list[Block]:
    """The docstring of the API at ``position``, when it is known or comes soon."""
    from jaxpert.ide.api_hover import api_at, docstring_blocks

    named = api_at(model, position)
    if named is None or not model.target.folder:
        return []
    docs = session.server.docs
    answer = docs.of(model.db, named[1])
    if not answer.done() and docs.is_warm:
        await asyncio.wait([asyncio.wrap_future(answer)], timeout=PATIENCE)
    origin = f"JAX {model.target.version}" if named[1].library == "jax" else named[1].library
    return docstring_blocks(answer.result(), origin) if answer.done() else []
