"""A tree function is not where it is looked for, in the JAX at hand.

## What it finds

`jax.tree_map`, `jax.tree_leaves` and the other tree functions that were members of `jax` itself; `tree_multimap`;
`jax.tree.tree_map`, `jax.tree_util.map` and other names that the two modules do not have, or do not have yet. As
attributes and in imports.

## Why it matters

    AttributeError: module 'jax' has no attribute 'tree_map'
    ImportError: cannot import name 'tree_multimap' from 'jax.tree_util'

From 0.6.0 until 0.8.3 the text for those removed from `jax` is `jax.tree_map was removed in JAX v0.6.0: use
jax.tree.map (jax v0.4.25 or newer) or jax.tree_util.tree_map (any JAX version).`

## In which versions

`jax.tree_map`, `tree_leaves`, `tree_flatten`, `tree_unflatten`, `tree_structure`, `tree_transpose` and
`treedef_is_leaf` are gone in 0.6.0, `jax.tree_util.build_tree` in 0.7.0. `tree_multimap` was gone before 0.4.30.
`jax.tree.map_with_path`, `flatten_with_path` and `leaves_with_path` came with 0.4.38, `jax.tree.broadcast` with 0.6.2.

## What to write instead

`jax.tree.map`, `jax.tree.leaves`, …; in code for older versions `jax.tree_util.tree_map`, which all have.

## Known limits

A module that puts the old names back into `jax` is only seen when it does so in the same file. Code that asks first,
with `hasattr`, `try` or by version, is left alone.

## Source

`jax/__init__.py`, `jax/tree.py` and `jax/tree_util.py`, read in 34 releases from 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.file_model import FileModel
from jaxpert.model.missing_names import MissingName
from jaxpert.model.speech import raises
from jaxpert.model.tree_names import GONE, missing_tree_names
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Tag
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "missing-tree-function"

_EXPLAINED_UNTIL = Version("0.9.0")
_ADVICE = {
    "build_tree": "write `jax.tree.unflatten`, which takes the leaves in one list",
    "register_keypaths": "use `jax.tree_util.register_pytree_with_keys`",
    "AttributeKeyPathEntry": "use `jax.tree_util.GetAttrKey`",
    "GetitemKeyPathEntry": "use `jax.tree_util.DictKey` or `jax.tree_util.SequenceKey`",
}


def check(model: FileModel) -> Iterator[Finding]:
    """Tree functions that are missing where they are asked for."""
    for missing in missing_tree_names(model):
        where = model.range_of(missing.node)
        if where is None:
            continue
        path = f"{missing.owner}.{missing.name}"
        gone = GONE.get(path)
        exception, text = _text(model, missing)
        since = f" since JAX {gone}" if gone is not None else "" if missing.owner == "jax" else " in this JAX"
        yield Finding(
            NAME,
            where,
            f"`{missing.owner}` has no `{missing.name}`{since}: it raises {exception}; {_advice(missing)}",
            Severity.ERROR,
            raises(model, "where this stands", exception, text),
            exceptions=(exception, "ImportError", "AttributeError"),
            tags=(Tag.DEPRECATED,) if gone is not None else (),
        )


def _text(model: FileModel, missing: MissingName) -> tuple[str, str]:
    """What is raised."""
    path = f"{missing.owner}.{missing.name}"
    if isinstance(missing.node, ast.alias):
        return "ImportError", f"cannot import name '{missing.name}' from '{missing.owner}'"
    if path in GONE and missing.owner == "jax" and model.target.version < _EXPLAINED_UNTIL:
        return "AttributeError", f"{path} was removed in JAX v{GONE[path]}: use …"
    return "AttributeError", f"module '{missing.owner}' has no attribute '{missing.name}'"


def _advice(missing: MissingName) -> str:
    if not missing.home:
        return _ADVICE.get(missing.name, "look into `jax.tree` for what there is")
    if isinstance(missing.node, ast.alias):
        return f"write `{_import(missing)}`"
    return f"write `{missing.home}`"


def _import(missing: MissingName) -> str:
    """The import that gives the function under the name that the file uses."""
    assert isinstance(missing.node, ast.alias)
    owner, _, name = missing.home.rpartition(".")
    own = missing.node.asname or missing.name
    return f"from {owner} import {name}" + (f" as {own}" if own != name else "")


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Ask where the function is."""
    for missing in model.every(missing_tree_names):
        if model.range_of(missing.node) == finding.range and missing.home:
            if isinstance(missing.node, ast.alias):
                return _other_import(model, missing)
            if isinstance(missing.node, ast.Attribute):
                return _other_attribute(model, missing, missing.node, finding.range)
    return None


