"""Settings and configuration files, at the start and while the server runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lsp.client import EGLOT, NEOVIM, VSCODE, Message, area, server
from tests.lsp.samples import POLICY, RULE, codes

pytestmark = pytest.mark.asyncio


async def test_a_broken_configuration_is_shown_on_its_file_until_repaired(tmp_path: Path) -> None:
    config = tmp_path / "pyproject.toml"
    config.write_text(f'[tool.jaxpert]\nignroe = ["{RULE}"]\n')
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uri = client.open("block.py", POLICY)
        assert codes((await client.pulled(uri))["items"]) == [RULE]
        (problem,) = await client.pushed(config.as_uri())
        assert problem["range"] == area(1, 0, 1, 6) and "ignroe" in problem["message"]
        config.write_text(f'[tool.jaxpert]\nignore = ["{RULE}"]\n')
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 2}]})
        assert (await client.pulled(uri))["items"] == []
        assert await client.pushed(config.as_uri(), lambda it: not it["diagnostics"]) == []


@pytest.mark.parametrize(
    "options",
    [{"ignore": [RULE]}, {"settings": {"ignore": ["JXP2"]}}, {"jaxpert": {"enable": False}}, {"exclude": ["b*"]}],
)
async def test_settings_may_come_with_initialize(tmp_path: Path, options: Message) -> None:
    async with server(tmp_path) as client:
        await client.initialize(NEOVIM, initializationOptions=options)
        assert (await client.pulled(client.open("block.py", POLICY)))["items"] == []


async def test_a_setting_that_makes_no_sense_is_shown_and_left_out(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(NEOVIM, initializationOptions={"select": 3, "jaxVersion": "0.4.30"})
        assert codes((await client.pulled(client.open("block.py", POLICY)))["items"]) == [RULE]
        assert any("select" in text for text in client.shown)
        assert any("0.4.30" in text for text in client.logged)


async def test_each_folder_has_its_own_settings(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    one, two, three = (folder.as_uri() for folder in folders)
    async with server(tmp_path) as client:
        client.settings = {one: {"ignore": [RULE]}, two: {"jaxVersion": "0.4.30"}, three: {"enable": False}}
        listed = [{"uri": uri, "name": uri} for uri in (one, two)]
        await client.initialize(VSCODE, workspaceFolders=listed)
        await client.until(lambda: any(method == "workspace/configuration" for method, _ in client.asked))
        await client.settled()
        uris = {name: client.open(f"{name}/block.py", POLICY) for name in ("one", "two", "three")}
        assert (await client.pulled(uris["one"]))["items"] == []
        assert codes((await client.pulled(uris["two"]))["items"]) == [RULE]
        assert any("0.4.30" in line for line in client.logged)
        assert codes((await client.pulled(uris["three"]))["items"]) == [RULE]  # belongs to no folder yet
        event = {"added": [{"uri": three, "name": "three"}], "removed": [{"uri": one, "name": "one"}]}
        asked = len(client.asked)
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        await client.until(lambda: any(method == "workspace/configuration" for method, _ in client.asked[asked:]))
        await client.settled()
        assert (await client.pulled(uris["three"]))["items"] == []
        assert codes((await client.pulled(uris["one"]))["items"]) == [RULE]


@pytest.mark.parametrize("form", ["rootUri", "rootPath"])
async def test_the_root_may_be_named_in_the_old_ways(tmp_path: Path, form: str) -> None:
    root = {"rootUri": tmp_path.as_uri() if form == "rootUri" else None, "rootPath": str(tmp_path)}
    (tmp_path / "jaxpert.toml").write_text(f'ignore = ["{RULE}"]\n')
    async with server(Path("/")) as client:
        await client.initialize(EGLOT, workspaceFolders=None, **root)
        assert await client.pushed(client.open("untitled:Untitled-1", POLICY)) == []
