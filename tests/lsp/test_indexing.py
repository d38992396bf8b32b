"""Projects are read while nothing else is to be done: the bar, its cancel button, what changes on disk, the cache."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import EGLOT, NEOVIM, VSCODE, Client, Message, server
from tests.lsp.samples import at, codes

pytestmark = pytest.mark.asyncio

UNKNOWN = "unknown-checkpoint-name"
TAG = "from jax.ad_checkpoint import checkpoint_name\ny = checkpoint_name(1, {!r})\n"
USE = 'import jax\npolicy = jax.checkpoint_policies.save_only_these_names("{}")\nf = jax.checkpoint(len, policy=policy)\n'

# A bar from the first step on, a report at each, and steps that leave time to press a button.
PATIENT = (
    sys.executable,
    "-c",
    "import time; from jaxpert.lsp import indexing, progress; progress.PATIENCE = progress.SPACING = 0\n"
    "told = indexing._told; indexing._told = lambda step: (time.sleep(0.01), told(step))[1]\n"
    "import sys; sys.argv = ['jaxpert', 'lsp']; from jaxpert.__main__ import main; main()",
)
# Files of a client that does not watch them are looked at whenever it is quiet.
CURIOUS = (
    sys.executable,
    "-c",
    "from jaxpert.lsp import indexing; indexing.LOOK_AGAIN = -1\n"
    "import sys; sys.argv = ['jaxpert', 'lsp']; from jaxpert.__main__ import main; main()",
)


def with_bars(capabilities: Message) -> Message:
    return {**copy.deepcopy(capabilities), "window": {"workDoneProgress": True}}


def project(root: Path, files: int = 0) -> None:
    (root / "jaxpert.toml").write_text('jax-version = "0.7.2"\n')
    for number in range(files):
        (root / f"tags{number}.py").write_text(TAG.format(f"attn_out_{number}"))


def bars(client: Client) -> list[Message]:
    """What was reported of bars, oldest first, with the token."""
    return [{"token": it["token"], **it["value"]} for it in client.progress]


def kinds(client: Client) -> list[str]:
    return [bar["kind"] for bar in bars(client)]


def says(name: str, unknown: bool) -> Callable[[Message], bool]:
    return lambda params: (UNKNOWN in codes(params["diagnostics"])) is unknown


async def test_a_bar_that_begins_reports_and_ends(tmp_path: Path) -> None:
    project(tmp_path, 30)
    async with server(tmp_path, *PATIENT) as client:
        await client.initialize(with_bars(EGLOT))
        uri = client.open("a.py", USE.format("atn_out_1"))
        await client.pushed(uri, says(UNKNOWN, True))
        await client.until(lambda: "end" in kinds(client))
        shown = bars(client)
        assert kinds(client) == ["begin", *["report"] * (len(shown) - 2), "end"]
        assert len(shown) > 10
        assert {bar["token"] for bar in shown} == {shown[0]["token"]}
        assert ("window/workDoneProgress/create", {"token": shown[0]["token"]}) in client.asked
        assert shown[0]["cancellable"] and "checkpoint names" in shown[0]["title"]
        percentages = [bar["percentage"] for bar in shown[:-1]]
        assert percentages == sorted(percentages)
        assert percentages[-1] > 90
        assert shown[-2]["message"].endswith("of 30 files")
        assert await client.leave() == 0
        assert client.stray == b""


async def test_cancelled_and_asked_for_later(tmp_path: Path) -> None:
    project(tmp_path, 60)
    async with server(tmp_path, *PATIENT) as client:
        await client.initialize(with_bars(EGLOT))
        uri = client.open("a.py", USE.format("attn_out_7"))
        await client.until(lambda: "begin" in kinds(client))
        client.notify("window/workDoneProgress/cancel", {"token": "somebody else's"})
        client.notify("window/workDoneProgress/cancel", {"token": bars(client)[0]["token"]})
        await client.until(lambda: "end" in kinds(client))
        await client.until(lambda: any(line.startswith("cancelled") for line in client.logged))
        client.change(uri, 2, USE.format("attn_out_8"))
        await client.pushed(uri)
        assert bars(client)[-2].get("percentage", 0) < 90
        assert kinds(client).count("begin") == 1
        refusal = await client.answer("textDocument/rename", {**at(uri, 1, 58), "newName": "other"})
        assert "not all read" in refusal["error"]["message"]
        await client.until(lambda: kinds(client).count("end") == 2)
        edit = await client.request("textDocument/rename", {**at(uri, 1, 58), "newName": "other"})
        assert len(edit.get("changes") or edit["documentChanges"]) == 2
        assert client.errors == b""


async def test_a_client_without_bars_has_none(tmp_path: Path) -> None:
    project(tmp_path, 5)
    async with server(tmp_path, *PATIENT) as client:
        await client.initialize(EGLOT)
        uri = client.open("a.py", USE.format("atn_out_1"))
        await client.pushed(uri, says(UNKNOWN, True))
        assert client.progress == []
        assert "window/workDoneProgress/create" not in [method for method, _ in client.asked]


async def test_diagnostics_come_before_the_project_is_read(tmp_path: Path) -> None:
    project(tmp_path, 40)
    async with server(tmp_path, *PATIENT) as client:
        await client.initialize(with_bars(EGLOT))
        uri = client.open("a.py", USE.format("atn_out_1") + "x = jax.checkpoint(len, policy=jax.checkpoint_policies)\n")
        await client.pushed(uri)
        assert "end" not in kinds(client)
        await client.pushed(uri, says(UNKNOWN, True))


@pytest.mark.parametrize(("capabilities", "command"), [(VSCODE, ()), (NEOVIM, CURIOUS)], ids=["watches", "does not"])
async def test_another_branch(tmp_path: Path, capabilities: dict[str, Any], command: tuple[str, ...]) -> None:
    project(tmp_path, 1)
    pushes = copy.deepcopy(capabilities)
    del pushes["textDocument"]["diagnostic"]
    async with server(tmp_path, *command) as client:
        await client.initialize(pushes)
        uri = client.open("a.py", USE.format("attn_out_0"))
        other = client.open("b.py", USE.format("attn_out_new"))
        await client.pushed(other, says(UNKNOWN, True))
        (tmp_path / "tags0.py").unlink()
        (tmp_path / "pkg").mkdir()
        (tmp_path / "pkg/tags.py").write_text(TAG.format("attn_out_new"))
        said = len(client.published)
        if not command:
            changes = [{"uri": (tmp_path / "tags0.py").as_uri(), "type": 3}]
            changes += [{"uri": (tmp_path / "pkg/tags.py").as_uri(), "type": 1}]
            client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        else:
            client.change(uri, 2, USE.format("attn_out_0") + "\n")
        await client.pushed(uri, says(UNKNOWN, True), after=said)
        await client.pushed(other, says(UNKNOWN, False), after=said)


async def test_the_second_start_reads_from_the_cache(tmp_path: Path) -> None:
    root, cache = tmp_path / "project", tmp_path / "cache"
    root.mkdir()
    project(root, 3)
    for _ in range(2):
        async with server(root, JAXPERT_CACHE=str(cache)) as client:
            await client.initialize(EGLOT)
            await client.pushed(client.open("a.py", USE.format("atn_out_1")), says(UNKNOWN, True))
            await client.pushed(client.open("b.py", USE.format("attn_out_2")), says(UNKNOWN, False))
            assert await client.leave() == 0
        (file,) = cache.iterdir()
        assert file.read_bytes().count(b"attn_out_2") > 0
        assert sorted(path.name for path in root.iterdir()) == ["jaxpert.toml", "tags0.py", "tags1.py", "tags2.py"]


@pytest.mark.parametrize("sent", [{"cache": False}, {"cache": {"enable": False}}, {"cache.enable": False}])
async def test_the_user_wants_no_cache(tmp_path: Path, sent: Message) -> None:
    root, cache = tmp_path / "project", tmp_path / "cache"
    root.mkdir()
    project(root, 3)
    async with server(root, JAXPERT_CACHE=str(cache)) as client:
        await client.initialize(EGLOT, initializationOptions=sent)
        await client.pushed(client.open("a.py", USE.format("atn_out_1")), says(UNKNOWN, True))
        await client.leave()
    assert not cache.exists()
