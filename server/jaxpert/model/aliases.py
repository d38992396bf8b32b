"""Which names of a file may stand for an object of a library: a cheap look, before anything is evaluated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterable
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.records import dataclass
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


@dataclass(slots=True, eq=False)
class _Aliases:
    """Names by what they stand for, in ``trees``; also some that one has bound before it was exchanged."""

    trees: set[TreeIndex] = field(default_factory=set)
    by_source: dict[str, list[str]] = field(default_factory=dict)


def _by_source(model: FileModel) -> dict[str, list[str]]:
    known = model.lasting("aliases", _Aliases)
    for tree in model.every_tree:
        if tree not in known.trees:
            known.trees.add(tree)
            for name, source in _aliases(tree):
                known.by_source.setdefault(source, []).append(name)
    return known.by_source


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
    about = model.remembered(words, lambda: _about(model, words))
    return [tree for tree in model.trees if tree in about] if about else []


@dataclass(slots=True, eq=False)
class _About:
    """What :func:`trees_about` knows: all names that may bring a value, the trees it has looked at, and those found."""

    names: frozenset[str] = frozenset()
    seen: set[TreeIndex] = field(default_factory=set)
    found: set[TreeIndex] = field(default_factory=set)


def _about(model: FileModel, words: frozenset[str]) -> Collection[TreeIndex]:
    if not model.source.contains_any(words):
        return ()
    if "*" in model.source.module.bindings:
        return model.every_tree
    known = model.lasting(("about", words), _About)
    names = words_for(model, *words) | model.lasting("brought", lambda: _brought(model))
    new = [tree for tree in model.every_tree if tree not in known.seen]
    if not names <= known.names or any(_tells_more(tree, known.names) for tree in new):
        _look_again(model, known, names | known.names)
    else:
        known.seen.update(new)
        known.found.update(tree for tree in new if _is_about(tree, known.names))
    return known.found


def _look_again(model: FileModel, known: _About, names: frozenset[str]) -> None:
    known.names, known.found = names, set()
    waiting = known.seen = set(model.every_tree)
    while names:
        new = {tree for tree in waiting if _is_about(tree, names)}
        waiting = waiting - new
        known.found |= new
        names = frozenset(name for tree in new for name in _bound_in(tree))
        known.names |= names


def _is_about(tree: TreeIndex, names: frozenset[str]) -> bool:
    said = tree.mentions()
    return not said.isdisjoint(names) or not said.isdisjoint({f".{name}" for name in names})


def _tells_more(tree: TreeIndex, names: frozenset[str]) -> bool:
    return _is_about(tree, names) and not names.issuperset(_bound_in(tree))


def _brought(model: FileModel) -> frozenset[str]:
    """Names imported from modules of the workspace that speak of rematerialization."""
    return names_imported(model, model.may_wrap)


def names_imported(model: FileModel, is_wanted: Callable[[str, str], bool]) -> frozenset[str]:
    """Names that imports bind to a ``module, name`` (or a whole module, without name) that is wanted; no libraries."""
    return frozenset(
        binding.name
        for tree in model.source.trees()
        for binding in tree.aliases
        if binding.kind is BindingKind.FROM_IMPORT
        if (module := model.absolute(str(binding.detail[0]), int(str(binding.detail[1])))) is not None
        if not model.is_library(module) and is_wanted(module, str(binding.detail[2]))
    ) | frozenset(
        name
        for name, bindings in model.source.module.bindings.items()
        if any(
            it.kind is BindingKind.IMPORT
            and not model.is_library(str(it.detail[1]))
            and is_wanted(str(it.detail[1]), "")
            for it in bindings
        )
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
