"""A dictionary whose keys cannot be sorted is given to JAX.

## What it finds

Dictionaries with keys of types that Python cannot compare (`1` and `"a"`, None and a string, two members of an
`Enum`, tuples that hold such a pair in the same place), given to functions of `jax.tree` or to transformed functions.

## Why it matters

JAX sorts the keys of a `dict` so that equal dictionaries have equal leaves:

    ValueError: Comparator raised exception while sorting pytree dictionary keys.

## In which versions

All.

## What to write instead

Keys of one type that has an order: strings, numbers, or members of an `IntEnum` or `StrEnum`. An `OrderedDict` is not
sorted.

## Known limits

Only keys that are written out are compared: in a dictionary, in `name[key] = …` that always runs before the call, and
the members of an `Enum` in `{member: … for member in Kind}`.

## Source

`jaxlib/pytree.cc`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.touched import is_touched
from jaxpert.model.values import (
    CallResult,
    ClassValue,
    Def,
    EnumMember,
    Literal,
    Partial,
    Sequence,
    Symbol,
    Table,
    Value,
)
from jaxpert.rulekit.rule import Example, Finding, Raises, Related, Rule, Severity
from jaxpert.syntax.changes import changes
from jaxpert.syntax.scopes import BindingKind, CallSite, Scope, TreeIndex, scope_of

NAME = "unsortable-keys"

_DEEPEST = 8
_NOT_FLATTENED = {"jax.tree.unflatten", "jax.tree.transpose"}
_FIRST_ONLY = {"jax.tree.map", "jax.tree.map_with_path", "jax.tree.broadcast"}


def check(model: FileModel) -> Iterator[Finding]:
    """Dictionaries that JAX fails to sort."""
    if not any(_may_hold_clash(tree, model.source.contains("Enum")) for tree in model.source.trees()):
        return
    for node, site in _given(model):
        for table in _tables(model.evaluate(node, site.scope, site.block), 0):
            clash = _clash(table) or _clash_of_members(model, table) or _clash_with_later(model, table, node, site)
            argument = model.range_of(node)
            if clash is None or argument is None or table.site is None or model.is_dead(site.block):
                continue
            written = model.range_of(table.site.node) if table.model is model else None
            inside = written is not None and argument.start <= written.start and written.end <= argument.end
            where = written if inside and written is not None else argument
            related: tuple[Related, ...] = ()
            if not inside and table.model is not None and (area := table.model.range_of(table.site.node)) is not None:
                related = (Related(area, "the dictionary", "" if table.model is model else table.model.path),)
            yield Finding(
                NAME, where, f"JAX sorts the keys of a dict, and {clash} have no order: use keys of one type",
                Severity.ERROR,
                raises(
                    model, "at this call", "ValueError",
                    "Comparator raised exception while sorting pytree dictionary keys.",
                ),
                related, exceptions=("ValueError",),
            )  # fmt: skip
            break


def _may_hold_clash(tree: TreeIndex, are_enums: bool) -> bool:
    """A cheap look at the dictionaries of a tree; ``are_enums``: members of an enumeration may be keys."""
    known = tree.facts.get("odd keys")
    if not isinstance(known, tuple):
        made = any(isinstance(node, ast.DictComp) for node in tree.comprehensions)
        known = tree.facts["odd keys"] = (any(_may_clash(site.node) for site in tree.dicts), made)
    return known[0] or (are_enums and known[1])


def _may_clash(node: ast.AST) -> bool:
    """A cheap look at a dictionary: has it a key that is no string?"""
    keys = node.keys if isinstance(node, ast.Dict) else []
    return any(key is not None and not (isinstance(key, ast.Constant) and isinstance(key.value, str)) for key in keys)


def _given(model: FileModel) -> Iterator[tuple[ast.expr, CallSite]]:
    """Every argument that JAX flattens."""
    for call in model.calls:
        if call.is_partial:
            continue
        if call.api.name.startswith("jax.tree.") and call.api.name not in _NOT_FLATTENED:
            yield from _of_tree_function(model, call)
        elif call.api.kind is ApiKind.TRANSFORM and call.api.library == "jax" and "applies" in call.api.traits:
            functions = {id(call.role(role)) for role in ("fun", "second_fun", "funs")}
            for argument in (*call.arguments.values(), *call.varargs):
                if id(argument) not in functions and argument.model is model:
                    yield argument.node, call.site
    for site, callee in model.callees.calls:
        if _is_transformed(model, callee):
            for node in (*site.node.args, *(keyword.value for keyword in site.node.keywords)):
                if not isinstance(node, ast.Starred):
                    yield node, site


def _of_tree_function(model: FileModel, call: ApiCall) -> Iterator[tuple[ast.expr, CallSite]]:
    names = ("tree", "prefix_tree") if call.api.name in _FIRST_ONLY else ("tree", "prefix_tree", "full_tree")
    for name in names:
        argument = call.arguments.get(name)
        if argument is not None and argument.model is model and "is_leaf" not in call.arguments:
            yield argument.node, call.site


def _is_transformed(model: FileModel, callee: Value) -> bool:
    """Whether calling it flattens all arguments: a function that jit, vmap, grad … made, without static arguments."""
    made = callee
    if isinstance(callee, Def):
        decorators = getattr(callee.function.node, "decorator_list", [])
        if not decorators:
            return False
        owner = callee.model or model
        made = owner.evaluate(decorators[0], callee.function.scope, callee.function.block)
    keywords: set[str | None] = set()
    while isinstance(made, (CallResult, Partial)):
        node = made.call if isinstance(made, CallResult) else made.site.node if made.site is not None else None
        if isinstance(node, ast.Call):
            keywords |= {keyword.arg for keyword in node.keywords}
        made = made.callee if isinstance(made, CallResult) else made.target
    api = model.db.api(made.path) if isinstance(made, Symbol) else None
    if api is None or api.kind is not ApiKind.TRANSFORM or api.library != "jax" or "applies" in api.traits:
        return False
    if not {"compiles", "differentiates", "maps"} & api.traits or isinstance(callee, Symbol):
        return False
    return not any(name is None or name.startswith("static") for name in keywords)


def _tables(value: Value, depth: int) -> Iterator[Table]:
    """The dictionaries in a value, from the outside in."""
    if depth > _DEEPEST:
        return
    inner: tuple[Value, ...] = ()
    if isinstance(value, Table):
        yield value
        inner = tuple(item for _, item in value.entries)
    elif isinstance(value, Sequence) and value.kind in ("list", "tuple"):
        inner = value.items
    for item in inner:
        yield from _tables(item, depth + 1)


def _clash(table: Table) -> str | None:
    """Two keys that cannot be compared, in words."""
    node = table.site.node if table.site is not None else None
    if not table.exact or not isinstance(node, ast.Dict):
        return None
    return _unordered([key for key, _ in table.entries])


def _clash_of_members(model: FileModel, table: Table) -> str | None:
    """Two keys of ``{member: … for member in Kind}``."""
    node, site = table.site.node if table.site is not None else None, table.site
    if not isinstance(node, ast.DictComp) or site is None or len(node.generators) != 1:
        return None
    loop = node.generators[0]
    if not isinstance(loop.target, ast.Name) or not isinstance(node.key, ast.Name) or node.key.id != loop.target.id:
        return None
    owner = table.model or model
    cls = owner.evaluate(loop.iter, site.scope, site.block)
    if loop.ifs or loop.is_async or not isinstance(cls, ClassValue):
        return None
    evaluator = (cls.model or owner).evaluator
    members = [evaluator.attribute(cls, name, None) for name in cls.scope.bindings if not name.startswith("_")]
    return _unordered([member for member in members if isinstance(member, EnumMember)])


def _clash_with_later(model: FileModel, table: Table, node: ast.expr, site: CallSite) -> str | None:
    """Two keys of a dictionary in a variable, one of which is added before the call by ``name[key] = …``."""
    found = site.scope.lookup(node.id) if isinstance(node, ast.Name) else None
    if found is None or not isinstance(node, ast.Name) or table.exact or len(found[1]) != 1:
        return None
    owner, binding = found[0], found[1][0]
    display = binding.value
    if binding.kind is not BindingKind.ASSIGN or not isinstance(display, ast.Dict) or None in display.keys:
        return None
    if owner is not site.scope or is_touched(model, node, site.scope):
        return None
    trees = model.source.trees() if owner.kind == "module" else [site.block.tree]
    made = [one for tree in trees for one in changes(tree).get(node.id, ()) if one.owner() is owner]
    if any(one.removes for one in made):
        return None
    here, around = (site.block.tree.first_line, node.lineno), list(site.block.enclosing())
    keys = [model.evaluate(key, binding.scope, binding.block) for key in display.keys if key is not None]
    for one in made:
        always = one.block in around or (owner.kind == "module" and one.block.owner is None)
        if one.key is not None and always and (one.block.tree.first_line, one.key.lineno) < here:
            keys.append(model.evaluate(one.key, scope_of(one.block), one.block))
    return _unordered(keys)


def _unordered(keys: list[Value]) -> str | None:
    """Two of some keys that cannot be compared, in words."""
    tuples = [key for key in keys if isinstance(key, Sequence) and key.kind == "tuple" and key.exact]
    if tuples and len(tuples) == len(keys):
        return next((clash for one, other in combinations(tuples, 2) if (clash := _unordered_tuples(one, other))), None)
    seen: dict[str, str] = {}
    for key in keys:
        kind, shown = _kind(key)
        if not kind:
            return None
        if kind in seen and kind.startswith("unordered") and seen[kind] != shown:
            return f"{seen[kind]} and {shown}"
        seen.setdefault(kind, shown)
    shown_keys = list(seen.values())
    return f"{shown_keys[0]} and {shown_keys[1]}" if len(shown_keys) > 1 else None


def _unordered_tuples(one: Sequence, other: Sequence) -> str | None:
    """The first items in which two tuples differ, where these cannot be compared.

    Whatever the other keys are, sorting has to compare such a pair or another like it.
    """
    for left, right in zip(one.items, other.items):
        (kind, shown), (other_kind, other_shown) = _kind(left), _kind(right)
        if not kind or not other_kind or "tuple" in (kind, other_kind):
            return None
        if kind != other_kind:
            return f"{shown} and {other_shown} in the same place of two tuples"
        if shown != other_shown:
            clash = kind.startswith("unordered")
            return f"{shown} and {other_shown} in the same place of two tuples" if clash else None
    return None


def _kind(key: Value) -> tuple[str, str]:
    """What a key can be compared with, and how it is written; ("", "") for a key that is not known."""
    if isinstance(key, EnumMember):
        owner = key.site.scope.node if key.site is not None else None
        name = f"{owner.name}.{key.name}" if isinstance(owner, ast.ClassDef) else key.name
        if key.is_string:
            return "str", f"`{name}`"
        unordered = isinstance(owner, ast.ClassDef) and key.site is not None and _has_no_order(owner, key.site.scope)
        return ("unordered enum", f"`{name}`") if unordered else ("", "")
    if isinstance(key, Sequence) and key.kind == "tuple":
        return "tuple", "a tuple"
    if not isinstance(key, Literal):
        return "", ""
    value = key.value
    if isinstance(value, (int, float)):
        return "number", f"`{value!r}`"
    if isinstance(value, complex):
        return "unordered complex", f"`{value!r}`"
    return type(value).__name__, f"`{value!r}`"


def _has_no_order(cls: ast.ClassDef, scope: Scope) -> bool:
    """Whether it is derived from a plain ``Enum`` and defines no comparison."""
    bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in cls.bases}
    return bases == {"Enum"} and "__lt__" not in scope.bindings and not cls.decorator_list


_BAD = """\
import jax

STAGE = "call"
jax.tree.leaves({1: 1.0, "a": 2.0})
"""

_JIT = """\
import jax

STAGE = "decorate"
double = jax.jit(lambda tree: 2 * tree[1])
STAGE = "call"
double({1: 1.0, None: 2.0})
"""

RULE = Rule(
    code="JXP514",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("jax.tree.map", "jax.tree.leaves", "jax.tree.flatten", "jax.tree.structure"),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("{1:", '{"1":'),
            proof=Raises("ValueError", "Comparator raised exception while sorting pytree dictionary keys."),
        ),
        Example(
            bad=_JIT,
            good=_JIT.replace("None:", "2:"),
            proof=Raises("ValueError", "Comparator raised exception while sorting pytree dictionary keys."),
        ),
    ),
    check=check,
)
