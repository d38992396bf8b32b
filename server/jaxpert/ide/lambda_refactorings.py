"""Refactoring of a policy that is a lambda into a function with a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from jaxpert.fixing.named_functions import assigned_name, name_lambda
from jaxpert.ide.refactoring import EXTRACT, Edits, Refactoring, RefactoringRefused, Spot
from jaxpert.model.file_model import FileModel
from jaxpert.model.values import ClassValue, Def
from jaxpert.text.lines import Range


def name_policy(spot: Spot) -> Iterator[Refactoring]:
    """The lambda that is pointed at, and is a policy, becomes a function before its statement."""
    model = spot.model
    for use in model.policy_uses:
        for option in use.value.options():
            node = option.function.node if isinstance(option, Def) and option.model is model else None
            where = model.range_of(node) if isinstance(node, ast.Lambda) and spot.holds(node) else None
            if node is None or where is None:
                continue
            name = assigned_name(model.source.lines, where) or _new_name(model, use.argument.node)
            title = f"Turn the lambda into the function `{name}`"
            yield Refactoring(title, EXTRACT, partial(_name, model, where, name))
            return


def _new_name(model: FileModel, given: ast.expr) -> str:
    """A name that says whose policy it is, and that nothing in the file has."""
    whose = ""
    for checkpoint in model.checkpoints:
        argument, target = checkpoint.role("policy"), checkpoint.target
        if argument is not None and argument.node is given:
            named = target.node if isinstance(target, ClassValue) else target
            whose = str(getattr(named, "name", ""))
    words = {word for tree in model.every_tree for word in tree.mentions()}
    base = f"{whose.lstrip('_').lower()}_policy" if whose not in ("", "lambda") else "policy"
    return next(name for name in (base, *(f"{base}_{number}" for number in range(2, 1000))) if name not in words)


def _name(model: FileModel, where: Range, name: str) -> Edits:
    edits = name_lambda(model.source.lines, where, name)
    if edits is None:
        raise RefactoringRefused("a function before the statement would not see the same variables")
    return edits
