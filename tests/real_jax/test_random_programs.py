"""Programs by chance: jaxpert says of none that runs that it raises."""

from __future__ import annotations

import re

import pytest

from tests.real_jax.random_programs import GRAMMAR, HEAD, random_programs, verdicts


def test_every_form_is_reached_and_known() -> None:
    used = {name for forms in GRAMMAR.values() for form in forms for name in re.findall(r"<(\w+)>", form)}
    assert used | {"program"} == set(GRAMMAR)


def test_the_same_seed_gives_the_same_programs() -> None:
    assert random_programs(1, 20) == random_programs(1, 20) != random_programs(2, 20)


def test_an_error_in_what_runs_is_noticed() -> None:
    pytest.importorskip("jax")
    never_asked = f"{HEAD}jax.checkpoint(jnp.sin, policy=jax.checkpoint_policies.save_only_these_names)(1.0)\n"
    raising = f"{HEAD}jax.checkpoint(jnp.sin, static_argnums='x')(1.0)\n"
    fine = f"{HEAD}jax.checkpoint(jnp.sin)(1.0)\n"
    judged = verdicts([never_asked, raising, fine])
    assert [one.is_false_alarm for one in judged] == [True, False, False]
    assert [one.errors for one in judged] == [("JXP206",), ("JXP101",), ()]


def test_nothing_that_runs_is_said_to_raise() -> None:
    pytest.importorskip("jax")
    judged = verdicts(random_programs(seed=1, count=100))
    assert [(one.errors, one.program.removeprefix(HEAD)) for one in judged if one.is_false_alarm] == []
    assert any(one.exception and one.errors for one in judged)
    assert any(not one.exception for one in judged)
