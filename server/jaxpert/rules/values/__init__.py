"""Rules about arguments and values that transformations refuse (JXP6xx)."""

from jaxpert.rulekit.rule import Rule

RULES: tuple[Rule, ...] = ()
