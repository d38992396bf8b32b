"""What the extension says about itself agrees with what it is; no editor is needed to see that."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from jaxpert import __version__
from jaxpert.lsp.settings import HINTS, Settings, read_settings
from tests.editors.vscode.editor import EXTENSION

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
SOURCES = "\n".join(file.read_text(encoding="utf-8") for file in sorted((EXTENSION / "src").glob("*.ts")))
RUN_SERVER = EXTENSION / "bundled" / "run_server.py"


def properties() -> dict[str, dict[str, Any]]:
    """The settings, without the section."""
    found: dict[str, dict[str, Any]] = MANIFEST["contributes"]["configuration"]["properties"]
    return {name.removeprefix("jaxpert."): setting for name, setting in found.items()}


def test_the_version_is_that_of_the_server() -> None:
    assert MANIFEST["version"] == __version__


def test_what_is_bundled_is_what_the_server_requires() -> None:
    lines = (EXTENSION / "requirements.txt").read_text(encoding="utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    project = tomllib.loads((EXTENSION.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {requirement.name: requirement for requirement in map(Requirement, project["dependencies"])}
    del needed["rich"]  # only the command line draws with it
    for requirement in needed.values():
        assert requirement.name in pinned
        assert requirement.specifier.contains(pinned[requirement.name])


def test_the_defaults_change_nothing() -> None:
    assert read_settings({name: setting["default"] for name, setting in properties().items()}) == Settings()


def test_every_kind_of_hint_has_a_setting() -> None:
    assert {name for name in properties() if name.startswith("inlayHints.")} == {f"inlayHints.{kind}" for kind in HINTS}


def test_programs_are_not_named_by_untrusted_workspaces() -> None:
    restricted = MANIFEST["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert set(restricted) == {"jaxpert.path", "jaxpert.interpreter", "jaxpert.importStrategy", "jaxpert.args"}
    assert {name.removeprefix("jaxpert.") for name in restricted} <= set(properties())


def test_it_wakes_for_python_only() -> None:
    assert MANIFEST["activationEvents"] == ["onLanguage:python", "onNotebook:jupyter-notebook"]


def test_every_command_is_declared_and_registered() -> None:
    declared = {command["command"] for command in MANIFEST["contributes"]["commands"]}
    registered = set(re.findall(r'"(jaxpert\.\w+)": (?:async )?\(', SOURCES))
    assert declared == registered


def test_every_requirement_of_the_page_is_there() -> None:
    page = (EXTENSION / "README.md").read_text(encoding="utf-8")
    steps = MANIFEST["contributes"]["walkthroughs"][0]["steps"]
    pictures = {*re.findall(r"\]\((images/[^)]+)\)", page), *(step["media"]["image"] for step in steps), MANIFEST["icon"]}
    assert not [picture for picture in pictures if not (EXTENSION / picture).is_file()]


@pytest.mark.parametrize("isolated", [(), ("-I",)])
def test_the_installed_server_runs_where_it_is_asked_for(tmp_path: Path, isolated: tuple[str, ...]) -> None:
    """A module of the folder where the editor happens to run is not taken for one of the server's."""
    (tmp_path / "click.py").write_text("raise SystemExit('a module of the working directory was imported')\n")
    environment = {"PYTHONPATH": str(EXTENSION.parent / "server")}
    script = f"import runpy, sys; sys.argv = ['run_server.py', 'fromEnvironment', '--help']; runpy.run_path({str(RUN_SERVER)!r}, run_name='__main__')"
    command = [sys.executable, *isolated, "-c", f"import sys; sys.path.append({environment['PYTHONPATH']!r}); {script}"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "Usage: jaxpert lsp" in done.stdout, done.stderr
