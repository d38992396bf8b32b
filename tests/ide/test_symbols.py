"""Outlines of files and projects: rematerialized functions, policies and names."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxpert.ide.symbols import Symbol, document_symbols, matching
from jaxpert.model.outline import OutlineKind
from jaxpert.text.lines import slice_lines
from tests.ide.marked_project import MarkedProject
from tests.model.models import model_of

SOURCE = '''\
import functools
import jax
from flax import linen as nn
from jax.ad_checkpoint import checkpoint_name

KEEP = jax.checkpoint_policies.save_only_these_names("attn", "mlp")
DOTS: object = jax.checkpoint_policies.dots_saveable
TIMES = 3


def mine(prim, *avals, **params):
    return prim.name == "dot_general"


@functools.partial(jax.checkpoint, policy=KEEP)
def block(x):
    x = checkpoint_name(x, "attn")
    return checkpoint_name(x, "é" "mlp")


class Layer(nn.Module):
    policy = jax.checkpoint_policies.nothing_saveable

    @jax.checkpoint
    def __call__(self, x):
        return x


layer = nn.remat(Layer)
other = jax.checkpoint(block, policy=mine)
elsewhere = jax.checkpoint(some.function)
'''

OUTLINE = """\
policy KEEP
policy DOTS
policy function mine
rematerialized function block (rematerialized · saves: dots | saves: attn, mlp)
  checkpoint name attn
  checkpoint name émlp
rematerialized class Layer
  policy policy
  rematerialized function __call__ (rematerialized · saves nothing)
rematerialized function some.function
"""


def _lines(symbols: list[Symbol], indent: str = "") -> str:
    text = ""
    for symbol in symbols:
        kind = symbol.entry.kind.value
        text += f"{indent}{kind} {symbol.entry.name}"
        text += f" ({symbol.detail})\n" if symbol.detail != kind else "\n"
        text += _lines(symbol.children, indent + "  ")
    return text


def test_outline_of_a_file() -> None:
    model = model_of(SOURCE)
    symbols = document_symbols(model)
    assert _lines(symbols) == OUTLINE
    waiting = list(symbols)
    while waiting:
        symbol = waiting.pop()
        entry = symbol.entry
        assert entry.range.contains(entry.selection.start) and entry.range.contains(entry.selection.end)
        shown = slice_lines(model.source.lines, entry.selection)
        assert entry.name in shown or entry.name == "émlp" or entry.kind is OutlineKind.FUNCTION
        waiting.extend(symbol.children)
    assert slice_lines(model.source.lines, symbols[3].entry.range).startswith("@functools.partial(")


def test_a_file_without_jax_has_no_outline() -> None:
    assert document_symbols(model_of("def block(x):\n    return x\n")) == []


QUERIES = {
    "attn": ["attn", "attn_out"],
    "ATT": ["attn", "attn_out"],
    "out": ["attn_out"],
    "ao": ["attn_out"],
    "block": ["block", "g.block", "my_block"],
    "keep": ["KEEP"],
    "zzz": [],
    "": ["attn", "KEEP", "mine", "block", "g.block", "attn_out", "my_block"],
}


@pytest.mark.parametrize("query", QUERIES)
def test_what_a_project_holds(tmp_path: Path, query: str) -> None:
    files = {
        "a.py": "import jax\nKEEP = jax.checkpoint_policies.save_only_these_names('attn')\nf = jax.checkpoint(my_block)\n",
        "b.py": "import jax\nfrom jax.ad_checkpoint import checkpoint_name\n"
        "@jax.remat\ndef block(x):\n    return checkpoint_name(checkpoint_name(x, 'attn'), 'attn_out')\n",
        "c.py": "def remat(x):\n    return x\n",
        "main.py": "import jax\ndef mine(prim, *_, **params):\n    return True\nf = jax.checkpoint(g.block, policy=mine)|\n",
    }
    project = MarkedProject(tmp_path, files)
    for _ in project.workspace.index():
        pass
    assert [entry.name for entry in matching(project.workspace.outlines(), query)] == QUERIES[query]


def test_outlines_follow_edits_and_files_on_disk(tmp_path: Path) -> None:
    remat = "import jax\n@jax.remat\ndef {}(x):\n    return x\n"
    project = MarkedProject(tmp_path, {"a.py": remat.format("first"), "main.py": remat.format("open|ed")})

    def names() -> list[str]:
        for _ in project.workspace.index():
            pass
        return sorted(entry.name for entry in project.workspace.outlines())

    assert names() == ["first", "opened"]
    project.workspace.replace(project.path, remat.format("edited"))
    (tmp_path / "a.py").write_text(remat.format("second_one"))
    assert names() == ["edited", "second_one"]
    (tmp_path / "a.py").unlink()
    project.workspace.files_changed([tmp_path / "a.py"])
    assert names() == ["edited"]
