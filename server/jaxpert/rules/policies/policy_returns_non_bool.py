"""A remat policy returns something that is neither a bool nor a rematerialization case.

## What it finds

A policy one of whose results is an int, a string, `None` written out, a tuple, list or set, a NumPy or JAX bool,
an array, what `re.match` gives, a generator or coroutine, or another policy that was not asked. Also a function that
makes policies, or a class of policies, given as the policy without being called.

## Why it matters

JAX accepts `True`, `False`, `Saveable`, `Recompute` and `Offloadable(src=…, dst=…)`, and nothing that merely
looks like them. `np.any(…)` gives a `numpy.bool_`, which is refused; `jnp.any(…)` gives a tracer. JAX raises when
the function is differentiated:

    TypeError: Value returned by a remat policy should be a bool or `ad_checkpoint.Recompute`,
    `ad_checkpoint.Saveable` or `ad_checkpoint.Offloadable(...)`. Got 1 of type <class 'int'>.

## In which versions

All. Before 0.7.1 it is an `AssertionError` without any text. With `jax_remat3` on, custom policies are not asked
about most primitives, so the mistake goes unnoticed.

## What to write instead

A comparison, `bool(…)` around a NumPy value, Python's own `any(…)` and `all(…)`, or one of the three cases.

## Known limits

Results whose type cannot be known without running the policy are not reported; neither is `a and b` unless the
value that comes out is known.

## Source

`jax/_src/interpreters/partial_eval.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import (
    CustomPolicy,
    PolicyUse,
    Result,
    about_operands,
    policy_classes,
    policy_makers,
    results,
)
from jaxpert.model.speech import at_first_grad, bad_policy_result, policy_places, raises
from jaxpert.model.values import (
    NUMPY_BOOL,
    PRIMITIVE_NAME,
    UNKNOWN,
    CallResult,
    ClassValue,
    Def,
    EnumMember,
    Literal,
    Sequence,
    Symbol,
    Table,
    Typed,
    Value,
    truth,
)
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity

NAME = "policy-returns-non-bool"

_NUMPY_BOOLS = {
    "bool_",
    "bool",
    "any",
    "all",
    "logical_and",
    "logical_or",
    "logical_not",
    "equal",
    "not_equal",
    "isin",
    "greater",
    "less",
    "greater_equal",
    "less_equal",
    "array_equal",
    "array",
    "asarray",
    "isclose",
    "in1d",
    "isfinite",
}
_PYTHON_BOOLS = {"array_equal", "allclose", "isscalar", "iterable", "issubdtype", "may_share_memory", "shares_memory"}
_WRAP = "wrap it in `bool(…)`"
_MATCHES = {f"{owner}.{name}" for owner in ("re", "re.Pattern") for name in ("match", "search", "fullmatch")}
_BAD_TYPES = {
    "int",
    "str",
    "float",
    "number",
    "list",
    "tuple",
    "set",
    "frozenset",
    "generator",
    "coroutine",
    "None",
    "range",
    "iterator",
    "map",
    "filter",
    "zip",
    "enumerate",
    "type",
}


def check(model: FileModel) -> Iterator[Finding]:
    """Results of policies that are no decision."""
    for policy in model.custom_policies:
        if policy.kind != "function":
            yield from _never_decides(model, policy)
            continue
        for result in results(policy):
            wrong = _wrong(model, result.value)
            if wrong is not None:
                shown, printed, advice = wrong
                if isinstance(result.node, ast.BoolOp):  # `a and b` gives a or b, not True or False
                    advice = "return True or False" if _is_always_true(model, policy, result) else _WRAP
                yield from _report(model, policy, result, shown, printed, advice)
    for maker in policy_makers(model):
        for use in maker.uses:
            yield from _not_called(model, maker.value, maker.model, maker.name, use)
    for use, cls in policy_classes(model):
        yield from _not_called(model, cls, cls.model or model, cls.node.name, use)


def _is_always_true(model: FileModel, policy: CustomPolicy, result: Result) -> bool:
    """Whether an ``or`` ends in something that is true: then ``bool(…)`` around it is True whatever it is about."""
    node = result.node
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, ast.Or):
        return False
    return truth(policy.model.evaluate(node.values[-1], policy.value.function.inner, result.block)) is True


def _wrong(model: FileModel, value: Value) -> tuple[str, str, str] | None:
    """What is returned in words, as JAX would print it, and what to write; None when it is or may be fine."""
    if isinstance(value, Literal) and not isinstance(value.value, bool):
        kind = type(value.value).__name__
        advice = (
            f"return `{bool(value.value)}`"
            if isinstance(value.value, (int, float)) or value.value is None
            else "return True or False"
        )
        shown = "None" if value.value is None else f"{article(kind)} {kind}"
        return shown, f"{value.value} of type <class '{kind}'>", advice
    if isinstance(value, EnumMember):
        return f"the enumeration member `{value.name}`", f"{value.name}", "return True or False"
    if isinstance(value, Sequence):
        return f"a {value.kind}", f"… of type <class '{value.kind}'>", "return True or False"
    if isinstance(value, Table):
        return "a dict", "… of type <class 'dict'>", "return True or False"
    if isinstance(value, Def):
        return (
            "a function",
            "… of type <class 'function'>",
            f"call it: `{value.name}(…)`" if value.name != "lambda" else "return its result",
        )
    if isinstance(value, Typed) and value.type == "None":
        return "None", "None of type <class 'NoneType'>", "return True or False"
    if isinstance(value, Typed) and value.type == NUMPY_BOOL:
        return "a NumPy value", "… of type <class 'numpy.bool'>", _WRAP
    if isinstance(value, Typed) and value.type in _BAD_TYPES:
        shown = f"{article(value.type)} {value.type}"
        return (
            shown,
            f"… of type <class '{value.type}'>",
            _WRAP if value.type in ("int", "str", "list", "set", "tuple") else "return True or False",
        )
    if isinstance(value, Typed) and value.type == PRIMITIVE_NAME:
        return "the name of the primitive", "… of type <class 'str'>", "compare it with the name that you mean"
    if isinstance(value, CallResult):
        return _wrong_call(model, value)
    if isinstance(value, Symbol):
        api = model.db.api(value.path)
        if api is not None and api.kind in (ApiKind.POLICY, ApiKind.POLICY_FACTORY):
            name = api.name.rpartition(".")[2]
            advice = f"ask it: `{name}(prim, *avals, **params)`"
            return f"the policy `{name}` itself", "… of type <class 'function'>", advice
    return None


def _wrong_call(model: FileModel, value: CallResult) -> tuple[str, str, str] | None:
    path = value.path
    api = model.db.api(path)
    name = path.rpartition(".")[2]
    if api is not None and api.kind is ApiKind.POLICY_FACTORY:
        advice = "ask it: `(…)(prim, *avals, **params)`"
        return f"the policy that `{name}` makes", "… of type <class 'function'>", advice
    if path in _MATCHES:
        return "a match object or None", "<re.Match object; …> of type <class 're.Match'>", _WRAP
    module = path.partition(".")[0]
    if module == "numpy" and path.count(".") == 1 and name in _NUMPY_BOOLS and name not in _PYTHON_BOOLS:
        return "a NumPy value", "… of type <class 'numpy.bool'>", _WRAP
    if path.startswith("jax.numpy.") and name in _NUMPY_BOOLS:
        return "a JAX array", "… of type <class 'jaxlib._jax.ArrayImpl'>", "use Python's own `any`, `all` and `in`"
    return None


def article(word: str) -> str:
    """ "a" or "an"."""
    return "an" if word[0] in "aeiou" else "a"


def _report(
    model: FileModel, policy: CustomPolicy, result: Result, shown: str, printed: str, advice: str
) -> Iterator[Finding]:
    here = policy.model is model
    where = model.range_of(result.node if here else policy.uses[0].argument.node)
    if where is None:
        return
    consequence, severity, exceptions = bad_policy_result(model, printed)
    yield Finding(
        NAME,
        where,
        f"policy `{policy.name}` returns {shown}: {at_first_grad(model)}; {advice}",
        severity,
        consequence,
        policy_places(model, policy, policy.model.range_of(result.node), "this is what it returns"),
        exceptions=exceptions,
    )


def _not_called(
    model: FileModel, maker: Def | ClassValue, owner: FileModel, name: str, use: PolicyUse
) -> Iterator[Finding]:
    """A function that makes policies, or a class of them: JAX cannot call it so, or gets no decision."""
    where = model.range_of(use.argument.node)
    if where is None:
        return
    node = maker.node if isinstance(maker, ClassValue) else maker.function.node
    is_lambda = isinstance(node, ast.Lambda)
    takes_keywords = not isinstance(node, ast.ClassDef) and node.args.kwarg is not None
    printed = "<function …> of type <class 'function'>"
    consequence, severity, exceptions = bad_policy_result(model, printed, unmatched=True)
    if severity is Severity.ERROR and not takes_keywords:
        called = "<lambda>" if is_lambda else name.rpartition(".")[2]
        text = f"{called}() got an unexpected keyword argument … (whatever parameter the first primitive has)"
        if isinstance(node, ast.ClassDef):
            text = f"{called}() takes no arguments, or not these"
        consequence = raises(model, "when this is differentiated", "TypeError", text)
        exceptions = ("TypeError",)
    definition = owner.range_of(node)
    related = (
        (Related(definition, f"`{name}` is defined here", "" if owner is model else owner.path),)
        if definition is not None and not is_lambda
        else ()
    )
    subject, call = ("this lambda", "call it") if is_lambda else (f"`{name}`", f"call it: `{name}(…)`")
    what = "is a class of policies" if isinstance(node, ast.ClassDef) else "makes a policy"
    yield Finding(
        NAME,
        where,
        f"{subject} {what} and is none itself: {at_first_grad(model, 'JAX calls it with a primitive and')}; {call}",
        severity,
        consequence,
        related,
        exceptions=exceptions,
    )


def _never_decides(model: FileModel, policy: CustomPolicy) -> Iterator[Finding]:
    here = policy.model is model
    where = model.range_of(policy.uses[0].argument.node)
    if where is None:
        return
    consequence, severity, exceptions = bad_policy_result(model, f"… of type <class '{policy.kind}'>")
    word = "is a generator: it contains `yield`" if policy.kind == "generator" else "is `async`"
    definition = policy.model.range_of(policy.value.function.node)
    related = (
        (Related(definition, f"`{policy.name}` is defined here", "" if here else policy.model.path),)
        if definition
        else ()
    )
    yield Finding(
        NAME,
        where,
        f"policy `{policy.name}` {word}, so calling it never gives a decision: {at_first_grad(model)}; "
        "write a plain function that returns True or False",
        severity,
        consequence,
        related,
        exceptions=exceptions,
    )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the bool, or wrap in ``bool(…)``."""
    for policy in model.custom_policies:
        if policy.model is not model:
            continue
        for result in results(policy):
            if model.range_of(result.node) != finding.range or _wrong(model, result.value) is None:
                continue
            value = result.value
            lines = model.source.lines
            if _WRAP in finding.message:
                edits = verbs.wrap_call(lines, finding.range, "bool")
                is_mostly_true = about_operands(result.node, policy) is not UNKNOWN
                safety = Safety.UNSAFE if is_mostly_true else Safety.SAFE
                return Fix("Wrap in `bool(…)`", safety, edits) if edits else None
            if (
                isinstance(value, Literal)
                and (value.value is None or isinstance(value.value, (int, float)))
                and isinstance(result.node, ast.Constant)
            ):
                edits = verbs.replace_expression(lines, finding.range, str(bool(value.value)))
                return Fix(f"Return `{bool(value.value)}`", Safety.SAFE, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp
import numpy as np


def keep_dots(prim, *_, **__):
    return np.any([prim.name == "dot_general"])


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=keep_dots)
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

