"""Refactorings that name a value with ``checkpoint_name``, and ask for the name in the policy that will see it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from jaxpert.fixing.new_wrappings import add_item, pass_through
from jaxpert.ide.refactoring import (
    REWRITE,
    Edits,
    Refactoring,
    RefactoringRefused,
    Spot,
    checked,
    imported_api,
    shortened,
    together,
)
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.arrays import array_type
from jaxpert.model.file_model import FileModel
from jaxpert.model.policy_answers import made_by
from jaxpert.model.rematerialized import alive
from jaxpert.model.tags_inside import functions_inside
from jaxpert.model.tracing import gives_array
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import NUMPY_BOOL, UNKNOWN, CallResult, Symbol, Typed, Value
from jaxpert.syntax.expressions import Expression
from jaxpert.syntax.scopes import BindingKind, Scope
from jaxpert.text.gaps import ANY, fits
from jaxpert.text.lines import Range

_TAG = "jax.ad_checkpoint.checkpoint_name"
_ALLOWED = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare)
_SIZES = {"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "sharding", "weak_type"}
_DEEPEST = 8
_MOST_HOPS = 4
_WORD = re.compile(r"\W+")


def tag_value(spot: Spot) -> Iterator[Refactoring]:
    """``checkpoint_name(expression, "name")`` around what is selected, or what the variable at the cursor gets."""
    found = spot.selected if spot.is_selection else _assigned(spot)
    model = spot.model
    statement = _statement(spot, found[0]) if found is not None else None
    if found is None or statement is None or not _computes_values(found[0], statement):
        return
    if not _may_be_named(model, found[0]):
        return
    name = _unique(model, *_name_for(statement, found[0]))
    shown = shortened(model.text_of(found[0].node))
    make = partial(_tag, spot, found[1], name)
    yield Refactoring(f'Name `{shown}` "{name}" with `checkpoint_name`', REWRITE, partial(make, None))
    for written, area in _policies_around(model, found[0].scope):
        title = f'Name `{shown}` "{name}" and save it in `{shortened(written)}`'
        yield Refactoring(title, REWRITE, partial(make, area))
        return


def _assigned(spot: Spot) -> tuple[Expression, Range] | None:
    """The value of the assignment whose only target is at the cursor."""
    model = spot.model
    site = model.site_at(spot.area.start)
    statement = site.node if site is not None else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target: ast.expr = statement.targets[0]
    elif isinstance(statement, ast.AnnAssign):
        target = statement.target
    else:
        return None
    value, where = statement.value, model.range_of(statement.value) if statement.value is not None else None
    if not isinstance(target, ast.Name) or not spot.holds(target) or value is None or where is None or site is None:
        return None
    return Expression(value, statement, site.scope, site.block), where


def _statement(spot: Spot, one: Expression) -> ast.stmt | None:
    """The statement that computes the expression; None for a part of a default, decorator, annotation or format."""
    around = (it.node for it, area in spot.expressions if spot.is_in(area))
    if any(isinstance(node, ast.JoinedStr) for node in around):
        return None
    site = spot.model.site_at(spot.area.start)
    statement = site.node if site is not None else None
    definitions = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
    if not isinstance(statement, ast.stmt) or isinstance(statement, definitions):
        return None
    annotation = statement.annotation if isinstance(statement, ast.AnnAssign) else None
    if annotation is not None and any(part is one.node for part in ast.walk(annotation)):
        return None
    return statement


def _computes_values(one: Expression, statement: ast.stmt) -> bool:
    """Whether the expression belongs to a function that may be traced, and its value is used."""
    function = one.scope.function()
    name = getattr(function.node, "name", "") if function is not None else "__"
    special = name.startswith("__") and name != "__call__"
    return not special and not isinstance(statement, ast.Assert) and not isinstance(one.parent, ast.Expr)


# -- what can be named ------------------------------------------------------------------------------------------------


def _may_be_named(model: FileModel, one: Expression) -> bool:
    """Whether the expression may give an array: it is not known to give something else, nor does it look like it."""
    node = one.node
    if not isinstance(node, _ALLOWED) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    if isinstance(one.parent, ast.Call) and any(node is part for part in (one.parent.func,)):
        return False
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return False
    known = array_type(model, node, one.scope, one.block)
    if known is not None:
        return known.library == "jax"
    if _is_size(model, node, one.scope):
        return False
    if isinstance(node, (ast.Name, ast.Attribute)) and not any(_checkpoints_around(model, one.scope)):
        return False  # a variable may be anything
    return all(_value_may_be(model, option) for option in model.evaluate(node, one.scope, one.block).options())


def _value_may_be(model: FileModel, value: Value) -> bool:
    if value is UNKNOWN or value.__class__ is Value:
        return True
    if isinstance(value, Typed):
        is_compared = value.site is not None and isinstance(value.site.node, ast.Compare)
        return is_compared and value.type in ("bool", NUMPY_BOOL)
    if not isinstance(value, CallResult):
        return False
    if not value.path:  # what a function that JAX made gives
        return True
    api = model.db.api(value.path)
    if api is not None and api.kind in (ApiKind.CHECKPOINT_NAME, ApiKind.CHECKPOINT, ApiKind.TRANSFORM):
        return api.kind is ApiKind.TRANSFORM and "applies" in api.traits
    return gives_array(value.path) or value.path.startswith(("jax.", "flax.", "equinox.", "haiku."))


def _is_size(model: FileModel, node: ast.expr, scope: Scope, depth: int = 0) -> bool:
    """Whether an expression gives a Python number: a size, a literal, or something calculated from those alone."""
    if depth > _DEEPEST:
        return False
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.Attribute):
        return node.attr in _SIZES
    if isinstance(node, ast.Subscript):
        return _is_size(model, node.value, scope, depth + 1)
    if isinstance(node, ast.BinOp):
        return _is_size(model, node.left, scope, depth + 1) and _is_size(model, node.right, scope, depth + 1)
    if isinstance(node, ast.UnaryOp):
        return _is_size(model, node.operand, scope, depth + 1)
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return name in ("len", "int", "float", "bool", "str", "range", "tuple", "list", "dict", "isinstance")
    found = scope.lookup(node.id) if isinstance(node, ast.Name) and depth < _MOST_HOPS else None
    values = [binding.value for binding in found[1]] if found is not None else []
    kinds = (BindingKind.ASSIGN, BindingKind.UNPACK)
    if found is None or not all(binding.kind in kinds for binding in found[1]):
        return False
    return all(value is not None and _is_size(model, value, found[0], depth + 1) for value in values)


# -- the name ---------------------------------------------------------------------------------------------------------


def _name_for(statement: ast.stmt, one: Expression) -> tuple[str, str]:
    """What the name says, after the variable, the argument or the function that gets the value; and the function's
    name.
    """
    function = one.scope.function()
    owner = getattr(function.node, "name", "") if function is not None else ""
    said = ""
    if isinstance(one.parent, ast.Call):
        said = next((each.arg for each in one.parent.keywords if each.value is one.node and each.arg), "")
    if not said and isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        said = _words_of(targets[0], getattr(statement, "value", None), one.node)
    if not said and isinstance(statement, ast.Return):
        said = f"{owner}_out" if owner else ""
    return said or (f"{owner}_value" if owner else "value"), owner


def _words_of(target: ast.expr, value: ast.expr | None, wanted: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, other in zip(target.elts, value.elts):
            if any(part is wanted for part in ast.walk(other)):
                return _words_of(one, None, wanted)
    if isinstance(target, ast.Tuple):
        return "_".join(one.id for one in target.elts if isinstance(one, ast.Name))
    return ""


def _unique(model: FileModel, base: str, owner: str) -> str:
    """A name like ``base`` that no value and no policy of the project has."""
    index = model.project_names
    computed = {place.parts for place in index.computed() if place.parts and place.parts != ANY}
    base = _WORD.sub("_", base).strip("_") or "value"
    candidates = [base, *([f"{owner}_{base}"] if owner and not base.startswith(owner) else [])]
    candidates += [f"{base}_{number}" for number in range(2, 1000)]

    def is_free(name: str) -> bool:
        return not any(index.named([name])) and not any(fits(name, parts) for parts in computed)

    return next((name for name in candidates if is_free(name)), candidates[-1])


# -- the policy -------------------------------------------------------------------------------------------------------


def _policies_around(model: FileModel, scope: Scope) -> Iterator[tuple[str, Range]]:
    """Where names can be added to the policies that will see a value computed in ``scope``: text and place of each."""
    for checkpoint in _checkpoints_around(model, scope):
        found = _names_of(model, checkpoint)
        if found is not None:
            yield found


def _checkpoints_around(model: FileModel, scope: Scope) -> Iterator[Checkpoint]:
    """The checkpoints of this file whose function computes what stands in ``scope``, itself or through others."""
    around: set[Scope] = set()
    inner = scope.function()
    while inner is not None:
        around.add(inner)
        inner = inner.parent.function() if inner.parent is not None else None
    for checkpoint in alive(model):
        if any(target.function.inner in around for target, _ in functions_inside(model, checkpoint)):
            yield checkpoint


def _names_of(model: FileModel, checkpoint: Checkpoint) -> tuple[str, Range] | None:
    """The call, or the collection in it, that lists the names which a checkpoint's policy saves; in this file."""
    argument = checkpoint.role("policy")
    options = list(argument.value.options()) if argument is not None else []
    policy = options[0] if len(options) == 1 else None
    if not isinstance(policy, CallResult) or (policy.model or model) is not model:
        return None
    call = made_by(model, policy) if isinstance(policy.callee, Symbol) else None
    if call is None or "names_excluded" in call.api.traits or "names_have_no_effect" in call.api.traits:
        return None
    where: ast.expr | None = None
    if "names_as_varargs" in call.api.traits and not call.node.keywords:
        where = call.node
    elif "names_as_collections" in call.api.traits and (names := call.role("names")) is not None:
        where = names.node if isinstance(names.node, (ast.List, ast.Tuple, ast.Set)) else None
    area = model.range_of(where) if where is not None else None
    return (model.text_of(call.node.func).rpartition(".")[2], area) if area is not None else None


def _tag(spot: Spot, where: Range, name: str, names: Range | None) -> Edits:
    model, lines = spot.model, spot.model.source.lines
    function, imports = imported_api(model, (_TAG,), where.start, "from jax.ad_checkpoint import checkpoint_name")
    text = f'"{name}"'
    made = pass_through(lines, where, function, text)
    if names is None:
        return checked(spot.analysis, together(imports, made), "3")
    if names.overlaps(where):
        raise RefactoringRefused("the policy stands in the expression itself")
    return checked(spot.analysis, together(imports, made, add_item(lines, names, text)), "3")
