"""What ``*items`` and ``**options`` give to a call, where they stand in the same file and nothing changes them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from jaxpert.model.touched import is_touched
from jaxpert.model.values import Literal, Sequence, Table
from jaxpert.syntax.scopes import BindingKind, Block, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DEEPEST = 4


class SpreadKeyword(NamedTuple):
    """One entry of the dictionary; ``site.node`` is the display, or the call of ``dict``, that it stands in.

    ``keyword`` is the entry written as an argument: its name, its value and its place.
    """

    keyword: ast.keyword
    site: Site


def spread_items(
    model: FileModel, starred: ast.Starred, site: Site, is_followed: bool
) -> list[tuple[ast.expr, Site]] | None:
    """The items of ``*(a, b)`` when they are written in place; None when they are not visible there.

    ``is_followed``: those of a variable, too, when it stands for one list or tuple that nothing changes.
    """
    node = starred.value
    if is_followed and isinstance(node, ast.Name):
        listed = model.evaluate(node, site.scope, site.block)
        written = listed.site if isinstance(listed, Sequence) and listed.exact and listed.model is model else None
        if written is None or not isinstance(written.node, ast.expr) or is_touched(model, node, site.scope):
            return None
        node, site = written.node, written
    if isinstance(node, (ast.List, ast.Tuple)) and not any(isinstance(one, ast.Starred) for one in node.elts):
        return [(element, site) for element in node.elts]
    return None


def spread_keywords(
    model: FileModel, node: ast.expr, scope: Scope, block: Block, depth: int = 0
) -> list[SpreadKeyword] | None:
    """What ``**node`` gives; None when that is not known for certain."""
    if depth > _DEEPEST:
        return None
    if isinstance(node, ast.Name):
        found = scope.lookup(node.id)
        if found is None or any(binding.kind is not BindingKind.ASSIGN for binding in found[1]):
            return None
        if is_touched(model, node, scope):
            return None
    elif not isinstance(node, (ast.Dict, ast.Call)):
        return None  # an attribute, say: who knows what is put into it elsewhere
    options = list(model.evaluate(node, scope, block).options())
    table = options[0] if len(options) == 1 else None
    if not isinstance(table, Table) or not table.exact or table.model is not model or table.site is None:
        return None
    entries = _entries(model, table.site, depth)
    names = {key.value if isinstance(key, Literal) else None for key, _ in table.entries}
    return entries if entries is not None and {entry.keyword.arg for entry in entries} == names else None


def _entries(model: FileModel, site: Site, depth: int) -> list[SpreadKeyword] | None:
    """The entries of a display or of a call of ``dict``, the last of each name."""
    node = site.node
    pairs: list[tuple[ast.expr | ast.keyword | None, ast.expr]]
    if isinstance(node, ast.Dict):
        pairs = list(zip(node.keys, node.values))
    elif isinstance(node, ast.Call):
        pairs = [(None, argument) for argument in node.args]
        pairs += [(keyword if keyword.arg else None, keyword.value) for keyword in node.keywords]
    else:
        return None
    found: dict[str, SpreadKeyword] = {}
    for key, value in pairs:
        if key is None:
            more = spread_keywords(model, value, site.scope, site.block, depth + 1)
            if more is None:
                return None
            found.update({str(one.keyword.arg): one for one in more})
            continue
        keyword = key if isinstance(key, ast.keyword) else _as_keyword(key, value)
        if keyword is None:
            return None
        found[str(keyword.arg)] = SpreadKeyword(keyword, site)
    return list(found.values())


def _as_keyword(key: ast.expr, value: ast.expr) -> ast.keyword | None:
    """``"name": value`` as ``name=value``, in the same place."""
    if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
        return None
    keyword = ast.keyword(key.value, value)
    keyword.lineno, keyword.col_offset = key.lineno, key.col_offset
    keyword.end_lineno, keyword.end_col_offset = value.end_lineno, value.end_col_offset
    return keyword
