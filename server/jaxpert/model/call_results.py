"""What calls give: of functions and classes of the user's, of ``functools.partial``, and of the builtins we know."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model import classes
from jaxpert.model.asked_primitives import AskedPrimitive, OtherParameters, asked_in, name_of, parameters_of
from jaxpert.model.operators import is_callable, is_instance, looked_up
from jaxpert.model.paths import ends_of
from jaxpert.model.texts import text_method
from jaxpert.model.values import (
    PRIMITIVE_NAME,
    PRIMITIVE_PARAMETERS,
    UNKNOWN,
    CallResult,
    ClassValue,
    Def,
    Frame,
    Instance,
    Literal,
    Partial,
    Pattern,
    Sequence,
    Symbol,
    Table,
    Typed,
    Value,
    choice,
    string,
)
from jaxpert.syntax.scopes import Block, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.evaluate import Evaluator

MOST_ITEMS = 64

_SEQUENCES = {
    "builtins.list": "list", "builtins.tuple": "tuple", "builtins.set": "set", "builtins.frozenset": "frozenset",
    "builtins.sorted": "list",
}  # fmt: skip
_IMPORTS = {"builtins.__import__", "importlib.import_module"}
_MAPPINGS = {"builtins.dict", "types.MappingProxyType", "collections.OrderedDict"}
_TYPES = {
    "builtins.bool": "bool", "builtins.int": "int", "builtins.len": "int", "builtins.str": "str",
    "builtins.repr": "str",
    "builtins.any": "bool", "builtins.all": "bool", "builtins.isinstance": "bool", "builtins.callable": "bool",
    "builtins.issubclass": "bool", "builtins.hasattr": "bool", "builtins.float": "float", "builtins.range": "range",
    "builtins.sum": "number", "builtins.id": "int", "builtins.hash": "int", "builtins.print": "None",
    "builtins.setattr": "None", "builtins.iter": "iterator", "builtins.map": "map", "builtins.filter": "filter",
    "builtins.zip": "zip", "builtins.enumerate": "enumerate", "builtins.reversed": "iterator", "builtins.type": "type",
    "builtins.format": "str",
}  # fmt: skip
_METHOD_TYPES = {
    "startswith": "bool", "endswith": "bool", "isdigit": "bool", "isidentifier": "bool", "issubset": "bool",
    "issuperset": "bool", "isdisjoint": "bool", "count": "int", "find": "int", "index": "int", "lower": "str",
    "upper": "str", "strip": "str", "join": "str", "replace": "str", "split": "list", "append": "None",
    "extend": "None", "add": "None", "update": "None",
}  # fmt: skip


def call(evaluator: Evaluator, node: ast.Call, scope: Scope, block: Block, frame: Frame) -> Value:
    """The value of a call expression."""
    if isinstance(node.func, ast.Attribute):
        value = _method(evaluator, node, node.func, scope, block, frame)
        if value is not None:
            return value
    callee = evaluator.evaluate(node.func, scope, block, frame)
    site = Site(node, scope, block)
    return choice([_called(evaluator, option, node, site, frame) for option in callee.options()])


def _called(evaluator: Evaluator, callee: Value, node: ast.Call, site: Site, frame: Frame) -> Value:
    if frame and isinstance(callee, (Symbol, CallResult)):
        answered = _answer_of_policy(evaluator, callee, node, site, frame)
        if answered is not None:
            return answered
    if isinstance(callee, Symbol):
        return _called_symbol(evaluator, callee, node, site, frame)
    if isinstance(callee, Partial):
        target: Value = callee
        while isinstance(target, Partial):
            target = target.target
        if isinstance(target, Symbol):
            return CallResult(callee, node, site=site, model=evaluator.model)
        if isinstance(target, Def):
            return _called_partial(evaluator, callee, target, node, site, frame)
        return UNKNOWN
    if isinstance(callee, Def):
        if not (callee.model or evaluator.model).evaluator.keeps_result(callee.function):
            return UNKNOWN
        return result_of(evaluator, callee, *arguments_of(evaluator, node, site, frame))
    if isinstance(callee, ClassValue):
        if classes.enum_kind((callee.model or evaluator.model).evaluator, callee):
            return UNKNOWN
        return Instance(callee, node, site=site, model=evaluator.model)
    if isinstance(callee, Instance):
        method = classes.instance_attribute(evaluator, callee, "__call__")
        if isinstance(method, Def):
            return _called(evaluator, method, node, site, frame)
    if isinstance(callee, CallResult):
        return CallResult(callee, node, site=site, model=evaluator.model)
    return UNKNOWN


def _answer_of_policy(
    evaluator: Evaluator, callee: Symbol | CallResult, node: ast.Call, site: Site, frame: Frame
) -> Value | None:
    """What one of JAX's policies answers to a policy that passes its question on; None for other calls."""
    api = evaluator.model.db.api(callee.path)
    if api is None or api.kind not in (ApiKind.POLICY, ApiKind.POLICY_FACTORY) or not node.args:
        return None
    first = node.args[0].value if isinstance(node.args[0], ast.Starred) else node.args[0]
    asked = asked_in([evaluator.evaluate(first, site.scope, site.block, frame)])
    if asked is None:
        return None
    from jaxpert.model.policy_answers import answer_as_value

    return answer_as_value(evaluator.model, callee, asked.question)


