"""The workspace folders of a client and the settings of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from lsprotocol import types

from jaxpert.lsp.convert import path_from_uri
from jaxpert.lsp.settings import Settings, layered, read_settings
from jaxpert.records import dataclass

NO_FOLDER = ""
"""Stands for the folder of what lies in none."""


@dataclass(slots=True)
class Folders:
    """Folders by URI, as the client writes it, and three layers of settings: each wins over the one before.

    Attributes:
        initial: sent with ``initialize``, for all folders.
        pushed: sent with ``didChangeConfiguration``, for all folders.
        pulled: answered to our question, by folder.
    """

    paths: dict[str, Path] = field(default_factory=dict)
    initial: Mapping[str, Any] | None = None
    pushed: Mapping[str, Any] | None = None
    pulled: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)

    @staticmethod
    def of(params: types.InitializeParams) -> Folders:
        """The folders that ``initialize`` names: ``workspaceFolders``, else ``rootUri``, else ``rootPath``."""
        folders = Folders()
        for folder in params.workspace_folders or ():
            folders.add(folder.uri)
        if not folders.paths and params.root_uri:
            folders.add(params.root_uri)
        elif not folders.paths and params.root_path:
            folders.paths[params.root_path] = Path(params.root_path)
        return folders

    def add(self, uri: str) -> None:
        """There is one more folder. One that is no place on disk is left out."""
        if path := path_from_uri(uri):
            self.paths[uri] = Path(path)

    def remove(self, uri: str) -> None:
        """A folder is gone."""
        self.paths.pop(uri, None)
        self.pulled.pop(uri, None)

    @property
    def roots(self) -> tuple[Path, ...]:
        """Where the folders are."""
        return tuple(self.paths.values())

    @property
    def home(self) -> Path:
        """Where documents that are no files belong."""
        return next(iter(self.paths.values()), Path.cwd())

    def folder_of(self, path: Path) -> str:
        """The innermost folder that contains ``path``, or :data:`NO_FOLDER`."""
        inside = [uri for uri, folder in self.paths.items() if path.is_relative_to(folder)]
        return max(inside, key=lambda uri: len(self.paths[uri].parts), default=NO_FOLDER)

    def settings(self, folder: str) -> Settings:
        """The settings of ``folder``."""
        pulled = self.pulled.get(folder, self.pulled.get(NO_FOLDER))
        return read_settings(layered(self.initial, self.pushed, pulled))
