"""Lines above rematerialized functions.

A lens is a text with a command. A client that shows places says so by naming the command among its own, in the
capability ``experimental.commands.commands``; for all others the command has no name, and the lens is only text.
"""

from __future__ import annotations

from lsprotocol import types

from jaxpert.lsp.client import SHOW_PLACES
from jaxpert.lsp.convert import to_range
from jaxpert.lsp.locations import location
from jaxpert.lsp.session import Session

OPTIONS = types.CodeLensOptions(resolve_provider=False)


def code_lens(session: Session, params: types.CodeLensParams) -> list[types.CodeLens] | None:
    """``textDocument/codeLens``."""
    from jaxpert.ide.code_lenses import code_lenses

    found = session.glance(params.text_document.uri)
    if found is None:
        return None
    document, part, snapshot = found
    session.notes.asked(document, snapshot)
    if not session.folders.settings(session.folders.folder_of(document.path)).code_lenses:
        return []
    encoding = session.client.encoding
    given = []
    for lens in code_lenses(snapshot.model):
        placed = document.locate(lens.range)
        if placed is None or placed[0] is not part:
            continue
        area = to_range(part.text.lines, placed[1], encoding)
        command = types.Command(lens.title, "")
        if lens.places and SHOW_PLACES in session.client.commands:
            places = [place for path, where in lens.places if (place := location(session, document, path, where))]
            unstructured = [session.server.protocol.unstructured(place) for place in places]
            arguments = [part.uri, session.server.protocol.unstructured(area.start), unstructured]
            command = types.Command(lens.title, SHOW_PLACES, arguments=arguments)
        given.append(types.CodeLens(area, command))
    return given
