"""One simple statement of a function put in the place of another, without reading what stands around it again.

Most keystrokes change one assignment inside a function. All other nodes stay then; where nothing else in the function
can tell the difference, so does all that is known of their values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from jaxpert.syntax.changes import ADDING, REMOVING
from jaxpert.syntax.children import children, walk
from jaxpert.syntax.equality import are_the_same
from jaxpert.syntax.expressions import by_kind
from jaxpert.syntax.indexing import index_statement
from jaxpert.syntax.parse import parse
from jaxpert.syntax.scopes import Block, Scope, TreeIndex, scope_of

_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Expr)
_TELLING = (ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr)
"""Expressions that mean something for the function around them."""
_LIST_FIELDS = ("body", "orelse", "finalbody")



class _Placed(Protocol):
    @property
    def node(self) -> ast.AST | None: ...


P = TypeVar("P", bound=_Placed)


def exchanged(tree: TreeIndex, lines: Sequence[str], first: int, end: int) -> TreeIndex | None:
    """The tree of ``lines``, which differ from those of ``tree`` between ``first`` and ``end`` (counted from 0) alone.

    It is ``tree`` itself when the statement there is what it was. None when more than one simple statement of a
    function may have changed, or when its neighbours may see the change; then nothing has been done. Else ``tree``
    has given its nodes away and is no longer to be used.
    """
    if tree.line_map is not None:
        moved = [line for line, now in enumerate(tree.line_map) if line != now]
        first, end = min([first, *moved]), max([end, *(line + 1 for line in moved)])
    old = _statement_at(tree, tree.virtual_base + first, tree.virtual_base + end - 1)
    if old is None:
        return None
    above = old.lineno - tree.virtual_base
    below = (old.end_lineno or old.lineno) - tree.virtual_base + 1
    own = lines[above:below]
    new = _read(own, old.col_offset)
    if new is None:
        return None
    moved_by = old.lineno - new.lineno
    if tree.line_map is None and are_the_same([old], [new], moved_by):
        return tree
    block = tree.block_of[old]
    scope = scope_of(block)
    names = {*_bound(old), *_bound(new)}
    if scope.kind != "function" or "" in names or _reaches_out(old) or _reaches_out(new):
        return None
    around = "".join([*lines[:above], "\n", *lines[below:]])
    if _mentions(around, {"global", "nonlocal"}):
        return None
    suite = _suite_of(block, old)
    if suite is None:
        return None
    for node in walk(new):
        if "lineno" in node.__dict__:
            node.lineno += moved_by  # type: ignore[attr-defined]
            node.end_lineno += moved_by  # type: ignore[attr-defined]
    suite[suite.index(old)] = new
    _end_where(tree, old, new)
    if _are_used(names, around, tree, scope, old, new) or _may_end_the_function(old) or _may_end_the_function(new):
        tree.values.clear()
    return _with_statement(tree, old, new, scope, block, around)


def _statement_at(tree: TreeIndex, first: int, last: int) -> ast.stmt | None:
    """The simple statement whose lines hold ``first`` to ``last``."""
    for statement in tree.block_of:
        if isinstance(statement, _SIMPLE) and statement.lineno <= first and last <= (statement.end_lineno or 0):
            return statement
    return None


def _read(lines: Sequence[str], column: int) -> ast.stmt | None:
    """The one simple statement that ``lines``, which are indented by ``column``, consist of."""
    indent = lines[0][:column] if lines else ""
    if not column or indent not in (" " * column, "\t" * column) or lines[0][column : column + 1].isspace():
        return None
    read = parse("if 1:\n" + "".join(lines))
    if not isinstance(read, ast.Module) or len(read.body) != 1 or not isinstance(read.body[0], ast.If):
        return None
    body = read.body[0].body
    if read.body[0].orelse or len(body) != 1 or not isinstance(body[0], _SIMPLE) or body[0].col_offset != column:
        return None
    return body[0]


def _reaches_out(statement: ast.stmt) -> bool:
    """Whether what the statement does is known of outside the function's own suites."""
    for node in walk(statement):
        if isinstance(node, _TELLING):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in ADDING or node.func.attr in REMOVING:
                return True
    return False


