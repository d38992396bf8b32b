"""Makes a name available: reuses the file's own import of it, or adds one where imports stand."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from jaxpert.fixing.passage import line_end_at, same_tree, source_of
from jaxpert.syntax.parse import SyntaxProblem, parse
from jaxpert.syntax.scopes import Binding, BindingKind
from jaxpert.syntax.units import SourceFile
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range, without_line_end

_BOM = "\ufeff"

_IMPORTS = (BindingKind.IMPORT, BindingKind.FROM_IMPORT)

Import = ast.Import | ast.ImportFrom


class ImportedName(NamedTuple):
    """How to write the imported thing, and the edits that this takes: none when the file imports it already."""

    name: str
    edits: tuple[Edit, ...]


def ensure_import(
    lines: Sequence[str], statement: str, use: Position, source: SourceFile | None = None
) -> ImportedName | None:
    """Make sure that what ``statement`` imports can be named at ``use``.

    Args:
        lines: the file.
        statement: one import of one name without dots: ``import jax``, ``import jax.numpy as jnp``,
            ``from functools import partial``.
        use: where the name will stand: names bound by the functions around it hide those of the module.
        source: the file, where it is at hand: reading it again takes time.

    Returns:
        None when the name means something else there, or when there is no safe place for the import.
    """
    wanted = parse(statement)
    if isinstance(wanted, SyntaxProblem) or not isinstance(wanted.body[0], (ast.Import, ast.ImportFrom)):
        return None
    node = wanted.body[0]
    imported, name = node.names[0].name, node.names[0].asname or node.names[0].name
    module = node.module if isinstance(node, ast.ImportFrom) else None
    path = f"{module}.{imported}" if module else imported
    source = source or source_of(lines)
    names = _names_at(source, use, {path, module or path}, name)
    known = _known(names, module or "", imported)
    if known is not None:
        return ImportedName(known, ())
    if any(_path(binding) != path for binding in names.get(name, ())):
        return None
    edit = _insertion(_head(source), node, use)
    return None if edit is None else ImportedName(name, (edit,))


def known_name(source: SourceFile, paths: Iterable[str], use: Position) -> str | None:
    """How the first of some dotted paths that is imported already can be written at ``use``; those with a name of
    their own come before members of an imported module.
    """
    wanted = [path.rpartition(".") for path in paths]
    names = _names_at(source, use, {path for module, dot, member in wanted for path in (module + dot + member, module)})
    known = [_known(names, module, member) for module, _, member in wanted]
    written = [name for name in known if name is not None]
    return next((name for name in written if "." not in name), written[0] if written else None)


def _known(names: Mapping[str, list[Binding]], module: str, member: str) -> str | None:
    """How ``module.member`` can be written with the names that are there; ``module`` is "" for a module itself."""
    bound = {_path(bindings[0]): name for name, bindings in names.items() if _is_plain(bindings)}
    path = f"{module}.{member}" if module else member
    if path in bound:
        return bound[path]
    return f"{bound[module]}.{member}" if module in bound else None


def _names_at(
    source: SourceFile, use: Position, paths: Collection[str], wanted: str = ""
) -> Mapping[str, list[Binding]]:
    """What names mean at ``use``: the module's, and over them those of the functions around.

    Of the module's only the name ``wanted``, and those that are imports of one of ``paths``.
    """
    around = []
    for tree in source.unit_at(use.line).trees:
        for function in tree.functions.values():
            area = source.range_of(function.node)
            if area is not None and area.contains(use):
                around.append((area, function.inner.bindings))
    names = {}
    for name, bindings in source.module.bindings.items():
        if name != wanted and (bindings[0].kind not in _IMPORTS or _path(bindings[0]) not in paths):
            continue
        # Code of the module itself only sees what stands above it.
        areas = (source.range_of(binding.node) for binding in bindings)
        if around or all(area is not None and area.end <= use for area in areas):
            names[name] = bindings
    for _, inner in sorted(around, key=lambda one: one[0]):
        names.update(inner)
    return names


def _is_plain(bindings: list[Binding]) -> bool:
    """Whether the name is bound once, and not only in some branch."""
    owner = bindings[0].block.owner
    return len(bindings) == 1 and (owner is None or isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _path(binding: Binding) -> str | None:
    """The dotted path of what an absolute import binds; None for other bindings."""
    if binding.kind is BindingKind.IMPORT:
        return str(binding.detail[0])
    if binding.kind is BindingKind.FROM_IMPORT and not binding.detail[1]:
        return f"{binding.detail[0]}.{binding.detail[2]}"
    return None


def _head(source: SourceFile) -> Sequence[str]:
    """The lines up to the statement behind the last import of the module: nothing below tells where one more goes."""
    if source.problem is not None or not source.is_current:
        return source.lines
    end = statements = 0
    is_open = True
    for unit in source.units:
        if unit.class_scope is None:
            if is_open:
                end = unit.first
            inside = [statement for tree in unit.trees for statement in tree.statements]
            is_open = statements < 2 or any(map(_package, inside))
            statements += len(inside)
    return source.lines if is_open else source.lines[:end]


def _insertion(lines: Sequence[str], new: Import, use: Position) -> Edit | None:
    """The edit that adds ``new``; None when that would not be just one more statement of the module."""
    text = "".join(lines)
    tree = parse(text.removeprefix(_BOM))
    if isinstance(tree, SyntaxProblem) or not tree.body:
        return None
    index, at, new_text = _place(lines, tree.body, new, use)
    if at > use:
        return None
    edit = Edit(Range(at, at), new_text.replace("\n", line_end_at(lines, at.line)))
    tree.body.insert(index, new)
    after = parse(apply_edits(text, [edit]).removeprefix(_BOM))
    return edit if isinstance(after, ast.Module) and same_tree(after, tree) else None


def _place(lines: Sequence[str], body: list[ast.stmt], new: Import, use: Position) -> tuple[int, Position, str]:
    """Where ``new`` goes: its index in ``body``, its position, and the text to insert.

    Next to imports of the same package; else into the first block of imports, standard library first; else behind
    the docstring and ``__future__``; else before the first statement. Nothing is sorted.
    """
    statement = ast.unparse(new)
    first = 0
    if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        first = 1
    while first < len(body) and _package(body[first]) == "__future__":
        first += 1
    package = _package(new)
    last = None
    for index, one in enumerate(body):
        if _package(one) == package and one.lineno <= use.line:
            if _in_order(new) < _in_order(one):
                if last is None:
                    return _before(lines, body, index, statement + "\n")
                break
            last = index
    if last is not None:
        return _behind(lines, body, last, "\n" + statement)
    block = first
    while block < len(body) and _package(body[block]):
        block += 1
    is_standard = package in sys.stdlib_module_names
    kin = [index for index in range(first, block) if (_package(body[index]) in sys.stdlib_module_names) == is_standard]
    if kin:
        return _behind(lines, body, kin[-1], "\n" + statement)
    if first < block and is_standard:
        return _before(lines, body, first, statement + "\n\n")
    if block:
        return _behind(lines, body, block - 1, "\n\n" + statement)
    return _before(lines, body, 0, statement + "\n\n")


def _in_order(statement: ast.stmt) -> tuple[bool, str]:
    """What imports of one package are sorted by: ``import`` comes before ``from``."""
    return isinstance(statement, ast.ImportFrom), ast.unparse(statement)


def _package(statement: ast.stmt) -> str:
    """The top-level package that an import imports from; "" for other statements, "." for relative imports."""
    if isinstance(statement, ast.Import):
        return statement.names[0].name.partition(".")[0]
    if isinstance(statement, ast.ImportFrom):
        return "." if statement.level else (statement.module or "").partition(".")[0]
    return ""


def _behind(lines: Sequence[str], body: list[ast.stmt], index: int, new_text: str) -> tuple[int, Position, str]:
    """Behind the line on which ``body[index]`` ends. The line end is not touched: it may be that of a notebook cell."""
    line = _last_line(body[index])
    while index + 1 < len(body) and _first_line(body[index + 1]) <= line:
        index += 1
        line = _last_line(body[index])
    return index + 1, Position(line, len(without_line_end(lines[line]))), new_text


def _before(lines: Sequence[str], body: list[ast.stmt], index: int, new_text: str) -> tuple[int, Position, str]:
    """Before ``body[index]`` and the comment right above it, but below the comments that head the file."""
    while index and _last_line(body[index - 1]) >= _first_line(body[index]):
        index -= 1
    line = above = _first_line(body[index])
    while above and lines[above - 1].lstrip("\ufeff \t\f").startswith("#"):
        above -= 1
    line = above or line
    return index, Position(line, 1 if line == 0 and lines[0].startswith(_BOM) else 0), new_text


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)]) - 1


def _last_line(statement: ast.stmt) -> int:
    return (statement.end_lineno or statement.lineno) - 1
