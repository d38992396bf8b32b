"""Calls of ``jax.tree.map`` and its like: which trees they get, where these differ, and what becomes of the leaves.

Measured on 0.4.30 to 0.12.0.1. The first tree decides which leaves there are. What stands below one of its leaves in
another tree is given to the function as it is: None, or a whole subtree. Everything else must have the first tree's
structure. ``is_leaf`` is asked about the first tree only.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from dataclasses import field, replace
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.model.caller_arrays import enclosing_function
from jaxpert.model.caller_frames import frames_of_callers
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.pytrees import structure_of
from jaxpert.model.structures import (
    Dict,
    Leaf,
    List,
    Mismatch,
    MismatchKind,
    NoneNode,
    Structure,
    Tuple,
    Unknown,
    mismatches,
)
from jaxpert.model.values import Def, Frame, Partial, Symbol, Value, is_none
from jaxpert.records import dataclass
from jaxpert.syntax.children import children, walk
from jaxpert.syntax.executed import always_runs
from jaxpert.syntax.reaching import reaching
from jaxpert.syntax.scopes import BindingKind

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MAPS = {"jax.tree.map": 0, "jax.tree.map_with_path": 1}
"""How many arguments the function gets before the leaves."""

NONE_IS_NO_PREFIX = Version("0.4.34")
"""Since then None in the first tree must meet None in the others; before, it met anything (0.4.33 still did)."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeMap:
    """One call.

    Attributes:
        fun: the function; None where it is not given.
        trees: the first tree, and the others.
        leading: how many arguments the function gets before the leaves.
        none_is_leaf: whether ``is_leaf`` makes None a leaf; None where it may do anything.
        caller: a call of the function around, whose arguments ``frame`` holds; None where no call is looked at.
    """

    call: ApiCall
    fun: Argument | None
    trees: tuple[Argument, ...]
    leading: int
    none_is_leaf: bool | None
    caller: ast.Call | None = None
    frame: Frame = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Where a later tree, ``trees[index]``, differs from the first one."""

    map: TreeMap
    index: int
    mismatch: Mismatch

    @property
    def reaches_function(self) -> bool:
        """Whether the function gets what the later tree holds there; otherwise ``tree.map`` itself raises."""
        kind = self.mismatch.kind
        return kind is MismatchKind.LEAF_LEFT or (
            kind is MismatchKind.NONE_RIGHT and isinstance(self.mismatch.left, Leaf)
        )

    @property
    def is_about_none(self) -> bool:
        """Whether one side is None, or is the leaf that ``is_leaf`` made of it."""
        sides = (self.mismatch.left, self.mismatch.right)
        return any(isinstance(side, NoneNode) or (isinstance(side, Leaf) and side.type == "None") for side in sides)


def tree_maps(model: FileModel) -> Iterator[TreeMap]:
    """All of them in the file."""
    for call in model.calls:
        leading = _MAPS.get(call.api.name)
        if leading is None or call.is_partial or call.opened or call.surplus or call.unexpected:
            continue
        first = call.arguments.get("tree")
        if first is None or model.is_dead(call.site.block):
            continue
        is_leaf = call.arguments.get("is_leaf")
        yield TreeMap(
            call, call.role("fun"), (first, *call.varargs), leading, False if is_leaf is None else _tests_none(is_leaf)
        )


def with_callers(tree_map: TreeMap) -> Iterator[TreeMap]:
    """The call as it stands, and as it is in each visible call of the function that always comes to it."""
    yield tree_map
    site, model = tree_map.call.site, tree_map.trees[0].model
    if len(tree_map.trees) < 2 or not any(map(_is_of_parameter, tree_map.trees)):
        return
    function = enclosing_function(model, site.scope)
    if function is None or function.inner is not site.scope or not always_runs(function.node, site.node):
        return
    for frame, caller in frames_of_callers(model, function):
        yield replace(tree_map, caller=caller, frame=frame)


def _is_of_parameter(tree: Argument) -> bool:
    """Whether an argument is a parameter of the function around, or an attribute or item of one."""
    node = tree.node
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    scope = tree.site.scope
    found = scope.bindings.get(node.id) if isinstance(node, ast.Name) else None
    if not found or found[0].kind is not BindingKind.PARAMETER:
        return False
    seen = reaching(found, node, scope, tree.site.block, scope)
    return len(seen) == 1 and seen[0].kind is BindingKind.PARAMETER


def differences(tree_map: TreeMap) -> Iterator[Difference]:
    """Every place where a later tree differs from the first for certain."""
    if len(tree_map.trees) < 2 or tree_map.none_is_leaf is None:
        return
    first = structure_at(tree_map.trees[0], tree_map.frame)
    if isinstance(first, Unknown):
        return
    if tree_map.none_is_leaf:
        first = _none_as_leaf(first)
    for index, tree in enumerate(tree_map.trees[1:], 1):
        for mismatch in mismatches(first, structure_at(tree, tree_map.frame)):
            yield Difference(tree_map, index, mismatch)


def structure_at(tree: Argument, frame: Frame | None = None) -> Structure:
    """The structure of an argument, with what is known of the parameters around."""
    return structure_of(tree.model, tree.node, tree.site.scope, tree.site.block, frame)


def _none_as_leaf(structure: Structure) -> Structure:
    site, model = structure.site, structure.model
    if isinstance(structure, NoneNode):
        return Leaf("None", site=site, model=model)
    if isinstance(structure, Dict):
        inner = {key: _none_as_leaf(child) for key, child in structure.entries.items()}
        return Dict(inner, structure.type, structure.exact, site=site, model=model)
    if isinstance(structure, (List, Tuple)):
        return type(structure)(tuple(map(_none_as_leaf, structure.items)), structure.exact, site=site, model=model)
    return structure


def _tests_none(is_leaf: Argument) -> bool | None:
    """Whether ``is_leaf`` is true for None and nothing else."""
    value = is_leaf.value
    if is_none(value):
        return False
    if not isinstance(value, Def):
        return None
    node = value.function.node
    body = node.body if isinstance(node, ast.Lambda) else _only_return(node)
    names = parameter_names(value)
    return True if isinstance(body, ast.expr) and len(names) == 1 and is_none_test(body, names[0]) is True else None


def _only_return(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
    last = node.body[-1]
    return last.value if len(node.body) <= 2 and isinstance(last, ast.Return) else None


def is_none_test(node: ast.expr, name: str) -> bool | None:
    """True for ``name is None``, False for ``name is not None``, None for anything else."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.left, ast.Name):
        return None
    other = node.comparators[0]
    if node.left.id != name or not isinstance(other, ast.Constant) or other.value is not None:
        return None
    if isinstance(node.ops[0], (ast.Is, ast.Eq)):
        return True
    return False if isinstance(node.ops[0], (ast.IsNot, ast.NotEq)) else None


