"""``jaxpert editor``: every snippet is in the language of its editor, and starts this server."""

from __future__ import annotations

import json
import re
import shutil
import stat
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jaxpert import __version__
from jaxpert.__main__ import main
from jaxpert.cli import editors
from jaxpert.cli.editors import EDITORS, Editor, server_command

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

each_editor = pytest.mark.parametrize("editor", EDITORS, ids=[editor.name for editor in EDITORS])
WORDS = ["jaxpert", "lsp"]


@pytest.fixture(autouse=True)
def on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a `jaxpert` on the PATH, and nothing else."""
    program = tmp_path / "jaxpert"
    program.write_text("#!/bin/sh\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    return program


@pytest.fixture
def nowhere(on_the_path: Path) -> Iterator[None]:
    """Takes the `jaxpert` from the PATH again, and from where Python puts programs."""
    on_the_path.unlink()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sysconfig, "get_path", lambda name, scheme: str(on_the_path.parent))
        yield


def _printed(*arguments: str) -> str:
    result: Result = CliRunner().invoke(main, ["editor", *arguments])
    assert result.exit_code == 0, result.output
    return result.stdout


def _json_with_comments(text: str) -> dict[str, object]:
    value = json.loads("\n".join(line for line in text.splitlines() if not line.startswith("//")))
    assert isinstance(value, dict)
    return value


def test_without_a_name_all_are_listed() -> None:
    lines = _printed().splitlines()
    for editor, line in zip(EDITORS, lines):
        assert re.fullmatch(rf"{editor.name} +{re.escape(editor.title)} +goes into: {re.escape(editor.place)}", line)


@each_editor
def test_a_snippet_says_what_it_is_and_where_it_goes(editor: Editor) -> None:
    text = _printed(editor.name)
    assert f"jaxpert {__version__}" in text
    assert editor.place in text
    assert text.endswith("\n")
    assert "${" not in text


@each_editor
def test_aliases_and_case_do_not_matter(editor: Editor) -> None:
    for name in (editor.name.upper(), *editor.aliases):
        assert _printed(name) == _printed(editor.name)


def test_a_near_miss_is_guessed() -> None:
    result = CliRunner().invoke(main, ["editor", "neovm"])
    assert result.exit_code == 2
    assert "There is no editor `neovm`; did you mean `neovim`?" in result.stderr
    assert "`jaxpert editor` lists them all" in CliRunner().invoke(main, ["editor", "ed"]).stderr


def test_helix_gets_toml() -> None:
    settings = tomllib.loads(_printed("helix"))
    assert settings["language-server"]["jaxpert"] == {"command": "jaxpert", "args": ["lsp"]}
    assert settings["language"] == [{"name": "python", "language-servers": ["jaxpert"]}]


def test_kakoune_gets_toml_inside() -> None:
    [inside] = re.findall(r"lsp_servers %\{(.+?)\n    \}", _printed("kakoune"), re.DOTALL)
    server = tomllib.loads(inside)["jaxpert"]
    assert [server["command"], *server["args"]] == WORDS


def test_kate_gets_json() -> None:
    settings = json.loads(_printed("kate"))
    assert settings["servers"]["python"]["command"] == WORDS
    assert re.search(settings["servers"]["python"]["highlightingModeRegex"], "Python")


def test_sublime_and_zed_get_json_with_comments() -> None:
    sublime = _json_with_comments(_printed("sublime"))
    assert sublime["clients"]["jaxpert"]["command"] == WORDS  # type: ignore[index]
    zed = _json_with_comments(_printed("zed"))
    assert zed["lsp"]["pylsp"]["binary"] == {"path": "jaxpert", "arguments": ["lsp"]}  # type: ignore[index]
    assert "pylsp" in zed["languages"]["Python"]["language_servers"]  # type: ignore[index]


def test_jupyterlab_gets_python() -> None:
    class Configuration:
        def __init__(self) -> None:
            self.LanguageServerManager = self
            self.language_servers: dict[str, dict[str, object]] = {}

    configuration = Configuration()
    exec(_printed("jupyterlab"), {"get_config": lambda: configuration})
    assert configuration.language_servers["jaxpert"]["argv"] == WORDS


@each_editor
def test_without_the_command_on_the_path_it_is_the_installed_one(
    editor: Editor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name, scheme: str(tmp_path))
    installed = shutil.which("jaxpert", path=str(tmp_path))
    assert server_command() == (installed, "lsp")
    assert (str(installed) in _printed(editor.name)) is (editor.name != "vscode")


@each_editor
def test_without_any_command_it_is_this_python(editor: Editor, nowhere: None) -> None:
    command = server_command()
    assert command[0] == sys.executable
    assert command[-3:] == ("-m", "jaxpert", "lsp")
    assert ("-P" in command) is (sys.version_info >= (3, 11))
    text = _printed(editor.name)
    assert (sys.executable in text) is (editor.name != "vscode")


def test_an_environment_of_uvx_is_not_relied_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", str(Path("/home/me/.cache/uv/archive-v0/Xy")))
    assert server_command() == ("uvx", "jaxpert", "lsp")


def test_a_path_with_backslashes_and_quotes_survives(monkeypatch: pytest.MonkeyPatch, nowhere: None) -> None:
    odd = r'C:\Program Files\"größe"\python.exe'
    monkeypatch.setattr(sys, "executable", odd)
    assert json.loads(_printed("kate"))["servers"]["python"]["command"][0] == odd
    assert tomllib.loads(_printed("helix"))["language-server"]["jaxpert"]["command"] == odd


def test_every_file_is_of_an_editor() -> None:
    kept = {path.name for path in Path(editors.__file__).parent.iterdir() if path.suffix not in ("", ".py")}
    assert kept == {editor.file for editor in EDITORS}
