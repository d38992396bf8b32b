"""An object of a class that is no pytree is given to a tree function.

## What it finds

Calls of `jax.tree.map`, `jax.tree.leaves`, `jax.tree.flatten`, `jax.tree.structure` and their like whose tree is an
object of a class of your own that nothing registers: a plain dataclass, for one. Also treedefs built from such a class
with `PyTreeDef.from_node_data_and_children`.

## Why it matters

What JAX does not know is a leaf, and JAX says nothing about it:

    >>> jax.tree.leaves(State(w=1.0))
    [State(w=1.0)]

A mapped function gets the object itself instead of the arrays in it. If it computes with what it gets, Python raises
there, with a text that does not mention pytrees:

    TypeError: unsupported operand type(s) for *: 'State' and 'int'

A treedef cannot be built for it at all:

    RuntimeError: Could not find type: <class '__main__.State'>.

## In which versions

All.

## What to write instead

Register the class: `@jax.tree_util.register_dataclass` above `@dataclass` (0.4.36 or newer), or
`register_pytree_node_class` with `tree_flatten` and `tree_unflatten`. Named tuples, `flax.struct.dataclass` and
`equinox.Module` are registered already; a class derived from a registered one is not.

## Known limits

Only the tree itself is looked at, as an object inside a list may well be meant as a leaf; and only classes of the same
file, without bases or decorators that may register them. What is passed to transformations is reported by
*untraceable-argument*.

## Source

`jax/_src/tree_util.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing.imports import ensure_import
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.dataclass_fields import dataclass_decorator, fields_of
from jaxpert.model.file_model import FileModel
from jaxpert.model.registrations import Standing, standing
from jaxpert.model.speech import raises, silent
from jaxpert.model.tree_maps import Use, use_of
from jaxpert.model.tree_speech import mapped_name
from jaxpert.model.values import ClassValue, Instance, Symbol
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity, Silent
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range

NAME = "unregistered-class"

_TREE_FUNCTIONS = {
    "jax.tree.map", "jax.tree.map_with_path", "jax.tree.leaves", "jax.tree.leaves_with_path", "jax.tree.structure",
    "jax.tree.flatten", "jax.tree.flatten_with_path", "jax.tree.reduce", "jax.tree.all",
}  # fmt: skip
_READS_FIELDS, _RENAMED = Version("0.4.36"), Version("0.8.0")
_CONSTRUCTOR = "from_node_data_and_children"


@dataclass(frozen=True, slots=True)
class _Case:
    """An object that is taken for a leaf."""

    call: ApiCall
    argument: Argument
    cls: ClassValue
    where: Range


def check(model: FileModel) -> Iterator[Finding]:
    """Objects that tree functions take for leaves."""
    for case in _cases(model):
        name = case.cls.node.name
        area = model.range_of(case.cls.node)
        related: tuple[Related, ...] = ()
        if area is not None:
            header = Range(area.start, Position(area.start.line, area.start.column + len(f"class {name}")))
            related = (Related(header, f"`{name}` is defined here"),)
        cure = "register it with `jax.tree_util.register_pytree_node`"
        if "tree_flatten" in case.cls.scope.bindings:
            cure = "register it with `jax.tree_util.register_pytree_node_class`"
        if dataclass_decorator(model, case.cls) is not None:
            cure = "register it with `jax.tree_util.register_dataclass`"
        yield Finding(
            NAME, case.where, f"nothing registers `{name}` as a pytree, so for `{mapped_name(case.call)}` the whole "
            f"object is one leaf: {cure}", Severity.WARNING,
            _consequence(model, case.call), related,
            exceptions=("TypeError", "AssertionError"),
        )  # fmt: skip
    for node, cls in _built_treedefs(model):
        where = model.range_of(node)
        if where is not None:
            yield Finding(
                NAME, where, f"nothing registers `{cls.node.name}` as a pytree, so no treedef can have it as a node: "
                "register it with `jax.tree_util.register_pytree_node_class`", Severity.ERROR,
                raises(model, "at this call", "RuntimeError", f"Could not find type: <class '{cls.node.name}'>."),
                exceptions=("RuntimeError",),
            )  # fmt: skip


def _consequence(model: FileModel, call: ApiCall) -> str:
    """What happens, which depends on the mapped function where there is one."""
    is_called = call.api.name != "jax.tree.reduce" or "initializer" in call.arguments  # else it is given back as it is
    if call.role("fun") is None or not is_called:
        return silent(model, "what it does not know is a leaf, and whoever asks for leaves gets it whole")
    return (
        f"JAX {model.target.version} calls the function once, with the object itself: what can be done with it there "
        "is done without a word, anything else raises in the function"
    )


def _built_treedefs(model: FileModel) -> Iterator[tuple[ast.expr, ClassValue]]:
    """Classes given to the constructor of treedefs, which the target version has under one name or the other."""
    if not model.source.contains(_CONSTRUCTOR):
        return
    name = _CONSTRUCTOR if model.target.version >= _RENAMED else f"make_{_CONSTRUCTOR}"
    for tree in model.trees:
        for site in tree.calls:
            func, given = site.node.func, site.node.args
            if not isinstance(func, ast.Attribute) or func.attr != name or len(given) < 2 or model.is_dead(site.block):
                continue
            owner = model.evaluate(func.value, site.scope, site.block)
            data = given[1]
            if not isinstance(owner, Symbol) or not owner.path.endswith(".PyTreeDef"):
                continue
            if not isinstance(data, ast.Tuple) or not data.elts:
                continue
            cls = model.evaluate(data.elts[0], site.scope, site.block)
            if isinstance(cls, ClassValue) and cls.model is model and standing(model, cls) is Standing.PLAIN:
                yield data.elts[0], cls


def _cases(model: FileModel) -> Iterator[_Case]:
    if not any(tree.classes for tree in model.source.trees()):
        return
    for call in model.calls:
        if call.api.name not in _TREE_FUNCTIONS or call.is_partial or "is_leaf" in call.arguments:
            continue
        argument = call.arguments.get("tree")
        if argument is None or argument.model is not model or call.opened or model.is_dead(call.site.block):
            continue
        value = argument.value
        if not isinstance(value, Instance) or value.call is None or value.cls.model is not model:
            continue
        if standing(model, value.cls) is not Standing.PLAIN or _is_made_for_objects(call):
            continue
        where = model.range_of(argument.node)
        if where is not None:
            yield _Case(call, argument, value.cls, where)


def _is_made_for_objects(call: ApiCall) -> bool:
    """Whether the mapped function looks like one that wants the object."""
    fun = call.role("fun")
    leading = 1 if call.api.name == "jax.tree.map_with_path" else 0
    return fun is not None and use_of(fun, leading)[0] in (Use.READS, Use.TESTED, Use.PASSED, Use.IGNORED)


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Register a dataclass whose fields JAX can read off."""
    for case in model.every(_cases):
        if case.where != finding.range or model.target.version < _READS_FIELDS:
            continue
        decorator = dataclass_decorator(model, case.cls)
        where = model.range_of(decorator) if decorator is not None else None
        first = case.cls.node.decorator_list[:1]
        if where is None or first != [decorator] or fields_of(model, case.cls) is None:
            return None
        jax = ensure_import(model.source.lines, "import jax", where.start, model.source)
        if jax is None:
            return None
        line = model.source.lines[where.start.line]
        before, end = line[: where.start.column], line[len(line.rstrip("\r\n")) :]
        if before.strip() != "@":
            return None
        new = f"{before}{jax.name}.tree_util.register_dataclass{end}"
        at = Position(where.start.line, 0)
        title = f"Register `{case.cls.node.name}` as a pytree"
        return Fix(title, Safety.UNSAFE, (*jax.edits, Edit(Range(at, at), new)))
    return None


_BAD = """\
from dataclasses import dataclass

import jax


@dataclass
class State:
    w: float


leaves = jax.tree.leaves(State(1.0))
"""

_BUILT = """\
import jax
from jax.tree_util import PyTreeDef, default_registry

STAGE = "decorate"


class Box:
    def tree_flatten(self):
        return (), None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        return cls()


STAGE = "call"
PyTreeDef.from_node_data_and_children(default_registry, (Box, None), [])
"""

RULE = Rule(
    code="JXP510",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "jax.tree.map",
        "jax.tree.leaves",
        "jax.tree.flatten",
        "jax.tree_util.register_pytree_node",
        "jax.tree_util.register_dataclass",
    ),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("@dataclass", "@jax.tree_util.register_dataclass\n@dataclass"),
            proof=Silent("leaves == [State(1.0)]", since="0.4.36"),
        ),
        Example(
            bad=_BUILT,
            good=_BUILT.replace("class Box", "@jax.tree_util.register_pytree_node_class\nclass Box"),
            proof=Raises("RuntimeError", "Could not find type: <class '__main__.Box'>.", since="0.8.0"),
        ),
    ),
    check=check,
    fix=fix,
)
