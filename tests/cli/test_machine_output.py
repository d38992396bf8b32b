"""JSON, SARIF and GitHub commands, as programs read them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from jaxpert.cli.output import github, sarif
from jaxpert.cli.output import json as json_output
from jaxpert.cli.report import FileReport, Place, Run
from jaxpert.rulekit.rule import Safety, Severity
from jaxpert.rules import ALL_RULES
from jaxpert.text.lines import range_at
from tests.cli.samples import block_run, finding_at, fix_with, run_of

LOCATION = {
    "type": "object",
    "properties": {"row": {"type": "integer", "minimum": 1}, "column": {"type": "integer", "minimum": 1}},
    "required": ["row", "column"],
    "additionalProperties": False,
}
EDIT = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "location": LOCATION,
        "end_location": LOCATION,
        "cell": {"type": "integer"},
    },
    "required": ["content", "location", "end_location"],
    "additionalProperties": False,
}
FIX = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "applicability": {"enum": ["safe", "unsafe"]},
        "edits": {"type": "array", "items": EDIT},
    },
    "required": ["title", "applicability", "edits"],
    "additionalProperties": False,
}
FINDING = {
    "type": "object",
    "properties": {
        "code": {"type": "string", "pattern": r"^JXP\d{3}$"},
        "name": {"type": "string"},
        "severity": {"enum": ["error", "warning", "information", "hint"]},
        "message": {"type": "string"},
        "filename": {"type": "string"},
        "location": LOCATION,
        "end_location": LOCATION,
        "cell": {"type": ["integer", "null"]},
        "url": {"type": "string", "format": "uri"},
        "fix": {"anyOf": [FIX, {"type": "null"}]},
    },
    "required": [
        "code", "name", "severity", "message", "filename", "location", "end_location", "cell", "url", "fix",
    ],
    "additionalProperties": False,
}  # fmt: skip
JSON_SCHEMA = {"type": "array", "items": FINDING}
"""The JSON that ``check --output-format json`` promises."""


def json_of(run: Run) -> list[dict[str, Any]]:
    document = json.loads(json_output.render(run))
    jsonschema.validate(document, JSON_SCHEMA)
    return document


def test_json_finding() -> None:
    (finding,) = json_of(block_run())
    assert finding == {
        "code": "JXP202",
        "name": "policy-falls-through",
        "severity": "error",
        "message": "`keep_dots` returns None for every other primitive",
        "filename": str(Path("model/block.py").absolute()),
        "location": {"row": 10, "column": 41},
        "end_location": {"row": 10, "column": 50},
        "cell": None,
        "url": "https://github.com/jaxpert/jaxpert/blob/main/server/docs/rules/policy-falls-through.md",
        "fix": {
            "title": "Add `return False` to `keep_dots`",
            "applicability": "safe",
            "edits": [
                {
                    "content": "\n    return False",
                    "location": {"row": 3, "column": 20},
                    "end_location": {"row": 3, "column": 20},
                }
            ],
        },
    }


def test_json_of_nothing_is_an_empty_list() -> None:
    assert json_of(Run((FileReport(Path("a.py")),))) == []


def test_json_is_ascii_and_keeps_lone_surrogates() -> None:
    text = json_output.render(run_of("x", finding_at(range_at(0, 0, 0, 1), "`日本 \udc80`")))
    assert text.isascii()
    assert json.loads(text)[0]["message"] == "`日本 \udc80`"


def test_json_of_a_notebook() -> None:
    fix = fix_with((range_at(0, 0, 0, 0), "import jax\n"), safety=Safety.UNSAFE, cell=1)
    (finding,) = json_of(run_of("f", finding_at(range_at(0, 0, 0, 1), cell=4, fix=fix), path="a.ipynb", cell=4))
    assert finding["cell"] == 4
    assert finding["fix"]["applicability"] == "unsafe"
    assert finding["fix"]["edits"][0]["cell"] == 1


def sarif_of(run: Run) -> dict[str, Any]:
    document = json.loads(sarif.render(run, ALL_RULES))
    assert set(document) == {"$schema", "version", "runs"}
    assert document["version"] == "2.1.0"
    (only,) = document["runs"]
    return only


def test_sarif_describes_every_rule() -> None:
    driver = sarif_of(block_run())["tool"]["driver"]
    assert [rule["id"] for rule in driver["rules"]] == [rule.code for rule in ALL_RULES]
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] and rule["help"]["text"] and rule["helpUri"].endswith(".md")
        assert rule["defaultConfiguration"]["level"] in ("error", "warning", "note")


def test_sarif_result() -> None:
    run = sarif_of(block_run())
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "JXP202"
    assert result["level"] == "error"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "model/block.py"
    assert place["region"] == {"startLine": 10, "startColumn": 41, "endLine": 10, "endColumn": 50}
    assert run["columnKind"] == "unicodeCodePoints"
    uris = [it["physicalLocation"]["artifactLocation"]["uri"] for it in result["relatedLocations"]]
    assert uris == ["model/block.py", "model/head.py"]
    change = result["fixes"][0]["artifactChanges"][0]
    assert change["replacements"][0]["insertedContent"] == {"text": "\n    return False"}
    assert change["replacements"][0]["deletedRegion"]["startColumn"] == 20


@pytest.mark.parametrize(
    ("severity", "level"),
    [(Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFORMATION, "note"), (Severity.HINT, "note")],
)
def test_sarif_levels(severity: Severity, level: str) -> None:
    run = run_of("x", finding_at(range_at(0, 0, 0, 1), severity=severity))
    assert sarif_of(run)["results"][0]["level"] == level


def test_sarif_fingerprints_survive_lines_above_and_tell_equals_apart() -> None:
    def fingerprints(source: str, *rows: int) -> list[str]:
        findings = [finding_at(range_at(row, 0, row, 1)) for row in rows]
        results = sarif_of(run_of(source, *findings))["results"]
        return [result["partialFingerprints"]["jaxpertLine/v1"] for result in results]

    before = fingerprints("f(x)\nf(x)\n", 0, 1)
    assert len(set(before)) == 2
    assert fingerprints("# new\nf(x)\nf(x)\n", 1, 2) == before


def test_sarif_paths_are_uris() -> None:
    run = run_of("x", finding_at(range_at(0, 0, 0, 1)), path="my model/é.py")
    place = sarif_of(run)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my%20model/%C3%A9.py"


def test_sarif_of_a_notebook_points_at_the_file_and_names_the_cell() -> None:
    fix = fix_with((range_at(0, 0, 0, 1), "y"), cell=4)
    place = Place(range_at(2, 0, 2, 1), "defined here", cell=2)
    finding = finding_at(range_at(0, 0, 0, 1), "m", cell=4, fix=fix, related=(place,))
    (result,) = sarif_of(run_of("x", finding, path="a.ipynb", cell=4))["results"]
    assert "region" not in result["locations"][0]["physicalLocation"]
    assert result["message"]["text"] == "cell 4, line 1: m"
    assert result["relatedLocations"][0]["message"]["text"] == "cell 2, line 3: defined here"
    assert "fixes" not in result


def test_sarif_tells_of_unread_files() -> None:
    run = sarif_of(Run((FileReport(Path("a.py"), failure="permission denied"),)))
    assert run["invocations"][0]["executionSuccessful"] is False
    assert run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"] == "permission denied"
    assert run["results"] == []


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            block_run(),
            "::error title=jaxpert (JXP202 policy-falls-through),file=model/block.py,line=10,endLine=10,col=41,"
            "endColumn=50::`keep_dots` returns None for every other primitive\n",
        ),
        (
            run_of("f(\nx)", finding_at(range_at(0, 0, 1, 2), "100%: a,\nb", severity=Severity.HINT), path="a,b:c.py"),
            "::notice title=jaxpert (JXP202 policy-falls-through),file=a%2Cb%3Ac.py,line=1,endLine=2"
            "::100%25: a,%0Ab\n",
        ),
        (
            run_of("f", finding_at(range_at(0, 0, 0, 1), "m", cell=2), path="a.ipynb", cell=2),
            "::error title=jaxpert (JXP202 policy-falls-through),file=a.ipynb::cell 2, line 1: m\n",
        ),
        (Run((FileReport(Path("a.py")),)), ""),
    ],
    ids=["one line", "escapes, several lines", "notebook", "clean"],
)
def test_github_command(run: Run, expected: str) -> None:
    assert github.render(run) == expected


def test_order_is_that_of_the_run() -> None:
    first = run_of("x\ny", *(finding_at(range_at(row, 0, row, 1), f"m{row}") for row in range(2)))
    second = replace(first.files[0], path=Path("z.py"))
    run = Run((*first.files, second))
    assert [(Path(it["filename"]).name, it["message"]) for it in json_of(run)] == [
        ("block.py", "m0"), ("block.py", "m1"), ("z.py", "m0"), ("z.py", "m1")
    ]  # fmt: skip


def test_sarif_of_a_file_name_that_is_not_utf_8() -> None:
    run = run_of("x", finding_at(range_at(0, 0, 0, 1)), path=os.fsdecode(b"caf\xe9.py"))
    place = sarif_of(run)["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "caf%E9.py"
