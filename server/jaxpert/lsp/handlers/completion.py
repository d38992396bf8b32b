"""What may stand at the cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.convert import to_range
from jaxpert.lsp.session import Session

if TYPE_CHECKING:
    from jaxpert.ide.completion_item import CompletionItem
    from jaxpert.lsp.documents import Document, Part
    from jaxpert.model.file_model import FileModel
    from jaxpert.text.lines import Position

OPTIONS = types.CompletionOptions(trigger_characters=["'", '"', ".", "(", "="])


def sources() -> Iterable[Callable[[FileModel, Position], list[CompletionItem]]]:
    """Everything that makes completions, each for another sort of place."""
    from jaxpert.ide.completion import api_completions
    from jaxpert.ide.name_completion import name_completions

    return (name_completions, api_completions)


def completion(session: Session, params: types.CompletionParams) -> types.CompletionList | None:
    """``textDocument/completion``."""
    from jaxpert.ide.completion_item import MOST

    if (found := session.spot(params.text_document.uri, params.position)) is None:
        return None
    document, part, snapshot, position = found
    items = [item for source in sources() for item in source(snapshot.model, position)]
    made = [made for item in items if (made := _completion_item(session, document, part, item)) is not None]
    return types.CompletionList(is_incomplete=len(items) >= MOST, items=made)


def _completion_item(
    session: Session, document: Document, part: Part, item: CompletionItem
) -> types.CompletionItem | None:
    from jaxpert.ide.blocks import plain
    from jaxpert.ide.completion_item import CompletionKind

    placed = document.locate(item.range)
    if placed is None or placed[0] is not part:
        return None
    kinds = {
        CompletionKind.NAME: types.CompletionItemKind.Constant,
        CompletionKind.FUNCTION: types.CompletionItemKind.Function,
        CompletionKind.POLICY: types.CompletionItemKind.Function,
        CompletionKind.PARAMETER: types.CompletionItemKind.Variable,
        CompletionKind.VALUE: types.CompletionItemKind.Value,
    }
    documentation: str | types.MarkupContent | None = plain(item.documentation) or None
    if item.documentation and session.client.documents_completions:
        documentation = types.MarkupContent(types.MarkupKind.Markdown, item.documentation)
    is_snippet = bool(item.snippet) and session.client.snippets
    area = to_range(part.text.lines, placed[1], session.client.encoding)
    return types.CompletionItem(
        label=item.label,
        kind=kinds[item.kind],
        detail=item.detail or None,
        documentation=documentation,
        sort_text=f"{item.rank:02}{item.label}",
        filter_text=item.filter_text or item.new_text,
        insert_text_format=types.InsertTextFormat.Snippet if is_snippet else None,
        text_edit=types.TextEdit(area, item.snippet if is_snippet else item.new_text),
    )
