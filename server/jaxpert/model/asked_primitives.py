"""Primitives that a policy is asked about, as values: how a policy's tests come out for each of them.

A :class:`Question` is one call that JAX makes: ``policy(prim, *avals, **params)``. Given its values for the policy's
parameters, the evaluator decides comparisons that are open for any primitive: ``prim.name == "dot_general"``,
``prim is jax.lax.dot_general_p``, ``params["name"] in names``.
"""

from __future__ import annotations

import ast
from dataclasses import field

from jaxpert.model.values import (
    PRIMITIVE_NAME,
    PRIMITIVE_PARAMETERS,
    UNKNOWN,
    EnumMember,
    Literal,
    Sequence,
    Symbol,
    Table,
    Typed,
    Value,
    string,
)
from jaxpert.records import dataclass

DOT, CONVOLUTION, NAME = "dot_general", "conv_general_dilated", "name"
"""What JAX calls the primitives of matrix products, convolutions and ``checkpoint_name``."""

_OPERANDS = {DOT: 2, CONVOLUTION: 2, NAME: 1}


@dataclass(frozen=True, slots=True)
class Question:
    """What JAX asks a policy about.

    Attributes:
        primitive: the primitive's name; "" for any that is not in ``not_primitives``.
        batched: whether a matrix product has batch dimensions.
        tag: of ``name``, the checkpoint name; "" for any that is not in ``not_tags``.
    """

    primitive: str = ""
    batched: bool = False
    tag: str = ""
    not_primitives: frozenset[str] = frozenset()
    not_tags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class AskedPrimitive(Typed):
    """The primitive of a question. Its ``type`` is "primitive"."""

    question: Question = field(default_factory=Question)


@dataclass(frozen=True, slots=True, eq=False)
class OtherText(Typed):
    """A string of which only is known that it is none of ``not_among``."""

    not_among: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class OtherParameters(Typed):
    """The parameters of a primitive of which only is known that ``name`` is not among them."""

    lacks: frozenset[str] = frozenset({"name"})


def primitive_of(question: Question) -> AskedPrimitive:
    """What a policy's first parameter is."""
    return AskedPrimitive("primitive", question)


def name_of(asked: AskedPrimitive) -> Value:
    """``prim.name``, which is also ``str(prim)``."""
    question = asked.question
    return Literal(question.primitive) if question.primitive else OtherText(PRIMITIVE_NAME, question.not_primitives)


def operands_of(question: Question) -> Sequence:
    """What a policy's ``*avals`` are, as far as is known: how many."""
    count = _OPERANDS.get(question.primitive)
    return Sequence("tuple", (UNKNOWN,) * (count or 0), count is not None)


def parameters_of(question: Question) -> Table | OtherParameters:
    """What a policy's ``**params`` are."""
    if question.primitive == NAME:
        tag = Literal(question.tag) if question.tag else OtherText("str", question.not_tags)
        return Table(((Literal("name"), tag),))
    if question.primitive == DOT:
        batch = Sequence("tuple", (Literal(0),) if question.batched else ())
        contracted = Sequence("tuple", (UNKNOWN, UNKNOWN))
        numbers = Sequence("tuple", (contracted, Sequence("tuple", (batch, batch))))
        rest = ("precision", "preferred_element_type", "out_sharding")
        entries = ((Literal("dimension_numbers"), numbers), *((Literal(key), UNKNOWN) for key in rest))
        return Table(entries)
    return OtherParameters(PRIMITIVE_PARAMETERS)


def asked_in(values: list[Value]) -> AskedPrimitive | None:
    """The primitive among the arguments of a call, where it comes first: ``policy(prim, …)``, ``policy(*args, …)``."""
    first = values[0] if values else None
    if isinstance(first, Sequence) and first.items:
        first = first.items[0]
    return first if isinstance(first, AskedPrimitive) else None


def compared(left: Value, operator: ast.cmpop, right: Value) -> bool | None:
    """How a comparison comes out where one side is an asked primitive or a text known by what it is not."""
    if isinstance(operator, (ast.In, ast.NotIn)):
        found = _is_among(left, right)
        return None if found is None else found is isinstance(operator, ast.In)
    if not isinstance(operator, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)):
        return None
    equal = _equal(left, right)
    if equal is None:
        equal = _equal(right, left)
    return None if equal is None else equal is isinstance(operator, (ast.Eq, ast.Is))


def _is_among(one: Value, many: Value) -> bool | None:
    part, whole = string(one), string(many)
    if part is not None and whole is not None:
        return part in whole
    if not isinstance(one, (AskedPrimitive, OtherText)):
        if isinstance(many, OtherParameters) and string(one) in many.lacks:
            return False
        return None
    if isinstance(many, Sequence):
        members = list(many.items)
    elif isinstance(many, Table):
        members = [key for key, _ in many.entries]
    else:
        return None
    results = [_equal(one, member) for member in members]
    if True in results:
        return True
    return False if many.exact and None not in results else None


def _equal(one: Value, other: Value) -> bool | None:
    if isinstance(one, OtherText):
        text = string(other)
        if text is not None:
            return False if text in one.not_among else None
        return False if isinstance(other, (Literal, EnumMember)) else None
    if not isinstance(one, AskedPrimitive) or not isinstance(other, Symbol):
        return None
    name = primitive_called(other.path)
    if not name:
        return None
    question = one.question
    if question.primitive:
        return name == question.primitive
    return False if name in question.not_primitives else None


def primitive_called(path: str) -> str:
    """The name of the primitive that a symbol is: ``dot_general`` of ``jax.lax.dot_general_p``; "" for others."""
    last = path.rpartition(".")[2]
    return last.removesuffix("_p") if path.startswith("jax.") and last.endswith("_p") else ""
