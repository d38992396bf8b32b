"""Errors as people paste them: tracebacks of Python, IPython, pytest and rich, logs around them, a bare last line."""

from __future__ import annotations

import re
from dataclasses import field

from jaxpert.records import dataclass

MOST_LINE = 4_000
"""Characters of a line that are looked at: what is longer was not written by anybody."""

_MOST_MESSAGE = 6_000

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_HEADER = re.compile(r"^(?P<prefix>.*?)Traceback \(most recent call last\)")
_BOX = re.compile(r"^\s*[│|](?: |$)|\s*│\s*$")
_CHAINED = ("The above exception was the direct cause", "During handling of the above exception")
_FOOTERS = (
    "For simplicity, JAX has removed its internal frames",
    "The stack trace below excludes JAX-internal frames",
    "The preceding is the original exception that occurred",
    "The preceding stack trace is the source of the JAX operation",
)
_RULE = re.compile(r"^[-=_╰╭─╮╯]{8,}\s*$")
_WRAPPERS = {"UnfilteredStackTrace", "JaxStackTraceBeforeTransformation"}
_FRAMES = tuple(
    re.compile(pattern)
    for pattern in (
        r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>.*))?$',
        r"^File (?P<path>\S.*?):(?P<line>\d+)(?:, in (?P<function>.+))?$",
        r"^(?:Cell |Input )In ?\[(?P<cell>\d+)\],? (?:line (?P<line>\d+)|in (?P<function>.*))",
        r"^<ipython-input-(?P<cell>\d+)-\w+> in (?P<function>.+)$",
        r"^(?P<path>(?:~|/|[A-Za-z]:)\S*\.py) in (?P<function>\S+\(.*\))$",
        r"^ ?(?P<path>\S.*?\.py):(?P<line>\d+) in (?P<function>\S+)\s*$",
        r"^(?P<path>[^\s:].*?\.py):(?P<line>\d+):(?: in (?P<function>\S+)| ?(?P<raised>[\w.]*))$",
    )
)
_ARROW = re.compile(r"^\s*(?:-+>|❱) *(?P<line>\d+) ?(?P<source>.*)$")
_EXCEPTION = re.compile(r"^(?P<name>(?:[^\W\d]\w*\.)*[^\W\d]\w*)(?:: ?(?P<message>.*))?$")
_CLASS_NAME = re.compile(r"(?:Error|Exception|Warning|Interrupt|Exit|Iteration|StackTrace|SimplifiedTraceback)$")
_PYTEST = re.compile(r"^E(?:   +|\s*$)(?P<text>.*)$")
_PYTEST_HEADER = re.compile(r"^_{4,} .* _{4,}$")


@dataclass(frozen=True, slots=True)
class TracebackFrame:
    """One place of a traceback.

    Attributes:
        path: the file as it is written there; "" for a notebook's cell.
        line: one-based; 0 when it is not said.
        function: what runs there; "" when it is not said.
        source: the line of source as it is shown, without indentation; "" when it is not.
        cell: the execution number of a notebook's cell, or None.
    """

    path: str
    line: int
    function: str = ""
    source: str = ""
    cell: int | None = None

    @property
    def is_library(self) -> bool:
        """Whether this is no code of the user's: installed, of Python itself, or made at run time."""
        path = self.path.replace("\\", "/")
        return path.startswith("<") or bool(re.search(r"/(?:site|dist)-packages/|/lib/python\d|/Lib/\w+\.py$", path))


@dataclass(frozen=True, slots=True)
class RaisedError:
    """An exception: its class as written (dotted, or "" when only a text is known), its message, its frames."""

    exception: str
    message: str
    frames: tuple[TracebackFrame, ...] = ()

    @property
    def name(self) -> str:
        """The class without its module."""
        return self.exception.rpartition(".")[2]

    @property
    def user_frames(self) -> tuple[TracebackFrame, ...]:
        """The frames in code of the user's, the innermost first."""
        return tuple(frame for frame in reversed(self.frames) if not frame.is_library)


def read_errors(text: str) -> tuple[RaisedError, ...]:
    """The errors in ``text``, the last one first, each once.

    A text without any is taken for the message of one.
    """
    reader = _Reader()
    for line in _cleaned(text):
        reader.take(line)
    found: list[RaisedError] = []
    for error in reversed(reader.finished()):
        same = next((it for it in found if (it.name, it.message) == (error.name, error.message)), None)
        if same is None:
            found.append(error)
        elif len(same.user_frames) < len(error.user_frames):
            found[found.index(same)] = error
    if not found and text.strip():
        message = "\n".join(_cleaned(text)).strip()
        found.append(RaisedError("", message[-_MOST_MESSAGE:]))
    return tuple(found)


