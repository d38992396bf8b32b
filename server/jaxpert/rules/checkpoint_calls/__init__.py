"""Rules about how a function is wrapped in ``jax.checkpoint`` or a relative of it (JXP1xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.checkpoint_calls import (
    static_argnums_invalid,
    static_argument_by_keyword,
)

RULES: tuple[Rule, ...] = (
    static_argnums_invalid.RULE,
    static_argument_by_keyword.RULE,
)
