"""A treedef is asked for something that it does not have.

## What it finds

Methods that `PyTreeDef` does not have: `leaves()`, `flatten()`, `keys()`, which belong to trees; `registry()`,
`Compose`, `BuildPyTreeDef` and the other names of its C++ class,
the two constructors by version, and `num_leaves()` called, which is a number. Also the module `jax.extend.tree_util`,
which does not exist.

## Why it matters

    AttributeError: 'PyTreeDef' object has no attribute 'registry'

Some releases of jaxlib call the class by its full name there, `jaxlib._jax.pytree.PyTreeDef`.

## In which versions

`registry`, `Compose`, `BuildPyTreeDef` and `jax.extend.tree_util` in none. `PyTreeDef.make_from_node_data_and_children`
until 0.6.1, `PyTreeDef.from_node_data_and_children` since 0.8.0, neither in between.

## What to write instead

`compose` for `Compose`, `num_leaves` without parentheses, `jax.tree.structure` to build a treedef. Whether two
treedefs go together cannot be asked; see *treedef-registry*.

## Known limits

Only the names above are looked for, on what is known to be a treedef.

## Source

`jaxlib/pytree.cc`; members listed on every release from 0.4.30 to 0.12.0.1. A public page recommends `registry()`,
`Compose` and `BuildPyTreeDef`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.aliases import mentioned
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.treedefs import treedef_at
from jaxpert.model.values import Symbol
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.syntax.children import walk
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import Block, Scope, Site
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range

NAME = "treedef-attribute"

_OLD, _NEW = "make_from_node_data_and_children", "from_node_data_and_children"
_OLD_GONE, _NEW_THERE = Version("0.6.2"), Version("0.8.0")
_CURES = {
    "registry": "treedefs do not tell their registry",
    "Compose": "write `compose`",
    "BuildPyTreeDef": "build a treedef with `jax.tree.structure`",
    "Unflatten": "write `unflatten`",
    "FlattenUpTo": "write `flatten_up_to`",
    "Children": "write `children`",
    "NumLeaves": "write `num_leaves`, without parentheses",
    "is_leaf": "use `jax.tree_util.treedef_is_leaf`",
    "leaves": "it knows the structure only; the leaves are what `jax.tree.leaves` gives",
    "flatten": "use `jax.tree.flatten`, or `flatten_up_to` for a tree that goes on below",
    "keys": "use `jax.tree_util.tree_flatten_with_path`, or `node_data`",
    "num_children": "write `len(treedef.children())`",
    _OLD: "it was removed in 0.6.2",
    _NEW: "it came in 0.8.0",
}
_RENAMED = {"Compose": "compose", "Unflatten": "unflatten", "FlattenUpTo": "flatten_up_to", "Children": "children"}
_ORDINARY = {"leaves", "flatten", "keys"}
"""Names that much else has."""

_MAKERS = ("tree.structure", "tree_structure", "tree.flatten", "tree_flatten")
_NUMBERS = {"num_leaves", "num_nodes"}
_MODULE = "jax.extend.tree_util"


@dataclass(frozen=True, slots=True)
class _Case:
    node: ast.AST
    where: Range
    name: str
    called: bool = False


def check(model: FileModel) -> Iterator[Finding]:
    """What treedefs do not have."""
    for case in _cases(model):
        if case.name == _MODULE:
            yield Finding(
                NAME, case.where, f"there is no `{_MODULE}`: use `jax.tree_util`", Severity.ERROR,
                raises(model, "where this is imported", "ModuleNotFoundError", f"No module named '{_MODULE}'"),
                exceptions=("ModuleNotFoundError", "ImportError"),
            )  # fmt: skip
        elif case.called:
            yield Finding(
                NAME, case.where, f"`{case.name}` of a treedef is a number, not a method: write it without parentheses",
                Severity.ERROR, raises(model, "at this call", "TypeError", "'int' object is not callable"),
                exceptions=("TypeError",),
            )  # fmt: skip
        else:
            of = "type object 'PyTreeDef'" if case.name in (_OLD, _NEW) else "'PyTreeDef' object"
            yield Finding(
                NAME, case.where, f"a treedef has no `{case.name}` in this JAX: {_CURES[case.name]}", Severity.ERROR,
                raises(model, "where this stands", "AttributeError", f"{of} has no attribute '{case.name}'"),
                exceptions=("AttributeError",),
            )  # fmt: skip


def _is_missing(model: FileModel, name: str) -> bool:
    """Whether the name is one that the target version lacks."""
    if name == _OLD:
        return model.target.version >= _OLD_GONE
    return model.target.version < _NEW_THERE if name == _NEW else name in _CURES


def _cases(model: FileModel) -> Iterator[_Case]:
    contains = model.source.contains
    if contains("jax.extend") and contains("tree_util"):
        yield from _imports(model)
    wanted = {name for name in (*_CURES, *_NUMBERS) if contains(f".{name}")}
    if not any(map(contains, _MAKERS)):
        wanted -= _ORDINARY
    if not wanted:
        return
    for tree in model.trees:
        if not mentioned(tree, wanted):
            continue
        for node, parent, scope, block in compounds(tree, ast.Attribute):
            if not isinstance(node, ast.Attribute) or node.attr not in wanted or not isinstance(node.ctx, ast.Load):
                continue
            if node.attr in _ORDINARY and isinstance(node.value, ast.Attribute):
                continue  # `jax.tree.leaves`
            called = isinstance(parent, ast.Call) and parent.func is node
            missing = called if node.attr in _NUMBERS else _is_missing(model, node.attr)
            where = model.range_of(node)
            if not missing or where is None or model.is_dead(block) or _asks_first(block, node.attr):
                continue
            if _is_treedef(model, node, scope, block):
                yield _Case(node, where, node.attr, called and node.attr in _NUMBERS)


def _asks_first(block: Block, name: str) -> bool:
    """Whether a condition around asks whether the name is there."""
    tests = (around.owner.test for around in block.enclosing() if isinstance(around.owner, ast.If))
    return any(isinstance(node, ast.Constant) and node.value == name for test in tests for node in walk(test))


def _is_treedef(model: FileModel, node: ast.Attribute, scope: Scope, block: Block) -> bool:
    if node.attr in (_OLD, _NEW):
        value = model.evaluate(node.value, scope, block)
        return isinstance(value, Symbol) and value.path in ("jax.tree_util.PyTreeDef", "jax._src.tree_util.PyTreeDef")
    return treedef_at(model, Site(node.value, scope, block)) is not None


def _imports(model: FileModel) -> Iterator[_Case]:
    for tree in model.trees:
        for statement, block in tree.block_of.items():
            if not isinstance(statement, (ast.Import, ast.ImportFrom)) or model.is_dead(block):
                continue
            module = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
            for alias in statement.names:
                path = module + alias.name
                where = model.range_of(alias)
                if (path == _MODULE or module == f"{_MODULE}.") and where is not None:
                    yield _Case(alias, where, _MODULE)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the name that there is."""
    for case in model.every(_cases):
        if case.where != finding.range:
            continue
        if case.called:
            call = next((node for node in _calls(model) if node.func is case.node), None)
            area = model.range_of(call) if call is not None else None
            edits = verbs.uncall(model.source.lines, area) if area is not None else None
            return Fix(f"Write `{case.name}` without parentheses", Safety.SAFE, edits) if edits else None
        new = _RENAMED.get(case.name, "")
        if case.name == _OLD and model.target.version >= _NEW_THERE:
            new = _NEW
        if case.name == _NEW and model.target.version < _OLD_GONE:
            new = _OLD
        if not new or not isinstance(case.node, ast.Attribute):
            return None
        end = case.where.end
        start_of_name = Position(end.line, end.column - len(case.name))
        return Fix(f"Write `{new}`", Safety.SAFE, (Edit(Range(start_of_name, end), new),))
    return None