def _cleaned(text: str) -> list[str]:
    """The lines without colours, boxes, and what loggers and launchers put before each line of a traceback."""
    lines = []
    prefix = ""
    in_group = False
    for raw in _ESCAPES.sub("", text).replace("\r\n", "\n").split("\n"):
        line = raw[:MOST_LINE].rpartition("\r")[2].rstrip()  # a progress bar overwrites its line
        header = _HEADER.match(line)
        if header is not None:
            given = header["prefix"]
            in_group = given.strip() == "|" or "Exception Group" in given
            if _CLASS_NAME.search(given.strip()) or "─" in given:  # IPython, rich
                prefix = ""
            else:
                prefix = "" if in_group else given
        if prefix and line.startswith(prefix.rstrip()):
            line = line[len(prefix) :]
        elif in_group or "│" in line:
            line = re.sub(r"^\s*\+-[-+ \d]*$", "", _BOX.sub("", line))
        lines.append(line)
    return lines


@dataclass(slots=True)
class _Open:
    """An error that is still being read."""

    frames: list[TracebackFrame] = field(default_factory=list)
    exception: str = ""
    message: list[str] = field(default_factory=list)
    has_ended: bool = False
    is_traceback: bool = False


class _Reader:
    """Reads line by line; every kind of traceback at once, because logs mix them."""

    def __init__(self) -> None:
        self._errors: list[_Open] = []
        self._now = _Open()
        self._pointed = ""  # pytest shows the source above the place

    def take(self, line: str) -> None:
        """Read the next line."""
        said_by_pytest = _PYTEST.match(line)
        if said_by_pytest is not None:
            line = said_by_pytest["text"]
            if not self._now.has_ended and self._now.exception and not line.startswith((*_CHAINED, *_FOOTERS, "---")):
                self._now.message.append(line)
                return
        if _HEADER.match(line):
            self._begin(is_traceback=True)
        elif line.startswith(_CHAINED) or _PYTEST_HEADER.match(line):
            self._begin()
        elif line.strip().startswith(_FOOTERS):
            self._now.has_ended = True
        elif self._takes_frame(line) or self._takes_source(line) or self._takes_exception(line):
            return
        elif _RULE.match(line):
            self._now.has_ended = bool(self._now.exception)
        elif self._now.exception and not self._now.has_ended:
            self._now.message.append(line)

    def finished(self) -> list[RaisedError]:
        """What was read, in the order of the text."""
        self._begin()
        return [error for one in self._errors if (error := _closed(one)) is not None]

    def _begin(self, is_traceback: bool = False) -> None:
        if self._now.exception:
            self._errors.append(self._now)
        self._now = _Open(is_traceback=is_traceback)

    def _takes_frame(self, line: str) -> bool:
        for pattern in _FRAMES:
            found = pattern.match(line)
            if found is None:
                continue
            parts = found.groupdict()
            if parts.get("raised") is not None:  # pytest: the place comes below the message
                if self._now.exception and not self._now.exception.endswith(parts["raised"] or " "):
                    return False
            elif self._now.exception:
                self._begin()
            cell = int(parts["cell"]) if parts.get("cell") else None
            number, function = int(parts.get("line") or 0), parts.get("function") or ""
            self._now.frames.append(TracebackFrame(parts.get("path") or "", number, function, self._pointed, cell))
            self._pointed = ""
            return True
        return False

    def _takes_source(self, line: str) -> bool:
        """The line of source that belongs to the frame before, or, with pytest, to the next one."""
        frames = self._now.frames
        arrow = _ARROW.match(line)
        if arrow is not None and frames:
            last = frames[-1]
            frames[-1] = TracebackFrame(
                last.path, int(arrow["line"]), last.function, arrow["source"].strip("│ "), last.cell
            )
            return True
        if line.startswith(">  "):
            self._pointed = line[1:].strip()
            return True
        if self._now.exception or not frames or not line.startswith("    ") or frames[-1].source:
            return False
        if frames[-1].line and not re.match(r"^\s*[\^~]+\s*$|^\s*\d+ ", line):
            last = frames[-1]
            frames[-1] = TracebackFrame(last.path, last.line, last.function, line.strip(), last.cell)
        return True

    def _takes_exception(self, line: str) -> bool:
        found = _EXCEPTION.match(line)
        if found is None:
            return False
        just_read = self._now.is_traceback and self._now.frames and not self._now.exception
        if not (_CLASS_NAME.search(found["name"]) or (just_read and not line.startswith(" "))):
            return False
        if self._now.exception:
            self._begin()
        self._now.exception = found["name"]
        self._now.message = [found["message"] or ""]
        return True


def _closed(one: _Open) -> RaisedError | None:
    exception, message = one.exception, "\n".join(one.message).strip()[:_MOST_MESSAGE]
    if exception.rpartition(".")[2] in _WRAPPERS:
        inner = _EXCEPTION.match(message.partition("\n")[0])
        if inner is None:
            return None
        exception = inner["name"]
        message = "\n".join([inner["message"] or "", *message.split("\n")[1:]]).strip()
    if exception.rpartition(".")[2] == "SimplifiedTraceback":
        return None
    return RaisedError(exception, message, tuple(one.frames))
