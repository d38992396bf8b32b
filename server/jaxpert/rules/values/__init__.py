"""Rules about arguments and values that transformations refuse (JXP6xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.values import (
    array_of_non_numbers,
    aux_mismatch,
    compute_on_misused,
    gradient_of_integer,
    gradient_of_none,
    int_too_large,
    masked_array,
    non_scalar_predicate,
    primals_and_tangents,
    untraceable_argument,
    untraceable_default,
    vmap_axes_mismatch,
    vmap_over_scalar,
)

RULES: tuple[Rule, ...] = (
    untraceable_argument.RULE,
    untraceable_default.RULE,
    vmap_axes_mismatch.RULE,
    vmap_over_scalar.RULE,
    primals_and_tangents.RULE,
    non_scalar_predicate.RULE,
    compute_on_misused.RULE,
    int_too_large.RULE,
    masked_array.RULE,
    gradient_of_integer.RULE,
    aux_mismatch.RULE,
    array_of_non_numbers.RULE,
    gradient_of_none.RULE,
)
