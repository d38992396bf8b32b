"""Places in files as the protocol names them, whether the file is open or only on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.convert import to_range, uri_from_path
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.lsp.documents import Document
    from jaxpert.lsp.session import Session


def location(
    session: Session, document: Document | None, path: str, area: Range, written: str = "", is_ascii: bool = False
) -> types.Location | None:
    """Where ``area`` is, in ``document`` or, with a ``path``, in another file; None when no text of the client's
    holds it.

    Args:
        written: what stands there in a file on disk; where that has changed, the place is none.
        is_ascii: whether that file need not be read to count columns.
    """
    placed = document.locate(area) if document is not None else None
    if path:
        other = session.documents.by_path(Path(path))
        if other is None and is_ascii and not path.endswith(".ipynb"):
            (first, start), (last, end) = area
            same = types.Range(types.Position(first, start), types.Position(last, end))
            return types.Location(uri_from_path(path), same)
        if other is None:
            text = session.disk.get(path)
            found = text.locate(area, written)
            if found is None:
                return None
            return types.Location(uri_from_path(path), to_range(text.lines, found, session.client.encoding))
        placed = other.locate(area)
    if placed is None:
        return None
    part, here = placed
    return types.Location(part.uri, to_range(part.text.lines, here, session.client.encoding))
