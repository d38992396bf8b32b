"""A value is given a checkpoint name that is no string.

## What it finds

A number, `None`, tuple, list, array or another object where `checkpoint_name` takes the name.

## Why it matters

JAX does not look at the type of the name. A policy compares names, so a number or `None` matches nothing that
`save_only_these_names` is given, and the value is silently recomputed. A list, a set or an array cannot be hashed,
which raises when the function is traced:

    TypeError: As of JAX v0.7, parameters to jaxpr equations must have __hash__ and __eq__ methods. In a call to
    primitive name, the value of parameter name was not hashable. …

## In which versions

All. Before 0.7 unhashable names raise only when a policy looks for names, with the text `unhashable type: 'list'`.
So it is under `jax_remat3` in every version.

## What to write instead

A string: `checkpoint_name(x, "attn_out")`, or `checkpoint_name(x, f"layer{i}")` for a number.

## Known limits

Silent for names that can be hashed when a policy of the project asks for names that are no strings, or that are not
known: the two may be equal. Members of enumerations are not reported.

## Source

`checkpoint_name` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument, api_calls_in
from jaxpert.model.file_model import FileModel
from jaxpert.model.pytrees import structure_of
from jaxpert.model.speech import raises, silent
from jaxpert.model.structures import Leaf
from jaxpert.model.transforms import parameters, static_names, traces_only_arrays
from jaxpert.model.values import Def, EnumMember, Literal, Pattern, Sequence, Table, Value, string
from jaxpert.rulekit.rule import Example, Finding, Raises, Rule, Severity, Silent
from jaxpert.syntax.scopes import Scope, TreeIndex

NAME = "checkpoint-name-not-string"

_HASHES_NAMES = Version("0.7.0")
_UNHASHABLE = {"list", "set", "dict", "array"}

_TEXT = (
    "As of JAX v0.7, parameters to jaxpr equations must have __hash__ and __eq__ methods. "
    "In a call to primitive name, the value of parameter name was not hashable."
)


def check(model: FileModel) -> Iterator[Finding]:
    """Names of `checkpoint_name` calls that are certainly no strings."""
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT_NAME or model.is_dead(call.site.block):
            continue
        name, value = call.role("name"), call.role("value")
        if name is None or name.model is not model or (value is not None and _is_text(value.value)):
            continue  # the two are swapped
        kind = _kind(model, name)
        if isinstance(name.value, EnumMember):
            asked = string(name.value.value)
            kind = kind if any(use.text == asked for use in model.project_names.uses()) else ""
        if kind in _UNHASHABLE or (kind and all(use.text for use in model.project_names.uses())):
            yield from _finding(model, call, name, kind)
    yield from _traced_names(model)


def _is_text(value: Value) -> bool:
    return string(value) is not None or isinstance(value, Pattern)


def _traced_names(model: FileModel) -> Iterator[Finding]:
    """Arguments of checkpointed functions given as names: those that are not static are arrays."""
    for checkpoint in model.checkpoints:
        target = checkpoint.target
        if not isinstance(target, Def) or target.model is not model or traces_only_arrays(checkpoint.api):
            continue
        inner, tree = target.function.inner, target.function.block.tree
        tags = model.tree_fact(tree, "tags by scope", lambda t: _tags_by_scope(model, t)).get(inner)
        known = parameters(model, checkpoint) if tags else None
        static = static_names(model, checkpoint, known) if known is not None else None
        if tags is None or known is None or static is None:
            continue
        for call in tags:
            name = call.role("name")
            node = name.node if name is not None else None
            if name is None or not isinstance(node, ast.Name) or len(inner.bindings.get(node.id, ())) != 1:
                continue
            if node.id in known.names and node.id not in static | known.defaults.keys() | {known.receiver}:
                yield from _finding(model, call, name, "array")


def _tags_by_scope(model: FileModel, tree: TreeIndex) -> dict[Scope, list[ApiCall]]:
    found: dict[Scope, list[ApiCall]] = {}
    for call in api_calls_in(model, tree):
        if call.api.kind is ApiKind.CHECKPOINT_NAME:
            found.setdefault(call.site.scope, []).append(call)
    return found


def _kind(model: FileModel, name: Argument) -> str:
    """What the name is, in words; "" when it is, or may be, a string."""
    if isinstance(name.node, ast.Attribute) and not isinstance(name.value, EnumMember):
        return ""  # what a class says is a default that objects may not have
    kinds = {_kind_of(option) for option in name.value.options()}
    if len(kinds) == 1 and "" not in kinds:
        return kinds.pop()
    if kinds == {""}:
        structure = structure_of(model, name.node, name.site.scope, name.site.block)
        return "array" if isinstance(structure, Leaf) and structure.type == "array" else ""
    return ""


def _kind_of(value: Value) -> str:
    if isinstance(value, Literal):
        return "" if isinstance(value.value, str) else "None" if value.value is None else type(value.value).__name__
    if isinstance(value, EnumMember):
        return "enumeration member" if string(value) is None and string(value.value) is not None else ""
    if isinstance(value, Sequence):
        return value.kind
    return "dict" if isinstance(value, Table) else ""


def _finding(model: FileModel, call: ApiCall, name: Argument, kind: str) -> Iterator[Finding]:
    where = model.range_of(name.node)
    if where is None:
        return
    function, text = model.text_of(call.node.func), model.text_of(name.node)
    noun = "None" if kind == "None" else f"{'an' if kind[0] in 'aei' else 'a'} {kind}"
    hashes = model.target.version >= _HASHES_NAMES and not model.target.remat3
    is_error = kind in _UNHASHABLE - {"dict"} and hashes
    if is_error:
        effect = "JAX raises when this is traced"
        consequence = raises(model, "when this is traced", "TypeError", _TEXT)
    else:
        effect = "no policy can ask for it"
        consequence = silent(model, f"no name that a policy asks for equals {noun}")
    good = f'f"name{{{text}}}"' if kind == "int" and text.isidentifier() else '"name"'
    if kind == "enumeration member":
        good = f"{text}.value"
    yield Finding(
        NAME,
        where,
        f"the name is {noun}, not a string: {effect}; write `{function}(x, {good})`",
        Severity.ERROR if is_error else Severity.WARNING,
        consequence,
        exceptions=("TypeError",) if kind in _UNHASHABLE else (),
    )


_BAD = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name
from jax._src.ad_checkpoint import saved_residuals


def loss(w, x):
    return jnp.sum(jnp.sin(checkpoint_name(jnp.cos(x @ w), NAME)))


policy = jax.checkpoint_policies.save_only_these_names("1")
residuals = saved_residuals(jax.checkpoint(loss, policy=policy), jnp.ones((3, 3)), jnp.ones((2, 3)))
computed = [source for _, source in residuals if "argument" not in source]
"""

_LIST = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name


@jax.checkpoint
def block(x):
    return jnp.sum(jnp.sin(checkpoint_name(jnp.cos(x), ["hidden"])))


STAGE = "call"
block(jnp.ones(3))
"""

RULE = Rule(
    code="JXP304",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint name",),
    examples=(
        Example(bad=_BAD.replace("NAME", "1"), good=_BAD.replace("NAME", '"1"'), proof=Silent("not computed")),
        Example(
            bad=_LIST,
            good=_LIST.replace('["hidden"]', '"hidden"'),
            proof=Raises("TypeError", "hash", "call", since="0.7.0", remat3=False),
        ),
    ),
    check=check,
    error_texts=(
        "TypeError: As of JAX v0.7, parameters to jaxpr equations must have __hash__ and __eq__ methods. In a call to "
        "primitive name, the value of parameter name was not hashable",
        "TypeError: unhashable type: 'DynamicJaxprTracer'",
    ),
)
