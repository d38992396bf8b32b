"""Renaming a checkpoint name: everywhere, or with a reason why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxpert.ide.rename import RenameRefused, prepare_rename, rename
from tests.ide.marked_project import MarkedProject

HEAD = "import jax\nfrom jax import checkpoint_policies as cp\nfrom jax.ad_checkpoint import checkpoint_name\n"
BLOCK = HEAD + "def f(x):\n    return checkpoint_name(x, 'attn')\n"
USE = "p = cp.save_only_these_names('at|tn')\n"

RENAMED = {
    "both quotes": (
        {"main.py": HEAD + "p = cp.save_only_these_names('at|tn', \"attn\", r'''attn''', 'attn_2')\n", "block.py": BLOCK},
        {
            "main.py": HEAD + "p = cp.save_only_these_names('new', \"new\", r'''new''', 'attn_2')\n",
            "block.py": BLOCK.replace("attn", "new"),
        },
    ),
    "a constant and a table": (
        {
            "main.py": HEAD + "T = {'a': ('at|tn', 'mlp')}\np = cp.save_only_these_names(*T['a'])\n",
            "block.py": HEAD + "from names import A\ny = checkpoint_name(1, A)\n",
            "names.py": "A = 'attn'  # attn\n",
        },
        {
            "main.py": HEAD + "T = {'a': ('new', 'mlp')}\np = cp.save_only_these_names(*T['a'])\n",
            "names.py": "A = 'new'  # attn\n",
        },
    ),
    "two literals that are one, and escapes": (
        {"main.py": HEAD + "y = checkpoint_name(1, 'a' \"tt|n\")\np = cp.save_only_these_names('\\x61ttn', f'attn')\n"},
        {"main.py": HEAD + "y = checkpoint_name(1, 'new')\np = cp.save_only_these_names('new', f'new')\n"},
    ),
    "a policy of the user's and a keyword that passes the name on": (
        {
            "main.py": HEAD + "def p(prim, *_, **params):\n    return params['name'] == 'at|tn'\n",
            "block.py": HEAD + "y = kernel(1, residual_checkpoint_name='attn')\n",
        },
        {
            "main.py": HEAD + "def p(prim, *_, **params):\n    return params['name'] == 'new'\n",
            "block.py": HEAD + "y = kernel(1, residual_checkpoint_name='new')\n",
        },
    ),
    "a name that no value has, to one that a value has": (
        {"main.py": HEAD + "p = cp.save_only_these_names('at|tn')\n", "block.py": BLOCK.replace("attn", "new")},
        {"main.py": HEAD + "p = cp.save_only_these_names('new')\n"},
    ),
    "beside a name that is computed, but not from this one": (
        {"main.py": HEAD + USE, "block.py": BLOCK + "y = checkpoint_name(1, f'mlp_{i}')\nz = checkpoint_name(1, n)\n"},
        {
            "main.py": HEAD + "p = cp.save_only_these_names('new')\n",
            "block.py": BLOCK.replace("attn", "new") + "y = checkpoint_name(1, f'mlp_{i}')\nz = checkpoint_name(1, n)\n",
        },
    ),
}


@pytest.mark.parametrize("case", RENAMED)
def test_every_place_is_renamed(tmp_path: Path, case: str) -> None:
    files, expected = RENAMED[case]
    project = MarkedProject(tmp_path, files)
    model = project.model
    prepared = prepare_rename(project.workspace, model, project.position)
    assert prepared is not None and prepared[1] == "attn" and prepared[0].contains(project.position)
    edits = rename(project.workspace, model, project.position, "new")
    assert edits is not None
    assert project.edited(edits) == expected
    assert rename(project.workspace, model, project.position, "attn") == {}


REFUSED = {
    "`f'layer{i}'` is computed when the program runs": HEAD + "y = checkpoint_name(1, f'lay|er{i}')\n",
    '"attn" is put together at main.py:5: `\'at\' + \'tn\'`': HEAD + USE + "y = checkpoint_name(1, 'at' + 'tn')\n",
    '`f\'{part}tn\'` at main.py:5 may give "attn" as well': HEAD + USE + "y = checkpoint_name(1, f'{part}tn')\n",
    '"attn" also stands at main.py:5': HEAD + USE + "y = tag(1, 'attn')\nz = checkpoint_name(1, name)\n",
    '"attn" also stands at main.py:6': HEAD + USE + "def f(x):\n    return checkpoint_name(x, 'attn'\n",
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_renamed_says_why(tmp_path: Path, reason: str) -> None:
    project = MarkedProject(tmp_path, {"main.py": REFUSED[reason]})
    for attempt in (
        lambda: prepare_rename(project.workspace, project.model, project.position),
        lambda: rename(project.workspace, project.model, project.position, "new"),
    ):
        with pytest.raises(RenameRefused) as refusal:
            attempt()
        assert reason in str(refusal.value)


NEW_NAMES = {
    "": "cannot be empty",
    "  ": "cannot be empty",
    "'new'": "without quotes",
    "a\\b": "without quotes and backslashes",
    "a\nb": "controls",
    " new": "begin or end with a blank",
    "mlp": 'another value is named "mlp" already, at block.py:6',
}


@pytest.mark.parametrize("new", NEW_NAMES)
def test_new_names_are_checked(tmp_path: Path, new: str) -> None:
    project = MarkedProject(tmp_path, {"main.py": HEAD + USE, "block.py": BLOCK + "y = checkpoint_name(1, 'mlp')\n"})
    with pytest.raises(RenameRefused, match=NEW_NAMES[new]):
        rename(project.workspace, project.model, project.position, new)


def test_braces_are_no_name_in_an_f_string(tmp_path: Path) -> None:
    project = MarkedProject(tmp_path, {"main.py": HEAD + "y = checkpoint_name(1, f'at|tn')\n"})
    with pytest.raises(RenameRefused, match="f-string"):
        rename(project.workspace, project.model, project.position, "a{b}")


@pytest.mark.parametrize("body", ["x| = 'attn'\n", "y = checkpoint_name(1, na|me)\n", "N = 'a'\ny = checkpoint_name(1, |N)\n"])
def test_what_is_no_name_is_left_to_others(tmp_path: Path, body: str) -> None:
    project = MarkedProject(tmp_path, {"main.py": HEAD + body})
    assert prepare_rename(project.workspace, project.model, project.position) is None
    assert rename(project.workspace, project.model, project.position, "new") is None


def test_files_outside_the_workspace_are_not_edited(tmp_path: Path) -> None:
    files = {"inner/main.py": HEAD + "from names import A\np = cp.save_only_these_names(A, 'attn')\n", "names.py": "A = 'attn'\n"}
    project = MarkedProject(tmp_path, {**files, "main.py": "|"})
    project.workspace.close(project.path)
    project.workspace.set_roots([tmp_path / "inner"])
    path = tmp_path / "inner" / "main.py"
    model = project.workspace.snapshot(path).model
    literal = next(use.range for use in model.name_facts.uses if use.argument is None)
    assert literal is not None
    with pytest.raises(RenameRefused, match=r"names\.py lies outside the workspace"):
        rename(project.workspace, model, literal.start, "new")


def test_a_file_that_changed_on_disk_is_not_edited_blindly(tmp_path: Path) -> None:
    project = MarkedProject(tmp_path, {"main.py": HEAD + USE, "block.py": BLOCK})
    model = project.model
    assert rename(project.workspace, model, project.position, "new")
    (tmp_path / "block.py").write_text("# nothing\n")
    with pytest.raises(RenameRefused, match="changed on disk"):
        rename(project.workspace, model, project.position, "new")


def test_unsaved_texts_are_edited_as_they_are(tmp_path: Path) -> None:
    project = MarkedProject(tmp_path, {"main.py": HEAD + USE, "block.py": BLOCK})
    unsaved = "\n\n" + BLOCK + "y = checkpoint_name(1, 'attn')\n"
    project.workspace.open(tmp_path / "block.py", unsaved)
    edits = rename(project.workspace, project.model, project.position, "new")
    assert edits is not None
    assert project.edited(edits)["block.py"] == unsaved.replace("attn", "new")
