"""What was meant by a dictionary in the place of the tuple of axes that ``jax.vmap`` wants."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.transformed_calls import applications, parameter_names, transformed_calls
from jaxpert.model.values import UNKNOWN, Table, Value, string

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


def meant_by_dictionary(model: FileModel, call: ApiCall, argument: Argument) -> tuple[str, bool]:
    """The tuple to write for ``argument``, a dictionary, and whether it is sure to be meant; "" when it is not known.

    Keys that are the parameters of the function give the entries of all arguments; others those inside of the only
    one.
    """
    target, counts = _mapped_by(model, call)
    names, value, node = parameter_names(target), argument.value, argument.node
    wrapped = f"({model.text_of(node)},)"
    if names is None or not isinstance(value, Table) or not value.exact:
        return (wrapped if counts <= {1} else ""), False
    keys = [string(key) for key, _ in value.entries]
    if not set(keys) & set(names):
        is_alone = counts == {1} or (len(names) == 1 and not counts)
        return (wrapped if is_alone else ""), is_alone
    is_complete = set(keys) == set(names) and len(keys) == len(names) and counts <= {len(names)}
    if not is_complete or not isinstance(node, ast.Dict):
        return "", False
    entries = dict(zip(keys, map(model.text_of, node.values)))
    return f"({', '.join(entries[name] for name in names)}{',' if len(names) == 1 else ''})", True


def _mapped_by(model: FileModel, call: ApiCall) -> tuple[Value, set[int]]:
    """The function that ``call`` maps, and how many positional arguments its visible calls have."""
    calls = [
        one
        for one in transformed_calls(model, everywhere=True)
        if one.options is not None and one.options.node is call.node and not one.opened
    ]
    targets = [one.target for one in applications(model) if one.call is not None and one.call.node is call.node]
    targets += [one.target for one in calls]
    return next(iter(targets), UNKNOWN), {one.count for one in calls}
