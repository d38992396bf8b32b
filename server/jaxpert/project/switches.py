"""Where code itself turns on ``jax_remat3`` or ``jax_enable_x64``, two switches that change what our rules say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jaxpert.syntax.parse import SyntaxProblem, parse
from jaxpert.syntax.units import SourceFile

MARKERS = ("remat3", "enable_x64", "REMAT3", "ENABLE_X64")
"""A text with none of these sets neither switch."""

# Mentions are many, settings few: this comes before any parsing.
_SETTING = re.compile(
    r"""update\s*\(\s*["']jax_(?:remat3|enable_x64)["'] | config\s*\.\s*jax_(?:remat3|enable_x64)\s*=
    | ["']JAX_(?:REMAT3|ENABLE_X64)["']\s*[],]""",
    re.VERBOSE,
)
_SWITCHES = {"jax_remat3": "remat3", "jax_enable_x64": "x64"}
_TRUE, _FALSE = ("1", "true", "yes", "y", "t", "on"), ("0", "false", "no", "n", "f", "off")


class Switches(NamedTuple):
    """What code sets; None where it sets nothing."""

    remat3: bool | None = None
    x64: bool | None = None

    def over(self, others: Switches) -> Switches:
        """These, and ``others`` where these say nothing."""
        return Switches(*(own if own is not None else other for own, other in zip(self, others)))


def may_set(text: str) -> bool:
    """Whether ``text`` seems to set a switch, if only in a comment."""
    return any(marker in text for marker in MARKERS) and _SETTING.search(text) is not None


def switches_of_text(text: str) -> Switches:
    """What the program ``text`` sets: nothing when it does not parse."""
    if not may_set(text):
        return Switches()
    tree = parse(text)
    return Switches() if isinstance(tree, SyntaxProblem) else _switches(tree.body)


def switches_of_source(source: SourceFile) -> Switches:
    """What an open file sets, looking only at its units that mention a switch."""
    if not source.contains_any(MARKERS) or not may_set(source.text):
        return Switches()
    found: list[ast.stmt] = []
    for unit in source.units:
        if may_set("".join(source.lines[unit.first : unit.end])):
            found += [statement for tree in unit.trees for statement in tree.statements]
    return _switches(found)


def _switches(statements: Iterable[ast.stmt]) -> Switches:
    found: dict[str, bool | None] = {}
    for statement in _certain(statements):
        for name, value in _set_by(statement):
            found[name] = value if found.get(name, value) == value else None
    return Switches(found.get("remat3"), found.get("x64"))


def _certain(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that run if the program or one of its functions does: not those under a condition."""
    for statement in statements:
        if isinstance(statement, (ast.Expr, ast.Assign)):
            yield statement
        elif isinstance(statement, ast.If):
            if _is_main_guard(statement.test):
                yield from _certain(statement.body)
        elif not isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            yield from _certain(getattr(statement, "body", ()))


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _set_by(statement: ast.stmt) -> Iterator[tuple[str, bool]]:
    if isinstance(statement, ast.Expr) and isinstance(call := statement.value, ast.Call):
        # jax.config.update("jax_remat3", True), config.update(…), os.environ.setdefault("JAX_ENABLE_X64", "1")
        if isinstance(call.func, ast.Attribute) and len(call.args) == 2 and not call.keywords:
            owner, method = _last_name(call.func.value), call.func.attr
            if (owner, method) in (("config", "update"), ("environ", "setdefault")):
                yield from _pair(call.args[0], call.args[1], in_environment=owner == "environ")
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        # os.environ["JAX_ENABLE_X64"] = "1", jax.config.jax_enable_x64 = True
        if isinstance(target, ast.Subscript) and _last_name(target.value) == "environ":
            yield from _pair(target.slice, statement.value, in_environment=True)
        elif isinstance(target, ast.Attribute) and _last_name(target.value) == "config":
            yield from _pair(ast.Constant(target.attr), statement.value, in_environment=False)


def _pair(name: ast.expr, value: ast.expr, in_environment: bool) -> Iterator[tuple[str, bool]]:
    if not isinstance(name, ast.Constant) or not isinstance(value, ast.Constant) or not isinstance(name.value, str):
        return
    if in_environment:
        switch, word = _SWITCHES.get(name.value.lower()), str(value.value).lower()
        if switch and name.value.isupper() and word in (*_TRUE, *_FALSE):
            yield switch, word in _TRUE
    elif (switch := _SWITCHES.get(name.value)) and isinstance(value.value, (bool, int)):
        yield switch, bool(value.value)


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
