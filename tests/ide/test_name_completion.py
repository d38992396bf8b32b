"""The names offered inside strings, also while the line is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxpert.ide.completion_item import MOST
from jaxpert.ide.name_completion import name_completions
from jaxpert.text.edits import Edit, apply_edits
from tests.ide.marked_project import MarkedProject

HEAD = "import functools\nimport jax\nfrom jax import checkpoint_policies as cp\nfrom jax.ad_checkpoint import checkpoint_name\n"
BLOCK = """\
from jax.ad_checkpoint import checkpoint_name
def block(x):
    return checkpoint_name(checkpoint_name(x, 'mlp'), 'attn_out')
"""
TRAIN = "import jax\nP = jax.checkpoint_policies.save_only_these_names('attn_out', 'asked')\n"
OTHERS = {"block.py": BLOCK, "train.py": TRAIN}
USES = ["attn_out", "mlp", "asked"]
TAGS = ["asked", "attn_out", "mlp"]

OFFERED = {
    # in policies: what is tagged comes first
    "p = cp.save_only_these_names('|')": USES,
    "p = cp.save_only_these_names('at|')": USES,
    "p = cp.save_only_these_names('at|tn')": USES,
    "p = cp.save_only_these_names('|": USES,
    'p = cp.save_only_these_names("|': USES,
    "p = cp.save_only_these_names('mlp', '|": ["attn_out", "asked"],
    "p = cp.save_only_these_names(\n    'mlp',\n    '|\n    'asked',\n)": ["attn_out", "asked"],
    "p = cp.save_any_names_but_these('|": USES,
    "p = jax.ad_checkpoint.checkpoint_policies.save_only_these_names('|": USES,
    "p = cp.save_only_these_names('a' if deep else '|": USES,
    "p = cp.save_only_these_names(*['|": USES,
    "p = cp.save_and_offload_only_these_names(names_which_can_be_saved=['|": USES,
    "p = cp.save_and_offload_only_these_names(names_which_can_be_saved=[], names_which_can_be_offloaded={'mlp', \"|":
        ["attn_out", "asked"],
    "p = cp.save_and_offload_only_these_names(names_which_can_be_saved=frozenset(('|": USES,
    "make = cp.save_only_these_names\np = make('|": USES,
    "p = functools.partial(cp.save_only_these_names, '|": USES,
    "f = jax.checkpoint(f, policy=cp.save_only_these_names('|": USES,
    # in tags: what is asked for and tagged nowhere comes first
    "y = checkpoint_name(x, '|')": TAGS,
    "y = checkpoint_name(x, '|": TAGS,
    "y = checkpoint_name(x, name='|": TAGS,
    "y = jax.ad_checkpoint.checkpoint_name(f(a, b)[0], '|": TAGS,
    "tag = functools.partial(checkpoint_name, name='|": TAGS,
    "tag = functools.partial(checkpoint_name, x)\ny = tag('|": TAGS,
    "y = kernel(x, residual_checkpoint_name='|": TAGS,
    "def f(x):\n    if x:\n        return checkpoint_name(x, '|\n    return x": TAGS,
    # a constant that is a name
    "N = 'at|tn'\ny = checkpoint_name(x, N)": TAGS,
    # no names
    "p = cp.save_only_these_names(f'|": [],
    "p = cp.save_only_these_names(b'|": [],
    "p = cp.save_only_these_names('a' + '|": [],
    "p = cp.save_only_these_names(|": [],
    "p = cp.save_only_these_names('a'|": [],
    "y = checkpoint_name('|": [],
    "y = checkpoint_name(x, d['|": [],
    "y = other(x, '|": [],
    "p = cp.save_and_offload_only_these_names(names_which_can_be_saved=[], offload_src='|": [],
    "# cp.save_only_these_names('|": [],
    "'''cp.save_only_these_names('|": [],
    "print('|": [],
}  # fmt: skip


@pytest.mark.parametrize("source", OFFERED)
def test_names_offered(tmp_path: Path, source: str) -> None:
    project = MarkedProject(tmp_path, {**OTHERS, "main.py": f"{HEAD}{source}\n"})
    items = name_completions(project.model, project.position)
    ordered = sorted(items, key=lambda item: (item.rank, item.label))
    assert [item.label for item in ordered] == OFFERED[source]


REPLACED = {
    "p = cp.save_only_these_names('at|tn', 'x')": "p = cp.save_only_these_names('mlp', 'x')",
    "p = cp.save_only_these_names('|')": "p = cp.save_only_these_names('mlp')",
    "p = cp.save_only_these_names('at|tn)": "p = cp.save_only_these_names('mlp)",
    "p = cp.save_only_these_names('|": "p = cp.save_only_these_names('mlp",
    "p = cp.save_only_these_names('é', '''😀|''')": "p = cp.save_only_these_names('é', '''mlp''')",
}


@pytest.mark.parametrize("source", REPLACED)
def test_what_is_replaced(tmp_path: Path, source: str) -> None:
    project = MarkedProject(tmp_path, {**OTHERS, "main.py": HEAD + source})
    item = next(item for item in name_completions(project.model, project.position) if item.label == "mlp")
    assert item.range.contains(project.position)
    assert apply_edits(project.text, [Edit(item.range, item.new_text)]) == HEAD + REPLACED[source]


def test_each_name_says_where_it_stands(tmp_path: Path) -> None:
    project = MarkedProject(tmp_path, {**OTHERS, "main.py": HEAD + "p = cp.save_only_these_names('|"})
    said = {item.label: (item.detail, item.documentation) for item in name_completions(project.model, project.position)}
    assert said == {
        "attn_out": ("tagged at block.py:3 · used at train.py:2", "- tag: block.py:3\n- policy: train.py:2"),
        "mlp": ("tagged at block.py:3", ""),
        "asked": ("used at train.py:2", ""),
    }


def test_the_name_being_typed_is_not_offered_and_others_of_its_file_are(tmp_path: Path) -> None:
    text = HEAD + "x = checkpoint_name(1, 'first')\ny = checkpoint_name(x, 'fi|')\n"
    project = MarkedProject(tmp_path, {"main.py": text})
    assert [item.label for item in name_completions(project.model, project.position)] == ["first"]
    project.workspace.replace(project.path, project.text.replace("'fi')", "'fi"))
    assert [item.label for item in name_completions(project.model, project.position)] == ["first"]


@pytest.mark.parametrize("line", ["    p = only('|", "    p = only(\n        'mlp', '|\n    )", "    if x:\n        return only('|"])
def test_what_a_function_imported_is_still_known_while_it_does_not_parse(tmp_path: Path, line: str) -> None:
    good = "def f(x):\n    from jax.checkpoint_policies import save_only_these_names as only\n    x = 1\n"
    project = MarkedProject(tmp_path, {**OTHERS, "main.py": f"import jax\n{good}{line}\n    return x\n"})
    broken = project.text
    project.workspace.replace(project.path, f"import jax\n{good}    return x\n")
    assert project.model.concerns_jax
    project.workspace.replace(project.path, broken)
    assert "attn_out" in [item.label for item in name_completions(project.model, project.position)]


def test_long_lists_are_cut_to_what_fits(tmp_path: Path) -> None:
    tags = "".join(f"x = checkpoint_name(x, 'name_{number}')\n" for number in range(2 * MOST))
    project = MarkedProject(tmp_path, {"main.py": f"{HEAD}{tags}y = checkpoint_name(x, 'n1|"})
    labels = [item.label for item in name_completions(project.model, project.position)]
    assert labels and len(labels) <= MOST
    assert all("1" in label for label in labels)
