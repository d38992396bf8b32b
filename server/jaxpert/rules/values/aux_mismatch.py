"""`has_aux` of `jax.grad` or `jax.value_and_grad` and what the function returns do not belong together.

## What it finds

With `has_aux=True`: a function that returns anything but a pair, such as three values or one value. Without it: a
function given to `jax.grad` or `jax.value_and_grad` that returns a tuple, a list or a dictionary. And a result taken
apart into the wrong number of names: `loss, aux, grads = jax.value_and_grad(f, has_aux=True)(w)`. A function that
returns nothing is reported by *gradient-of-none*.

## Why it matters

JAX raises at the call:

    TypeError: expected function with aux output to return a two-element tuple, but got type <class 'tuple'> with
    value …
    TypeError: Gradient only defined for scalar-output functions. Output was (…).
    ValueError: not enough values to unpack (expected 3, got 2)

## In which versions

All. From 0.10.2 on `jax.jacfwd` says "too many values to unpack (expected 2)" (a ValueError) for three values.

## What to write instead

Return `loss, aux`, where `aux` may be a tuple or a dictionary: `return loss, (logits, state)`; and take it apart as
`(loss, aux), grads = …`.

## Known limits

A result is judged when every way through the function returns something that is known.

## Source

`value_and_grad` in `jax/_src/api.py`, `jax/_src/interpreters/ad.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.model.array_makers import ArrayType
from jaxpert.model.arrays import Arrays
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.transformed_calls import TransformedCall, applications, results, transformed_calls
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import UNKNOWN, Def, Literal, Partial, Sequence, Table, Value, is_none, truth
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "aux-mismatch"

_FORWARD_UNPACKS = Version("0.10.2")
_PAIR = "expected function with aux output to return a two-element tuple, but got type {} with value …"
_GRADIENTS = {"jax.grad", "jax.value_and_grad"}
_NEVER_TUPLES = (ast.Sub, ast.Div, ast.Pow, ast.MatMult, ast.FloorDiv)


def check(model: FileModel) -> Iterator[Finding]:
    """Results of differentiated functions, and what callers make of them."""
    for made_by in applications(model):
        if "differentiates" in made_by.api.traits and not model.is_dead(made_by.site.block):
            yield from _result(model, made_by)
    for call in transformed_calls(model):
        if call.api.name in _GRADIENTS and not model.is_dead(call.site.block):
            yield from _unpacked(model, call)


def _has_aux(made_by: Checkpoint) -> bool | None:
    call = made_by.call
    if call is None:
        return False
    argument = call.arguments.get("has_aux")
    if call.opened:
        return None
    return truth(argument.value) if argument is not None else False


def _result(model: FileModel, made_by: Checkpoint) -> Iterator[Finding]:
    target = made_by.target
    while isinstance(target, Partial):
        target = target.target
    has_aux = _has_aux(made_by)
    if not isinstance(target, Def) or has_aux is None or (not has_aux and made_by.api.name not in _GRADIENTS):
        return
    if any(_changes_result(target, made_by)):
        return
    if target.owner is not None and len(target.function.returns) == 0:
        return  # a method that subclasses give its body
    faults = [(value, _fault(target.model or model, target, value, has_aux)) for value in results(model, target)]
    if not faults or any(fault is None for _, fault in faults):
        return
    if all(is_none(value) for value, _ in faults):
        return  # *gradient-of-none* speaks of it
    value, fault = faults[0]
    assert fault is not None
    where = _place(model, made_by, value)
    if where is None:
        return
    kind, text = fault
    exception = "TypeError"
    if has_aux and made_by.api.name == "jax.jacfwd" and model.target.version >= _FORWARD_UNPACKS:
        exception, text = "ValueError", "too many values to unpack (expected 2)"
    name = "the lambda" if target.name == "lambda" else f"`{target.name}`"
    advice = (
        "return the value and one more thing: `loss, (a, b)`"
        if has_aux and kind.startswith("a tuple")
        else "return a pair, or drop `has_aux`"
        if has_aux
        else "return one scalar, or say `has_aux=True`"
    )
    area = model.range_of(made_by.node)
    inside = area is not None and area.start <= where.start and where.end <= area.end
    wanted = "with `has_aux=True` " if has_aux else "without `has_aux` "
    yield Finding(
        NAME,
        where,
        f"{wanted}`{made_by.api.name}` wants {'a pair' if has_aux else 'one scalar'} of {name}, which returns {kind}: "
        f"JAX raises {exception} when it is called; {advice}",
        Severity.ERROR,
        raises(model, "when the function is called", exception, text),
        (Related(area, "differentiated here"),) if area is not None and not inside else (),
        exceptions=(exception,),
    )


def _changes_result(target: Def, made_by: Checkpoint) -> Iterator[bool]:
    """Whether decorators other than this one stand on the function."""
    for decorator in getattr(target.function.node, "decorator_list", ()):
        yield decorator is not made_by.node


def _place(model: FileModel, made_by: Checkpoint, value: Value) -> Range | None:
    """The result where it is written in this file, else the place where the function is differentiated."""
    site = value.site
    if value.model is model and site is not None and isinstance(site.node, (ast.expr, ast.Return)):
        return model.range_of(site.node)
    return model.range_of(made_by.node)


def _fault(model: FileModel, target: Def, value: Value, has_aux: bool) -> tuple[str, str] | None:
    """What a result is, and JAX's text about it; None when it is fine, or not known."""
    if isinstance(value, Sequence):
        if value.kind not in ("tuple", "list") or not value.exact:
            return None
        if has_aux and len(value.items) == 2:
            return None
        count = {1: "one item", 2: "two items"}.get(len(value.items), f"{len(value.items)} items")
        got = f"<class '{value.kind}'>"
        return f"a {value.kind} of {count}", _PAIR.format(got) if has_aux else _scalar("(…)")
    if isinstance(value, Table):
        return "a dictionary", _PAIR.format("<class 'dict'>") if has_aux else _scalar("{…}")
    if is_none(value):
        return "None", _PAIR.format("<class 'NoneType'>") if has_aux else _scalar("None")
    if not has_aux:
        return None
    is_number = isinstance(value, Literal) and isinstance(value.value, (int, float))
    return ("one value", _PAIR.format("…")) if is_number or _is_array(model, target, value) else None


