"""A second run says what the first would say now, and looks only into files for which that may have changed."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from unittest import mock

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxpert.__main__ import main
from jaxpert.project.tracked_file import TrackedFile
from jaxpert.syntax.units import SourceFile
from tests.cli.samples import CALLED, FALLS_THROUGH

PARSE = TrackedFile.parse
TAGS = """\
import jax
from jax.ad_checkpoint import checkpoint_name
from .words import OUT
def block(x):
    return checkpoint_name(x, OUT)
layer = jax.checkpoint(block)
"""
POLICY = """\
import jax
from .policies import keep
from .tags import block
layer = jax.checkpoint(block, policy=keep)
from .wrappers import wrap
from .later import checkpoint
layers = wrap(block, policy=["dots"]), checkpoint(block, policy=["dots"])
names = jax.checkpoint(block, policy=jax.checkpoint_policies.save_only_these_names("atn_out"))
"""
FILES = {
    "jaxpert.toml": 'jax-version = "0.10.2"\n',
    "pkg/__init__.py": "",
    "pkg/words.py": 'OUT = "attn_out"\n',
    "pkg/tags.py": TAGS,
    "pkg/policies.py": "def keep(prim, *avals, **params):\n    return True\n",
    "pkg/train.py": POLICY,
    "pkg/wrappers.py": "def wrap(function, policy): return function\n",
    "pkg/falls.py": FALLS_THROUGH,
    "pkg/plain.py": "x = 1\n",
}
WRAPS = "import jax\ncheckpoint = wrap = jax.checkpoint\n"
FORGETS = "def keep(prim, *avals, **params):\n    if prim.name == 'dot_general':\n        return True\n"


def write(root: Path, files: Mapping[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink(missing_ok=True)
        else:
            path.write_text(text)


@contextlib.contextmanager
def noted_parsing(root: Path) -> Iterator[set[str]]:
    """The files below ``root`` that are parsed meanwhile."""
    parsed: set[str] = set()

    def parse(file: TrackedFile) -> SourceFile:
        parsed.add(Path(file.path).relative_to(root).as_posix())
        return PARSE(file)

    with mock.patch.object(TrackedFile, "parse", parse):
        yield parsed


class Project:
    """A folder to be checked again and again, with a cache beside it."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root = root.resolve()
        self.cache = cache
        self.parsed: set[str] = set()
        write(self.root, FILES)

    def check(self, *arguments: str, cache: str = "", output: str = "text") -> tuple[int, str]:
        """The exit code and what is printed."""
        before = Path.cwd()
        os.chdir(self.root)
        try:
            with noted_parsing(self.root) as self.parsed:
                words = ["check", "--output-format", output, *arguments]
                result = CliRunner().invoke(main, words, env={"JAXPERT_CACHE": cache or str(self.cache)})
            return result.exit_code, result.output
        finally:
            os.chdir(before)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project", tmp_path / "cache")


@pytest.mark.parametrize("output", ["text", "json", "sarif", "github"])
def test_a_second_run_parses_nothing_and_says_the_same(project: Project, output: str) -> None:
    first = project.check(output=output)
    assert first[0] == 1
    assert {"pkg/train.py", "pkg/tags.py"} <= project.parsed
    assert project.check(output=output) == first
    assert project.parsed == set()
    assert project.check(output=output, cache="off") == first
    assert {"pkg/train.py", "pkg/tags.py"} <= project.parsed
    assert project.check("--no-cache", output=output) == first
    assert {"pkg/train.py", "pkg/tags.py"} <= project.parsed


