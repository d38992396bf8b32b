"""Rules about remat policies (JXP2xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.policies import (
    names_in_one_argument,
    offload_names_overlap,
    offloadable_misused,
    policy_called,
    policy_compares_primitive_with_string,
    policy_factory_not_called,
    policy_falls_through,
    policy_returns_non_bool,
    policy_signature,
)

RULES: tuple[Rule, ...] = (
    names_in_one_argument.RULE,
    offload_names_overlap.RULE,
    offloadable_misused.RULE,
    policy_called.RULE,
    policy_compares_primitive_with_string.RULE,
    policy_factory_not_called.RULE,
    policy_falls_through.RULE,
    policy_returns_non_bool.RULE,
    policy_signature.RULE,
)
