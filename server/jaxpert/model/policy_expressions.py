"""Expressions around policies that are no policies: operators between them, and the truth of what they answer."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.aliases import trees_about
from jaxpert.model.values import CallResult, Def, Partial, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import Block, Scope, Site, TreeIndex, scope_of

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_WORDS = frozenset({"checkpoint_policies", "Recompute", "Saveable", "Offloadable"})
_BITWISE = (ast.BitOr, ast.BitAnd, ast.BitXor, ast.Add, ast.Sub)
_DISPLAYS = (ast.List, ast.Tuple, ast.Set)
_MAY_BE_POLICIES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.Lambda)
_MOST_HOPS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """Policies with an operator between them, or before the only one.

    Attributes:
        node: the whole expression.
        operator: "or", "and", "not", "|", "&", …
        policies: the operands.
        site: where it stands.
    """

    node: ast.expr
    operator: str
    policies: tuple[ast.expr, ...]
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class TruthTest:
    """An answer of a policy that is no bool, used as if it were one.

    Attributes:
        node: the expression that gives the answer.
        how: "or", "and", "not", "if", "while", "assert", "bool", "any", "all"; "==" beside True or False; "|" and
            its like for an operator that raises.
        whole: the expression around it, or ``node`` itself.
        answers: what the answer can be, as far as it is no bool.
        site: where it stands.
    """

    node: ast.expr
    how: str
    whole: ast.expr
    answers: tuple[Value, ...]
    site: Site


def trees_about_policies(model: FileModel) -> list[TreeIndex]:
    """A cheap look: the trees in focus that can hold a policy of JAX, or what one returns."""
    return trees_about(model, _WORDS | model.db.policy_names())


# -- what is a policy, and what is an answer --------------------------------------------------------------------------


def is_policy(model: FileModel, value: Value) -> bool:
    """Whether ``value`` is certainly a policy of JAX: ready made, or made by a factory."""
    options = list(value.options())
    return bool(options) and all(_is_policy(model, option) for option in options)


def _is_policy(model: FileModel, value: Value) -> bool:
    path = value.path if isinstance(value, (Symbol, CallResult)) else ""
    api = model.db.api(path) if path else None
    wanted = ApiKind.POLICY if isinstance(value, Symbol) else ApiKind.POLICY_FACTORY
    return api is not None and api.kind is wanted


def gives_policy(model: FileModel, value: Value) -> bool:
    """Whether ``value`` is certainly true and can be called, as a policy of JAX or of the user's is."""
    options = list(value.options())
    return bool(options) and all(isinstance(option, (Def, Partial)) or _is_policy(model, option) for option in options)


def answers(model: FileModel, value: Value) -> tuple[Value, ...]:
    """The sentinels and offloads among what ``value`` can be; calls of factories that answer with them."""
    return tuple(option for option in value.options() if _is_answer(model, option))


def _is_answer(model: FileModel, value: Value) -> bool:
    if isinstance(value, CallResult) and isinstance(value.callee, CallResult):  # offload_dot…(…)(prim)
        api = model.db.api(value.callee.path)
        return api is not None and api.kind is ApiKind.POLICY_FACTORY and "offload_dst" in api.roles
    path = value.path if isinstance(value, (Symbol, CallResult)) else ""
    api = model.db.api(path) if path else None
    if api is None:
        return False
    if isinstance(value, CallResult):
        return api.kind is ApiKind.CLASS and "offload_dst" in api.roles
    return api.kind is ApiKind.SENTINEL


def may_recompute(model: FileModel, value: Value) -> bool:
    """Whether the answer ``value`` is ``Recompute``, or of a policy that answers so for most primitives."""
    if isinstance(value, CallResult):
        return isinstance(value.callee, CallResult)
    api = model.db.api(value.path) if isinstance(value, Symbol) else None
    return api is not None and api.name.endswith(".Recompute")


# -- operators between policies ---------------------------------------------------------------------------------------


def combinations(model: FileModel) -> Iterator[Combination]:
    """Operators between policies: of JAX anywhere in the file, of the user's where a policy is given; once each."""
    seen: set[int] = set()
    for use in model.policy_uses:
        argument = use.argument
        found = _followed(model, argument.node, argument.site)
        if found is not None and id(found.node) not in seen:
            seen.add(id(found.node))
            yield found
    for tree in trees_about_policies(model):
        for found in model.tree_fact(tree, "combined policies", lambda t: list(_combinations_in(model, t))):
            if id(found.node) not in seen:
                seen.add(id(found.node))
                yield found


def _followed(model: FileModel, node: ast.expr, site: Site, hops: int = 0) -> Combination | None:
    """The operator that makes what is given as a policy, through plain variables of this file."""
    if isinstance(node, ast.Name) and hops < _MOST_HOPS:
        found = site.scope.lookup(node.id)
        if found is None or len(found[1]) != 1 or found[1][0].value is None or found[1][0].detail:
            return None
        binding = found[1][0]
        assert binding.value is not None
        return _followed(model, binding.value, Site(binding.value, binding.scope, binding.block), hops + 1)
    return _combination(model, node, site.scope, site.block, of_users=True)


