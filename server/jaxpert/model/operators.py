"""What displays, operators, comparisons and subscripts give."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jaxpert.model import asked_primitives, comprehensions
from jaxpert.model.texts import formatted, is_text, joined, percent
from jaxpert.model.values import (
    NUMPY_BOOL,
    UNKNOWN,
    CallResult,
    ClassValue,
    Def,
    EnumMember,
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
    is_none,
    string,
    truth,
)
from jaxpert.syntax.scopes import Block, Scope, Site

if TYPE_CHECKING:
    from jaxpert.model.evaluate import Evaluator
    from jaxpert.model.file_model import FileModel

_MOST_PAIRS = 12
_NUMPY_NUMBERS = frozenset({
    f"numpy.{name}"
    for name in ("prod", "sum", "max", "min", "amax", "amin", "mean", "median", "std", "var", "abs", "sqrt", "square",
                 "log", "log2", "log10", "exp", "ceil", "floor")
})  # fmt: skip
"""They give a number of NumPy's own even for one of Python, or an array; ``size`` and ``ndim`` do not."""

# -- displays ---------------------------------------------------------------------------------------------------------


def _constant(evaluator: Evaluator, node: ast.Constant, scope: Scope, block: Block, frame: Frame) -> Value:
    return Literal(node.value, site=Site(node, scope, block), model=evaluator.model)


def _sequence(
    evaluator: Evaluator, node: ast.List | ast.Tuple | ast.Set, scope: Scope, block: Block, frame: Frame
) -> Value:
    items: list[Value] = []
    exact = True
    for element in node.elts:
        if isinstance(element, ast.Starred):
            inner = evaluator.evaluate(element.value, scope, block, frame)
            if isinstance(inner, Sequence):
                items.extend(inner.items)
            elif isinstance(inner, Table):
                items.extend(key for key, _ in inner.entries)
            exact &= isinstance(inner, (Sequence, Table)) and inner.exact
        else:
            items.append(evaluator.evaluate(element, scope, block, frame))
    kind = {ast.List: "list", ast.Tuple: "tuple", ast.Set: "set"}[node.__class__]
    return Sequence(kind, tuple(items), exact, site=Site(node, scope, block), model=evaluator.model)


def _dict(evaluator: Evaluator, node: ast.Dict, scope: Scope, block: Block, frame: Frame) -> Value:
    entries: list[tuple[Value, Value]] = []
    exact = True
    for key, item_node in zip(node.keys, node.values):
        value = evaluator.evaluate(item_node, scope, block, frame)
        if key is not None:
            entries.append((evaluator.evaluate(key, scope, block, frame), value))
        elif isinstance(value, Table):
            entries.extend(value.entries)
            exact &= value.exact
        else:
            exact = False
    return Table(tuple(entries), exact, site=Site(node, scope, block), model=evaluator.model)


def _comprehension(evaluator: Evaluator, node: ast.expr, scope: Scope, block: Block, frame: Frame) -> Value:
    site, model = Site(node, scope, block), evaluator.model
    if isinstance(node, ast.GeneratorExp):
        return Typed("generator", site=site, model=model)
    if isinstance(node, ast.DictComp):
        return comprehensions.table(evaluator, node, scope, block, frame)
    return Sequence("list" if isinstance(node, ast.ListComp) else "set", (), False, site=site, model=model)


def _lambda(evaluator: Evaluator, node: ast.Lambda, scope: Scope, block: Block, frame: Frame) -> Value:
    function = block.tree.functions.get(node)
    return evaluator.definition(function, frame) if function else UNKNOWN


def _joined(evaluator: Evaluator, node: ast.JoinedStr, scope: Scope, block: Block, frame: Frame) -> Value:
    parts: list[Value] = []
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            plain = part.format_spec is None and part.conversion == -1
            parts.append(formatted(evaluator.evaluate(part.value, scope, block, frame)) if plain else UNKNOWN)
        else:
            parts.append(evaluator.evaluate(part, scope, block, frame))
    return joined(parts, Site(node, scope, block), evaluator.model)


# -- operators --------------------------------------------------------------------------------------------------------


