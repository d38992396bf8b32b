"""What the user does to our progress bars."""

from __future__ import annotations

from lsprotocol import types

from jaxpert.lsp.session import Session


def cancel(session: Session, params: types.WorkDoneProgressCancelParams) -> None:
    """``window/workDoneProgress/cancel``."""
    session.indexing.cancel(params.token)
