"""Settings, folders and files that change while the server runs."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from lsprotocol import types

from jaxpert.lsp.convert import path_from_uri
from jaxpert.lsp.folders import NO_FOLDER
from jaxpert.lsp.session import Session
from jaxpert.lsp.settings import SECTION, section_of

logger = logging.getLogger("jaxpert")

_WATCHED = (
    "**/*.{py,pyi,ipynb}",
    "**/{pyproject.toml,jaxpert.toml,uv.lock,poetry.lock,pdm.lock,pyvenv.cfg,.env,.gitignore}",
    "**/requirements*.txt",
)


def watch_files(session: Session) -> None:
    """Ask the client to tell us about files that matter, and about its settings."""
    wanted = []
    if session.client.watches_files:
        watchers = [types.FileSystemWatcher(pattern) for pattern in _WATCHED]
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
        wanted.append(types.Registration("jaxpert-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if session.client.registers_configuration:
        section = types.DidChangeConfigurationRegistrationOptions(section=SECTION)
        wanted.append(types.Registration("jaxpert-settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section))
    if wanted:
        session.server.ask(types.CLIENT_REGISTER_CAPABILITY, types.RegistrationParams(wanted))


def pull_settings(session: Session) -> None:
    """Ask the client for the settings of every folder."""
    if not session.client.configuration:
        return
    folders = [*session.folders.paths, NO_FOLDER]
    items = [types.ConfigurationItem(scope_uri=folder or None, section=SECTION) for folder in folders]

    def answered(values: Any) -> None:
        before = [session.folders.settings(folder) for folder in folders]
        for folder, value in zip(folders, values or ()):
            session.folders.pulled[folder] = section_of(value)
        if before != [session.folders.settings(folder) for folder in folders]:
            session.settings_changed()

    session.server.ask(types.WORKSPACE_CONFIGURATION, types.ConfigurationParams(items), answered)


def did_change_configuration(session: Session, params: types.DidChangeConfigurationParams) -> None:
    """``workspace/didChangeConfiguration``: what it brings counts, and where it can be asked, so does the answer."""
    before = {folder: session.folders.settings(folder) for folder in (*session.folders.paths, NO_FOLDER)}
    if (sent := section_of(params.settings)) is not None:
        session.folders.pushed = sent
    if before != {folder: session.folders.settings(folder) for folder in before}:
        session.settings_changed()
    pull_settings(session)


def did_change_workspace_folders(session: Session, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """``workspace/didChangeWorkspaceFolders``."""
    for folder in params.event.removed:
        session.folders.remove(folder.uri)
    for folder in params.event.added:
        session.folders.add(folder.uri)
    session.folders_changed()
    pull_settings(session)


def did_change_watched_files(session: Session, params: types.DidChangeWatchedFilesParams) -> None:
    """``workspace/didChangeWatchedFiles``."""
    paths = [Path(path) for change in params.changes if (path := path_from_uri(change.uri))]
    if paths:
        session.files_changed(paths)
