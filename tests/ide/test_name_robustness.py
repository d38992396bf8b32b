"""Whatever is typed, every request about names is answered, and with places inside the texts."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jaxpert.ide.name_completion import name_completions
from jaxpert.ide.name_graph import definitions, highlights, name_at, references
from jaxpert.ide.rename import RenameRefused, rename
from jaxpert.ide.symbols import document_symbols
from jaxpert.model.file_model import FileModel
from jaxpert.text.edits import apply_edits
from jaxpert.text.lines import Position, Range, end_of, slice_lines
from tests.ide.marked_project import MarkedProject

MAIN = """\
import jax
from jax.ad_checkpoint import checkpoint_name
from block import NAMES, block
KEEP = ("attn", 'é_😀')

class Model:
    policy = jax.checkpoint_policies.save_only_these_names(*KEEP, "mlp", f"l{1}")

    @jax.checkpoint
    def call(self, x):
        x = checkpoint_name(x, "attn")
        return checkpoint_name(block(x), NAMES["a"])

def custom(prim, *avals, **params):
    return params["name"] in KEEP
f = jax.checkpoint(Model().call, policy=custom)|
"""
BLOCK = """\
from jax.ad_checkpoint import checkpoint_name
NAMES = {"a": "mlp"}
def block(x):
    return checkpoint_name(x, "attn")
"""
PIECES = ["'", '"', "(", ")", "[", ",", "\n", "    ", "x", "😀", "\\", "#", '"""', "f'", "attn", "checkpoint_name(x, '", "\r\n"]


def _ask(project: MarkedProject, model: FileModel, position: Position) -> None:
    lines = model.source.lines
    here = name_at(model, position)
    if here is not None:
        project.shown([*definitions(model, here), *references(model, here, declarations=True)])
        for area, _ in highlights(model, here):
            _is_inside(lines, area)
    for item in name_completions(model, position):
        assert item.range.contains(position) and item.range.start.line == item.range.end.line
        _is_inside(lines, item.range)
    waiting = list(document_symbols(model))
    while waiting:
        symbol = waiting.pop()
        _is_inside(lines, symbol.entry.range)
        _is_inside(lines, symbol.entry.selection)
        waiting += symbol.children
    try:
        edits = rename(project.workspace, model, position, "other")
    except RenameRefused as reason:
        assert str(reason)
        return
    for path, own in (edits or {}).items():
        apply_edits("".join(project.workspace.lines_of(path) or ()), own)


def _is_inside(lines: list[str], area: Range) -> None:
    assert Position(0, 0) <= area.start <= area.end <= end_of(lines)
    slice_lines(lines, area)


@pytest.mark.parametrize("seed", range(12))
def test_random_edits_and_requests(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    project = MarkedProject(tmp_path, {"main.py": MAIN, "block.py": BLOCK})
    block = tmp_path / "block.py"
    for step in range(25):
        lines = project.workspace.source(project.path).lines
        line = chance.randrange(len(lines))
        start = Position(line, chance.randrange(len(lines[line]) + 1))
        end = Position(line, min(len(lines[line]), start.column + chance.choice([0, 0, 1, 8])))
        project.workspace.edit(project.path, Range(start, end), chance.choice(PIECES))
        if step % 7 == 3:
            project.workspace.open(block, BLOCK[chance.randrange(len(BLOCK)) :])
        elif step % 7 == 5:
            project.workspace.close(block)
        elif step == 20:
            block.unlink(missing_ok=True)
            project.workspace.files_changed([block])
        model = project.model
        lines = model.source.lines
        for line in {chance.randrange(len(lines)) for _ in range(4)}:
            _ask(project, model, Position(line, chance.randrange(len(lines[line].rstrip("\r\n")) + 1)))
    list(project.workspace.outlines())
