"""Rules about how a function is wrapped in ``jax.checkpoint`` or a relative of it (JXP1xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.checkpoint_calls import (
    ad_checkpoint_not_imported,
    checkpoint_discarded,
    checkpoint_of_result,
    checkpoint_without_function,
    missing_checkpoint_api,
    module_wrapped_wrongly,
    prevent_cse_invalid,
    static_argnames_ignored,
    static_argnums_invalid,
    static_argument_by_keyword,
    surplus_checkpoint_argument,
    unknown_checkpoint_option,
)

RULES: tuple[Rule, ...] = (
    static_argnums_invalid.RULE,
    static_argument_by_keyword.RULE,
    surplus_checkpoint_argument.RULE,
    checkpoint_without_function.RULE,
    checkpoint_of_result.RULE,
    checkpoint_discarded.RULE,
    unknown_checkpoint_option.RULE,
    prevent_cse_invalid.RULE,
    static_argnames_ignored.RULE,
    ad_checkpoint_not_imported.RULE,
    missing_checkpoint_api.RULE,
    module_wrapped_wrongly.RULE,
)
