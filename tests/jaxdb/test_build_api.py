"""The builder: the committed files are what it makes, and it refuses data that contradicts itself."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOL = Path(__file__).parents[2] / "server" / "tools" / "build_api.py"
ENTRY = {"name": "jax.f", "library": "jax", "kind": "function", "paths": ["jax.f", "jax.g"], "summary": "", "url": ""}


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_api", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


build_api: Any = _load()


def answer(version: str, **paths: str | None) -> dict[str, Any]:
    """What inspect_jax.py would say about a JAX with nothing but these functions."""
    return {
        "version": version,
        "modules": {"jax": sorted(paths)},
        "primitives": ["add"],
        "paths": {f"jax.{name}": text for name, text in paths.items()},
        "switches": {"jax_enable_x64": False},
    }


def facts(*answers: dict[str, Any], entry: dict[str, Any] = ENTRY) -> Any:
    made = build_api.Facts()
    for each in answers:
        build_api.add(made, each, [entry])
    return made


def spans(*answers: dict[str, Any], entry: dict[str, Any] = ENTRY) -> list[list[str]]:
    made = facts(*answers, entry=entry)
    found: list[list[str]] = build_api.signature_spans(entry, made, build_api.ordered(made.versions))
    return found


def test_committed_files_are_up_to_date(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["build_api.py", "--check"])
    assert build_api.main() == 0, capsys.readouterr().out


def test_releases_are_joined_into_stretches() -> None:
    assert spans(answer("0.10", f="(a)"), answer("0.9", f="(a)"), answer("0.11", f="(a, b)")) == [
        ["(a)", "0", "0.11"],
        ["(a, b)", "0.11", ""],
    ]
    assert spans(answer("0.9"), answer("0.10", f="(a)"), answer("0.11"), answer("0.12", f="(a)")) == [
        ["(a)", "0.10", "0.11"],
        ["(a)", "0.12", ""],
    ]


def test_a_new_reading_replaces_the_old_one() -> None:
    assert spans(answer("0.9", f="(a)"), answer("0.9", f="(b)")) == [["(b)", "0", ""]]
    made = facts(answer("0.9", f="(a)", old=None), answer("0.9", f="(a)"))
    assert "old" not in build_api.names_json(made)


def test_history_of_names() -> None:
    made = facts(answer("0.9", f="(a)", old=None), answer("0.10", f="(a)"), answer("0.11", f="(a)", old=None))
    assert '"jax": {"0.9-": ". f", "0.9-0.10 0.11-": "old"}' in build_api.names_json(made)


def test_signature_comes_from_another_path_where_the_name_is_not_there() -> None:
    assert spans(answer("0.9", g="(a)"), answer("0.10", f="(a)")) == [["(a)", "0", ""]]


def test_accepts_replaces_what_was_read() -> None:
    entry = {**ENTRY, "accepts": [["0.9", "0.10", "(a, b)"]]}
    assert spans(answer("0.9", f="(a)"), answer("0.10", f="(a)"), entry=entry) == [
        ["(a, b)", "0", "0.10"],
        ["(a)", "0.10", ""],
    ]


def test_paths_must_agree_unless_declared() -> None:
    with pytest.raises(build_api.DataError, match=r"paths of jax\.f differ"):
        facts(answer("0.9", f="(a, b)", g="(a)"))
    assert spans(answer("0.9", f="(a, b)", g="(a)"), entry={**ENTRY, "wider": ["jax.g"]}) == [["(a, b)", "0", ""]]


def test_a_switch_that_is_on_is_refused() -> None:
    with pytest.raises(build_api.DataError, match="jax_remat3 is on by default"):
        facts({**answer("0.9"), "switches": {"jax_remat3": True}})


def test_a_module_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(build_api.DataError, match=r"cannot import jax\.export"):
        facts({**answer("0.9"), "modules": {"jax": [], "jax.export": None}})


def test_a_role_needs_its_parameter() -> None:
    entry = {**ENTRY, "roles": {"fun": "missing"}}
    with pytest.raises(build_api.DataError, match="no signature has the parameter missing"):
        build_api.apis_json([entry], facts(answer("0.9", f="(a)"), entry=entry))


@pytest.mark.parametrize(
    "line, problem",
    [
        ('traits = ["no_such_trait"]', "unknown trait no_such_trait"),
        ('roles = { no_such_role = "x" }', "unknown role no_such_role"),
        ('notes = [["0.9", "invented", ""]]', "unknown change invented"),
        ('colour = "red"', "unknown field colour"),
        ('wider = ["jax.h"]', "unknown path in wider jax.h"),
        ('paths = ["jax.f"]', r"jax\.f belongs to jax\.f and to jax\.f"),
    ],
)
def test_mistakes_in_the_written_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, problem: str) -> None:
    text = f'[[api]]\nname = "jax.f"\nkind = "function"\nsummary = ""\n{line}\n'
    (tmp_path / "apis").mkdir()
    (tmp_path / "apis" / "some.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(build_api, "DATA", tmp_path)
    with pytest.raises(build_api.DataError, match=problem):
        build_api.read_written()
