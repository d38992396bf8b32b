"""A name that a policy asks for is given outside of the checkpointed function.

## What it finds

`block(checkpoint_name(x, "x"))`, also by way of a variable, where `block` is checkpointed with a policy that is to
store "x", and no value inside `block` has that name. Also `checkpoint_name(block(x), "x")`, which names what comes out
of `block`, when no other policy asks for "x".

## Why it matters

A policy decides about the values that are computed inside the checkpointed function. What is named outside is not
among them: its arguments are stored whatever they are called, and everything computed from them is recomputed. JAX
says nothing.

## In which versions

All, with `jax_remat3` on or off.

## What to write instead

Name the value inside the function, where it is computed: `y = checkpoint_name(jnp.sin(x @ w), "x")`.

## Known limits

Silent when any value that may be inside has the name, when the policy is used in more than one place, and when the
function around the call may be checkpointed itself: for an outer checkpoint the name is inside.

## Source

Measured on 0.4.30 to 0.12.0.1 with `saved_residuals`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument, api_calls_in
from jaxpert.model.file_model import FileModel
from jaxpert.model.names import names_saved_by
from jaxpert.model.speech import silent
from jaxpert.model.transforms import Checkpoint, parameters
from jaxpert.model.values import Def, string
from jaxpert.model.wrapped_calls import passed, wrapped_calls
from jaxpert.rulekit.rule import Example, Finding, Related, Rule, Severity, Silent
from jaxpert.syntax.reaching import reaching
from jaxpert.text.lines import Range

NAME = "checkpoint-name-outside"


def check(model: FileModel) -> Iterator[Finding]:
    """Tags on what is passed to a checkpointed function whose policy asks for them."""
    if not model.name_facts.tags:
        return
    for checkpoint in model.checkpoints:
        policy = checkpoint.role("policy")
        options = list(policy.value.options()) if policy is not None else []
        asked = names_saved_by(model, options[0]) if len(options) == 1 else frozenset()
        if asked and policy is not None:
            yield from _outside(model, checkpoint, asked)


def _outside(model: FileModel, checkpoint: Checkpoint, asked: frozenset[str]) -> Iterator[Finding]:
    found: dict[str, list[tuple[ApiCall, bool]]] = {}
    tagged = [(tag, False) for tag in _tags_passed(model, checkpoint)]
    tagged += [(tag, True) for tag in _tags_of_results(model, checkpoint)]
    for tag, of_result in tagged:
        name = tag.role("name")
        text = string(name.value) if name is not None else None
        if text is not None and text in asked:
            found.setdefault(text, []).append((tag, of_result))
    for text, given in found.items():
        tags = [tag for tag, _ in given]
        is_alone = _is_only_use if any(of_result for _, of_result in given) else _asks_alone
        if not _has_only(model, text, tags) or not is_alone(model, checkpoint, text, tags):
            continue
        for tag in tags:
            yield from _finding(model, checkpoint, text, tag)


def _tags_passed(model: FileModel, checkpoint: Checkpoint) -> Iterator[ApiCall]:
    """The tags in what is passed to the wrapped function, and in what the variables among that are assigned."""
    known = parameters(model, checkpoint)
    for call in wrapped_calls(model, checkpoint):
        if call.is_partial or known is None:
            continue
        inside, in_turns = set[int](), set[int]()
        for passing in passed(known, call).arguments.values():
            node = passing.node
            found = call.site.scope.lookup(node.id) if isinstance(node, ast.Name) else None
            if found is not None and isinstance(node, ast.Name):
                bindings = list(reaching(found[1], node, call.site.scope, call.site.block, found[0]))
                if len(bindings) == 1 and bindings[0].value is not None:
                    node = bindings[0].value
                later = [one.value for one in bindings if one.value is not None] if len(bindings) > 1 else []
                in_turns |= {id(value) for value in later}  # `for …: x = block(x)`
            inside |= {id(it) for it in ast.walk(node)}
        for tag in api_calls_in(model, call.site.block.tree):
            if tag.api.kind is not ApiKind.CHECKPOINT_NAME or tag.is_partial:
                continue
            if id(tag.node) in inside | in_turns and not _is_reached_from(known.function, tag):
                yield tag


def _tags_of_results(model: FileModel, checkpoint: Checkpoint) -> Iterator[ApiCall]:
    """The tags of what the wrapped function gives, outside of it and of what it calls."""
    known = parameters(model, checkpoint)
    calls = [call.site for call in wrapped_calls(model, checkpoint) if not call.is_partial] if known is not None else []
    made = {id(site.node) for site in calls}
    for tree in {id(site.block.tree): site.block.tree for site in calls}.values():
        for tag in api_calls_in(model, tree):
            value = tag.role("value")
            if tag.api.kind is not ApiKind.CHECKPOINT_NAME or tag.is_partial or value is None or known is None:
                continue
            if _gives(value, made) and not _is_reached_from(known.function, tag):
                yield tag


def _gives(value: Argument, made: set[int]) -> bool:
    """Whether a value is what one of the calls ``made`` gives, or a part of that."""
    node = value.node
    while isinstance(node, ast.Subscript):
        node = node.value
    found = value.site.scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if found is not None and isinstance(node, ast.Name):
        bindings = reaching(found[1], node, value.site.scope, value.site.block, found[0])
        return len(bindings) == 1 and id(bindings[0].value) in made
    return id(node) in made


def _is_reached_from(function: Def, tag: ApiCall) -> bool:
    """Whether the tag stands in ``function``, or in a function whose name stands there."""
    around = set(_functions_around(tag))
    names = {getattr(node, "id", getattr(node, "attr", "")) for node in ast.walk(function.function.node)}
    return function.name in around or not around.isdisjoint(names)


def _has_only(model: FileModel, text: str, tags: list[ApiCall]) -> bool:
    """Whether no other value of the project has the name, or may have it."""
    here = {(model.path, _name_range(model, tag)) for tag in tags}
    for facts in model.project_names.files.values():
        for place in (*facts.tags, *facts.hints):
            if not place.may_be(text) or (place.role == "tag" and (place.path, place.range) in here):
                continue
            return False
    return True


def _name_range(model: FileModel, tag: ApiCall) -> Range | None:
    name = tag.role("name")
    if name is None:
        return None
    for option in name.value.options():
        if option.site is not None and option.model is not None and isinstance(option.site.node, ast.Constant):
            return option.model.range_of(option.site.node)
    return name.model.range_of(name.node)


def _asks_alone(model: FileModel, checkpoint: Checkpoint, text: str, tags: list[ApiCall]) -> bool:
    """Whether no other checkpoint that asks for the name can hold the place of the tags."""
    if _is_only_use(model, checkpoint, text, tags):
        return True
    source = model.source.text
    uses = [use for use in model.project_names.uses() if use.may_be(text)]
    around = {name for tag in tags for name in _functions_around(tag)}
    unused = all(_count(rf"{re.escape(name)}\b", source) == 1 for name in around)
    return unused and all(use.path == model.path for use in uses)


def _is_only_use(model: FileModel, checkpoint: Checkpoint, text: str, tags: list[ApiCall]) -> bool:
    """Whether this checkpoint's policy, used here alone, is the only one of the project that asks for the name."""
    uses = [use for use in model.project_names.uses() if use.may_be(text)]
    policy = checkpoint.role("policy")
    if policy is None or len(uses) != 1 or not isinstance(policy.node, (ast.Name, ast.Call)):
        return False
    if not any(part is policy.node for part in ast.walk(checkpoint.node)):
        return False  # `remat = functools.partial(jax.checkpoint, policy=…)` may wrap others too
    if isinstance(policy.node, ast.Call):
        where, asked = model.range_of(policy.node), uses[0].range
        return where is not None and asked is not None and where.start <= asked.start and asked.end <= where.end
    return _count(rf"{re.escape(policy.node.id)}\b(?!\s*=(?!=))", model.source.text) == 1


