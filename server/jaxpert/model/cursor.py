"""What stands at a position: the expressions around it, a function's name, a parameter or a use of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.syntax.expressions import Expression
from jaxpert.syntax.scopes import BindingKind, Block, DefNode, Function, Scope, Site, TreeIndex, scope_of
from jaxpert.text.lines import Position, Range, range_at

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


def expressions_at(model: FileModel, position: Position) -> list[tuple[Expression, Range]]:
    """The expressions that contain ``position``, the innermost first; of two that meet there, the one behind."""
    found = []
    for tree, line in _trees_at(model, position):
        for statement, block in tree.block_of.items():
            if statement.lineno > line and not getattr(statement, "decorator_list", None):
                continue
            if (statement.end_lineno or statement.lineno) < line:
                continue
            for one in _inside(tree, statement, block, line):
                area = model.range_of(one.node)
                if area is not None and area.contains(position):
                    found.append((one, area))
    return sorted(found, key=lambda it: (it[1].start, (-it[1].end.line, -it[1].end.column)), reverse=True)


def _inside(tree: TreeIndex, statement: ast.stmt, block: Block, line: int) -> Iterator[Expression]:
    """The expressions of a statement that touch a line, those inside lambdas and comprehensions in their own scopes."""
    pending: list[tuple[ast.AST, ast.AST, Scope, Block]] = [(statement, statement, scope_of(block), block)]
    while pending:
        node, parent, scope, here = pending.pop()
        if isinstance(node, ast.expr):
            if node.lineno > line or (node.end_lineno or node.lineno) < line:
                continue
            yield Expression(node, parent, scope, here)
            parent = node
        if isinstance(node, ast.Lambda) and node in tree.functions:
            function = tree.functions[node]
            pending += [(node.args, node, scope, here), (node.body, node, function.inner, function.body_block)]
            continue
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            scope = tree.comprehensions.get(node, scope)
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, (ast.stmt, ast.excepthandler)):
                pending.append((child, parent, scope, here))


def _trees_at(model: FileModel, position: Position) -> Iterator[tuple[TreeIndex, int]]:
    """The trees that may have something at ``position``, and its line as their nodes count; none where it was edited.
    """
    for tree in model.source.unit_at(position.line).trees:
        local: int | None = position.line - tree.first_line
        if tree.line_map is not None:
            local = next((number for number, mapped in enumerate(tree.line_map) if mapped == local), None)
        if local is not None:
            yield tree, local + tree.virtual_base


def name_range(model: FileModel, node: DefNode | ast.ClassDef) -> Range | None:
    """Where the name of a function or class stands in its definition."""
    line = model.source.line_of(node.lineno)
    if line is None or line >= len(model.source.lines):
        return None
    found = re.search(rf"\b(?:def|class)\s+({re.escape(node.name)})\b", model.source.lines[line])
    return range_at(line, found.start(1), line, found.end(1)) if found is not None else None


def function_at(model: FileModel, position: Position) -> tuple[Function, Range] | None:
    """The function whose name stands at ``position``, where it is defined."""
    for tree, line in _trees_at(model, position):
        for function in tree.functions.values():
            if isinstance(function.node, ast.Lambda) or function.node.lineno != line:
                continue
            area = name_range(model, function.node)
            if area is not None and area.contains(position):
                return function, area
    return None


def class_at(model: FileModel, position: Position) -> tuple[Site, ast.ClassDef, Range] | None:
    """The class whose name stands at ``position``, where it is defined, with the site of its definition."""
    for tree, line in _trees_at(model, position):
        for node, scope in tree.classes.items():
            area = name_range(model, node) if node.lineno == line else None
            if area is not None and area.contains(position) and scope.parent is not None and scope.block is not None:
                return Site(node, scope.parent, scope.block), node, area
    return None


def parameter_range(model: FileModel, parameter: ast.arg) -> Range | None:
    """Where the name of a parameter stands."""
    area = model.range_of(parameter)
    if area is None:
        return None
    line, column = area.start
    return range_at(line, column, line, column + len(parameter.arg))


def parameter_at(model: FileModel, position: Position) -> tuple[Function, str, Range] | None:
    """The function and its parameter that is defined or used at ``position``."""
    for tree, line in _trees_at(model, position):
        for function in tree.functions.values():
            if not function.node.lineno <= line <= (function.node.end_lineno or line):
                continue
            for parameter in parameters_of(function):
                area = parameter_range(model, parameter) if parameter.lineno == line else None
                if area is not None and area.contains(position):
                    return function, parameter.arg, area
    for one, area in expressions_at(model, position)[:1]:
        found = one.scope.lookup(one.node.id) if isinstance(one.node, ast.Name) else None
        if found is None or found[0].node is None or found[0].block is None:
            continue
        if any(binding.kind is BindingKind.PARAMETER for binding in found[1]):
            held = found[0].block.tree.functions.get(found[0].node)  # type: ignore[call-overload]
            if isinstance(held, Function) and isinstance(one.node, ast.Name):
                return held, one.node.id, area
    return None


def parameters_of(function: Function) -> list[ast.arg]:
    """Every parameter in the order in which it is written."""
    arguments = function.node.args
    stars = [arguments.vararg] if arguments.vararg is not None else []
    keywords = [arguments.kwarg] if arguments.kwarg is not None else []
    return [*arguments.posonlyargs, *arguments.args, *stars, *arguments.kwonlyargs, *keywords]
