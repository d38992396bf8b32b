"""The documents that the client has open, under the URIs it calls them by, each kept once.

A document is what is analysed as one text: a Python file, or all Python cells of a notebook. It consists of
*parts*, the texts that the client knows: one for a file, one for each cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from jaxpert.lsp.buffers import EditableText, PlainText, apply_changes
from jaxpert.lsp.convert import path_from_uri, stand_in_path
from jaxpert.records import dataclass
from jaxpert.text.columns import Encoding
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.project.workspace import Workspace
    from jaxpert.syntax.notebook import NotebookMap

LARGEST = 5_000_000
"""Characters from which a document is not analysed: generated data, not code that somebody reads."""

_PYTHON = frozenset({"python", "python3", "py"})


@dataclass(slots=True)
class Part:
    """A text that the client knows.

    Attributes:
        uri: as the client writes it; also what it is found by.
        analysed: whether it is Python that belongs to the document's text.
    """

    uri: str
    version: int | None
    text: EditableText
    analysed: bool = True


class _BufferInWorkspace:
    """The text of an open buffer, which lives in the workspace."""

    def __init__(self, workspace: Workspace, path: Path) -> None:
        self._workspace = workspace
        self._path = path
        self._source = workspace.source(path)  # the same object until the buffer is closed

    @property
    def lines(self) -> Sequence[str]:
        """The buffer's lines."""
        return self._source.lines

    def edit(self, area: Range, new_text: str) -> None:
        """Replace ``area``."""
        self._workspace.edit(self._path, area, new_text)

    def replace(self, text: str) -> None:
        """Replace everything."""
        self._workspace.replace(self._path, text)


class FileDocument:
    """An open Python file."""

    def __init__(self, uri: str, version: int, path: Path, text: EditableText) -> None:
        self.uri = uri
        self.path = path
        self.part = Part(uri, version, text)
        self.is_notebook = False

    @property
    def parts(self) -> Sequence[Part]:
        """Its only part."""
        return (self.part,)

    @property
    def too_large(self) -> bool:
        """Whether it is kept but not analysed."""
        return isinstance(self.part.text, PlainText)

    def locate(self, area: Range) -> tuple[Part, Range]:
        """The part that a range of the analysed text lies in, and the range there."""
        return self.part, area

    def absolute(self, part: Part, position: Position) -> Position | None:
        """The position in the analysed text of one in ``part``."""
        return position

    def part_edits(self, edits: Iterable[Edit]) -> list[tuple[Part, Edit]]:
        """Edits of the analysed text as edits of parts."""
        return [(self.part, edit) for edit in edits]


class NotebookDocument:
    """An open notebook. ``cells`` are its parts in order; those that are not Python are kept but not analysed."""

    def __init__(self, uri: str, path: Path, cells: list[Part]) -> None:
        self.uri = uri
        self.path = path
        self.parts = cells
        self.is_notebook = True
        self.too_large = False
        self.map = self.join()

    def join(self) -> NotebookMap:
        """The map for what the cells hold now."""
        from jaxpert.syntax.notebook import NotebookMap  # most sessions never see a notebook

        self.map = NotebookMap("".join(cell.text.lines) if cell.analysed else None for cell in self.parts)
        return self.map

    def locate(self, area: Range) -> tuple[Part, Range] | None:
        """The cell that a range of the joined text starts in, and the range there, cut off at the cell's end."""
        index, start = self.map.to_cell(area.start)
        if not index:
            return None
        other, end = self.map.to_cell(area.end)
        part = self.parts[index - 1]
        lines = part.text.lines
        return part, Range(start, end if other == index else Position(len(lines) - 1, len(lines[-1])))

    def absolute(self, part: Part, position: Position) -> Position | None:
        """The position in the joined text of one in the cell ``part``; None for cells that are not in it."""
        return self.map.from_cell(self.parts.index(part) + 1, position)

    def part_edits(self, edits: Iterable[Edit]) -> list[tuple[Part, Edit]] | None:
        """Edits of the joined text as edits of cells; None when one cannot be made there."""
        from jaxpert.syntax.notebook import UnwritableEdit

        try:
            placed = [self.map.to_cell_edit(edit) for edit in edits]
        except UnwritableEdit:
            return None
        return [(self.parts[index - 1], edit) for index, edit in placed]


Document = FileDocument | NotebookDocument


