"""Small projects on disk, analysed as the command line and the server do it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from jaxpert.engine.analyze import Analysis, analyze
from jaxpert.jaxdb.load import newest_known
from jaxpert.project.workspace import Workspace
from jaxpert.rulekit.rule import Finding, Related
from jaxpert.rules import ALL_RULES

KNOWN_RULES = {rule.name: rule.code for rule in ALL_RULES}


class Project:
    """A folder with some files and a configuration, opened as a workspace.

    The JAX version is always set, so that what is installed where the tests run plays no part.
    """

    def __init__(
        self,
        root: Path,
        files: Mapping[str, str],
        jax: Version | str = "",
        *,
        remat3: bool = False,
        x64: bool = False,
    ) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text.encode("utf-8"))
        settings = [
            f'jax-version = "{jax or newest_known()}"',
            f"remat3 = {str(remat3).lower()}",
            f"x64 = {str(x64).lower()}",
        ]
        (root / "jaxpert.toml").write_text("\n".join(settings) + "\n", encoding="utf-8")
        self.workspace = Workspace((root,), KNOWN_RULES)

    def analysis(self, name: str, *, quick: bool = False) -> Analysis:
        """What the engine makes of one file; ``quick``: as while somebody types in it."""
        return analyze(self.workspace.snapshot(self.root / name), quick=quick)

    def findings(self, name: str, *, quick: bool = False) -> tuple[Finding, ...]:
        """The findings in one file, with paths that do not depend on where the project lies."""
        found = self.analysis(name, quick=quick).findings
        return tuple(replace(finding, related=self._portable(finding)) for finding in found)

    def _portable(self, finding: Finding) -> tuple[Related, ...]:
        return tuple(
            replace(place, path=Path(place.path).relative_to(self.root).as_posix()) if place.path else place
            for place in finding.related
        )
