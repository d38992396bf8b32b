"""What rules say about versions and about remat3 is what the committed table shows."""

from __future__ import annotations

import pytest
from packaging.version import Version

from jaxpert.rulekit.rule import Rule
from jaxpert.rules import ALL_RULES
from tests.real_jax import outcomes
from tests.real_jax.matrix import INTERPRETERS, fingerprint, read_table

TABLE = read_table()


def test_table_covers_the_versions() -> None:
    assert set(TABLE.versions) >= set(INTERPRETERS)


@pytest.mark.parametrize("rule", ALL_RULES, ids=[rule.name for rule in ALL_RULES])
def test_rule_agrees_with_the_table(rule: Rule) -> None:
    rows = TABLE.rules.get(rule.name, [])
    assert [row.program for row in rows] == [fingerprint(example) for example in rule.examples], (
        "examples changed since the table was written: run python -m tests.real_jax.matrix"
    )
    wrong = []
    for number, (example, row) in enumerate(zip(rule.examples, rows)):
        assert {version for version, _ in row.outcomes} == set(TABLE.versions), f"example {number} lacks versions"
        remat3_is_the_same = True
        for (version, mode), (bad, good) in row.outcomes.items():
            jax, remat3 = Version(version), mode == "remat3"
            expected, happened = outcomes.must_hold(example, jax, remat3), outcomes.holds(example, bad)
            if outcomes.is_claimed(example, jax, remat3) and happened is not expected:
                wrong.append(f"example {number}, JAX {version}, {mode}: {bad}; claimed: {outcomes.claim(example)}")
            if expected and not outcomes.is_fine(good):
                wrong.append(f"good example {number}, JAX {version}, {mode}: {good}")
            remat3_is_the_same &= (happened and outcomes.is_fine(good)) or not remat3
        if remat3_is_the_same and not example.proof.remat3:
            wrong.append(f"example {number} holds with remat3 too, in every version that has it")
    assert not wrong, "\n".join(wrong)
