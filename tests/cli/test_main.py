"""The command itself: its subcommands, its version, and what it leaves unimported."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from jaxpert import __version__
from jaxpert.__main__ import main


def test_help_lists_every_command() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    for command in ("check", "explain", "rules", "demo", "editor", "lsp"):
        assert f"\n  {command} " in result.output


@pytest.mark.parametrize("command", ["check", "explain", "rules", "demo", "editor", "lsp"])
def test_every_command_has_help(command: str) -> None:
    result = CliRunner().invoke(main, [command, "--help"])
    assert result.exit_code == 0
    assert result.output.startswith(f"Usage: main {command}")


def test_version() -> None:
    done = subprocess.run([sys.executable, "-m", "jaxpert", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, f"jaxpert {__version__}\n")


@pytest.mark.parametrize("arguments", [["nonsense"], ["lsp", "--stdio", "--tcp", "1"], ["lsp", "--tcp", "66000"]])
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    assert CliRunner().invoke(main, arguments).exit_code == 2


def test_the_server_starts_without_what_it_does_not_need() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "jaxpert", "lsp"],
        input=b"",
        capture_output=True,
        timeout=60,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.decode().splitlines()}
    assert done.stdout == b""
    assert "jaxpert.lsp.server" in imported
    for unwanted in ("rich", "libcst", "jedi", "jaxpert.cli"):
        assert not {name for name in imported if name == unwanted or name.startswith(f"{unwanted}.")}


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "jaxpert", "lsp", "--tcp", str(port)], capture_output=True, text=True, timeout=60
        )
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}: " in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_command_is_guessed() -> None:
    assert "There is no command `chek`; did you mean `check`?" in CliRunner().invoke(main, ["chek"]).stderr
