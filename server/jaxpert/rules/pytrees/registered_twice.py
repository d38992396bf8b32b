"""A class is registered as a pytree a second time.

## What it finds

Two registrations of one class that both run: two calls, two decorators, or a decorator and a call. Also registrations
of types that JAX has registered itself: `dict`, `list`, `tuple`, `None`, `OrderedDict`, `defaultdict` and
`jax.tree_util.Partial`.

## Why it matters

JAX has one registry for the whole process:

    ValueError: Duplicate custom PyTreeDef type registration for <class '__main__.Params'>.

## In which versions

All.

## What to write instead

Keep one of the two. To treat a built-in container in another way, use `is_leaf`, or a subclass of your own: for JAX
a subclass of a registered class is not registered.

## Known limits

Registrations in different functions, or in different arms of an `if`, are not compared: both need not run. Nor are
those in other files.

## Source

`jaxlib/pytree.cc`; measured on 0.4.30 to 0.12.0.1. Named tuples may be registered once: then the registration counts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.registrations import Registration, called_lambdas, registrations
from jaxpert.model.speech import raises
from jaxpert.model.values import ClassValue, Symbol
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.scopes import Block
from jaxpert.text.lines import Range

NAME = "registered-twice"

_BUILTIN = {
    "builtins.dict": "dict", "builtins.list": "list", "builtins.tuple": "tuple",
    "collections.OrderedDict": "collections.OrderedDict", "collections.defaultdict": "collections.defaultdict",
    "jax.tree_util.Partial": "jax.tree_util.Partial", "types.NoneType": "NoneType",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Case:
    """The second of two registrations; ``first`` is None where JAX itself has done the first."""

    second: Registration
    first: Registration | None
    where: Range
    name: str


def check(model: FileModel) -> Iterator[Finding]:
    """Registrations that are not the first of their class."""
    for case in _cases(model):
        related: tuple[Related, ...] = ()
        cure = "JAX looks into it anyway"
        if case.first is not None:
            area = model.range_of(case.first.node)
            related = (Related(area, "the first registration"),) if area is not None else ()
            cure = "keep one of the two"
        yield Finding(
            NAME, case.where, f"`{case.name}` is registered already, and a second time raises: {cure}", Severity.ERROR,
            raises(
                model, "where this runs", "ValueError",
                f"Duplicate custom PyTreeDef type registration for <class '{case.name}'>.",
            ),
            related, exceptions=("ValueError",),
        )  # fmt: skip


def _cases(model: FileModel) -> Iterator[_Case]:
    seen: dict[tuple[int, int], Registration] = {}
    for registration in sorted(registrations(model), key=lambda one: _order(model, one)):
        where = model.range_of(registration.node)
        if where is None or model.is_dead(registration.site.block):
            continue
        cls = registration.cls
        if isinstance(cls, Symbol) and cls.path in _BUILTIN:
            yield _Case(registration, None, where, _BUILTIN[cls.path])
        if not isinstance(cls, ClassValue) or cls.site is None or cls.model is not model:
            continue
        for suite in _suites(registration.site.block):
            first = seen.get((id(cls.scope), suite))
            if first is not None and first.node is not registration.node:
                yield _Case(registration, first, where, cls.node.name)
                break
        else:
            seen[id(cls.scope), _suite(registration.site.block)] = registration
    for lambda_call, registration in called_lambdas(model):
        where = model.range_of(lambda_call)
        if where is not None and isinstance(registration.cls, ClassValue):
            yield _Case(registration, registration, where, registration.cls.node.name)


def _order(model: FileModel, registration: Registration) -> tuple[int, int, int]:
    """Decorators run from the lowest up, and before all that stands behind the class."""
    area = model.range_of(registration.node)
    line, column = (area.start.line, area.start.column) if area is not None else (0, 0)
    cls = registration.cls
    if registration.by_decorator and isinstance(cls, ClassValue) and cls.model is not None:
        body = cls.model.range_of(cls.node)
        if body is not None:
            return body.start.line, -line, column
    return line, 0, column


def _suites(block: Block) -> Iterator[int]:
    """The suites around a place that run whenever the place does."""
    for around in block.enclosing():
        yield _suite(around)
        if isinstance(around.owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return


def _suite(block: Block) -> int:
    return id(block.tree.top) if block is block.tree.root else id(block)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Take away a second statement that does nothing else."""
    for case in model.every(_cases):
        statement = getattr(case.second.site, "statement", None)
        if case.where != finding.range or case.second.by_decorator or not isinstance(statement, ast.Expr):
            continue
        area = model.range_of(statement)
        if statement.value is not case.second.node or area is None or case.first is case.second:
            return None
        edits = verbs.replace_expression(model.source.lines, area, "pass")
        return Fix("Take away the second registration", Safety.UNSAFE, edits) if edits else None
    return None


_BAD = """\
import jax

STAGE = "call"


class Params:
    def __init__(self, w):
        self.w = w


jax.tree_util.register_pytree_node(Params, lambda p: ((p.w,), None), lambda _, children: Params(*children))
jax.tree_util.register_pytree_node(Params, lambda p: ((p.w,), None), lambda _, children: Params(*children))
"""

_BUILTIN_BAD = """\
import jax

STAGE = "call"
jax.tree_util.register_pytree_node(dict, lambda d: (d.values(), tuple(d)), lambda keys, values: dict(zip(keys, values)))
"""

RULE = Rule(
    code="JXP511",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "jax.tree_util.register_pytree_node",
        "jax.tree_util.register_pytree_node_class",
        "jax.tree_util.register_pytree_with_keys",
        "jax.tree_util.register_pytree_with_keys_class",
        "jax.tree_util.register_dataclass",
        "jax.tree_util.register_static",
    ),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD[: _BAD.rindex("jax.tree_util")],
            proof=Raises("ValueError", "Duplicate custom PyTreeDef type registration for <class '__main__.Params'>."),
        ),
        Example(
            bad=_BUILTIN_BAD,
            good="import jax\n\nresult = jax.tree.leaves({1: 2})\n",
            proof=Raises("ValueError", "Duplicate custom PyTreeDef type registration for <class 'dict'>."),
        ),
    ),
    check=check,
    fix=fix,
)
