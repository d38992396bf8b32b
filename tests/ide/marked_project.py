"""Small projects in which ``|`` marks the cursor, and places in them as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from jaxpert.model.file_model import FileModel
from jaxpert.model.names import Spot
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, slice_lines
from tests.projects import Project

CURSOR = "|"


class MarkedProject:
    """Files on disk, and the file with the cursor open in an editor.

    Attributes:
        model: of the open file.
        position: where the cursor is.
    """

    def __init__(self, root: Path, files: Mapping[str, str], name: str = "main.py") -> None:
        text = files[name]
        before = text[: text.index(CURSOR)]
        self.text = before + text[len(before) + 1 :]
        self.position = Position(before.count("\n"), len(before) - (before.rfind("\n") + 1))
        others = {other: text for other, text in files.items() if other != name}
        self.root = root
        self.workspace = Project(root, {**others, name: "import jax\n"}).workspace
        self.workspace.open(root / name, self.text)

    @property
    def path(self) -> Path:
        """The open file."""
        return self.root / "main.py"

    @property
    def model(self) -> FileModel:
        """Of the open file, as it is now."""
        return self.workspace.snapshot(self.path).model

    def shown(self, spots: Iterable[Spot]) -> list[str]:
        """``block.py:3 attn_out`` for each spot, checked against the text that is there."""
        found = []
        for spot in spots:
            lines = self.workspace.lines_of(spot.path)
            assert lines is not None
            assert slice_lines(lines, spot.range) == spot.written
            name = Path(spot.path).relative_to(self.root).as_posix()
            found.append(f"{name}:{spot.range.start.line + 1} {spot.written}")
        return found

    def edited(self, edits: Mapping[str, list[Edit]]) -> dict[str, str]:
        """The new texts of the files that are edited."""
        texts = {path: "".join(self.workspace.lines_of(path) or ()) for path in edits}
        return {Path(path).name: apply_edits(texts[path], edits[path]) for path in edits}
