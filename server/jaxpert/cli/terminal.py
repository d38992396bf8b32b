"""Consoles that know when to use colour and how wide they are."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from typing import TextIO

from rich.console import Console


def console_for(stream: TextIO) -> Console:
    """A console on ``stream``: colour only on a terminal, unless NO_COLOR or FORCE_COLOR say otherwise."""
    plain = bool(os.environ.get("NO_COLOR"))
    console = Console(file=stream, color_system=None if plain else "auto", highlight=False, markup=False, emoji=False)
    if console.width < 1:  # COLUMNS=0, which to others than rich means that it is not set
        console.width = shutil.get_terminal_size().columns
    return console


def width_of(stream: TextIO, console: Console) -> int | None:
    """How many cells fit in a row of ``stream``, or None where nobody looks at a window: a pipe, a file."""
    if stream.isatty():
        return console.width
    columns = os.environ.get("COLUMNS", "")
    return int(columns) if columns.isdecimal() and int(columns) > 0 else None


def make_printable(*streams: TextIO) -> None:
    """Let ``streams`` print any character: what their encoding lacks comes out escaped instead of raising."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")


def complain(message: str) -> None:
    """One line on standard error."""
    sys.stderr.write(f"jaxpert: {message}\n")
