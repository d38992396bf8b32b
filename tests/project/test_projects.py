"""A project that changes while an editor has one of its files open: what is known of the others follows."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxpert.project.workspace import Workspace
from jaxpert.text.gaps import ANY

KNOWN = {"unknown-checkpoint-name": "JXP301"}
MAIN = "import jax\n"
TAG = "from jax.ad_checkpoint import checkpoint_name\ny = checkpoint_name(1, {!r})\n"
X64 = 'import jax\njax.config.update("jax_enable_x64", True)\n'


class Editor:
    """A workspace whose ``main.py`` is open; ``told``: whether somebody reports what happens on disk."""

    def __init__(self, root: Path, told: bool = True) -> None:
        self.root = root
        self._told = told
        self.write("jaxpert.toml", 'jax-version = "0.7.2"\n')
        self.workspace = Workspace([root], KNOWN, wait_for_index=False)
        self.workspace.open(root / "main.py", MAIN)

    def write(self, name: str, text: str) -> None:
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)

    def changed(self, *names: str) -> None:
        if self._told:
            self.workspace.files_changed(self.root / name for name in names)
        else:
            self.workspace.look_again()

    def read(self) -> bool:
        """Read what is new; whether that was anything."""
        return True in [step.is_news for step in self.workspace.index()]

    def names(self) -> set[str]:
        """The names that are known; "?" when there may be others."""
        files = self.workspace.snapshot(self.root / "main.py").model.project_names.files.values()
        return {tag.text or ("?" if tag.parts == ANY else "") for facts in files for tag in facts.tags}


def test_names_are_unknown_until_their_file_was_read_closer(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    for name in "ab":
        editor.write(f"{name}.py", TAG.format(name))
    seen = [(editor.names(), bool(editor.workspace.why_names_are_missing(str(tmp_path / "main.py"))))]
    for step in editor.workspace.index():
        now = editor.names(), bool(editor.workspace.why_names_are_missing(str(tmp_path / "main.py")))
        seen += [now] if now != seen[-1] else []
        assert 0 < step.done <= (step.total or step.done)
    assert seen == [({"?"}, True), ({"?", "a"}, True), ({"a", "b"}, False)]


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_files_come_change_move_and_go(tmp_path: Path, told: bool) -> None:
    editor = Editor(tmp_path, told)
    editor.write("pkg/a.py", TAG.format("a"))
    editor.read()
    assert not editor.read()
    editor.write("pkg/b.py", TAG.format("b"))
    editor.changed("pkg/b.py")
    assert editor.read()
    assert editor.names() == {"a", "b"}
    editor.write("pkg/a.py", TAG.format("changed"))
    editor.changed("pkg/a.py")
    editor.read()
    assert editor.names() == {"changed", "b"}
    (tmp_path / "pkg/a.py").rename(tmp_path / "pkg/c.py")
    editor.changed("pkg/a.py", "pkg/c.py")
    editor.read()
    assert editor.names() == {"changed", "b"}
    (tmp_path / "pkg/b.py").unlink()
    editor.changed("pkg/b.py")
    editor.read()
    assert editor.names() == {"changed"}
    assert not editor.read()


def test_a_folder_that_is_removed_without_a_word(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.write("pkg/a.py", TAG.format("a"))
    editor.write("pkg/sub/b.py", TAG.format("b"))
    editor.read()
    (tmp_path / "pkg").rename(tmp_path / "renamed")
    editor.workspace.look_again()
    assert editor.read()
    listed = editor.workspace.project_files(str(tmp_path / "main.py"))
    files = {Path(path).relative_to(tmp_path).as_posix() for path in listed}
    assert (editor.names(), files) == ({"a", "b"}, {"main.py", "renamed/a.py", "renamed/sub/b.py"})


@pytest.mark.parametrize("told", [True, False], ids=["told", "not told"])
def test_another_branch(tmp_path: Path, told: bool) -> None:
    editor = Editor(tmp_path, told)
    editor.write("a.py", TAG.format("a"))
    editor.write("b.py", "x = 1\n")
    editor.write(".gitignore", "generated/\n")
    editor.write("generated/g.py", TAG.format("g"))
    editor.read()
    assert editor.names() == {"a"}
    editor.write("a.py", "x = 1\n")
    editor.write("b.py", TAG.format("b"))
    editor.write("pkg/c.py", TAG.format("c"))
    editor.write(".gitignore", "")
    editor.changed("a.py", "b.py", "pkg/c.py", ".gitignore")
    editor.read()
    assert editor.names() == {"b", "c", "g"}


@pytest.mark.parametrize("name", [".venv/lib/python3.11/site-packages/jax/a.py", "build/a.py", "ignored/a.py"])
def test_what_is_installed_or_ignored_does_not_come_in_by_a_change(tmp_path: Path, name: str) -> None:
    editor = Editor(tmp_path)
    editor.write(".gitignore", "ignored/\n")
    editor.read()
    editor.write(name, TAG.format("not ours"))
    editor.changed(name)
    editor.read()
    editor.workspace.open(tmp_path / name, TAG.format("not ours"))
    editor.workspace.close(tmp_path / name)
    editor.read()
    assert editor.names() == set()


@pytest.mark.parametrize("waits", [True, False])
def test_switches_that_are_set_and_removed(tmp_path: Path, waits: bool) -> None:
    (tmp_path / "jaxpert.toml").write_text('jax-version = "0.7.2"\n')
    workspace = Workspace([tmp_path], KNOWN, wait_for_index=waits)
    (tmp_path / "main.py").write_text(MAIN)
    workspace.open(tmp_path / "main.py", MAIN)

    def x64(text: str) -> bool:
        (tmp_path / "train.py").write_text(f"import main\n{text}")
        workspace.files_changed([tmp_path / "train.py"])
        if not waits:
            list(workspace.index())
        return workspace.snapshot(tmp_path / "main.py").model.target.x64

    assert [x64(text) for text in (MAIN, X64, MAIN, X64)] == [False, True, False, True]


def test_facts_stay_when_a_project_was_read_and_sets_no_switch(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    before = editor.workspace.snapshot(tmp_path / "main.py").model.checkpoints
    editor.read()
    assert editor.workspace.snapshot(tmp_path / "main.py").model.checkpoints is before


BEFORE = [{}, {"wrappers.py": "x = 1\n"}, {"wrappers/a.py": ""}]


@pytest.mark.parametrize("before", BEFORE, ids=["nowhere", "a module", "a folder"])
def test_a_module_that_was_not_worth_a_look(tmp_path: Path, before: dict[str, str]) -> None:
    editor = Editor(tmp_path)
    for name, text in before.items():
        editor.write(name, text)
    editor.workspace.open(tmp_path / "main.py", "import jax\nfrom wrappers import block\nf = block(len)\n")
    assert len(editor.workspace.snapshot(tmp_path / "main.py").model.checkpoints) == 0
    for name in before:
        (tmp_path / name).unlink()
    editor.write("wrappers/__init__.py", "import jax\nblock = jax.checkpoint\n")
    editor.changed("wrappers/__init__.py", *before)
    assert len(editor.workspace.snapshot(tmp_path / "main.py").model.checkpoints) == 1


def test_given_up_and_taken_up_again(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    editor.write("a.py", TAG.format("a"))
    editor.write("gone.py", TAG.format("gone"))
    editor.read()
    editor.workspace.give_up_index()
    (tmp_path / "gone.py").unlink()
    editor.write("b.py", TAG.format("b"))
    assert "?" in editor.names()
    assert editor.workspace.why_names_are_missing(str(tmp_path / "main.py"))
    editor.read()
    assert editor.names() == {"a", "b"}


def test_work_that_is_dropped_goes_on_where_it_was(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    for number in range(50):
        editor.write(f"f{number}.py", TAG.format(f"n{number}"))
    runs = 0
    while "?" in editor.names():
        runs += 1
        steps = editor.workspace.index()
        next(steps)
        next(steps, None)
        steps.close()  # type: ignore[attr-defined]
    assert len(editor.names()) == 50
    assert 10 < runs < 120
