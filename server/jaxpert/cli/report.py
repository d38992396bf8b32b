"""What a run of ``check`` found, as plain data that crosses processes and that every output format reads.

Places are in the coordinates the user knows: of the file, or, in a notebook, of the cell.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from jaxpert.project.config_file import ConfigProblem
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Safety, Severity
from jaxpert.text.decoding import SourceText
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of source that belongs to a finding.

    Attributes:
        path: the file, or "" for the finding's own.
        cell: one-based number of the notebook cell, or None.
    """

    range: Range
    message: str
    path: str = ""
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class PlacedEdit:
    """One edit of a fix, in the cell where it belongs."""

    edit: Edit
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class PlacedFix:
    """A fix, ready to be shown."""

    title: str
    safety: Safety
    edits: tuple[PlacedEdit, ...]


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A finding, ready to be shown; ``related`` and ``fix`` may lie in other cells."""

    code: str
    name: str
    severity: Severity
    message: str
    range: Range
    cell: int | None = None
    consequence: str = ""
    related: tuple[Place, ...] = ()
    fix: PlacedFix | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What fixing makes of one file.

    Attributes:
        source: what was read.
        after: the whole text, without byte order mark.
        content: the bytes to write.
        applied: how many findings went away.
    """

    source: SourceText
    after: str
    content: bytes = field(repr=False)
    applied: int = 0

    @property
    def before(self) -> str:
        """The whole text that was read, without byte order mark."""
        return self.source.text


@dataclass(frozen=True, slots=True)
class FileReport:
    """Everything about one file.

    Attributes:
        path: as the user would write it: relative to the working directory where it lies inside.
        findings: what is left, after fixing where that was asked for; in order of position.
        lines: the source of each cell that a finding touches; the key None stands for a file that is no notebook.
        failure: why the file could not be read or not checked in full, or why its fixes were refused; "" when all went
            well.
        target: the JAX it was checked against, e.g. "JAX 0.12.0 from .venv".
        change: set when fixing was asked for and changed something.
        problems: mistakes in the configuration that holds for it.
    """

    path: Path
    findings: tuple[PlacedFinding, ...] = ()
    lines: dict[int | None, tuple[str, ...]] = field(default_factory=dict)
    failure: str = ""
    target: str = ""
    change: Change | None = None
    seconds: float = 0.0
    line_count: int = 0
    problems: tuple[ConfigProblem, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """All files of one run, in stable order, and what the summary needs to know about the request."""

    files: tuple[FileReport, ...]
    fixing: bool = False

    @property
    def findings(self) -> list[PlacedFinding]:
        """The findings of all files, in order."""
        return [finding for file in self.files for finding in file.findings]

    @property
    def applied(self) -> int:
        """How many findings were fixed."""
        return sum(file.change.applied for file in self.files if file.change)

    @property
    def targets(self) -> Sequence[str]:
        """The versions of JAX that the files were checked against, most used first."""
        counted = Counter(file.target for file in self.files if file.target)
        return [target for target, _ in counted.most_common()]
