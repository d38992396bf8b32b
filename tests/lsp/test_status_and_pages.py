"""What an editor can ask us about ourselves, and the pages that it can show."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jaxpert import __version__
from jaxpert.rulekit.page import rule_page
from jaxpert.rules import ALL_RULES
from tests.lsp.client import NEOVIM, VSCODE, Client, Message, server

pytestmark = pytest.mark.asyncio

SOURCE = """\
import jax
# 😀
@jax.checkpoint
def plain(x):
    return x
def keep(prim, *avals, **params):
    return prim.name == "dot_general"
"😀"; block = jax.checkpoint(lambda x: x, policy=jax.checkpoint_policies.dots_saveable)
other = jax.checkpoint(lambda x: x, policy=keep, static_argnums=3)
"""
SHOWING: Message = {**VSCODE, "experimental": {"jaxpertStatus": True}}
WITHOUT_LIBCST = "import sys; sys.modules['libcst'] = None; from jaxpert.__main__ import main; main(['lsp'])"


async def page(client: Client, uri: str, line: int, character: int) -> str | None:
    """What there is to read about the policy at a place."""
    params = {"uri": uri, "position": {"line": line, "character": character}}
    answer: str | None = await client.request("jaxpert/policyPage", params)
    return answer


async def test_the_status_of_a_document(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        settings = {"jaxVersion": "0.7.2", "ignore": ["JXP1"]}
        await client.initialize(initializationOptions=settings)
        uri = client.open("a.py", SOURCE)
        status = await client.request("jaxpert/status", {"uri": uri})
        without = await client.request("jaxpert/status", {})
    left = [rule for rule in ALL_RULES if not rule.code.startswith("JXP1")]
    assert status["jax"] == {"version": "0.7.2", "origin": "setting"}
    assert status["rules"] == {"enabled": len(left), "known": len(ALL_RULES)}
    assert status["server"]["version"] == __version__
    assert Path(status["server"]["python"]) == Path(sys.executable)
    assert status["missing"] == []
    assert (without["jax"], without["rules"]) == (None, None)


async def test_a_server_without_libcst_says_so_and_still_works(tmp_path: Path) -> None:
    async with server(tmp_path, sys.executable, "-c", WITHOUT_LIBCST) as client:
        await client.initialize()
        uri = client.open("a.py", SOURCE)
        found = await client.pushed(uri)
        status = await client.request("jaxpert/status", {"uri": uri})
        actions = [
            action["title"]
            for diagnostic in found
            for action in await client.request(
                "textDocument/codeAction",
                {"textDocument": {"uri": uri}, "range": diagnostic["range"], "context": {"diagnostics": []}},
            )
        ]
        logged = client.logged
    assert status["missing"] == ["libcst"]
    assert {diagnostic["code"] for diagnostic in found} == {"static-argnums-invalid"}
    assert "Ignore static-argnums-invalid on this line" in actions
    assert not [line for line in logged if "crashed" in line]


async def test_the_client_hears_about_changes_when_it_wants_to(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.jaxpert]\n")
    (tmp_path / "b.py").write_text("from jax.ad_checkpoint import checkpoint_name\n")
    heard = {}
    for name, capabilities in (("wants", SHOWING), ("does not", NEOVIM)):
        async with server(tmp_path) as client:
            await client.initialize(capabilities)
            uri = client.open("a.py", SOURCE)
            await client.settled()
            client.notify("workspace/didChangeConfiguration", {"settings": {"jaxpert": {"ignore": ["JXP1"]}}})
            await client.request("jaxpert/status", {"uri": uri})
            heard[name] = client.heard.count("jaxpert/statusChanged")
    assert heard["wants"] > 0
    assert heard["does not"] == 0


async def test_pages_of_rules(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize()
        rules = await client.request("jaxpert/rules", None)
        pages = [await client.request("jaxpert/rulePage", {"name": name}) for name in ("JXP202", "policy-falls-through")]
        unknown = await client.request("jaxpert/rulePage", {"name": "JXP999"})
    rule = next(rule for rule in ALL_RULES if rule.code == "JXP202")
    assert pages == [rule_page(rule)] * 2
    assert unknown is None
    assert [(it["code"], it["name"], it["summary"]) for it in rules] == [(r.code, r.name, r.summary) for r in ALL_RULES]


async def test_pages_of_policies(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize()
        uri = client.open("a.py", SOURCE)
        at_policy = await page(client, uri, 7, SOURCE.splitlines()[7].index("dots_saveable") + 1)
        in_line = await page(client, uri, 7, 0)
        custom = await page(client, uri, 8, 0)
        definition = await page(client, uri, 5, 6)
        checkpointed = await page(client, uri, 3, 5)
        nothing = [await page(client, uri, *place) for place in ((0, 0), (1, 1), (99, 0))]
        elsewhere = await page(client, "file:///nowhere.py", 0, 0)
    assert at_policy == in_line
    assert at_policy is not None
    assert "dots_saveable" in at_policy
    assert custom == definition
    assert custom is not None
    assert "keep" in custom
    assert checkpointed is not None
    assert "plain" in checkpointed
    assert nothing == [None, None, None]
    assert elsewhere is None