def arguments_of(
    evaluator: Evaluator, node: ast.Call, site: Site, frame: Frame
) -> tuple[list[Value] | None, dict[str, Value]]:
    """Values of the arguments; None for the positional ones when a star hides some of either."""
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return _passed_question(evaluator, node, site, frame) if frame else (None, {})
    args = [evaluator.evaluate(a, site.scope, site.block, frame) for a in node.args]
    return args, {str(k.arg): evaluator.evaluate(k.value, site.scope, site.block, frame) for k in node.keywords}


def _passed_question(
    evaluator: Evaluator, node: ast.Call, site: Site, frame: Frame
) -> tuple[list[Value] | None, dict[str, Value]]:
    """The arguments of ``other(prim, *avals, **params)`` in a policy that is asked about a known primitive."""
    args: list[Value] = []
    for argument in node.args:
        inner = argument.value if isinstance(argument, ast.Starred) else argument
        value = evaluator.evaluate(inner, site.scope, site.block, frame)
        if not isinstance(argument, ast.Starred):
            args.append(value)
        elif isinstance(value, Sequence) and (value.exact or argument is node.args[-1]):
            args.extend(value.items)
        else:
            return None, {}
    if asked_in(args) is None:
        return None, {}
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = evaluator.evaluate(keyword.value, site.scope, site.block, frame)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Table):
            keywords.update({name: entry for key, entry in value.entries if (name := string(key)) is not None})
        elif not isinstance(value, OtherParameters):
            return None, {}
    return args, keywords


def _called_partial(
    evaluator: Evaluator, callee: Partial, target: Def, node: ast.Call, site: Site, frame: Frame
) -> Value:
    args, keywords = arguments_of(evaluator, node, site, frame)
    layer: Value = callee
    while isinstance(layer, Partial) and args is not None:
        args = None if layer.open else [*layer.args, *args]
        keywords = {**layer.keywords, **keywords}
        layer = layer.target
    return result_of(evaluator, target, args, keywords if args is not None else {})


def _called_symbol(evaluator: Evaluator, callee: Symbol, node: ast.Call, site: Site, frame: Frame) -> Value:
    path, model = callee.path, evaluator.model

    def argument(position: int) -> Value:
        return evaluator.evaluate(node.args[position], site.scope, site.block, frame)

    if path == "functools.partial" and node.args and not isinstance(node.args[0], ast.Starred):
        opened = any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
        given = tuple(evaluator.evaluate(a, site.scope, site.block, frame) for a in node.args[1:])
        keywords = {k.arg: evaluator.evaluate(k.value, site.scope, site.block, frame) for k in node.keywords if k.arg}
        return choice([Partial(t, given, keywords, opened, site=site, model=model) for t in argument(0).options()])
    if path == "builtins.getattr" and len(node.args) >= 2:
        return _getattr(evaluator, node, site, frame)
    if path in _IMPORTS and len(node.args) == 1 and (name := string(argument(0))):
        return Symbol(name.partition(".")[0] if path == "builtins.__import__" else name, site=site, model=model)
    if (path == "typing.cast" and len(node.args) == 2) or (path == "builtins.staticmethod" and len(node.args) == 1):
        return argument(-1)
    if path in ("builtins.isinstance", "builtins.callable") and len(node.args) == 1 + (path == "builtins.isinstance"):
        known = is_callable(argument(0)) if len(node.args) == 1 else is_instance(argument(0), argument(1))
        if known is not None:
            return Literal(known, site=site, model=model)
    if path == "builtins.next" and len(node.args) == 2:
        return choice([UNKNOWN, argument(1)])
    if path in _SEQUENCES and len(node.args) <= 1:
        return _collection(_SEQUENCES[path], argument(0) if node.args else None, site, evaluator)
    if path in _MAPPINGS:
        return _mapping(evaluator, node, site, frame)
    if path == "builtins.range":
        limits = [evaluator.evaluate(a, site.scope, site.block, frame) for a in node.args]
        return _range(limits, site, evaluator)
    if path in ("builtins.str", "builtins.repr") and len(node.args) == 1:
        subject = argument(0)
        if isinstance(subject, AskedPrimitive):
            return name_of(subject)
        if isinstance(subject, Typed) and subject.type == "primitive":
            return Typed(PRIMITIVE_NAME, site=site, model=model)
    if path in _TYPES:
        return Typed(_TYPES[path], site=site, model=model)
    return CallResult(callee, node, site=site, model=model)


