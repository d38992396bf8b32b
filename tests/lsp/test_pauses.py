"""What goes on while nobody types, whatever fails; and what a request does not wait for."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.lsp.client import EGLOT, VSCODE, Client, Message, area, server
from tests.lsp.samples import COUNTING, POLICY, at, codes

pytestmark = pytest.mark.asyncio

TAG = "from jax.ad_checkpoint import checkpoint_name\ny = checkpoint_name(1, 'attn_out')\n"
USE = 'import jax\npolicy = jax.checkpoint_policies.save_only_these_names("{}")\nf = jax.checkpoint(len, policy=policy)\n'
NAME = (1, 58)

FAILING = """
import sys
import {module} as module
real = module.{name}
failures = []
def fails(*given, **how):
    if len(failures) < 2 and {condition}:
        failures.append(1); raise OSError("by accident")
    return real(*given, **how)
module.{name} = fails
from jaxpert.lsp.server import run
run()
"""


@pytest.mark.parametrize(
    ("module", "name", "condition"),
    [
        ("jaxpert.syntax.units", "SourceFile.reconcile", "True"),
        ("jaxpert.project.workspace", "Workspace.index", "True"),
        ("jaxpert.project.index", "ProjectIndex._enter", "'tags' in given[1]"),
        ("jaxpert.lsp.session", "diagnostics_of", "'a.py' in str(given[1].path) and given[0]._unreconciled == set()"),
        ("jaxpert.lsp.notes", "Notes.steps", "True"),
    ],
)
async def test_a_failure_is_one_line_and_the_work_goes_on(
    tmp_path: Path, module: str, name: str, condition: str
) -> None:
    (tmp_path / "jaxpert.toml").write_text('jax-version = "0.7.2"\n')
    (tmp_path / "tags.py").write_text(TAG)
    script = FAILING.format(module=module, name=name, condition=condition)
    async with server(tmp_path, sys.executable, "-c", script) as client:
        await client.initialize(EGLOT)
        first = client.open("a.py", "import jax\n")
        uri = client.open("b.py", USE.format("atn_out"))
        version = 1
        while not any("unknown-checkpoint-name" in codes(it["diagnostics"]) for it in client.published):
            version += 1  # only when every file was read, in a pause, can a name be unknown
            client.change(first, version, "import jax\n" * version)
            client.change(uri, version, USE.format("atn_out") + "\n" * version)
            await asyncio.sleep(1.2)
            assert version < 20
        told = [line for line in [*client.logged, client.errors.decode()] if "by accident" in line]
        assert 1 <= len(told) <= 2 and not any("\n" in line.strip() for line in told)


async def renamed(client: Client, uri: str) -> Message:
    """The edit that renames a checkpoint name, as soon as it is not refused any more."""
    for _ in range(60):
        answer = await client.answer("textDocument/rename", {**at(uri, *NAME), "newName": "other"})
        if "error" not in answer:
            return dict(answer["result"])
        await asyncio.sleep(0.25)
    raise AssertionError(answer["error"])


def another_folder(root: Path, client: Client) -> None:
    (root / "sub").mkdir()
    added = [{"uri": (root / "sub").as_uri(), "name": "sub"}]
    client.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": added, "removed": []}})


def other_configuration(root: Path, client: Client) -> None:
    (root / "jaxpert.toml").write_text('jax-version = "0.7.2"\nexclude = ["nothing.py"]\n')
    changes = [{"uri": (root / "jaxpert.toml").as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})


@pytest.mark.parametrize("change", [another_folder, other_configuration])
async def test_a_project_is_read_again_without_an_edit_of_a_client_that_pulls(tmp_path: Path, change: Any) -> None:
    (tmp_path / "jaxpert.toml").write_text('jax-version = "0.7.2"\n')
    (tmp_path / "tags.py").write_text(TAG)
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uri = client.open("a.py", USE.format("attn_out"))
        assert len((await renamed(client, uri))["documentChanges"]) == 2
        change(tmp_path, client)
        assert len((await renamed(client, uri))["documentChanges"]) == 2


WHOLE = area(0, 0, 99, 0)


@pytest.mark.parametrize(
    ("method", "more", "looks"),
    [
        ("hover", {"position": {"line": 6, "character": 16}}, 0),
        ("hover", {"position": {"line": 3, "character": 6}}, 1),  # there is nothing but the finding
        ("completion", {"position": {"line": 6, "character": 16}}, 0),
        ("signatureHelp", {"position": {"line": 6, "character": 24}}, 0),
        ("inlayHint", {"range": WHOLE}, 0),
        ("codeLens", {}, 0),
        ("documentSymbol", {}, 0),
        ("definition", {"position": {"line": 6, "character": 16}}, 0),
        ("diagnostic", {}, 1),
    ],
)
async def test_only_what_tells_findings_asks_the_rules(tmp_path: Path, method: str, more: Message, looks: int) -> None:
    async with server(tmp_path, sys.executable, "-c", COUNTING) as client:
        await client.initialize(VSCODE)
        uri = client.open("block.py", POLICY)
        answer = await client.request(f"textDocument/{method}", {"textDocument": {"uri": uri}, **more})
        assert answer is not None or method == "definition"
        assert sum(line.startswith("analysed") for line in client.logged) == looks
