"""What dictionary comprehensions over a few known items give: ``{name: getattr(policies, name) for name in NAMES}``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jaxpert.model.values import Frame, Sequence, Table, Value
from jaxpert.syntax.scopes import Block, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.evaluate import Evaluator

ITEM = "<item>"
"""Under this name a frame holds what the only loop of a comprehension gives in one turn, by its scope."""

_MOST_ITEMS = 16


def table(evaluator: Evaluator, node: ast.DictComp, scope: Scope, block: Block, frame: Frame) -> Table:
    """The dictionary; empty and open where its items are not known, or are too many."""
    site, inner = Site(node, scope, block), block.tree.comprehensions.get(node)
    unknown = Table((), False, site=site, model=evaluator.model)
    loop = node.generators[0]
    if inner is None or len(node.generators) != 1 or loop.ifs or loop.is_async:
        return unknown
    items = _items(evaluator.evaluate(loop.iter, scope, block, frame))
    if items is None:
        return unknown
    entries: list[tuple[Value, Value]] = []
    for item in items:
        turn = {**frame, (id(inner), ITEM): item}
        key = evaluator.evaluate(node.key, inner, block, turn)
        entries.append((key, evaluator.evaluate(node.value, inner, block, turn)))
    return Table(tuple(entries), True, site=site, model=evaluator.model)


def _items(value: Value) -> tuple[Value, ...] | None:
    items: tuple[Value, ...] | None = None
    if isinstance(value, Sequence) and value.exact and value.kind != "set":
        items = value.items
    elif isinstance(value, Table) and value.exact:
        items = tuple(key for key, _ in value.entries)
    return items if items is not None and len(items) <= _MOST_ITEMS else None
