"""Reports to render: small sources, with findings placed by the text they cover."""

from __future__ import annotations

import json
from pathlib import Path

from jaxpert.cli.report import FileReport, Place, PlacedEdit, PlacedFinding, PlacedFix, Run
from jaxpert.rulekit.rule import Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range, range_at, split_lines


def range_of(source: str, text: str, nth: int = 0) -> Range:
    """Where ``text``, a stretch of one line, stands for the ``nth`` time in ``source``."""
    places = [
        (number, column)
        for number, line in enumerate(split_lines(source))
        for column in range(len(line))
        if line.startswith(text, column)
    ]
    line, column = places[nth]
    return range_at(line, column, line, column + len(text))


def finding_at(
    area: Range,
    message: str = "`keep_dots` returns None for every other primitive",
    *,
    severity: Severity = Severity.ERROR,
    consequence: str = "",
    related: tuple[Place, ...] = (),
    fix: PlacedFix | None = None,
    cell: int | None = None,
) -> PlacedFinding:
    """A finding of policy-falls-through."""
    return PlacedFinding("JXP202", "policy-falls-through", severity, message, area, cell, consequence, related, fix)


def fix_with(*edits: tuple[Range, str], safety: Safety = Safety.SAFE, cell: int | None = None) -> PlacedFix:
    """A fix made of ``edits``."""
    placed = tuple(PlacedEdit(Edit(area, text), cell) for area, text in edits)
    return PlacedFix("Add `return False` to `keep_dots`", safety, placed)


def run_of(source: str, *findings: PlacedFinding, path: str = "model/block.py", cell: int | None = None) -> Run:
    """A run over one file with ``findings`` and one without any."""
    lines = {cell: tuple(split_lines(source))}
    return Run((
        FileReport(Path(path), findings, lines, target="JAX 0.12.0 from .venv"),
        FileReport(Path("other.py"), target="JAX 0.12.0 from .venv"),
    ))


BLOCK = '''\
def keep_dots(prim, *avals, **params):
    if prim.name == "dot_general":
        return True


def block_fn(x):
    return x


block = jax.checkpoint(block_fn, policy=keep_dots)
'''


def block_run() -> Run:
    """The example of a policy that falls through: a related place, a consequence, a fix."""
    finding = finding_at(
        range_of(BLOCK, "keep_dots", 1),
        consequence="JAX 0.12.0 raises when this is differentiated:\n    TypeError: Got None",
        related=(
            Place(range_of(BLOCK, "return True"), "the only result"),
            Place(range_at(11, 4, 11, 9), "also used here", "model/head.py"),
        ),
        fix=fix_with((range_at(2, 19, 2, 19), "\n    return False")),
    )
    return run_of(BLOCK, finding)


FALLS_THROUGH = '''\
import jax


def keep_dots(prim, *avals, **params):
    if prim.name == "dot_general":
        return True


block = jax.checkpoint(lambda x: x, policy=keep_dots)
'''
"""One error with a safe fix."""

CALLED = '''\
import jax

other = jax.checkpoint(lambda x: x, policy=jax.checkpoint_policies.nothing_saveable())
'''
"""One warning, of policy-called."""

MISSPELT = '''\
import jax
from jax.ad_checkpoint import checkpoint_name


def block_fn(x):
    return checkpoint_name(x, "attn_out")


block = jax.checkpoint(block_fn, policy=jax.checkpoint_policies.save_only_these_names("atn_out"))
'''
"""One warning with an unsafe fix."""


def notebook_of(*sources: str) -> str:
    """The JSON of a notebook with these code cells."""
    cells = [
        {"cell_type": "code", "metadata": {}, "source": source.splitlines(keepends=True), "outputs": [],
         "execution_count": None}
        for source in sources
    ]  # fmt: skip
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
