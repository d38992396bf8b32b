"""Fixes, "ignore on this line", "fix all" and hovers, as different editors ask for them."""

from __future__ import annotations

import asyncio
import sys
import textwrap
from pathlib import Path

import pytest

from tests.lsp.client import EGLOT, VSCODE, Message, area, server
from tests.lsp.samples import COUNTING, GOOD, POLICY, RULE, actions_at, applied, at, edits_of

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
        assert "edit" not in await client.request("codeAction/resolve", {"title": "?", "data": {"uri": uri}})


INNER = textwrap.indent(POLICY.removeprefix("import jax\n\n"), "    ")
TWICE = f"import jax\n\ndef one():\n{INNER}\ndef two():\n{INNER}"
FOUND = "            return True\n"
FIXED = FOUND + "        return False\n"


async def test_each_finding_has_its_own_fix_although_the_titles_are_alike(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uri = client.open("block.py", TWICE)
        fixes = [it for it in await actions_at(client, uri, area(0, 0, 99, 0)) if it.get("isPreferred")]
        assert [it["title"] for it in fixes] == [fixes[0]["title"]] * 2
        for number, fix in enumerate(fixes):
            start, first, second = TWICE.split(FOUND)
            expected = (start + FIXED + first + FOUND + second, start + FOUND + first + FIXED + second)[number]
            resolved = await client.request("codeAction/resolve", fix)
            assert applied(TWICE, edits_of(resolved, uri)) == expected


async def test_an_action_for_a_text_that_has_changed_is_refused(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uri = client.open("block.py", TWICE)
        fix, _, ignore, _, everything = await actions_at(client, uri, area(0, 0, 99, 0), only=["quickfix", "source"])
        client.change(uri, 2, ((0, 0, 0, 0), "import os\n"))
        for action in (fix, ignore):
            answer = await client.answer("codeAction/resolve", action)
            assert answer["error"]["code"] == -32801 and "has changed" in answer["error"]["message"]
        resolved = await client.request("codeAction/resolve", everything)  # no place that could be another one by now
        assert applied("import os\n" + TWICE, edits_of(resolved, uri)).count(FIXED) == 2
        client.change(uri, 3, GOOD)
        assert "edit" not in await client.request("codeAction/resolve", everything)


async def test_a_finding_that_went_away_can_still_be_ignored_but_not_fixed(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        uri = client.open("block.py", POLICY)
        fix, ignore, _ = await actions_at(client, uri, area(0, 0, 99, 0))
        client.settings[""] = {"ignore": [RULE]}
        client.notify("workspace/didChangeConfiguration", {"settings": client.settings[""]})
        assert (await client.pulled(uri))["items"] == []
        resolved = await client.request("codeAction/resolve", ignore)
        assert f"# jaxpert: ignore[{RULE}]" in applied(POLICY, edits_of(resolved, uri))
        assert (await client.answer("codeAction/resolve", fix))["error"]["code"] == -32801


LONG = POLICY + "\n" * 1_000


@pytest.mark.parametrize(
    ("profile", "text", "only", "is_offered", "tries"),
    [
        (EGLOT, POLICY, None, True, 1),
        (EGLOT, LONG, None, False, 0),
        (EGLOT, LONG, ["source"], True, 1),
        (EGLOT, LONG, ["quickfix"], False, 0),
        (EGLOT, GOOD, ["source.fixAll"], False, 0),
        (VSCODE, LONG, None, True, 0),
        (VSCODE, LONG, ["source.fixAll"], True, 0),
        (VSCODE, GOOD, ["source.fixAll"], False, 0),
    ],
)
async def test_everything_is_fixed_when_somebody_wants_it(
    tmp_path: Path, profile: Message, text: str, only: list[str] | None, is_offered: bool, tries: int
) -> None:
    async with server(tmp_path, sys.executable, "-c", COUNTING) as client:
        await client.initialize(profile)
        uri = client.open("block.py", text)

        def analysed() -> int:
            return sum(line.startswith("analysed") for line in client.logged)

        before = -1
        while before != analysed():  # in haste, in a pause, when the project is read
            before = analysed()
            await asyncio.sleep(0.5)
            await actions_at(client, uri, area(0, 0, 0, 0), only=["quickfix"])
        context = {"only": only} if only else {}
        offered = [it for it in await actions_at(client, uri, area(3, 6, 3, 6), **context) if "fixAll" in it["kind"]]
        assert [len(offered), analysed() - before] == [is_offered, tries]
        assert all(("edit" in it) == (profile is EGLOT) for it in offered)
        await actions_at(client, uri, area(0, 0, 0, 0), only=["quickfix"])
        assert analysed() - before == tries  # what was known of the document still is


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
