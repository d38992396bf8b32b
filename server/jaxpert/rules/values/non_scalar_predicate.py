"""A condition is an array, or not a bool, where JAX wants one truth value.

## What it finds

Predicates of `jax.lax.cond`, conditions of `jax.lax.while_loop`, predicates of `checkify.check` and `debug_check`,
and indices of `jax.lax.switch` that are certainly arrays with axes, lists or tuples, functions, strings, None, or
numbers of a kind that is not accepted. What a parameter is, is taken from the visible calls of the function.

## Why it matters

JAX raises where the function is called or traced, each function with its own text:

    TypeError: Pred must be a scalar, got [False False  True] of shape (3,).
    TypeError: cond_fun must return a boolean scalar, but got output type(s) [ShapedArray(bool[3])].
    TypeError: check takes a scalar pred as argument, got JitTracer(bool[3])
    TypeError: Branch index must be scalar, got [0 1] of shape (2,).

## In which versions

All; before 0.7.2 tracers are shown in other words.

## What to write instead

`jnp.all(x > 0)` or `jnp.any(x > 0)`. To choose element by element: `jnp.where(x > 0, a, b)`, or `jax.vmap` around
`jax.lax.cond`. A condition of `while_loop` is a comparison: `i > 0`, not `i`.

## Known limits

`jax.lax.cond` takes numbers for truth values, `while_loop` and `check` do not. Arrays are known when the file shows
where they are made, or what is passed.

## Source

`_cond` and `while_loop` in `jax/_src/lax/control_flow`, `_check` in `jax/_src/checkify.py`; measured on 0.4.30 to
0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.fixing.imports import ensure_import
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.arrays import Arrays, Group, Known
from jaxpert.model.caller_arrays import enclosing_function, first_parameter, given_by_callers
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.values import Def, Literal, Sequence, Value, is_none
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.executed import always_runs
from jaxpert.syntax.scopes import Site
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "non-scalar-predicate"

_PREDICATES = {
    "jax.lax.cond": ("pred", "Pred must be a scalar, got {}"),
    "jax.lax.switch": ("index", "Branch index must be scalar, got {}"),
    "jax.experimental.checkify.check": ("pred", "check takes a scalar pred as argument, got {}"),
    "jax.experimental.checkify.debug_check": ("pred", "debug_check takes a scalar pred as argument, got {}"),
}
_COND_FUN = "cond_fun must return a boolean scalar, but got {}"


def check(model: FileModel) -> Iterator[Finding]:
    """Predicates, and what conditions of loops return."""
    for call in model.calls:
        if call.is_partial or not (call.api.name in _PREDICATES or call.api.name == "jax.lax.while_loop"):
            continue
        if model.is_dead(call.site.block):
            continue
        if call.api.name == "jax.lax.while_loop":
            yield from _condition(model, call)
            continue
        name, text = _PREDICATES[call.api.name]
        argument = call.arguments.get(name)
        if argument is not None and argument.model is model:
            yield from _predicate(model, call, argument, text)


def _predicate(model: FileModel, call: ApiCall, argument: Argument, text: str) -> Iterator[Finding]:
    fault = _fault_of_value(call, argument.value)
    related: tuple[Related, ...] = ()
    if fault is None:
        fault, related = _fault_of_array(model, call, argument)
    where = model.range_of(argument.node)
    if fault is None or where is None:
        return
    words, got, advice, cure = fault
    yield Finding(
        NAME,
        where,
        f"`{model.text_of(argument.node)}` is {words}, and `{call.api.name.removeprefix('jax.experimental.')}` wants "
        f"one {'integer' if call.api.name == 'jax.lax.switch' else 'truth value'}: JAX raises TypeError; {advice}",
        Severity.ERROR,
        raises(model, "when this is called or traced", "TypeError", text.format(got)),
        related,
        (("cure", cure),),
        ("TypeError",),
    )


_Fault = tuple[str, str, str, str]
"""What it is, what JAX says it got, what to write, and the function that cures it."""


def _fault_of_value(call: ApiCall, value: Value) -> _Fault | None:
    """What is no array at all."""
    wants_integer = call.api.name == "jax.lax.switch"
    if isinstance(value, Sequence) and value.kind in ("list", "tuple"):
        return f"a {value.kind}", f"… of type <class '{value.kind}'>", "write one bool, or `jnp.all(jnp.array(…))`", ""
    if isinstance(value, Literal) and isinstance(value.value, str):
        return "a string", f"{value.value} of type <class 'str'>", "compare it: `kind == ...`", ""
    if is_none(value):
        return "None", "None", "pass a bool", ""
    is_function = isinstance(value, Def) and call.api.name == "jax.lax.cond"
    if is_function and "true_fun" in call.arguments:
        return "a function", "<function …>", "call it, or pass the predicate first", ""
    if wants_integer and isinstance(value, Literal) and isinstance(value.value, (float, bool)):
        kind = "a float" if isinstance(value.value, float) else "a bool"
        return kind, f"{value.value}", "write an int", ""
    return None


def _fault_of_array(model: FileModel, call: ApiCall, argument: Argument) -> tuple[_Fault | None, tuple[Related, ...]]:
    place = (argument.site.scope, argument.site.block)
    fault = _fault(call.api.name, Arrays(model).of(argument.node, place))
    if fault is not None:
        return fault, ()
    function = enclosing_function(model, argument.site.scope)
    if function is None or not always_runs(function.node, argument.node):
        return None, ()
    for given, node in given_by_callers(model, function):
        fault = _fault(call.api.name, Arrays(model, given).of(argument.node, place))
        area = model.range_of(node)
        if fault is not None and area is not None:
            return fault, (Related(area, "here the function is called with an array"),)
    return None, ()


def _fault(name: str, found: ArrayType | None) -> _Fault | None:
    if found is None:
        return None
    if found.rank:
        shape = str(found.shape).replace("None", "…")
        axes = "an axis" if found.rank == 1 else f"{found.rank} axes"
        if name == "jax.lax.switch":
            return f"an array with {axes}", f"… of shape {shape}.", "choose one index, or use `jax.vmap`", ""
        advice = "reduce it with `jnp.all` or `jnp.any`"
        if name == "jax.lax.cond":
            return (
                f"an array with {axes}",
                f"… of shape {shape}.",
                f"{advice}, or choose by element with `jnp.where`",
                "all",
            )
        return f"an array with {axes}", "…", advice, "all"
    if found.rank == 0 and "checkify" in name and found.kind in ("int", "float"):
        kind = "an integer" if found.kind == "int" else "a float"
        return f"{kind} and no bool", "…", "compare it", ""
    if found.rank == 0 and name == "jax.lax.switch" and found.kind in ("float", "bool"):
        return f"a {found.kind}", "…", "write an integer: `.astype(int)`", ""
    return None


# -- while_loop -------------------------------------------------------------------------------------------------------


def _condition(model: FileModel, call: ApiCall) -> Iterator[Finding]:
    """What the condition of a ``while_loop`` returns for the initial value."""
    function, start = call.arguments.get("cond_fun"), call.arguments.get("init_val")
    target = function.value if function is not None else None
    if not isinstance(target, Def) or target.model is not model:
        return
    unreturned = _unreturned(target)
    if unreturned is not None:
        yield from _returns_nothing(model, call, unreturned)
        return
    ends = _only_result(target)
    known = Arrays(model).known(start.node, (start.site.scope, start.site.block)) if start is not None else None
    if known is None and start is not None and isinstance(start.value, Sequence):
        found = [Arrays(model).value(item) for item in start.value.items]
        known = Group(tuple(found)) if start.value.exact else None
    where = model.range_of(ends.node) if ends is not None and isinstance(ends.node, ast.expr) else None
    if ends is None or where is None or not isinstance(ends.node, ast.expr):
        return
    given = first_parameter(target, known) if known is not None else {}
    fault = _fault_of_result(model, ends, Arrays(model, given).known(ends.node, (ends.scope, ends.block)))
    if fault is None:
        return
    words, got, advice, cure = fault
    area = model.range_of(call.node)
    yield Finding(
        NAME,
        where,
        f"the condition of `jax.lax.while_loop` returns {words} and must return one bool: JAX raises TypeError; "
        f"{advice}",
        Severity.ERROR,
        raises(model, "when the loop is called or traced", "TypeError", _COND_FUN.format(got)),
        (Related(area, "the loop is here"),) if area is not None and not (area.start <= where.start < area.end) else (),
        (("cure", cure),),
        ("TypeError",),
    )


def _unreturned(target: Def) -> ast.expr | None:
    """The comparison with which a function ends that returns nothing at all."""
    function = target.function
    if isinstance(function.node, ast.Lambda) or function.returns or function.is_generator:
        return None
    last = function.node.body[-1]
    is_condition = isinstance(last, ast.Expr) and isinstance(last.value, (ast.Compare, ast.BoolOp))
    return last.value if is_condition and isinstance(last, ast.Expr) else None


def _returns_nothing(model: FileModel, call: ApiCall, node: ast.expr) -> Iterator[Finding]:
    where, area = model.range_of(node), model.range_of(call.node)
    if where is None:
        return
    yield Finding(
        NAME,
        where,
        f"the condition of `jax.lax.while_loop` ends with `{model.text_of(node)}` and returns None: JAX raises "
        "TypeError; write `return` before it",
        Severity.ERROR,
        raises(model, "when the loop is called or traced", "TypeError", _COND_FUN.format("pytree PyTreeDef(None).")),
        (Related(area, "the loop is here"),) if area is not None else (),
        (("cure", "return"),),
        ("TypeError",),
    )


def _only_result(target: Def) -> Site | None:
    """The expression that a function always returns; None when there are several."""
    function = target.function
    if isinstance(function.node, ast.Lambda):
        return Site(function.node.body, function.inner, function.body_block)
    returns = function.returns
    if len(returns) != 1 or returns[0][0].value is None or returns[0][1] is not function.body_block:
        return None
    return Site(returns[0][0].value, function.inner, returns[0][1])


def _fault_of_result(model: FileModel, site: Site, found: Known | None) -> _Fault | None:
    assert isinstance(site.node, ast.expr)
    value = model.evaluate(site.node, site.scope, site.block)
    if isinstance(value, Sequence) and value.kind in ("tuple", "list"):
        stars = ", ".join("*" * len(value.items)) + ("," if len(value.items) == 1 else "")
        return f"a {value.kind}", f"pytree PyTreeDef(({stars})).", "return the comparison alone", ""
    if is_none(value):
        return "None", "pytree PyTreeDef(None).", "return the comparison", ""
    if not isinstance(found, ArrayType):
        return None
    if found.rank:
        shape = ",".join("…" if size is None else str(size) for size in found.shape or ())
        got = f"output type(s) [ShapedArray({found.kind or '…'}[{shape}])]."
        return "an array with axes", got, "reduce it with `jnp.all` or `jnp.any`", "all"
    if found.rank == 0 and found.kind in ("int", "float", "complex"):
        kind = "an integer" if found.kind == "int" else f"a {found.kind}"
        return kind, f"output type(s) [ShapedArray({found.kind}32[])].", "return a comparison: `… > 0`", ""
    return None


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Reduce the predicate with ``jnp.all``, or return it."""
    if finding.datum("cure") == "return":
        start = Range(finding.range.start, finding.range.start)
        return Fix("Return it", Safety.SAFE, (Edit(start, "return "),))
    if finding.datum("cure") != "all":
        return None
    module = ensure_import(model.source.lines, "import jax.numpy as jnp", finding.range.start, model.source)
    if module is None:
        return None
    edits = verbs.wrap_call(model.source.lines, finding.range, f"{module.name}.all")
    return Fix("Reduce it with `jnp.all`", Safety.UNSAFE, (*module.edits, *edits)) if edits else None


