"""JupyterLab with jupyterlab-lsp, in a browser: a file and a notebook."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.editors.conftest import World, program, until
from tests.editors.sample import COMPLETED, HOVER, MISTAKE, MODEL, NAME, NEW_MISTAKE

pytestmark = pytest.mark.jupyterlab

SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyter-lsp/jupyterlab-lsp/hover": {"autoActivate": True},
}


def test_an_afternoon(world: World) -> None:
    lab, python = program("jupyter-lab", "jupyterlab"), program("python-playwright", "jupyterlab")
    browser = shutil.which("chromium") or program("chromium", "jupyterlab")
    folder = world.sample.folder
    (folder / "model.ipynb").write_text(_notebook(MODEL), encoding="utf-8")
    configuration = world.home / ".jupyter" / "jupyter_server_config.py"
    configuration.parent.mkdir()
    configuration.write_text(world.snippet("jupyterlab"), encoding="utf-8")
    for name, values in SETTINGS.items():
        settings = world.home / ".jupyter" / "lab" / "user-settings" / f"{name}.jupyterlab-settings"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(json.dumps(values), encoding="utf-8")

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = world.place / "lab.log"
    options = ["--no-browser", f"--port={port}", "--port-retries=0", "--ip=127.0.0.1", "--allow-root"]
    options += ["--IdentityProvider.token=", f"--ServerApp.root_dir={folder}", "--JupyterApp.answer_yes=True"]
    with log.open("wb") as output:
        served = subprocess.Popen([lab, *options], cwd=folder, env=world.environment, stdout=output, stderr=output)
    try:
        address = f"http://127.0.0.1:{port}"
        until(lambda: served.poll() is not None or _answers(f"{address}/api"), "JupyterLab")
        texts = {"mistake": MISTAKE, "hover": HOVER, "newMistake": NEW_MISTAKE, "completed": COMPLETED, "name": NAME}
        script = Path(__file__).with_name("jupyterlab_afternoon.py")
        done = subprocess.run(
            [python, str(script), address, browser, json.dumps(texts)],
            cwd=world.place,
            env=world.environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{log.read_text(encoding='utf-8')[-4000:]}"
        until(lambda: not world.servers(), "the end of the server with the last page")
    finally:
        served.send_signal(signal.SIGTERM)
        served.wait(20)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address):
            return True
    except OSError:
        return False


def _notebook(text: str) -> str:
    *cells, last = text.split("\n\n\n")
    made = [
        {"cell_type": "code", "execution_count": None, "id": f"cell-{number}", "metadata": {}, "outputs": [], "source": cell}
        for number, cell in enumerate([*cells, last.rstrip()])
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5})
