"""The static part of registered classes: auxiliary data of flatten functions, static fields of dataclasses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.dataclass_fields import Field, dataclass_decorator, fields_of, is_array_annotation
from jaxpert.model.flatten_functions import is_child_with_key
from jaxpert.model.pytrees import structure_of
from jaxpert.model.structures import Leaf, Structure
from jaxpert.model.values import CallResult, ClassValue, Sequence, Symbol, string
from jaxpert.syntax.scopes import Block, Scope, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel
    from jaxpert.model.flatten_functions import FlattenFunction
    from jaxpert.model.registrations import Registration

_MOST_OBJECTS = 8


def auxiliary_parts(function: FlattenFunction) -> Iterator[tuple[ast.expr, Site]]:
    """The expressions that make up the auxiliary data, those in tuples and dictionaries one by one."""
    for result in function.results:
        site = result.site
        if not isinstance(result, Sequence) or not result.exact or len(result.items) != 2 or site is None:
            continue
        if result.model is not function.function.model or not isinstance(site.node, (ast.Tuple, ast.List)):
            continue
        if len(site.node.elts) == 2 and not (function.with_keys and is_child_with_key(result.items[1])):
            yield from _parts(site.node.elts[1], site, result.items[1].site, 0)


def _parts(node: ast.expr, site: Site, written: Site | None, depth: int) -> Iterator[tuple[ast.expr, Site]]:
    """``written`` is where the value comes from when ``node`` is a variable."""
    if isinstance(node, ast.Name) and written is not None and isinstance(written.node, (ast.Tuple, ast.List, ast.Dict)):
        node, site = written.node, written
    if depth < 4 and isinstance(node, (ast.Tuple, ast.List, ast.Dict)):
        for inner in node.values if isinstance(node, ast.Dict) else node.elts:
            yield from _parts(inner, site, None, depth + 1)
    else:
        yield node, site


def array_attribute(model: FileModel, function: FlattenFunction, node: ast.expr, site: Site) -> ast.expr | None:
    """The expression that shows that a part of the auxiliary data is an array; None where it is not known to be one."""
    cls = function.registration.cls
    if not isinstance(cls, ClassValue):
        return None
    if _is_array(structure_of(model, node, site.scope, site.block)):
        return node
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    arguments = function.function.function.node.args
    first = next(iter((*arguments.posonlyargs, *arguments.args)), None)
    if first is None or node.value.id != first.arg:
        return None
    owner = cls.model or model
    for binding in cls.scope.bindings.get(node.attr, ()):
        if isinstance(binding.node, ast.AnnAssign) and is_array_annotation(owner, binding.node.annotation, cls):
            return binding.node.annotation
    return _assigned(owner, cls, node.attr) or _given(model, cls, node.attr)


def _is_array(structure: Structure) -> bool:
    return isinstance(structure, Leaf) and structure.type == "array"


def _assignments(model: FileModel, cls: ClassValue, name: str) -> Iterator[tuple[ast.expr, Scope, Block]]:
    """What the methods assign to the attribute, also as one of several: ``self.a, self.b = a, b``."""
    yield from model.self_attributes(cls.scope).get(name, ())
    for binding in cls.scope.bindings.get("__init__", ()):
        function = binding.block.tree.functions.get(binding.node)  # type: ignore[call-overload]
        for statement, block in binding.block.tree.block_of.items() if function is not None else ():
            if not isinstance(statement, ast.Assign) or function.body_block not in tuple(block.enclosing()):
                continue
            target, value = statement.targets[0], statement.value
            if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Tuple):
                continue
            for one, given in zip(target.elts, value.elts) if len(target.elts) == len(value.elts) else ():
                if isinstance(one, ast.Attribute) and one.attr == name and isinstance(one.value, ast.Name):
                    yield given, function.inner, block


def _assigned(model: FileModel, cls: ClassValue, name: str) -> ast.expr | None:
    """What the methods assign to the attribute, when all of it is arrays."""
    shown: ast.expr | None = None
    for value, scope, block in _assignments(model, cls, name):
        if _is_array(structure_of(model, value, scope, block)):
            shown = value
            continue
        annotation = _annotation(value, scope.node)
        if annotation is None or not is_array_annotation(model, annotation, cls):
            return None
        shown = annotation
    return shown


def _annotation(value: ast.expr, function: ast.AST | None) -> ast.expr | None:
    """The annotation of the parameter that ``value`` names."""
    if not isinstance(value, ast.Name) or not isinstance(function, ast.FunctionDef):
        return None
    arguments = function.args
    for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if one.arg == value.id:
            return one.annotation
    return None


def _given(model: FileModel, cls: ClassValue, name: str) -> ast.expr | None:
    """The argument of a call in the file that makes the attribute an array, where it is what ``__init__`` was given."""
    owner = cls.model or model
    assigned = list(_assignments(owner, cls, name))
    if len(assigned) != 1 or not isinstance(assigned[0][0], ast.Name):
        return None
    init = assigned[0][1].node
    if not isinstance(init, ast.FunctionDef) or init.name != "__init__":
        return None
    wanted = assigned[0][0].id
    positional = [one.arg for one in (*init.args.posonlyargs, *init.args.args)][1:]
    objects = 0
    for tree in model.every_tree:
        for site in tree.calls:
            func = site.node.func
            if not isinstance(func, ast.Name) or func.id != cls.node.name or objects >= _MOST_OBJECTS:
                continue
            objects += 1
            given = {**dict(zip(positional, site.node.args)), **{k.arg or "": k.value for k in site.node.keywords}}
            argument = given.get(wanted)
            if argument is None or any(isinstance(one, ast.Starred) for one in site.node.args):
                continue
            made = model.evaluate(func, site.scope, site.block)
            if isinstance(made, ClassValue) and made.scope is cls.scope:
                if _is_array(structure_of(model, argument, site.scope, site.block)):
                    return argument
    return None


def static_fields(model: FileModel, registration: Registration) -> Iterator[tuple[Field, ast.expr]]:
    """The fields of a registered dataclass that are static, and the expression that says so."""
    cls = registration.cls
    assert isinstance(cls, ClassValue)
    if registration.name != "register_dataclass" or dataclass_decorator(model, cls) is None:
        return
    fields = fields_of(model, cls)
    if fields is None:
        return
    given = registration.call.arguments.get("meta_fields") if registration.call is not None else None
    value = given.value if given is not None else None
    if given is not None and isinstance(value, Sequence):
        for item in value.items:
            name = string(item)
            if name in fields:
                node = item.site.node if item.site is not None and item.model is model else given.node
                yield fields[name], node if isinstance(node, ast.expr) else given.node
    elif registration.call is None or "data_fields" not in registration.call.arguments:
        for field in fields.values():
            if field.is_static and field.model is model:
                yield field, field.annotation


_MARKS = ("pytree_node", "static=True", "static = True")
_LIBRARY_CLASSES = {"flax.struct.dataclass", "flax.struct.PyTreeNode", "equinox.Module"}


def static_fields_of_libraries(model: FileModel, tree: TreeIndex) -> Iterator[Field]:
    """The static fields of the classes in a tree that ``flax.struct`` and ``equinox.Module`` register."""
    if not any(map(model.source.contains, _MARKS)):
        return
    for scope in tree.classes.values():
        cls = model.evaluator.class_of(scope)
        if cls is None or cls.site is None or model.is_dead(cls.site.block):
            continue
        makers = [*cls.node.decorator_list, *cls.node.bases]
        values = (model.evaluate(maker, cls.site.scope, cls.site.block) for maker in makers)
        if any(isinstance(one, (Symbol, CallResult)) and one.path in _LIBRARY_CLASSES for one in values):
            for field in (fields_of(model, cls) or {}).values():
                own = field.model is model and field.cls.scope is scope
                if own and field.is_static and field.option("converter") is None:
                    yield field