def _conditional(evaluator: Evaluator, node: ast.IfExp, scope: Scope, block: Block, frame: Frame) -> Value:
    known = evaluator.condition(scope, block, frame)(node.test)
    taken = [] if known is False else [node.body]
    if known is not True:
        taken.append(node.orelse)
    return choice([evaluator.evaluate(arm, scope, block, frame) for arm in taken])


def _boolean(evaluator: Evaluator, node: ast.BoolOp, scope: Scope, block: Block, frame: Frame) -> Value:
    stops_at = isinstance(node.op, ast.Or)
    values: list[Value] = []
    for position, operand in enumerate(node.values):
        value = evaluator.evaluate(operand, scope, block, frame)
        last = position == len(node.values) - 1
        for option in value.options():
            known = truth(option)
            if last or known is None or known is stops_at:
                values.append(option)
        if not last and truth(value) is stops_at:
            break
    return choice(values)


def _unary(evaluator: Evaluator, node: ast.UnaryOp, scope: Scope, block: Block, frame: Frame) -> Value:
    value = evaluator.evaluate(node.operand, scope, block, frame)
    site, model = Site(node, scope, block), evaluator.model
    if isinstance(node.op, ast.Not):
        known = truth(value)
        return Typed("bool", site=site, model=model) if known is None else Literal(not known, site=site, model=model)
    if isinstance(value, Literal) and isinstance(value.value, (int, float)):
        if isinstance(node.op, ast.USub):
            return Literal(-value.value, site=site, model=model)
        if isinstance(node.op, ast.UAdd):
            return Literal(+value.value, site=site, model=model)
    return UNKNOWN


_NEVER_KNOWN = (ast.Div, ast.MatMult, ast.RShift)
_OF_NUMBERS = (ast.Sub, ast.Mult, ast.Pow, ast.FloorDiv, ast.LShift, ast.BitAnd, ast.BitXor)


def operated(
    evaluator: Evaluator, node: ast.BinOp | ast.AugAssign, scope: Scope, block: Block, frame: Frame
) -> Value:
    """``a + b``, or what ``a += b`` leaves in ``a``. Where the right side decides, the left one is not asked.

    That is often a long chain.
    """
    left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    if isinstance(node.op, _NEVER_KNOWN):
        return UNKNOWN
    other = evaluator.evaluate(right, scope, block, frame)
    if isinstance(node.op, _OF_NUMBERS) and not any(isinstance(option, Literal) for option in other.options()):
        return UNKNOWN
    one, site = evaluator.evaluate(left, scope, block, frame), Site(node, scope, block)
    pairs = [(a, b) for a in one.options() for b in other.options()]
    if len(pairs) > _MOST_PAIRS:
        pairs = [(one, other)]
    return choice([_combined(a, node.op, b, site, evaluator.model) for a, b in pairs])


def _combined(left: Value, operator: ast.operator, right: Value, site: Site, model: FileModel) -> Value:
    if isinstance(operator, ast.Add):
        if isinstance(left, Sequence) and isinstance(right, Sequence):
            return Sequence(left.kind, left.items + right.items, left.exact and right.exact, site=site, model=model)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Sequence) and other is UNKNOWN:
                return Sequence(one.kind, one.items, False, site=site, model=model)
        if (is_text(left) and is_text(right)) or string(left) is not None or string(right) is not None:
            return joined([left, right], site, model)
    if isinstance(operator, ast.BitOr):
        if isinstance(left, Sequence) and isinstance(right, Sequence):
            return Sequence(left.kind, left.items + right.items, left.exact and right.exact, site=site, model=model)
        if isinstance(left, Table) and isinstance(right, Table):
            return Table(left.entries + right.entries, left.exact and right.exact, site=site, model=model)
    if isinstance(operator, ast.Mod) and (template := string(left)) is not None:
        return percent(template, right, site, model)
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _arithmetic(left.value, operator, right.value, site, model)
    return UNKNOWN


