"""Rules about what a checkpointed function does with its arguments, and where it stands (JXP1xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.checkpointed_functions import (
    branch_on_traced_argument,
)

RULES: tuple[Rule, ...] = (branch_on_traced_argument.RULE,)
