"""Checkpoint wrappings that are lost with a loop's variable, or in a ``map`` whose result nobody takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall
from jaxpert.model.values import Partial, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.syntax.expressions import expressions
from jaxpert.syntax.scopes import BindingKind, Block, CallSite, Scope, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SEE_ALL_NAMES = frozenset({"locals", "vars", "eval", "exec", "globals"})
_MAPS = frozenset({"builtins.map", "jax.tree.map", "jax.tree_map", "jax.tree_util.tree_map"})
_COLLECT = frozenset({"list", "tuple", "set"})


@dataclass(frozen=True, slots=True, eq=False)
class LostMap:
    """``map(wrapper, functions)`` as a statement."""

    site: CallSite
    wrapper: ast.expr


def lost_maps(model: FileModel) -> list[LostMap]:
    """All of them in the file."""
    return model.from_each_tree("lost maps", lambda m, t: list(_lost_maps(m, t)))


def _lost_maps(model: FileModel, tree: TreeIndex) -> Iterator[LostMap]:
    if tree.mentions().isdisjoint(("map", ".map", "tree_map", ".tree_map")):
        return
    for site in tree.calls:
        node, statement = site.node, site.statement
        if not isinstance(statement, ast.Expr) or len(node.args) < 2:
            continue
        if node is not statement.value and node is not _taken(statement):
            continue
        func = node.func
        if (func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")) not in ("map", "tree_map"):
            continue
        called = model.evaluate(func, site.scope, site.block)
        if not isinstance(called, Symbol) or called.path not in _MAPS:
            continue
        given = model.evaluate(node.args[0], site.scope, site.block)
        if all(_is_wrapper(model, option) for option in given.options()):
            yield LostMap(site, node.args[0])


def _taken(statement: ast.Expr) -> ast.expr | None:
    """What ``list(…)`` and its like as a statement take."""
    call = statement.value
    is_taken = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _COLLECT
    return call.args[0] if is_taken and len(call.args) == 1 else None  # type: ignore[attr-defined]


def _is_wrapper(model: FileModel, value: Value) -> bool:
    while isinstance(value, Partial):
        value = value.target
    api = model.db.api(value.path) if isinstance(value, Symbol) else None
    return api is not None and api.kind is ApiKind.CHECKPOINT


def is_lost_loop_variable(model: FileModel, call: ApiCall) -> bool:
    """Whether ``call`` wraps a loop's variable, is assigned to it, and is not read before the loop goes on."""
    statement, fun = call.site.statement, call.role("fun")
    if not isinstance(statement, ast.Assign) or statement.value is not call.node or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or fun is None or not isinstance(fun.node, ast.Name):
        return False
    if fun.node.id != target.id:
        return False
    loop = loop_of(call.site, target.id)
    return loop is not None and not _is_read_behind(model, call.site, loop, target.id)


def loop_of(site: CallSite, name: str) -> ast.For | ast.AsyncFor | None:
    """The innermost loop around ``site``, when ``name`` is its variable."""
    for block in site.block.enclosing():
        if isinstance(block.owner, _FUNCTIONS):
            return None
        if isinstance(block.owner, _LOOPS) and block.part == "body":
            return block.owner if _goes_over(block, name) else None  # type: ignore[return-value]
    return None


def _goes_over(block: Block, name: str) -> bool:
    """Whether ``block`` is the body of a ``for`` that binds ``name``."""
    if not isinstance(block.owner, (ast.For, ast.AsyncFor)) or block.part != "body":
        return False
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(block.owner.target))


def _is_read_behind(model: FileModel, site: CallSite, loop: ast.For | ast.AsyncFor, name: str) -> bool:
    """Whether anything can read what the statement of ``site`` puts into ``name``, the variable of ``loop``."""
    owner, home = site.scope, site.block.tree
    bindings = owner.bindings.get(name, [])
    if owner.kind == "class" or not bindings or any(one.kind is BindingKind.ELSEWHERE for one in bindings):
        return True
    own = next(block for block in site.block.enclosing() if block.owner is loop)
    outside = own.parent
    runs_again = outside is not None and any(_is_loop(block) for block in _in_frame(outside))
    start, end = (loop.lineno, loop.col_offset), (site.statement.end_lineno or 0, site.statement.end_col_offset or 0)
    for tree in model.source.trees() if owner.kind == "module" else [home]:
        if name not in tree.mentions():
            continue
        if not tree.mentions().isdisjoint(_SEE_ALL_NAMES):
            return True
        for read in expressions(tree):
            node = read.node
            if not isinstance(node, ast.Name) or node.id != name or isinstance(node.ctx, ast.Store):
                continue
            found = read.scope.lookup(name)
            if found is None or found[0] is not owner:
                continue
            if not _is_in_line(read.scope, owner):
                return True
            at = (node.lineno, node.col_offset)
            if tree is home and start <= at < end:
                continue
            is_before = at < start if tree is home else tree.first_line < home.first_line
            hidden = any(_goes_over(block, name) and block is not own for block in _in_frame(read.block))
            if not hidden and (runs_again or not is_before):
                return True
    return False


def _is_loop(block: Block) -> bool:
    return isinstance(block.owner, _LOOPS)


def _in_frame(block: Block) -> Iterator[Block]:
    """``block`` and those around it, up to the function or class."""
    for around in block.enclosing():
        if isinstance(around.owner, _FUNCTIONS):
            return
        yield around


def _is_in_line(scope: Scope, owner: Scope) -> bool:
    while scope is not owner and scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope is owner
