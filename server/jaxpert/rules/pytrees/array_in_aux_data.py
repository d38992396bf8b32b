"""An array is part of a pytree's static data.

## What it finds

Flatten functions whose auxiliary data is or holds an array, and dataclasses registered with an array among their
static fields: `meta_fields`, `metadata=dict(static=True)`, `pytree_node=False` of `flax.struct`, `static=True` of
`equinox.field`. An attribute is known to be an array
by its annotation, by what `__init__` assigns, or by how an object is made in the file.

## Why it matters

Auxiliary data is compared with `==` whenever JAX compares two structures: at the second call of a jitted function, in
`jax.lax.scan` and `cond`, in `jax.tree.map` of two trees. Two arrays give an array, not a yes or no:

    ValueError: Exception raised while checking equality of metadata fields of pytree. Make sure that metadata fields
    are hashable and have simple equality semantics. (Note: arrays cannot be passed as metadata fields!)

The first call works, and so does everything as long as it is the very same array object, which is why this is found
late.

## In which versions

All. Before 0.6.2 the text is "The truth value of an array with more than one element is ambiguous."; an array of one
element does not raise.

## What to write instead

Return the array among the children. Values that must stay static belong into the auxiliary data as tuples.

## Known limits

Attributes whose type is not written anywhere are not known.

## Source

`jaxlib/pytree.cc`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from jaxpert.model.aux_data import (
    array_attribute,
    auxiliary_parts,
    static_fields,
    static_fields_of_libraries,
)
from jaxpert.model.file_model import FileModel
from jaxpert.model.flatten_functions import flatten_functions
from jaxpert.model.registrations import registrations
from jaxpert.model.speech import raises
from jaxpert.model.values import ClassValue
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Raises, Related, Rule, Severity
from jaxpert.text.lines import Range

NAME = "array-in-aux-data"

_OWN_TEXT = Version("0.6.2")


@dataclass(frozen=True, slots=True)
class _Case:
    where: Range
    message: str
    origin: tuple[Related, ...] = ()


def check(model: FileModel) -> Iterator[Finding]:
    """Arrays in static data."""
    for case in (*_in_flatten_functions(model), *_in_dataclasses(model)):
        text = "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()"
        if model.target.version >= _OWN_TEXT:
            text = "Exception raised while checking equality of metadata fields of pytree …"
        yield Finding(
            NAME, case.where, case.message, Severity.WARNING,
            raises(model, "when two such objects are compared, as at the second call under jit", "ValueError", text),
            case.origin, exceptions=("ValueError",),
        )  # fmt: skip


def _in_flatten_functions(model: FileModel) -> Iterator[_Case]:
    for function in flatten_functions(model):
        cls = function.registration.cls
        if function.function.model is not model or not isinstance(cls, ClassValue):
            continue
        for node, site in auxiliary_parts(function):
            found = array_attribute(model, function, node, site)
            where = model.range_of(node)
            if found is None or where is None:
                continue
            origin = model.range_of(found) if found is not node else None
            related = (Related(origin, "it is an array here"),) if origin is not None else ()
            yield _Case(
                where, f"`{model.text_of(node)}` is an array, and auxiliary data is compared with `==`, which raises "
                "for arrays: return it among the children", related,
            )  # fmt: skip


def _in_dataclasses(model: FileModel) -> Iterator[_Case]:
    for registration in registrations(model):
        if not isinstance(registration.cls, ClassValue) or model.is_dead(registration.site.block):
            continue
        for field, node in static_fields(model, registration):
            where = model.range_of(node)
            if where is not None and field.is_array:
                area = model.range_of(field.annotation) if field.model is model else None
                outside = area is not None and not (where.start <= area.start and area.end <= where.end)
                related = (Related(area, "it is an array here"),) if area is not None and outside else ()
                yield _Case(
                    where, f"the field `{field.name}` is an array, and static fields are compared with `==`, which "
                    "raises for arrays: make it a data field", related,
                )  # fmt: skip

    for tree in model.trees:
        for field in static_fields_of_libraries(model, tree):
            where = model.range_of(field.annotation)
            if where is not None and field.is_array:
                yield _Case(
                    where, f"the field `{field.name}` is an array, and static fields are compared with `==`, which "
                    "raises for arrays: leave out what makes it static",
                )  # fmt: skip


_BAD = """\
import jax
import jax.numpy as jnp

STAGE = "decorate"


@jax.tree_util.register_pytree_node_class
class Masked:
    def __init__(self, value, mask):
        self.value, self.mask = value, mask

    def tree_flatten(self):
        return (self.value,), (self.mask,)

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        return cls(*children, *aux_data)


total = jax.jit(lambda masked: masked.value)
STAGE = "call"
total(Masked(1.0, jnp.array([1, 2])))
total(Masked(1.0, jnp.array([1, 2])))
"""

_GOOD = _BAD.replace("(self.value,), (self.mask,)", "(self.value, self.mask), None").replace(
    "cls(*children, *aux_data)", "cls(*children)"
)

_FIELD = """\
import functools
from dataclasses import dataclass

import jax
import numpy as np

STAGE = "decorate"


@functools.partial(jax.tree_util.register_dataclass, data_fields=["value"], meta_fields=["mask"])
@dataclass
class Masked:
    value: float
    mask: np.ndarray


total = jax.jit(lambda masked: masked.value)
STAGE = "call"
total(Masked(1.0, np.ones(2)))
total(Masked(1.0, np.ones(2)))
"""

RULE = Rule(
    code="JXP513",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "jax.tree_util.register_pytree_node",
        "jax.tree_util.register_pytree_node_class",
        "jax.tree_util.register_dataclass",
        "jax.tree_util.register_static",
    ),
    examples=(
        Example(
            bad=_BAD,
            good=_GOOD,
            proof=Raises("ValueError", "while checking equality of metadata fields of pytree", since="0.6.2"),
        ),
        Example(
            bad=_FIELD,
            good=_FIELD.replace('["value"], meta_fields=["mask"]', '["value", "mask"], meta_fields=[]'),
            proof=Raises("ValueError", "while checking equality of metadata fields of pytree", since="0.6.2"),
        ),
    ),
    check=check,
)
