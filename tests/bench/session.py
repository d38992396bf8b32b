"""One session of a user with one server: open a file, look at a name, type a line."""

from __future__ import annotations

import ast
import asyncio
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.bench.client import Client

TYPED = "total = jnp.sum(jnp.ones((4, 4)))  # so many"
MISTAKE = "\nimport jax\n\nodd = jax.checkpoint(print, policy=jax.checkpoint_policies.nothing_saveable())\n"
"""Stands at the end of the file, so that there is a finding that can be kept or lost."""

PAUSE = 0.05
"""Seconds between two keystrokes: a fast typist."""


@dataclass
class Figures:
    """What was measured, in milliseconds and megabytes, over one or more sessions.

    Attributes:
        broken_edits: those after which the text did not parse.
        kept: findings after each edit, next to those before the first one.
    """

    initialize: list[float] = field(default_factory=list)
    first_diagnostics: list[float] = field(default_factory=list)
    edits: list[float] = field(default_factory=list)
    broken_edits: list[float] = field(default_factory=list)
    first_hover: list[float] = field(default_factory=list)
    hovers: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    kept: list[tuple[int, int]] = field(default_factory=list)
    unanswered: int = 0

    def middle(self, name: str) -> float | None:
        """The median of the figures called ``name``."""
        values = getattr(self, name)
        return median(values) if values else None

    def slow_edit(self) -> float | None:
        """The 95th percentile of the edits."""
        return sorted(self.edits)[int(0.95 * (len(self.edits) - 1))] if self.edits else None


async def play(command: Sequence[str], file: Path, figures: Figures, edits: int = 40) -> None:
    """Run one session and add what was measured to ``figures``."""
    text = file.read_text(encoding="utf-8") + MISTAKE
    lines = text.split("\n")
    uri = file.resolve().as_uri()
    client = await Client.start(command, file.resolve().parent)
    watch = asyncio.ensure_future(_watch_memory(client, figures))
    try:
        figures.initialize.append(1e3 * await client.initialize())
        document = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        opened = client.notify("textDocument/didOpen", {"textDocument": document})
        first = await client.diagnostics(uri, 1, opened)
        if first is None:
            figures.unanswered += 1
            return
        figures.first_diagnostics.append(1e3 * (opened + first[0] - client.started))
        await asyncio.sleep(0.5)  # whatever a server does when idle is not a keystroke's cost
        await _hover(client, uri, lines, figures)
        await _type(client, uri, lines, figures, edits, first[1])
    finally:
        watch.cancel()
        await client.stop()


async def _watch_memory(client: Client, figures: Figures) -> None:
    figures.megabytes.append(0.0)
    place = len(figures.megabytes) - 1
    while True:
        figures.megabytes[place] = max(figures.megabytes[place], client.resident_megabytes())
        await asyncio.sleep(0.1)


async def _hover(client: Client, uri: str, lines: list[str], figures: Figures) -> None:
    if not client.capabilities.get("hoverProvider"):
        return
    line, column = next(
        (number, text.index("jax.") + 6) for number, text in enumerate(lines) if "jax." in text and "import" not in text
    )
    where = {"textDocument": {"uri": uri}, "position": {"line": line, "character": column}}
    clock = asyncio.get_running_loop().time
    for number in range(10):
        asked = clock()
        await client.request("textDocument/hover", where)
        (figures.hovers if number else figures.first_hover).append(1e3 * (clock() - asked))


async def _type(client: Client, uri: str, lines: list[str], figures: Figures, edits: int, found: int) -> None:
    """Type :data:`TYPED` into a line of its own in the middle of the file, a character at a time."""
    line = _place_to_type(lines)
    lines = [*lines[:line], "", *lines[line:]]
    line_so_far, version = "", 1
    for character in ["    ", *(TYPED * (edits // len(TYPED) + 1))[:edits]]:
        await asyncio.sleep(PAUSE)
        version += 1
        place = {"line": line, "character": len(line_so_far)}
        inserted = character if line_so_far else character + "\n"
        line_so_far += character
        lines[line] = line_so_far
        text = "\n".join(lines)
        change = {"range": {"start": place, "end": place}, "text": inserted}
        sent = client.notify(
            "textDocument/didChange",
            {
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [change if _is_incremental(client) else {"text": text}],
            },
        )
        answer = await client.diagnostics(uri, version, sent)
        if answer is None:
            figures.unanswered += 1
        elif version > 2:  # the first change only makes room
            figures.edits.append(1e3 * answer[0])
            figures.kept.append((answer[1], found))
            if not _parses(text):
                figures.broken_edits.append(1e3 * answer[0])


def _is_incremental(client: Client) -> bool:
    kind = client.capabilities.get("textDocumentSync")
    return (kind.get("change") if isinstance(kind, dict) else kind) == 2


def _place_to_type(lines: list[str]) -> int:
    """A line past the middle before which a statement of a function body may stand."""
    for number in range(len(lines) // 2, len(lines)):
        if lines[number].startswith("    ") and lines[number][4:5].strip():
            if _parses("\n".join([*lines[:number], "    x = 1", *lines[number:]])):
                return number
    raise ValueError("no function body to type into")


def _parses(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(text)
        except SyntaxError:
            return False
    return True
