"""A function that returns nothing is differentiated.

## What it finds

`jax.grad`, `jax.value_and_grad`, `jax.jacrev`, `jax.jacfwd` or `jax.hessian` of a function that gives None on every
way through it: the `return` is missing, stands without a value, or returns what `print` or another such function gives.
Also where `jax.checkpoint`, `jax.jit`, `jax.vmap` or `functools.partial` stand between, and where a pair is wanted and
its first item is None.

## Why it matters

None is an empty pytree, so `jax.checkpoint` and `jax.jit` let it pass and the function can be called. JAX raises when
the gradient is asked for:

    TypeError: Gradient only defined for scalar-output functions. Output was None.

and with `has_aux=True`

    TypeError: expected function with aux output to return a two-element tuple, but got type <class 'NoneType'> with
    value None

`jax.jacrev` and `jax.hessian` say "ValueError: at least one array or dtype is required". `jax.jacfwd` says nothing and
gives None.

## In which versions

All. From 0.10.2 on `jax.jacfwd` with `has_aux=True` says "cannot unpack non-iterable NoneType object".

## What to write instead

`return jnp.sum(…)`.

## Known limits

A function that returns None on some of its ways only is left alone, as are functions with a derivative of their own and
methods with an empty body. Only the functions of JAX are known, not `equinox.filter_grad` or `flax.nnx.grad`.

## Source

`_check_scalar` in `jax/_src/api.py`, `jax/_src/interpreters/ad.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing import verbs
from jaxpert.model.arrays import Arrays
from jaxpert.model.empty_results import EmptyResult, empty_results
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises, silent
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity, Silent
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range

NAME = "gradient-of-none"

_FORWARD_UNPACKS = Version("0.10.2")
_SCALAR = "Gradient only defined for scalar-output functions. Output was None."
_PAIR = (
    "expected function with aux output to return a two-element tuple, but got type <class 'NoneType'> with value None"
)
_GRADIENTS = {"jax.grad", "jax.value_and_grad"}
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_LONGEST = 40


def check(model: FileModel) -> Iterator[Finding]:
    """Differentiated functions that return nothing."""
    for empty in empty_results(model):
        where = _place(model, empty)
        outcome = _outcome(model, empty)
        if where is not None and outcome is not None:
            yield _finding(model, empty, where, *outcome)


def _outcome(model: FileModel, empty: EmptyResult) -> tuple[str, str] | None:
    """The exception and its text, both "" where nothing is raised; None where that is not known."""
    name, has_aux = empty.api.name, empty.has_aux
    if has_aux is None and name not in _GRADIENTS:
        return None
    if has_aux is not False:
        if _is_item(empty):
            return ("TypeError", _SCALAR) if name in _GRADIENTS else None
        if name == "jax.jacfwd" and model.target.version >= _FORWARD_UNPACKS:
            return "TypeError", "cannot unpack non-iterable NoneType object"
        return "TypeError", _PAIR if has_aux else _SCALAR
    if name in _GRADIENTS:
        return "TypeError", _SCALAR
    return ("", "") if name == "jax.jacfwd" else ("ValueError", "at least one array or dtype is required")


def _is_item(empty: EmptyResult) -> bool:
    """Whether the function returns a pair, of which the first item is None."""
    node = empty.function.function.node
    return isinstance(empty.last, ast.expr) and not (isinstance(node, ast.Lambda) and empty.last is node.body)


def _place(model: FileModel, empty: EmptyResult) -> Range | None:
    """The end of the function where it is in this file, else what is differentiated."""
    if (empty.function.model or model) is model:
        return _header(model, empty.last)
    return model.range_of(empty.given)


def _header(model: FileModel, node: ast.AST) -> Range | None:
    """A statement without those inside it."""
    head = getattr(node, "test", None) or getattr(node, "iter", None) or getattr(node, "subject", None)
    if isinstance(node, (ast.With, ast.AsyncWith)):
        head = node.items[-1].context_expr
    if isinstance(node, ast.stmt) and head is not None:
        return model.source.range_between(node, head)
    area = model.range_of(node)
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Try)) and area is not None:
        line = model.source.lines[area.start.line].split("#")[0].rstrip()
        return Range(area.start, Position(area.start.line, max(len(line), area.start.column + 1)))
    return area


def _finding(model: FileModel, empty: EmptyResult, where: Range, exception: str, text: str) -> Finding:
    target = empty.function
    owner = target.model or model
    name = "the lambda" if target.name == "lambda" else f"`{target.name}`"
    what = "a pair whose first item is None" if _is_item(empty) else "None"
    computed = _computed(owner, empty)
    shown = owner.text_of(computed) if computed is not None else ""
    cure = f"write `return {shown}`" if shown and len(shown) <= _LONGEST else "return the number to differentiate"
    then = f"JAX raises {exception} when it is called" if exception else "the derivative is None"
    area = model.range_of(empty.node)
    related: tuple[Related, ...] = ()
    if owner is not model:
        there = _header(owner, empty.last)
        related = (Related(there, f"{name} ends here", owner.path),) if there is not None else ()
    elif area is not None and not (area.start <= where.start and where.end <= area.end):
        related = (Related(area, "differentiated here"),)
    return Finding(
        NAME,
        where,
        f"{name}, which `{empty.api.name}` differentiates, returns {what}: {then}; {cure}",
        Severity.ERROR if exception else Severity.WARNING,
        raises(model, "when the derivative is computed", exception, text)
        if exception
        else silent(model, "None is a tree without leaves, and so is its derivative"),
        related,
        exceptions=(exception,) if exception else (),
    )


def _computed(model: FileModel, empty: EmptyResult) -> ast.expr | None:
    """The array that the last statement computes and drops."""
    last, function = empty.last, empty.function.function
    if not isinstance(last, ast.Expr):
        return None
    is_number = isinstance(last.value, ast.BinOp)
    return last.value if is_number or Arrays(model).of(last.value, (function.inner, function.body_block)) else None


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Return what the last statement computes, or the variable that it sets."""
    for empty in model.every(empty_results):
        if _place(model, empty) != finding.range or (empty.function.model or model) is not model:
            continue
        last = empty.last
        if _computed(model, empty) is not None:
            start = finding.range.start
            return Fix("Return it", Safety.SAFE, (Edit(Range(start, start), "return "),))
        definition = model.range_of(empty.function.function.node)
        name = last.targets[-1] if isinstance(last, ast.Assign) else getattr(last, "target", None)
        if isinstance(name, ast.Name) and isinstance(last, _ASSIGNS) and definition is not None:
            returned = f"return {name.id}"
            edits = verbs.append_return(model.source.lines, definition, returned)
            return Fix(f"Add `{returned}`", Safety.UNSAFE, edits) if edits else None
    return None


