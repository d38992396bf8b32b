"""Rules about side effects and mutable references under rematerialization (JXP4xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.effects import (
    array_changed_in_place,
    callback_differentiated,
    callback_runs_again,
    frozen_while_tracing,
    ref_crosses_checkpoint,
    ref_returned,
    ref_written_in_checkpoint,
    side_effect_while_tracing,
    tracer_leak,
    unsupported_effect_in_checkpoint,
)

RULES: tuple[Rule, ...] = (
    unsupported_effect_in_checkpoint.RULE,
    callback_differentiated.RULE,
    callback_runs_again.RULE,
    ref_written_in_checkpoint.RULE,
    ref_crosses_checkpoint.RULE,
    ref_returned.RULE,
    tracer_leak.RULE,
    side_effect_while_tracing.RULE,
    frozen_while_tracing.RULE,
    array_changed_in_place.RULE,
)
