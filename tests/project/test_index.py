"""The index of a project: which files are about checkpoint names, and which switches the project sets."""

import os
from pathlib import Path

import pytest

from jaxpert.jaxdb.load import load, newest_known
from jaxpert.jaxdb.schema import ApiKind, JaxTarget
from jaxpert.project import index as index_module
from jaxpert.project.index import NAME_MARKERS, ProjectIndex, is_test
from jaxpert.project.switches import Switches

ALONE = 'jax.config.update("jax_enable_x64", True)\n'
ON = "import model\n" + ALONE
OFF = "from model import f\n" + 'jax.config.update("jax_enable_x64", False)\n'
NOTEBOOK = '{"cells": [{"cell_type": "code", "source": ["%time 1\\n", "jax.config.update(\\"jax_remat3\\", True)"]}]}'


def index_of(root: Path, files: dict[str, str]) -> ProjectIndex:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return ProjectIndex(str(root), lambda: [str(root / name) for name in files])


def test_every_api_that_takes_names_has_a_marker() -> None:
    apis = list(load(JaxTarget(newest_known(), "")).apis())
    about = [api for api in apis if api.kind is ApiKind.CHECKPOINT_NAME or "names" in api.roles]
    about += [api for api in apis if {"names_as_varargs", "names_as_collections"} & api.traits]
    assert about
    for api in about:
        assert all(any(marker in path for marker in NAME_MARKERS) for path in api.paths), api.name


def test_files_about_names(tmp_path: Path) -> None:
    files = {"a.py": "checkpoint_name(x, 'a')", "b.py": "save_only_these_names('a')", "c.py": "x"}
    files["d.py"] = "\0checkpoint_name"
    index = index_of(tmp_path, files)
    assert index.files_about_names() == []
    index.finish()
    assert index.files_about_names() == [str(tmp_path / name) for name in ("a.py", "b.py", "d.py")]
    (tmp_path / "a.py").write_text("x")
    (tmp_path / "b.py").unlink()
    (tmp_path / "c.py").write_text("checkpoint_name")
    for name in files:
        index.update(str(tmp_path / name))
    assert index.files_about_names() == [str(tmp_path / name) for name in ("c.py", "d.py")]


SWITCHES = [
    ({"train.py": ON}, Switches(None, True)),
    ({"train.py": ON, "other.py": OFF}, Switches(None, True)),
    ({"train.py": OFF}, Switches(None, False)),
    ({"tests/conftest.py": ON, "test_a.py": ON}, Switches()),
    ({"tests/a.py": ON, "train.py": OFF}, Switches(None, False)),
    ({"a.ipynb": NOTEBOOK}, Switches()),
    ({"alone.py": ALONE, "other.py": "x = 1"}, Switches()),
    ({"settings.py": ALONE, "other.py": "import os, settings"}, Switches(None, True)),
    ({"package/__init__.py": "", "package/settings.py": ALONE}, Switches(None, True)),
    ({"scripts/run.py": ON}, Switches(None, True)),
    ({"a.ipynb": "{ jax_remat3", "b.py": "jax_remat3 = ("}, Switches()),
    ({}, Switches()),
]


@pytest.mark.parametrize(("files", "expected"), SWITCHES)
def test_switches(tmp_path: Path, files: dict[str, str], expected: Switches) -> None:
    index = index_of(tmp_path, {"model.py": "", **files})
    index.finish()
    assert index.found_switches() == expected


def test_built_in_steps_that_may_be_shared(tmp_path: Path) -> None:
    files = {f"{number:03}.py": "checkpoint_name" for number in range(50)}
    index = index_of(tmp_path, files)
    one, other = index.steps(), index.steps()
    next(one)
    next(other)
    assert 0 < len(index.files_about_names()) < 50
    assert not index.complete
    assert list(one) == list(other) == []
    assert index.complete
    assert len(index.files_about_names()) == 50


def test_a_folder_with_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_module, "MAX_FILES", 2)
    index = index_of(tmp_path, {"a.py": "", "b.py": "", "c.py": ""})
    index.finish()
    assert index.too_many


@pytest.mark.parametrize(
    ("path", "root", "expected"),
    [
        ("/p/tests/a.py", "/p", True),
        ("/p/pkg/a_test.py", "/p", True),
        ("/p/pkg/testing/a.py", "/p", True),
        ("/tests/p/a.py", "/tests/p", False),
        ("/tests/p/test_a.py", "", True),
        ("/p/contest.py", "/p", False),
    ],
)
def test_is_test(path: str, root: str, expected: bool) -> None:
    assert is_test(path, root) is expected


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "device.py").symlink_to("/dev/zero")
    (tmp_path / "a.py").write_text("checkpoint_name(x, 'a')")
    names = ("pipe.py", "device.py", "a.py")
    index = ProjectIndex(str(tmp_path), lambda: [str(tmp_path / name) for name in names])
    index.finish()
    index.update(str(tmp_path / "pipe.py"))
    assert index.files_about_names() == [str(tmp_path / "a.py")]
