"""Files that are not open, as the client sees them when it opens them: for a notebook, its JSON."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from jaxpert.text.lines import Range, slice_lines, split_lines

if TYPE_CHECKING:
    from jaxpert.syntax.notebook import NotebookMap

_KEPT = 64


class DiskText:
    """The text of one file.

    Attributes:
        lines: as they are on disk; a single empty one where the file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        from jaxpert.text.decoding import MAX_NOTEBOOK_BYTES, MAX_SOURCE_BYTES, UnreadableSource, read_source

        self._is_notebook = path.suffix == ".ipynb"
        self._map: NotebookMap | None = None
        try:
            text = read_source(path, MAX_NOTEBOOK_BYTES if self._is_notebook else MAX_SOURCE_BYTES).text
        except UnreadableSource:
            text = ""
        self.lines: Sequence[str] = split_lines(text)
        self._analysed = self.lines
        if self._is_notebook:
            self._read_notebook(text)

    def _read_notebook(self, text: str) -> None:
        from jaxpert.syntax.notebook import BadNotebook, read_notebook

        try:
            self._map = read_notebook(text)
            self._analysed = split_lines(self._map.text)
        except BadNotebook:
            self._analysed = []

    def locate(self, area: Range, written: str = "") -> Range | None:
        """Where a range of the text that is analysed stands in ``lines``.

        Args:
            written: what stood there when it was analysed; None is given when it does not any more.
        """
        if area.end.line >= len(self._analysed):
            return None
        if written and slice_lines(self._analysed, area) != written:
            return None
        if not self._is_notebook:
            return area
        from jaxpert.syntax.notebook_places import range_in_json

        return range_in_json("".join(self.lines), self._map, area) if self._map is not None else None


class DiskTexts:
    """The files that were last looked at, each read again when it changed."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[object, DiskText]] = OrderedDict()

    def get(self, path: str) -> DiskText:
        """The text of the file at ``path``."""
        from jaxpert.project.tracked_file import stamp_of

        stamp = stamp_of(path)
        known = self._kept.get(path)
        if known is None or known[0] != stamp:
            known = self._kept[path] = stamp, DiskText(Path(path))
        self._kept.move_to_end(path)
        if len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return known[1]
