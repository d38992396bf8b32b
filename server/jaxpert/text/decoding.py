"""Bytes of a source file to text and back, as Python reads them: byte order mark, PEP 263 coding line, UTF-8.

Line ends are kept as they are, so that what is written back differs from the original only where it was edited.
"""

from __future__ import annotations

import codecs
import errno
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from jaxpert.records import dataclass

MAX_SOURCE_BYTES = 5 * 1024 * 1024
"""Larger Python files are generated data, not code that somebody reads."""

MAX_NOTEBOOK_BYTES = 64 * 1024 * 1024
"""Notebooks carry their images with them."""

# PEP 263: on the first or second line, the second only when the first is blank or a comment.
_CODING = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK_OR_COMMENT = re.compile(rb"[ \t\f]*(?:#.*)?\Z")
_LINE_END = re.compile(rb"\r\n|\r|\n")


class UnreadableSource(Exception):
    """A file that cannot be read as source.

    Attributes:
        path: the file.
        reason: lower case, for the user, without the path.
        line: zero-based line of the first bad byte, where there is one.
    """

    def __init__(self, path: str | Path, reason: str, line: int | None = None) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = Path(path)
        self.reason = reason
        self.line = line


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file and how its bytes meant it.

    Attributes:
        text: with the original line ends, without the byte order mark.
        encoding: a name that ``codecs.lookup`` accepts.
        bom: whether a UTF-8 byte order mark came first.
    """

    text: str
    encoding: str = "utf-8"
    bom: bool = False

    def encode(self, text: str) -> bytes:
        """``text`` as bytes in this file's encoding.

        Raises:
            UnicodeEncodeError: a character of ``text`` does not exist in it.
        """
        data = text.encode(self.encoding)
        return codecs.BOM_UTF8 + data if self.bom else data


def read_source(path: Path, limit: int = MAX_SOURCE_BYTES) -> SourceText:
    """The text of the file at ``path``.

    Raises:
        UnreadableSource: no such file, no permission, a folder or device, more than ``limit`` bytes, binary, or
            bytes that are not in the encoding that the file claims.
    """
    return decode_source(read_regular_file(path, limit), path)


def read_regular_file(path: str | Path, limit: int) -> bytes:
    """The content of the file at ``path``. Never waits, and never holds more than ``limit`` bytes and one.

    Raises:
        UnreadableSource: no such file, no permission, a folder, pipe or device, or more than ``limit`` bytes.
    """
    try:
        # O_NONBLOCK: opening a named pipe must not wait for somebody to write to it.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:  # noqa: PTH123 (a descriptor, not a path)
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UnreadableSource(path, _what_it_is(status.st_mode))
            data = file.read(limit + 1)
    except OSError as error:
        raise UnreadableSource(path, _os_reason(path, error)) from error
    except ValueError as error:  # a null character in the path
        raise UnreadableSource(path, "not a possible path") from error
    if len(data) > limit:
        raise UnreadableSource(path, f"larger than {limit // (1024 * 1024)} MB: not read")
    return data


def decode_source(data: bytes, path: str | Path = "<stdin>") -> SourceText:
    """The text of ``data``; ``path`` is only for the error.

    Raises:
        UnreadableSource: binary, an unknown encoding, or bytes that are not in the encoding that ``data`` claims.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UnreadableSource(path, "UTF-16 text: Python cannot run it; save it as UTF-8", 0)
    bom = data.startswith(codecs.BOM_UTF8)
    if bom:
        data = data[len(codecs.BOM_UTF8) :]
    if (null := data.find(b"\0")) >= 0:
        line = _line_of(data, null)
        raise UnreadableSource(path, f"binary: null byte on line {line + 1}", line)
    encoding, coding_line = _declared_encoding(data, path)
    if bom and encoding != "utf-8":
        reason = f"a UTF-8 byte order mark, but the coding line says {encoding}"
        raise UnreadableSource(path, reason, coding_line)
    try:
        return SourceText(data.decode(encoding), encoding, bom)
    except UnicodeDecodeError as error:
        line = _line_of(data, error.start)
        advice = "" if coding_line is not None else "; save it as UTF-8 or give it a coding line (PEP 263)"
        reason = f"not {encoding}: byte 0x{data[error.start]:02x} on line {line + 1}{advice}"
        raise UnreadableSource(path, reason, line) from error
    except UnicodeError as error:
        raise UnreadableSource(path, f"not {encoding}: {error}", coding_line) from error


def write_source(path: Path, data: bytes) -> None:
    """Replace the content of the file at ``path`` in one step: a full disk or a crash leaves the old content.

    The file's permissions stay, and a symbolic link goes on pointing to it.

    Raises:
        OSError: the folder or the file cannot be written.
    """
    target = path.resolve()
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".new")
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(data)
        shutil.copymode(target, temporary)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _declared_encoding(data: bytes, path: str | Path) -> tuple[str, int | None]:
    """The codec's own name, and the zero-based coding line if there is one."""
    for number, line in enumerate(_LINE_END.split(data[:4096], 2)[:2]):
        if match := _CODING.match(line):
            name = match[1].decode("ascii", "replace")
            try:
                encoding = codecs.lookup(_without_line_end_mark(name)).name
                ascii_compatible = "# coding".encode(encoding) == b"# coding"
            except (LookupError, UnicodeError):
                raise UnreadableSource(path, f"unknown encoding `{name}` in the coding line", number) from None
            if not ascii_compatible:
                raise UnreadableSource(path, f"the coding line says {encoding}, but is not written in it", number)
            return encoding, number
        if not _BLANK_OR_COMMENT.match(line):
            break
    return "utf-8", None


def _without_line_end_mark(name: str) -> str:
    """Emacs writes ``utf-8-unix``; Python reads any ``utf-8-…`` and ``latin-1-…`` by its beginning."""
    normal = name.lower().replace("_", "-")
    for known in ("utf-8", "latin-1", "iso-8859-1", "iso-latin-1"):
        if normal == known or normal.startswith(f"{known}-"):
            return "utf-8" if known == "utf-8" else "latin-1"
    return name


def _line_of(data: bytes, offset: int) -> int:
    return len(_LINE_END.findall(data, 0, offset))


def _what_it_is(mode: int) -> str:
    return "a folder" if stat.S_ISDIR(mode) else "not a regular file"


def _os_reason(path: str | Path, error: OSError) -> str:
    # pathlib's tests of a path raise when it is too long.
    if isinstance(error, FileNotFoundError):
        return "a broken symbolic link" if os.path.islink(path) else "no such file"  # noqa: PTH114
    # Windows answers a folder with "permission denied".
    if isinstance(error, IsADirectoryError) or os.path.isdir(path):  # noqa: PTH112
        return "a folder"
    if isinstance(error, PermissionError):
        return "permission denied"
    if error.errno == errno.ENXIO:  # a socket
        return "not a regular file"
    if error.errno == errno.ELOOP:
        return "a symbolic link that leads to itself"
    return (error.strerror or str(error)).lower()