def _combinations_in(model: FileModel, tree: TreeIndex) -> Iterator[Combination]:
    inside: set[int] = set()
    for node, _, scope, block in compounds(tree, ast.BoolOp, ast.BinOp):
        if id(node) in inside or model.is_dead(block):
            continue
        found = _combination(model, node, scope, block, of_users=False)
        if found is not None:
            inside.update(id(part) for part in ast.walk(node))
            yield found


def _combination(model: FileModel, node: ast.expr, scope: Scope, block: Block, of_users: bool) -> Combination | None:
    operator = operator_of(node)
    if not operator:
        return None
    operands = _operands(node)
    if not all(isinstance(operand, _MAY_BE_POLICIES) for operand in operands):
        return None
    is_one = gives_policy if of_users else is_policy
    certain = all(is_one(model, model.evaluate(operand, scope, block)) for operand in operands)
    return Combination(node, operator, operands, Site(node, scope, block)) if certain else None


def operator_of(node: ast.expr) -> str:
    """The operator of ``node`` as it is written; "" for one that cannot stand between policies."""
    if isinstance(node, ast.BoolOp):
        return "or" if isinstance(node.op, ast.Or) else "and"
    if isinstance(node, ast.UnaryOp):
        return {ast.Not: "not", ast.Invert: "~"}.get(node.op.__class__, "")
    if isinstance(node, ast.BinOp) and isinstance(node.op, _BITWISE):
        return {ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.Add: "+", ast.Sub: "-"}[node.op.__class__]
    return ""


def _operands(node: ast.expr) -> tuple[ast.expr, ...]:
    """``a | b | c`` has three."""
    if isinstance(node, ast.BoolOp):
        return tuple(node.values)
    if isinstance(node, ast.UnaryOp):
        return (node.operand,)
    assert isinstance(node, ast.BinOp)
    left = node.left
    same = isinstance(left, ast.BinOp) and left.op.__class__ is node.op.__class__
    return (*(_operands(left) if same else (left,)), node.right)


# -- the truth of answers ---------------------------------------------------------------------------------------------


def truth_tests(model: FileModel) -> Iterator[TruthTest]:
    """Answers that are no bools, used as if they were."""
    for tree in trees_about_policies(model):
        yield from model.tree_fact(tree, "truth of answers", lambda t: list(_truth_tests_in(model, t)))


def _truth_tests_in(model: FileModel, tree: TreeIndex) -> Iterator[TruthTest]:
    seen: set[int] = set()
    for operand, how, whole, site in _tested(tree):
        if id(operand) in seen or not isinstance(operand, (ast.Name, ast.Attribute, ast.Call)):
            continue
        found = answers(model, model.evaluate(operand, site.scope, site.block))
        if found and not model.is_dead(site.block):
            seen.add(id(operand))
            yield TruthTest(operand, how, whole, found, site)


def _tested(tree: TreeIndex) -> Iterator[tuple[ast.expr, str, ast.expr, Site]]:
    """Expressions whose truth decides something, what they decide, the expression around them, and where."""
    for statement, block in tree.block_of.items():
        if isinstance(statement, (ast.If, ast.While, ast.Assert)):
            how = {ast.If: "if", ast.While: "while", ast.Assert: "assert"}[statement.__class__]
            yield from _conditions(statement.test, how, Site(statement, scope_of(block), block))
    for node, _, scope, block in compounds(tree, ast.BoolOp, ast.UnaryOp, ast.IfExp, ast.BinOp, ast.Compare):
        if isinstance(node, ast.BoolOp):
            how = operator_of(node)
            for operand in node.values[:-1]:
                yield operand, how, node, Site(node, scope, block)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield from _conditions(node.operand, "not", Site(node, scope, block), node)
        elif isinstance(node, ast.IfExp):
            yield from _conditions(node.test, "if", Site(node, scope, block))
        elif isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitOr, ast.BitAnd, ast.BitXor)):
            for operand in (node.left, node.right):
                yield operand, operator_of(node), node, Site(node, scope, block)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            other = node.comparators[0]
            if isinstance(other, ast.Constant) and isinstance(other.value, bool):
                yield node.left, "==", node, Site(node, scope, block)
    for call in tree.calls:
        node, scope, block = call.node, call.scope, call.block
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in ("bool", "any", "all") and len(node.args) == 1 and scope.lookup(name) is None:
            given = node.args[0]
            for element in [given] if name == "bool" else given.elts if isinstance(given, _DISPLAYS) else []:
                yield element, name, node, Site(node, scope, block)


def _conditions(
    test: ast.expr, how: str, site: Site, whole: ast.expr | None = None
) -> Iterator[tuple[ast.expr, str, ast.expr, Site]]:
    """A condition; of ``a and b`` the last part, for the others are found with the operator."""
    if isinstance(test, ast.BoolOp):
        yield from _conditions(test.values[-1], how, site, whole)
    else:
        yield test, how, whole or test, site

