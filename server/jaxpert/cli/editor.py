"""``jaxpert editor``: what goes into an editor's configuration."""

from __future__ import annotations

import sys

import click

from jaxpert.cli.command import PrintingCommand
from jaxpert.cli.editors import EDITORS, editor_named, server_command, snippet
from jaxpert.cli.terminal import make_printable
from jaxpert.text.near_misses import did_you_mean


def _names(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """What the shell offers for NAME."""
    return [editor.name for editor in EDITORS if editor.name.startswith(begun.lower())]


@click.command(cls=PrintingCommand, short_help="Print the configuration for an editor.")
@click.argument("name", required=False, metavar="[NAME]", shell_complete=_names)
def editor(name: str | None) -> None:
    """Print what goes into the configuration of the editor NAME; without NAME, list the editors."""
    make_printable(sys.stdout)
    if name is None:
        _print_list()
        return
    chosen = editor_named(name)
    if chosen is None:
        names = [known for editor in EDITORS for known in (editor.name, *editor.aliases)]
        guess = did_you_mean(name.lower(), names) or "."
        raise click.UsageError(f"There is no editor `{name}`{guess} `jaxpert editor` lists them all.")
    click.echo(snippet(chosen, server_command()), nl=False)


def _print_list() -> None:
    width = max(len(editor.name) for editor in EDITORS)
    title = max(len(editor.title) for editor in EDITORS)
    for editor in EDITORS:
        click.echo(f"{editor.name:{width}}  {editor.title:{title}}  goes into: {editor.place}")
    click.echo("\nAny other editor with a language client: the command is `jaxpert lsp`, the language Python.")
