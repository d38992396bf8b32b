"""Rules about what a checkpointed function does with its arguments, and where it stands (JXP1xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.checkpointed_functions import (
    branch_on_traced_argument,
    checkpoint_of_gradient,
    checkpoint_of_whole_loss,
    checkpoint_retraced,
    non_array_argument,
    non_array_result,
    prevent_cse_in_scan,
    shape_from_traced_argument,
)

RULES: tuple[Rule, ...] = (
    branch_on_traced_argument.RULE,
    shape_from_traced_argument.RULE,
    non_array_argument.RULE,
    non_array_result.RULE,
    checkpoint_of_gradient.RULE,
    checkpoint_of_whole_loss.RULE,
    prevent_cse_in_scan.RULE,
    checkpoint_retraced.RULE,
)
