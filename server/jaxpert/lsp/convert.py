"""Between the protocol's words and ours; the only place where columns change their unit.

The protocol counts columns in the unit that client and server agreed on (UTF-8 bytes, UTF-16 units or code
points); everything else here counts code points. Both directions clamp: a position that does not exist becomes
the nearest one that does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from lsprotocol import types

from jaxpert.rulekit.rule import Finding, Severity, Tag
from jaxpert.text.columns import Encoding, decode_column, encode_column
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range, clamp, end_of, without_line_end

_SEVERITY = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFORMATION: types.DiagnosticSeverity.Information,
    Severity.HINT: types.DiagnosticSeverity.Hint,
}
_TAG = {
    Tag.UNNECESSARY: types.DiagnosticTag.Unnecessary,
    Tag.DEPRECATED: types.DiagnosticTag.Deprecated,
}
_DRIVE = re.compile(r"/[A-Za-z]:")
_ENCODINGS: dict[str, Encoding] = {"utf-8": "utf-8", "utf-16": "utf-16", "utf-32": "utf-32"}

SOURCE = "jaxpert"
"""What the client shows as the origin of our diagnostics."""


def negotiate(offered: Sequence[str] | None) -> Encoding:
    """The first unit of ``offered`` that we know; UTF-16, which every client has to know, when there is none."""
    for name in offered or ():
        if encoding := _ENCODINGS.get(str(getattr(name, "value", name))):
            return encoding
    return "utf-16"


def position_from(lines: Sequence[str], position: types.Position, encoding: Encoding) -> Position:
    """The client's ``position`` as one of ours, inside ``lines``."""
    if not 0 <= position.line < len(lines):
        return clamp(lines, Position(position.line, 0))
    line = without_line_end(lines[position.line])
    return Position(position.line, decode_column(line, max(0, position.character), encoding))


def range_from(lines: Sequence[str], area: types.Range, encoding: Encoding) -> Range:
    """The client's ``area`` as one of ours, inside ``lines``, its ends in order."""
    start = position_from(lines, area.start, encoding)
    end = position_from(lines, area.end, encoding)
    return Range(start, end) if start <= end else Range(end, start)


def to_position(lines: Sequence[str], position: Position, encoding: Encoding) -> types.Position:
    """Our ``position`` in the client's unit. The place after a line end is the start of the next line."""
    if not 0 <= position.line < len(lines):
        position = clamp(lines, position)
    text = lines[position.line]
    line = without_line_end(text)
    if len(line) < len(text) <= position.column:
        return types.Position(position.line + 1, 0)
    return types.Position(position.line, encode_column(line, max(0, position.column), encoding))


def to_range(lines: Sequence[str], area: Range, encoding: Encoding) -> types.Range:
    """Our ``area`` in the client's unit."""
    return types.Range(to_position(lines, area.start, encoding), to_position(lines, area.end, encoding))


def whole(lines: Sequence[str]) -> Range:
    """The range of everything in ``lines``."""
    return Range(Position(0, 0), end_of(lines))


def to_text_edits(lines: Sequence[str], edits: Iterable[Edit], encoding: Encoding) -> list[types.TextEdit]:
    """``edits`` over ``lines`` as the protocol writes them."""
    return [types.TextEdit(to_range(lines, edit.range, encoding), edit.new_text) for edit in edits]


def to_diagnostic(
    finding: Finding,
    area: types.Range,
    *,
    url: str | None,
    code: str,
    related: Sequence[types.DiagnosticRelatedInformation] | None,
    tags: bool,
    data: bool,
) -> types.Diagnostic:
    """``finding`` as a diagnostic over ``area``.

    Args:
        url: the page of the rule, or None when the client does not draw such links.
        code: the rule's code, sent as ``data`` when the client keeps it for us.
        related: the converted other places, or None when the client does not show them.
        tags: whether the client fades and strikes.
        data: whether the client sends a diagnostic's data back.
    """
    shown = [_TAG[tag] for tag in finding.tags] if tags else []
    return types.Diagnostic(
        range=area,
        severity=_SEVERITY[finding.severity],
        code=finding.rule,
        code_description=types.CodeDescription(url) if url else None,
        source=SOURCE,
        message=finding.message,
        tags=shown or None,
        related_information=list(related) if related else None,
        data={"code": code} if data else None,
    )


def path_from_uri(uri: str, windows: bool = os.name == "nt") -> str | None:
    """The file that a ``file:`` URI names, or None for another scheme and for what no file can be called.

    ``#`` and ``?`` are taken as parts of the name: not every client encodes them, and none sends a fragment or
    a query with a file.
    """
    scheme, colon, rest = uri.partition(":")
    if not colon or scheme.lower() != "file":
        return None
    host = ""
    if rest.startswith("//"):
        host, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    path = unquote(rest)
    host = "" if host.lower() == "localhost" else unquote(host)
    if windows:
        path = path[1:] if _DRIVE.match(path) else path
        path = path.replace("/", "\\")
        path = f"\\\\{host}{path}" if host else path
    elif host:
        path = f"//{host}{path}"
    return path if _can_be_a_file(path) else None


def _can_be_a_file(path: str) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:  # half of a surrogate pair
        return False


def uri_from_path(path: str, windows: bool = os.name == "nt") -> str:
    """A ``file:`` URI for an absolute ``path``."""
    if windows:
        path = path.replace("\\", "/")
        if path.startswith("//"):
            host, _, rest = path[2:].partition("/")
            return f"file://{quote(host)}/{quote(rest)}"
        return f"file:///{path[:1].upper()}:{quote(path[2:])}" if path[1:2] == ":" else f"file://{quote(path)}"
    return f"file://{quote(path, errors='surrogateescape')}"


def stand_in_path(uri: str, folder: Path) -> Path:
    """A path for a document that is no file on disk (``untitled:``, a notebook cell sent on its own, …).

    It lies where the document's configuration is to be looked for: beside the notebook of a cell, else in
    ``folder``. No file has this name, so disk content never gets in the way.
    """
    scheme, _, rest = uri.partition(":")
    place, _, fragment = rest.partition("#")
    place = unquote(place)
    parent = Path(place).parent if place.startswith("/") and place.count("/") > 1 else folder
    if not _can_be_a_file(str(parent)):
        parent = folder
    name = quote(f"{Path(place).name}#{fragment}", safe=" .#-_", errors="surrogatepass")
    return parent / f"{quote(scheme, errors='surrogatepass')}:{name}.py"
