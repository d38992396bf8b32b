"""Which files are found below a folder."""

import inspect
import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from jaxpert.project.config import Options, load_options
from jaxpert.project.discovery import find_files


def make(root: Path, files: Iterable[str]) -> None:
    """Each of ``files``, with the text behind "=" if there is one."""
    for entry in files:
        name, _, text = entry.partition("=")
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(";", "\n"))


def found(root: Path, *paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    def options_for(folder: Path) -> Options:
        options, problems = load_options(folder, known={})
        assert not problems
        return replace(options, exclude=(*options.exclude, *exclude))

    named = [root / path for path in paths] or [root]
    return [path.relative_to(root).as_posix() for path in find_files(named, options_for)]


# files -> those found
TREES = {
    "suffixes and order": (
        ["b.py", "a/z.pyi", "a.ipynb", "c.txt", "a.pyc", "a.py.orig", "a-b/x.py", "PY"],
        ["a/z.pyi", "a-b/x.py", "a.ipynb", "b.py"],
    ),
    "a folder called like a file": (["a.py/b.py", "c.py"], ["a.py/b.py", "c.py"]),
    "other people's code": (
        ["a.py", ".venv/b.py", "node_modules/b.py", "dist/b.py", "v/pyvenv.cfg", "v/b.py", "e/conda-meta/x", "e/b.py"],
        ["a.py"],
    ),
    "gitignore": (
        [".gitignore=*_p.py;/top.py;gen/;!keep_p.py", "a_p.py", "keep_p.py", "top.py", "x/top.py", "gen/a", "gen.py"],
        ["gen.py", "keep_p.py", "x/top.py"],
    ),
    "the inner gitignore wins": (
        [".gitignore=*.ipynb;a.py", "x/.gitignore=!a.py", "x/a.py", "x/b.ipynb", "a.py", "y/a.py"],
        ["x/a.py"],
    ),
    "gitignore with nonsense": ([".gitignore=# a;;!;a.py;\\", "a.py", "b.py"], ["b.py"]),
    "exclude": (
        ["jaxpert.toml=exclude = ['/gen', 'x/*_old.py']", "gen/a.py", "y/gen/a.py", "x/a_old.py", "x/a.py"],
        ["x/a.py", "y/gen/a.py"],
    ),
    "the inner configuration counts": (
        ["jaxpert.toml=exclude=['a.py']", "a.py", "x/jaxpert.toml=exclude=['b.py']", "x/a.py", "x/b.py", "x/y/b.py"],
        ["x/a.py"],
    ),
}


@pytest.mark.parametrize("case", TREES)
def test_trees(tmp_path: Path, case: str) -> None:
    files, expected = TREES[case]
    make(tmp_path, files)
    assert found(tmp_path) == sorted(expected, key=lambda path: path.split("/"))


def test_gitignore_of_the_repository_above(tmp_path: Path) -> None:
    make(tmp_path, [".gitignore=no_repository.py", "repo/.git/info/exclude=c.py", "repo/.gitignore=/x/a.py;/a.py"])
    make(tmp_path, ["repo/x/y/a.py", "repo/x/a.py", "repo/x/b.py", "repo/x/c.py", "repo/x/no_repository.py"])
    assert found(tmp_path, "repo/x") == ["repo/x/b.py", "repo/x/no_repository.py", "repo/x/y/a.py"]


NAMED = {
    "a file that is ignored": (["x/skip.py"], ["x/skip.py"]),
    "a file without a suffix": (["script"], ["script"]),
    "a file that is missing": (["missing.py"], ["missing.py"]),
    "a folder that is ignored": (["gen"], ["gen/a.py"]),
    "below a folder that is ignored": (["gen/sub", "build"], ["build/a.py"]),
    "a folder that is excluded": (["old"], ["old/a.py"]),
    "twice": (["x/a.py", "x", "x/../x/a.py"], ["x/a.py"]),
}


@pytest.mark.parametrize("case", NAMED)
def test_what_is_named_is_checked(tmp_path: Path, case: str) -> None:
    named, expected = NAMED[case]
    make(tmp_path, [".git/HEAD", ".gitignore=skip.py;gen/", "x/skip.py", "x/a.py", "script", "gen/a.py"])
    make(tmp_path, ["gen/sub/skip.md", "build/a.py", "old/a.py"])
    assert found(tmp_path, *named, exclude=("old/",)) == expected


def test_relative_paths_stay_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path, ["x/a.py", "x/.gitignore=b.py", "x/b.py"])
    monkeypatch.chdir(tmp_path)
    options = Options(root=tmp_path)
    assert list(find_files([Path()], lambda _: options)) == [Path("x/a.py")]
    assert list(find_files([Path("./x/../x")], lambda _: options)) == [Path("x/../x/a.py")]


def test_links(tmp_path: Path) -> None:
    make(tmp_path, ["a/real.py", "z.py"])
    files = {"a/same.py": "real.py", "a/self.py": "self.py", "a/gone.py": "nowhere", "a/out.py": "../z.py"}
    for name, target in {"a/loop": ".", "b": "a", **files}.items():
        (tmp_path / name).symlink_to(target)
    assert found(tmp_path, "a") == ["a/out.py", "a/real.py"]
    assert found(tmp_path, "b") == ["b/out.py", "b/real.py"]
    assert found(tmp_path) == ["a/out.py", "a/real.py"]


def test_deep_tree(tmp_path: Path) -> None:
    make(tmp_path, ["d/" * 150 + "a.py", "e.py"])
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        assert len(found(tmp_path)) == 2
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="the superuser may read everything")
def test_unreadable_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make(tmp_path, ["a/b.py", "c.py"])
    (tmp_path / "a").chmod(0)
    try:
        assert found(tmp_path) == ["c.py"]
    finally:
        (tmp_path / "a").chmod(0o755)
    assert "not looked into: permission denied" in caplog.text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_gitignore_that_is_no_file(tmp_path: Path, kind: str) -> None:
    make(tmp_path, ["a.py", "sub/b.py", ".git/HEAD"])
    for odd in (tmp_path / ".gitignore", tmp_path / "sub" / ".gitignore"):
        if kind == "pipe":
            os.mkfifo(odd)
        elif kind == "device":
            odd.symlink_to("/dev/zero")
        else:
            odd.mkdir()
    assert found(tmp_path) == ["a.py", "sub/b.py"]
    assert found(tmp_path, "sub") == ["sub/b.py"]
