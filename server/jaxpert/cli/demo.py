"""``jaxpert demo``: a training script with mistakes, what jaxpert says about it, and the script put right."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import click

from jaxpert.cli.checking import FixMode, Request, check_text
from jaxpert.cli.command import PrintingCommand
from jaxpert.cli.output.text import TextOutput
from jaxpert.cli.output.unified_diff import print_diff
from jaxpert.cli.report import Run
from jaxpert.cli.terminal import console_for, make_printable, width_of
from jaxpert.jaxdb.load import newest_known

_NAME = Path("training.py")


@contextmanager
def _nowhere() -> Iterator[None]:
    """Within, the current folder is an empty one: no configuration and no other file has a say."""
    before = os.getcwd()  # noqa: PTH109
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            yield
        finally:
            os.chdir(before)


@click.command(cls=PrintingCommand, short_help="Show what jaxpert finds in a small training script.")
def demo() -> None:
    """Check a small training script that comes with jaxpert, and show it fixed. Touches no file."""
    make_printable(sys.stdout)
    content = files("jaxpert.cli").joinpath("demo_training.py.txt").read_bytes()
    # The newest JAX that jaxpert knows, so that the demonstration is the same everywhere.
    version = str(newest_known())
    request = Request((_NAME,), {"jax-version": version})
    with _nowhere():
        found = replace(check_text(request, _NAME, content), target=f"JAX {version}")
        fixed = check_text(replace(request, fix=FixMode.UNSAFE), _NAME, content)
    if failure := found.failure or fixed.failure:
        raise click.ClickException(failure)
    console = console_for(sys.stdout)
    output = TextOutput(console, width_of(sys.stdout, console), fix_lines=False)
    click.echo(f"{_NAME}: {len(content.splitlines())} lines that parse. What JAX would make of them:\n")
    output.findings([found])
    output.summary(Run((found,)), "")
    if fixed.change is not None:
        click.echo("\nWhat `jaxpert check --fix --unsafe-fixes` makes of it:\n")
        print_diff(str(_NAME), fixed.change.before, fixed.change.after)
    click.echo("\nYours:     jaxpert check path/to/project\nOne rule:  jaxpert explain policy-falls-through")