class Documents:
    """Every open document.

    Args:
        workspace: where the texts of buffers live.
        encoding: the unit of the client's columns.
        folder: where documents that are no files look for their configuration.
    """

    def __init__(self, workspace: Workspace, encoding: Encoding, folder: Path) -> None:
        self._workspace = workspace
        self._encoding = encoding
        self._folder = folder
        self._documents: dict[str, Document] = {}
        self._parts: dict[str, tuple[Document, Part]] = {}

    def __iter__(self) -> Iterator[Document]:
        return iter(list(self._documents.values()))

    def get(self, uri: str) -> Document | None:
        """The document (not cell) called ``uri``."""
        return self._documents.get(uri)

    def part(self, uri: str) -> tuple[Document, Part] | None:
        """The document that the file or cell ``uri`` belongs to, and the part that it is."""
        return self._parts.get(uri)

    def by_path(self, path: Path) -> Document | None:
        """The open document with this path."""
        found = next((document for document in self if document.path == path), None)
        if found is None:  # it may be open under another name
            real = os.path.realpath(path)
            found = next((document for document in self if os.path.realpath(document.path) == real), None)
        return found

    # -- files ------------------------------------------------------------------------------------------------

    def open_file(self, item: types.TextDocumentItem) -> FileDocument | None:
        """Keep a document that the client opened; None when it is not Python."""
        self.close(item.uri)
        path = self._path(item.uri)
        if item.language_id.lower() not in _PYTHON and path.suffix not in (".py", ".pyi"):
            return None
        if len(item.text) > LARGEST:
            document = FileDocument(item.uri, item.version, path, PlainText(item.text))
        else:
            self._workspace.open(path, item.text)
            document = FileDocument(item.uri, item.version, path, _BufferInWorkspace(self._workspace, path))
        self._keep(document)
        return document

    def change_file(
        self, uri: str, version: int, changes: Sequence[types.TextDocumentContentChangeEvent]
    ) -> FileDocument | None:
        """Apply what the client did to a file; None when it is not open here."""
        document = self._documents.get(uri)
        if not isinstance(document, FileDocument):
            return None
        part = document.part
        if isinstance(part.text, PlainText):
            apply_changes(part.text, changes, self._encoding)
            if len(text := part.text.text) <= LARGEST:
                self._workspace.open(document.path, text)
                part.text = _BufferInWorkspace(self._workspace, document.path)
        elif any(len(change.text) > LARGEST for change in changes):
            part.text = PlainText("".join(part.text.lines))
            self._workspace.close(document.path)
            apply_changes(part.text, changes, self._encoding)
        else:
            apply_changes(part.text, changes, self._encoding)
        part.version = version
        return document

    # -- notebooks --------------------------------------------------------------------------------------------

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> NotebookDocument:
        """Keep a notebook that the client opened."""
        notebook = params.notebook_document
        self.close(notebook.uri)
        texts = {item.uri: item for item in params.cell_text_documents}
        cells = [_cell(cell, texts.get(cell.document)) for cell in notebook.cells]
        document = NotebookDocument(notebook.uri, self._path(notebook.uri), cells)
        self._workspace.open(document.path, notebook=document.join())
        self._keep(document)
        return document

    def change_notebook(
        self, params: types.DidChangeNotebookDocumentParams
    ) -> tuple[NotebookDocument, set[str]] | None:
        """Apply what the client did to a notebook; also the URIs of cells that are gone or no longer Python."""
        document = self._documents.get(params.notebook_document.uri)
        if not isinstance(document, NotebookDocument):
            return None
        before = {cell.uri for cell in document.parts if cell.analysed}
        if changes := params.change.cells:
            self._change_structure(document, changes.structure)
            by_uri = {cell.uri: cell for cell in document.parts}
            for data in changes.data or ():
                if (cell := by_uri.get(data.document)) and data.kind != types.NotebookCellKind.Code:
                    cell.analysed = False
            for content in changes.text_content or ():
                if cell := by_uri.get(content.document.uri):
                    apply_changes(cell.text, content.changes, self._encoding)
                    cell.version = content.document.version
            self._workspace.open(document.path, notebook=document.join())
            self._keep(document)
        return document, before - {cell.uri for cell in document.parts if cell.analysed}

    def _change_structure(
        self, document: NotebookDocument, structure: types.NotebookDocumentCellChangeStructure | None
    ) -> None:
        if structure is None:
            return
        known = {cell.uri: cell for cell in document.parts}
        opened = {item.uri: item for item in structure.did_open or ()}
        array = structure.array
        # A cell that changes its language is closed and opened again under the same URI; one that moves is only
        # listed again.
        new = [
            _cell(cell, opened[cell.document]) if cell.document in opened else known.get(cell.document) or _cell(cell)
            for cell in array.cells or ()
        ]
        document.parts[array.start : array.start + array.delete_count] = new
        for number, cell in enumerate(document.parts):
            if cell.uri in opened and cell not in new:
                item = opened[cell.uri]
                document.parts[number] = Part(item.uri, item.version, PlainText(item.text), _is_python(item))

    # -- both -------------------------------------------------------------------------------------------------

    def close(self, uri: str) -> Document | None:
        """Forget the document called ``uri``; it is the file on disk again. None when it is not open."""
        document = self._documents.pop(uri, None)
        if document is None:
            return None
        self._parts = {name: entry for name, entry in self._parts.items() if entry[0] is not document}
        if not document.too_large:
            self._workspace.close(document.path)
        return document

    def _keep(self, document: Document) -> None:
        self._documents[document.uri] = document
        self._parts = {name: entry for name, entry in self._parts.items() if entry[0] is not document}
        for part in document.parts:
            self._parts[part.uri] = document, part

    def _path(self, uri: str) -> Path:
        name = path_from_uri(uri)
        path = Path(name) if name else stand_in_path(uri, self._folder)
        # Two URIs may mean one file (a link, another spelling); each has its own text all the same.
        taken = {os.path.realpath(document.path) for document in self}
        is_taken = os.path.realpath(path) in taken or self._workspace.is_open(path)
        return stand_in_path(f"duplicate:{path}#{uri}", self._folder) if is_taken else path


def _cell(cell: types.NotebookCell, item: types.TextDocumentItem | None = None) -> Part:
    if item is None:
        return Part(cell.document, None, PlainText(""), False)
    return Part(
        item.uri, item.version, PlainText(item.text), cell.kind == types.NotebookCellKind.Code and _is_python(item)
    )


def _is_python(item: types.TextDocumentItem) -> bool:
    return item.language_id.lower() in _PYTHON
