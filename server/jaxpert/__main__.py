"""The command ``jaxpert``: finds the subcommand and imports nothing else.

A language server must start fast, and only ``check`` needs what draws excerpts; so each command's module is
imported when that command is asked for.
"""

from __future__ import annotations

import os
import sys

if __name__ == "__main__":
    # Started by `python -m`, which looks for modules in the current folder first. That is the user's, and may have a
    # file with the name of a module of ours, or of Python's own.
    try:
        _here = os.path.realpath(os.getcwd())  # noqa: PTH109
    except FileNotFoundError:  # it was removed
        _here = ""
    if _here != os.path.realpath(os.path.join(os.path.dirname(__file__), os.pardir)):  # noqa: PTH118, PTH120
        sys.path[:] = [folder for folder in sys.path if folder and os.path.realpath(folder) != _here]

import gc
import importlib
from typing import Any

import click

from jaxpert import __version__
from jaxpert.text.near_misses import did_you_mean

_COMMANDS = {
    "check": "jaxpert.cli.check:check",
    "explain": "jaxpert.cli.explain:explain",
    "rules": "jaxpert.cli.rules:rules",
    "demo": "jaxpert.cli.demo:demo",
    "editor": "jaxpert.cli.editor:editor",
}


class _LazyGroup(click.Group):
    """A group whose commands are imported by name, on request."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*_COMMANDS, *super().list_commands(ctx)]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        commands = self.list_commands(ctx)
        if args and args[0] not in commands and not args[0].startswith("-"):
            ctx.fail(f"There is no command `{args[0]}`{did_you_mean(args[0], commands) or '.'}")
        return super().resolve_command(ctx, args)

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **options: Any) -> click.Context:
        """Also prints the help and the version."""
        if args[:1] == ["lsp"]:
            return super().make_context(info_name, args, *more, **options)
        from jaxpert.cli.command import output_seen_off

        with output_seen_off():
            return super().make_context(info_name, args, *more, **options)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        gc.disable()  # what is imported stays
        try:
            command = getattr(importlib.import_module(module), attribute)
        finally:
            gc.enable()
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="jaxpert", message="%(prog)s %(version)s")
def main() -> None:
    """Find, explain and fix code that real JAX will reject or silently get wrong."""


@main.command(short_help="Run the language server.")
@click.option("--tcp", type=click.IntRange(0, 65535), metavar="PORT", help="Listen on this port instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on with --tcp.")
@click.option("--stdio", is_flag=True, help="Talk through standard input and output. The default.")
def lsp(tcp: int | None, host: str, stdio: bool) -> None:
    """Run the language server, through standard input and output unless --tcp is given."""
    if stdio and tcp is not None:
        raise click.UsageError("--stdio and --tcp exclude each other.")
    from jaxpert.lsp import server

    try:
        server.run(tcp, host)
    except OSError as error:
        if tcp is None:
            raise
        raise click.ClickException(f"cannot listen on {host}:{tcp}: {error.strerror or error}") from error


if __name__ == "__main__":
    main(prog_name="jaxpert")
