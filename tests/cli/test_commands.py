"""``explain``, ``rules`` and ``demo``."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from click.testing import CliRunner

from jaxpert.__main__ import main
from jaxpert.rulekit.rule import HEADINGS, Rule
from jaxpert.rules import ALL_RULES

each_rule = pytest.mark.parametrize("rule", ALL_RULES, ids=[rule.name for rule in ALL_RULES])


@each_rule
def test_explain_shows_everything_about_a_rule(rule: Rule) -> None:
    result = CliRunner().invoke(main, ["explain", rule.name])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"# {rule.name}\n\n`{rule.code}` · {rule.family} · {rule.severity.value}")
    headings = re.findall(r"^## (.+)$", result.stdout, re.MULTILINE)
    assert tuple(headings[: len(HEADINGS)]) == HEADINGS
    assert len(headings) == len(HEADINGS) + len(rule.examples)
    assert "STAGE" not in result.stdout


@each_rule
def test_explain_shows_both_programs_of_every_example(rule: Rule) -> None:
    page = CliRunner().invoke(main, ["explain", rule.name]).stdout
    for example in rule.examples:
        assert f"```python\n{_read(example.bad)}\n```" in page
        added = set(_read(example.good).splitlines()) - set(_read(example.bad).splitlines())
        assert all(f"\n+{line}\n" in page for line in added)


def _read(program: str) -> str:
    """A program as a reader sees it, without the marks for the tests."""
    return re.sub(r"^STAGE = .*\n", "", program, flags=re.MULTILINE).strip()


@pytest.mark.parametrize("subject", ["JXP202", "jxp202", "Policy-Falls-Through"])
def test_explain_takes_names_and_codes_in_any_case(subject: str) -> None:
    assert CliRunner().invoke(main, ["explain", subject]).stdout.startswith("# policy-falls-through\n")


@pytest.mark.parametrize(
    ("subject", "hint"),
    [
        ("policy-fals-through", "Did you mean policy-falls-through"),
        ("falls", "Did you mean policy-falls-through?"),
        ("policy_falls_through", "Did you mean policy-falls-through"),
        ("ruff", "`jaxpert rules` lists them all."),
    ],
)
def test_explain_knows_what_was_meant(subject: str, hint: str) -> None:
    result = CliRunner().invoke(main, ["explain", subject])
    assert result.exit_code == 2
    assert f"There is no rule `{subject}`." in result.stderr
    assert hint in result.stderr


def test_rules_are_one_line_each_in_a_pipe() -> None:
    result = CliRunner().invoke(main, ["rules"], env={"COLUMNS": ""})
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert len(lines) == len(ALL_RULES) + 1
    for line, rule in zip(lines[1:], ALL_RULES):
        assert line.startswith(f"{rule.code}  {rule.name} ")
        assert line.endswith(rule.summary)


def test_rules_fit_a_narrow_terminal() -> None:
    result = CliRunner().invoke(main, ["rules"], env={"COLUMNS": "100"})
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_rules_as_json() -> None:
    listed = json.loads(CliRunner().invoke(main, ["rules", "--output-format", "json"]).stdout)
    assert [rule["code"] for rule in listed] == [rule.code for rule in ALL_RULES]
    for shown, rule in zip(listed, ALL_RULES):
        assert shown["fix"] is (rule.fix is not None)
        assert shown["summary"] == rule.summary


def test_demo_shows_many_mistakes_of_several_families_and_the_fixed_script() -> None:
    result = CliRunner().invoke(main, ["demo"], env={"COLUMNS": "100"})
    assert (result.exit_code, result.stderr) == (0, "")
    codes = re.findall(r"^training\.py:\d+:\d+  \w+  (JXP\d{3}) ", result.stdout, re.MULTILINE)
    assert len(codes) >= 8
    assert {code[3] for code in codes} >= {"1", "2", "3"}
    assert "\n--- training.py\n+++ training.py\n@@ " in result.stdout
    assert len(result.stdout.splitlines()) < 250


def test_the_demo_is_the_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a configuration nor other files of the folder have a say."""
    (tmp_path / "jaxpert.toml").write_text('ignore = ["JXP2"]\njax-version = "0.4.30"\n', encoding="utf-8")
    tags = "from jax.ad_checkpoint import checkpoint_name as tag\ndef f(x, n): return tag(x, n)\n"
    (tmp_path / "tags.py").write_text(tags, encoding="utf-8")
    before = CliRunner().invoke(main, ["demo"], env={"COLUMNS": "100"})
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["demo"], env={"COLUMNS": "100"}).output == before.output
    assert Path.cwd() == tmp_path


DEMO = files("jaxpert.cli").joinpath("demo_training.py.txt").read_text(encoding="utf-8")
TRAIN = '''
def weights(*shape):
    return jnp.full(shape, 0.01)


SQUARE = (WIDTH, WIDTH)
LAYER = {"q": SQUARE, "k": SQUARE, "v": SQUARE, "up": (WIDTH, 128), "down": (128, WIDTH)}
params = {
    "table": weights(16, WIDTH),
    "layers": [{name: weights(*shape) for name, shape in LAYER.items()} for _ in range(LAYERS)],
}
tokens = jnp.arange(8)
first, params = train_step(params, tokens, tokens)
for _ in range(STEPS):
    last, params = train_step(params, tokens, tokens)
assert last < first
'''


def _fixed_demo() -> str:
    fixed = CliRunner().invoke(main, ["check", "-", "--fix", "--unsafe-fixes"], input=DEMO)
    assert "No problems found" in fixed.stderr, fixed.stderr
    return fixed.stdout


def test_the_fixed_demo_has_nothing_left() -> None:
    ast.parse(_fixed_demo())


@pytest.mark.jax
def test_the_demo_trains_on_real_jax_only_when_fixed() -> None:
    def run(program: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-c", program + TRAIN], capture_output=True, text=True)

    assert run(DEMO).returncode == 1
    done = run(_fixed_demo())
    assert done.returncode == 0, done.stderr
