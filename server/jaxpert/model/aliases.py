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
    named = model.remembered("aliases by what they stand for", lambda: _by_source(model))
    found = set(words)
    for _ in range(2):  # an alias of an alias
        found.update(name for word in tuple(found) for name in named.get(word, ()))
    return frozenset(found)


def _by_source(model: FileModel) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for tree in model.every_tree:
        for name, source in _aliases(tree):
            found.setdefault(source, []).append(name)
    return found


def last_word(node: ast.expr) -> str:
    """The attribute or name that ``node`` is; "" for any other expression."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def standing_for(model: FileModel, words: frozenset[str]) -> frozenset[str]:
    """:func:`words_for`, with the attributes that are assigned one, and imports that may bring one."""

    def find() -> frozenset[str]:
        names = words_for(model, *words) | _brought(model)
        return names | {name for tree in model.every_tree for name, source in _attributes(tree) if source in names}

    return model.remembered(("standing for", words), find)


def trees_about(model: FileModel, words: frozenset[str]) -> list[TreeIndex]:
    """The trees in focus that may hold a value that comes from an object named by one of ``words``.

    That is, in a file that mentions one at all, every tree which does so, or mentions a name that such a tree binds
    or an import that may bring one.
    """
    about = model.remembered(words, lambda: set(map(id, _about(model, words))))
    return [tree for tree in model.trees if id(tree) in about] if about else []


def _about(model: FileModel, words: frozenset[str]) -> list[TreeIndex]:
    if not model.source.contains_any(words):
        return []
    if "*" in model.source.module.bindings:
        return model.every_tree
    names = words_for(model, *words) | _brought(model)
    waiting, found = model.every_tree, list[TreeIndex]()
    while names:
        both = names | {f".{name}" for name in names}
        new: list[TreeIndex] = []
        rest: list[TreeIndex] = []
        for tree in waiting:
            (rest if tree.mentions().isdisjoint(both) else new).append(tree)
        waiting = rest
        found += new
        names = frozenset(name for tree in new for name in _bound_in(tree))
    return found


def _brought(model: FileModel) -> frozenset[str]:
    """Names imported from modules of the workspace that speak of rematerialization."""
    return frozenset(
        binding.name
        for tree in model.every_tree
        for binding in tree.aliases
        if binding.kind is BindingKind.FROM_IMPORT
        if (module := model.absolute(str(binding.detail[0]), int(str(binding.detail[1])))) is not None
        if not model.is_library(module) and model.may_wrap(module, str(binding.detail[2]))
    ) | frozenset(
        name
        for name, bindings in model.source.module.bindings.items()
        if any(it.kind is BindingKind.IMPORT and not model.is_library(str(it.detail[1])) for it in bindings)
        if any(it.kind is BindingKind.IMPORT and model.may_wrap(str(it.detail[1]), "") for it in bindings)
    )


def _bound_in(tree: TreeIndex) -> Iterable[str]:
    yield from tree.contribution
    for scope in tree.classes.values():
        yield from (name for name in scope.bindings if not name.startswith("__"))
    for statement in tree.block_of:
        if isinstance(statement, ast.Assign):
            yield from (target.attr for target in statement.targets if isinstance(target, ast.Attribute))


def mentioned(tree: TreeIndex, words: Iterable[str]) -> bool:
    """Whether ``tree`` mentions one of ``words``, as a name, an attribute or in a string."""
    said = tree.mentions()
    return any(word in said or f".{word}" in said for word in words)


def _attributes(tree: TreeIndex) -> list[tuple[str, str]]:
    """Attributes that are assigned in a tree, each with the last word of what it is assigned."""
    known = tree.facts.get("attribute aliases")
    if not isinstance(known, list):
        known = tree.facts["attribute aliases"] = [
            (target.attr, _last_word(statement.value))
            for statement in tree.block_of
            if isinstance(statement, ast.Assign)
            for target in statement.targets
            if isinstance(target, ast.Attribute)
        ]
    return known


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
    return last_word(value) if value is not None else ""
