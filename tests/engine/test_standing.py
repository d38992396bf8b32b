"""While somebody types, only what changed is looked at; what is said is what a look at everything would say."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxpert.engine import analyze as engine
from jaxpert.rulekit.rule import Finding
from jaxpert.rules import rule_named
from jaxpert.text.lines import Position, Range
from tests.projects import Project

TEXT = """\
import jax
from functools import partial

def policy(prim, *avals, **params):
    if prim.name == "sin":
        return True

def block(x):
    return x * 2

stack = jax.checkpoint(block, policy=policy)

@partial(jax.checkpoint, static_argnums=(1,))
def layer(x, train):
    return x

def loss(x):
    return x
"""


class Typing:
    """One file, open in a workspace, that somebody types in."""

    def __init__(self, root: Path) -> None:
        self.project = Project(root, {})
        self.path = root / "model.py"
        self.project.workspace.open(self.path, TEXT)
        self.found()

    def replace(self, old: str, new: str) -> None:
        text = self.project.workspace.source(self.path).text
        at = text.index(old)
        start, end = (Position(text.count("\n", 0, i), i - text.rfind("\n", 0, i) - 1) for i in (at, at + len(old)))
        self.project.workspace.edit(self.path, Range(start, end), new)

    def found(self, *, quick: bool = False) -> list[tuple[str, int]]:
        return [(it.rule, it.range.start.line) for it in self.project.findings("model.py", quick=quick)]


@pytest.fixture
def typing(tmp_path: Path) -> Typing:
    typing = Typing(tmp_path)
    assert typing.found() == [("policy-falls-through", 4)]
    return typing


def test_an_edit_elsewhere_asks_no_rule_about_the_rest(typing: Typing, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def counted(rule: object, model: object, *more: object) -> list[Finding]:
        asked.append(len(model.trees))  # type: ignore[attr-defined]
        return []

    monkeypatch.setattr(engine, "_run", counted)
    typing.replace("    return x\n\ndef loss", "    y = x\n    return y\n\ndef loss")
    typing.replace("def loss(x):", "def loss(x):\n    # nothing to see")
    assert typing.found(quick=True) == [("policy-falls-through", 4)]
    assert min(asked) == 2


def test_findings_move_with_their_lines(typing: Typing) -> None:
    typing.replace("import jax\n", "import jax\n\nLENGTH = 3\n")
    assert typing.found(quick=True) == typing.found() == [("policy-falls-through", 6)]


def test_findings_stay_while_a_line_elsewhere_is_broken(typing: Typing) -> None:
    typing.replace("    return x * 2", "    return x * (2")
    assert typing.found(quick=True) == [("policy-falls-through", 4)]


def test_a_finding_goes_with_its_line_and_its_reason(typing: Typing) -> None:
    typing.replace("        return True\n", "        return True\n    return False\n")
    assert typing.found(quick=True) == []
    typing.replace("    return False\n", "")
    assert typing.found(quick=True) == [("policy-falls-through", 4)]
    typing.replace("policy=policy", "policy=None")
    assert typing.found(quick=True) == []


def test_new_findings_come_at_once(typing: Typing) -> None:
    typing.replace("def loss(x):\n", "def loss(x):\n    jax.checkpoint(block, policy=jax.checkpoint_policies.dots_saveable())\n")
    assert ("policy-called", 17) in typing.found(quick=True)


def test_a_finding_in_the_function_that_changes_needs_no_look_at_the_rest(
    typing: Typing, monkeypatch: pytest.MonkeyPatch
) -> None:
    typing.replace("def loss(x):\n", "def loss(x):\n    jax.checkpoint(block)\n    y = 1\n")
    assert typing.found()[1:] == [("checkpoint-discarded", 17)]
    looked_at: list[int] = []
    run = engine._run

    def counted(rule: object, model: object, *more: object) -> list[Finding]:
        looked_at.append(len(model.trees))  # type: ignore[attr-defined]
        return list(run(rule, model, *more))  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "_run", counted)
    rules_about_jaxpert = sum(rule.is_own for rule in engine.ALL_RULES)
    for _ in range(3):
        typing.replace("y = 1", "y = 11")
        assert typing.found(quick=True)[1:] == [("checkpoint-discarded", 17)]
    assert sum(number > 1 for number in looked_at) == 3 * rules_about_jaxpert
    typing.replace("    jax.checkpoint(block)\n", "    block = jax.checkpoint(block)\n")
    assert typing.found(quick=True) == [("policy-falls-through", 4)]


def test_what_a_change_means_elsewhere_comes_with_the_next_pause(typing: Typing) -> None:
    typing.replace("def loss(x):\n    return x", "def loss(x):\n    return layer(x, train=True)")
    typing.found(quick=True)
    assert ("static-argument-by-keyword", 17) in typing.found()
    assert ("static-argument-by-keyword", 17) in typing.found(quick=True)


def test_rules_that_are_always_asked_are_those_about_jaxpert_itself() -> None:
    own = rule_named("JXP001")
    other = rule_named("JXP201")
    assert own is not None and own.is_own
    assert other is not None and not other.is_own
