"""Completion, signature help and the docstrings in hovers, as different editors ask for them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psutil
import pytest

from tests.lsp.client import EGLOT, NEOVIM, PATIENCE, VSCODE, Client, Message, area, server
from tests.lsp.samples import applied, at

pytestmark = pytest.mark.asyncio

TEXT = """\
import jax
sign = "é𝔘"; policy = jax.checkpoint_policies.
block = jax.checkpoint(lambda x: x, )
"""
BEFORE_DOT = 'sign = "é𝔘"; policy = jax.checkpoint_policies.'
COLUMN = {"utf-8": len(BEFORE_DOT.encode()), "utf-16": len(BEFORE_DOT.encode("utf-16-le")) // 2}


async def completions(client: Client, uri: str, line: int, character: int) -> dict[str, Message]:
    answer = await client.request("textDocument/completion", at(uri, line, character))
    return {item["label"]: item for item in answer["items"]}


@pytest.mark.parametrize(
    ("profile", "encoding", "snippets", "markdown"),
    [(VSCODE, "utf-16", True, True), (NEOVIM, "utf-8", False, True), (EGLOT, "utf-16", False, False)],
    ids=["vscode", "neovim", "eglot"],
)
async def test_policies_and_options(
    tmp_path: Path, profile: Message, encoding: str, snippets: bool, markdown: bool
) -> None:
    async with server(tmp_path) as client:
        offered = await client.initialize(profile)
        assert "." in offered["completionProvider"]["triggerCharacters"]
        uri = client.open("block.py", TEXT)
        column = COLUMN[encoding]
        items = await completions(client, uri, 1, column)
        bare, factory = items["dots_saveable"], items["save_only_these_names"]
        assert bare["textEdit"] == {"range": area(1, column, 1, column), "newText": "dots_saveable"}
        assert (factory.get("insertTextFormat") == 2) == snippets
        assert factory["textEdit"]["newText"].startswith("save_only_these_names(")
        assert ("${1:" in factory["textEdit"]["newText"]) == snippets
        assert isinstance(factory["documentation"], dict) == markdown

        items = await completions(client, uri, 2, 36)
        assert applied(TEXT, [items["policy="]["textEdit"]]).splitlines()[2] == (
            "block = jax.checkpoint(lambda x: x, policy=)"
        )
        assert await completions(client, uri, 0, 4) == {}


@pytest.mark.parametrize("profile", [VSCODE, EGLOT], ids=["vscode", "eglot"])
async def test_signatures(tmp_path: Path, profile: Message) -> None:
    async with server(tmp_path) as client:
        await client.initialize(profile)
        uri = client.open("block.py", "import jax\njax.checkpoint(f, policy=\n")
        answer = await client.request("textDocument/signatureHelp", at(uri, 1, 25))
        (signature,) = answer["signatures"]
        parameter = signature["parameters"][answer["activeParameter"]]
        start, end = parameter["label"] if profile is VSCODE else (0, 0)
        assert (signature["label"][start:end] or parameter["label"]) == "policy=None"
        assert await client.request("textDocument/signatureHelp", at(uri, 0, 3)) is None


INSTALLED = {
    "jax-0.10.2.dist-info/METADATA": "Metadata-Version: 2.1\nName: jax\nVersion: 0.10.2\n\n",
    "jax/__init__.py": 'from jax._src.ad_checkpoint import checkpoint\nopen(__file__ + ".ran", "w")\n',
    "jax/_src/__init__.py": "",
    "jax/_src/ad_checkpoint.py": 'def checkpoint(fun):\n    """What the installed one says."""\n',
}


async def test_the_docstring_of_the_installed_jax_comes_with_a_later_hover(tmp_path: Path) -> None:
    packages = tmp_path / ".venv" / "lib" / "python3.11" / "site-packages"
    for name, text in INSTALLED.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text, encoding="utf-8")
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uri = client.open("block.py", "import jax\nf = jax.checkpoint(f)\n")

        async def hovered() -> str:
            answer = await client.request("textDocument/hover", at(uri, 1, 8))
            return str(answer["contents"]["value"])

        assert "Recompute the intermediate values" in await hovered()

        async def until_it_is_there() -> None:
            while "What the installed one says." not in await hovered():
                await asyncio.sleep(0.05)

        await asyncio.wait_for(until_it_is_there(), PATIENCE)
        assert "From JAX 0.10.2:" in await hovered()
        assert not list(packages.glob("**/*.ran"))

        children = psutil.Process(client.process.pid).children()
        assert len(children) == 1
        await client.request("shutdown", None)
        client.notify("exit", None)
        await client.ended()
        _, alive = psutil.wait_procs(children, timeout=PATIENCE)
        assert not alive
