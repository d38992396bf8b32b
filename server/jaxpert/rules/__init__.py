"""All rules, in the order of their codes. To add one, import its module in its family's ``__init__``."""

from __future__ import annotations

from jaxpert.rulekit.rule import Rule
from jaxpert.rules import (
    checkpoint_calls,
    checkpoint_names,
    checkpointed_functions,
    effects,
    own,
    policies,
    pytrees,
    values,
)

_FAMILIES = (
    own,
    checkpoint_calls,
    checkpointed_functions,
    policies,
    checkpoint_names,
    effects,
    pytrees,
    values,
)

ALL_RULES: tuple[Rule, ...] = tuple(
    sorted((rule for family in _FAMILIES for rule in family.RULES), key=lambda rule: rule.code)
)

_BY_WORD = {word: rule for rule in ALL_RULES for word in (rule.name, rule.code)}


def rule_named(word: str) -> Rule | None:
    """The rule with this name or code, written in any case; None when there is none."""
    return _BY_WORD.get(word) or _BY_WORD.get(word.upper()) or _BY_WORD.get(word.lower())
