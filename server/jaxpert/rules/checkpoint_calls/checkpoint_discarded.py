"""The rematerialized function that a checkpoint wrapper returns is thrown away.

## What it finds

`jax.checkpoint(layer)` as a statement of its own, also inside a tuple, a conditional expression or a comprehension that
is a statement, and with any other wrapper (`flax.linen.remat(Block)`); `map(jax.checkpoint, layers)` as a statement;
and `layer = jax.checkpoint(layer)` where `layer` is the variable of a `for` loop and is not read again.

## Why it matters

The wrapper changes nothing about the function that it is given: it returns another one. If that is not used, nothing is
rematerialized, and JAX says nothing.

## In which versions

All.

## What to write instead

`layer = jax.checkpoint(layer)`, and go on with `layer`. In a loop:
`layers = [jax.checkpoint(layer) for layer in layers]`.

## Known limits

Any other variable that holds the result and is never read is left to other linters. The last expression of a notebook
cell is shown, so module-level statements of notebooks are not reported.

## Source

`checkpoint` in `jax/_src/ad_checkpoint.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall
from jaxpert.model.discards import may_be_read_after, thrown_away
from jaxpert.model.file_model import FileModel
from jaxpert.model.lost_wrappings import is_lost_loop_variable, loop_of, lost_maps
from jaxpert.model.speech import silent
from jaxpert.model.values import Symbol, Table
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent, Tag
from jaxpert.syntax.scopes import CallSite
from jaxpert.text.edits import Edit
from jaxpert.text.lines import slice_lines

NAME = "checkpoint-discarded"

_TRIED = ("TypeError", "ValueError", "NotImplementedError", "AttributeError", "AssertionError")


def check(model: FileModel) -> Iterator[Finding]:
    """Wrappings whose result nothing uses."""
    for call in _discarded(model):
        fun = call.role("fun")
        name = model.text_of(fun.node) if fun is not None else "the function"
        yield from _finding(model, call.site, model.text_of(call.node.func), name, _advice(model, call))
    for lost in lost_maps(model):
        wrapper = model.text_of(lost.wrapper)
        functions = model.text_of(lost.site.node.args[1])
        advice = f"keep what `{model.text_of(lost.site.node.func)}` returns"
        yield from _finding(model, lost.site, wrapper, functions, advice)


def _finding(model: FileModel, site: CallSite, wrapper: str, name: str, advice: str) -> Iterator[Finding]:
    where = model.range_of(site.node)
    shown_by_notebook = model.path.endswith(".ipynb") and site.scope.kind == "module"
    if where is None or (shown_by_notebook and isinstance(site.statement, ast.Expr)) or model.is_dead(site.block):
        return
    yield Finding(
        NAME,
        where,
        f"what `{wrapper}` returns is thrown away, and `{name}` itself stays as it is; {advice}",
        Severity.WARNING,
        silent(model, "nothing is rematerialized"),
        exceptions=_TRIED,
        tags=(Tag.UNNECESSARY,),
    )


def _discarded(model: FileModel) -> Iterator[ApiCall]:
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT or call.is_partial:
            continue
        if call.surplus or call.unexpected or call.repeated or call.missing or call.role("fun") is None:
            continue  # it raises
        statement = call.site.statement
        if isinstance(statement, ast.Expr):
            if any(node is call.node for node in thrown_away(statement.value)):
                yield call
        elif is_lost_loop_variable(model, call):
            yield call


def _advice(model: FileModel, call: ApiCall) -> str:
    wrapper, target = model.text_of(call.node.func), _target(model, call)
    if target:
        return f"write `{target} = {wrapper}({target})`"
    fun = call.role("fun")
    if fun is not None and isinstance(fun.node, ast.Name):
        loop = loop_of(call.site, fun.node.id)
        if loop is not None:
            item, items = model.text_of(loop.target), model.text_of(loop.iter)
            return f"make a new list, `[{model.text_of(call.node)} for {item} in {items}]`"
    return f"use what `{wrapper}` returns"


def _target(model: FileModel, call: ApiCall) -> str:
    """What the result belongs into: the variable or attribute that was wrapped; "" when it would be lost there too."""
    fun = call.role("fun")
    statement = call.site.statement
    if fun is None or not isinstance(statement, ast.Expr) or statement.value is not call.node:
        return ""
    node, scope = fun.node, call.site.scope
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        owner = model.evaluate(node.value, scope, call.site.block)
        return "" if isinstance(owner, Symbol) else ast.unparse(node)  # a module's is not ours to change
    if not isinstance(node, ast.Name) or loop_of(call.site, node.id) is not None:
        return ""
    if scope.kind == "function" and (node.id not in scope.bindings or not may_be_read_after(call.site, node.id)):
        return ""
    return node.id


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Assign the result to what was wrapped, or make a new list of what a loop wraps."""
    for call in model.every(_discarded):
        where = model.range_of(call.site.statement)
        if model.range_of(call.node) != finding.range or where is None:
            continue
        target = _target(model, call)
        if not target:
            return _new_list(model, call)
        edits = verbs.assign_result(model.source.lines, where, target)
        safety = Safety.UNSAFE if "." in target or call.site.scope.lookup(target) is None else Safety.SAFE
        return Fix(f"Assign the result to `{target}`", safety, edits) if edits else None
    return None


def _new_list(model: FileModel, call: ApiCall) -> Fix | None:
    """In place of a loop that does nothing but wrap: a list under the name of what it goes over."""
    fun, scope = call.role("fun"), call.site.scope
    loop = loop_of(call.site, fun.node.id) if fun is not None and isinstance(fun.node, ast.Name) else None
    if loop is None or not isinstance(loop.target, ast.Name) or not isinstance(loop.iter, ast.Name):
        return None
    items, where = loop.iter.id, model.range_of(loop)
    if where is None or loop.body != [call.site.statement] or loop.orelse or isinstance(loop, ast.AsyncFor):
        return None
    statement_value = getattr(call.site.statement, "value", None)
    if statement_value is not call.node or "#" in slice_lines(model.source.lines, where):
        return None
    if scope.kind != "module" and (items not in scope.bindings or not may_be_read_after(call.site, items)):
        return None
    if any(isinstance(option, Table) for option in model.evaluate(loop.iter, scope, call.site.block).options()):
        return None
    made = f"{items} = [{model.text_of(call.node)} for {loop.target.id} in {items}]"
    return Fix(f"Put the wrapped functions into `{items}`", Safety.UNSAFE, (Edit(where, made),))


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals


def layer(x):
    return jnp.sum(jnp.sin(jnp.sin(x)))


jax.checkpoint(layer)
x = jnp.ones(3)
saved = [why for _, why in saved_residuals(layer, x) if "from the argument" not in why]
"""

RULE = Rule(
    code="JXP107",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("\njax.checkpoint", "\nlayer = jax.checkpoint"),
            proof=Silent("bool(saved)"),
        ),
    ),
    check=check,
    fix=fix,
)
