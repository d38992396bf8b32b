"""Places inside a statement that do not run on the JAX at hand, and names that the code has asked for first.

:mod:`jaxpert.model.guards` decides about whole blocks; here it is about the arms of ``x if test else y``, of ``and``
and ``or``, about annotations, and about ``hasattr(x, "name")`` where ``x.name`` is used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from jaxpert.model.guards import suite_of, version_condition
from jaxpert.model.version_values import is_about_version
from jaxpert.syntax.children import children, walk
from jaxpert.syntax.scopes import BindingKind, Scope, Site
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_LOOPS = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
_ARMED = (ast.IfExp, ast.BoolOp, *_LOOPS)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_DEEPEST = 6

_Condition = tuple[ast.expr, bool]
"""A test, and whether it came out true."""


def is_ruled_out(model: FileModel, site: Site, area: Range) -> bool:
    """Whether ``area`` of the statement ``site`` is an arm that a version check rules out, or leaves in doubt."""
    if not _has_arms(site):
        return False
    for test, came_out in _conditions_inside(_path(model, site, area)):
        known = version_condition(model, test, site.scope, site.block)
        if known is not None and known is not came_out:
            return True
        if known is None and is_about_version(model, test, site.scope, site.block):
            return True
    return False


def _has_arms(site: Site) -> bool:
    """Whether anything in the statement is evaluated only under a condition."""
    known = site.block.tree.facts.setdefault("arms", {})
    assert isinstance(known, dict)
    if id(site.node) not in known:
        known[id(site.node)] = any(isinstance(node, _ARMED) for node in walk(site.node))
    return bool(known[id(site.node)])


def is_asked_for(model: FileModel, site: Site, area: Range) -> bool:
    """Whether the attribute used in ``area`` of the statement ``site`` is known to be there, or is never looked up.

    That is so where ``hasattr`` has found it, and in annotations, which not every Python evaluates.
    """
    path = _path(model, site, area)
    if any(_is_annotation(outer, inner) for outer, inner in pairwise(path)):
        return True
    if not model.source.contains_any(("hasattr", "getattr", "dir(")):
        return False
    wanted = {
        (ast.unparse(node.value), node.attr)
        for node in (*path, *walk(path[-1]))
        if isinstance(node, ast.Attribute)
    }
    if not wanted:
        return False
    conditions = (*_conditions_inside(path), *_conditions_around(site))
    return any(not wanted.isdisjoint(_found(*condition, site.scope)) for condition in conditions)


def _path(model: FileModel, site: Site, area: Range) -> list[ast.AST]:
    """The nodes that hold ``area``, from the statement to the innermost."""
    path = [site.node]
    tree = site.block.tree
    lines = tree.line_then(area.start.line), tree.line_then(area.end.line)
    first, last = (tree.virtual_base + (line or 0) for line in lines)
    is_known = tree.alive and None not in lines and tree.line_map is None
    while True:
        near = (node for node in _placed(path[-1]) if not is_known or _is_on(node, first, last))
        inner = next((node for node in near if _holds(model, node, area)), None)
        if inner is None:
            return path
        path.append(inner)


def _placed(node: ast.AST) -> Iterator[ast.AST]:
    """The nearest nodes below ``node`` that have a place of their own."""
    for child in children(node):
        if hasattr(child, "lineno"):
            yield child
        else:
            yield from _placed(child)


def _is_on(node: ast.AST, first: int, last: int) -> bool:
    """Whether ``node`` is at least on the lines ``first`` to ``last`` of its tree."""
    return node.lineno <= first and last <= node.end_lineno  # type: ignore[attr-defined, no-any-return]


def _holds(model: FileModel, node: ast.AST, area: Range) -> bool:
    own = model.range_of(node)
    return own is not None and own.start <= area.start and area.end <= own.end


def _is_annotation(outer: ast.AST, inner: ast.AST) -> bool:
    if isinstance(outer, (ast.AnnAssign, ast.arg)):
        return outer.annotation is inner
    return isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef)) and outer.returns is inner


def _conditions_inside(path: list[ast.AST]) -> Iterator[_Condition]:
    """What has come out before the end of ``path`` is evaluated."""
    for outer, inner in pairwise(path):
        if isinstance(outer, ast.IfExp) and inner is not outer.test:
            yield outer.test, inner is outer.body
        elif isinstance(outer, ast.BoolOp):
            before = outer.values[: outer.values.index(inner)]  # type: ignore[arg-type]
            yield from ((value, isinstance(outer.op, ast.And)) for value in before)
        elif isinstance(outer, _LOOPS):
            made = (outer.key, outer.value) if isinstance(outer, ast.DictComp) else (outer.elt,)
            if inner in made:
                yield from ((test, True) for generator in outer.generators for test in generator.ifs)


def _conditions_around(site: Site) -> Iterator[_Condition]:
    """What has come out before the statement runs."""
    at: ast.AST = site.node
    for block in site.block.enclosing():
        for earlier in suite_of(block):
            if earlier is at:
                break
            if isinstance(earlier, ast.Assert):
                yield earlier.test, True
            elif isinstance(earlier, ast.If) and not earlier.orelse and isinstance(earlier.body[-1], _LEAVES):
                yield earlier.test, False
        if isinstance(block.owner, (ast.If, ast.While)) and block.part in ("body", "orelse"):
            yield block.owner.test, block.part == "body"
        if block.owner is None:
            return
        at = block.owner


def _found(test: ast.expr, came_out: bool, scope: Scope, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The attributes, each with the text of what has it, that are there when ``test`` comes out so."""
    if depth > _DEEPEST:
        return
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _found(test.operand, not came_out, scope, depth + 1)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is came_out:
            for value in test.values:
                yield from _found(value, came_out, scope, depth + 1)
    elif isinstance(test, ast.NamedExpr):
        yield from _found(test.value, came_out, scope, depth + 1)
    elif isinstance(test, ast.Name):
        found = scope.lookup(test.id)
        if found is not None and len(found[1]) == 1 and found[1][0].kind is BindingKind.ASSIGN:
            made = found[1][0].value
            if made is not None:
                yield from _found(made, came_out, found[1][0].scope, depth + 1)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        yield from _compared(test, came_out, scope, depth)
    elif isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and came_out and len(test.args) >= 2:
        default = test.args[2] if len(test.args) == 3 else None
        is_false_without = isinstance(default, ast.Constant) and not default.value
        if test.func.id == "hasattr" or (test.func.id == "getattr" and is_false_without):
            yield from _named(test.args[0], test.args[1])


def _compared(test: ast.Compare, came_out: bool, scope: Scope, depth: int) -> Iterator[tuple[str, str]]:
    """The same for ``"name" in dir(x)`` and ``getattr(x, "name", None) is not None``."""
    operator, right = test.ops[0], test.comparators[0]
    if isinstance(operator, ast.In if came_out else ast.NotIn) and isinstance(right, ast.Call):
        if isinstance(right.func, ast.Name) and right.func.id in ("dir", "vars") and right.args:
            yield from _named(right.args[0], test.left)
    elif isinstance(operator, ast.IsNot if came_out else ast.Is):
        if isinstance(right, ast.Constant) and right.value is None:
            yield from _found(test.left, True, scope, depth + 1)


def _named(base: ast.expr, name: ast.expr) -> Iterator[tuple[str, str]]:
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        yield ast.unparse(base), name.value