def _collection(kind: str, given: Value | None, site: Site, evaluator: Evaluator) -> Value:
    """``list(given)`` and its like."""
    model = evaluator.model
    if given is None:
        return Sequence(kind, (), site=site, model=model)
    if isinstance(given, Sequence):
        return Sequence(kind, given.items, given.exact, site=site, model=model)
    if isinstance(given, Table):
        return Sequence(kind, tuple(key for key, _ in given.entries), given.exact, site=site, model=model)
    return Typed(kind, site=site, model=model)


def _range(limits: list[Value], site: Site, evaluator: Evaluator) -> Value:
    numbers = [limit.value for limit in limits if isinstance(limit, Literal) and isinstance(limit.value, int)]
    if not limits or len(numbers) != len(limits) or (len(numbers) == 3 and numbers[2] == 0) or len(numbers) > 3:
        return Typed("range", site=site, model=evaluator.model)
    found = range(*numbers)
    if len(found) > MOST_ITEMS:
        return Typed("range", site=site, model=evaluator.model)
    items = tuple(Literal(number, site=site, model=evaluator.model) for number in found)
    return Sequence("range", items, site=site, model=evaluator.model)


def _getattr(evaluator: Evaluator, node: ast.Call, site: Site, frame: Frame) -> Value:
    base = evaluator.evaluate(node.args[0], site.scope, site.block, frame)
    names = [string(option) for option in evaluator.evaluate(node.args[1], site.scope, site.block, frame).options()]
    values: list[Value] = []
    for name in names:
        for option in base.options():
            value = UNKNOWN if name is None else evaluator.attribute(option, name, site)
            missing = isinstance(value, Symbol) and evaluator.model.db.exists(value.path) is False
            if missing and len(node.args) > 2:
                value = evaluator.evaluate(node.args[2], site.scope, site.block, frame)
            values.append(value)
    return choice(values)


def _mapping(evaluator: Evaluator, node: ast.Call, site: Site, frame: Frame) -> Value:
    """``dict(…)`` and its like."""
    entries: list[tuple[Value, Value]] = []
    exact = True
    given = [(None, argument) for argument in node.args] + [(keyword.arg, keyword.value) for keyword in node.keywords]
    for name, written in given:
        value = evaluator.evaluate(written, site.scope, site.block, frame)
        if name is not None:
            entries.append((Literal(name, site=site, model=evaluator.model), value))
        elif isinstance(value, Table):
            entries.extend(value.entries)
            exact &= value.exact
        else:
            exact = False
    return Table(tuple(entries), exact, site=site, model=evaluator.model)


def _method(
    evaluator: Evaluator, node: ast.Call, func: ast.Attribute, scope: Scope, block: Block, frame: Frame
) -> Value | None:
    """Methods of dictionaries, sets and strings; None when the receiver is none of them."""
    base = evaluator.evaluate(func.value, scope, block, frame)
    site = Site(node, scope, block)
    if isinstance(base, Table) and func.attr in ("get", "pop", "setdefault") and node.args:
        default: Value | None = None if func.attr == "pop" else Literal(None, site=site, model=evaluator.model)
        if len(node.args) > 1:
            default = evaluator.evaluate(node.args[1], scope, block, frame)
        return looked_up(base, evaluator.evaluate(node.args[0], scope, block, frame), default)
    if isinstance(base, Typed) and base.type == PRIMITIVE_PARAMETERS and func.attr == "get" and node.args:
        missing: Value = Literal(None, site=site, model=evaluator.model)
        if len(node.args) > 1:
            missing = evaluator.evaluate(node.args[1], scope, block, frame)
        if isinstance(base, OtherParameters):
            if string(evaluator.evaluate(node.args[0], scope, block, frame)) in base.lacks:
                return missing
        return choice([UNKNOWN, missing])
    if isinstance(base, Table) and func.attr in ("values", "keys", "items"):
        picked: tuple[Value, ...]
        if func.attr == "items":
            picked = tuple(Sequence("tuple", entry, site=entry[0].site, model=entry[0].model) for entry in base.entries)
        else:
            picked = tuple(entry[func.attr == "values"] for entry in base.entries)
        return Sequence("list", picked, base.exact, site=site, model=evaluator.model)
    if isinstance(base, Sequence) and func.attr == "union":
        others = [evaluator.evaluate(a, scope, block, frame) for a in node.args]
        parts = [base, *(other for other in others if isinstance(other, Sequence))]
        exact = len(parts) == len(others) + 1 and all(part.exact for part in parts)
        items = tuple(item for part in parts for item in part.items)
        return Sequence(base.kind, items, exact, site=site, model=evaluator.model)
    if isinstance(base, (Literal, Pattern)) or string(base) is not None:
        value = text_method(base, func.attr, *arguments_of(evaluator, node, site, frame), site, evaluator.model)
        if value is not None:
            return value
    if isinstance(base, (Literal, Typed, Pattern, Sequence, Table)) and func.attr in _METHOD_TYPES:
        return Typed(_METHOD_TYPES[func.attr], site=site, model=evaluator.model)
    return None


