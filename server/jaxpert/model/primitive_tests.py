"""What a policy does with the primitive it is asked about."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from jaxpert.model.call_results import frame_of
from jaxpert.model.policies import CustomPolicy
from jaxpert.model.texts import is_text
from jaxpert.model.values import PRIMITIVE_NAME, UNKNOWN, Def, Frame, Sequence, Symbol, Table, Typed, Value
from jaxpert.records import dataclass
from jaxpert.syntax.executed import executed
from jaxpert.syntax.scopes import Block, Function, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_PRIMITIVE = Typed("primitive")

def asked(policy: CustomPolicy, parameters: Frame | None = None) -> Iterator[tuple[Site, Frame]]:
    """All that runs when JAX asks the policy, with a frame in which the primitive is ``Typed("primitive")``.

    That is its own body and those of the file's functions that it passes the primitive, or its name, on to.

    Args:
        parameters: the frame, where more is known of what the policy is asked.
    """
    if parameters is not None:
        yield from _asked(policy.model, policy.value.function, parameters, set())
        return
    function = policy.value.function
    arguments = function.node.args
    inner = id(function.inner)
    model = policy.model
    frame: dict[tuple[int, str], Value] = dict(policy.value.frame)
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        if default is not None:
            frame.setdefault((inner, parameter.arg), model.evaluate(default, function.scope, function.block))
    if policy.primitive is not None:
        frame[inner, policy.primitive.arg] = _PRIMITIVE
    elif arguments.vararg is not None and policy.given == len(arguments.posonlyargs) + len(arguments.args):
        frame[inner, arguments.vararg.arg] = Sequence("tuple", (_PRIMITIVE, UNKNOWN))
    yield from _asked(model, function, frame, set())


def _asked(model: FileModel, function: Function, frame: Frame, seen: set[int]) -> Iterator[tuple[Site, Frame]]:
    seen.add(id(function))

    def known(test: ast.expr, scope: Scope, block: Block) -> bool | None:
        return model.evaluator.condition(scope, block, frame)(test)

    for site in executed(function, known):
        yield site, frame
        if not isinstance(site.node, ast.Call):
            continue
        args: list[Value] = []
        for argument in site.node.args:
            if isinstance(argument, ast.Starred):
                break
            args.append(model.evaluate(argument, site.scope, site.block, frame))
        named = {k.arg: model.evaluate(k.value, site.scope, site.block, frame) for k in site.node.keywords if k.arg}
        if not any(is_primitive(value) or is_primitive_name(value) for value in (*args, *named.values())):
            continue
        for option in model.evaluate(site.node.func, site.scope, site.block, frame).options():
            if isinstance(option, Def) and option.model is model and id(option.function) not in seen:
                inner = frame_of(model.evaluator, option, args, named, more=True)
                yield from _asked(model, option.function, inner, seen)


def is_primitive(value: Value) -> bool:
    """Whether ``value`` is the primitive that a policy is asked about."""
    return all(isinstance(option, Typed) and option.type == "primitive" for option in value.options())


def is_primitive_name(value: Value) -> bool:
    """Whether ``value`` is the name of that primitive."""
    return all(isinstance(option, Typed) and option.type == PRIMITIVE_NAME for option in value.options())


# -- the primitive taken for a string ---------------------------------------------------------------------------------

_STRING_METHODS = frozenset(name for name in dir(str) if not name.startswith("_"))
_NO_STRING = "expected string or bytes-like object, got 'Primitive'"
_TAKE_STRINGS = {
    "re.match": (1, _NO_STRING),
    "re.search": (1, _NO_STRING),
    "re.fullmatch": (1, _NO_STRING),
    "fnmatch.fnmatch": (0, "expected str, bytes or os.PathLike object, not Primitive"),
    "fnmatch.fnmatchcase": (0, _NO_STRING),
}
_IDENTITY = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)


@dataclass(frozen=True, slots=True, eq=False)
class StringUse:
    """An expression that only makes sense if the primitive were a string.

    Attributes:
        node: the expression.
        primitive: the part of it that is the primitive.
        result: "true" or "false" for a comparison that is always that, "default" for a lookup that never finds
            it, "no match" for a ``match`` whose cases never apply, "raises".
        exception: the class of what is raised, or "".
        text: its message.
    """

    node: ast.expr
    primitive: ast.expr
    result: str
    exception: str = ""
    text: str = ""


def string_uses(policy: CustomPolicy) -> Iterator[StringUse]:
    """Every place where the policy, or what it passes the primitive on to, takes the primitive for a string."""
    for site, frame in asked(policy):
        yield from _StringUses(policy.model, site, frame).found()


class _StringUses:
    """Those in one node."""

    def __init__(self, model: FileModel, site: Site, frame: Frame) -> None:
        self.node = site.node
        self.value: Callable[[ast.expr], Value] = lambda node: model.evaluate(node, site.scope, site.block, frame)

    def found(self) -> Iterator[StringUse]:
        node, value = self.node, self.value
        if isinstance(node, ast.Compare):
            for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators):
                yield from self.comparison(node, left, operator, right)
        elif isinstance(node, ast.Match):
            if is_primitive(value(node.subject)) and self.only_strings(node):
                yield StringUse(node.subject, node.subject, "no match")
        elif isinstance(node, ast.Attribute):
            if node.attr in _STRING_METHODS and is_primitive(value(node.value)):
                text = f"'Primitive' object has no attribute '{node.attr}'"
                yield StringUse(node, node.value, "raises", "AttributeError", text)
        elif isinstance(node, ast.Subscript):
            if is_primitive(value(node.slice)) and _holds_texts(value(node.value)):
                yield StringUse(node, node.slice, "raises", "KeyError", "… (the name of the first primitive)")
        elif isinstance(node, ast.Call) and node.args:
            yield from self.call(node, node.func)

    def comparison(
        self, node: ast.Compare, left: ast.expr, operator: ast.cmpop, right: ast.expr
    ) -> Iterator[StringUse]:
        one, other = self.value(left), self.value(right)
        result = "true" if isinstance(operator, (ast.NotEq, ast.IsNot, ast.NotIn)) else "false"
        if isinstance(operator, _IDENTITY):
            if is_primitive(one) and _is_text(other):
                yield StringUse(node, left, result)
            elif is_primitive(other) and _is_text(one):
                yield StringUse(node, right, result)
        elif isinstance(operator, (ast.In, ast.NotIn)):
            if is_primitive(one) and _is_text(other):
                text = "'in <string>' requires string as left operand, not Primitive"
                yield StringUse(node, left, "raises", "TypeError", text)
            elif is_primitive(one) and _holds_texts(other):
                yield StringUse(node, left, result)
            elif is_primitive(other) and _is_text(one):
                yield StringUse(node, right, "raises", "TypeError", "argument of type 'Primitive' is not iterable")

    def only_strings(self, node: ast.Match) -> bool:
        """Whether the cases that look at the subject look for strings, and for nothing else."""
        patterns = [part for case in node.cases for part in ast.walk(case.pattern) if isinstance(part, ast.pattern)]
        literals = [pattern for pattern in patterns if isinstance(pattern, ast.MatchValue)]
        others = [p for p in patterns if not isinstance(p, (ast.MatchValue, ast.MatchOr, ast.MatchAs))]
        return bool(literals) and not others and all(_is_text(self.value(pattern.value)) for pattern in literals)

    def call(self, node: ast.Call, func: ast.expr) -> Iterator[StringUse]:
        if isinstance(func, ast.Attribute) and func.attr == "get":
            if is_primitive(self.value(node.args[0])) and _holds_texts(self.value(func.value)):
                yield StringUse(node, node.args[0], "default")
            return
        callee = self.value(func)
        position, text = _TAKE_STRINGS.get(callee.path, (-1, "")) if isinstance(callee, Symbol) else (-1, "")
        if 0 <= position < len(node.args) and is_primitive(self.value(node.args[position])):
            yield StringUse(node, node.args[position], "raises", "TypeError", text)


def _is_text(value: Value) -> bool:
    return all(is_text(option) for option in value.options())


def _holds_texts(value: Value) -> bool:
    """Whether ``value`` is a collection of which every member, or key, is a string."""
    for option in value.options():
        if not isinstance(option, (Sequence, Table)) or not option.exact:
            return False
        members = option.items if isinstance(option, Sequence) else tuple(key for key, _ in option.entries)
        if not members or not all(_is_text(member) for member in members):
            return False
    return True
