"""The packaged extension, installed as its users install it, through the user interface.

The pictures of this pass are kept; with JAXPERT_PICTURES=1 those of the README are made anew.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.editors.conftest import World, program, until
from tests.editors.vscode.editor import (
    EXTENSION,
    HERE,
    LONGEST,
    SETTINGS,
    artefacts,
    described,
    environment,
    failures,
    packaged,
    served,
)

pytestmark = pytest.mark.vscode

BLOCK = '''\
"""A block of a transformer, rematerialized 🚀."""
import jax
from jax.ad_checkpoint import checkpoint_name


def keep_dots(prim, *avals, **params):
    if prim.name == "dot_general":
        return True


def mlp(x, w_up, w_down):
    h = checkpoint_name(jax.nn.gelu(x @ w_up), "mlp_up")
    return checkpoint_name(h @ w_down, "mlp_out")


cheap = jax.checkpoint(mlp, policy=keep_dots)

names = jax.checkpoint_policies.save_only_these_names("mlp_up", "mlp_ot")
block = jax.checkpoint(mlp, policy=names)
'''
CELLS = (
    "import jax\n\ndef layer(x, w):\n    return jax.nn.gelu(x @ w)",
    '"🎉"; step = jax.checkpoint(layer, policy=jax.checkpoint_policies.dots_saveable())',
)
MOST_BYTES = 12_000_000


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the extension as it is now."""
    return packaged(tmp_path_factory.mktemp("package"))


def test_the_package_is_small_and_whole(package: Path) -> None:
    assert package.stat().st_size < MOST_BYTES
    names = zipfile.ZipFile(package).namelist()
    assert {"extension/out/extension.js", "extension/bundled/run_server.py", "extension/readme.md"} <= set(names)
    assert "extension/bundled/libs/jaxpert/__main__.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd", ".ts", ".map")) or "node_modules" in name]
    manifest = json.loads(zipfile.ZipFile(package).read("extension/package.json"))
    pictures = {step["media"]["image"] for step in manifest["contributes"]["walkthroughs"][0]["steps"]}
    assert {f"extension/{picture}" for picture in pictures} <= set(names)


def test_the_whole_way_through_the_user_interface(world: World, package: Path) -> None:
    code, node, chromium = (program(name, "vscode") for name in ("code-server", "node-playwright", "chromium"))
    folder = world.sample.folder
    (folder / "block.py").write_text(BLOCK, encoding="utf-8")
    cells = [{"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None} for text in CELLS]
    kernel = {"language_info": {"name": "python"}}
    (folder / "notes.ipynb").write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    data = world.place / "data"
    settings = data / "User" / "settings.json"
    settings.parent.mkdir(parents=True)
    wanted = {**SETTINGS, "jaxpert.interpreter": sys.executable}
    settings.write_text(json.dumps(wanted))
    configuration = world.place / "config.yaml"
    configuration.write_text("auth: none\n")
    common = [code, "--user-data-dir", str(data), "--extensions-dir", str(world.place / "extensions")]
    common += ["--config", str(configuration)]
    variables = environment(world)
    subprocess.run([*common, "--install-extension", str(package)], env=variables, check=True, capture_output=True)
    server = [*common, "--auth", "none", "--bind-addr", "127.0.0.1:PORT", "--disable-telemetry", "--disable-update-check"]
    server += ["--disable-workspace-trust", "--disable-getting-started-override"]
    result = world.place / "result.json"
    with served(world, server, "/healthz", variables) as port:
        opened = quote(json.dumps([["openFile", f"vscode-remote://127.0.0.1:{port}{quote(str(world.sample.model))}"]]))
        facts = {
            "sample": described(world.sample),
            "settings": wanted,
            "chromium": chromium,
            "profile": str(world.place / "profile"),
            "pictures": str(artefacts()),
            "result": str(result),
            "url": f"http://127.0.0.1:{port}/?folder={quote(str(folder))}&payload={opened}",
        }
        command = [node, str(HERE / "browser" / "user_interface.cjs"), json.dumps(facts)]
        browser = subprocess.Popen(command, env=variables, stdin=subprocess.PIPE)
        try:
            deadline = time.monotonic() + LONGEST
            while not result.exists() and time.monotonic() < deadline and browser.poll() is None:
                time.sleep(0.1)
            outcome = json.loads(result.read_text(encoding="utf-8"))
            assert not outcome["failed"], failures(outcome)
            (host,) = world.processes("--type=extensionHost")
            servers = world.processes("run_server.py")
            assert servers
            host.kill()  # a crash: the server sees that nobody is left
            until(lambda: not any(server.is_running() for server in servers), "the end of the server")
        finally:
            browser.communicate()
    if os.environ.get("JAXPERT_PICTURES"):
        for picture in ("diagnostics", "quick-fix", "hover", "hints", "rule-page", "notebook", "status"):
            shutil.copyfile(artefacts() / f"{picture}.png", EXTENSION / "images" / f"{picture}.png")
