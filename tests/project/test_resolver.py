"""Modules and project roots."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from jaxpert.project.resolver import ModuleName, Resolver, is_too_wide


def make(root: Path, files: Iterable[str]) -> None:
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()


FILES = ["pyproject.toml", "src/pkg/__init__.py", "src/pkg/sub/__init__.py", "src/pkg/sub/mod.py", "src/pkg/sub.py"]
FILES += ["tools/a.py", "tools/b.py", "tools/name space/c.py", "ns/inner/d.py", "tools/pkg.py", "stub.pyi"]

# file, module that it imports -> the file of that module
IMPORTS = [
    ("src/pkg/__init__.py", "pkg.sub.mod", "src/pkg/sub/mod.py"),
    ("src/pkg/__init__.py", "pkg.sub", "src/pkg/sub/__init__.py"),  # a package is stronger than a module
    ("src/pkg/sub/mod.py", "pkg", "src/pkg/__init__.py"),
    ("tools/a.py", "b", "tools/b.py"),
    ("tools/a.py", "tools.b", "tools/b.py"),
    ("tools/a.py", "pkg", "tools/pkg.py"),  # beside the script is stronger than anywhere else
    ("ns/inner/d.py", "pkg.sub.mod", "src/pkg/sub/mod.py"),
    ("ns/inner/d.py", "ns.inner.d", "ns/inner/d.py"),
    ("ns/inner/d.py", "ns.inner", None),  # nothing to read
    ("ns/inner/d.py", "a", None),
    ("ns/inner/d.py", "pkg.missing", None),
    ("ns/inner/d.py", "stub", None),
    ("ns/inner/d.py", "", None),
    ("ns/inner/d.py", "..", None),
]


@pytest.mark.parametrize(("file", "module", "found"), IMPORTS)
def test_imports(tmp_path: Path, file: str, module: str, found: str | None) -> None:
    make(tmp_path, FILES)
    resolver = Resolver([])
    path = resolver.file_of(module, resolver.bases_of(str(tmp_path / file)))
    assert path == (found and str(tmp_path / found))


NAMES = [
    ("src/pkg/sub/mod.py", ("pkg.sub.mod", False, "src")),
    ("src/pkg/sub/__init__.py", ("pkg.sub", True, "src")),
    ("tools/name space/c.py", ("c", False, "tools/name space")),
    ("notebook.ipynb", ("", False, ".")),
]


@pytest.mark.parametrize(("file", "name"), NAMES)
def test_names(tmp_path: Path, file: str, name: tuple[str, bool, str]) -> None:
    make(tmp_path, FILES)
    module, is_package, base = name
    assert Resolver([]).module_of(str(tmp_path / file)) == ModuleName(module, is_package, str(tmp_path / base))


def test_files_that_come_and_go(tmp_path: Path) -> None:
    make(tmp_path, ["a.py"])
    resolver = Resolver([str(tmp_path)])
    bases = resolver.bases_of(str(tmp_path / "a.py"))
    assert resolver.file_of("b", bases) is None
    resolver.set_open([str(tmp_path / "b.py")])
    assert resolver.file_of("b", bases) == str(tmp_path / "b.py")
    resolver.set_open([])
    assert resolver.file_of("b", bases) is None
    make(tmp_path, ["b.py"])
    resolver.forget()
    assert resolver.file_of("b", bases) == str(tmp_path / "b.py")


# files, the user's folders -> the root of the project of home/me/work/a/b.py
ROOTS = [
    (["home/me/work/a/setup.py"], [], "home/me/work/a"),
    (["home/me/work/.git/HEAD", "home/me/work/a/x.toml"], [], "home/me/work"),
    (["home/me/.git/HEAD"], [], None),
    (["home/me/.git/HEAD"], ["home/me"], None),
    (["home/.git/HEAD"], ["home", "."], None),
    ([], ["home/me/work", "home/me/work/a", "elsewhere"], "home/me/work/a"),
    (["home/me/work/pyproject.toml"], ["home/me/work/a"], "home/me/work"),
    ([], [], None),
]


@pytest.mark.parametrize(("files", "roots", "expected"), ROOTS)
def test_project_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], roots: list[str], expected: str | None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home/me"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home/me"))
    make(tmp_path, [*files, "home/me/work/a/b.py"])
    folders = [str(tmp_path / root) for root in roots]
    file = str(tmp_path / "home/me/work/a/b.py")
    assert Resolver(folders).project_root(file) == (expected and str(tmp_path / expected))
    if not files:
        assert Resolver(folders, are_projects=False).project_root(file) is None


def test_too_wide() -> None:
    assert is_too_wide("/")
    assert is_too_wide(str(Path.home()))
    assert is_too_wide(str(Path.home().parent))
    assert not is_too_wide(str(Path.home() / "project"))


def test_jax_is_looked_for_above_a_folder_that_was_named(tmp_path: Path) -> None:
    package = tmp_path / "project" / "src" / "net"
    package.mkdir(parents=True)
    (tmp_path / "project" / "pyproject.toml").touch()
    file = str(package / "model.py")
    assert Resolver([str(package)]).environment_root(file) == str(tmp_path / "project")
    assert Resolver([str(tmp_path)]).environment_root(file) == str(tmp_path)
    (tmp_path / "project" / "pyproject.toml").unlink()
    assert Resolver([str(package)]).environment_root(file) == str(package)