def _count(word: str, source: str) -> int:
    return len(re.findall(rf"\b{word}", source))


def _functions_around(tag: ApiCall) -> Iterator[str]:
    scope = tag.site.scope
    while scope.parent is not None:
        name = getattr(scope.node, "name", None)
        if isinstance(name, str):
            yield name
        scope = scope.parent


def _finding(model: FileModel, checkpoint: Checkpoint, text: str, tag: ApiCall) -> Iterator[Finding]:
    policy = checkpoint.role("policy")
    where = model.range_of(tag.node)
    asks = model.range_of(policy.node) if policy is not None and policy.model is model else None
    known = parameters(model, checkpoint)
    function = f"`{known.display}`" if known is not None and known.function.name != "lambda" else "the function"
    if where is not None:
        yield Finding(
            NAME,
            where,
            f'"{text}" is given outside of {function}, whose policy sees only what is computed inside, so nothing is '
            "saved; name the value inside",
            Severity.WARNING,
            silent(model, "arguments are stored whatever their names, and the rest is recomputed"),
            (Related(asks, f'this policy asks for "{text}"'),) if asks is not None else (),
        )


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name

policy = jax.checkpoint_policies.save_only_these_names("hidden")


def layer(w, x):
    return jnp.sum(jnp.cos(jnp.sin(x @ w)))


block = jax.checkpoint(layer, policy=policy)


def loss(w, x):
    return block(w, checkpoint_name(jnp.exp(x), "hidden"))


w, x = jnp.ones((3, 3)), jnp.ones((2, 3))
jax.grad(loss)(w, x)
saved = [source for _, source in saved_residuals(block, w, x) if "argument" not in source]
"""

RULE = Rule(
    code="JXP306",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint name",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("jnp.cos(jnp.sin(x @ w))", 'jnp.cos(checkpoint_name(jnp.sin(x @ w), "hidden"))').replace(
                'checkpoint_name(jnp.exp(x), "hidden"))', "jnp.exp(x))"
            ),
            proof=Silent("not saved"),
        ),
    ),
    check=check,
)
