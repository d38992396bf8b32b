"""A flatten function does not return children and auxiliary data.

## What it finds

Functions given to `register_pytree_node` and `register_pytree_with_keys`, and methods `tree_flatten` and
`tree_flatten_with_keys` of registered classes, that return something else than a pair: only the children, three
things, a list, None. Also pairs whose first part cannot be the children, as when the two are swapped.

## Why it matters

JAX raises when it first flattens such an object, wherever that is:

    ValueError: The to_iterable function for a custom PyTree node should return a (children, aux_data) tuple,
    got (1.0,)

## In which versions

All.

## What to write instead

`return children, aux_data`: first an iterable of the parts that are arrays or trees, then what is static and can be
compared, or None: `return (self.w, self.b), None`.

## Known limits

Only results that can be read off the function are judged. A stub without a body is left alone.

## Source

`jaxlib/pytree.cc`; measured on 0.4.30 to 0.12.0.1. A list of two is not accepted either, except with keys.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.flatten_functions import FlattenFunction, flatten_functions, is_child_with_key
from jaxpert.model.speech import raises, silent
from jaxpert.model.values import Literal, Sequence, Table, Typed, Value, is_none
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.text.lines import Position, Range, slice_lines

NAME = "flatten-result"


@dataclass(frozen=True, slots=True)
class _Case:
    """One bad result; ``fix`` is "pair", "tuple", "swap" or ""."""

    function: FlattenFunction
    where: Range
    result: Value
    message: str
    exception: str
    text: str
    fix: str = ""


def check(model: FileModel) -> Iterator[Finding]:
    """Results that are no pair of children and auxiliary data."""
    for case in _cases(model):
        area = model.range_of(case.function.registration.node)
        related = (Related(area, "registered here"),) if area is not None else ()
        if case.exception:
            yield Finding(
                NAME, case.where, case.message, Severity.ERROR,
                raises(model, "when such an object is first flattened", case.exception, case.text),
                related, exceptions=(case.exception,),
            )  # fmt: skip
        else:
            yield Finding(NAME, case.where, case.message, Severity.WARNING, silent(model, case.text), related)


def _cases(model: FileModel) -> Iterator[_Case]:
    for function in flatten_functions(model):
        if function.function.model is not model or function.is_stub:
            continue
        for result in function.results:
            case = _judged(model, function, result)
            if case is not None:
                yield case


def _judged(model: FileModel, function: FlattenFunction, result: Value) -> _Case | None:
    where = _place(model, function, result)
    if where is None:
        return None
    name = function.function.name
    wants = "a pair of children and auxiliary data"
    written = result.site.node if result.site is not None else None
    shown = model.text_of(written) if isinstance(written, ast.expr) else ""
    got = shown if shown and len(shown) < 40 else "…"
    text = f"The to_iterable function for a custom PyTree node should return a (children, aux_data) tuple, got {got}"
    if is_none(result):
        exception = "TypeError" if function.with_keys else "ValueError"
        text = "cannot unpack non-iterable NoneType object" if function.with_keys else text.replace(got, "None")
        return _Case(function, where, result, f"`{name}` returns None, not {wants}: return both", exception, text)
    if isinstance(result, (Table, Typed)) or (isinstance(result, Literal) and not function.with_keys):
        if isinstance(result, Typed) and result.type not in ("generator", "int", "float", "bool", "str"):
            return None
        if function.with_keys:
            return None
        message = f"`{name}` must return {wants}: write `return children, None`"
        return _Case(function, where, result, message, "ValueError", text)
    if not isinstance(result, Sequence) or not result.exact or result.kind not in ("list", "tuple"):
        return None
    count = len(result.items)
    if count != 2:
        fix = "pair" if not any(isinstance(item, (Sequence, Table)) for item in result.items) else ""
        if function.with_keys:
            text = f"not enough values to unpack (expected 2, got {count})"
            text = "too many values to unpack (expected 2)" if count > 2 else text
        message = f"`{name}` returns {_things(count)}, not {wants}: put the children into a tuple and add the data"
        if fix and not function.with_keys:
            message = f"`{name}` returns {_things(count)}, not {wants}: write `return children, None`"
        return _Case(function, where, result, message, "ValueError", text, fix if not function.with_keys else "")
    if function.with_keys:
        if not is_child_with_key(result.items[0]):
            return None
        message = f"`{name}` gives one `(key, child)` where all of them belong: write `[(key, child), …], aux_data`"
        return _Case(function, where, result, message, "TypeError", "cannot unpack non-iterable … object")
    if result.kind == "list":
        message = f"`{name}` returns a list, not a tuple of children and auxiliary data: write a tuple"
        return _Case(function, where, result, message, "ValueError", text, "tuple")
    return _swapped(function, where, result, name, got)


def _swapped(function: FlattenFunction, where: Range, result: Sequence, name: str, got: str) -> _Case | None:
    """A pair whose first part is no children."""
    first, second = result.items
    if not isinstance(first, Literal) and not (isinstance(first, Typed) and first.type in ("int", "float", "bool")):
        return None
    cure = "give an iterable of children"
    fix = ""
    if isinstance(second, Sequence):
        cure, fix = "write the children first, then the auxiliary data", "swap"
    if isinstance(first, Literal) and isinstance(first.value, (str, bytes)):
        message = f"`{name}` gives a string as the children, so each letter is one: {cure}"
        return _Case(function, where, result, message, "", "every letter becomes a leaf", fix)
    text = (
        "The to_iterable function for a custom PyTree node should return a (children, aux_data) tuple where "
        f"'children' is iterable, got {got}"
    )
    what = "None" if is_none(first) else "a number"
    return _Case(function, where, result, f"`{name}` gives {what} as the children: {cure}", "ValueError", text, fix)


def _things(count: int) -> str:
    return "an empty result" if count == 0 else "one thing" if count == 1 else f"{count} things"


def _place(model: FileModel, function: FlattenFunction, result: Value) -> Range | None:
    """Where the result is written, when that is in the function; else the function's header."""
    node = function.function.function.node
    whole, area = model.range_of(node), None
    if result.site is not None and result.model is model and result.site.node is not node:
        area = model.range_of(result.site.node)
    if whole is None:
        return None
    if area is not None and whole.start <= area.start and area.end <= whole.end:
        return area
    if isinstance(node, ast.Lambda):
        return whole
    return Range(whole.start, Position(whole.start.line, whole.start.column + len(f"def {node.name}")))


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Add the auxiliary data, make a tuple of a list, or put the children first."""
    lines = model.source.lines
    for case in model.every(_cases):
        node = case.result.site.node if case.result.site is not None else None
        if case.where != finding.range or not isinstance(node, (ast.Tuple, ast.List)):
            continue
        source = slice_lines(lines, case.where)
        bracketed = source[:1] in ("(", "[") and _is_whole(source)
        inner = source[1:-1] if bracketed else source
        if case.fix == "pair":
            children = f"({inner})" if not isinstance(node, ast.List) else f"[{inner}]"
            edits = verbs.replace_expression(lines, case.where, f"{children}, None")
            return Fix("Add None as the auxiliary data", Safety.SAFE, edits) if edits else None
        if case.fix == "tuple":
            edits = verbs.replace_expression(lines, case.where, f"({inner})")
            return Fix("Return a tuple", Safety.SAFE, edits) if edits else None
        if case.fix == "swap":
            one, other = (model.range_of(part) for part in node.elts)
            if one is None or other is None:
                return None
            first = verbs.replace_expression(lines, one, slice_lines(lines, other))
            second = verbs.replace_expression(lines, other, slice_lines(lines, one))
            return Fix("Put the children first", Safety.SAFE, (*first, *second)) if first and second else None
    return None


def _is_whole(source: str) -> bool:
    """Whether the first bracket of a tuple's source is the one that closes at its end."""
    try:
        tree = ast.parse(f"_{source}" if source[0] == "[" else f"_({source})", mode="eval")
    except (SyntaxError, ValueError):
        return False
    if source[0] == "[":
        return True
    call = tree.body
    return isinstance(call, ast.Call) and len(call.args) == 1 and isinstance(call.args[0], ast.Tuple)


_BAD = """\
import jax

STAGE = "decorate"


@jax.tree_util.register_pytree_node_class
class Params:
    def __init__(self, w):
        self.w = w

    def tree_flatten(self):
        return (self.w,)

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        return cls(*children)


STAGE = "call"
jax.tree.leaves(Params(1.0))
"""

_SWAPPED = _BAD.replace("return (self.w,)", "return None, (self.w,)")

RULE = Rule(
    code="JXP512",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=(
        "jax.tree_util.register_pytree_node",
        "jax.tree_util.register_pytree_node_class",
        "jax.tree_util.register_pytree_with_keys",
        "jax.tree_util.register_pytree_with_keys_class",
    ),
    examples=(
        Example(
            bad=_BAD,
            good=_BAD.replace("return (self.w,)", "return (self.w,), None"),
            proof=Raises("ValueError", "should return a (children, aux_data) tuple, got (1.0,)"),
        ),
        Example(
            bad=_SWAPPED,
            good=_SWAPPED.replace("None, (self.w,)", "(self.w,), None"),
            proof=Raises("ValueError", "tuple where 'children' is iterable, got (None, (1.0,))"),
        ),
    ),
    check=check,
    fix=fix,
)