def _arithmetic(left: object, operator: ast.operator, right: object, site: Site, model: FileModel) -> Value:
    if isinstance(left, int) and isinstance(right, int) and max(abs(left), abs(right)) < 1 << 128:
        if isinstance(operator, (ast.Pow, ast.LShift)) and 0 <= right <= 64:
            return Literal(left**right if isinstance(operator, ast.Pow) else left << right, site=site, model=model)
        if isinstance(operator, (ast.FloorDiv, ast.Mod)) and right:
            known = left // right if isinstance(operator, ast.FloorDiv) else left % right
            return Literal(known, site=site, model=model)
        if isinstance(operator, ast.Add):
            return Literal(left + right, site=site, model=model)
        if isinstance(operator, ast.Sub):
            return Literal(left - right, site=site, model=model)
        if isinstance(operator, ast.Mult):
            return Literal(left * right, site=site, model=model)
        if isinstance(operator, (ast.BitAnd, ast.BitOr, ast.BitXor)):
            both_bools = isinstance(left, bool) and isinstance(right, bool)
            return UNKNOWN if both_bools else Typed("int", site=site, model=model)
    return UNKNOWN


# -- comparisons ------------------------------------------------------------------------------------------------------


def _compare(evaluator: Evaluator, node: ast.Compare, scope: Scope, block: Block, frame: Frame) -> Value:
    site = Site(node, scope, block)
    if len(node.ops) == 1:
        left = evaluator.evaluate(node.left, scope, block, frame)
        right = evaluator.evaluate(node.comparators[0], scope, block, frame)
        known = _compared(left, node.ops[0], right)
        if known is not None:
            return Literal(known, site=site, model=evaluator.model)
        paths = [value.path for value in (left, right) if isinstance(value, CallResult)]
        if any(path.startswith(("numpy.", "jax.")) for path in paths) \
                and not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            is_numpy = not _NUMPY_NUMBERS.isdisjoint(paths)
            return Typed(NUMPY_BOOL, site=site, model=evaluator.model) if is_numpy else UNKNOWN
    return Typed("bool", site=site, model=evaluator.model)


def _compared(left: Value, operator: ast.cmpop, right: Value) -> bool | None:
    """The result of a comparison whose sides are known."""
    asked = asked_primitives.compared(left, operator, right)
    if asked is not None:
        return asked
    if isinstance(operator, (ast.In, ast.NotIn)):
        wanted = _plain(left)
        keys: list[tuple[str, object] | None]
        if isinstance(right, Sequence) and right.exact:
            keys = [_plain(entry) for entry in right.items]
        elif isinstance(right, Table) and right.exact:
            keys = [_plain(key) for key, _ in right.entries]
        else:
            return None
        if wanted is None or None in keys:
            return None
        if wanted[0] == "primitive" and any(key is not None and key[0] == "symbol" for key in keys):
            return None
        return (wanted in keys) is isinstance(operator, ast.In)
    one, other = _plain(left), _plain(right)
    if one is None or other is None:
        if isinstance(operator, (ast.Is, ast.IsNot)) and is_none(right) \
                and isinstance(left, (Def, ClassValue, Partial, Sequence, Table, Instance)):
            return isinstance(operator, ast.IsNot)
        return None
    if one[0] != other[0] and {one[0], other[0]} != {"primitive", "literal"}:
        return None
    if isinstance(operator, (ast.Eq, ast.Is)):
        return one == other
    return one != other if isinstance(operator, (ast.NotEq, ast.IsNot)) else None


def _plain(key: Value) -> tuple[str, object] | None:
    if isinstance(key, Literal):
        return ("literal", key.value)
    if isinstance(key, EnumMember):
        return ("literal", string(key)) if key.is_string else ("member", key.name)
    if isinstance(key, Symbol):
        return ("symbol", key.path)
    return ("primitive", None) if isinstance(key, Typed) and key.type == "primitive" else None


def is_callable(value: Value) -> bool | None:
    """``callable(value)``."""
    if isinstance(value, (Def, ClassValue, Partial)):
        return True
    return False if isinstance(value, (Literal, Pattern, Sequence, Table)) else None


