"""What ``server/tools/generate.py`` writes."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import jsonschema
import pytest

from jaxpert import __version__
from jaxpert.rules import ALL_RULES

SCRIPT = Path(__file__).resolve().parents[2] / "server" / "tools" / "generate.py"


@pytest.fixture
def generate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, working on an empty repository."""
    monkeypatch.syspath_prepend(SCRIPT.parent)  # as Python does for a script
    spec = importlib.util.spec_from_file_location("generate", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    return module


def run(generate: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["generate.py", *arguments])
    return generate.main()  # type: ignore[no-any-return]


def test_writes_then_is_content(generate: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# jaxpert\n\n<!-- rules:begin -->\nold\n<!-- rules:end -->\n\nend\n")
    old = tmp_path / "server/docs/rules/gone.md"
    old.parent.mkdir(parents=True)
    old.touch()
    assert run(generate, monkeypatch, "--check") == 1
    assert run(generate, monkeypatch) == 0
    assert run(generate, monkeypatch, "--check") == 0
    assert not old.exists()
    text = readme.read_text()
    assert "old" not in text and text.endswith("<!-- rules:end -->\n\nend\n")
    for rule in ALL_RULES:
        assert f"| {rule.code} | [{rule.name}](server/docs/rules/{rule.name}.md) | {rule.severity.value} |" in text
        assert f"# {rule.name}\n" in (tmp_path / f"server/docs/rules/{rule.name}.md").read_text()


def test_readme_without_markers_is_refused(generate: ModuleType) -> None:
    with pytest.raises(ValueError, match="rules:begin"):
        generate.with_block("# jaxpert\n", "table\n", "rules")


def test_the_extension_gets_the_version_and_the_settings(
    generate: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    manifest, page = tmp_path / "vscode-client/package.json", tmp_path / "vscode-client/README.md"
    manifest.parent.mkdir()
    manifest.write_text(json.dumps({"version": "0.0.0", "other": ["ä"], "contributes": {"commands": []}}))
    page.write_text("begin\n<!-- settings:begin -->\n<!-- settings:end -->\nend\n")
    assert run(generate, monkeypatch) == 0
    written = json.loads(manifest.read_text(encoding="utf-8"))
    properties = written["contributes"]["configuration"]["properties"]
    assert (written["version"], written["other"]) == (__version__, ["ä"])
    schema = generate.options_schema(ALL_RULES)["properties"]
    assert properties["jaxpert.select"]["items"] == schema["select"]["items"]
    for name, setting in properties.items():
        jsonschema.Draft7Validator.check_schema(setting)
        jsonschema.validate(setting["default"], setting)
        assert f"| `{name}` |" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "valid"),
    [
        ({}, True),
        ({"select": ["JXP2", "policy-called", "ALL"], "ignore": ["JXP202"]}, True),
        ({"per-file-ignores": {"tests/*": ["JXP3"]}, "exclude": ["gen/**"]}, True),
        ({"jax-version": "0.7.2", "remat3": True, "x64": False}, True),
        ({"select": "JXP2"}, False),
        ({"select": ["E501"]}, False),
        ({"jax-version": 0.7}, False),
        ({"selct": []}, False),
    ],
)
def test_schema_of_the_options(generate: ModuleType, options: dict[str, object], valid: bool) -> None:
    schema = generate.options_schema(ALL_RULES)
    jsonschema.Draft7Validator.check_schema(schema)
    assert jsonschema.Draft7Validator(schema).is_valid(options) is valid