def _may_end_the_function(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def _bound(statement: ast.stmt) -> Iterator[str]:
    """The names that an assignment binds; "" for an attribute or an item."""
    waiting: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        waiting += statement.targets
    elif isinstance(statement, ast.AnnAssign):
        waiting.append(statement.target)
    while waiting:
        target = waiting.pop()
        if isinstance(target, (ast.Tuple, ast.List)):
            waiting += target.elts
        else:
            yield target.id if isinstance(target, ast.Name) else ""


def _mentions(text: str, names: set[str]) -> bool:
    """Whether one of ``names`` stands in ``text``, be it in a string or comment."""
    return any(name in text and re.search(rf"\b{re.escape(name)}\b", text) for name in names)


def _are_used(names: set[str], around: str, tree: TreeIndex, scope: Scope, old: ast.stmt, new: ast.stmt) -> bool:
    """Whether a name of ``scope`` that ``new`` binds, or ``old`` did, is used or bound by another statement.

    Args:
        around: the text of all others.
    """
    if not names or not _mentions(around, names):
        return False
    if any(binding.node is not old for name in names for binding in scope.bindings.get(name, ())):
        return True
    function = scope.node
    assert isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
    waiting: list[tuple[ast.AST, set[str]]] = [(statement, names) for statement in function.body]
    while waiting:
        node, free = waiting.pop()
        if isinstance(node, ast.Name):
            if node.id in free:
                return True
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inside = free.difference(tree.functions[node].inner.bindings)
            body = [node.body] if isinstance(node, ast.Lambda) else node.body
            waiting += [(it, free) for it in children(node) if it not in body]
            waiting += [(it, inside) for it in body if inside]
        elif node is not new:
            waiting += [(it, free) for it in children(node)]
    return False


def _suite_of(block: Block, statement: ast.stmt) -> list[ast.stmt] | None:
    """The list of statements that ``statement`` is in."""
    owner = block.owner
    owners = owner.cases if isinstance(owner, ast.Match) else [owner]
    for one in owners:
        for field in _LIST_FIELDS:
            suite = getattr(one, field, None)
            if isinstance(suite, list) and statement in suite:
                return suite
    return None


def _end_where(tree: TreeIndex, old: ast.stmt, new: ast.stmt) -> None:
    """Let everything that ended with ``old`` end with ``new``."""
    end = old.end_lineno, old.end_col_offset
    for statement in tree.block_of:
        for node in (statement, *getattr(statement, "handlers", ())):
            if node is not old and (node.end_lineno, node.end_col_offset) == end:
                node.end_lineno, node.end_col_offset = new.end_lineno, new.end_col_offset


def _with_statement(
    tree: TreeIndex, old: ast.stmt, new: ast.stmt, scope: Scope, block: Block, around: str
) -> TreeIndex:
    """A tree with the nodes of ``tree`` in which ``new`` is what ``old`` was; ``around`` is the text of all others."""
    gone = set(walk(old))
    for name in set(_bound(old)):
        kept = [binding for binding in scope.bindings.pop(name, ()) if binding.node not in gone]
        if kept:
            scope.bindings[name] = kept
    scope.orders = None
    piece = index_statement(new, tree.top, scope, block)

    made = TreeIndex(tree.top)
    made.contribution, made.statements, made.classes = tree.contribution, tree.statements, tree.classes
    made.calls = _spliced(tree.calls, piece.calls, gone, old)
    made.dicts = _spliced(tree.dicts, piece.dicts, gone, old)
    made.aliases = _spliced(tree.aliases, piece.aliases, gone, old)
    made.scopes = _spliced(tree.scopes, piece.scopes, gone, old)
    made.functions = {node: it for node, it in tree.functions.items() if node not in gone} | piece.functions
    made.comprehensions = {node: it for node, it in tree.comprehensions.items() if node not in gone}
    made.comprehensions |= piece.comprehensions
    made.block_of = {(new if it is old else it): where for it, where in tree.block_of.items()}
    made.root = tree.root
    inner = [function.body_block for function in made.functions.values()]
    for outermost in {*made.block_of.values(), *inner, made.root}:
        for each in outermost.enclosing():
            if each.tree is tree or each.tree is piece:
                each.tree = made
    made.first_line, made.virtual_base, made.virtual_length = tree.first_line, tree.virtual_base, tree.virtual_length
    if tree.compounds is not None:
        made.compounds = {kind: [it for it in all_ if it.node not in gone] for kind, all_ in tree.compounds.items()}
        for kind, new_ones in by_kind(piece).items():
            made.compounds.setdefault(kind, []).extend(new_ones)
    for node in gone:
        tree.values.pop(id(node), None)
    made.values = tree.values
    for key, (token, came_out_of, value) in tree.values.items():
        if tree in came_out_of:
            made.values[key] = (token, tuple(made if it is tree else it for it in came_out_of), value)
    lost = {word for word in _words(gone) if not _mentions(around, {word})}
    made.words = {word for word in tree.words if word.lstrip(".") not in lost} | piece.words
    made.writes_large_integers = tree.writes_large_integers or piece.writes_large_integers
    tree.alive = False
    return made


def _spliced(items: list[P], new: list[P], gone: set[ast.AST], old: ast.stmt) -> list[P]:
    """``items`` with ``new`` in the place of those that stand at nodes which are ``gone``."""
    place = next(
        (at for at, item in enumerate(items) if item.node in gone or _line(item.node) > old.lineno), len(items)
    )
    return [*items[:place], *new, *(item for item in items[place:] if item.node not in gone)]


def _line(node: ast.AST | None) -> int:
    return getattr(node, "lineno", 0)


def _words(nodes: Iterable[ast.AST]) -> set[str]:
    """The names, attributes and identifiers in strings at ``nodes``."""
    words = set()
    for node in nodes:
        word = getattr(node, "id", None) or getattr(node, "attr", None) or getattr(node, "value", None)
        if isinstance(word, str) and word.isidentifier():
            words.add(word)
    return words