# -- what the function does with an argument --------------------------------------------------------------------------


class Use(enum.Enum):
    """What a function does with an argument, in the first place."""

    UNKNOWN = "not known"
    IGNORED = "nothing"
    TESTED = "a condition asks about it"
    COMPUTES = "arithmetic, on every path"
    READS = "an item or attribute of it, on every path"
    PASSED = "it goes to another function"
    KEEPS = "it becomes a part of the result as it is"


_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, ast.MatMult)
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ELEMENTWISE = {
    "add", "subtract", "multiply", "divide", "true_divide", "maximum", "minimum", "power", "sqrt", "exp", "log", "abs",
    "square", "sin", "cos", "tanh", "negative", "logical_and", "logical_or", "dot", "matmul", "sub", "mul", "truediv",
    "pow",
}  # fmt: skip
_ELEMENTWISE_MODULES = {"jax.numpy", "jax.lax", "numpy", "operator"}


_MOST_CALLS = 3

Shown = tuple[Use, "ast.expr | None"]


def use_of(fun: Argument | None, position: int, not_none: int | None = None) -> Shown:
    """What the function does with the argument at ``position``, and the expression that shows it.

    ``not_none``: the position of another argument that is known not to be None.
    """
    value = fun.value if fun is not None else Value()
    while isinstance(value, Partial) and not value.open:
        position += len(value.args)
        value = value.target
    if isinstance(value, Symbol):
        module, _, name = value.path.rpartition(".")
        known = module in _ELEMENTWISE_MODULES and name in _ELEMENTWISE
        return (Use.COMPUTES if known else Use.UNKNOWN), None
    if not isinstance(value, Def):
        return Use.UNKNOWN, None
    names = parameter_names(value)
    if position >= len(names):
        return Use.UNKNOWN, None
    other = names[not_none] if not_none is not None and not_none < len(names) else ""
    return _use_in(value, names[position], other, 0)


def parameter_names(function: Def) -> list[str]:
    """The parameters that can be given by position, ``self`` left out where it is bound."""
    arguments = function.function.node.args
    return [one.arg for one in (*arguments.posonlyargs, *arguments.args)][1 if function.bound else 0 :]


