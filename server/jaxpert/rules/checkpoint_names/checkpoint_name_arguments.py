"""`checkpoint_name` is called with swapped, missing or surplus arguments.

## What it finds

The name where the value belongs, as in `checkpoint_name("attn", x)`; a call without a name, also by
`jax.tree.map(checkpoint_name, tree)`; and arguments that `checkpoint_name` does not take.

## Why it matters

`checkpoint_name` takes the value first and its name second. With a string for the value JAX raises when the
function is traced:

    TypeError: Error interpreting argument to name as a JAX value. The problematic value is of type <class 'str'> …

A missing, surplus or unknown argument raises where the call runs:

    TypeError: checkpoint_name() missing 1 required positional argument: 'name'

## In which versions

All. Before 0.9 the text for a string is `Argument 'attn' of type <class 'str'> is not a valid JAX type`, or
`Value 'attn' with type <class 'str'> is not a valid JAX type` before 0.5, and only a traced call raises it.

## What to write instead

`x = checkpoint_name(x, "attn")`, or `x = checkpoint_name(x, name="attn")`.

## Known limits

A call with `*args` or `**kwargs` is not looked at, nor is a value that only may be a string.

## Source

`checkpoint_name` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, wrong_arguments
from jaxpert.model.tree_maps import tree_maps
from jaxpert.model.values import Pattern, Symbol, Value, string
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.text.edits import Edit

NAME = "checkpoint-name-arguments"

_INTERPRETS = Version("0.9.0")


def check(model: FileModel) -> Iterator[Finding]:
    """Calls of `checkpoint_name` that raise because of what they are given."""
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT_NAME or call.is_partial or call.opened:
            continue
        if model.is_dead(call.site.block):
            continue
        value, name = call.role("value"), call.role("name")
        if value is not None and value.model is model and _is_string(value.value):
            yield from _string_for_value(model, call, value, name)
        else:
            yield from _wrong_call(model, call)
    yield from _mapped(model)


def _mapped(model: FileModel) -> Iterator[Finding]:
    """`jax.tree.map` of the function itself, which gives it the leaves of one tree and no name."""
    if not model.source.contains("checkpoint_name"):
        return
    for tree_map in tree_maps(model):
        fun, value = tree_map.fun, tree_map.fun.value if tree_map.fun is not None else None
        api = model.db.api(value.path) if isinstance(value, Symbol) else None
        if fun is None or fun.model is not model or api is None or api.kind is not ApiKind.CHECKPOINT_NAME:
            continue
        where = model.range_of(fun.node)
        if where is not None and len(tree_map.trees) == 1 and not tree_map.leading:
            name = model.text_of(fun.node)
            yield Finding(
                NAME,
                where,
                f"`{name}` gets a leaf and no name: JAX raises at the first leaf; write "
                f'`lambda x: {name}(x, "name")`',
                Severity.ERROR,
                raises(
                    model, "where this stands", "TypeError",
                    "checkpoint_name() missing 1 required positional argument: 'name'",
                ),
                exceptions=("TypeError",),
            )  # fmt: skip


def _is_string(value: Value) -> bool:
    return all(string(option) is not None or isinstance(option, Pattern) for option in value.options())


def _string_for_value(
    model: FileModel, call: ApiCall, value: Argument, name: Argument | None
) -> Iterator[Finding]:
    where = model.range_of(value.node)
    if where is None:
        return
    function, text = model.text_of(call.node.func), model.text_of(value.node).replace("`", "'")
    other = model.text_of(name.node) if name is not None and not _is_string(name.value) else "x"
    if model.target.version < _INTERPRETS:
        message = f"Argument {string(value.value)!r} of type <class 'str'> is not a valid JAX type"
    else:
        message = (
            "Error interpreting argument to name as a JAX value. "
            "The problematic value is of type <class 'str'> and was passed to name at position 0."
        )
    yield Finding(
        NAME,
        where,
        f"`{function}` takes the value first and its name second, and {text} is no value: JAX raises when this is "
        f"traced; write `{function}({other}, {text})`",
        Severity.ERROR,
        raises(model, "when this is traced", "TypeError", message),
        exceptions=("TypeError",),
    )


def _wrong_call(model: FileModel, call: ApiCall) -> Iterator[Finding]:
    function = model.text_of(call.node.func)
    for argument, fault, text in wrong_arguments(call):
        node: ast.AST = call.node.func
        if argument is not None:
            node = argument.keyword or argument.node
            if argument.model is not model:
                node = call.node.func
        where = model.range_of(node)
        if where is not None:
            yield Finding(
                NAME,
                where,
                f'`{function}` {fault}: JAX raises here; write `{function}(x, "name")`',
                Severity.ERROR,
                raises(model, "where this stands", "TypeError", text),
                exceptions=("TypeError",),
            )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Swap the two arguments."""
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT_NAME or call.opened or call.is_partial:
            continue
        value, name = call.role("value"), call.role("name")
        if value is None or name is None or value.model is not model or name.model is not model:
            continue
        first, second = model.range_of(value.node), model.range_of(name.node)
        if first != finding.range or second is None or _is_string(name.value):
            continue
        given = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
        if value.node not in given or name.node not in given:
            return None  # a partial gives one of them
        edits = [Edit(first, model.text_of(name.node)), Edit(second, model.text_of(value.node))]
        if first.start.line != first.end.line or second.start.line != second.end.line:
            return None
        if isinstance(value.node, (ast.Yield, ast.NamedExpr)) or isinstance(name.node, (ast.Yield, ast.NamedExpr)):
            return None
        return Fix("Swap the value and its name", Safety.SAFE, tuple(edits))
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import checkpoint_name


@jax.checkpoint
def block(x):
    return jnp.sum(jnp.sin(checkpoint_name("hidden", jnp.cos(x))))


STAGE = "call"
block(jnp.ones(3))
"""

_MISSING = _BAD.replace('checkpoint_name("hidden", jnp.cos(x))', "checkpoint_name(jnp.cos(x))")
_GOOD = _BAD.replace('checkpoint_name("hidden", jnp.cos(x))', 'checkpoint_name(jnp.cos(x), "hidden")')

RULE = Rule(
    code="JXP303",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint name",),
    examples=(
        Example(bad=_BAD, good=_GOOD, proof=Raises("TypeError", "<class 'str'>", "call")),
        Example(
            bad=_MISSING,
            good=_GOOD,
            proof=Raises("TypeError", "checkpoint_name() missing 1 required positional argument: 'name'", "call"),
        ),
    ),
    check=check,
    fix=fix,
    error_texts=("TypeError: checkpoint_name() got an unexpected keyword argument",
                 "TypeError: checkpoint_name() takes 2 positional arguments but 3 were given"),
)  # fmt: skip
