"""`Saveable` or `Recompute` is used as if it were a class.

## What it finds

`Saveable()` and `Recompute()`; `isinstance(answer, Recompute)`, also with a tuple; `issubclass`; and
`case Recompute():` in a `match`. By whatever name they were imported, in policies and elsewhere.

## Why it matters

The two are objects: there is one of each, and a policy returns it as it is. JAX raises when the policy is asked,
that is, when the function is differentiated:

    TypeError: 'SaveableType' object is not callable
    TypeError: isinstance() arg 2 must be a type, a tuple of types, or a union

## In which versions

All releases from 0.4.30 on: both have always been objects. `Offloadable` is a class and is called. With `jax_remat3`
on, custom policies are not asked before 0.12.

## What to write instead

`return Saveable`, and `answer is Recompute` or `answer in (Recompute, Saveable)`.

## Known limits

Types that are passed to `isinstance` in a variable are followed, other ways of asking for a type are not.

## Source

`jax/_src/interpreters/partial_eval.py`; measured on 0.4.30 to 0.12.0.1. The public error page about policies checks
answers by `isinstance(…, (Recompute, Saveable))`, which raises.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.file_model import FileModel
from jaxpert.model.policy_expressions import trees_about_policies
from jaxpert.model.speech import at_first_grad, raised_in_policy, raises
from jaxpert.model.values import Sequence, Symbol, Value
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Rule, Safety, Severity
from jaxpert.syntax.scopes import Block, CallSite, TreeIndex, scope_of

NAME = "sentinel-called"

_TESTS = ("isinstance", "issubclass")


def check(model: FileModel) -> Iterator[Finding]:
    """Calls of the two, then tests of types that name them, then patterns."""
    for site, value in model.callees.calls:
        name = _sentinel(model, value)
        if name and not model.is_dead(site.block):
            text = f"'{name}Type' object is not callable"
            message = f"`{name}` is an object already and cannot be called"
            advice = f"write `{model.text_of(site.node.func)}` without parentheses"
            yield from _report(model, site.node, site.block, message, text, advice)
    for tree in trees_about_policies(model):
        yield from _tests(model, tree)
        yield from _patterns(model, tree)


def _sentinel(model: FileModel, value: Value) -> str:
    """"Saveable" or "Recompute" when ``value`` is that; else ""."""
    api = model.db.api(value.path) if isinstance(value, Symbol) else None
    return api.name.rpartition(".")[2] if api is not None and api.kind is ApiKind.SENTINEL else ""


def _tests(model: FileModel, tree: TreeIndex) -> Iterator[Finding]:
    for site in tree.calls:
        name = _test_of(site)
        if not name or model.is_dead(site.block):
            continue
        found = _named_types(model, site)
        if found:
            text = f"{name}() arg 2 must be a type, a tuple of types, or a union"
            if name == "issubclass":
                text = "issubclass() arg 2 must be a class, a tuple of classes, or a union"
            message = f"`{found[0]}` is an object and no class"
            yield from _report(model, site.node, site.block, message, text, f"write `{_compared(model, site)}`")


def _test_of(site: CallSite) -> str:
    func = site.node.func
    if not isinstance(func, ast.Name) or func.id not in _TESTS or len(site.node.args) != 2:
        return ""
    return func.id if site.scope.lookup(func.id) is None else ""


def _named_types(model: FileModel, site: CallSite) -> list[str]:
    """The sentinels among the classes that a test names."""
    value = model.evaluate(site.node.args[1], site.scope, site.block)
    named: list[str] = []
    for option in value.options():
        members = option.items if isinstance(option, Sequence) else (option,)
        named.extend(name for member in members for one in member.options() if (name := _sentinel(model, one)))
    return named


def _compared(model: FileModel, site: CallSite) -> str:
    """The test as it should be."""
    given, classes = site.node.args
    if isinstance(classes, ast.Tuple):
        values = [model.evaluate(one, site.scope, site.block) for one in classes.elts]
        ours = [model.text_of(one) for one, value in zip(classes.elts, values) if _sentinel(model, value)]
        others = [model.text_of(one) for one, value in zip(classes.elts, values) if not _sentinel(model, value)]
        if ours and others:  # classes are no answers, and the sentinels are no classes
            test = f"is {ours[0]}" if len(ours) == 1 else f"in ({', '.join(ours)})"
            kept = others[0] if len(others) == 1 else f"({', '.join(others)})"
            return f"{model.text_of(given)} {test} or isinstance({model.text_of(given)}, {kept})"
    operator = "in" if isinstance(model.evaluate(classes, site.scope, site.block), Sequence) else "is"
    if isinstance(classes, ast.Tuple) and len(classes.elts) == 1:
        operator, classes = "is", classes.elts[0]
    return f"{model.text_of(given)} {operator} {model.text_of(classes)}"


def _patterns(model: FileModel, tree: TreeIndex) -> Iterator[Finding]:
    for statement, block in tree.block_of.items():
        if not isinstance(statement, ast.Match) or model.is_dead(block):
            continue
        for case in statement.cases:
            for pattern in ast.walk(case.pattern):
                if isinstance(pattern, ast.MatchClass):
                    name = _sentinel(model, model.evaluate(pattern.cls, scope_of(block), block))
                    if name:
                        message = f"`{name}` is an object and no class, and cannot be a pattern with parentheses"
                        text, advice = "called match pattern must be a class", f"compare by `is {name}`"
                        yield from _report(model, pattern, block, message, text, advice)


def _report(
    model: FileModel, node: ast.AST, block: Block, message: str, text: str, advice: str
) -> Iterator[Finding]:
    where = model.range_of(node)
    if where is None:
        return
    policies = {id(policy.value.function.node) for policy in model.custom_policies if policy.model is model}
    asked = any(id(outer.owner) in policies for outer in block.enclosing())
    consequence, severity, exceptions = raised_in_policy(model, "TypeError", text)
    if not asked:
        consequence, severity = raises(model, "when this runs", "TypeError", text), Severity.ERROR
    effect = at_first_grad(model, "it") if asked else "it raises here"
    yield Finding(
        NAME, where, f"{message}: {effect}; {advice}", severity, consequence, exceptions=exceptions or ("TypeError",)
    )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Drop the parentheses, or compare by identity."""
    lines = model.source.lines
    for site, value in model.callees.calls:
        if model.range_of(site.node) == finding.range and _sentinel(model, value):
            edits = verbs.uncall(lines, finding.range)
            return Fix(f"Write `{model.text_of(site.node.func)}`", Safety.SAFE, edits) if edits else None
    for tree in model.trees:
        for site in tree.calls:
            if model.range_of(site.node) != finding.range or not _test_of(site):
                continue
            named, classes = _named_types(model, site), site.node.args[1]
            elements = len(classes.elts) if isinstance(classes, (ast.Tuple, ast.List)) else 1
            if _test_of(site) != "isinstance" or len(named) != elements:
                return None  # other classes are asked for as well
            new = _compared(model, site)
            edits = verbs.replace_expression(lines, finding.range, new)
            return Fix(f"Write `{new}`", Safety.SAFE, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import Recompute, Saveable


def keep_dots(prim, *_, **__):
    return Saveable() if prim.name == "dot_general" else Recompute


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=keep_dots)
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

_TEST = """\
from jax.ad_checkpoint import Recompute, Saveable

answer = Recompute
STAGE = "call"
assert isinstance(answer, (Recompute, Saveable))
"""

RULE = Rule(
    code="JXP215",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("sentinel",),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("Saveable()", "Saveable"),
            proof=Raises("TypeError", "'SaveableType' object is not callable", "grad", remat3=False),
        ),
        Example(
            bad=_TEST,
            good=_TEST.replace("isinstance(answer, (Recompute, Saveable))", "answer in (Recompute, Saveable)"),
            proof=Raises("TypeError", "isinstance() arg 2 must be a type", "call"),
        ),
    ),
    error_texts=(
        "TypeError: 'RecomputeType' object is not callable",
    ),
    check=check,
    fix=fix,
)