RULE = Rule(
    code="JXP203",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies", "sentinel", "jax.ad_checkpoint.Offloadable"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace('np.any([prim.name == "dot_general"])', 'bool(np.any([prim.name == "dot_general"]))'),
            proof=Raises(
                "TypeError", "Value returned by a remat policy should be a bool", "grad", since="0.7.1", remat3=False
            ),
        ),
        Example(
            bad=_BAD.replace('np.any([prim.name == "dot_general"])', '1 if prim.name == "dot_general" else 0'),
            good=_BAD.replace('np.any([prim.name == "dot_general"])', 'prim.name == "dot_general"'),
            proof=Raises("TypeError", "of type <class 'int'>", "grad", since="0.7.1", remat3=False),
        ),
        Example(
            bad=_BAD.replace('np.any([prim.name == "dot_general"])', "jax.checkpoint_policies.dots_saveable"),
            good=_BAD.replace(
                "(prim, *_, **__):\n    return np.any([prim.name == \"dot_general\"])",
                "(prim, *avals, **params):\n    return jax.checkpoint_policies.dots_saveable(prim, *avals, **params)",
            ),
            proof=Raises(
                "TypeError", "Value returned by a remat policy should be a bool", "grad", since="0.7.1", remat3=False
            ),
        ),
    ),
    check=check,
    fix=fix,
)
