"""Fixes, "ignore on this line", "fix all" and hovers, as different editors ask for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lsp.client import EGLOT, VSCODE, Message, area, server
from tests.lsp.samples import GOOD, POLICY, RULE, actions_at, applied, at, edits_of

pytestmark = pytest.mark.asyncio


async def test_fixes_come_inline_versioned_and_quiet_the_finding(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        uri = client.open("block.py", POLICY)
        (found,) = await client.pushed(uri)
        fix, ignore, everything = await actions_at(client, uri, found["range"])
        assert (fix["kind"], fix["isPreferred"], fix["diagnostics"]) == ("quickfix", True, [found])
        assert fix["edit"]["documentChanges"][0]["textDocument"] == {"uri": uri, "version": 1}
        assert applied(POLICY, edits_of(fix, uri)) == GOOD
        assert ignore["title"] == f"Ignore {RULE} on this line"
        assert f"# jaxpert: ignore[{RULE}]" in applied(POLICY, edits_of(ignore, uri))
        assert everything["kind"] == "source.fixAll.jaxpert"
        assert applied(POLICY, edits_of(everything, uri)) == GOOD

        for only, kinds in (("quickfix", 2), ("source.fixAll", 1), ("source.organizeImports", 0)):
            assert len(await actions_at(client, uri, found["range"], only=[only])) == kinds
        assert await actions_at(client, uri, area(0, 0, 0, 0), only=["quickfix"]) == []

        client.change(uri, 2, applied(POLICY, edits_of(ignore, uri)))
        assert await client.pushed(uri, lambda it: not it["diagnostics"]) == []
        client.change(uri, 3, GOOD)
        assert await actions_at(client, uri, area(0, 0, 9, 0)) == []


async def test_edits_are_resolved_for_clients_that_ask_later(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uri = client.open("block.py", POLICY)
        (found,) = (await client.pulled(uri))["items"]
        offered = await actions_at(client, uri, found["range"])
        assert len(offered) == 3 and not any("edit" in action for action in offered)
        for action, expected in ((offered[0], GOOD), (offered[2], GOOD)):
            resolved = await client.request("codeAction/resolve", action)
            assert applied(POLICY, edits_of(resolved, uri)) == expected
        client.change(uri, 2, GOOD)
        assert "edit" not in await client.request("codeAction/resolve", offered[0])
        assert "edit" not in await client.request("codeAction/resolve", {"title": "?", "data": {"uri": uri}})


@pytest.mark.parametrize(("profile", "kind"), [(VSCODE, "markdown"), (EGLOT, "plaintext")])
async def test_hovers_on_findings_and_names(tmp_path: Path, profile: Message, kind: str) -> None:
    async with server(tmp_path) as client:
        await client.initialize(profile)
        uri = client.open("block.py", POLICY)

        async def hover(line: int, character: int) -> Message | None:
            answer: Message | None = await client.request("textDocument/hover", at(uri, line, character))
            return answer

        finding = await hover(3, 6)
        assert finding is not None and finding["contents"]["kind"] == kind
        assert RULE in finding["contents"]["value"] and "JXP202" in finding["contents"]["value"]
        api = await hover(6, 16)
        assert api is not None and api["range"] == area(6, 8, 6, 22)
        assert ("```python" in api["contents"]["value"]) == (kind == "markdown")
        assert await hover(1, 0) is None
