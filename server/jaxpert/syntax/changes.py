"""Lists, sets and dictionaries that are changed in place, by the name through which it is done."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Block, Scope, TreeIndex, scope_of

ADDING = frozenset({"append", "extend", "insert", "add", "update", "setdefault", "sort", "reverse"})
REMOVING = frozenset({
    "remove", "pop", "popitem", "clear", "discard", "difference_update", "intersection_update",
    "symmetric_difference_update",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """One change of the object that a name stands for.

    Attributes:
        name: the name.
        block: where it is done.
        removes: whether something that was in the object can be gone afterwards.
        key, value: of ``name[key] = value``; None for other changes.
    """

    name: str
    block: Block
    removes: bool
    key: ast.expr | None = None
    value: ast.expr | None = None

    @property
    def text(self) -> str:
        """What is done, in a form that does not depend on where it stands."""
        return " ".join(["removes" if self.removes else "adds", *(ast.dump(n) for n in (self.key, self.value) if n)])

    def owner(self) -> Scope | None:
        """The scope that binds the name."""
        found = scope_of(self.block).lookup(self.name)
        return found[0] if found else None

    @property
    def is_seen_elsewhere(self) -> bool:
        """Whether the name is not just a variable of the function around."""
        owner = self.owner()
        return owner is None or owner.kind in ("module", "class")


def changes(tree: TreeIndex) -> dict[str, list[Change]]:
    """The changes in one tree, by name."""
    known = tree.facts.get("changes")
    if isinstance(known, dict):
        return known
    found: dict[str, list[Change]] = {}
    for change in _changes(tree):
        found.setdefault(change.name, []).append(change)
    tree.facts["changes"] = found
    return found


def _changes(tree: TreeIndex) -> Iterator[Change]:
    for site in tree.calls:
        method = site.node.func
        if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name):
            if method.attr in ADDING or method.attr in REMOVING:
                yield Change(method.value.id, site.block, method.attr in REMOVING)
    for statement, block in tree.block_of.items():
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    yield Change(target.value.id, block, False, target.slice, statement.value)
        elif isinstance(statement, (ast.Delete, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Delete) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    yield Change(target.value.id, block, True)
