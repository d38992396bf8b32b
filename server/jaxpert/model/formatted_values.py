"""Values that are written into a text in a way that only Python numbers know: ``f"{loss:.3f}"``, ``"%d" % step``."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from string import Formatter

_PERCENT = re.compile(r"%(?P<key>\(\w*\))?[-+ #0]*(?P<width>\*|\d+)?(?:\.(?P<digits>\*|\d+))?[hlL]?(?P<kind>[a-zA-Z%])")
_FLOATS, _INTEGERS = "eEfFgG", "diouxX"


def formatted_values(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """The values that ``node`` itself formats so, each with what Python asks of it: "format", "float" or "int"."""
    if isinstance(node, ast.FormattedValue):
        if node.format_spec is not None and node.conversion == -1 and _says_anything(node.format_spec):
            yield node.value, "format"
    elif isinstance(node, ast.BinOp):
        left = node.left
        if isinstance(node.op, ast.Mod) and isinstance(left, ast.Constant) and isinstance(left.value, str):
            yield from _percent(left.value, node.right)
    elif isinstance(node, ast.Call):
        yield from _called(node)


def _says_anything(spec: ast.expr) -> bool:
    parts = spec.values if isinstance(spec, ast.JoinedStr) else []
    return any(isinstance(part, ast.Constant) and part.value for part in parts)


def _percent(text: str, given: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """What ``text % given`` turns into numbers; nothing where a key or a ``*`` leaves open which is which."""
    found = [match for match in _PERCENT.finditer(text) if match["kind"] != "%"]
    values = given.elts if isinstance(given, ast.Tuple) else [given]
    if len(found) != len(values) or any(isinstance(value, ast.Starred) for value in values):
        return
    if any(match["key"] or "*" in (match["width"], match["digits"]) for match in found):
        return
    for match, value in zip(found, values):
        if match["kind"] in _FLOATS:
            yield value, "float"
        elif match["kind"] in _INTEGERS:
            yield value, "int"


def _called(node: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    func = node.func
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return
    if isinstance(func, ast.Name) and func.id == "format" and len(node.args) == 2:
        spec = node.args[1]
        if isinstance(spec, ast.Constant) and isinstance(spec.value, str) and spec.value:
            yield node.args[0], "format"
    elif isinstance(func, ast.Attribute) and func.attr == "format" and isinstance(func.value, ast.Constant):
        if isinstance(func.value.value, str):
            yield from _fields(func.value.value, node)


def _fields(text: str, node: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    next_one = 0
    try:
        parsed = list(Formatter().parse(text))
    except ValueError:
        return
    for _, name, spec, conversion in parsed:
        if name is None:
            continue
        index, next_one = (next_one, next_one + 1) if not name else (int(name) if name.isdigit() else -1, next_one)
        value = node.args[index] if 0 <= index < len(node.args) else named.get(name)
        if value is not None and spec and "{" not in spec and not conversion:
            yield value, "format"
