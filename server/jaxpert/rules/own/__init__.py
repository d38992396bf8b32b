"""Rules about what jaxpert itself is told, and about files that it cannot read (JXP0xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.own import (
    syntax_error,
    unknown_suppression,
    unused_suppression,
)

RULES: tuple[Rule, ...] = (
    syntax_error.RULE,
    unknown_suppression.RULE,
    unused_suppression.RULE,
)