CHANGES = [
    ("its text", {"pkg/falls.py": CALLED}, {"pkg/falls.py"}),
    ("a policy elsewhere", {"pkg/policies.py": FORGETS}, {"pkg/policies.py", "pkg/train.py"}),
    ("a name elsewhere", {"pkg/words.py": 'OUT = "out"\n'}, {"pkg/words.py", "pkg/tags.py", "pkg/train.py"}),
    ("a new name", {"pkg/more.py": TAGS.replace("OUT)", '"atn_out")')}, {"pkg/more.py", "pkg/train.py"}),
    ("a wrapper elsewhere", {"pkg/wrappers.py": WRAPS}, {"pkg/wrappers.py", "pkg/train.py"}),
    ("a module that was missing", {"pkg/later.py": WRAPS}, {"pkg/later.py", "pkg/train.py"}),
    ("a module gone", {"pkg/words.py": None}, {"pkg/tags.py", "pkg/train.py"}),
    ("a package in front", {"pkg/policies/__init__.py": FORGETS}, {"pkg/train.py", "pkg/policies/__init__.py"}),
    ("the JAX", {"jaxpert.toml": 'jax-version = "0.6.0"\n'}, {"pkg/tags.py", "pkg/train.py", "pkg/falls.py"}),
    ("the rules", {"jaxpert.toml": 'jax-version = "0.10.2"\nignore = ["JXP2"]\n'}, {"pkg/falls.py", "pkg/train.py"}),
    ("a switch", {"run.py": 'import jax\njax.config.update("jax_enable_x64", True)\nimport pkg\n'}, {"pkg/falls.py"}),
    ("a comment", {"pkg/tags.py": TAGS + "# more\n"}, {"pkg/tags.py", "pkg/train.py"}),
    ("nothing about JAX", {"pkg/plain.py": "x = 2\n"}, set()),
]


@pytest.mark.parametrize(("changes", "parsed"), [pytest.param(*case[1:], id=case[0]) for case in CHANGES])
def test_what_rests_on_a_change_is_looked_into_again(
    project: Project, changes: Mapping[str, str | None], parsed: set[str]
) -> None:
    project.check()
    write(project.root, changes)
    again = project.check()
    assert parsed <= project.parsed
    assert bool(parsed) == bool(project.parsed)
    assert again == project.check(cache="off")
    assert project.check() == again
    assert project.parsed == set()
    write(project.root, {**dict.fromkeys(changes), **FILES})  # back on the first branch
    assert project.check() == project.check(cache="off")


def test_a_name_that_comes_makes_a_finding_go(project: Project) -> None:
    """The findings of a file that did not change, nor any that it imports."""
    assert "JXP301" in project.check()[1]
    write(project.root, {"pkg/more.py": TAGS.replace("OUT)", '"atn_out")')})
    assert "JXP301" not in project.check()[1]
    write(project.root, {"pkg/more.py": None})
    assert "JXP301" in project.check()[1]


def test_several_processes_keep_what_they_find(project: Project) -> None:
    write(project.root, {f"pkg/m{number}.py": FALLS_THROUGH for number in range(6)})
    first = project.check("--jobs", "3")
    assert project.check("--jobs", "3") == first
    assert project.parsed == set()
    assert project.check("--jobs", "1", cache="off") == first


def test_ways_of_looking_are_kept_apart(project: Project) -> None:
    one, other = project.check(), project.check("--select", "JXP3")
    assert one != other
    assert (project.check(), project.check("--select", "JXP3")) == (one, other)
    assert project.check("--jax-version", "0.6.0") == project.check("--jax-version", "0.6.0", cache="off")
    here = project.check("pkg/falls.py")
    assert here[1].startswith("pkg/falls.py:")
    assert project.check("pkg/falls.py") == here


def test_fixing_looks_and_is_seen_afterwards(project: Project) -> None:
    project.check()
    assert "Fixed 1. " in project.check("--fix")[1]
    assert "JXP202" not in project.check()[1]
    assert project.check() == project.check(cache="off")


