"""From a checkpoint name to its tags, its uses, and its other places in the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxpert.ide.name_graph import Access, definitions, highlights, name_at, references
from jaxpert.text.lines import slice_lines
from tests.ide.marked_project import MarkedProject

BLOCK = """\
from functools import partial
from jax.ad_checkpoint import checkpoint_name
from settings import MLP
def block(x, i):
    x = checkpoint_name(x, 'attn_out')
    x = checkpoint_name(x, name=MLP)
    x = kernel(x, residual_checkpoint_name="flash")
    return checkpoint_name(x, f"layer{i}_out")
"""
SETTINGS = 'MLP = "mlp"\nBOTH = ("mlp", "attn_out")\n'
TRAIN = """\
import jax
policy = jax.checkpoint_policies.save_any_names_but_these("attn_out")
def custom(prim, *avals, **params):
    return prim.name == "name" and params["name"] in ("mlp", "flash")
"""
OTHERS = {"block.py": BLOCK, "settings.py": SETTINGS, "train.py": TRAIN}
HEAD = "import jax\nfrom jax import checkpoint_policies as cp\nfrom jax.ad_checkpoint import checkpoint_name\nimport settings\n"

DEFINITIONS = {
    "cp.save_only_these_names('at|tn_out')": ["block.py:5 attn_out"],
    "cp.save_only_these_names(|'attn_out')": ["block.py:5 attn_out"],
    "cp.save_only_these_names('attn_out|', 'mlp')": ["block.py:5 attn_out"],
    "cp.save_only_these_names(*('attn_out', 'm|lp'))": ["block.py:6 MLP"],
    "cp.save_only_these_names('fla|sh')": ["block.py:7 flash"],
    "cp.save_only_these_names('layer7_o|ut')": ["block.py:8 layer{i}_out"],
    "cp.save_only_these_names('oth|er')": [],
    "checkpoint_name(1, 'ow|n')": ["main.py:5 own"],
    "checkpoint_name(1, 'o' 'w|n')": ["main.py:5 'o' 'wn'"],
    "cp.save_and_offload_only_these_names(names_which_can_be_saved=['m|lp'], names_which_can_be_offloaded=[],"
    " offload_src='device', offload_dst='pinned_host')": ["block.py:6 MLP"],
    "def p(prim, *_, **kw):\n    return kw.get('name') == 'ml|p'": ["block.py:6 MLP"],
    "cp.save_only_these_names(f'lay|er{i}_out')": ["block.py:8 layer{i}_out"],
    "cp.save_only_these_names(some|thing)": None,
    "cp.save_only_these_names(settings.M|LP)": None,
    "print('attn|_out')": None,
    "cp.save_only_these_|names('attn_out')": None,
}  # fmt: skip


@pytest.mark.parametrize("source", DEFINITIONS)
def test_definitions(tmp_path: Path, source: str) -> None:
    project = MarkedProject(tmp_path, {**OTHERS, "main.py": HEAD + source + "\n"})
    model = project.model
    here = name_at(model, project.position)
    found = None if here is None else project.shown(definitions(model, here))
    assert found == DEFINITIONS[source]


REFERENCES = {
    "'attn|_out'": (
        ["main.py:5 attn_out", "train.py:2 attn_out"],
        ["main.py:5 attn_out", "block.py:5 attn_out", "train.py:2 attn_out"],
    ),
    "'ml|p'": (
        ["main.py:5 mlp", "train.py:4 mlp"],
        ["main.py:5 mlp", "block.py:6 MLP", "settings.py:1 mlp", "train.py:4 mlp"],
    ),
    "settings.MLP, 'ml|p'": (
        ["main.py:5 settings.MLP", "main.py:5 mlp", "train.py:4 mlp"],
        ["main.py:5 settings.MLP", "main.py:5 mlp", "block.py:6 MLP", "settings.py:1 mlp", "train.py:4 mlp"],
    ),
    "'layer1|_out'": (["main.py:5 layer1_out"], ["main.py:5 layer1_out", "block.py:8 layer{i}_out"]),
}  # fmt: skip


@pytest.mark.parametrize("argument", REFERENCES)
def test_references(tmp_path: Path, argument: str) -> None:
    source = f"{HEAD}cp.save_only_these_names({argument})\n"
    project = MarkedProject(tmp_path, {**OTHERS, "main.py": source})
    model = project.model
    here = name_at(model, project.position)
    assert here is not None
    found = tuple(project.shown(references(model, here, declarations)) for declarations in (False, True))
    assert found == REFERENCES[argument]


def test_a_constant_is_a_name_in_a_file_that_knows_no_jax(tmp_path: Path) -> None:
    project = MarkedProject(tmp_path, {"block.py": BLOCK.replace("settings", "main"), "main.py": 'MLP = "m|lp"\n'})
    model = project.model
    here = name_at(model, project.position)
    assert here is not None and here.names == ("mlp",)
    assert project.shown(definitions(model, here)) == ["block.py:6 MLP"]


def test_highlights_tell_tags_from_uses(tmp_path: Path) -> None:
    body = "N = 'mlp'\nx = checkpoint_name(1, N)\ny = checkpoint_name(x, 'm|lp')\np = cp.save_only_these_names(N, 'attn')\n"
    project = MarkedProject(tmp_path, {**OTHERS, "main.py": HEAD + body})
    model = project.model
    here = name_at(model, project.position)
    assert here is not None
    found = [(slice_lines(model.source.lines, area), access) for area, access in highlights(model, here)]
    assert found == [("mlp", Access.TAG), ("N", Access.TAG), ("mlp", Access.TAG), ("N", Access.USE)]


def test_unsaved_texts_count_and_edited_lines_are_silent(tmp_path: Path) -> None:
    project = MarkedProject(tmp_path, {**OTHERS, "main.py": HEAD + "p = cp.save_only_these_names('attn|_out')\n"})
    block = tmp_path / "block.py"
    project.workspace.open(block, "\n" + BLOCK)
    for text, expected in (
        ("\n" + BLOCK, ["block.py:6 attn_out"]),
        ("\n" + BLOCK.replace("checkpoint_name(x, 'attn_out')", "checkpoint_name(x, 'attn_out'"), []),
        (BLOCK + "y = checkpoint_name(1, 'attn_out')\n", ["block.py:5 attn_out", "block.py:9 attn_out"]),
    ):
        project.workspace.replace(block, text)
        model = project.model
        here = name_at(model, project.position)
        assert here is not None
        assert project.shown(definitions(model, here)) == expected
