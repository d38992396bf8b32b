"""A checkpoint name is given in a function with derivative rules, where no policy sees it.

## What it finds

`checkpoint_name` inside a function that is decorated with `jax.custom_vjp` or `jax.custom_jvp`, or given to one of
them, when that function has its rules and nothing else runs it.

## Why it matters

Differentiation does not run the function itself: it runs the forward rule, or the JVP rule. The named value is not
part of what is differentiated, so a policy that asks for the name saves nothing, and JAX says nothing.

## In which versions

All, with `jax_remat3` on or off. A name in the forward rule counts, but not under `jax_remat3`.

## What to write instead

Name the result where the function is called, `y = checkpoint_name(f(x), "y")`, or name values in the forward rule.

## Known limits

A function that is also called without its rules (through `f.fun`, `f.__wrapped__` or its own name) is not reported,
nor is a name in another function that it calls. What the rule itself calls by the decorated name does not count: that
is the same function with the same rules.

## Source

Measured on 0.4.30 to 0.12.0.1 with `saved_residuals`.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, api_calls_in
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.values import Def, Partial, Symbol, Value, string
from jaxpert.rulekit.rule import Example, Finding, Related, Rule, Severity, Silent
from jaxpert.syntax.scopes import Function, FunctionNode, TreeIndex

NAME = "checkpoint-name-in-custom-derivative"

_ATTRIBUTE = re.compile(r"\b(\w+)(?=\s*\.\s*(fun|__wrapped__|defvjp|defjvp|defjvps)\b)")


def check(model: FileModel) -> Iterator[Finding]:
    """Tags inside functions whose own body is not what is differentiated."""
    for call in model.calls:
        if call.api.kind is not ApiKind.CHECKPOINT_NAME or call.is_partial or model.is_dead(call.site.block):
            continue
        for function in _functions_around(call):
            name = _replaced_by_rules(model, function)
            if name:
                yield from _finding(model, call, function, name)
                break


def _functions_around(call: ApiCall) -> Iterator[Function]:
    scope = call.site.scope
    functions = call.site.block.tree.functions
    while scope is not None:
        function = functions.get(scope.node) if scope.node is not None else None  # type: ignore[call-overload]
        if function is not None:
            yield function
        parent = scope.parent
        if parent is None:
            return
        scope = parent


def _replaced_by_rules(model: FileModel, function: Function) -> str:
    """The name under which the function, with rules of its own, is called; "" when its body may be differentiated."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return ""
    name = node.name
    if any(_is_custom(model, model.evaluate(it, function.scope, function.block)) for it in node.decorator_list):
        bypassed = {(name, "fun"), (name, "__wrapped__")} & _attributes(model)
        return name if not bypassed and _has_rules(model, name) else ""
    for given, target in model.from_each_tree("derivatives assigned", _assigned_in):
        # What is left of its name is its definition, and the call that replaces it.
        if given is node and _has_rules(model, target) and _words(model)[name] == 2:
            return target
    return ""


def _assigned_in(model: FileModel, tree: TreeIndex) -> list[tuple[FunctionNode, str]]:
    """The function and the name in every ``g = jax.custom_vjp(f)``."""
    found = []
    for call in api_calls_in(model, tree):
        statement = call.site.statement
        if call.api.kind is not ApiKind.TRANSFORM or "custom_derivative" not in call.api.traits:
            continue
        fun = call.role("fun")
        if fun is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            found += [(it.function.node, target.id) for it in fun.value.options() if isinstance(it, Def)]
    return found


def _words(model: FileModel) -> Counter[str]:
    """How often each word stands in the text."""
    return model.remembered("words of the text", lambda: Counter(re.findall(r"\w+", model.source.text)))


def _attributes(model: FileModel) -> set[tuple[str, str]]:
    """The words in the text that stand before attributes that matter to derivatives, with these."""
    return model.remembered("attributes of derivatives", lambda: set(_ATTRIBUTE.findall(model.source.text)))


def _is_custom(model: FileModel, value: Value) -> bool:
    """Whether a decorator is ``jax.custom_vjp`` or ``jax.custom_jvp``, or a partial of one."""
    options = list(value.options())
    while len(options) == 1 and isinstance(options[0], Partial):
        options = list(options[0].target.options())
    apis = [model.db.api(option.path) if isinstance(option, Symbol) else None for option in options]
    return all(api is not None and api.name in ("jax.custom_vjp", "jax.custom_jvp") for api in apis)


def _has_rules(model: FileModel, name: str) -> bool:
    return any((name, attribute) in _attributes(model) for attribute in ("defvjp", "defjvp", "defjvps"))


def _finding(model: FileModel, call: ApiCall, function: Function, name: str) -> Iterator[Finding]:
    where = model.range_of(call.node)
    if where is None:
        return
    argument = call.role("name")
    text = string(argument.value) if argument is not None else None
    named = f'the name "{text}"' if text is not None else "the name"
    tag = model.text_of(call.node.func)
    written = f'"{text}"' if text is not None else "…"
    header = next(iter(getattr(function.node, "decorator_list", ())), None)
    place = model.range_of(header) if header is not None else None
    yield Finding(
        NAME,
        where,
        f"`{name}` has derivative rules, and differentiation runs those instead of this body, so no policy sees "
        f"{named}; write `{tag}({name}(…), {written})` where `{name}` is called",
        Severity.WARNING,
        silent(model, "the value is not part of what is differentiated"),
        (Related(place, f"`{name}` gets rules of its own here"),) if place is not None else (),
    )


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name


@jax.custom_vjp
def act(x):
    return checkpoint_name(jnp.sin(x), "act")


act.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))


def loss(x):
    return jnp.sum(jnp.cos(act(jnp.exp(x))))


policy = jax.checkpoint_policies.save_only_these_names("act")
residuals = saved_residuals(jax.checkpoint(loss, policy=policy), jnp.ones(3))
saved = [source for _, source in residuals if "argument" not in source]
"""

RULE = Rule(
    code="JXP307",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint name", "jax.custom_vjp", "jax.custom_jvp"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace('checkpoint_name(jnp.sin(x), "act")', "jnp.sin(x)").replace(
                "jnp.cos(act(jnp.exp(x)))", 'jnp.cos(checkpoint_name(act(jnp.exp(x)), "act"))'
            ),
            proof=Silent("not saved"),
        ),
    ),
    check=check,
)
