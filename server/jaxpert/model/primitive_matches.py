"""Which primitives a policy asks for: by name, by object, and by the parameters that it takes for granted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from jaxpert.model.policies import CustomPolicy
from jaxpert.model.primitive_tests import asked, is_primitive, is_primitive_name
from jaxpert.model.values import Frame, Sequence, Symbol, Table, Value, string
from jaxpert.records import dataclass
from jaxpert.syntax.children import children, walk
from jaxpert.syntax.scopes import Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_IDENTITY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)
_MEMBERSHIP = (ast.In, ast.NotIn)
_LEAVES = (ast.Return, ast.Raise, ast.Break, ast.Continue)


@dataclass(frozen=True, slots=True, eq=False)
class NameTest:
    """A name that the primitive's name is compared with.

    Attributes:
        name: the name.
        node: where it is written, if that is in the policy's file; else the expression that gives it.
        test: the whole comparison, look-up or ``case``.
        is_part: whether it may be any part of the primitive's name.
    """

    name: str
    node: ast.AST
    test: ast.AST
    is_part: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ObjectTest:
    """An object of a library that the primitive, or (``by_name``) its name, is compared with."""

    path: str
    node: ast.AST
    test: ast.expr
    by_name: bool = False


def name_tests(policy: CustomPolicy) -> Iterator[NameTest]:
    """Every name that the policy, or what it passes the primitive on to, compares the primitive's name with."""
    for site, frame in asked(policy):
        yield from _Tests(policy.model, site, frame).names()


def object_tests(policy: CustomPolicy) -> Iterator[ObjectTest]:
    """Every object of a library that is compared with the primitive, or with its name."""
    for site, frame in asked(policy):
        if isinstance(site.node, ast.Compare):
            yield from _Tests(policy.model, site, frame).objects(site.node)


class _Tests:
    """Those in one node."""

    def __init__(self, model: FileModel, site: Site, frame: Frame) -> None:
        self.model = model
        self.node = site.node
        self.value: Callable[[ast.expr], Value] = lambda node: model.evaluate(node, site.scope, site.block, frame)

    def names(self) -> Iterator[NameTest]:
        node, value = self.node, self.value
        if isinstance(node, ast.Compare):
            for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators):
                yield from self._compared(node, left, operator, right)
        elif isinstance(node, ast.Match) and is_primitive_name(value(node.subject)):
            for case in node.cases:
                for pattern in walk(case.pattern):
                    if isinstance(pattern, ast.MatchValue):
                        yield from self._texts(pattern.value, pattern)
        elif isinstance(node, ast.Subscript) and is_primitive_name(value(node.slice)):
            yield from self._members(node.value, node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            if node.func.attr == "get" and is_primitive_name(value(node.args[0])):
                yield from self._members(node.func.value, node)

    def _compared(
        self, node: ast.Compare, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> Iterator[NameTest]:
        if isinstance(operator, _IDENTITY):
            if is_primitive_name(self.value(left)):
                yield from self._texts(right, node)
            elif is_primitive_name(self.value(right)):
                yield from self._texts(left, node)
        elif isinstance(operator, _MEMBERSHIP):
            if is_primitive_name(self.value(left)):
                yield from self._members(right, node)
            elif is_primitive_name(self.value(right)):
                yield from self._texts(left, node, is_part=True)

    def _texts(self, node: ast.expr, test: ast.AST, is_part: bool = False) -> Iterator[NameTest]:
        for option in self.value(node).options():
            text = string(option)
            if text is not None:
                yield NameTest(text, self._place(option, node), test, is_part)

    def _members(self, node: ast.expr, test: ast.AST) -> Iterator[NameTest]:
        for option in self.value(node).options():
            members: tuple[Value, ...] = ()
            if isinstance(option, Sequence):
                members = option.items
            elif isinstance(option, Table):
                members = tuple(key for key, _ in option.entries)
            for member in members:
                for one in member.options():
                    text = string(one)
                    if text is not None:
                        yield NameTest(text, self._place(one, node), test)

    def _place(self, value: Value, node: ast.expr) -> ast.AST:
        written = value.site.node if value.site is not None and value.model is self.model else None
        return written if isinstance(written, ast.Constant) else node

    def objects(self, node: ast.Compare) -> Iterator[ObjectTest]:
        """Objects in a comparison."""
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators):
            if isinstance(operator, _IDENTITY):
                for one, other in ((left, right), (right, left)):
                    subject = self.value(one)
                    if is_primitive(subject) or is_primitive_name(subject):
                        yield from self._objects(self.value(other), other, node, not is_primitive(subject))
            elif isinstance(operator, _MEMBERSHIP):
                subject = self.value(left)
                if not is_primitive(subject) and not is_primitive_name(subject):
                    continue
                for option in self.value(right).options():
                    members = option.items if isinstance(option, Sequence) else ()
                    if isinstance(option, Table):
                        members = tuple(key for key, _ in option.entries)
                    if not is_primitive(subject) and any(string(member) is not None for member in members):
                        continue  # names and primitives in one collection, for whichever is asked about
                    for member in members:
                        yield from self._objects(member, right, node, not is_primitive(subject))

    def _objects(self, value: Value, node: ast.expr, test: ast.expr, by_name: bool) -> Iterator[ObjectTest]:
        for option in value.options():
            if isinstance(option, Symbol):
                written = option.site.node if option.site is not None and option.model is self.model else None
                place = written if isinstance(written, (ast.Name, ast.Attribute)) else node
                yield ObjectTest(option.path, place, test, by_name)


# -- parameters taken for granted -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CertainRead:
    """``params["name"]`` that the policy reads whatever primitive it is asked about."""

    node: ast.Subscript
    key: str
    around: ast.AST


def certain_reads(policy: CustomPolicy) -> list[CertainRead]:
    """Reads of the primitive's parameters by a key, before anything is known about the primitive."""
    function = policy.value.function
    params = function.node.args.kwarg
    if params is None or policy.kind != "function" or len(function.inner.bindings.get(params.arg, ())) != 1:
        return []
    found: list[CertainRead] = []
    if isinstance(function.node, ast.Lambda):
        _reads(function.node.body, function.node, params.arg, found)
        return found
    for statement in function.node.body:
        if isinstance(statement, (ast.Return, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign)):
            value = statement.value
            if value is not None:
                _reads(value, statement, params.arg, found)
        elif isinstance(statement, (ast.If, ast.While)):
            _reads(statement.test, statement, params.arg, found)
        elif isinstance(statement, ast.Match):
            _reads(statement.subject, statement, params.arg, found)
        if any(isinstance(part, _LEAVES) for part in walk(statement)) or isinstance(statement, (ast.Try, ast.With)):
            break
    return found


def _reads(node: ast.expr, around: ast.AST, params: str, found: list[CertainRead]) -> None:
    """Those in the parts of ``node`` that are always evaluated."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == params:
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            found.append(CertainRead(node, node.slice.value, around))
    if isinstance(node, ast.BoolOp):
        _reads(node.values[0], node, params, found)
    elif isinstance(node, ast.IfExp):
        _reads(node.test, node, params, found)
    elif isinstance(node, ast.Compare):
        _reads(node.left, node, params, found)
        _reads(node.comparators[0], node, params, found)
    elif not isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        for child in children(node):
            if isinstance(child, ast.expr):
                _reads(child, node, params, found)
            elif isinstance(child, ast.keyword):
                _reads(child.value, node, params, found)
