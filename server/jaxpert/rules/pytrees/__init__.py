"""Rules about pytrees, treedefs and registries (JXP5xx)."""

from jaxpert.rulekit.rule import Rule
from jaxpert.rules.pytrees import (
    array_in_aux_data,
    dataclass_fields,
    flatten_order,
    flatten_result,
    missing_tree_function,
    none_against_value,
    none_test_without_is_leaf,
    registered_twice,
    transpose_structure,
    tree_map_function,
    tree_structure_mismatch,
    treedef_attribute,
    treedef_registry,
    unflatten_arguments,
    unregistered_class,
    unsortable_keys,
)

RULES: tuple[Rule, ...] = (
    none_against_value.RULE,
    none_test_without_is_leaf.RULE,
    tree_structure_mismatch.RULE,
    tree_map_function.RULE,
    transpose_structure.RULE,
    flatten_order.RULE,
    unflatten_arguments.RULE,
    treedef_registry.RULE,
    treedef_attribute.RULE,
    unregistered_class.RULE,
    registered_twice.RULE,
    flatten_result.RULE,
    array_in_aux_data.RULE,
    unsortable_keys.RULE,
    dataclass_fields.RULE,
    missing_tree_function.RULE,
)
