"""Every example of every rule does on the installed JAX what the rule says, and jaxpert reports exactly that."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from jaxpert.jaxdb.load import newest_known
from jaxpert.rulekit.rule import Example, Rule
from jaxpert.rules import ALL_RULES
from tests.projects import Project
from tests.real_jax import outcomes
from tests.real_jax.outcomes import Outcome, Run

EXAMPLES = [(rule, number, example) for rule in ALL_RULES for number, example in enumerate(rule.examples)]
each_example = pytest.mark.parametrize(
    ("rule", "number", "example"), EXAMPLES, ids=[f"{rule.name}-{number}" for rule, number, _ in EXAMPLES]
)


@pytest.fixture(scope="module")
def installed_jax() -> Run:
    """All examples, bad and good, run on the installed JAX in one go."""
    return outcomes.run([request for _, _, example in EXAMPLES for request in outcomes.requests_for(example, False)])


def _outcome_pair(run: Run, rule: Rule, number: int) -> tuple[Outcome, Outcome]:
    at = [(other.name, count) for other, count, _ in EXAMPLES].index((rule.name, number))
    return run.outcomes[2 * at], run.outcomes[2 * at + 1]


@pytest.mark.jax
@each_example
def test_example_is_true(installed_jax: Run, rule: Rule, number: int, example: Example) -> None:
    bad, good = _outcome_pair(installed_jax, rule, number)
    expected = outcomes.must_hold(example, installed_jax.jax, remat3=False)
    if outcomes.is_claimed(example, installed_jax.jax, remat3=False):
        assert outcomes.holds(example, bad) is expected, (
            f"{rule.name}, example {number}, on JAX {installed_jax.jax}\n"
            f"claimed{'' if expected else ' no longer'}: {outcomes.claim(example)}\nhappened: {bad}"
        )
    if expected:
        assert outcomes.is_fine(good), f"{rule.name}, good example {number}, on JAX {installed_jax.jax}: {good}"


@each_example
def test_jaxpert_reports_exactly_this(rule: Rule, number: int, example: Example, tmp_path: Path) -> None:
    version = newest_known()
    if not outcomes.must_hold(example, version, remat3=False):
        version = Version(example.proof.since)
    remat3 = 'update("jax_remat3", True)' in example.bad
    in_bad = Project(tmp_path / "bad", {"bad.py": example.bad}, version, remat3=remat3).findings("bad.py")
    in_good = Project(tmp_path / "good", {"good.py": example.good}, version, remat3=remat3).findings("good.py")
    assert {finding.rule for finding in in_bad} == {rule.name}, in_bad
    assert not in_good
