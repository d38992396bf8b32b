"""Tree functions asked for where JAX does not have them: `jax.tree_map`, `jax.tree.tree_map` and their like."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.model.aliases import last_word
from jaxpert.model.missing_names import MissingName
from jaxpert.model.values import Symbol
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import Block, Scope, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MODULES = ("jax.tree", "jax.tree_util")
_OWNERS = ("jax", *_MODULES)
_PREFIXES = ("tree_", "treedef_")
_ASKED = tuple(f".{prefix}" for prefix in _PREFIXES)

GONE = {
    **{
        f"jax.{name}": Version("0.6.0")
        for name in (
            "tree_map", "tree_leaves", "tree_flatten", "tree_unflatten", "tree_structure", "tree_transpose",
            "treedef_is_leaf",
        )
    },
    "jax.tree_util.build_tree": Version("0.7.0"),
}  # fmt: skip
"""The first release without each name that has been there since 0.4.30; measured on each release."""

_OLD_NAMES = {"tree_multimap": "tree_map", "multimap": "map"}
"""What was renamed before 0.4.30, with the same parameters."""


def missing_tree_names(model: FileModel) -> list[MissingName]:
    """All of them in the trees in focus; the ``home`` of each is the whole path of the same function."""
    if not model.source.contains("tree"):
        return []
    modules = model.remembered("names of tree modules", lambda: _aliases(model))
    return model.from_each_tree("missing tree names", lambda m, t: list(_in_tree(m, t, modules)))


def _aliases(model: FileModel) -> frozenset[str]:
    """The last words of expressions that can be one of the modules."""
    found = {module.rpartition(".")[2] for module in _MODULES}
    for name, bindings in model.source.module.bindings.items():
        if any(isinstance(b.node, (ast.Import, ast.ImportFrom)) and "tree" in str(b.detail) for b in bindings):
            found.add(name)
    return frozenset(found)


def _in_tree(model: FileModel, tree: TreeIndex, modules: frozenset[str]) -> Iterator[MissingName]:
    for statement, block in tree.block_of.items():
        if isinstance(statement, ast.ImportFrom) and not statement.level and statement.module in _OWNERS:
            yield from _imported(model, statement, block)
    mentioned = tree.mentions()
    asked = model.source.contains_any(_ASKED) and any(word.startswith(_ASKED) for word in mentioned)
    if not asked and not any(name in mentioned or f".{name}" in mentioned for name in modules):
        return
    for expression in compounds(tree, ast.Attribute):
        node = expression.node
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if node.attr.startswith(_PREFIXES) or last_word(node.value) in modules:
                yield from _attribute(model, node, expression.scope, expression.block)


def _imported(model: FileModel, statement: ast.ImportFrom, block: Block) -> Iterator[MissingName]:
    owner = str(statement.module)
    for alias in statement.names:
        if owner == "jax" and not alias.name.startswith(_PREFIXES):
            continue
        if _is_missing(model, owner, alias.name) and not model.is_dead(block):
            home = _home(model, owner, alias.name, by_import=True)
            yield MissingName(alias, Site(statement, model.scope_of(block), block), owner, alias.name, home)


def _attribute(model: FileModel, node: ast.Attribute, scope: Scope, block: Block) -> Iterator[MissingName]:
    base = node.value
    options = list(model.evaluate(base, scope, block).options())
    owner = options[0].path if len(options) == 1 and isinstance(options[0], Symbol) else ""
    if owner not in _OWNERS or (owner == "jax" and not node.attr.startswith(_PREFIXES)):
        return
    if isinstance(base, ast.Name) and (base.id, node.attr) in model.replaced_attributes:
        return
    if _is_missing(model, owner, node.attr) and not model.is_dead(block):
        home = _home(model, owner, node.attr, by_import=False)
        yield MissingName(node, Site(node, scope, block), owner, node.attr, home)


def _is_missing(model: FileModel, owner: str, name: str) -> bool:
    path = f"{owner}.{name}"
    gone = GONE.get(path)
    if gone is not None and model.target.version < gone:
        return False
    return name != "*" and model.db.exists(path) is False and model.lookup(path) is None


def _home(model: FileModel, owner: str, name: str, by_import: bool) -> str:
    new = _OLD_NAMES.get(name, name)
    bare = new.removeprefix("tree_")
    short, long = f"jax.tree.{bare}", f"jax.tree_util.{new if new.startswith(_PREFIXES) else f'tree_{new}'}"
    ways = (long, short) if owner == "jax.tree_util" or (owner == "jax" and by_import) else (short, long)
    return next((way for way in ways if model.db.exists(way)), "")
