"""From a file to its findings: which rules run, what is left out, and what a crash costs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jaxpert.engine.analyze import analyze
from jaxpert.model.file_model import FileModel
from jaxpert.rulekit.rule import Finding, Rule, Severity
from jaxpert.rules import rule_named
from jaxpert.text.lines import range_at
from tests.projects import Project

CALLED = "f = jax.checkpoint(g, policy=jax.checkpoint_policies.dots_saveable())\n"


def found(tmp_path: Path, text: str, **more: str) -> list[tuple[str, int]]:
    project = Project(tmp_path, {"m.py": text}, **more)
    return [(finding.rule, finding.range.start.line) for finding in project.findings("m.py")]


def crashing(model: FileModel) -> Iterator[Finding]:
    yield Finding("policy-called", range_at(0, 0, 0, 1), "before the crash", Severity.ERROR)
    raise ZeroDivisionError("on purpose")


def rules_with_a_crash() -> list[Rule]:
    known = [rule_named("policy-called"), rule_named("policy-signature")]
    assert known[0] and known[1]
    return [replace(known[0], check=crashing), known[1]]


def test_a_crash_in_a_rule_is_one_log_line_and_the_others_still_speak(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("JAXPERT_CRASH", raising=False)
    text = "import jax\nf = jax.checkpoint(len, policy=lambda prim: True)\n"
    project = Project(tmp_path, {"m.py": text})
    with caplog.at_level(logging.ERROR, logger="jaxpert"):
        analysis = analyze(project.workspace.snapshot(tmp_path / "m.py"), rules_with_a_crash())
    assert [finding.rule for finding in analysis.findings if finding.rule == "policy-signature"] == ["policy-signature"]
    assert len(caplog.records) == 1
    assert "policy-called crashed" in caplog.text
    assert "ZeroDivisionError: on purpose" in caplog.text


def test_a_crash_is_raised_where_it_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAXPERT_CRASH", "1")
    project = Project(tmp_path, {"m.py": "import jax\n"})
    with pytest.raises(ZeroDivisionError):
        analyze(project.workspace.snapshot(tmp_path / "m.py"), rules_with_a_crash())


def test_a_file_that_does_not_mention_jax_is_not_looked_at(tmp_path: Path) -> None:
    assert found(tmp_path, "def broken(:\n") == []


def test_findings_come_in_the_order_of_the_text_and_once(tmp_path: Path) -> None:
    text = f"import jax\n{CALLED}{CALLED}"
    assert found(tmp_path, text) == [("policy-called", 1), ("policy-called", 2)]


@pytest.mark.parametrize(
    ("around", "lines"),
    [
        ("{}", [3]),
        ("if jax.__version_info__ < (0, 4):\n    {}", []),
        ("try:\n    {}except TypeError:\n    pass\n", []),
        ("try:\n    {}except KeyError:\n    pass\n", [4]),
        ("with pytest.raises(TypeError):\n    {}", []),
        ("def test():\n    {}    with self.assertRaises(TypeError):\n        jax.grad(f)(1.0)\n", []),
    ],
)
def test_code_that_does_not_run_or_expects_the_failure(tmp_path: Path, around: str, lines: list[int]) -> None:
    text = f"import jax\nimport pytest\n\n{around.format(CALLED)}"
    assert found(tmp_path, text) == [("policy-called", line) for line in lines]


def test_a_broken_buffer_keeps_the_findings_outside_the_edited_lines(tmp_path: Path) -> None:
    text = f"import jax\n\n\ndef a():\n    {CALLED}    return f\n\n\ndef b():\n    {CALLED}    return f\n"
    project = Project(tmp_path, {"m.py": text})
    path = tmp_path / "m.py"
    project.workspace.open(path, text)
    assert [f.range.start.line for f in project.findings("m.py")] == [4, 9]
    project.workspace.edit(path, range_at(5, 12, 5, 12), "(")
    assert [f.range.start.line for f in project.findings("m.py") if f.rule == "policy-called"] == [4, 9]
    project.workspace.edit(path, range_at(4, 10, 4, 10), "\n")
    assert [f.range.start.line for f in project.findings("m.py") if f.rule == "policy-called"] == [10]
