"""Rules about checkpoint names (JXP3xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.checkpoint_names import (
    checkpoint_name_arguments,
    checkpoint_name_discarded,
    checkpoint_name_in_custom_derivative,
    checkpoint_name_not_array,
    checkpoint_name_not_string,
    checkpoint_name_outside,
    policy_ignores_names,
    unknown_checkpoint_name,
)

RULES: tuple[Rule, ...] = (
    checkpoint_name_arguments.RULE,
    checkpoint_name_discarded.RULE,
    checkpoint_name_in_custom_derivative.RULE,
    checkpoint_name_not_array.RULE,
    checkpoint_name_not_string.RULE,
    checkpoint_name_outside.RULE,
    policy_ignores_names.RULE,
    unknown_checkpoint_name.RULE,
)