_COND = """\
import jax
import jax.numpy as jnp

x = jnp.array([-1.0, 0.0, 1.0])
STAGE = "call"
jax.lax.cond(x > 0, lambda: 1.0, lambda: 2.0)
"""

_WHILE = """\
import jax
import jax.numpy as jnp

STAGE = "call"
jax.lax.while_loop(lambda x: x < 5, lambda x: x + 1, jnp.ones(3))
"""

_COUNTER = """\
import jax

STAGE = "call"
jax.lax.while_loop(lambda i: i, lambda i: i - 1, 3)
"""

_CHECK = """\
import jax
import jax.numpy as jnp
from jax.experimental import checkify


def log(x):
    checkify.check(x > 0, "must be positive")
    return jnp.log(x)


STAGE = "call"
checkify.checkify(jax.jit(log))(jnp.ones(3))
"""

RULE = Rule(
    code="JXP606",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.lax.cond", "jax.lax.while_loop"),
    examples=(
        Example(
            bad=_COND,
            good=_COND.replace("x > 0", "jnp.all(x > 0)"),
            proof=Raises("TypeError", "Pred must be a scalar, got", "call"),
        ),
        Example(
            bad=_WHILE,
            good=_WHILE.replace("x < 5", "jnp.all(x < 5)"),
            proof=Raises("TypeError", "cond_fun must return a boolean scalar, but got output type(s)", "call"),
        ),
        Example(
            bad=_COUNTER,
            good=_COUNTER.replace("lambda i: i,", "lambda i: i > 0,"),
            proof=Raises("TypeError", "cond_fun must return a boolean scalar, but got output type(s)", "call"),
        ),
        Example(
            bad=_CHECK,
            good=_CHECK.replace("x > 0", "jnp.all(x > 0)"),
            proof=Raises("TypeError", "check takes a scalar pred as argument, got", "call"),
        ),
    ),
    check=check,
    fix=fix,
)
