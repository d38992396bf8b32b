"""The extension inside VS Code's own extension host."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.editors.conftest import World
from tests.editors.vscode.editor import failures, run_suite

pytestmark = pytest.mark.vscode


def environment_with_jax(prefix: Path, version: str, python: str = "") -> Path:
    """What a virtual environment with a JAX looks like from outside; ``python`` is the text of its program. Returns
    the program's path; without a text it is a link to the Python of the tests.
    """
    packages = prefix / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (packages / "jax").mkdir(parents=True)
    (packages / f"jax-{version}.dist-info").mkdir()
    (packages / f"jax-{version}.dist-info" / "METADATA").write_text(f"Name: jax\nVersion: {version}\n")
    (prefix / "bin").mkdir()
    (prefix / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).parent}\n")
    program = prefix / "bin" / "python"
    if python:
        program.write_text(python)
        program.chmod(0o755)
    else:
        program.symlink_to(sys.executable)
    return program


def test_one_folder(world: World, record_property: pytest.RecordProperty) -> None:
    # The Python of the tests has libcst, so that there are all fixes.
    outcome = run_suite(world, "features", world.sample.folder, settings={"jaxpert.interpreter": sys.executable})
    record_property("outcome", json.dumps(outcome))
    assert not outcome["failed"], failures(outcome)
    assert len(outcome["steps"]) > 20


def test_two_folders_with_different_versions(world: World) -> None:
    (world.sample.folder / "jaxpert.toml").unlink()
    environment_with_jax(world.sample.folder / ".venv", "0.4.30")
    other = world.place / "other"
    other.mkdir()
    (other / "model.py").write_text(world.sample.model.read_text(encoding="utf-8"), encoding="utf-8")
    environment_with_jax(other / ".venv", "0.7.2")
    workspace = world.place / "both.code-workspace"
    workspace.write_text(json.dumps({"folders": [{"path": str(world.sample.link)}, {"path": str(other)}]}))
    versions = [[str(world.sample.link / "model.py"), "0.4.30"], [str(other / "model.py"), "0.7.2"]]
    outcome = run_suite(world, "folders", workspace, {"versions": versions})
    assert not outcome["failed"], failures(outcome)


def test_beside_the_python_extension(world: World) -> None:
    (world.sample.folder / "jaxpert.toml").unlink()
    found = [
        {"version": version, "path": str(environment_with_jax(world.place / f"jax-{version}", version))}
        for version in ("0.5.3", "0.7.2")
    ]
    stand_in = Path(__file__).parent / "python_extension"
    outcome = run_suite(
        world, "selected_interpreter", world.sample.folder, {"interpreters": found}, extensions=(stand_in,)
    )
    assert not outcome["failed"], failures(outcome)


def test_nothing_of_an_untrusted_workspace_runs(world: World) -> None:
    folder, trap = world.sample.folder, world.place / "a program of the workspace ran"
    snare = f'#!/bin/sh\ntouch "{trap}"\nexec "{sys.executable}" "$@"\n'
    for place in (".venv", "venv", "env"):
        environment_with_jax(folder / place, "0.7.2", snare)
    commands = folder / "tools"
    commands.mkdir()
    for name in ("python", "python3", "jaxpert"):
        (commands / name).write_text(snare)
        (commands / name).chmod(0o755)
    (folder / ".vscode").mkdir()
    wanted = {"jaxpert.path": str(commands / "jaxpert"), "jaxpert.interpreter": str(commands / "python")}
    (folder / ".vscode" / "settings.json").write_text(json.dumps(wanted))
    (world.place / "linked").symlink_to(commands, target_is_directory=True)
    path = os.pathsep.join((str(commands), str(world.place / "linked"), "tools", world.environment["PATH"]))
    outcome = run_suite(
        world,
        "untrusted",
        folder,
        {"trap": str(trap)},
        {"security.workspace.trust.enabled": True, "security.workspace.trust.startupPrompt": "never"},
        variables={"PATH": path, "VIRTUAL_ENV": str(folder / "venv")},
    )
    assert not outcome["failed"], failures(outcome)
    assert not trap.exists()
