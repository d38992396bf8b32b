"""VS Code in a browser: started for one test, ended with everything that it started."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.editors.conftest import PATIENCE, World, missing, program, until
from tests.editors.sample import (
    COMPLETED,
    FIXED,
    HOVER,
    HOVERED,
    MISTAKE,
    MODEL,
    NAME,
    NEW_MISTAKE,
    NEW_NAME,
    NEW_RULE,
    RULE,
    Sample,
)  # fmt: skip

HERE = Path(__file__).parent
EXTENSION = HERE.parents[2] / "vscode-client"
LONGEST = 300.0
"""Seconds after which what happens in a window is given up."""

SETTINGS: Mapping[str, object] = {
    "security.workspace.trust.enabled": False,
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.editor.useModal": "off",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "update.mode": "none",
    "chat.disableAIFeatures": True,
    "git.enabled": False,
    "editor.fontSize": 14,
    "editor.minimap.enabled": False,
    "editor.stickyScroll.enabled": False,
    "window.commandCenter": False,
    "window.title": "${activeEditorShort}",
}


def environment(world: World, **more: str) -> dict[str, str]:
    """The variables for the editor: our sources are not on Python's path, so that the bundled server is tested."""
    variables = {name: value for name, value in world.environment.items() if name != "PYTHONPATH"}
    return variables | {"VSCODE_CLI": "1", **more}  # with it, no login shell is asked for its variables


def described(sample: Sample) -> dict[str, str]:
    """The sample project, for suites in JavaScript."""
    return {
        "folder": str(sample.folder), "model": str(sample.model), "train": str(sample.train),
        "outside": str(sample.outside), "text": MODEL, "mistake": MISTAKE, "rule": RULE, "fixed": FIXED,
        "hovered": HOVERED, "hover": HOVER, "completed": COMPLETED, "name": NAME, "newName": NEW_NAME,
        "newMistake": NEW_MISTAKE, "newRule": NEW_RULE,
    }  # fmt: skip


@contextlib.contextmanager
def served(world: World, command: list[str], health: str, variables: dict[str, str]) -> Iterator[int]:
    """Runs a server of the editor on a free port, which is given; ends it as its user would, by the terminal's signal.

    Args:
        command: how it is started, but for the port.
        health: a path that it answers when it is ready.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = world.place / "editor.log"
    with log.open("wb") as output:
        command = [argument.replace("PORT", str(port)) for argument in command]
        process = subprocess.Popen(command, env=variables, stdout=output, stderr=subprocess.STDOUT)
    try:
        until(lambda: _answers(f"http://127.0.0.1:{port}{health}"), f"the editor:\n{log.read_text()}")
        yield port
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def run_suite(
    world: World,
    suite: str,
    opened: Path,
    facts: Mapping[str, object] | None = None,
    settings: Mapping[str, object] | None = None,
    extensions: tuple[Path, ...] = (),
    variables: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Run `host/SUITE.js` inside the extension host of a window on ``opened``, a folder or a workspace file.

    Args:
        facts: what the suite gets to know beside the sample.
        settings: of the user, beside the usual ones.
        extensions: folders of more extensions.
        variables: more environment variables for the editor.

    Returns:
        How it went.
    """
    commands = [program(name, "vscode") for name in ("vscode-server", "node-playwright", "chromium")]
    built()
    data, result = world.place / "data", world.place / "result.json"
    for place in ("User", "Machine"):
        (data / "data" / place).mkdir(parents=True)
        (data / "data" / place / "settings.json").write_text(json.dumps({**SETTINGS, **(settings or {})}))
    for extension in extensions:
        shutil.copytree(extension, data / "extensions" / extension.name)
    known = json.dumps({"sample": described(world.sample), "result": str(result), **(facts or {})})
    server = [commands[0], "--host", "127.0.0.1", "--port", "PORT", "--without-connection-token"]
    server += ["--accept-server-license-terms", "--server-data-dir", str(data), "--telemetry-level", "off"]
    server += ["--enable-smoke-test-driver"]  # without it the page must not name extensions to load from folders
    with served(world, server, "/version", environment(world, JAXPERT_VSCODE_TEST=known, **(variables or {}))) as port:
        remote = f"vscode-remote://127.0.0.1:{port}"
        loaded = ["extensionDevelopmentPath", f"{remote}{quote(str(EXTENSION))}"]
        tests = ["extensionTestsPath", f"{remote}{quote(str(HERE / 'host' / suite))}.js"]
        payload = quote(json.dumps([loaded, tests, ["skipWelcome", "true"]]))
        kind = "folder" if opened.is_dir() else "workspace"
        url = f"http://127.0.0.1:{port}/?{kind}={quote(str(opened))}&payload={payload}"
        screenshot = artefacts() / f"{suite}.png"
        page = [commands[1], str(HERE / "browser" / "open.cjs"), commands[2], str(world.place / "profile"), url]
        with (world.place / "browser.log").open("wb") as log:
            browser = subprocess.Popen([*page, str(screenshot)], env=environment(world), stdin=subprocess.PIPE, stdout=log)
        deadline = time.monotonic() + LONGEST
        try:
            while not result.exists() and time.monotonic() < deadline and browser.poll() is None:
                time.sleep(0.1)
        finally:
            browser.communicate()
    assert result.exists(), f"no result: see {screenshot} and {world.place / 'editor.log'}"
    outcome: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return outcome


def artefacts() -> Path:
    """Where pictures of the tests are kept: JAXPERT_ARTEFACTS, else a folder that git ignores."""
    folder = Path(os.environ.get("JAXPERT_ARTEFACTS") or HERE / "artefacts")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def failures(outcome: dict[str, Any]) -> str:
    """What failed, to be read."""
    return "\n\n".join(f"{name}: {reason}" for name, reason in outcome["failed"].items())


@functools.cache
def built() -> None:
    """Bring what the extension is made of up to date: its bundle, and the server beside it."""
    node = program("node-playwright", "vscode")
    if not (EXTENSION / "node_modules").is_dir():
        missing("the packages of vscode-client are not installed: see .ci/editors/vscode.sh", "vscode")
    subprocess.run([node, "esbuild.mjs", "--production"], cwd=EXTENSION, check=True)
    subprocess.run([sys.executable, "scripts/bundle_server.py"], cwd=EXTENSION, check=True, capture_output=True)


def packaged(folder: Path) -> Path:
    """The extension as a package for every platform: the one that JAXPERT_VSIX names, else made in ``folder``."""
    if ready := os.environ.get("JAXPERT_VSIX"):
        return Path(ready)
    built()
    package = folder / "jaxpert.vsix"
    vsce = [program("node-playwright", "vscode"), "node_modules/@vscode/vsce/vsce", "package", "--no-dependencies"]
    subprocess.run([*vsce, "--out", str(package)], cwd=EXTENSION, check=True, capture_output=True)
    return package
