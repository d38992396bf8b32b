"""Diagnostics by push and by pull, in every unit of columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lsp.client import EGLOT, NEOVIM, VSCODE, Message, area, server
from tests.lsp.samples import GOOD, POLICY, RULE, at, codes

pytestmark = pytest.mark.asyncio


async def test_pushing_follows_the_text_and_survives_broken_states(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        capabilities = await client.initialize(EGLOT)
        assert "diagnosticProvider" not in capabilities
        uri = client.open("block.py", POLICY)
        (found,) = await client.pushed(uri)
        assert (found["code"], found["severity"], found["source"]) == (RULE, 1, "jaxpert")
        assert not {"data", "relatedInformation", "codeDescription", "tags"} & found.keys()

        before = len(client.published)
        client.change(uri, 2, ((5, 0, 5, 0), "x = (\n"))
        assert await client.pushed(uri, after=before) == [found]
        client.change(uri, 3, ((5, 0, 6, 0), ""), ((4, 19, 4, 19), "\n    return False"))
        assert await client.pushed(uri, lambda it: not it["diagnostics"]) == []
        client.change(uri, 4, POLICY)
        await client.pushed(uri, lambda it: bool(it["diagnostics"]), after=len(client.published))
        before = len(client.published)
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert await client.pushed(uri, after=before) == []
        assert await client.leave() == 0
        assert (client.stray, client.errors) == (b"", b"")


async def test_pulling_tells_what_changed_and_pushes_nothing(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        capabilities = await client.initialize(VSCODE)
        assert capabilities["diagnosticProvider"]["interFileDependencies"] is True
        uri = client.open("block.py", POLICY)
        first = await client.pulled(uri)
        (found,) = first["items"]
        assert found["codeDescription"]["href"].endswith(f"{RULE}.md")
        assert found["relatedInformation"][0]["location"]["uri"] == uri
        assert found["data"] == {"code": "JXP202"}
        again = await client.pulled(uri, first["resultId"])
        assert again == {"kind": "unchanged", "resultId": first["resultId"]}
        client.change(uri, 2, ((0, 0, 0, 0), "\n"))
        moved = await client.pulled(uri, first["resultId"])
        assert moved["kind"] == "full" and moved["resultId"] != first["resultId"]

        client.settings[""] = {"ignore": [RULE]}
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        await client.until(lambda: any(method == "workspace/diagnostic/refresh" for method, _ in client.asked))
        assert (await client.pulled(uri, moved["resultId"]))["items"] == []
        assert (await client.pulled("file:///nowhere/else.py"))["items"] == []
        assert client.published == []


async def test_versions_are_sent_and_a_burst_ends_with_the_last(tmp_path: Path) -> None:
    profile = {**EGLOT, "textDocument": {**EGLOT["textDocument"], "publishDiagnostics": {"versionSupport": True}}}
    async with server(tmp_path) as client:
        await client.initialize(profile)
        uri = client.open("block.py", POLICY)
        for version in range(2, 60):
            client.change(uri, version, ((0, 0, 0, 0), "#"))
        client.change(uri, 60, ((0, 0, 0, 58), ""), ((5, 0, 5, 0), "    return False\n"))
        assert await client.pushed(uri, lambda it: it.get("version") == 60) == []
        versions = [it["version"] for it in client.published if it["uri"] == uri]
        assert versions == sorted(set(versions))


async def test_other_files_follow_edits_of_this_one(tmp_path: Path) -> None:
    (tmp_path / "policies.py").write_text(POLICY.partition("block")[0])
    use = "import jax\nfrom policies import keep_dots\nf = jax.checkpoint(lambda x: x, policy=keep_dots)\n"
    async with server(tmp_path) as client:
        await client.initialize({**VSCODE, "textDocument": {**VSCODE["textDocument"], "diagnostic": None}})
        policies = client.open("policies.py", GOOD.partition("block")[0])
        uri = client.open("use.py", use)
        assert await client.pushed(uri) == []
        client.change(policies, 2, ((5, 0, 6, 0), ""))
        found = await client.pushed(uri, lambda it: bool(it["diagnostics"]))
        places = [place["location"]["uri"] for it in found for place in it.get("relatedInformation", ())]
        assert policies in places


@pytest.mark.parametrize(("profile", "shift"), [(VSCODE, 2), (NEOVIM, 4)], ids=["utf-16", "utf-8"])
async def test_columns_behind_wide_characters_are_in_the_clients_unit(
    tmp_path: Path, profile: Message, shift: int
) -> None:
    text = POLICY.replace("block =", "x = '😀'; block =")
    async with server(tmp_path) as client:
        await client.initialize(profile)
        uri = client.open("block.py", text)
        (found,) = (await client.pulled(uri))["items"]
        use = found["relatedInformation"][0]["location"]["range"]
        column = text.split("\n")[6].index("keep_dots") - 1 + shift
        assert use == area(6, column, 6, column + len("keep_dots"))

        column = text.split("\n")[6].index("checkpoint") - 1 + shift
        hover = await client.request("textDocument/hover", at(uri, 6, column + 1))
        assert hover["range"]["end"]["character"] == column + len("checkpoint")

        client.change(uri, 2, ((6, 5, 6, 5 + shift), "ä"), ((5, 0, 5, 0), "    return False\n"))
        assert (await client.pulled(uri))["items"] == []


async def test_line_ends_byte_order_marks_and_lone_surrogates(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        for name, text in {
            "crlf.py": POLICY.replace("\n", "\r\n"),
            "cr.py": POLICY.replace("\n", "\r"),
            "bom.py": "\ufeff" + POLICY,
            "feed.py": POLICY.replace("def", "\f\ndef"),
        }.items():
            uri = client.open(name, text)
            (found,) = await client.pushed(uri)
            assert found["range"]["start"]["character"] == 4, name
        uri = (client.root / "cr.py").as_uri()
        client.change(uri, 2, ((4, 19, 4, 19), "\r    return False"))
        assert await client.pushed(uri, lambda it: not it["diagnostics"]) == []
        (told,) = await client.pushed(client.open("surrogate.py", POLICY + "s = '\ud800'\n"))
        assert told["code"] == RULE
        assert client.errors == b""


async def test_one_file_under_two_names_is_two_documents(tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(POLICY)
    (tmp_path / "link.py").symlink_to(tmp_path / "block.py")
    async with server(tmp_path) as client:
        await client.initialize(VSCODE)
        first, second = client.open("block.py", POLICY), client.open("link.py", GOOD)
        assert codes((await client.pulled(first))["items"]) == [RULE]
        assert (await client.pulled(second))["items"] == []
        client.change(first, 2, ((0, 0, 0, 0), "\n"))
        assert (await client.pulled(first))["items"][0]["range"]["start"]["line"] == 4
        assert (await client.pulled(second))["items"] == []
