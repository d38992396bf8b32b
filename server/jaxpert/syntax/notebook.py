"""A notebook's Python cells as one text that parses, and the way back.

The text holds every code cell, each followed by one line of its own that is empty: an edit there means "at the end
of this cell". A cell that is indented as a whole stands behind an ``if`` of its own. What IPython adds to Python
(``%magic``, ``!command``, ``name?``, whole ``%%bash`` cells) is replaced by something as long that parses, so that
every position stays where it is.
"""

from __future__ import annotations

import ast
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from jaxpert.records import dataclass
from jaxpert.syntax.logical_lines import read_logical_line
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range, split_lines, without_line_end

# Cell magics whose cell is Python that runs in the notebook's own namespace.
_PYTHON_CELLS = {
    *("capture", "debug", "ipytest", "memit", "memray_flamegraph", "mprun", "prun", "px", "run_pytest", "scalene"),
    *("snakeviz", "time", "timeit", "wandb"),
}
# Line magics that run the rest of their line.
_RUNS_ITS_LINE = re.compile(r"%(?:time|timeit|memit|prun)\b(?:[ \t]+-[a-zA-Z]+(?:[ \t]*\d+)?)*[ \t]+(?=\S)")
_MAGIC = re.compile(r"[ \t]*(?:[%!?]|[,;/](?=\S))")
_ASSIGNED = re.compile(r"[ \t]*[A-Za-z_][\w.,* \t\[\]'\"]*=[ \t]*(?=[%!](?!=))")
_HELP = re.compile(r"[ \t]*%{0,2}[\w.*]+(?:\[[^\]]*\]|\([^()]*\)|\.[\w*]+)*\?{1,2}[ \t]*(?:#.*)?")
# IPython runs these without their % when the line is not Python, which two words side by side never are.
_AUTOMAGIC = re.compile(
    r"[ \t]*(?:pip3?|conda|mamba|micromamba|uv|cd|ls|mkdir|rmdir|rm|cp|mv|cat|less|more|man|time|timeit)"
    r"[ \t]+(?!(?:in|is|if|and|or|not|for|else)\b)(?:[\w./~]|-\w)"
)
_AUTOMAGIC_ANYWHERE = re.compile("^" + _AUTOMAGIC.pattern, re.MULTILINE)
_OPENING = "if True:\n"
_CONTINUED_LINE = re.compile(r"(?:[^\r\n]*\\(?:\r\n|\r|\n))*[^\r\n]*(?:\r\n|\r|\n)?")


