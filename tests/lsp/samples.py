"""A file with one mistake, and how sessions look at what a server says about it."""

from __future__ import annotations

from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range
from tests.lsp.client import Client, Message

RULE = "policy-falls-through"
POLICY = """\
import jax

def keep_dots(prim, *avals, **params):
    if prim.name == "dot_general":
        return True

block = jax.checkpoint(lambda x: x, policy=keep_dots)
"""
GOOD = POLICY.replace("        return True\n", "        return True\n    return False\n")

COUNTING = """
import logging
import jaxpert.engine.analyze as engine
real = engine.analyze
def counted(snapshot, *given, **how):
    logging.getLogger("jaxpert").warning("analysed: %s", len(snapshot.text))
    return real(snapshot, *given, **how)
engine.analyze = counted
from jaxpert.lsp.server import run
run()
"""
"""A server that logs every question to the rules about a file."""


def codes(diagnostics: list[Message]) -> list[str]:
    """The names of the rules."""
    return [diagnostic["code"] for diagnostic in diagnostics]


def applied(text: str, edits: list[Message]) -> str:
    """``text`` with edits of the protocol (columns in ASCII lines, so no unit matters)."""

    def place(position: Message) -> Position:
        return Position(position["line"], position["character"])

    ours = [Edit(Range(place(it["range"]["start"]), place(it["range"]["end"])), it["newText"]) for it in edits]
    return apply_edits(text, ours)


def edits_of(action: Message, uri: str) -> list[Message]:
    """The edits of an action, in whichever form they are."""
    edit = action["edit"]
    if "changes" in edit:
        return list(edit["changes"][uri])
    changes = [change for change in edit["documentChanges"] if change["textDocument"]["uri"] == uri]
    return [each for change in changes for each in change["edits"]]


def at(uri: str, line: int, character: int) -> Message:
    """A place, as requests about one name it."""
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


async def actions_at(client: Client, uri: str, where: Message, **context: object) -> list[Message]:
    """The code actions at a range."""
    params = {"textDocument": {"uri": uri}, "range": where, "context": {"diagnostics": [], **context}}
    return list(await client.request("textDocument/codeAction", params) or [])