def _calls(model: FileModel) -> Iterator[ast.Call]:
    return (site.node for tree in model.trees for site in tree.calls)


_BAD = """\
import jax

STAGE = "call"
outer = jax.tree.structure((1, 2))
outer.Compose(jax.tree.structure([0]))
"""

_NUMBER = """\
import jax

STAGE = "call"
treedef = jax.tree.structure([0])
count = treedef.num_leaves()
"""

_MADE = """\
import jax

STAGE = "call"
make = jax.tree_util.PyTreeDef.make_from_node_data_and_children
"""

_PUBLIC = """\
import jax

STAGE = "call"
make = jax.tree.structure
"""

RULE = Rule(
    code="JXP509",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.structure", "jax.tree.flatten"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("Compose", "compose"),
            proof=Raises("AttributeError", "PyTreeDef' object has no attribute 'Compose'"),
        ),
        Example(
            bad=_NUMBER,
            good=_NUMBER.replace("()", ""),
            proof=Raises("TypeError", "'int' object is not callable"),
        ),
        Example(
            bad=_MADE,
            good=_PUBLIC,
            proof=Raises("AttributeError", "has no attribute 'make_from_node_data_and_children'", since="0.6.2"),
        ),
    ),
    error_texts=(
        "AttributeError: 'PyTreeDef' object has no attribute 'registry'",
        "AttributeError: 'jaxlib._jax.pytree.PyTreeDef' object has no attribute 'registry'",
        "ModuleNotFoundError: No module named 'jax.extend.tree_util'",
    ),
    check=check,
    fix=fix,
)
