"""The workspace: buffers and disk, modules, what stays known when something changes, names, settings."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxpert.model.values import Value
from jaxpert.project.workspace import Overrides, Snapshot, Workspace
from jaxpert.syntax.notebook import NotebookMap
from jaxpert.text.decoding import UnreadableSource
from jaxpert.text.lines import Position, range_at

KNOWN = {"policy-signature": "JXP201", "unknown-checkpoint-name": "JXP301"}

TAG = "from jax.ad_checkpoint import checkpoint_name\ny = checkpoint_name(1, {!r})\n"
USE = "import jax\npolicy = jax.checkpoint_policies.save_only_these_names({!r})\n"
X64 = 'import jax, a\njax.config.update("jax_enable_x64", {})\n'


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def project(root: Path, files: Mapping[str, str], config: str = "", **more: object) -> Workspace:
    write(root, {"jaxpert.toml": f'jax-version = "0.7.2"\n{config}', **files})
    return Workspace([root], KNOWN, **more)  # type: ignore[arg-type]


def learned(snapshot: Snapshot) -> object:
    """Something that depends on the file and on what it imports."""
    model = snapshot.model
    policies = [_told(option) for use in model.policy_uses for option in use.value.options()]
    return policies, [_told(it.target) for it in model.checkpoints if it.target], model.project_names.known()


def _told(value: Value) -> tuple[str, ...]:
    written = value.model.text_of(value.site.node) if value.model and value.site else ""
    return type(value).__name__, getattr(value, "path", ""), written


# -- buffers and disk -------------------------------------------------------------------------------------------------


def test_a_buffer_wins_over_the_disk_until_it_is_closed(tmp_path: Path) -> None:
    workspace = project(tmp_path, {"a.py": "disk = 1\r\n"})
    path = tmp_path / "a.py"
    first = workspace.snapshot(path)
    assert (first.text, first.path) == ("disk = 1\r\n", path)
    assert first.on_disk is not None
    workspace.open(path, "buffer = 1\n")
    assert workspace.snapshot(path).text == workspace.source(path).text == "buffer = 1\n"
    assert workspace.snapshot(path).on_disk is None
    workspace.edit(path, range_at(0, 9, 0, 10), "22")
    path.write_text("disk = 2\n")
    assert workspace.snapshot(path).text == "buffer = 22\n"
    workspace.replace(path, "x\n")
    assert workspace.snapshot(path).text == "x\n"
    workspace.close(path)
    assert workspace.snapshot(path).text == "disk = 2\n"
    path.write_text("disk = 33\n")
    assert workspace.snapshot(path).text == "disk = 33\n"
    for change in (lambda: workspace.edit(path, range_at(0, 0, 0, 0), "x"), lambda: workspace.replace(path, "x")):
        with pytest.raises(KeyError):
            change()


def test_a_buffer_without_a_file(tmp_path: Path) -> None:
    workspace = Workspace([], KNOWN)
    path = tmp_path / "nowhere" / "untitled.py"
    workspace.open(path, "x = 1")
    assert workspace.snapshot(path).text == "x = 1"
    workspace.close(path)
    with pytest.raises(UnreadableSource, match="no such file"):
        workspace.snapshot(path)


def test_what_cannot_be_read(tmp_path: Path) -> None:
    workspace = project(tmp_path, {"bad.ipynb": "{", "latin.py": "# coding: latin-1\n"})
    (tmp_path / "bytes.py").write_bytes(b"\xff\n")
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\ns = '\xe9'\n")
    for name, reason in {"bad.ipynb": "not JSON", "bytes.py": "not utf-8", "missing.py": "no such file"}.items():
        for _ in range(2):
            with pytest.raises(UnreadableSource, match=reason):
                workspace.snapshot(tmp_path / name)
    assert workspace.snapshot(tmp_path / "latin.py").text.endswith("'é'\n")
    (tmp_path / "bytes.py").write_bytes(b"x\n")
    assert workspace.snapshot(tmp_path / "bytes.py").text == "x\n"


def test_mentions_jax(tmp_path: Path) -> None:
    workspace = project(tmp_path, {"a.py": "import jax\n", "b.py": "import numpy\n"})
    assert workspace.mentions_jax(tmp_path / "a.py")
    assert not workspace.mentions_jax(tmp_path / "b.py")
    workspace.open(tmp_path / "b.py", "import flax")
    assert workspace.mentions_jax(tmp_path / "b.py")
    with pytest.raises(UnreadableSource):
        workspace.mentions_jax(tmp_path / "c.py")


def test_the_same_file_by_a_link(tmp_path: Path) -> None:
    workspace = project(tmp_path, {"real/a.py": "x = 1\n"})
    (tmp_path / "link").symlink_to("real")
    workspace.open(tmp_path / "link" / "a.py", "x = 2\n")
    snapshot = workspace.snapshot(tmp_path / "real" / "a.py")
    assert (snapshot.text, snapshot.path) == ("x = 2\n", tmp_path / "real" / "a.py")


def _remove(root: Path) -> None:
    (root / "link.py").unlink()


def _replace_by_a_file(root: Path) -> None:
    (root / "link.py").unlink()
    (root / "link.py").write_text(TAG.format("disk"))


def _lead_elsewhere(root: Path) -> None:
    (root / "link.py").unlink()
    (root / "link.py").symlink_to("v2/a.py")


def _lead_to_a_loop(root: Path) -> None:
    (root / "link.py").unlink()
    (root / "link.py").symlink_to("link.py")


def _lead_to_an_open_file(root: Path) -> None:
    (root / "link.py").unlink()
    (root / "link.py").symlink_to("open.py")


@pytest.mark.parametrize(
    "change", [_remove, _replace_by_a_file, _lead_elsewhere, _lead_to_a_loop, _lead_to_an_open_file]
)
@pytest.mark.parametrize("is_told", [True, False], ids=["told", "found"])
def test_a_buffer_stays_when_its_path_leads_elsewhere(tmp_path: Path, change: object, is_told: bool) -> None:
    files = {f"{folder}/a.py": TAG.format(folder) for folder in ("v1", "v2")}
    use = "import link\nfrom v1 import a\n" + USE.format("x")
    workspace = project(tmp_path, {**files, "use.py": use, "open.py": "", "v1/__init__.py": ""})
    link, other = tmp_path / "link.py", tmp_path / "open.py"
    link.symlink_to("v1/a.py")
    workspace.open(link, TAG.format("typed"))
    workspace.open(other, TAG.format("second"))
    assert names(workspace, tmp_path / "use.py") == {"typed", "second", "v2"}
    change(tmp_path)  # type: ignore[operator]
    workspace.files_changed([link]) if is_told else workspace.look_again()
    workspace.edit(link, range_at(0, 0, 0, 0), "# more\n")
    workspace.edit(other, range_at(0, 0, 0, 0), "# other\n")
    assert workspace.snapshot(link).text == "# more\n" + TAG.format("typed")
    assert workspace.snapshot(other).text == "# other\n" + TAG.format("second")
    is_shared = change is _lead_to_an_open_file  # there is no other file for it: it stays where it was
    hidden = "v1" if is_shared else "v2" if change is _lead_elsewhere else ""
    assert names(workspace, tmp_path / "use.py") == {"typed", "second", "v1", "v2"} - {hidden}
    assert (workspace.snapshot(tmp_path / "v1/a.py").text == TAG.format("v1")) is not is_shared
    workspace.close(link)
    workspace.close(other)
    assert not workspace.is_open(link) and not workspace.is_open(tmp_path / "v1/a.py")
    assert workspace.snapshot(tmp_path / "v1/a.py").text == TAG.format("v1")
    for path in (link, other):
        with pytest.raises(KeyError):
            workspace.edit(path, range_at(0, 0, 0, 0), "x")


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = project(tmp_path, {"a.py": "x = 1\n"})
    monkeypatch.chdir(tmp_path)
    assert workspace.snapshot(Path("a.py")).model is workspace.snapshot(tmp_path / "a.py").model


def test_notebooks(tmp_path: Path) -> None:
    text = '{"cells": [{"cell_type": "markdown"}, {"cell_type": "code", "source": ["!ls\\n", "x"]}]}'
    workspace = project(tmp_path, {"a.ipynb": text})
    path = tmp_path / "a.ipynb"
    snapshot = workspace.snapshot(path)
    assert snapshot.text == "0  \nx\n\n"
    assert snapshot.notebook is not None
    assert snapshot.on_disk is not None
    assert snapshot.notebook.to_cell(Position(1, 0)) == (2, Position(1, 0))
    workspace.open(path, notebook=NotebookMap(["a = 1", "b = 2"]))
    source = workspace.snapshot(path).source
    kept = source.units[1]
    workspace.open(path, notebook=NotebookMap(["a = 10", "b = 2"]))
    snapshot = workspace.snapshot(path)
    assert snapshot.text == "a = 10\n\nb = 2\n\n"
    assert snapshot.notebook is not None
    assert snapshot.notebook.cells[0].source == "a = 10"
    assert snapshot.source is source
    assert kept in source.units


# -- modules ----------------------------------------------------------------------------------------------------------


def test_modules_are_found(tmp_path: Path) -> None:
    files = {"src/pkg/__init__.py": "", "src/pkg/policies.py": "from . import names\nP = names.N\n"}
    files |= {"src/pkg/names.py": "N = 1\n", "train.py": "import pkg.policies\n"}
    workspace = project(tmp_path, files)
    model = workspace.snapshot(tmp_path / "train.py").model
    policies = model.lookup("pkg.policies")
    assert policies is not None
    assert (policies.module, policies.path) == ("pkg.policies", str(tmp_path / "src/pkg/policies.py"))
    assert model.lookup("pkg") is not None
    assert model.lookup("pkg").is_package  # type: ignore[union-attr]
    assert model.lookup("numpy") is None
    assert policies.lookup("train") is model
    (tmp_path / "src/pkg/names.py").write_bytes(b"\0")
    assert workspace.snapshot(tmp_path / "train.py").model.lookup("pkg.names") is None


CHAIN = {
    "a.py": "import jax\nfrom b import POLICY, f\ng = jax.checkpoint(f, policy=POLICY)\n",
    "b.py": "from c import POLICY\ndef f(x): return x\n",
    "c.py": "import jax\nPOLICY = jax.checkpoint_policies.dots_saveable\n",
    "unrelated.py": "import jax\n",
}


def test_an_edit_elsewhere_changes_nothing(tmp_path: Path) -> None:
    workspace = project(tmp_path, CHAIN)
    facts = workspace.snapshot(tmp_path / "a.py").model.checkpoints
    workspace.open(tmp_path / "unrelated.py", "import jax\nx = 1\n")
    workspace.snapshot(tmp_path / "unrelated.py")
    workspace.edit(tmp_path / "unrelated.py", range_at(1, 4, 1, 5), "2")
    workspace.files_changed([tmp_path / "unrelated.py", tmp_path / "b.py"])
    assert workspace.snapshot(tmp_path / "a.py").model.checkpoints is facts


def test_an_edit_of_the_file_itself_keeps_what_it_learned_elsewhere(tmp_path: Path) -> None:
    workspace = project(tmp_path, CHAIN)
    workspace.open(tmp_path / "a.py", CHAIN["a.py"])
    model = workspace.snapshot(tmp_path / "a.py").model
    facts, generation, other = model.checkpoints, model.generation, model.lookup("b")
    workspace.edit(tmp_path / "a.py", range_at(3, 0, 3, 0), "x = 1\n")
    model = workspace.snapshot(tmp_path / "a.py").model
    assert model.checkpoints is not facts
    assert (model.generation, model.lookup("b")) == (generation, other)


@pytest.mark.parametrize("how", ["buffer", "keystroke", "disk"])
def test_an_edit_of_something_imported_counts(tmp_path: Path, how: str) -> None:
    workspace = project(tmp_path, CHAIN)
    old, new = "dots_saveable", "everything_saveable"
    if how == "keystroke":
        workspace.open(tmp_path / "c.py", CHAIN["c.py"])
    assert old in str(learned(workspace.snapshot(tmp_path / "a.py")))
    if how == "buffer":
        workspace.open(tmp_path / "c.py", CHAIN["c.py"].replace(old, new))
    elif how == "keystroke":
        workspace.edit(tmp_path / "c.py", range_at(1, 34, 1, 47), new)
    else:
        write(tmp_path, {"c.py": CHAIN["c.py"].replace(old, new)})
    assert new in str(learned(workspace.snapshot(tmp_path / "a.py")))


def test_a_module_that_comes_and_goes(tmp_path: Path) -> None:
    workspace = project(tmp_path, {"a.py": CHAIN["a.py"], "b.py": CHAIN["b.py"]})

    def seen() -> bool:
        return "dots_saveable" in str(learned(workspace.snapshot(tmp_path / "a.py")))

    assert not seen()
    workspace.open(tmp_path / "c.py", CHAIN["c.py"])  # not saved yet
    assert seen()
    workspace.close(tmp_path / "c.py")
    assert not seen()
    write(tmp_path, {"c.py": CHAIN["c.py"]})
    workspace.files_changed([tmp_path / "c.py"])
    assert seen()
    (tmp_path / "c.py").unlink()
    workspace.files_changed([tmp_path / "c.py"])
    assert not seen()


def test_what_is_no_longer_imported_no_longer_counts(tmp_path: Path) -> None:
    workspace = project(tmp_path, CHAIN)
    for name in ("a.py", "b.py"):
        workspace.open(tmp_path / name, CHAIN[name])
    learned(workspace.snapshot(tmp_path / "a.py"))
    workspace.replace(tmp_path / "a.py", "import jax\ng = jax.checkpoint(len)\n")
    learned(workspace.snapshot(tmp_path / "a.py"))
    workspace.edit(tmp_path / "b.py", range_at(0, 0, 0, 0), "x = 1\n")
    facts = workspace.snapshot(tmp_path / "a.py").model.checkpoints
    assert workspace.snapshot(tmp_path / "a.py").model.checkpoints is facts


def test_a_circle_of_imports(tmp_path: Path) -> None:
    files = {"a.py": "import jax\nfrom b import P\nf = jax.checkpoint(len, policy=P)\nQ = 1\n"}
    files["b.py"] = "import jax, a\nfrom a import Q\nP = jax.checkpoint_policies.dots_saveable\n"
    workspace = project(tmp_path, files)
    for path, text in files.items():
        workspace.open(tmp_path / path, text)
    assert "dots_saveable" in str(learned(workspace.snapshot(tmp_path / "a.py")))
    workspace.edit(tmp_path / "b.py", range_at(2, 0, 2, 1), "R")
    assert "dots_saveable" not in str(learned(workspace.snapshot(tmp_path / "a.py")))
    workspace.snapshot(tmp_path / "b.py")
    workspace.edit(tmp_path / "b.py", range_at(2, 0, 2, 1), "P")
    assert "dots_saveable" in str(learned(workspace.snapshot(tmp_path / "a.py")))


def test_trees_that_nobody_needs_are_dropped(tmp_path: Path) -> None:
    workspace = project(tmp_path, CHAIN, lines_kept=5)
    expected = learned(Workspace([tmp_path], KNOWN).snapshot(tmp_path / "a.py"))
    for name in ("a.py", "unrelated.py", "c.py", "a.py"):
        snapshot = workspace.snapshot(tmp_path / name)
    assert learned(snapshot) == expected
    assert sum(file.source is not None for file in workspace._files.values()) < len(CHAIN)


# The first five lines of each file, and what any of its lines may become.
ONE, OTHER = "jax.checkpoint_policies.dots_saveable", "jax.checkpoint_policies.nothing_saveable"
LINES = {
    "a.py": ["import jax", "import b", "from b import P", "from c import P", "f = jax.remat(len, policy=P)", "P = b.P"],
    "b.py": ["import jax", "from c import P", f"P = {ONE}", "import a", "def P(): 0", "P = ("],
    "c.py": ["import jax", "P = f()", "def f():", f"    return {OTHER}", "from b import P", "P = 1"],
}
LINE = st.integers(0, 5)
EDITS = st.lists(st.tuples(st.sampled_from(sorted(LINES)), LINE, LINE, st.booleans()), max_size=8)


@settings(max_examples=60, deadline=None)
@given(EDITS)
def test_after_any_edits_the_same_is_known_as_at_the_start(edits: list[tuple[str, int, int, bool]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        texts = {name: "".join(f"{line}\n" for line in lines[:5]) for name, lines in LINES.items()}
        workspace = project(root, texts)
        for name, text in texts.items():
            workspace.open(root / name, text)
        for name, at, line, look in edits:
            at = min(at, texts[name].count("\n"))
            new = LINES[name][min(line, len(LINES[name]) - 1)] + "\n"
            lines = texts[name].splitlines(keepends=True)
            texts[name] = "".join([*lines[:at], new, *lines[at + 1 :]])
            workspace.edit(root / name, range_at(at, 0, min(at + 1, len(lines)), 0), new)
            if look:
                learned(workspace.snapshot(root / "a.py"))
        fresh = Workspace([root], KNOWN)
        for name, text in texts.items():
            workspace.source(root / name).reconcile()
            fresh.open(root / name, text)
        if all(fresh.source(root / name).problem is None for name in texts):
            for name in texts:
                assert learned(workspace.snapshot(root / name)) == learned(fresh.snapshot(root / name))


# -- names ------------------------------------------------------------------------------------------------------------


def names(workspace: Workspace, path: Path) -> frozenset[str]:
    return workspace.snapshot(path).model.project_names.known()


def test_names_of_the_whole_project(tmp_path: Path) -> None:
    files = {"a.py": USE.format("x"), "pkg/b.py": TAG.format("b"), "skip/c.py": TAG.format("c")}
    files |= {".gitignore": "skip/\n", ".venv/e.py": TAG.format("e")}
    files |= {"bad.py": "checkpoint_name\0", "broken.py": "checkpoint_name ("}
    workspace = project(tmp_path, files)
    (tmp_path / "loop").symlink_to(".")
    assert names(workspace, tmp_path / "a.py") == {"b"}
    workspace.open(tmp_path / "pkg/b.py", TAG.format("unsaved"))
    assert names(workspace, tmp_path / "a.py") == {"unsaved"}
    workspace.open(tmp_path / "new.py", TAG.format("new"))
    assert names(workspace, tmp_path / "a.py") == {"unsaved", "new"}
    workspace.close(tmp_path / "new.py")
    workspace.close(tmp_path / "pkg/b.py")
    assert names(workspace, tmp_path / "a.py") == {"b"}
    write(tmp_path, {"f.py": TAG.format("f"), "pkg/b.py": "x\n"})
    workspace.files_changed([tmp_path / "f.py", tmp_path / "pkg/b.py"])
    assert names(workspace, tmp_path / "a.py") == {"f"}


def test_names_of_files_in_no_project(tmp_path: Path) -> None:
    write(tmp_path, {"a.py": "import helper\n" + USE.format("x"), "b.py": TAG.format("b")})
    write(tmp_path, {"helper.py": "from sub import more\n" + TAG.format("h"), "other.py": TAG.format("o")})
    write(tmp_path, {"sub/__init__.py": "", "sub/more.py": "def f():\n  from . import sub\n" + TAG.format("m")})
    given = [tmp_path / "a.py", tmp_path / "b.py"]
    assert names(Workspace([tmp_path], KNOWN, files=given), tmp_path / "a.py") == {"b", "h", "m"}
    assert names(Workspace([], KNOWN), tmp_path / "a.py") == {"h", "m"}
    # In an editor the folder is what the user works on.
    assert names(Workspace([tmp_path], KNOWN), tmp_path / "a.py") == {"b", "h", "m", "o"}


def test_the_home_folder_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    write(tmp_path, {"a.py": USE.format("x"), "b.py": TAG.format("b"), ".git/HEAD": ""})
    for roots in ([tmp_path], [tmp_path.parent], [Path(os.sep)], []):
        assert names(Workspace(roots, KNOWN), tmp_path / "a.py") == frozenset()


def test_no_name_is_missing_before_the_index_is_complete(tmp_path: Path) -> None:
    workspace = project(tmp_path, {"a.py": USE.format("x"), "b.py": TAG.format("b")}, wait_for_index=False)
    workspace.open(tmp_path / "a.py", USE.format("x"))
    assert workspace.snapshot(tmp_path / "a.py").model.project_names.may_be_tagged("x")
    for _ in workspace.index():
        pass
    index = workspace.snapshot(tmp_path / "a.py").model.project_names
    assert not index.may_be_tagged("x")
    assert index.known() == {"b"}


# -- settings ---------------------------------------------------------------------------------------------------------

# configuration, files -> x64 of a.py
TARGETS = [
    ("", {"a.py": ""}, False),
    ("x64 = true", {"a.py": ""}, True),
    ("", {"a.py": X64.format(True)}, True),
    ("x64 = false", {"a.py": X64.format(True)}, False),
    ("", {"a.py": "", "train.py": X64.format(True)}, True),
    ("", {"a.py": "", "another_program.py": X64.format(True).replace(", a", "")}, False),
    ("", {"a.py": X64.format(False), "train.py": X64.format(True)}, False),
    ("", {"a.py": "", "tests/conftest.py": X64.format(True)}, False),
]


@pytest.mark.parametrize(("config", "files", "x64"), TARGETS)
def test_target(tmp_path: Path, config: str, files: dict[str, str], x64: bool) -> None:
    target = project(tmp_path, files, config).snapshot(tmp_path / "a.py").model.target
    assert (str(target.version), target.x64) == ("0.7.2", x64)


def test_a_switch_that_is_typed(tmp_path: Path) -> None:
    workspace = project(tmp_path, {"a.py": "import jax\n"})
    workspace.open(tmp_path / "a.py", "import jax\n")
    assert not workspace.snapshot(tmp_path / "a.py").model.target.x64
    workspace.edit(tmp_path / "a.py", range_at(1, 0, 1, 0), 'jax.config.update("jax_enable_x64", True)\n')
    assert workspace.snapshot(tmp_path / "a.py").model.target.x64


def test_options(tmp_path: Path) -> None:
    workspace = project(tmp_path, {"a.py": "", "x/jaxpert.toml": "select = ['JXP3', 'nope']", "x/b.py": ""})
    assert workspace.snapshot(tmp_path / "a.py").enabled_rules == set(KNOWN)
    snapshot = workspace.snapshot(tmp_path / "x/b.py")
    assert snapshot.enabled_rules == {"unknown-checkpoint-name"}
    assert [problem.key for problem in snapshot.problems] == ["select"]
    write(tmp_path, {"x/jaxpert.toml": "jax-version = '0.5.0'\nselect = ['JXP201']"})
    snapshot = workspace.snapshot(tmp_path / "x/b.py")
    assert (snapshot.enabled_rules, snapshot.problems) == ({"policy-signature"}, ())
    assert str(snapshot.model.target.version) == "0.5.0"
    (tmp_path / "x/jaxpert.toml").unlink()
    assert str(workspace.snapshot(tmp_path / "x/b.py").model.target.version) == "0.7.2"


def test_overrides_by_folder(tmp_path: Path) -> None:
    given = {"jaxVersion": "0.6.0"}

    def overrides(folder: Path) -> Overrides:
        return Overrides(given if folder.name == "x" else {}, origin="editor settings")

    workspace = project(tmp_path, {"a.py": "import jax\n", "x/b.py": "import jax\n"}, overrides=overrides)
    versions = [str(workspace.snapshot(tmp_path / name).model.target.version) for name in ("a.py", "x/b.py")]
    assert versions == ["0.7.2", "0.6.0"]
    given["jaxVersion"] = "nonsense"
    assert str(workspace.snapshot(tmp_path / "x/b.py").model.target.version) == "0.6.0"
    workspace.settings_changed()
    snapshot = workspace.snapshot(tmp_path / "x/b.py")
    assert str(snapshot.model.target.version) == "0.7.2"
    assert str(snapshot.problems[0]).startswith("editor settings: `nonsense` is not a version")


def test_other_roots(tmp_path: Path) -> None:
    write(tmp_path, {"one/a.py": USE.format("x"), "one/b.py": TAG.format("b")})
    workspace = Workspace([], KNOWN)
    assert names(workspace, tmp_path / "one/a.py") == frozenset()
    workspace.set_roots([tmp_path / "one"])
    assert names(workspace, tmp_path / "one/a.py") == {"b"}
