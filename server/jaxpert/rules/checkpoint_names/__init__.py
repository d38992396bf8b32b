"""Rules about checkpoint names (JXP3xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.checkpoint_names import (
    checkpoint_name_discarded,
    unknown_checkpoint_name,
)

RULES: tuple[Rule, ...] = (
    checkpoint_name_discarded.RULE,
    unknown_checkpoint_name.RULE,
)