class BadNotebook(Exception):
    """A text that is no notebook. ``line`` is the zero-based line of the JSON error, if it is one."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class UnwritableEdit(ValueError):
    """An edit that reaches over the end of a cell or into a magic."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell.

    Attributes:
        index: its number among all cells of the notebook, from 1.
        source: what the user wrote.
        first: the line of the joined text where it starts.
        lines: how many lines it has there, without the empty one that follows.
        hidden: numbers, within the cell, of the lines that are not what the user wrote.
    """

    index: int
    source: str
    first: int
    lines: int
    hidden: frozenset[int]


class NotebookMap:
    """The joined text of a notebook's Python cells, and where each of its positions comes from.

    Attributes:
        text: the joined text.
        cells: the cells in it, in order.
    """

    def __init__(self, sources: Iterable[str | None]) -> None:
        """Join ``sources``, the text of every cell of the notebook; None for one that is not Python."""
        self.cells: list[Cell] = []
        pieces: list[str] = []
        first = 0
        for index, source in enumerate(sources, 1):
            if source is None:
                continue
            lines = split_lines(source)
            if not lines[-1]:
                lines.pop()
            python, hidden = _as_python(source)
            if python.lstrip("\r\n")[:1] in (" ", "\t") and _parses(f"{_OPENING}{python}\n"):
                pieces.append(_OPENING)  # IPython takes the indentation off
                first += 1
            # A lone "\r" at the end becomes "\r\n": the same number of lines, whatever follows.
            pieces += [python, "\n" if python and not python.endswith("\n") else "", "\n"]
            self.cells.append(Cell(index, source, first, len(lines), hidden))
            first += len(lines) + 1
        self.text = "".join(pieces)
        self._starts = [cell.first for cell in self.cells]

    def cell_at(self, line: int) -> Cell | None:
        """The cell that a line of the joined text comes from; None only where there are no cells."""
        if not self.cells:
            return None
        return self.cells[max(0, bisect_right(self._starts, line) - 1)]

    def to_cell(self, position: Position) -> tuple[int, Position]:
        """Number of the cell (from 1; 0 where there is none) and the position in it of one in the joined text."""
        cell = self.cell_at(position.line)
        if cell is None:
            return 0, position
        local = Position(position.line - cell.first, position.column)
        end = _end_of(cell)
        return cell.index, min(local, end)

    def from_cell(self, index: int, position: Position) -> Position | None:
        """The position in the joined text of one in cell number ``index``; None when that cell is not in it."""
        for cell in self.cells:
            if cell.index == index:
                return Position(cell.first + min(position.line, cell.lines), position.column)
        return None

    def to_cell_edit(self, edit: Edit) -> tuple[int, Edit]:
        """The cell that an edit of the joined text is about, and the edit of that cell's own text.

        Raises:
            UnwritableEdit: it reaches over the end of a cell or into a magic.
        """
        (start, end), text = edit.range, edit.new_text
        cell = self.cell_at(start.line)
        if cell is None or cell is not self.cell_at(end.line):
            raise UnwritableEdit("it reaches over the end of a cell")
        last = end.line if end.column else end.line - 1
        if any(start.line <= cell.first + number <= last for number in cell.hidden):
            raise UnwritableEdit("it reaches into a magic")
        behind = cell.first + cell.lines
        if end.line == behind and not cell.source.endswith(("\n", "\r")):
            # The line end before the empty line is not in the cell.
            text = text.removesuffix("\n").removesuffix("\r")
            if start.line == behind and cell.source:
                text = "\n" + text
        return cell.index, Edit(Range(self.to_cell(start)[1], self.to_cell(end)[1]), text)

    def edited(self, edits: Iterable[Edit]) -> dict[int, str]:
        """The new texts, by number, of the cells that ``edits`` of the joined text change.

        Raises:
            UnwritableEdit: one reaches over the end of a cell or into a magic.
            OverlappingEdits: two share a character.
        """
        by_cell: dict[int, list[Edit]] = {}
        for edit in edits:
            index, own = self.to_cell_edit(edit)
            by_cell.setdefault(index, []).append(own)
        sources = {cell.index: cell.source for cell in self.cells}
        return {index: apply_edits(sources[index], own) for index, own in by_cell.items()}


def read_notebook(text: str) -> NotebookMap:
    """The notebook in ``text``, the JSON of an ``.ipynb`` file (nbformat 3 or 4). One in another language has no cells.

    Raises:
        BadNotebook: not JSON, or not a notebook.
    """
    notebook = _parse(text)
    metadata = notebook.get("metadata")
    language = _field(metadata, "kernelspec", "language") or _field(metadata, "language_info", "name") or "python"
    is_python = isinstance(language, str) and language.lower() in ("python", "ipython", "python3")
    return NotebookMap(_code(cell) if is_python else None for _, cell in _cells(notebook))


def write_cells(text: str, sources: Mapping[int, str]) -> str:
    """``text``, the JSON of an ``.ipynb`` file, with new texts for the cells numbered (from 1) in ``sources``.

    Everything else stays as it is, byte for byte; unchanged lines of the changed cells too.

    Raises:
        BadNotebook: not JSON, or not a notebook.
    """
    paths = {path: sources[number] for number, (path, _) in enumerate(_cells(_parse(text)), 1) if number in sources}
    edits: list[tuple[int, int, str]] = []
    for path, start, end in _values(text):
        if path in paths:
            edits.append((start, end, _source_json(text[start:end], paths[path], text.isascii())))
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    return text


def source_literals(text: str) -> dict[int, list[tuple[int, str]]]:
    """By the number of each cell (from 1), the JSON strings that make up its source, each with its offset in ``text``.

    Raises:
        BadNotebook: not JSON, or not a notebook.
    """
    numbers = {path: number for number, (path, _) in enumerate(_cells(_parse(text)), 1)}
    return {
        numbers[path]: [(start + it.start(), it[0]) for it in _TOKEN.finditer(text[start:end]) if it[0][0] == '"']
        for path, start, end in _values(text)
        if path in numbers
    }


# -- magics -------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)  # typing changes one cell; the others are asked for again
def _as_python(source: str) -> tuple[str, frozenset[int]]:
    """``source`` with everything that is not Python replaced, and the numbers of the lines where it was."""
    stripped = source.lstrip()
    if stripped.startswith("%%"):
        name = re.match(r"%%(\w*)", stripped)
        if name and name[1] in _PYTHON_CELLS:
            at = len(source) - len(stripped)
            blank = _blanked(without_line_end(split_lines(stripped)[0]))
            rest, hidden = _without_magics(source[at + len(blank) :])
            before = source[:at].count("\n")
            return source[:at] + blank + rest, frozenset({before, *(before + number for number in hidden)})
        return _blanked(source), frozenset(range(len(split_lines(source))))
    return _without_magics(source)


def _without_magics(source: str) -> tuple[str, frozenset[int]]:
    if not re.search(r"[%!?]|^[ \t]*[,;/]", source, re.MULTILINE) and not _AUTOMAGIC_ANYWHERE.search(source):
        return source, frozenset()
    pieces: list[str] = []
    hidden: set[int] = set()
    at = line = 0
    while at < len(source):
        end = _end_of_continued_line(source, at)
        if (python := _magic_as_python(source[at:end])) is not None:
            count = len(split_lines(python)) - 1 or 1
            hidden.update(range(line, line + count))
            pieces.append(python)
            line += count
        else:
            logical = read_logical_line(source, at, line)
            end = logical.end
            pieces.append(source[at:end])
            line = logical.last + 1
        at = end
    return "".join(pieces), frozenset(hidden)


def _magic_as_python(text: str) -> str | None:
    """What stands for ``text``, one line with those that a backslash joins to it; None when it is Python."""
    content = text.lstrip(" \t")
    indent = text[: len(text) - len(content)]
    if match := _RUNS_ITS_LINE.match(content):
        code = content[match.end() :]
        if _parses(code):
            return f"{indent}0;{' ' * (match.end() - 2)}{code}"
    if match := _ASSIGNED.match(text):
        value = text[match.end() :]
        return match[0] + _stand_in(value, "__")  # a name that nobody binds: a value that nobody knows
    first = without_line_end(split_lines(text)[0])
    if _MAGIC.match(text) or _HELP.fullmatch(first) or (_AUTOMAGIC.match(text) and not _parses(content)):
        return indent + _stand_in(content, "pass")
    return None


def _stand_in(text: str, name: str) -> str:
    """``name`` and blanks, as long as ``text`` where that is possible, with its line ends."""
    first = without_line_end(split_lines(text)[0])
    name = name if len(first) >= len(name) else "0"
    return name + " " * (len(first) - len(name)) + _blanked(text[len(first) :])


def _blanked(text: str) -> str:
    return re.sub(r"[^\r\n]", " ", text)


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _end_of_continued_line(text: str, at: int) -> int:
    match = _CONTINUED_LINE.match(text, at)
    return match.end() if match else len(text)


def _end_of(cell: Cell) -> Position:
    lines = split_lines(cell.source)
    return Position(len(lines) - 1, len(lines[-1]))


# -- JSON ---------------------------------------------------------------------------------------------------------

_Path = tuple[str | int, ...]
_TOKEN = re.compile(r'"(?:[^"\\]+|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def _parse(text: str) -> dict[str, Any]:
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        raise BadNotebook(f"not JSON: {error.msg} on line {error.lineno}", error.lineno - 1) from error
    except (RecursionError, ValueError) as error:
        raise BadNotebook(f"not a notebook: {error}") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells", notebook.get("worksheets")), list):
        raise BadNotebook("not a notebook: it has no list of cells")
    return notebook


def _cells(notebook: dict[str, Any]) -> Iterable[tuple[_Path, dict[str, Any]]]:
    """The path of each cell's source, and the cell."""
    if isinstance(cells := notebook.get("cells"), list):
        for number, cell in enumerate(cells):
            yield ("cells", number, "source"), cell if isinstance(cell, dict) else {}
    elif isinstance(sheets := notebook.get("worksheets"), list):
        for sheet_number, sheet in enumerate(sheets):
            for number, cell in enumerate(_list(_field(sheet, "cells"))):
                cell = cell if isinstance(cell, dict) else {}
                name = "input" if "input" in cell else "source"
                yield ("worksheets", sheet_number, "cells", number, name), cell