_BAD = """\
import jax
import jax.numpy as jnp


@jax.checkpoint
def loss(x):
    jnp.sum(jnp.sin(x))


loss(jnp.ones(3))
STAGE = "grad"
jax.grad(loss)(jnp.ones(3))
"""

_PAIRED = """\
import jax


def loss(w):
    metrics = {"loss": w**2}


STAGE = "grad"
jax.value_and_grad(loss, has_aux=True)(1.0)
"""

_REVERSE = """\
import jax


def model(w):
    w**2


STAGE = "grad"
jax.jacrev(model)(1.0)
"""

_FORWARD = """\
import jax


def model(w):
    w**2


jacobian = jax.jacfwd(model)(1.0)
"""

RULE = Rule(
    code="JXP613",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.grad", "jax.value_and_grad", "jax.jacrev", "jax.jacfwd", "jax.hessian"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("    jnp.sum", "    return jnp.sum"),
            proof=Raises("TypeError", "Gradient only defined for scalar-output functions. Output was None.", "grad"),
        ),
        Example(
            bad=_PAIRED,
            good=_PAIRED.replace('    metrics = {"loss": w**2}', '    return w**2, {"loss": w**2}'),
            proof=Raises("TypeError", "but got type <class 'NoneType'> with value None", "grad"),
        ),
        Example(
            bad=_REVERSE,
            good=_REVERSE.replace("    w**2", "    return w**2"),
            proof=Raises("ValueError", "at least one array or dtype is required", "grad"),
        ),
        Example(
            bad=_FORWARD,
            good=_FORWARD.replace("    w**2", "    return w**2"),
            proof=Silent("jacobian is None"),
        ),
    ),
    check=check,
    fix=fix,
)
