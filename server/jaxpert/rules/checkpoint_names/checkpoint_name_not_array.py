"""A checkpoint name is given to something that JAX cannot take for a value.

## What it finds

`checkpoint_name` on a list, tuple, dictionary or `None` in versions of JAX that take only arrays, and on a container
that holds a string in any version.

## Why it matters

JAX raises when the function is traced:

    TypeError: Argument '{'y': Traced<float32[4,4]>…}' of type '<class 'dict'>' is not a valid JAX type

## In which versions

Before 0.7.2 `checkpoint_name` takes arrays only; since then it names every array of a tree. A string in the tree
raises in all: `Error interpreting argument to name as a JAX value` from 0.9 on, `Argument 'text' of type
<class 'str'> is not a valid JAX type` before.

## What to write instead

Name the arrays one by one: `d = {"y": checkpoint_name(d["y"], "y")}`, or
`d = jax.tree.map(lambda leaf: checkpoint_name(leaf, "d"), d)`. Keep strings out of the tree.

## Known limits

Only containers that are written out, or made in the same function and not changed, are known.

## Source

The change that made `checkpoint_name` flatten its argument is in 0.7.2; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import imports, verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.pytrees import structure_of
from jaxpert.model.speech import raises
from jaxpert.model.structures import Dict, Leaf, List, NoneNode, Structure, Tuple
from jaxpert.model.values import UNKNOWN, Def
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity

NAME = "checkpoint-name-not-array"

_TAKES_TREES = Version("0.7.2")
_INTERPRETS = Version("0.9.0")


def check(model: FileModel) -> Iterator[Finding]:
    """Values of `checkpoint_name` calls that this JAX cannot name."""
    takes_trees = model.target.version >= _TAKES_TREES
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT_NAME or call.api.library != "jax" or call.is_partial:
            continue
        value = call.role("value")
        if value is None or value.model is not model or call.missing or model.is_dead(call.site.block):
            continue
        options = list(value.value.options())
        if UNKNOWN in options:
            continue
        structure = structure_of(model, value.node, value.site.scope, value.site.block)
        text = next(_strings(structure), None)
        if all(isinstance(option, Def) for option in options):
            yield from _function(model, call, value)
        elif text is not None:
            yield from _string_inside(model, call, value, text)
        elif not takes_trees and isinstance(structure, (Dict, List, Tuple, NoneNode)):
            yield from _no_array(model, call, value, structure)


def _strings(structure: Structure) -> Iterator[Leaf]:
    """The strings in a container."""
    inner: list[Structure] = []
    if isinstance(structure, Dict):
        inner = list(structure.entries.values())
    elif isinstance(structure, (List, Tuple)):
        inner = list(structure.items)
    for part in inner:
        if isinstance(part, Leaf) and part.type == "string":
            yield part
        else:
            yield from _strings(part)


def _string_inside(model: FileModel, call: ApiCall, value: Argument, text: Leaf) -> Iterator[Finding]:
    where = model.range_of(value.node)
    culprit = model.range_of(text.site.node) if text.site is not None and text.model is model else None
    if where is None:
        return
    inside = culprit is not None and where.start <= culprit.start and culprit.end <= where.end
    message = "Argument … of type <class 'str'> is not a valid JAX type"
    if model.target.version >= _INTERPRETS:
        message = (
            "Error interpreting argument to name as a JAX value. "
            "The problematic value is of type <class 'str'> and was passed to name at position 0."
        )
    yield Finding(
        NAME,
        culprit if inside and culprit is not None else where,
        f"`{model.text_of(call.node.func)}` names every leaf of the container, and a string is no array: JAX raises "
        "when this is traced; name only the arrays",
        Severity.ERROR,
        raises(model, "when this is traced", "TypeError", message),
        () if inside or culprit is None else (Related(culprit, "the string"),),
        exceptions=("TypeError",),
    )


def _function(model: FileModel, call: ApiCall, value: Argument) -> Iterator[Finding]:
    where, function, shown = model.range_of(value.node), model.text_of(call.node.func), model.text_of(value.node)
    message = "Argument … of type <class 'function'> is not a valid JAX type"
    if model.target.version >= _INTERPRETS:
        message = "Error interpreting argument to name as a JAX value. The problematic value is of type …"
    if where is not None:
        written = f"`{shown}`" if isinstance(value.node, (ast.Name, ast.Attribute)) else "this"
        called = f"{shown}(…)" if isinstance(value.node, (ast.Name, ast.Attribute)) else "…"
        yield Finding(
            NAME,
            where,
            f"`{function}` names arrays, and {written} is a function: JAX raises when this is traced; name what it "
            f"gives: `{function}({called}, …)`",
            Severity.ERROR,
            raises(model, "when this is traced", "TypeError", message),
            exceptions=("TypeError",),
        )


def _no_array(model: FileModel, call: ApiCall, value: Argument, structure: Structure) -> Iterator[Finding]:
    where = model.range_of(value.node)
    if where is None:
        return
    kind = "NoneType" if isinstance(structure, NoneNode) else _type(structure)
    function = model.text_of(call.node.func)
    write = "leave it as it is" if kind == "NoneType" else f"write `jax.tree.map(lambda leaf: {function}(leaf, …), …)`"
    yield Finding(
        NAME,
        where,
        f"`{function}` takes one array before JAX 0.7.2, and this is {structure.words}: JAX raises when it is traced; "
        f"{write}",
        Severity.ERROR,
        raises(model, "when this is traced", "TypeError", f"… of type <class '{kind}'> is not a valid JAX type"),
        exceptions=("TypeError",),
        data=(("tree", kind),),
    )


def _type(structure: Structure) -> str:
    return "dict" if isinstance(structure, Dict) else "list" if isinstance(structure, List) else "tuple"


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Name every array of the tree by itself."""
    if finding.datum("tree") in ("", "NoneType"):
        return None
    for call in model.calls:
        value, name = call.role("value"), call.role("name")
        if call.api.kind is not ApiKind.CHECKPOINT_NAME or value is None or name is None:
            continue
        if model.range_of(value.node) != finding.range or len(call.node.args) + len(call.node.keywords) != 2:
            continue
        where = model.range_of(call.node)
        if where is None or where.start.line != where.end.line:
            return None
        jax = imports.ensure_import(model.source.lines, "import jax", where.start, model.source)
        if jax is None:
            return None
        leaf = f"{model.text_of(call.node.func)}(leaf, {model.text_of(name.node)})"
        new = f"{jax.name}.tree.map(lambda leaf: {leaf}, {model.text_of(value.node)})"
        edits = verbs.replace_expression(model.source.lines, where, new)
        return Fix("Name every array of the tree", Safety.SAFE, (*jax.edits, *edits)) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name


@jax.checkpoint
def block(x):
    both = checkpoint_name({"sin": jnp.sin(x), "cos": jnp.cos(x)}, "both")
    return jnp.sum(both["sin"] * both["cos"])


STAGE = "call"
block(jnp.ones(3))
"""

_STRING = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name


@jax.checkpoint
def block(x):
    both = checkpoint_name([jnp.sin(x), "relu"], "both")
    return jnp.sum(both[0])


STAGE = "call"
block(jnp.ones(3))
"""

RULE = Rule(
    code="JXP305",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint name",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace(
                '{"sin": jnp.sin(x), "cos": jnp.cos(x)}, "both")',
                'jnp.stack([jnp.sin(x), jnp.cos(x)]), "both")',
            ).replace('both["sin"] * both["cos"]', "both[0] * both[1]"),
            proof=Raises("TypeError", "is not a valid JAX type", "call", until="0.7.2"),
        ),
        Example(
            bad=_STRING,
            good=_STRING.replace('name([jnp.sin(x), "relu"], "both")', 'name([jnp.sin(x)], "both")'),
            proof=Raises("TypeError", "type <class 'str'>", "call", since="0.7.2"),
        ),
    ),
    check=check,
    fix=fix,
)
