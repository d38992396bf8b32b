"""Rules about side effects and mutable references under rematerialization (JXP4xx)."""

from jaxpert.rulekit.rule import Rule

RULES: tuple[Rule, ...] = ()
