"""Whole sessions with a server process, as editors hold them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range
from tests.lsp.client import COMMAND, EGLOT, NEOVIM, VSCODE, Client, Message, area, server

pytestmark = pytest.mark.asyncio

RULE = "policy-falls-through"
POLICY = """\
import jax

def keep_dots(prim, *avals, **params):
    if prim.name == "dot_general":
        return True

block = jax.checkpoint(lambda x: x, policy=keep_dots)
"""
GOOD = POLICY.replace("        return True\n", "        return True\n    return False\n")


def codes(diagnostics: list[Message]) -> list[str]:
    """The names of the rules."""
    return [diagnostic["code"] for diagnostic in diagnostics]


def applied(text: str, edits: list[Message]) -> str:
    """``text`` with edits of the protocol (columns in ASCII lines, so no unit matters)."""

    def place(position: Message) -> Position:
        return Position(position["line"], position["character"])

    return apply_edits(text, [Edit(Range(place(it["range"]["start"]), place(it["range"]["end"])), it["newText"]) for it in edits])


def edits_of(action: Message, uri: str) -> list[Message]:
    """The edits of an action, in whichever form they are."""
    edit = action["edit"]
    if "changes" in edit:
        return list(edit["changes"][uri])
    return [each for change in edit["documentChanges"] if change["textDocument"]["uri"] == uri for each in change["edits"]]


async def actions_at(client: Client, uri: str, where: Message, **context: object) -> list[Message]:
    """The code actions at a range."""
    params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": [], **context}}
    return list(await client.request("textDocument/codeAction", params) or [])


# -- diagnostics ------------------------------------------------------------------------------------------------------


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


# -- encodings --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("profile", "shift"), [(VSCODE, 2), (NEOVIM, 4)], ids=["utf-16", "utf-8"])
async def test_columns_behind_wide_characters_are_in_the_clients_unit(tmp_path: Path, profile: Message, shift: int) -> None:
    text = POLICY.replace("block =", "x = '😀'; block =")
    async with server(tmp_path) as client:
        await client.initialize(profile)
        uri = client.open("block.py", text)
        (found,) = (await client.pulled(uri))["items"]
        use = found["relatedInformation"][0]["location"]["range"]
        column = text.split("\n")[6].index("keep_dots") - 1 + shift
        assert use == area(6, column, 6, column + len("keep_dots"))

        column = text.split("\n")[6].index("checkpoint") - 1 + shift
        where = {"textDocument": {"uri": uri}, "position": {"line": 6, "character": column + 1}}
        hover = await client.request("textDocument/hover", where)
        assert hover["range"]["end"]["character"] == column + len("checkpoint")

        client.change(uri, 2, ((6, 5, 6, 5 + shift), "ä"), ((5, 0, 5, 0), "    return False\n"))
        assert (await client.pulled(uri))["items"] == []


async def test_line_ends_marks_and_lone_surrogates(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        for name, text in {
            "crlf.py": POLICY.replace("\n", "\r\n"),
            "cr.py": POLICY.replace("\n", "\r"),
            "bom.py": "\ufeff" + POLICY,
            "feed.py": POLICY.replace("def", "\f\ndef"),
            "surrogate.py": POLICY + "s = '\ud800'\n",
        }.items():
            uri = client.open(name, text)
            (found,) = await client.pushed(uri)
            assert found["range"]["start"]["character"] == 4, name
        uri = (client.root / "cr.py").as_uri()
        client.change(uri, 2, ((4, 19, 4, 19), "\r    return False"))
        assert await client.pushed(uri, lambda it: not it["diagnostics"]) == []
        assert client.errors == b""


# -- actions and hovers -----------------------------------------------------------------------------------------------


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
            where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
            answer: Message | None = await client.request("textDocument/hover", where)
            return answer

        finding = await hover(3, 6)
        assert finding is not None and finding["contents"]["kind"] == kind
        assert RULE in finding["contents"]["value"] and "JXP202" in finding["contents"]["value"]
        api = await hover(6, 16)
        assert api is not None and api["range"] == area(6, 8, 6, 22)
        assert ("```python" in api["contents"]["value"]) == (kind == "markdown")
        assert await hover(1, 0) is None


# -- configuration ----------------------------------------------------------------------------------------------------


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
    "options", [{"ignore": [RULE]}, {"settings": {"ignore": ["JXP2"]}}, {"jaxpert": {"enable": False}}, {"exclude": ["b*"]}]
)
async def test_settings_may_come_with_initialize(tmp_path: Path, options: Message) -> None:
    async with server(tmp_path) as client:
        await client.initialize(NEOVIM, initializationOptions=options)
        assert (await client.pulled(client.open("block.py", POLICY)))["items"] == []


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


# -- notebooks --------------------------------------------------------------------------------------------------------


async def test_notebook_cells_are_one_module_and_have_their_own_diagnostics(tmp_path: Path) -> None:
    notebook = "file:///n/a%20b.ipynb"
    names = [f"vscode-notebook-cell:/n/a%20b.ipynb#W{number}" for number in range(4)]
    head, _, use = POLICY.partition("block")
    texts = ["%matplotlib inline\nimport jax", head.partition("\n\n")[2], "!ls 😀\nblock" + use, "# text"]

    def item(number: int, language: str = "python") -> Message:
        return {"uri": names[number], "languageId": language, "version": 1, "text": texts[number]}

    def cells(*numbers: int) -> list[Message]:
        return [{"kind": 1 if number == 3 else 2, "document": names[number]} for number in numbers]

    def change(version: int, **changes: object) -> None:
        identifier = {"uri": notebook, "version": version}
        client.notify("notebookDocument/didChange", {"notebookDocument": identifier, "change": {"cells": changes}})

    async with server(tmp_path) as client:
        capabilities = await client.initialize(VSCODE)
        assert capabilities["notebookDocumentSync"]["notebookSelector"]
        opened = {"uri": notebook, "notebookType": "jupyter-notebook", "version": 1, "cells": cells(0, 1, 2, 3)}
        documents = [item(0), item(1), item(2), item(3, "markdown")]
        client.notify("notebookDocument/didOpen", {"notebookDocument": opened, "cellTextDocuments": documents})
        (found,) = await client.pushed(names[1])
        assert found["range"]["start"] == {"line": 1, "character": 4}
        assert found["relatedInformation"][0]["location"]["uri"] == names[2]
        assert (await client.pulled(names[1]))["items"] == []

        fix, *_ = await actions_at(client, names[1], found["range"])
        resolved = await client.request("codeAction/resolve", fix)
        assert "    return False" in applied(texts[1], edits_of(resolved, names[1]))
        where = {"textDocument": {"uri": names[2]}, "position": {"line": 1, "character": 16}}
        assert (await client.request("textDocument/hover", where))["range"] == area(1, 8, 1, 22)

        before = len(client.published)
        edit = {"document": {"uri": names[1], "version": 2}, "changes": [{"range": area(0, 0, 0, 0), "text": "# 😀\n"}]}
        change(2, textContent=[edit])
        (moved,) = await client.pushed(names[1], after=before)
        assert moved["range"]["start"] == {"line": 2, "character": 4}

        before = len(client.published)  # the use goes before the policy: a move
        change(3, structure={"array": {"start": 1, "deleteCount": 2, "cells": cells(2, 1)}})
        await client.settled()
        change(4, structure={"array": {"start": 1, "deleteCount": 2, "cells": cells(1, 2)}})
        change(  # the cell with the policy becomes text
            5,
            structure={
                "array": {"start": 1, "deleteCount": 1, "cells": cells(1)},
                "didOpen": [item(1, "markdown")],
                "didClose": [{"uri": names[1]}],
            },
        )
        assert await client.pushed(names[1], lambda it: not it["diagnostics"], after=before) == []
        closed = [{"uri": name} for name in names]
        client.notify("notebookDocument/didClose", {"notebookDocument": {"uri": notebook}, "cellTextDocuments": closed})
        assert await client.leave() == 0
        assert client.errors == b""


# -- names of documents -----------------------------------------------------------------------------------------------


async def test_uris_are_given_back_as_they_came(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        for uri in (
            "file:///c%3A/Users/me/block.py",
            "file:///C:/Users/me/block.py",
            "file://server/share/block.py",
            "file:///tmp/%E6%BC%A2%20%F0%9F%98%80.py",
            "untitled:Untitled-1",
            "vscode-notebook-cell:/n/a.ipynb#W0sZmlsZQ%3D%3D",
            "vscode-vfs://github/a/b/block.py",
        ):
            client.open(uri, POLICY)
            assert codes(await client.pushed(uri)) == [RULE]
            before = len(client.published)
            client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
            assert await client.pushed(uri, after=before) == []
        assert client.errors == b""


# -- what goes wrong --------------------------------------------------------------------------------------------------


async def test_nonsense_is_refused_and_the_session_goes_on(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        assert (await client.answer("textDocument/hover", {}))["error"]["code"] == -32002
        client.notify("textDocument/didOpen", {})
        await client.initialize(EGLOT)
        assert (await client.answer("initialize", {"capabilities": {}}))["error"]["code"] == -32600
        client.send_bytes(b"{not json")
        client.send_bytes(b"[]")
        client.send_bytes(b"\xff\xfe")
        client.notify("textDocument/didOpen", {"textDocument": 3})
        client.notify("textDocument/didChange", None)
        client.notify("no/suchNotification", {"x": 1})
        client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///not/open.py"}})
        client.change("file:///not/open.py", 7, "x")
        client.notify("$/cancelRequest", {"id": 999})
        assert "error" in await client.answer("textDocument/hover", {"textDocument": None})
        assert (await client.answer("no/suchRequest", None))["error"]["code"] == -32601
        nowhere = {"textDocument": {"uri": "file:///not/open.py"}, "position": {"line": 0, "character": 0}}
        assert await client.request("textDocument/hover", nowhere) is None
        assert await actions_at(client, "file:///not/open.py", area(0, 0, 0, 0)) == []

        uri = client.open("block.py", POLICY)
        client.change(uri, 2, ((900, 5, 900, 9), "\n"), ((2, 999, 2, 2_147_483_647), ""), ((6, 0, 5, 0), ""))
        client.change(uri, 3, ((-1, -5, 0, 0), ""))
        assert codes(await client.pushed(uri)) == [RULE]
        where = {"textDocument": {"uri": uri}, "position": {"line": 999, "character": 999}}
        assert await client.request("textDocument/hover", where) is None
        client.open("notes.md", "# text", "markdown")
        uri = client.open("gone.py", POLICY)
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        assert await client.leave() == 0


async def test_a_document_that_is_too_large_is_not_analysed_until_it_shrinks(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        large = POLICY + "# padding\n" * 600_000
        uri = client.open("large.py", large)
        (only,) = await client.pushed(uri)
        assert only["severity"] == 3 and "not analysed" in only["message"]
        client.change(uri, 2, ((7, 0, 900_000, 0), ""))
        assert codes(await client.pushed(uri, lambda it: "code" in it["diagnostics"][0])) == [RULE]
        client.change(uri, 3, large)
        before = len(client.published)
        (only,) = await client.pushed(uri, lambda it: "code" not in it["diagnostics"][0], after=before)
        assert await client.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": {"line": 6, "character": 16}}) is None


PATCHED = """
import os, sys
import jaxpert.engine.analyze as engine
real = engine.analyze
def noisy(snapshot):
    print("from Python"); os.write(1, b"from below"); os.system("echo from a child")
    if "crash" in str(snapshot.path): raise ValueError("of ours")
    return real(snapshot)
