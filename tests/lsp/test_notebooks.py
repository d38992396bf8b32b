"""Notebooks: one module, many documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lsp.client import VSCODE, Message, area, server
from tests.lsp.samples import POLICY, actions_at, applied, at, edits_of

pytestmark = pytest.mark.asyncio


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
        assert (await client.request("textDocument/hover", at(names[2], 1, 16)))["range"] == area(1, 8, 1, 22)

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
