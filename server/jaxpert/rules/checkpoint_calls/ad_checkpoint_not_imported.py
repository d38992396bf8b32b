"""`jax.ad_checkpoint` is used after a bare `import jax`, which does not import it.

## What it finds

`jax.ad_checkpoint.checkpoint_name`, `jax.ad_checkpoint.checkpoint_policies` and the like in a file that imports only
`jax`, when nothing that it imports brings `jax.ad_checkpoint` either.

## Why it matters

`jax.ad_checkpoint` is a submodule of its own, which JAX does not import:

    AttributeError: module 'jax' has no attribute 'ad_checkpoint'

Where another module imported it first the code works by luck, until the order of the imports changes.

## In which versions

All.

## What to write instead

`from jax.ad_checkpoint import checkpoint_name`. Policies are at `jax.checkpoint_policies` and the wrapper at
`jax.checkpoint`, both without a further import.

## Known limits

Every module that the file imports must be known: the standard library, JAX, some libraries that were measured, and
modules of the workspace. In a module inside a package this is a warning, as the program that uses it may import more.

## Source

Measured on 0.4.30 to 0.12.0.1; Flax 0.12.8, Haiku 0.0.17 and Equinox 0.13.8 do not import it.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.submodules import PATH, SubmoduleUse, unimported_uses
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity

NAME = "ad-checkpoint-not-imported"

_AT_HOME_IN_JAX = ("checkpoint", "remat", "checkpoint_policies")


def check(model: FileModel) -> Iterator[Finding]:
    """Uses of the submodule that nothing has imported."""
    for use in _uses(model):
        where = model.range_of(use.node)
        if where is None:
            continue
        in_package = "." in model.module
        who = " unless another module has imported it before" if in_package else ""
        yield Finding(
            NAME,
            where,
            f"`import jax` does not import `{PATH}`: this raises AttributeError{who}; {_advice(use)}",
            Severity.WARNING if in_package else Severity.ERROR,
            raises(model, "where this stands", "AttributeError", "module 'jax' has no attribute 'ad_checkpoint'"),
            exceptions=("AttributeError",),
        )


def _uses(model: FileModel) -> Iterator[SubmoduleUse]:
    for use in unimported_uses(model):
        is_there = use.member is None or model.db.exists(f"{PATH}.{use.member.attr}") is not False
        if is_there and not model.is_dead(use.site.block):
            yield use


def _advice(use: SubmoduleUse) -> str:
    if use.member is None:
        return "write `from jax import ad_checkpoint`"
    name = use.member.attr
    return f"write `jax.{name}`" if name in _AT_HOME_IN_JAX else f"write `from jax.ad_checkpoint import {name}`"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Import what is used by its own name, or use it where ``import jax`` has it."""
    use = next((use for use in _uses(model) if model.range_of(use.node) == finding.range), None)
    where = model.range_of(use.member) if use is not None and use.member is not None else None
    if use is None or use.member is None or where is None:
        return None
    lines = model.source.lines
    if use.member.attr in _AT_HOME_IN_JAX:
        new = f"{model.text_of(use.node.value)}.{use.member.attr}"
        edits = verbs.replace_expression(lines, where, new)
        return Fix(f"Write `{new}`", Safety.SAFE, edits) if edits else None
    statement = f"from jax.ad_checkpoint import {use.member.attr}"
    imported = ensure_import(lines, statement, where.start, model.source)
    edits = verbs.replace_expression(lines, where, imported.name) if imported is not None else None
    if imported is None or edits is None:
        return None
    return Fix(f"Write `{statement}`", Safety.SAFE, (*imported.edits, *edits))


_BAD = """\
import jax
import jax.numpy as jnp

STAGE = "call"
y = jax.ad_checkpoint.checkpoint_name(jnp.ones(3), "hidden")
"""

RULE = Rule(
    code="JXP111",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.ad_checkpoint", "jax.ad_checkpoint.checkpoint_name", "jax.ad_checkpoint.print_saved_residuals"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("jax.ad_checkpoint.", "").replace(
                "as jnp\n", "as jnp\nfrom jax.ad_checkpoint import checkpoint_name\n"
            ),
            proof=Raises("AttributeError", "module 'jax' has no attribute 'ad_checkpoint'", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