def _other_attribute(model: FileModel, missing: MissingName, node: ast.Attribute, where: Range) -> Fix | None:
    home, _, name = missing.home.rpartition(".")
    lines, base = model.source.lines, model.text_of(node.value)
    imports: tuple[Edit, ...] = ()
    if missing.owner == "jax":
        path = f"{base}{missing.home.removeprefix('jax')}"
    elif home == missing.owner:
        path = f"{base}.{name}"
    elif isinstance(node.value, ast.Attribute):
        path = f"{model.text_of(node.value.value)}{missing.home.removeprefix('jax')}"
    else:
        module = home.rpartition(".")[2]
        imported = ensure_import(lines, f"from jax import {module}", where.start, model.source)
        if imported is None:
            return None
        path, imports = f"{imported.name}.{name}", imported.edits
    edits = verbs.replace_expression(lines, where, path)
    return Fix(f"Write `{path}`", Safety.SAFE, (*imports, *edits)) if edits else None


def _other_import(model: FileModel, missing: MissingName) -> Fix | None:
    """Import from where the function is; only for an import that has its line to itself."""
    statement = missing.site.node
    where = model.range_of(statement)
    if not isinstance(statement, ast.ImportFrom) or where is None or where.start.line != where.end.line:
        return None
    line = model.source.lines[where.start.line]
    indent, rest = line[: where.start.column], line[where.end.column :]
    if indent.strip() or rest.split("#")[0].strip():
        return None
    new, others = _import(missing), [alias for alias in statement.names if alias is not missing.node]
    if others:
        end = line[len(line.rstrip("\r\n")) :] or "\n"
        new = f"from {missing.owner} import {', '.join(map(ast.unparse, others))}{end}{indent}{new}"
    return Fix(f"Write `{_import(missing)}`", Safety.SAFE, (Edit(where, new),))


_REMOVED = """\
import jax
import jax.numpy as jnp

params = {"w": jnp.ones(3), "b": jnp.zeros(3)}
STAGE = "call"
halved = jax.tree_map(lambda p: p / 2, params)
"""

_IMPORTED = """\
import jax.numpy as jnp

STAGE = "decorate"
from jax.tree_util import tree_multimap

sums = tree_multimap(jnp.add, [1.0], [2.0])
"""

_MISPLACED = """\
import jax

STAGE = "call"
leaves = jax.tree.tree_leaves({"w": 1.0})
"""

RULE = Rule(
    code="JXP516",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.map", "jax.tree.leaves", "jax.tree.flatten", "jax.tree.unflatten", "jax.tree.structure"),
    examples=(
        Example(
            bad=_REMOVED,
            good=_REMOVED.replace("tree_map", "tree.map"),
            proof=Raises("AttributeError", "jax", "call", since="0.6.0"),
        ),
        Example(
            bad=_IMPORTED,
            good=_IMPORTED.replace("import tree_multimap", "import tree_map as tree_multimap"),
            proof=Raises("ImportError", "cannot import name 'tree_multimap' from 'jax.tree_util'", "decorate"),
        ),
        Example(
            bad=_MISPLACED,
            good=_MISPLACED.replace("tree.tree_leaves", "tree.leaves"),
            proof=Raises("AttributeError", "module 'jax.tree' has no attribute 'tree_leaves'", "call"),
        ),
    ),
    check=check,
    fix=fix,
    error_texts=(
        "AttributeError: jax.tree_… was removed in JAX v0.6.0: use jax.tree.…",
        "AttributeError: module 'jax' has no attribute 'tree_…'",
        "ImportError: cannot import name 'tree_…' from 'jax'",
    ),
)
