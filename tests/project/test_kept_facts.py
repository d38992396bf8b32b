"""What is known at the next start: the same as without a cache, with nothing read closer that did not change."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxpert.project.tracked_file import TrackedFile
from jaxpert.project.workspace import Workspace
from jaxpert.syntax.units import SourceFile
from jaxpert.text.lines import range_at

KNOWN = {"unknown-checkpoint-name": "JXP301"}
CONFIG = 'jax-version = "0.7.2"\n'
MAIN = "import jax\n"
PARSE = TrackedFile.parse
FILES = {
    "jaxpert.toml": CONFIG,
    "main.py": MAIN,
    "pkg/__init__.py": "",
    "pkg/words.py": 'OUT = "attn_out"\n',
    "pkg/tags.py": "from jax.ad_checkpoint import checkpoint_name\nfrom .words import OUT\n"
    "def f(x): return checkpoint_name(x, OUT)\n",
    "pkg/policy.py": 'import jax\nP = jax.checkpoint_policies.save_only_these_names("attn_out")\n',
    "pkg/block.py": "import jax\n@jax.checkpoint\ndef block(x): return x\n",
    "pkg/plain.py": "x = 1\n",
}


def write(root: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)


class Session:
    """An editor that has ``main.py`` open."""

    def __init__(self, root: Path, cache: Path | None) -> None:
        self.root = root
        self.workspace = Workspace([root], KNOWN, wait_for_index=False, cache_folder=lambda root: cache)
        self.workspace.open(root / "main.py", MAIN)
        self.read: list[str] = []
        self.pass_by()

    def pass_by(self) -> None:
        """Let everything be read, and note which closed files were parsed for that."""
        parsed = []

        def parse(file: TrackedFile) -> SourceFile:
            if not file.is_open:
                parsed.append(Path(file.path).relative_to(self.root).as_posix())
            return PARSE(file)

        with mock.patch.object(TrackedFile, "parse", parse):
            for _ in self.workspace.index():
                pass
        self.read = sorted(set(parsed))

    def known(self) -> object:
        """All that is known about names and outlines, in the order of the paths."""
        names = self.workspace.snapshot(self.root / "main.py").model.project_names.files
        return sorted(names.items()), sorted(self.workspace.outlines(), key=lambda it: (it.path, it.range))

    def names(self) -> set[str]:
        files = self.workspace.snapshot(self.root / "main.py").model.project_names.files
        return {place.text for facts in files.values() for place in (*facts.tags, *facts.uses)}


@pytest.fixture
def place(tmp_path: Path) -> tuple[Path, Path]:
    """The folder of a project, and one for the cache."""
    write(tmp_path / "project", FILES)
    return tmp_path / "project", tmp_path / "cache"


def test_nothing_is_read_closer_twice(place: tuple[Path, Path]) -> None:
    first = Session(*place)
    assert {"pkg/tags.py", "pkg/policy.py"} <= set(first.read)
    second = Session(*place)
    assert second.read == []
    assert second.known() == first.known() == Session(place[0], None).known()
    assert second.names() == {"attn_out"}


ONE_CHANGE = [
    ("its text", {"pkg/policy.py": FILES["pkg/policy.py"].replace("attn_out", "mlp_up")}, {"pkg/policy.py"}),
    ("what it imports", {"pkg/words.py": 'OUT = "out"\n'}, {"pkg/tags.py", "pkg/words.py"}),
    ("a module gone", {"pkg/words.py": None}, {"pkg/tags.py"}),
    ("another module in front", {"pkg/words.py": None, "pkg/words/__init__.py": "OUT = 'o'\n"}, {"pkg/tags.py"}),
    ("the JAX", {"jaxpert.toml": 'jax-version = "0.6.0"\n'}, {"pkg/tags.py", "pkg/policy.py", "pkg/block.py"}),
    ("a switch", {"pkg/train.py": 'import jax\njax.config.update("jax_enable_x64", True)\n'}, {"pkg/tags.py"}),
    ("the package", {"pkg/__init__.py": None}, {"pkg/policy.py", "pkg/block.py"}),
    ("nothing about names", {"pkg/plain.py": "x = 2\n"}, set()),
]


@pytest.mark.parametrize(("changes", "read"), [pytest.param(*case[1:], id=case[0]) for case in ONE_CHANGE])
def test_what_rests_on_a_change_is_read_again(
    place: tuple[Path, Path], changes: Mapping[str, str | None], read: set[str]
) -> None:
    root, cache = place
    Session(root, cache)
    write(root, changes)
    session = Session(root, cache)
    assert read <= set(session.read)
    assert bool(read) == bool(session.read)
    assert session.known() == Session(root, None).known()
    assert Session(root, cache).read == []
    write(root, FILES)  # back on the first branch
    assert Session(root, cache).known() == Session(root, None).known()


def test_texts_of_both_branches_stay_known(place: tuple[Path, Path]) -> None:
    root, cache = place
    Session(root, cache)
    write(root, {"pkg/policy.py": FILES["pkg/policy.py"].replace("attn_out", "mlp_up")})
    assert "mlp_up" in Session(root, cache).names()
    write(root, FILES)
    assert Session(root, cache).read == []


def test_what_comes_from_the_cache_is_forgotten_when_it_no_longer_holds(place: tuple[Path, Path]) -> None:
    root, cache = place
    Session(root, cache)
    session = Session(root, cache)
    session.workspace.open(root / "pkg/words.py", FILES["pkg/words.py"])
    session.workspace.edit(root / "pkg/words.py", range_at(0, 7, 0, 15), "typed")
    session.pass_by()
    assert session.names() == {"attn_out", "typed"}
    session.workspace.close(root / "pkg/words.py")
    session.pass_by()
    assert session.names() == {"attn_out"}
    write(root, {"pkg/words.py": 'OUT = "written"\n'})
    session.pass_by()
    assert session.names() == {"attn_out", "written"}


def test_what_rests_on_an_unsaved_text_is_not_kept(place: tuple[Path, Path]) -> None:
    root, cache = place
    session = Session(root, cache)
    session.workspace.open(root / "pkg/words.py", 'OUT = "unsaved"\n')
    session.pass_by()
    assert "unsaved" in session.names()
    again = Session(root, cache)
    assert (again.names(), again.read) == ({"attn_out"}, [])


def test_nothing_is_written_inside_the_workspace(place: tuple[Path, Path], tmp_path: Path) -> None:
    root, _ = place
    (tmp_path / "link").symlink_to(root)
    before = sorted(root.rglob("*"))
    for folder in (root, root / ".cache", tmp_path / "link" / "cache"):
        assert Session(root, folder).names() == {"attn_out"}
    assert sorted(root.rglob("*")) == before


def test_two_editors_at_once(place: tuple[Path, Path]) -> None:
    root, cache = place
    one, other = (Workspace([root], KNOWN, wait_for_index=False, cache_folder=lambda root: cache) for _ in "12")
    for workspace in (one, other):
        workspace.open(root / "main.py", MAIN)
    steps = [one.index(), other.index()]
    while steps:
        steps = [each for each in steps if next(each, None) is not None]
    assert Session(root, cache).read == []


# What may happen between two starts, or while the editor runs: each file may become any of these texts, or go.
TEXTS = {
    "pkg/words.py": ['OUT = "a"\n', "from .more import OUT\n", "OUT = (\n"],
    "pkg/more.py": ['OUT = "b"\n', "from .words import OUT\n"],
    "pkg/tags.py": [FILES["pkg/tags.py"], "import jax\nfrom .words import OUT\nP = jax.remat(OUT)\n"],
    "pkg/policy.py": [
        "import jax\nfrom .words import OUT\nP = jax.checkpoint_policies.save_only_these_names(OUT)\n",
        "import jax\nfrom .more import *\nP = jax.checkpoint_policies.save_only_these_names(OUT)\n",
    ],
}
CHANGES = st.sampled_from([(name, text) for name, texts in TEXTS.items() for text in (*texts, None)])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(CHANGES, max_size=3), min_size=2, max_size=4))
def test_after_any_changes_the_same_is_known_as_at_a_first_start(starts: list[list[tuple[str, str | None]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root, cache = Path(folder).resolve() / "project", Path(folder) / "cache"
        write(root, FILES)
        told, untold = Session(root, cache), Session(root, None)
        for changes in starts:
            write(root, dict(changes))
            told.workspace.files_changed(root / name for name, _ in changes)
            untold.workspace.look_again()
            fresh = Session(root, None).known()
            for session in (told, untold):
                session.pass_by()
                assert session.known() == fresh
            assert Session(root, cache).known() == fresh
