"""A unified diff on standard output, which ``patch -p0`` understands."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Iterator

from rich.text import Text

from jaxpert.cli.output.source_lines import visible
from jaxpert.cli.terminal import console_for

_STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "-": "red", "+": "green"}
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")


def unified_diff(name: str, before: str, after: str) -> Iterator[str]:
    """The lines, each with its line end. Only ``\\n`` ends a line here, as in every tool that reads diffs."""
    name = _as_patch_reads_it(name)
    lines = difflib.unified_diff(_LINE.findall(before), _LINE.findall(after), name, name)
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _as_patch_reads_it(name: str) -> str:
    """As git writes it: quoted where it has control characters, and ended by a tab where it has blanks."""
    if any(character < " " or character in '"\\\x7f' for character in name):
        escaped = (_ESCAPES.get(it) or (f"\\{ord(it):03o}" if it < " " or it == "\x7f" else it) for it in name)
        return f'"{"".join(escaped)}"'
    return f"{name}\t" if " " in name else name


def print_diff(name: str, before: str, after: str) -> None:
    """Print the diff: exact bytes into a pipe, in colour and without control characters on a terminal."""
    console = console_for(sys.stdout)
    if not console.is_terminal:
        sys.stdout.writelines(unified_diff(name, before, after))
        return
    for line in unified_diff(name, before, after):
        style = next((style for start, style in _STYLES.items() if line.startswith(start)), "")
        shown = "\t".join(visible(part) for part in line.rstrip("\r\n").split("\t"))
        console.print(Text(shown, style, tab_size=4), soft_wrap=True)