def _use_in(function: Def, name: str, not_none: str, depth: int) -> Shown:
    node = function.function.node
    mentions = [inner for inner in walk(node) if isinstance(inner, ast.Name) and inner.id == name]
    if not mentions:
        return Use.IGNORED, None
    if any(not isinstance(inner.ctx, ast.Load) for inner in mentions) or _is_tested(node, name):
        return Use.TESTED, None
    statements = [node.body] if isinstance(node, ast.Lambda) else node.body
    passed = False
    for statement in statements:
        if not isinstance(statement, (ast.expr, ast.Return, ast.Expr, ast.Assign, ast.AnnAssign)):
            return Use.UNKNOWN, None
        for part in _always_evaluated(statement, not_none):
            found = _shown_by(function, part, name, depth)
            if found is Use.PASSED:
                passed = True
            elif found is not None:
                return found, part if isinstance(part, ast.expr) else None
    kept = isinstance(node, ast.Lambda) or all(isinstance(one, (ast.Return, ast.Expr)) for one in node.body)
    return (Use.KEEPS if kept and not passed and not _is_deep(node, name) else Use.PASSED), None


def _is_tested(function: ast.AST, name: str) -> bool:
    """Whether any condition mentions ``name``."""
    for node in walk(function):
        tests: list[ast.AST] = []
        if isinstance(node, (ast.IfExp, ast.If, ast.While, ast.Assert)):
            tests = [node.test]
        elif isinstance(node, ast.BoolOp):
            tests = list(node.values)
        elif isinstance(node, (ast.Match, ast.Try)):
            return True
        elif isinstance(node, ast.comprehension):
            tests = list(node.ifs)
        if any(isinstance(inner, ast.Name) and inner.id == name for test in tests for inner in walk(test)):
            return True
    return False


def _always_evaluated(node: ast.AST, not_none: str) -> Iterator[ast.AST]:
    """The parts of a statement or expression that are evaluated whenever it is, in no special order."""
    yield node
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    inner: list[ast.AST] = list(children(node))
    if isinstance(node, ast.IfExp):
        is_none = is_none_test(node.test, not_none)
        inner = [node.test] if is_none is None else [node.orelse if is_none else node.body]
    elif isinstance(node, ast.BoolOp):
        inner = [node.values[0]]
    for child in inner:
        yield from _always_evaluated(child, not_none)


def _shown_by(function: Def, part: ast.AST, name: str, depth: int) -> Use | None:
    """What one expression does with the variable."""

    def is_it(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id == name

    if isinstance(part, ast.BinOp) and isinstance(part.op, _ARITHMETIC) and (is_it(part.left) or is_it(part.right)):
        return Use.COMPUTES
    if isinstance(part, ast.UnaryOp) and isinstance(part.op, (ast.USub, ast.UAdd, ast.Invert)) and is_it(part.operand):
        return Use.COMPUTES
    if isinstance(part, ast.Compare) and isinstance(part.ops[0], _ORDERS):
        return Use.COMPUTES if is_it(part.left) or is_it(part.comparators[0]) else None
    if isinstance(part, (ast.Attribute, ast.Subscript)) and is_it(part.value):
        return Use.READS
    if isinstance(part, ast.Call) and any(is_it(one) for one in (*part.args, *(k.value for k in part.keywords))):
        return _given_on(function, part, name, depth)
    return None


def _given_on(function: Def, call: ast.Call, name: str, depth: int) -> Use:
    """What a call inside ``function`` does with the variable that it is given."""
    scope, block = function.function.inner, function.function.body_block
    callee = function.model.evaluate(call.func, scope, block) if function.model is not None else Value()
    if isinstance(callee, Symbol):
        module, _, called = callee.path.rpartition(".")
        return Use.COMPUTES if module in _ELEMENTWISE_MODULES and called in _ELEMENTWISE else Use.PASSED
    if not isinstance(callee, Def) or depth >= _MOST_CALLS or any(isinstance(one, ast.Starred) for one in call.args):
        return Use.PASSED
    names = parameter_names(callee)
    given = [*zip(names, call.args), *((str(keyword.arg), keyword.value) for keyword in call.keywords)]
    taken = [parameter for parameter, one in given if isinstance(one, ast.Name) and one.id == name]
    inner = _use_in(callee, taken[0], "", depth + 1)[0] if len(taken) == 1 else Use.PASSED
    return inner if inner in (Use.COMPUTES, Use.READS) else Use.PASSED


def _is_deep(function: ast.AST, name: str) -> bool:
    """Whether the variable stands where more than its value is needed: in a call, a loop or an inner function."""
    return any(
        isinstance(inner, ast.Name) and inner.id == name
        for node in walk(function)
        if node is not function
        and isinstance(node, (ast.Call, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
        for inner in walk(node)
    )
