"""The cache on disk: whatever happens to its file, a value is either right or not there."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxpert.project import index_cache
from jaxpert.project.index_cache import IndexCache, build, cache_folder

VALUES = {f"{number:032x}": [number, None, True, "näme\n", ["x" * number]] for number in range(8)}


def filled(folder: Path, project: str = "project") -> Path:
    """A folder with a cache that holds :data:`VALUES`; returns the one file in it."""
    cache = IndexCache(folder, project)
    for key, value in VALUES.items():
        cache.put(key, value)
    cache.save()
    return next(folder.glob("*.facts"))


def kept(folder: Path, project: str = "project") -> dict[str, object]:
    cache = IndexCache(folder, project)
    return {key: value for key in VALUES if (value := cache.get(key)) is not None}


def test_values_are_there_at_the_next_start(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "when needed"
    cache = IndexCache(folder, "project")
    assert cache.get("0" * 32) is None
    cache.save()
    assert not folder.exists()
    filled(folder)
    assert kept(folder) == VALUES
    assert kept(folder, "other project") == {}


def test_a_saved_cache_goes_on(tmp_path: Path) -> None:
    cache = IndexCache(tmp_path, "project")
    for key, value in VALUES.items():
        cache.put(key, value)
        assert cache.get(key) == value
        cache.save()
        assert cache.get(key) == value
    assert kept(tmp_path) == VALUES


def test_another_build_has_a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path)
    monkeypatch.setattr(index_cache, "build", lambda: "another")
    assert kept(tmp_path) == {}
    assert len(build()) == 32


@given(st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=3)), min_size=1, max_size=5), st.booleans())
def test_damage_costs_values_and_nothing_else(damage: list[tuple[int, bytes]], is_cut: bool) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = filled(folder)
        data = file.read_bytes()
        for place, new in damage:
            data = data[:place] + new + (b"" if is_cut else data[place + len(new) :])
        file.write_bytes(data)
        assert kept(folder).items() <= VALUES.items()
        filled(folder)
        assert kept(folder) == VALUES


@pytest.mark.parametrize("data", [b"", b"\0" * 100, b"\n \n  \n", b"{}", b"a b c\n" * 10])
def test_a_file_that_is_no_cache(tmp_path: Path, data: bytes) -> None:
    filled(tmp_path).write_bytes(data)
    assert kept(tmp_path) == {}


def test_two_servers_lose_nothing(tmp_path: Path) -> None:
    one, other = IndexCache(tmp_path, "project"), IndexCache(tmp_path, "project")
    for number, (key, value) in enumerate(VALUES.items()):
        cache = one if number % 2 else other
        assert cache.get(key) is None
        cache.put(key, value)
    one.save()
    other.save()
    assert kept(tmp_path) == VALUES


def _full(*arguments: object, **keywords: object) -> None:
    raise OSError(errno.ENOSPC, "no space left on device")


@pytest.mark.parametrize("what", ["folder", "file", "end"])
def test_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, what: str
) -> None:
    folder = tmp_path / "cache"
    if what == "folder":
        folder.write_text("a file")
    elif what == "file":
        monkeypatch.setattr(tempfile, "mkstemp", _full)
    else:
        monkeypatch.setattr(Path, "replace", _full)
    cache = IndexCache(folder, "project")
    with caplog.at_level(logging.INFO, logger="jaxpert"):
        for key, value in VALUES.items():
            cache.put(key, value)
            cache.save()
            assert cache.get(key) is None
    assert len(caplog.records) == 1
    assert [file.name for file in tmp_path.rglob("*") if file != folder] == []


def test_what_was_not_used_for_long_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = filled(tmp_path).stat().st_size
    monkeypatch.setattr(index_cache, "LARGEST_FILE", size)
    first, second, *_ = VALUES
    cache = IndexCache(tmp_path, "project")
    cache.get(first)
    cache.put("f" * 32, VALUES[first])
    cache.save()
    assert next(tmp_path.glob("*.facts")).stat().st_size <= size
    assert kept(tmp_path).keys() == VALUES.keys() - {second}
    assert IndexCache(tmp_path, "project").get("f" * 32) == VALUES[first]


def test_projects_that_nobody_opens_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = filled(tmp_path, "opened").stat().st_size
    for age, project in enumerate(("opened", "newer", "old")):
        known = set(tmp_path.glob("*.facts"))
        filled(tmp_path, project)
        for file in set(tmp_path.glob("*.facts")) - known if age else known:
            os.utime(file, (1000 - age, 1000 - age))
    kept(tmp_path, "opened")  # reading counts as use
    (tmp_path / "jaxpert-abandoned.unfinished").write_text("")
    os.utime(tmp_path / "jaxpert-abandoned.unfinished", (1000, 1000))
    (tmp_path / "jaxpert-another.unfinished").write_text("")
    monkeypatch.setattr(index_cache, "LARGEST_FOLDER", 3 * size)
    filled(tmp_path, "new")
    known_now = [project for project in ("opened", "newer", "old", "new") if kept(tmp_path, project)]
    assert known_now == ["opened", "newer", "new"]
    assert [file.name for file in tmp_path.glob("*.unfinished")] == ["jaxpert-another.unfinished"]


@pytest.mark.parametrize("value", ["off", "OFF", " 0 ", "no", "false"])
def test_switched_off(value: str) -> None:
    assert cache_folder({index_cache.VARIABLE: value}) is None


def test_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache_folder({index_cache.VARIABLE: str(tmp_path)}) == tmp_path
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    users = cache_folder({})
    assert users is not None
    assert users.is_absolute()
    assert "jaxpert" in users.parts
