"""Which names of a file may stand for an object of a library: a cheap look, before anything is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jaxpert.syntax.scopes import BindingKind, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


def words_for(model: FileModel, *words: str) -> frozenset[str]:
    """``words``, and every name of the file that an import or an assignment may have made to stand for one of them.

    An expression that ends in none of these words is none of the objects that ``words`` name.
    """
    found = set(words)
    for _ in range(2):  # an alias of an alias
        for tree in model.every_tree:
            found.update(name for name, source in _aliases(tree) if source in found)
    return frozenset(found)


def mentioned(tree: TreeIndex, words: Iterable[str]) -> bool:
    """Whether ``tree`` mentions one of ``words``, as a name, an attribute or in a string."""
    said = tree.mentions()
    return any(word in said or f".{word}" in said for word in words)


def _aliases(tree: TreeIndex) -> list[tuple[str, str]]:
    """Names bound in a tree, each with the last word of what it stands for."""
    known = tree.facts.get("aliases")
    if not isinstance(known, list):
        known = tree.facts["aliases"] = [
            (b.name, str(b.detail[2]) if b.kind is BindingKind.FROM_IMPORT else _last_word(b.value))
            for b in tree.aliases
        ]
    return known


def _last_word(value: ast.expr | None) -> str:
    while isinstance(value, ast.Call) and value.args:  # functools.partial(checkpoint_name, …), getattr(policies, "…")
        value = value.args[-1] if isinstance(value.args[-1], ast.Constant) else value.args[0]
    if isinstance(value, ast.Constant):
        return str(value.value)
    return value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