def test_notebooks(project: Project) -> None:
    cells = ["import jax\n", FALLS_THROUGH.replace("import jax\n", ""), "1\n"]
    written = {
        "cells": [
            {"cell_type": "code", "source": text, "metadata": {}, "outputs": [], "execution_count": None}
            for text in cells
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    write(project.root, {"n.ipynb": json.dumps(written)})
    first = project.check("n.ipynb")
    assert first[0] == 1
    assert project.check("n.ipynb") == first
    assert project.parsed == set()


def test_files_of_no_project(tmp_path: Path) -> None:
    project = Project(tmp_path / "scripts", tmp_path / "cache")
    write(project.root, {"jaxpert.toml": None})
    first = project.check("--jax-version", "0.10.2", "pkg/train.py", "pkg/tags.py")
    assert project.check("--jax-version", "0.10.2", "pkg/train.py", "pkg/tags.py") == first
    assert project.parsed == set()
    alone = project.check("--jax-version", "0.10.2", "pkg/train.py")
    assert alone == project.check("--jax-version", "0.10.2", "pkg/train.py", cache="off")


def test_files_of_no_project_belong_together_in_any_order(tmp_path: Path) -> None:
    project = Project(tmp_path / "scripts", tmp_path / "cache")
    write(project.root, dict.fromkeys(FILES))
    names = 'policy=jax.checkpoint_policies.save_only_these_names("atn_out"))\n'
    texts = {
        "tags.py": TAGS.replace("from .words import OUT\n", "").replace("OUT)", '"atn_out")'),
        "a.py": "import jax\nimport tags\nlayer = jax.checkpoint(tags.block)\n",
        "b.py": TAGS.replace("from .words import OUT\n", "").replace("OUT)", f'"attn_out")\nb = jax.checkpoint(block, {names}'),
    }
    write(project.root, texts)
    alone = project.check("b.py")
    assert "JXP301" in alone[1]
    for cache in ("", "off"):
        assert "No problems" in project.check("a.py", "b.py", cache=cache)[1]
        assert "No problems" in project.check("b.py", "a.py", cache=cache)[1]
        assert "No problems" in project.check("b.py", "a.py", "--jobs", "2", cache=cache)[1]
        assert project.check("b.py", cache=cache) == alone


def test_a_bad_notebook_without_jax_is_nobodys_business(tmp_path: Path) -> None:
    project = Project(tmp_path / "scripts", tmp_path / "cache")
    write(project.root, dict.fromkeys(FILES))
    write(project.root, {"a.py": FILES["pkg/train.py"], "z.ipynb": "bad"})
    first = project.check("a.py", "z.ipynb", cache="off")
    assert [project.check("a.py", "z.ipynb"), project.check("a.py", "z.ipynb")] == [first] * 2


def test_a_file_with_two_names_goes_by_the_one_that_was_given(project: Project) -> None:
    write(project.root, {name: None for name in FILES if name.startswith("pkg/")})
    write(project.root, {"z/b.py": FORGETS, "a.py": "import jax\nfrom lnk.b import keep\nf = jax.checkpoint(f, policy=keep)\n"})
    (project.root / "lnk").symlink_to(project.root / "z")
    first = project.check(cache="off")
    assert "z/b.py:" in first[1]
    assert [project.check(), project.check(), project.check("--no-cache", "--jobs", "2")] == [first] * 3


def test_what_imports_an_unreadable_module_is_kept(project: Project) -> None:
    (project.root / "pkg/words.py").write_bytes(b"OUT = 'attn_out'  # \xe9\n")
    first = project.check()
    assert project.check() == first
    assert "pkg/tags.py" not in project.parsed
    write(project.root, FILES)
    assert project.check() == project.check(cache="off")


def test_one_huge_report_costs_only_itself(project: Project) -> None:
    with mock.patch("jaxpert.project.index_cache.LARGEST_FINDINGS", 20_000):
        write(project.root, {"zz.py": FALLS_THROUGH + FALLS_THROUGH.replace("import jax\n", "") * 60})
        first = project.check()
        assert project.check() == first
        assert "zz.py" in project.parsed and "pkg/falls.py" not in project.parsed


def test_no_other_project_of_the_same_run_is_written_into(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Project(project.root.parent / "other", project.root / "cache")
    before = sorted(project.root.rglob("*"))
    (named, also) = (str(one.root / "pkg/falls.py") for one in (project, other))
    other.check(also, named)
    assert sorted(project.root.rglob("*")) == before


def test_what_went_wrong_is_told_each_time(project: Project) -> None:
    write(project.root, {"jaxpert.toml": 'jax-version = "0.10.2"\nselct = []\n'})
    first = project.check()
    assert first[0] == 2
    assert project.check() == first
    write(project.root, FILES)
    (project.root / "latin.py").write_bytes(b"import jax  # \xe9\n")
    told = project.check()
    assert (told[0], "latin.py" in told[1]) == (2, True)
    assert project.check() == told


def test_a_crash_is_told_each_time(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAXPERT_CRASH")
    with mock.patch("jaxpert.engine.analyze._expected_at", side_effect=ZeroDivisionError):
        assert project.check()[0] == 2
        assert project.check()[0] == 2
    assert project.check() == project.check(cache="off")


def test_nothing_is_written_into_what_is_checked(project: Project) -> None:
    before = sorted(project.root.rglob("*"))
    for folder in (project.root, project.root / ".cache"):
        project.check(cache=str(folder))
    assert sorted(project.root.rglob("*")) == before


def test_from_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds the cache, but is not what is checked."""
    home = Project(tmp_path, tmp_path / ".cache")
    write(home.root, {f"project/{name}": text for name, text in FILES.items()})
    monkeypatch.setenv("HOME", str(home.root))
    first = home.check("project")
    assert home.check("project") == first
    assert home.parsed == set()


def test_nothing_is_made_on_the_way_to_the_cache(project: Project) -> None:
    project.check(cache="new/../../cache")
    assert not (project.root / "new").exists()
    assert list(project.cache.glob("*.facts"))


def test_files_of_others_in_the_cache_folder_are_left_alone(project: Project) -> None:
    project.cache.mkdir()
    theirs = [project.cache / name for name in ("thesis.unfinished", "thesis.facts", "jaxpert-ab12.unfinished")]
    for file in theirs:
        file.write_text("mine")
        os.utime(file, (0, 0))
    with mock.patch("jaxpert.project.index_cache.LARGEST_FOLDER", 1):
        project.check()
    assert [file.exists() for file in theirs] == [True, True, False]


@pytest.mark.parametrize("data", [b"", b"\0" * 50, None])
def test_a_spoilt_cache_costs_time_only(project: Project, data: bytes | None) -> None:
    first = project.check()
    (kept,) = project.cache.glob("*.facts")
    content = kept.read_bytes()
    kept.write_bytes(content[: len(content) // 2] if data is None else data)
    assert project.check() == first
    project.cache.chmod(0o500)
    assert project.check() == first
    project.cache.chmod(0o700)


TEXTS = {
    "pkg/words.py": ['OUT = "atn_out"\n', "from .more import OUT\n", "OUT = (\n"],
    "pkg/more.py": ['OUT = "b"\n', "from .words import OUT\n", TAGS],
    "pkg/tags.py": [TAGS, "from .more import *\nimport jax\nlayer = jax.remat(block)\n"],
    "pkg/policies.py": [FORGETS, "from .more import keep\n", "import jax\nkeep = jax.checkpoint_policies.dots_saveable\n"],
    "pkg/train.py": [POLICY, POLICY.replace(".tags", ".more"), POLICY.replace("import keep", "import *")],
    "pkg/wrappers.py": [WRAPS, "from .later import *\n"],
    "pkg/later.py": [WRAPS, "from .wrappers import wrap as checkpoint\n"],
    "policies.py": [FORGETS],
    "jaxpert.toml": [FILES["jaxpert.toml"], 'jax-version = "0.12.0"\nremat3 = true\n'],
}
SOME = st.sampled_from([(name, text) for name, texts in TEXTS.items() for text in (*texts, None)])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(SOME, min_size=1, max_size=3), min_size=1, max_size=4))
def test_after_any_changes_it_says_what_a_first_run_says(runs: list[list[tuple[str, str | None]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder) / "project", Path(folder).resolve() / "cache")
        project.check(output="json")
        for changes in runs:
            write(project.root, dict(changes))
            assert project.check(output="json") == project.check(output="json", cache="off")
