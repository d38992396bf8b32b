"""What all commands that print have in common."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any

import click
from packaging.version import InvalidVersion, Version


class PrintingCommand(click.Command):
    """A command for whose output somebody waits: where it cannot be written, that is said, with exit code 2."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Also prints the help."""
        with output_seen_off():
            return super().make_context(*args, **options)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and see its output off."""
        with output_seen_off():
            return super().invoke(ctx)


@contextlib.contextmanager
def output_seen_off() -> Iterator[None]:
    """Within, what is printed reaches standard output, or the process ends with exit code 2 and says why."""
    # A process that is started with a closed stream has None in its place.
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (open to the end)
    if sys.stdout is None:
        click.echo("jaxpert: standard output is closed", err=True)
        sys.exit(2)
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except OSError as error:
        # Errors about a file bear its name. A reader that had enough is left to click, which ends quietly.
        if error.filename is not None or error.errno in (errno.EPIPE, errno.ENOENT):
            raise
        with contextlib.suppress(OSError):  # it may be standard error that cannot be written
            click.echo(f"jaxpert: standard output: {error.strerror or error}", err=True)
        _discard_output()
        sys.exit(2)


def _discard_output() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not try again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def checked_version(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The value of an option that names a version of JAX. About one that is beyond what is known, that is said.

    Raises:
        click.BadParameter: it is not a version.
    """
    if value is not None:
        try:
            version = Version(value)
        except InvalidVersion as error:
            raise click.BadParameter(f"`{value}` is not a version: write one such as 0.7.2", ctx, param) from error
        from jaxpert.jaxdb.load import beyond_what_is_known

        if beyond := beyond_what_is_known(version):
            click.echo(f"jaxpert: JAX {version} is {beyond}: what is said may not hold for it", err=True)
    return value
