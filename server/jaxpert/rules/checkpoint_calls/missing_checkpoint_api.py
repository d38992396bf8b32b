"""A name around checkpointing is not where it is looked for, in the JAX at hand.

## What it finds

Imports that have never worked (`from jax.checkpoint_policies import …`, `from jax import checkpoint_name`,
`from jax._src.ad_checkpoint import Offloadable`), names that `jax.ad_checkpoint` has lost (`checkpoint`, `remat`) or
never had (`saved_residuals`, slips of the pen), and options of `jax.config` that do not exist (`jax_new_checkpoint`,
`jax_remat_opt_barrier`).

## Why it matters

    ModuleNotFoundError: No module named 'jax.checkpoint_policies'
    ImportError: cannot import name 'remat' from 'jax.ad_checkpoint'
    AttributeError: Unrecognized config option: jax_new_checkpoint

`jax.checkpoint_policies` looks like a module and is a namespace object, so only `from jax import checkpoint_policies`
works.

## In which versions

`jax.ad_checkpoint.checkpoint` and `jax.ad_checkpoint.remat` warn from 0.8.2 on and are gone in 0.10.0.
`jax_remat_opt_barrier` is gone in 0.6.0, `jax_remat3` is new in 0.10.2. All else: in all.

## What to write instead

`jax.checkpoint` and `jax.checkpoint_policies` come with `import jax`; `checkpoint_name`, `Offloadable`, `Saveable`,
`Recompute` and `print_saved_residuals` are imported from `jax.ad_checkpoint`.

## Known limits

Members of `jax.checkpoint_policies` have a rule of their own. Imports in a `try` that catches the failure are left
alone.

## Source

`jax/ad_checkpoint.py` and `jax/__init__.py`, read in 34 releases from 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ImportedName, ensure_import
from jaxpert.model.file_model import FileModel
from jaxpert.model.missing_names import MissingName, home_of, missing_names
from jaxpert.model.speech import raises
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity, Tag
from jaxpert.syntax.scopes import BindingKind
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range
from jaxpert.text.near_misses import nearest

NAME = "missing-checkpoint-api"

_GONE = {"checkpoint": Version("0.10.0"), "remat": Version("0.10.0")}
_SUBMODULE = "jax.ad_checkpoint"
_MEMBERS = ("Offloadable", "Recompute", "Saveable", "checkpoint_name", "checkpoint_policies", "print_saved_residuals")


def check(model: FileModel) -> Iterator[Finding]:
    """Names that are missing where they are asked for."""
    for missing in missing_names(model):
        where = model.range_of(missing.node)
        if where is None or model.is_dead(missing.site.block):
            continue
        exception, text = _text(missing)
        removed = missing.owner == _SUBMODULE and missing.name in _GONE
        yield Finding(
            NAME,
            where,
            f"{_fact(missing)}: it raises {exception}; {_advice(missing)}",
            Severity.ERROR,
            raises(model, "where this stands", exception, text),
            exceptions=(exception, "ImportError", "AttributeError"),
            tags=(Tag.DEPRECATED,) if removed else (),
        )


def _fact(missing: MissingName) -> str:
    if not missing.owner:
        return f"`jax.config` has no option `{missing.name}` in this version"
    if missing.is_module:
        return f"`{missing.owner}` is an object and no module"
    since = f" since JAX {_GONE[missing.name]}" if missing.owner == _SUBMODULE and missing.name in _GONE else ""
    return f"`{missing.owner}` has no `{missing.name}`{since}"


def _text(missing: MissingName) -> tuple[str, str]:
    """What is raised."""
    if not missing.owner:
        return "AttributeError", f"Unrecognized config option: {missing.name}"
    if missing.is_module:
        return "ModuleNotFoundError", f"No module named '{missing.owner}'"
    if isinstance(missing.node, ast.alias):
        return "ImportError", f"cannot import name '{missing.name}' from '{missing.owner}'"
    return "AttributeError", f"module '{missing.owner}' has no attribute '{missing.name}'"


def _advice(missing: MissingName) -> str:
    if not missing.owner:
        return "take the line out"
    if missing.is_module:
        owner, _, name = missing.owner.rpartition(".")
        if name == "checkpoint_policies":
            return "write `from jax import checkpoint_policies`"
        if missing.home:
            return f"write `from {missing.home} import {missing.name}`"
        return f"write `from {owner} import {name}`"
    if missing.home == "jax":
        return f"write `jax.{missing.name}`"
    if missing.home == "jax.checkpoint_policies":
        return f"write `jax.checkpoint_policies.{missing.name}`"
    if missing.home:
        return f"write `from {missing.home} import {missing.name}`"
    if missing.name == "saved_residuals":
        return "`print_saved_residuals` is what it has"
    near = _slip(missing)
    return f"did you mean `{near}`?" if near else f"it has {', '.join(f'`{name}`' for name in _MEMBERS)}"


def _slip(missing: MissingName) -> str | None:
    is_known = missing.owner != _SUBMODULE or missing.name == "saved_residuals"
    return None if is_known else nearest(missing.name, _MEMBERS)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Ask where the name is."""
    missing = next((one for one in missing_names(model) if model.range_of(one.node) == finding.range), None)
    if missing is None or not missing.owner:
        return None
    if isinstance(missing.node, ast.alias):
        return _other_import(model, missing)
    return _other_attribute(model, missing, finding.range)


