"""From ``initialize`` to ``shutdown``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp import parent
from jaxpert.lsp.client import ClientProfile
from jaxpert.lsp.folders import Folders
from jaxpert.lsp.handlers.configuration import pull_settings, watch_files
from jaxpert.lsp.session import Session
from jaxpert.lsp.settings import section_of

if TYPE_CHECKING:
    import asyncio

    from jaxpert.lsp.language_server import JaxpertServer


def initialize(server: JaxpertServer, params: types.InitializeParams, loop: asyncio.AbstractEventLoop) -> Session:
    """The session with the client that introduces itself."""
    folders = Folders.of(params)
    folders.initial = section_of(params.initialization_options)
    session = Session(server, ClientProfile.of(params.capabilities), folders, loop)
    loop.call_soon(session.warm_up)  # once the answer is out, while the client reads it
    if params.process_id is not None and parent.is_alive(params.process_id):
        _watch_parent(server, params.process_id, loop)
    return session


def initialized(session: Session, params: types.InitializedParams) -> None:
    """The client is ready for requests of ours."""
    watch_files(session)
    pull_settings(session)


def shutdown(session: Session, params: None) -> None:
    """The client is about to end the session."""
    session.end()


def _watch_parent(server: JaxpertServer, process_id: int, loop: asyncio.AbstractEventLoop) -> None:
    def look() -> None:
        if parent.is_alive(process_id):
            loop.call_later(parent.INTERVAL, look)
        else:
            logging.getLogger("jaxpert").warning("the editor's process %d is gone", process_id)
            server.stop(1)

    loop.call_later(parent.INTERVAL, look)
