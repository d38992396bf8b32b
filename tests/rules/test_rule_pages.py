"""Every example on every rule page is true: found exactly where marked, fixed exactly as shown."""

from __future__ import annotations

import ast
import io
import itertools
import tokenize
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from jaxpert.engine.analyze import analyze
from jaxpert.engine.fixing import fix_until_quiet
from jaxpert.rulekit.rule import Finding
from jaxpert.text.lines import Position, Range, end_of, split_lines
from tests.projects import Project
from tests.rules.pages import Block, Mark, PageExample, all_examples

EXAMPLES = all_examples()
FIXED = [(example, block) for example in EXAMPLES for block in example.blocks if block.fixed is not None]

each_example = pytest.mark.parametrize("example", EXAMPLES, ids=[example.where for example in EXAMPLES])
each_fix = pytest.mark.parametrize(
    ("example", "block"), FIXED, ids=[f"{example.page.name}:{block.first_line}" for example, block in FIXED]
)

ABOVE = "# 😀 漢字: é\n"
BEFORE = '"😀漢é"; '


def _project(root: Path, example: PageExample, changed: Callable[[str], str] = str) -> Project:
    return Project(root, {block.path: changed(block.text) for block in example.blocks}, **example.settings)


def _check(example: PageExample, block: Block, findings: Iterable[Finding], lines_above: int = 0) -> None:
    """Fail, with the page's line numbers, unless ``findings`` are those that the block's marks announce."""
    missing = list(block.marks)
    surplus = []
    for finding in findings:
        mark = next((mark for mark in missing if _fits(mark, finding, lines_above)), None)
        if mark:
            missing.remove(mark)
        else:
            surplus.append(finding)
    page = example.page.name
    faults = [
        f'{page}:{block.first_line + mark.line}: no {mark.severity}: [{mark.rule}] "{mark.message}" here'
        for mark in missing
    ] + [
        f"{page}:{block.first_line + finding.range.start.line - lines_above}:{finding.range.start.column + 1}: "
        f"not announced: {finding.severity.value}: [{finding.rule}] {finding.message}"
        for finding in surplus
    ]
    if faults:
        pytest.fail("\n".join(faults), pytrace=False)


def _fits(mark: Mark, finding: Finding, lines_above: int) -> bool:
    return (
        (mark.line + lines_above, mark.rule, mark.severity)
        == (finding.range.start.line, finding.rule, finding.severity.value)
    ) and mark.message in finding.message


@each_example
def test_findings_are_the_marks(example: PageExample, tmp_path: Path) -> None:
    project = _project(tmp_path, example)
    for block in example.blocks:
        findings = project.findings(block.path)
        _check(example, block, findings)
        if block.diagnostics is not None:
            assert [_shown(finding) for finding in findings] == list(block.diagnostics)


def _shown(finding: Finding) -> str:
    (first, start), (last, end) = finding.range
    place = f"{first + 1}:{start + 1}-{last + 1}:{end + 1}"
    return f"{place} {finding.severity.value} [{finding.rule}] {finding.message}"


@each_example
def test_same_findings_with_other_line_ends(example: PageExample, tmp_path: Path) -> None:
    plain = _project(tmp_path, example)
    expected = {block.path: plain.findings(block.path) for block in example.blocks}
    windows = _project(tmp_path, example, lambda text: text.replace("\n", "\r\n"))
    for block in example.blocks:
        assert windows.findings(block.path) == expected[block.path], example.where


@each_example
def test_same_findings_below_wide_characters(example: PageExample, tmp_path: Path) -> None:
    project = _project(tmp_path, example, lambda text: ABOVE + text)
    for block in example.blocks:
        _check(example, block, project.findings(block.path), lines_above=1)


@each_example
def test_same_findings_behind_wide_characters(example: PageExample, tmp_path: Path) -> None:
    plain = _project(tmp_path / "plain", example)
    wide = _project(tmp_path / "wide", example, _with_wide_statements)
    for block in example.blocks:
        pushed = _lines_to_push(block.text)
        expected = [_pushed(finding.range, pushed) for finding in plain.findings(block.path)]
        assert sorted(finding.range for finding in wide.findings(block.path)) == sorted(expected), example.where


def _lines_to_push(text: str) -> set[int]:
    """Zero-based lines where a simple statement at module level starts, so that another may stand before it."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError):
        return set()
    compound = (
        ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.If, ast.For, ast.AsyncFor, ast.While, ast.With,
        ast.AsyncWith, ast.Try, ast.Match,
    )  # fmt: skip
    free = set()
    for place, statement in enumerate(body):
        is_docstring = place == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if isinstance(statement, compound) or type(statement).__name__ == "TryStar":
            continue
        if is_docstring or is_future:
            free.clear()  # nothing may stand before these
        elif statement.col_offset == 0:
            free.add(statement.lineno - 1)
    return free


def _with_wide_statements(text: str) -> str:
    lines = split_lines(text)
    for line in _lines_to_push(text):
        lines[line] = BEFORE + lines[line]
    return "".join(lines)


def _pushed(area: Range, lines: set[int]) -> Range:
    start, end = (Position(line, column + (len(BEFORE) if line in lines else 0)) for line, column in area)
    return Range(start, end)


@each_example
def test_same_findings_when_typed(example: PageExample, tmp_path: Path) -> None:
    """Open a third of each file, type the rest in three chunks, analysing after each."""
    plain = _project(tmp_path, example)
    expected = {block.path: plain.findings(block.path) for block in example.blocks}
    typed = _project(tmp_path, example, lambda text: "")
    for block in example.blocks:
        text, path = block.text, typed.root / block.path
        cuts = [len(text) * part // 5 for part in (2, 3, 4, 5)]
        typed.workspace.open(path, text[: cuts[0]])
        for start, end in itertools.pairwise(cuts):
            typed.findings(block.path)
            at = end_of(split_lines(text[:start]))
            typed.workspace.edit(path, Range(at, at), text[start:end])
    for block in example.blocks:
        source = typed.workspace.snapshot(typed.root / block.path).source
        source.reconcile()
        if source.problem:
            continue  # of a text that never parsed, more or less may be readable on the way
        assert typed.findings(block.path) == expected[block.path], example.where


@each_fix
@pytest.mark.parametrize("line_end", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_fix_is_the_one_shown(example: PageExample, block: Block, line_end: str, tmp_path: Path) -> None:
    project = _project(tmp_path, example, lambda text: text.replace("\n", line_end))
    path = project.root / block.path

    def analyse(text: str) -> object:
        project.workspace.open(path, text)
        return analyze(project.workspace.snapshot(path))

    before = block.text.replace("\n", line_end)
    after = fix_until_quiet(before, analyse, unsafe=True, rules={example.rule}).text
    where = f"{example.page.name}:{block.first_line}"
    assert after == str(block.fixed).replace("\n", line_end), where
    ast.parse(after)
    left = [finding for finding in analyse(after).findings if finding.rule == example.rule]  # type: ignore[attr-defined]
    assert not left, f"{where}: the fixed text still has {left}"
    if not example.rule.endswith("-suppression"):  # there the comment is the fault
        lost = _comments(before) - _comments(after)
        assert not lost, f"{where}: the fix loses the comments {sorted(lost)}"


def _comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text, newline="").readline)
    return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)
