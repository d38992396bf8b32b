"""All rules, in the order of their codes. To add one, import its module here and put its ``RULE`` in the tuple."""

from __future__ import annotations

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.checkpoint_calls import (
    branch_on_traced_argument,
    static_argnums_invalid,
    static_argument_by_keyword,
)
from jaxpert.rules.checkpoint_names import checkpoint_name_discarded, unknown_checkpoint_name
from jaxpert.rules.own import syntax_error, unknown_suppression, unused_suppression
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

ALL_RULES: tuple[Rule, ...] = (
    syntax_error.RULE,
    unused_suppression.RULE,
    unknown_suppression.RULE,
    static_argnums_invalid.RULE,
    static_argument_by_keyword.RULE,
    branch_on_traced_argument.RULE,
    policy_signature.RULE,
    policy_falls_through.RULE,
    policy_returns_non_bool.RULE,
    offloadable_misused.RULE,
    policy_compares_primitive_with_string.RULE,
    policy_factory_not_called.RULE,
    policy_called.RULE,
    names_in_one_argument.RULE,
    offload_names_overlap.RULE,
    unknown_checkpoint_name.RULE,
    checkpoint_name_discarded.RULE,
)

_BY_WORD = {word: rule for rule in ALL_RULES for word in (rule.name, rule.code)}


def rule_named(word: str) -> Rule | None:
    """The rule with this name or code, written in any case; None when there is none."""
    return _BY_WORD.get(word) or _BY_WORD.get(word.upper()) or _BY_WORD.get(word.lower())