engine.analyze = noisy
from jaxpert.lsp.server import run
run()
"""


async def test_stray_output_and_failures_do_not_reach_the_protocol(tmp_path: Path) -> None:
    async with server(tmp_path, sys.executable, "-c", PATCHED) as client:
        await client.initialize(EGLOT)
        crash = client.open("crash.py", POLICY)
        where = {"textDocument": {"uri": crash}, "position": {"line": 6, "character": 16}}
        assert await client.request("textDocument/hover", where) is None
        assert any("hover failed: ValueError: of ours" in line and "\n" not in line for line in client.logged)
        assert codes(await client.pushed(client.open("block.py", POLICY))) == [RULE]
        assert await client.leave() == 0
        assert client.stray == b""
        assert b"from below" in client.errors and b"from a child" in client.errors


# -- the end ----------------------------------------------------------------------------------------------------------


async def test_after_shutdown_nothing_but_exit_is_answered(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        await client.request("shutdown", None)
        assert (await client.answer("textDocument/hover", {}))["error"]["code"] == -32600
        client.notify("exit", None)
        assert await client.ended() == 0


async def test_exit_without_shutdown_is_an_error(tmp_path: Path) -> None:
    async with server(tmp_path) as client:
        await client.initialize(EGLOT)
        client.notify("exit", None)
        assert await client.ended() == 1


@pytest.mark.parametrize("when", ["before initialize", "while open"])
async def test_the_end_of_input_ends_the_server(tmp_path: Path, when: str) -> None:
    async with server(tmp_path) as client:
        if when == "while open":
            await client.initialize(EGLOT)
            await client.pushed(client.open("block.py", POLICY))
        assert client.process.stdin is not None
        client.process.stdin.close()
        assert await client.ended() == 1


WATCHED = "from jaxpert.lsp import parent\nparent.INTERVAL = 0.05\nfrom jaxpert.lsp.server import run\nrun()"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
async def test_the_server_ends_when_its_parent_is_gone(tmp_path: Path) -> None:
    editor = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(99)")
    async with server(tmp_path, sys.executable, "-c", WATCHED) as client:
        await client.initialize(EGLOT, processId=editor.pid)
        await client.settled()
        os.kill(editor.pid, signal.SIGKILL)
        await editor.wait()
        assert await client.ended() == 1


async def test_one_client_over_tcp(tmp_path: Path) -> None:
    async with server(tmp_path, *COMMAND, "--tcp", "0") as other:
        line = await other.until(lambda: b"waiting" in other.errors and other.errors)
        port = int(line.rsplit(b",", 1)[1].strip(b" )\r\n"))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for message in (
            b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}',
            b'{"jsonrpc":"2.0","id":2,"method":"shutdown"}',
            b'{"jsonrpc":"2.0","method":"exit"}',
        ):
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(message), message))
        answers = await asyncio.wait_for(reader.read(), 30)
        writer.close()
        assert b'"name": "jaxpert"' in answers and b'"id": 2' in answers
        assert await other.ended() == 0
