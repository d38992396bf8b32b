"""Treedefs of different registries are put together.

## What it finds

`outer.compose(inner)` where one treedef comes from `jax.tree` and the other from a lowered, traced, compiled or
exported function (`jax.jit(f).lower(x).out_tree`, `.in_tree`), and `jax.tree_util.treedef_tuple` of such treedefs.
Also treedefs of registries of your own.

## Why it matters

Every treedef belongs to a registry, and `jax.jit` flattens with another one than `jax.tree`. The two kinds compare
equal and have the same hash, but cannot be combined:

    ValueError: PyTree registries of PyTreeDefs passed to Compose() must match.
    ValueError: PyTree registries of PyTreeDefs passed to Tuple() must match.

## In which versions

Since 0.10.0. Before, functions were flattened with the registry of `jax.tree`, and only registries of one's own
differ.

## What to write instead

Rebuild the treedef with `jax.tree`: `jax.tree.structure(jax.tree.unflatten(treedef, [0] * treedef.num_leaves))`.
`jax.tree.unflatten`, comparisons and `flatten_up_to` need no such thing.

## Known limits

Only treedefs whose origin can be followed are compared. Two treedefs of functions can be composed with each other.

## Source

`PyTreeDef::Compose` in jaxlib and `tracing_registry` in JAX; measured on 0.4.30 to 0.12.0.1 (0.9.2 accepts it, 0.10.0
raises). The public error page that describes this shows it under the text of another error, and the methods it names
do not exist.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.treedefs import REGISTRIES_DIFFER, Registry, Treedef, method_calls, treedef_at
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.scopes import Site
from jaxpert.text.lines import Range

NAME = "treedef-registry"


@dataclass(frozen=True, slots=True)
class _Case:
    """A treedef that does not go with the others of a call; ``function`` is what JAX calls it in its error."""

    node: ast.expr
    where: Range
    treedef: Treedef
    function: str


def check(model: FileModel) -> Iterator[Finding]:
    """Treedefs that cannot be combined."""
    for case in _cases(model):
        traced = case.treedef.registry is Registry.TRACING
        of = "a lowered or traced function" if traced else "a registry of its own"
        related: tuple[Related, ...] = ()
        origin = case.treedef.model.range_of(case.treedef.site.node)
        if origin is not None and origin != case.where:
            path = "" if case.treedef.model is model else case.treedef.model.path
            related = (Related(origin, "this treedef", path),)
        yield Finding(
            NAME,
            case.where,
            f"this is the treedef of {of}, and the registry of `jax.tree` is another: rebuild it with "
            "`jax.tree.structure(jax.tree.unflatten(treedef, [0] * treedef.num_leaves))`",
            Severity.ERROR,
            raises(
                model, "at this call", "ValueError",
                f"PyTree registries of PyTreeDefs passed to {case.function} must match.",
            ),
            related, exceptions=("ValueError",),
        )  # fmt: skip


def _cases(model: FileModel) -> Iterator[_Case]:
    if not model.source.contains_any(("compose", "treedef_tuple")):
        return
    for method in method_calls(model, frozenset({"compose"})):
        given = method.argument(0)
        inner = treedef_at(model, given) if given is not None else None
        if given is None or inner is None or not isinstance(given.node, ast.expr):
            continue
        pair = [(method.receiver, method.treedef), (given.node, inner)]
        if _clash(model, method.treedef, inner):
            yield from _blamed(model, pair, "Compose()")
    for call in model.calls:
        if call.api.name != "jax.tree_util.treedef_tuple" or call.is_partial or model.is_dead(call.site.block):
            continue
        argument = call.arguments.get("treedefs")
        if argument is None or argument.model is not model or not isinstance(argument.node, (ast.List, ast.Tuple)):
            continue
        for node in argument.node.elts:
            treedef = treedef_at(model, Site(node, argument.site.scope, argument.site.block))
            if treedef is not None and _differs(model, treedef):
                yield from _blamed(model, [(node, treedef)], "Tuple()")
                break


def _differs(model: FileModel, treedef: Treedef) -> bool:
    """Whether the treedef is not one of the default registry."""
    if treedef.registry is Registry.TRACING:
        return model.target.version >= REGISTRIES_DIFFER
    return treedef.registry is Registry.OTHER


def _clash(model: FileModel, one: Treedef, other: Treedef) -> bool:
    if one.registry is None or other.registry is None or one.registry is other.registry:
        return False
    return _differs(model, one) or _differs(model, other)


def _blamed(model: FileModel, pair: list[tuple[ast.expr, Treedef]], function: str) -> Iterator[_Case]:
    """The one that is to be rebuilt: the one that is not of the default registry, the last of several."""
    for node, treedef in reversed(pair):
        where = model.range_of(node)
        if _differs(model, treedef) and where is not None:
            yield _Case(node, where, treedef, function)
            return


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Rebuild the treedef, where its expression may stand there twice."""
    for case in model.every(_cases):
        if case.where != finding.range:
            continue
        if any(isinstance(inner, ast.Call) for inner in ast.walk(case.node)):
            return None
        lines = model.source.lines
        jax = ensure_import(lines, "import jax", case.where.start, model.source)
        if jax is None:
            return None
        text = model.text_of(case.node)
        rebuilt = f"{jax.name}.tree.structure({jax.name}.tree.unflatten({text}, [0] * {text}.num_leaves))"
        edits = verbs.replace_expression(lines, case.where, rebuilt)
        return Fix(f"Rebuild `{text}` with `jax.tree`", Safety.SAFE, (*jax.edits, *edits)) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp

STAGE = "call"
x = {"a": jnp.ones(2)}
outer = jax.tree.structure([0, 0])
inner = jax.jit(lambda x: x).lower(x).out_tree
outer.compose(inner)
"""

_REBUILT = "jax.tree.structure(jax.tree.unflatten(inner, [0] * inner.num_leaves))"

_TUPLE = _BAD.replace("outer.compose(inner)", "jax.tree_util.treedef_tuple([outer, inner])")

RULE = Rule(
    code="JXP508",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree_util.treedef_tuple",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("compose(inner)", f"compose({_REBUILT})"),
            proof=Raises(
                "ValueError", "PyTree registries of PyTreeDefs passed to Compose() must match.", since="0.10.0"
            ),
        ),
        Example(
            bad=_TUPLE,
            good=_TUPLE.replace("inner])", f"{_REBUILT}])"),
            proof=Raises("ValueError", "PyTree registries of PyTreeDefs passed to Tuple() must match.", since="0.10.0"),
        ),
    ),
    check=check,
    fix=fix,
)
