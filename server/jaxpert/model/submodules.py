"""``jax.ad_checkpoint``, which ``import jax`` does not import: does anything else in the program?

A submodule becomes an attribute of its package when anybody imports it. So that it is missing is certain only when
every module that the file imports is known not to do that.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.values import Symbol
from jaxpert.records import dataclass
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import Block, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

SUBMODULE = "ad_checkpoint"
PATH = f"jax.{SUBMODULE}"

# Measured with JAX 0.4.30 and 0.12.0.1, Flax 0.12.8, Haiku 0.0.17, Equinox 0.13.8 and Optax 0.2.8.
_DO_NOT_IMPORT_IT = frozenset({"flax", "haiku", "equinox", "optax", "numpy", "scipy", "absl", "ml_dtypes", "jaxtyping"})
_UNRELATED = frozenset({"jaxlib", "matplotlib", "pandas", "tqdm", "yaml", "pytest", "PIL", "requests"})
_MOST_MODULES = 40
_IMPORTING = frozenset({"import_module", "__import__"})


@dataclass(frozen=True, slots=True, eq=False)
class SubmoduleUse:
    """``jax.ad_checkpoint`` in an expression, with the attribute of it that is asked for, if any."""

    node: ast.Attribute
    member: ast.Attribute | None
    site: Site


def unimported_uses(model: FileModel) -> list[SubmoduleUse]:
    """Every use of the submodule through ``jax`` that nothing has imported."""
    if not model.source.contains(f".{SUBMODULE}") or model.source.contains_any((f'"{SUBMODULE}"', f"'{SUBMODULE}'")):
        return []
    uses = [use for tree in model.trees for use in model.tree_fact(tree, SUBMODULE, lambda t: list(_uses(model, t)))]
    return [] if not uses or _may_be_imported(model, set()) else uses


def _uses(model: FileModel, tree: TreeIndex) -> Iterator[SubmoduleUse]:
    if f".{SUBMODULE}" not in tree.mentions():
        return
    members: dict[ast.expr, ast.Attribute] = {}
    for node, _, scope, block in compounds(tree, ast.Attribute):  # from the outside in
        if isinstance(node, ast.Attribute):
            members[node.value] = node
            if node.attr == SUBMODULE and isinstance(node.value, ast.Name):
                options = model.evaluate(node.value, scope, block).options()
                if any(isinstance(option, Symbol) and option.path == "jax" for option in options):
                    yield SubmoduleUse(node, members.get(node), Site(node, scope, block))


def _may_be_imported(model: FileModel, seen: set[str]) -> bool:
    """Whether the submodule is imported by this file, by a module that it imports, or by one that is not known."""
    parts = model.module.split(".") if model.module else []
    packages = [".".join(parts[:end]) for end in range(1, len(parts))]
    if any(_brings_it(model, package, seen) for package in packages):
        return True
    for tree in model.source.trees():
        if _imports_by_call(model, tree, seen):
            return True
        for statement, block in tree.block_of.items():
            if isinstance(statement, ast.Import):
                wanted = [alias.name for alias in statement.names]
            elif isinstance(statement, ast.ImportFrom):
                base = model.absolute(statement.module or "", statement.level)
                if base is None:
                    return True
                wanted = [base, *(f"{base}.{alias.name}" for alias in statement.names if alias.name != "*")]
            else:
                continue
            if _is_never_entered(model, block):
                continue
            if any(_brings_it(model, name, seen, index > 0) for index, name in enumerate(wanted)):
                return True
    return False


def _is_never_entered(model: FileModel, block: Block) -> bool:
    """Whether a test that is certain keeps ``block`` from running: ``if TYPE_CHECKING``, say."""
    for inner in block.enclosing():
        if isinstance(inner.owner, ast.If) and inner.parent is not None:
            known = model.version_condition(inner.owner.test, model.scope_of(inner.parent), inner.parent)
            if known is not None and known is (inner.part == "orelse"):
                return True
    return False


def _imports_by_call(model: FileModel, tree: TreeIndex, seen: set[str]) -> bool:
    """Whether ``importlib.import_module(…)`` or ``__import__(…)`` may bring it."""
    if tree.mentions().isdisjoint((*_IMPORTING, ".import_module")):
        return False
    for site in tree.calls:
        func, arguments = site.node.func, site.node.args
        name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
        if name in _IMPORTING and arguments:
            first = arguments[0]
            if not isinstance(first, ast.Constant) or not isinstance(first.value, str) or len(arguments) > 1:
                return True
            if _brings_it(model, first.value, seen):
                return True
    return False


def _brings_it(model: FileModel, name: str, seen: set[str], may_be_no_module: bool = False) -> bool:
    first = name.partition(".")[0]
    if first == "jax":
        return name == PATH or name.startswith(f"{PATH}.")
    if first in _DO_NOT_IMPORT_IT or first in _UNRELATED or first in sys.stdlib_module_names or name in seen:
        return False
    seen.add(name)
    if len(seen) > _MOST_MODULES:
        return True
    other = model.lookup(name)
    if other is None:
        return not may_be_no_module
    return (other is not model and other.source.contains(SUBMODULE)) or _may_be_imported(other, seen)
