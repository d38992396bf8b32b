"""Remat policies: where they are given, what they are, and what a custom one returns for each primitive."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.call_results import frame_of
from jaxpert.model.calls import Argument, api_calls_in, may_matter
from jaxpert.model.paths import ends_of, is_stub
from jaxpert.model.policy_expressions import trees_about_policies
from jaxpert.model.values import (
    PRIMITIVE_PARAMETERS,
    UNKNOWN,
    CallResult,
    ClassValue,
    Def,
    Frame,
    Instance,
    Partial,
    Symbol,
    Typed,
    Value,
)
from jaxpert.records import dataclass
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import BindingKind, Block, Site, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


_ASKING = frozenset({"isinstance", "callable", "type", "hasattr"})


@dataclass(frozen=True, slots=True, eq=False)
class PolicyUse:
    """An expression given where a policy belongs. ``takes_bools``: the place accepts only bool results."""

    argument: Argument
    value: Value
    takes_bools: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """One thing that a policy returns: the value, and the expression in the policy that gives it."""

    value: Value
    node: ast.expr
    block: Block


@dataclass(frozen=True, slots=True, eq=False)
class CustomPolicy:
    """A function, lambda, method or callable object used as a policy.

    Attributes:
        value: the function that runs.
        given: how many leading positional parameters are already given (``self``, partial).
        given_names: keywords already given through ``functools.partial``.
        uses: where it is given as a policy, in the file being checked.
        model: the model of the file that defines it, which may be another file.
    """

    value: Def
    given: int
    given_names: frozenset[str]
    uses: tuple[PolicyUse, ...]
    model: FileModel

    @property
    def name(self) -> str:
        """What to call it in a message."""
        owner = self.value.owner
        return f"{owner.node.name}.{self.value.name}" if owner is not None else self.value.name

    @property
    def kind(self) -> str:
        """ "generator" or "coroutine" when calling it never gives a decision; else "function"."""
        if self.value.function.is_generator:
            return "generator"
        return "coroutine" if isinstance(self.value.function.node, ast.AsyncFunctionDef) else "function"

    @property
    def primitive(self) -> ast.arg | None:
        """The parameter that receives the primitive; None when ``*args`` does or nothing can."""
        arguments = self.value.function.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        return positional[self.given] if self.given < len(positional) else None


def policy_uses(model: FileModel) -> tuple[PolicyUse, ...]:
    """Every expression of the file that is given as a policy, once each."""
    found: dict[int, PolicyUse] = {}
    for use in model.from_each_tree("policy uses", _policy_uses_in):
        found.setdefault(id(use.argument.node), use)  # a partial is seen again at each of its calls
    return tuple(found.values())


def _policy_uses_in(model: FileModel, tree: TreeIndex) -> list[PolicyUse]:
    found: dict[int, PolicyUse] = {}
    for call in api_calls_in(model, tree):
        given: list[tuple[Argument, bool]] = []
        policy = call.role("policy")
        if policy is not None:
            given.append((policy, False))
        if "policies_as_varargs" in call.api.traits:
            given.extend((argument, True) for argument in (*call.arguments.values(), *call.varargs))
        for argument, takes_bools in given:
            if argument.model is model and id(argument.node) not in found and not model.is_dead(argument.site.block):
                found[id(argument.node)] = PolicyUse(argument, argument.value, takes_bools)
    return list(found.values())


def certain_options(argument: Argument) -> list[Value]:
    """What an argument can be for certain: its only value, or the alternatives written in its own expression.

    Others come through variables and parameters, where something between may have ruled them out.
    """
    options = list(argument.value.options())
    if len(options) == 1:
        return options
    inside = {id(node) for node in ast.walk(argument.node)}
    return [
        option
        for option in options
        if option.site is not None and option.model is argument.model and id(option.site.node) in inside
    ]


def is_chosen(use: PolicyUse, option: Value) -> bool:
    """Whether the variable given as a policy is ``option`` whenever a condition says so, which nothing else asks about.

    The variable is bound once, to a conditional expression, and neither it nor a name in the condition is tested
    anywhere else: then nothing rules the option out on the way.
    """
    given, site = use.argument.node, use.argument.site
    found = site.scope.lookup(given.id) if isinstance(given, ast.Name) else None
    binding = found[1][0] if found is not None and len(found[1]) == 1 else None
    if binding is None or binding.kind is not BindingKind.ASSIGN or not isinstance(binding.value, ast.IfExp):
        return False
    choice, model = binding.value, use.argument.model
    written = option.site.node if option.site is not None and option.model is model else None
    if written is not choice.body and written is not choice.orelse:
        return False
    names = {binding.name, *_names_in(choice.test)}
    own = {id(part) for part in ast.walk(choice.test)}
    trees = model.every_tree if binding.scope.kind == "module" else [site.block.tree]
    return not any(
        names & _names_in(test)
        for tree in trees
        if not names.isdisjoint(tree.mentions())
        for test in _tests_in(tree)
        if id(test) not in own
    )


def _tests_in(tree: TreeIndex) -> Iterator[ast.expr]:
    """Every expression that decides something, or may be asked for by a condition."""
    for statement in tree.block_of:
        if isinstance(statement, (ast.If, ast.While, ast.Assert)):
            yield statement.test
        elif isinstance(statement, ast.Match):
            yield statement.subject
    for node, _, _, _ in compounds(tree, ast.IfExp, ast.BoolOp, ast.Compare, ast.Call):
        if isinstance(node, ast.IfExp):
            yield node.test
        elif not isinstance(node, ast.Call) or getattr(node.func, "id", "") in _ASKING:
            yield node


def _names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def policy_tables(model: FileModel) -> Iterator[tuple[Site, list[Symbol]]]:
    """Dictionary displays that hold members of the policy namespace, with those members."""
    for tree in trees_about_policies(model):
        yield from model.tree_fact(tree, "policy tables", lambda t: _policy_tables_in(model, t))


def _policy_tables_in(model: FileModel, tree: TreeIndex) -> list[tuple[Site, list[Symbol]]]:
    found = []
    seen: dict[tuple[int, str, bool], bool] = {}
    for site in tree.dicts:
        if not isinstance(site.node, ast.Dict) or len(site.node.values) < 2 or model.is_dead(site.block):
            continue
        members = []
        for node in site.node.values:
            if isinstance(node, (ast.Attribute, ast.Name)) and may_matter(model, node, site.scope, seen):
                value = model.evaluate(node, site.scope, site.block)
                api = model.db.api(value.path) if isinstance(value, Symbol) else None
                if (
                    api is not None
                    and isinstance(value, Symbol)
                    and api.kind in (ApiKind.POLICY, ApiKind.POLICY_FACTORY)
                ):
                    members.append(value)
        if members:
            found.append((site, members))
    return found


def custom_policies(model: FileModel) -> tuple[CustomPolicy, ...]:
    """Every function used as a policy in this file, with all its uses; those that make policies are none."""
    return tuple(policy for policy in _used_functions(model) if not _makes_policies(policy))


def policy_makers(model: FileModel) -> tuple[CustomPolicy, ...]:
    """Every function that makes policies and is used as if it were one, without being called."""
    return tuple(policy for policy in _used_functions(model) if _makes_policies(policy))


def _used_functions(model: FileModel) -> tuple[CustomPolicy, ...]:
    uses: dict[int, list[PolicyUse]] = {}
    functions: dict[int, tuple[Def, int, frozenset[str]]] = {}
    for use in model.policy_uses:
        for option in use.value.options():
            function = callable_behind(model, option)
            if function is None:
                continue
            key = id(function[0].function)
            functions.setdefault(key, function)
            uses.setdefault(key, []).append(use)
    return tuple(
        CustomPolicy(value, given, names, tuple(uses[key]), value.model or model)
        for key, (value, given, names) in functions.items()
    )


def _makes_policies(policy: CustomPolicy) -> bool:
    """Whether all that the function gives are functions or policies of JAX, and it cannot be asked itself."""
    arguments = policy.value.function.node.args
    if policy.primitive is not None and arguments.vararg is not None and arguments.kwarg is not None:
        return False  # a policy that forgets to call another
    made = results(policy)
    return bool(made) and falls_after(policy) is None and all(_is_policy(policy.model, one.value) for one in made)


def _is_policy(model: FileModel, value: Value) -> bool:
    while isinstance(value, Partial):
        value = value.target
    path = value.path if isinstance(value, (Symbol, CallResult)) else ""
    api = model.db.api(path) if path else None
    kind = ApiKind.POLICY_FACTORY if isinstance(value, CallResult) else ApiKind.POLICY
    return isinstance(value, Def) or (api is not None and api.kind is kind)


def callable_behind(model: FileModel, value: Value) -> tuple[Def, int, frozenset[str]] | None:
    """The function that runs when ``value`` is called, and how many parameters are given already."""
    args: list[Value] = []
    keywords: dict[str, Value] = {}
    while isinstance(value, Partial):
        if value.open:
            return None
        args = [*value.args, *args]
        keywords = {**value.keywords, **keywords}
        value = value.target
    if isinstance(value, Instance):
        value = (value.model or model).evaluator.attribute(value, "__call__", None)
    if not isinstance(value, Def):
        return None
    if args or keywords:
        evaluator = (value.model or model).evaluator
        value = replace(value, frame=frame_of(evaluator, value, args, keywords, more=True))
    return value, len(args) + (1 if value.bound else 0), frozenset(keywords)


def policy_classes(model: FileModel) -> Iterator[tuple[PolicyUse, ClassValue]]:
    """Classes, whose objects can be called, that are given as policies themselves."""
    for use in model.policy_uses:
        for option in use.value.options():
            if not isinstance(option, ClassValue) or option.node.keywords or option.node.bases:
                continue
            members = option.scope.bindings
            if "__call__" in members and "__new__" not in members:
                yield use, option


def results(policy: CustomPolicy) -> list[Result]:
    """Everything that the policy returns by a ``return`` (or a lambda's body) that can be reached."""
    node = policy.value.function.node
    if policy.kind != "function":
        return []
    if policy.value.frame:  # what a factory was called with belongs to this use alone
        return list(_results(policy))
    tree = policy.value.function.block.tree
    return policy.model.tree_fact(tree, f"results {id(node)}", lambda _: list(_results(policy)))


def _results(policy: CustomPolicy) -> Iterator[Result]:
    model = policy.model
    function = policy.value.function
    node = function.node
    frame = _frame(policy)
    if isinstance(node, ast.Lambda):
        yield from _parts(model, node.body, function.body_block, policy, frame)
        return
    condition = model.evaluator.condition(function.inner, function.body_block, frame)
    never_returns = model.evaluator.never_returns(function.inner, function.body_block)
    ends = ends_of(node.body, node, condition, never_returns)
    blocks = dict(function.returns)
    for returned in ends.returns:
        block = blocks.get(returned)
        if returned.value is not None and block is not None and not model.is_dead(block):
            yield from _parts(model, returned.value, block, policy, frame)


def _frame(policy: CustomPolicy) -> Frame:
    """What is known inside the policy: the primitive, and its parameters, whatever primitive JAX asks about."""
    inner = id(policy.value.function.inner)
    known = dict(policy.value.frame)
    params = policy.value.function.node.args.kwarg
    if params is not None:
        known[inner, params.arg] = Typed(PRIMITIVE_PARAMETERS)
    if policy.primitive is not None:
        known[inner, policy.primitive.arg] = Typed("primitive")
    return known


def _parts(model: FileModel, node: ast.expr, block: Block, policy: CustomPolicy, frame: Frame) -> Iterator[Result]:
    """Split conditional expressions, so that each result points at its own expression."""
    if isinstance(node, ast.IfExp):
        yield from _parts(model, node.body, block, policy, frame)
        yield from _parts(model, node.orelse, block, policy, frame)
        return
    value = model.evaluate(node, policy.value.function.inner, block, frame)
    if value is UNKNOWN:
        value = about_operands(node, policy)
    for option in value.options():
        yield Result(option, node, block)


_ABOUT_AN_OPERAND = {"size": "int", "ndim": "int", "shape": "tuple"}
"""What an abstract value says of itself; all of it the same from 0.4.30 to 0.12.0.1."""


def about_operands(node: ast.expr, policy: CustomPolicy) -> Value:
    """What ``avals`` and ``avals[0].size`` are, given back as they are; ``avals`` is the policy's own name for them."""
    arguments = policy.value.function.node.args
    own = arguments.vararg.arg if arguments.vararg is not None else ""
    if len(policy.value.function.inner.bindings.get(own, ())) != 1:
        return UNKNOWN
    if isinstance(node, ast.Name):
        return Typed("tuple") if node.id == own else UNKNOWN
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Subscript):
        operands = node.value.value
        if isinstance(operands, ast.Name) and operands.id == own and not isinstance(node.value.slice, ast.Slice):
            kind = _ABOUT_AN_OPERAND.get(node.attr)
            return Typed(kind) if kind else UNKNOWN
    return UNKNOWN


def falls_after(policy: CustomPolicy) -> ast.stmt | None:
    """The last statement through which the policy reaches its end without a return; None when it never does.

    Bare ``return`` statements count: they return None as well.
    """
    node = policy.value.function.node
    if isinstance(node, ast.Lambda) or policy.kind != "function":
        return None
    model = policy.model
    function = policy.value.function
    condition = model.evaluator.condition(function.inner, function.body_block, policy.value.frame)
    never_returns = model.evaluator.never_returns(function.inner, function.body_block)
    ends = ends_of(node.body, node, condition, never_returns)
    if ends.falls is not None:
        if is_stub(node):
            return None
        return node.body[-1]
    return next((returned for returned in ends.returns if returned.value is None), None)
