"""An object used as a remat policy cannot be hashed.

## What it finds

Callable objects whose class is a `@dataclass` that is neither `frozen` nor has `eq=False`, has an `__eq__` and no
`__hash__`, sets `__hash__ = None`, or inherits that; and frozen dataclasses that hold a list, dict or set.

## Why it matters

JAX keeps the policy among the parameters of the checkpointed function, where everything must be hashable. It raises
when the function is differentiated:

    TypeError: unhashable type: 'Policy'

## In which versions

All. From 0.7.0 on a call of the function under `jax.jit` raises as well: `As of JAX v0.7, parameters to jaxpr equations
must have __hash__ and __eq__ methods`. With `jax_remat3` on, nothing is raised.

## What to write instead

`@dataclasses.dataclass(frozen=True)`, with tuples and frozensets for fields; `@dataclasses.dataclass(eq=False)` where a
field has to change or to hold a list, dict or set; or a `__hash__` beside `__eq__`.

## Known limits

Classes with a base or decorator of a library that is not known are not reported.

## Source

`jax/_src/core.py`, where parameters of equations are checked; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxpert.fixing import verbs
from jaxpert.model.dataclass_fields import fields_of
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import PolicyUse
from jaxpert.model.speech import raises
from jaxpert.model.values import CallResult, ClassValue, Instance, Literal, Sequence, Symbol, Table, is_none
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Range

NAME = "policy-unhashable"

_DATACLASS = "dataclasses.dataclass"
_FROZEN, _BY_IDENTITY = "frozen=True", "eq=False"
_CONTAINERS = {
    *("builtins.list", "builtins.dict", "builtins.set", "typing.List", "typing.Dict", "typing.Set"),
    *("collections.defaultdict", "collections.OrderedDict", "collections.Counter", "collections.deque"),
}
_CHANGING = {"__hash__", "__init__", "__post_init__"}
_PLAIN_BASES = {"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"}


class _Fault(NamedTuple):
    """Why objects of a class cannot be hashed: a clause, the node that decides it and its file, what to write.

    ``option`` is what the decorator of a dataclass needs; "" where it is something else.
    """

    why: str
    node: ast.AST
    model: FileModel
    advice: str
    option: str = ""


def check(model: FileModel) -> Iterator[Finding]:
    """Objects given as policies whose class says that they have no hash."""
    seen: set[int] = set()
    for use in model.policy_uses:
        for option in use.value.options():
            if use.takes_bools or not isinstance(option, Instance) or "__call__" not in _members(model, option.cls):
                continue
            fault = _fault(model, option)
            if fault is not None and id(fault.node) not in seen:
                seen.add(id(fault.node))
                yield from _report(model, use, option, fault)


def _members(model: FileModel, cls: ClassValue, depth: int = 0) -> set[str]:
    """Names that the class and its bases bind."""
    found = set(cls.scope.bindings)
    for base in _bases(model, cls) if depth < 8 else ():
        if isinstance(base, ClassValue):
            found |= _members(base.model or model, base, depth + 1)
    return found


def _bases(model: FileModel, cls: ClassValue) -> Iterator[object]:
    owner = cls.model or model
    for base in cls.node.bases if cls.site is not None else ():
        node = base.value if isinstance(base, ast.Subscript) else base
        assert cls.site is not None
        yield from owner.evaluate(node, cls.site.scope, cls.site.block).options()


def _fault(model: FileModel, made: Instance) -> _Fault | None:
    fault = _of_class(model, made.cls)
    return fault if fault is not None else _of_fields(model, made)


def _of_class(model: FileModel, cls: ClassValue, depth: int = 0) -> _Fault | None:
    """Why no object of the class has a hash; None when it may have one."""
    owner, members, name = cls.model or model, cls.scope.bindings, cls.node.name
    if cls.node.keywords or depth > 8:
        return None
    dataclass = _dataclass(owner, cls)
    if dataclass is None:
        return None  # a decorator of which nothing is known
    decorator, options = dataclass
    if "__hash__" in members:
        last = members["__hash__"][-1]
        value = owner.evaluator.binding(last)
        if is_none(value):
            return _Fault(f"`{name}` sets `__hash__` to None", last.node, owner, "give it a `__hash__`")
        return None
    if decorator is not None:
        if options.get("unsafe_hash") is not False or options.get("eq") is not True or options.get("frozen") is None:
            return None
        if options["frozen"]:
            return None
        option = _BY_IDENTITY if _cannot_be_frozen(owner, cls) else _FROZEN
        advice = f"write `@dataclass({option})`"
        return _Fault(f"the dataclass `{name}` has no hash", decorator, owner, advice, option)
    if "__eq__" in members:
        method = members["__eq__"][-1].node
        return _Fault(f"`{name}` has `__eq__` and no `__hash__`", method, owner, "give it a `__hash__`")
    for base in _bases(owner, cls):
        if isinstance(base, ClassValue):
            return _of_class(base.model or owner, base, depth + 1)
        if not isinstance(base, Symbol) or base.path not in _PLAIN_BASES:
            return None
    return None


def _cannot_be_frozen(model: FileModel, cls: ClassValue) -> bool:
    """Whether a method assigns to a field, or a field holds a list, dict or set, which has no hash either."""
    if _assigns(cls):
        return True
    for one in (fields_of(model, cls) or {}).values():
        where = one.cls.site
        annotation = one.annotation.value if isinstance(one.annotation, ast.Subscript) else one.annotation
        if where is None:
            continue
        kinds = (one.option("default_factory"), one.model.evaluate(annotation, one.cls.scope, where.block))
        if any(isinstance(kind, Symbol) and kind.path in _CONTAINERS for kind in kinds):
            return True
    return False


def _dataclass(model: FileModel, cls: ClassValue) -> tuple[ast.expr | None, dict[str, bool | None]] | None:
    """The ``dataclass`` decorator with its options; (None, {}) without decorators; None for any other decorator."""
    found: ast.expr | None = None
    options: dict[str, bool | None] = {"eq": True, "frozen": False, "unsafe_hash": False}
    for decorator in cls.node.decorator_list:
        assert cls.site is not None
        value = model.evaluate(decorator, cls.site.scope, cls.site.block)
        if isinstance(value, Symbol) and value.path == _DATACLASS:
            found = decorator
        elif isinstance(value, CallResult) and value.path == _DATACLASS and not value.call.args:
            found = decorator
            for keyword in value.call.keywords:
                if keyword.arg is None:
                    return None
                given = model.evaluate(keyword.value, cls.site.scope, cls.site.block)
                if keyword.arg in options:
                    known = isinstance(given, Literal) and isinstance(given.value, bool)
                    options[keyword.arg] = bool(given.value) if known and isinstance(given, Literal) else None
        else:
            return None
    return found, options


def _of_fields(model: FileModel, made: Instance) -> _Fault | None:
    """A list, dict or set given to a frozen dataclass, whose hash is that of its fields."""
    owner = made.cls.model or model
    dataclass = _dataclass(owner, made.cls)
    if dataclass is None or dataclass[0] is None or not _CHANGING.isdisjoint(made.cls.scope.bindings):
        return None
    if dataclass[1] != {"eq": True, "frozen": True, "unsafe_hash": False} or made.call is None or made.site is None:
        return None
    source = made.model or model
    for given in (*made.call.args, *(keyword.value for keyword in made.call.keywords)):
        value = source.evaluate(given, made.site.scope, made.site.block)
        kind = value.kind if isinstance(value, Sequence) else "dict" if isinstance(value, Table) else ""
        if kind in ("list", "dict", "set"):
            advice = "write a frozenset" if kind == "set" else "write a tuple"
            return _Fault(f"the dataclass `{made.cls.node.name}` holds a {kind}", given, source, advice)
    return None


def _report(model: FileModel, use: PolicyUse, made: Instance, fault: _Fault) -> Iterator[Finding]:
    here, used = fault.model is model, model.range_of(use.argument.node)
    place = _range(fault.model, fault.node)
    where = place if here else used
    if where is None or used is None:
        return
    related = (Related(used, "an object of it is used as a policy here"),) if here else ()
    if not here and place is not None:
        related = (Related(place, "this is why", fault.model.path),)
    if model.target.remat3:
        return
    consequence = raises(model, "when this is differentiated", "TypeError", f"unhashable type: '{made.cls.node.name}'")
    yield Finding(
        NAME, where, f"{fault.why}, and a policy must be hashable: JAX raises at the first `grad`; {fault.advice}",
        Severity.ERROR, consequence, related, exceptions=("TypeError",),
    )  # fmt: skip


def _range(model: FileModel, node: ast.AST) -> Range | None:
    """The name of a method, or the whole of anything else."""
    area = model.range_of(node)
    if area is None or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return area
    line = model.source.lines[area.start.line]
    start = line.find(node.name, area.start.column)
    return Range(area.start._replace(column=start), area.start._replace(column=start + len(node.name)))


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Freeze the dataclass, or where that is not enough, give it the hash of an object."""
    for use in model.policy_uses:
        for option in use.value.options():
            fault = _fault(model, option) if isinstance(option, Instance) else None
            if fault is None or fault.model is not model or model.range_of(fault.node) != finding.range:
                continue
            wanted = fault.option
            if not wanted or not isinstance(option, Instance):
                return None
            name, _, setting = wanted.partition("=")
            lines = model.source.lines
            if isinstance(fault.node, ast.Call):
                given = {keyword.arg for keyword in fault.node.keywords}
                if wanted == _BY_IDENTITY and "order" in given:
                    return None  # which wants `eq`
                edits = verbs.set_keyword(lines, finding.range, name, setting)
            else:
                edits = verbs.call_expression(lines, finding.range, wanted)
            cls = option.cls.node.name
            title = f"Make `{cls}` frozen" if wanted == _FROZEN else f"Let `{cls}` be hashed by identity: `{wanted}`"
            return Fix(title, Safety.SAFE, edits) if edits else None
    return None


def _assigns(cls: ClassValue) -> bool:
    """Whether a method changes an attribute of ``self``, which a frozen dataclass refuses."""
    return any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, (ast.Store, ast.Del)) for node in ast.walk(cls.node)
    )


_BAD = """\
import dataclasses

import jax
import jax.numpy as jnp


@dataclasses.dataclass
class KeepPrimitives:
    names: tuple = ()

    def __call__(self, prim, *_, **__):
        return prim.name in self.names


def loss(w, x):
    return jnp.sum(jnp.sin(x @ w))


STAGE = "decorate"
loss_remat = jax.checkpoint(loss, policy=KeepPrimitives(("dot_general",)))
STAGE = "grad"
jax.grad(loss_remat)(jnp.ones((3, 3)), jnp.ones((2, 3)))
"""

RULE = Rule(
    code="JXP212",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("dataclasses.dataclass\n", "dataclasses.dataclass(frozen=True)\n"),
            proof=Raises("TypeError", "unhashable type: 'KeepPrimitives'", "grad", remat3=False),
        ),
    ),
    error_texts=(
        "TypeError: As of JAX v0.7, parameters to jaxpr equations must have __hash__ and __eq__ methods. …",
    ),
    check=check,
    fix=fix,
)