def _code(cell: dict[str, Any]) -> str | None:
    """The text of a Python cell."""
    language = _field(cell, "metadata", "vscode", "languageId") or cell.get("language") or "python"
    if cell.get("cell_type") != "code" or language != "python":
        return None
    source = cell.get("source", cell.get("input"))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else None


def _field(value: object, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _values(text: str) -> Iterable[tuple[_Path, int, int]]:
    """Path, start and end of every value of a valid JSON text, inner ones first."""
    path: list[str | int] = []
    starts: list[int] = []
    expects_key = False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            starts.append(match.start())
            expects_key = token == "{"
            path.append("" if expects_key else 0)
        elif token in "}]":
            path.pop()
            yield tuple(path), starts.pop(), match.end()
            expects_key = False
        elif token == ",":
            last = path[-1]
            expects_key = isinstance(last, str)
            if isinstance(last, int):
                path[-1] = last + 1
        elif token == ":":
            expects_key = False
        elif expects_key:
            path[-1] = json.loads(token)
        else:
            yield tuple(path), match.start(), match.end()


def _source_json(old: str, source: str, ascii_only: bool) -> str:
    """``source`` as JSON in the form of ``old``: a string, or a list of lines laid out like that list."""
    if not old.startswith("["):
        return json.dumps(source, ensure_ascii=ascii_only)
    literals = [match for match in _TOKEN.finditer(old) if match[0].startswith('"')]
    written = {json.loads(match[0]): match[0] for match in literals}
    if "".join(json.loads(match[0]) for match in literals) == source:
        return old  # perhaps not cut into lines
    lines = re.findall(r"[^\n]*\n|[^\n]+", source)
    new = [written.get(line) or json.dumps(line, ensure_ascii=ascii_only) for line in lines]
    if not literals or not new:
        return f"[{', '.join(new)}]"
    lead, tail = old[1 : literals[0].start()], old[literals[-1].end() : -1]
    between = old[literals[0].end() : literals[1].start()] if len(literals) > 1 else f",{lead or ' '}"
    return f"[{lead}{between.join(new)}{tail}]"