def _other_attribute(model: FileModel, missing: MissingName, where: Range) -> Fix | None:
    lines, near = model.source.lines, _slip(missing)
    assert isinstance(missing.node, ast.Attribute)
    if missing.home in ("jax", "jax.checkpoint_policies"):
        imported = _jax(model, missing.node.value, where)
        if imported is None:
            return None
        path = f"{missing.home}.{missing.name}".replace("jax", imported.name, 1)
        edits = verbs.replace_expression(lines, where, path)
        return Fix(f"Write `{path}`", Safety.SAFE, (*imported.edits, *edits)) if edits else None
    if missing.home:
        statement = f"from {missing.home} import {missing.name}"
        imported = ensure_import(lines, statement, where.start, model.source)
        if imported is None:
            return None
        edits = verbs.replace_expression(lines, where, imported.name)
        return Fix(f"Write `{statement}`", Safety.SAFE, (*imported.edits, *edits)) if edits else None
    if near is None:
        return None
    edits = verbs.replace_expression(lines, where, f"{model.text_of(missing.node.value)}.{near}")
    return Fix(f"Write `{near}`", Safety.SAFE, edits) if edits else None


def _jax(model: FileModel, base: ast.expr, where: Range) -> ImportedName | None:
    """How to write ``jax`` here: as it is written already, or after importing it."""
    if isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):  # jax.ad_checkpoint
        return ImportedName(base.value.id, ())
    bindings = model.source.module.bindings.get("jax", [])
    if bindings and all(one.kind is BindingKind.IMPORT and one.detail[0] == "jax" for one in bindings):
        return ImportedName("jax", ())
    return ensure_import(model.source.lines, "import jax", where.start, model.source)


def _other_import(model: FileModel, missing: MissingName) -> Fix | None:
    """Import from where the name is; only for an import on one line of its own."""
    statement = missing.site.node
    where = model.range_of(statement)
    if where is None or where.start.line != where.end.line:
        return None
    line = model.source.lines[where.start.line]
    indent = line[: where.start.column]
    if indent.strip() or line[where.end.column :].split("#")[0].strip():
        return None
    written = _statements(missing, statement)
    if written is None:
        return None
    end = line[len(line.rstrip("\r\n")) :] or "\n"
    new = f"{end}{indent}".join(written)
    return Fix(f"Write `{written[0]}`", Safety.SAFE, (Edit(where, new),))


def _statements(missing: MissingName, statement: ast.AST) -> list[str] | None:
    if isinstance(statement, ast.Import):
        if len(statement.names) != 1:
            return None
        alias = statement.names[0]
        owner, _, name = missing.owner.rpartition(".")
        return [f"from jax import {_renamed(name, alias)}"] if alias.asname else [f"import {owner.partition('.')[0]}"]
    assert isinstance(statement, ast.ImportFrom)
    if missing.is_module:
        return _from_no_module(missing, statement)
    others = [alias for alias in statement.names if alias is not missing.node]
    home, name = missing.home, missing.name
    if not home:
        near = _slip(missing)
        if near is None:
            return None
        home, name = missing.owner, f"{near} as {missing.name}" if near else ""
    assert isinstance(missing.node, ast.alias)
    kept = [f"from {missing.owner} import {', '.join(map(ast.unparse, others))}"] if others else []
    if home == "jax.checkpoint_policies":
        own = missing.node.asname or name
        return [*kept, "from jax import checkpoint_policies", f"{own} = checkpoint_policies.{name}"]
    suffix = f" as {missing.node.asname}" if missing.node.asname else ""
    return [*kept, f"from {home} import {name.partition(' ')[0] + suffix if suffix else name}"]


def _from_no_module(missing: MissingName, statement: ast.ImportFrom) -> list[str] | None:
    if not missing.owner.endswith("checkpoint_policies"):
        homes = {home_of(alias.name) for alias in statement.names}
        if len(homes) != 1 or "" in homes:
            return None
        return [f"from {homes.pop()} import {', '.join(map(ast.unparse, statement.names))}"]
    if any(home_of(alias.name) != "jax.checkpoint_policies" for alias in statement.names):
        return None
    made = [f"{alias.asname or alias.name} = checkpoint_policies.{alias.name}" for alias in statement.names]
    return ["from jax import checkpoint_policies", *made]


def _renamed(name: str, alias: ast.alias) -> str:
    return name if alias.asname in (None, name) else f"{name} as {alias.asname}"


_BAD = """\
import jax
import jax.numpy as jnp

STAGE = "decorate"
from jax.checkpoint_policies import dots_saveable

loss = jax.checkpoint(lambda x: jnp.sum(jnp.sin(x)), policy=dots_saveable)
STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
"""
_REMOVED = """\
import jax.numpy as jnp

STAGE = "decorate"
from jax.ad_checkpoint import remat

y = remat(jnp.sin)(jnp.ones(3))
"""
_MISPLACED = """\
STAGE = "decorate"
from jax._src.ad_checkpoint import Offloadable
"""

RULE = Rule(
    code="JXP112",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "checkpoint",
        "jax.ad_checkpoint",
        "jax.checkpoint_policies",
        "jax.experimental.mutable_array",
        "jax.new_ref",
    ),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace(
                "from jax.checkpoint_policies import dots_saveable",
                "dots_saveable = jax.checkpoint_policies.dots_saveable",
            ),
            proof=Raises("ModuleNotFoundError", "No module named 'jax.checkpoint_policies'", "decorate"),
        ),
        Example(
            bad=_REMOVED,
            good=_REMOVED.replace("jax.ad_checkpoint import", "jax import"),
            proof=Raises("ImportError", "cannot import name 'remat'", "decorate", since="0.10.0"),
        ),
        Example(
            bad=_MISPLACED,
            good=_MISPLACED.replace("jax._src.", "jax."),
            proof=Raises("ImportError", "cannot import name 'Offloadable'", "decorate"),
        ),
    ),
    check=check,
    fix=fix,
)