def _scalar(shown: str) -> str:
    return f"Gradient only defined for scalar-output functions. Output was {shown}."


def _is_array(model: FileModel, target: Def, value: Value) -> bool:
    """Whether a result is certainly one array."""
    if value is not UNKNOWN:
        return isinstance(Arrays(model).value(value), ArrayType)
    function = target.function
    nodes = (
        [(function.node.body, function.body_block)]
        if isinstance(function.node, ast.Lambda)
        else [(one.value, block) for one, block in function.returns]
    )
    if len(nodes) != 1 or nodes[0][0] is None:
        return False
    node, block = nodes[0]
    if isinstance(node, ast.BinOp) and isinstance(node.op, _NEVER_TUPLES):
        return True
    return node is not None and Arrays(model).of(node, (function.inner, block)) is not None


def _unpacked(model: FileModel, call: TransformedCall) -> Iterator[Finding]:
    """``a, b, c = jax.value_and_grad(f)(x)``: the result is always a pair."""
    statement = call.site.statement
    is_pair = call.api.name == "jax.value_and_grad" or _has_aux(call.made_by) is True
    if not is_pair or _has_aux(call.made_by) is None:
        return
    if not isinstance(statement, ast.Assign) or statement.value is not call.site.node or len(statement.targets) != 1:
        return
    target = statement.targets[0]
    if not isinstance(target, (ast.Tuple, ast.List)) or any(isinstance(one, ast.Starred) for one in target.elts):
        return
    count = len(target.elts)
    where = model.range_of(target)
    if count == 2 or where is None:
        return
    few = f"not enough values to unpack (expected {count}, got 2)"
    text = few if count > 2 else "too many values to unpack (expected 1)"
    has_aux = _has_aux(call.made_by)
    shape = (
        "`(value, aux), grads`"
        if call.api.name == "jax.value_and_grad" and has_aux
        else "`value, grads`"
        if call.api.name == "jax.value_and_grad"
        else "`grads, aux`"
    )
    yield Finding(
        NAME,
        where,
        f"`{call.api.name}` gives a pair, and here are {count} names: Python raises ValueError; "
        f"take it apart as {shape}",
        Severity.ERROR,
        raises(model, "at this assignment", "ValueError", text),
        data=(("unpack", "nested" if count == 3 and has_aux and call.api.name == "jax.value_and_grad" else ""),),
        exceptions=("ValueError",),
    )


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Put the value and its companion into parentheses."""
    if finding.datum("unpack") != "nested":
        return None
    for call in model.every(transformed_calls):
        statement = call.site.statement
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if isinstance(target, ast.Tuple) and model.range_of(target) == finding.range and len(target.elts) == 3:
            first, second = model.range_of(target.elts[0]), model.range_of(target.elts[1])
            if first is None or second is None:
                return None
            edits = (Edit(Range(first.start, first.start), "("), Edit(Range(second.end, second.end), ")"))
            return Fix("Take the value and aux as a pair", Safety.SAFE, edits)
    return None


_TRIPLE = """\
import jax


def loss(w):
    return w**2, w, 1.0


STAGE = "call"
jax.grad(loss, has_aux=True)(1.0)
"""

_NO_PAIR = """\
import jax


def loss(w):
    return w**2


STAGE = "call"
jax.grad(loss, has_aux=True)(1.0)
"""

_MISSING = """\
import jax


def loss(w):
    return w**2, w


STAGE = "call"
jax.value_and_grad(loss)(1.0)
"""

_UNPACKED = """\
import jax


def loss(w):
    return w**2, w


STAGE = "call"
value, aux, grads = jax.value_and_grad(loss, has_aux=True)(1.0)
"""

RULE = Rule(
    code="JXP611",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.grad", "jax.value_and_grad"),
    examples=(
        Example(
            bad=_TRIPLE,
            good=_TRIPLE.replace("w, 1.0", "(w, 1.0)"),
            proof=Raises("TypeError", "expected function with aux output to return a two-element tuple", "call"),
        ),
        Example(
            bad=_NO_PAIR,
            good=_NO_PAIR.replace(", has_aux=True", ""),
            proof=Raises("TypeError", "expected function with aux output to return a two-element tuple", "call"),
        ),
        Example(
            bad=_MISSING,
            good=_MISSING.replace("(loss)", "(loss, has_aux=True)"),
            proof=Raises("TypeError", "Gradient only defined for scalar-output functions. Output was (", "call"),
        ),
        Example(
            bad=_UNPACKED,
            good=_UNPACKED.replace("value, aux, grads", "(value, aux), grads"),
            proof=Raises("ValueError", "not enough values to unpack (expected 3, got 2)", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