def result_of(evaluator: Evaluator, target: Def, args: list[Value] | None, keywords: Mapping[str, Value]) -> Value:
    """What a call of the user's function returns: one of the values of the returns it can reach.

    ``args`` is None when the arguments are not known.
    """
    model = target.model or evaluator.model
    if model is not evaluator.model:
        return result_of(model.evaluator, target, args, keywords)
    evaluator.entered.append(target.function.block.tree)
    function = target.function
    node = function.node
    if function.is_generator:
        return Typed("generator", site=target.site, model=model)
    if isinstance(node, ast.AsyncFunctionDef):
        return Typed("coroutine", site=target.site, model=model)
    frame = frame_of(evaluator, target, args, keywords)
    # What is given is told apart by identity, so it is kept alive with the result.
    key = (id(function), *((name, id(value)) for name, value in frame.items()))
    return model.remembered(key, lambda: (_result(evaluator, target, frame), frame))[0]


def _result(evaluator: Evaluator, target: Def, frame: Frame) -> Value:
    """What a function returns whose parameters are as ``frame`` says."""
    model, function = evaluator.model, target.function
    node = function.node
    if isinstance(node, ast.Lambda):
        return evaluator.evaluate(node.body, function.inner, function.body_block, frame)
    condition = evaluator.condition(function.inner, function.body_block, frame)
    ends = ends_of(node.body, node, condition, evaluator.never_returns(function.inner, function.body_block))
    values: list[Value] = []
    blocks = dict(function.returns)
    for returned in ends.returns:
        block = blocks.get(returned)
        if block is None or model.is_dead(block):
            continue
        if returned.value is None:
            values.append(Literal(None, site=Site(returned, function.inner, block), model=model))
        else:
            values.append(evaluator.evaluate(returned.value, function.inner, block, frame))
    if ends.falls is not None:
        values.append(Literal(None, site=target.site, model=model))
    return choice(values)


def frame_of(
    evaluator: Evaluator, target: Def, args: list[Value] | None, keywords: Mapping[str, Value], more: bool = False
) -> Frame:
    """The parameters of ``target`` that are known when it is called with these arguments.

    ``more``: further arguments will be given, or are hidden by a star; nothing is said about their parameters.
    """
    arguments = target.function.node.args
    inner = target.function.inner
    positional = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    defaults: dict[str, ast.expr] = dict(zip(reversed(positional), reversed(arguments.defaults)))
    defaults.update({a.arg: d for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults) if d is not None})
    if target.bound:
        positional = positional[1:]
    names = [*positional, *(a.arg for a in arguments.kwonlyargs)]
    given = {} if args is None else {**dict(zip(positional, args)), **keywords}
    frame: dict[tuple[int, str], Value] = dict(target.frame)
    for name in given if more else names:
        value = given.get(name, UNKNOWN)
        if args is not None and name not in given and name in defaults:
            value = evaluator.evaluate(defaults[name], target.function.scope, target.function.block, target.frame)
        frame[id(inner), name] = value
    if arguments.vararg is not None and args is not None and not more:
        frame[id(inner), arguments.vararg.arg] = Sequence("tuple", tuple(args[len(positional) :]))
    if arguments.kwarg is not None and args is not None and not more and (asked := asked_in(args)) is not None:
        frame[id(inner), arguments.kwarg.arg] = parameters_of(asked.question)
    return frame
