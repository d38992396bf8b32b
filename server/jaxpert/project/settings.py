"""What holds in each folder: options, what is set by hand, and the JAX that is found there."""

# ruff: noqa: PTH120 (paths are strings here)

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.project.config import ConfigProblem, Options, load_options
from jaxpert.project.config_file import find_config
from jaxpert.project.environment import detect
from jaxpert.project.tracked_file import stamp_of
from jaxpert.records import dataclass


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line or the editor sets for a folder.

    Attributes:
        options: stronger than those of the configuration file; not checked yet.
        interpreter: the Python whose installed JAX counts.
        origin: where they come from, for messages.
    """

    options: Mapping[str, object] = field(default_factory=dict)
    interpreter: Path | None = None
    origin: str = "command line"


@dataclass(frozen=True, slots=True)
class FolderSettings:
    """The options of a folder, and the mistakes in them."""

    options: Options
    problems: tuple[ConfigProblem, ...]
    interpreter: Path | None


class Settings:
    """The settings of all folders, each read once.

    Args:
        known_rules: name -> code of every rule there is.
        overrides: what is set by hand, for all folders or by folder.
    """

    def __init__(self, known_rules: Mapping[str, str], overrides: Overrides | Callable[[Path], Overrides]) -> None:
        self._known_rules = known_rules
        self._overrides = overrides
        self._folders: dict[str, tuple[object, FolderSettings]] = {}
        self._targets: dict[tuple[str, str | None, Path | None], JaxTarget] = {}

    def forget(self) -> None:
        """Something has changed: read everything again."""
        self._folders.clear()
        self._targets.clear()

    def of(self, folder: str, again: bool) -> tuple[FolderSettings, bool]:
        """The settings of ``folder``, and whether they are known to be others than before.

        Args:
            again: look whether the configuration file changed.
        """
        known = self._folders.get(folder)
        if known is not None and not again:
            return known[1], False
        source = find_config(Path(folder))
        stamp = source, stamp_of(str(source)) if source else None
        if known is not None and known[0] == stamp:
            return known[1], False
        given = self._overrides(Path(folder)) if callable(self._overrides) else self._overrides
        options, problems = load_options(
            Path(folder), given.options, known=self._known_rules, overrides_from=given.origin
        )
        settings = FolderSettings(options, problems, given.interpreter)
        self._folders[folder] = stamp, settings
        return settings, known is not None

    def target(self, path: str, root: str) -> JaxTarget:
        """The JAX that is found for the file at ``path``, looking no further up than ``root``."""
        folder = os.path.dirname(path)
        settings, _ = self.of(folder, again=False)
        key = folder, settings.options.jax_version, settings.interpreter
        if key not in self._targets:
            self._targets[key] = detect(
                Path(root), Path(path), settings.options.jax_version, settings.interpreter, os.environ
            )
        return self._targets[key]
