"""Writes what ``--fix`` made of the files, unless somebody else changed them in the meantime."""

from __future__ import annotations

from dataclasses import replace

from jaxpert.cli.checking import FixMode, Request, check_files
from jaxpert.cli.report import Change, FileReport, Run
from jaxpert.text.decoding import (
    MAX_NOTEBOOK_BYTES,
    UnreadableSource,
    decode_source,
    read_regular_file,
    write_source,
)


def written(run: Run, request: Request) -> Run:
    """``run`` after its changes were written; a file that could not be written is reported as it is on disk.

    All are written at the end: a fix written at once would change what is found in files that import the fixed one,
    and so the result would depend on the number of processes.
    """
    return replace(run, files=tuple(_written(file, request) for file in run.files))


def _written(file: FileReport, request: Request) -> FileReport:
    if file.change is None:
        return file
    if _is_unchanged(file, file.change):
        try:
            write_source(file.path, file.change.content)
        except OSError as error:
            failure = f"not written: {error.strerror or error}"
        else:
            return file
    else:
        failure = "changed while it was being checked; not fixed"
    (now,), _ = check_files(replace(request, fix=FixMode.NONE), [file.path], 1)
    return replace(now, failure=failure)


def _is_unchanged(file: FileReport, change: Change) -> bool:
    try:
        return decode_source(read_regular_file(file.path, MAX_NOTEBOOK_BYTES), file.path) == change.source
    except UnreadableSource:
        return False