def is_instance(value: Value, classes: Value) -> bool | None:
    """``isinstance(value, classes)``, where the classes are builtins."""
    if isinstance(classes, Sequence):
        each = [is_instance(value, cls) for cls in classes.items]
        return True if True in each else None if None in each or not classes.exact else False
    name = classes.path.partition("builtins.")[2] if isinstance(classes, Symbol) else ""
    wanted = getattr(builtins, name, None) if name else None
    found = {_type_of(option) for option in value.options()}
    if not isinstance(wanted, type) or None in found:
        return None
    results = {issubclass(cls, wanted) for cls in found if cls is not None}
    return results.pop() if len(results) == 1 else None


class _NotBuiltin:
    """Stands for the classes of functions and primitives, which are no builtins."""


def _type_of(value: Value) -> type | None:
    if isinstance(value, Literal):
        return type(value.value)
    if isinstance(value, (Def, Partial)) or (isinstance(value, Typed) and value.type == "primitive"):
        return _NotBuiltin
    name = "dict" if isinstance(value, Table) else "str" if is_text(value) else ""
    if isinstance(value, (Sequence, Typed)):
        name = value.kind if isinstance(value, Sequence) else value.type
    found = getattr(builtins, name, None) if name else None
    return found if isinstance(found, type) else None


# -- subscripts -------------------------------------------------------------------------------------------------------


def _subscript(evaluator: Evaluator, node: ast.Subscript, scope: Scope, block: Block, frame: Frame) -> Value:
    base = evaluator.evaluate(node.value, scope, block, frame)
    if not any(isinstance(option, (Table, Sequence)) for option in base.options()):
        return UNKNOWN
    key = evaluator.evaluate(node.slice, scope, block, frame)
    values: list[Value] = []
    for option in base.options():
        if isinstance(option, Table):
            values.append(looked_up(option, key, None))
        elif isinstance(option, Sequence) and isinstance(key, Literal) and isinstance(key.value, int):
            values.append(item(option, key.value))
        elif isinstance(option, Sequence) and isinstance(node.slice, ast.Slice):
            values.append(_sliced(evaluator, option, node.slice, Site(node, scope, block), frame))
        elif isinstance(option, Sequence) and option.exact:
            values.append(choice([*option.items]))
        else:
            values.append(UNKNOWN)
    return choice(values)


def _sliced(evaluator: Evaluator, value: Sequence, where: ast.Slice, site: Site, frame: Frame) -> Value:
    limits: list[Any] = []
    for node in (where.lower, where.upper, where.step):
        limit = evaluator.evaluate(node, site.scope, site.block, frame) if node is not None else Literal(None)
        limits.append(limit.value if isinstance(limit, Literal) else limit)
    try:
        items = value.items[slice(*limits)]
    except (TypeError, ValueError):
        return UNKNOWN
    return Sequence(value.kind, items, site=site, model=evaluator.model) if value.exact else UNKNOWN


def looked_up(table: Table, key: Value, default: Value | None) -> Value:
    """``table[key]``, or ``table.get(key, default)``: the entry, or any entry when the key is not known."""
    wanted = _plain(key)
    keys = [_plain(entry) for entry, _ in table.entries]
    if wanted is None or (wanted[0] in ("symbol", "primitive") and wanted not in keys):
        values = [value for _, value in table.entries]
        if default is not None:
            values.append(default)
        return choice(values if table.exact and values else [*values, UNKNOWN])
    found = [value for entry, (_, value) in zip(keys, table.entries) if entry == wanted]
    if found:
        return found[-1] if table.exact else choice(found)
    return default if default is not None and table.exact and None not in keys else UNKNOWN


def item(value: Value, position: int) -> Value:
    """``value[position]`` of a list or tuple."""
    if isinstance(value, Sequence) and value.exact and -len(value.items) <= position < len(value.items):
        return value.items[position]
    return UNKNOWN


def _named(evaluator: Evaluator, node: ast.NamedExpr, scope: Scope, block: Block, frame: Frame) -> Value:
    return evaluator.evaluate(node.value, scope, block, frame)


Handler = Callable[["Evaluator", Any, Scope, Block, Frame], Value]
"""Gives the value of one kind of expression."""

HANDLERS: dict[type, Handler] = {
    ast.Constant: _constant,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.Compare: _compare,
    ast.UnaryOp: _unary,
    ast.BinOp: operated,
    ast.JoinedStr: _joined,
    ast.Subscript: _subscript,
    ast.NamedExpr: _named,
}
