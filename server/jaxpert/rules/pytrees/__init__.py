"""Rules about pytrees, treedefs and registries (JXP5xx)."""

from jaxpert.rulekit.rule import Rule

RULES: tuple[Rule, ...] = ()
