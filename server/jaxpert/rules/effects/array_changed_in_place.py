"""A traced array is changed in place, or is put into a NumPy array.

## What it finds

`x[i] = value`, `x[i] += value` and their like in a function that `jax.checkpoint` (or a wrapper around it) makes, where
`x` is an array that comes from the arguments, or that JAX has made inside; and where `x` is an array of NumPy, made
inside or outside, and `value` comes from the arguments or from JAX.

## Why it matters

Arrays of JAX never change, not even NumPy arrays that were passed: inside they are tracers. JAX raises when the
function is called:

    TypeError: JAX arrays are immutable and do not support in-place item assignment. Instead of x[idx] = y, use
    x = x.at[idx].set(y) …

Before 0.4.35 the text begins with the type: `'<class '….DynamicJaxprTracer'>' object does not support item assignment`.

An array of NumPy holds numbers, and while JAX traces there are none yet. For one item it raises

    ValueError: setting an array element with a sequence.

and for a part of several items `TracerArrayConversionError: The numpy.ndarray conversion method __array__() was called
on traced array …`.

## In which versions

All, with and without `jax_remat3`.

## What to write instead

`x = x.at[i].set(value)`, `x = x.at[i].add(value)`; where `i` is a mask, `x = jnp.where(i, value, x)`, as a traced mask
cannot be an index (`NonConcreteBooleanIndexError`). For an array that changes over time, `jax.new_ref`. Instead of a
NumPy array that is filled, `jnp.zeros` and `at`, or a result that the caller stores.

## Known limits

An argument counts as an array where a visible call passes one, its annotation says so, or the function does with it
what works for arrays alone (`x.shape`, `x @ w`, `jnp.sin(x)`); the items of a dictionary or list that was passed may
be assigned.

## Source

`Array.__setitem__` in `jax/_src/numpy/array_methods.py`; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing.imports import ensure_import
from jaxpert.model.array_makers import ArrayType
from jaxpert.model.arrays import array_type
from jaxpert.model.conversions import assigned_once, is_mask
from jaxpert.model.effect_places import function_name, traced_body
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import raises
from jaxpert.model.tracing import Level, Place
from jaxpert.model.transforms import Checkpoint, parameters
from jaxpert.model.values import Symbol
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Example, Finding, Fix, Raises, Related, Rule, Safety, Severity
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import BindingKind, Block, Function, TreeIndex, scope_of
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

NAME = "array-changed-in-place"

_PLAIN_TEXT = Version("0.4.35")
_JNP = "import jax.numpy as jnp"
_METHODS = {ast.Add: "add", ast.Mult: "multiply", ast.Div: "divide", ast.Pow: "power"}
_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.FloorDiv: "//", ast.Mod: "%"}
_OF_ARRAYS = {"shape", "ndim", "dtype", "T", "at", "astype", "reshape", "sum", "mean"}
_TAKES_ARRAYS = {
    f"jax.numpy.{name}"
    for name in (
        "abs", "cos", "dot", "exp", "log", "log1p", "logaddexp", "matmul", "maximum", "mean", "minimum", "sin", "sqrt",
        "square", "sum", "tan", "tanh", "where",
    )
}  # fmt: skip
"""Functions whose first argument cannot be a list or a dictionary."""
_SIMPLE = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript)

_Store = tuple[ast.Assign | ast.AugAssign, ast.Subscript, Block]


@dataclass(frozen=True, slots=True, eq=False)
class _Change:
    """An item that is assigned: the statement, its target, and where that is seen in this file."""

    checkpoint: Checkpoint
    statement: ast.Assign | ast.AugAssign
    target: ast.Subscript
    model: FileModel
    range: Range
    place: Place
    into: ArrayType | None = None
    """The array of NumPy that gets a traced value; None where a traced array is changed."""

    @property
    def by_mask(self) -> bool:
        """Whether the index is, or holds, an array of bools that is not known before the function is traced."""
        index = self.target.slice
        parts = index.elts if isinstance(index, ast.Tuple) else [index]
        return any(self._is_traced_mask(part) for part in parts)

    def _is_traced_mask(self, index: ast.expr) -> bool:
        found = self.place.scope.lookup(index.id) if isinstance(index, ast.Name) else None
        if found is not None and found[0].kind == "module":
            return False
        known = array_type(self.model, index, self.place.scope, self.place.block)
        return (known is not None and known.kind == "bool") or is_mask(self.model, index, self.place)


def check(model: FileModel) -> Iterator[Finding]:
    """Items of traced arrays that checkpointed functions assign."""
    for change in _changes(model):
        function = function_name(model, change.checkpoint)
        base, index = (change.model.text_of(node) for node in (change.target.value, change.target.slice))
        otherwise = f"{base} = jnp.where(…, {base})" if change.by_mask else f"{base} = {base}.at[{index}].set(…)"
        text = "JAX arrays are immutable and do not support in-place item assignment. …"
        if model.target.version < _PLAIN_TEXT:
            text = "'<class '….DynamicJaxprTracer'>' object does not support item assignment. …"
        said = (
            f"`{base}` is a traced array, which cannot be changed in place: JAX raises when `{function}` is called; "
            f"write `{_replacement(change) or otherwise}`"
        )
        error = "TypeError"
        if change.into is not None:
            error, text = _refusal(change.target, change.into)
            said = (
                f"`{base}` is an array of NumPy, and what it gets here has no value while JAX traces: `{function}` "
                "raises when it is called; fill a `jnp` array with `at`, or return the value"
            )
        wrapped = model.range_of(change.checkpoint.node)
        area = change.model.range_of(change.target)
        related = (Related(wrapped, f"`{function}` is wrapped here"),) if wrapped is not None else ()
        if change.model is not model:
            related = (Related(area, f"here, in `{function}`", change.model.path),) if area is not None else ()
        yield Finding(
            NAME,
            change.range,
            said,
            Severity.ERROR,
            raises(model, f"when `{function}` is called", error, text),
            related,
            exceptions=(error,) if error == "TypeError" else ("TypeError", "ValueError"),
        )


def _refusal(target: ast.Subscript, into: ArrayType) -> tuple[str, str]:
    """What NumPy says: it wants a number for one item, and an array for several."""
    index = target.slice
    is_one = not isinstance(index, (ast.Slice, ast.Tuple)) and into.rank in (None, 1)
    if is_one or (isinstance(index, ast.Tuple) and len(index.elts) == into.rank and not _has_slice(index)):
        return "ValueError", "setting an array element with a sequence."
    text = "The numpy.ndarray conversion method __array__() was called on traced array …"
    return "TracerArrayConversionError", text


def _has_slice(index: ast.Tuple) -> bool:
    return any(isinstance(part, (ast.Slice, ast.Constant)) and not _is_integer(part) for part in index.elts)


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _changes(model: FileModel) -> Iterator[_Change]:
    seen: set[Range] = set()
    for checkpoint in model.checkpoints:
        known = parameters(model, checkpoint)
        if known is None or model.is_dead(checkpoint.site.block):
            continue
        function, owner = known.function.function, known.function.model or model
        key = f"item stores of {id(function)}"
        stores = owner.tree_fact(function.block.tree, key, lambda _, it=function: list(_stores(it)))  # type: ignore[misc]
        body = traced_body(model, checkpoint) if stores else None
        for statement, target, block in stores if body is not None else ():
            assert body is not None
            where = model.range_of(target if owner is model else checkpoint.node)
            if where is None or where in seen or owner.is_dead(block):
                continue
            scope = scope_of(block)
            traced = body.traced(target.value, Place(scope, block))
            made = array_type(owner, target.value, scope, block) if traced.level is not Level.ARRAY else None
            is_array = traced.level is Level.ARRAY or (made is not None and made.library == "jax")
            is_array |= traced.level is Level.LEAVES and _is_used_as_array(owner, function, target, block)
            into = made if made is not None and made.library == "numpy" and made.kind else None  # not of objects
            gets_traced = into is not None and body.traced(statement.value, Place(scope, block)).level >= Level.LEAVES
            if is_array or gets_traced:
                seen.add(where)
                place = Place(scope, block)
                yield _Change(checkpoint, statement, target, owner, where, place, None if is_array else into)


def _is_used_as_array(model: FileModel, function: Function, target: ast.Subscript, store: Block) -> bool:
    """Whether what only works with arrays is done with the parameter whenever an item of it is assigned."""
    base = target.value
    bindings = function.inner.bindings.get(base.id, []) if isinstance(base, ast.Name) else []
    if len(bindings) != 1 or bindings[0].kind is not BindingKind.PARAMETER:
        return False
    name, around = bindings[0].name, list(store.enclosing())
    for node, _, scope, block in compounds(function.block.tree, ast.Attribute, ast.BinOp, ast.Call):
        together = block is store or (block in around and node.lineno < target.lineno)
        if not together or scope is not function.inner:
            continue
        if _works_for_arrays(model, node, name, Place(scope, block)):
            return True
    return False


def _works_for_arrays(model: FileModel, node: ast.expr, name: str, place: Place) -> bool:
    """Whether ``node`` asks ``name`` for what only arrays have, multiplies it as a matrix, or gives it to JAX."""
    if isinstance(node, ast.Attribute):
        return node.attr in _OF_ARRAYS and _is_name(node.value, name)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult) and (_is_name(node.left, name) or _is_name(node.right, name))
    if not isinstance(node, ast.Call) or not node.args or not _is_name(node.args[0], name):
        return False
    value = model.evaluate(node.func, place.scope, place.block)
    return isinstance(value, Symbol) and value.path in _TAKES_ARRAYS


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _stores(function: Function) -> Iterator[_Store]:
    """The statements of the function that assign items."""
    tree = function.block.tree
    kept = tree.facts.get("item stores")
    if not isinstance(kept, list):
        kept = tree.facts["item stores"] = list(_stores_in(tree))
    return (store for store in kept if function.body_block in store[2].enclosing())


def _stores_in(tree: TreeIndex) -> Iterator[_Store]:
    for statement, block in tree.block_of.items():
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                    yield statement, target, block


def _chosen(change: _Change, jnp: str) -> str:
    """The statement with ``where`` for a mask that is as large as the array; "" for other masks."""
    statement, index = change.statement, change.target.slice
    base, mask, value = (change.model.text_of(node) for node in (change.target.value, index, statement.value))
    given = array_type(change.model, statement.value, change.place.scope, change.place.block)
    if given is None or given.shape != () or not _is_as_large(change, index, change.place, base):
        return ""
    if isinstance(statement, ast.Assign):
        return f"{base} = {jnp}.where({mask}, {value}, {base})" if len(statement.targets) == 1 else ""
    sign = _SIGNS.get(type(statement.op), "")
    value = value if isinstance(statement.value, _SIMPLE) else f"({value})"
    return f"{base} = {jnp}.where({mask}, {base} {sign} {value}, {base})" if sign else ""


def _is_as_large(change: _Change, mask: ast.expr, place: Place, base: str) -> bool:
    """Whether ``mask`` is computed, element by element, from the array ``base`` that it is an index of."""
    made = assigned_once(mask, place)
    if made is not None:
        mask, place = made
    if isinstance(mask, ast.BinOp):
        return any(_is_as_large(change, side, place, base) for side in (mask.left, mask.right))
    if isinstance(mask, ast.UnaryOp):
        return _is_as_large(change, mask.operand, place, base)
    parts = [mask.left, *mask.comparators] if isinstance(mask, ast.Compare) else []
    if isinstance(mask, ast.Call) and is_mask(change.model, mask, place):
        parts = mask.args[:1]
    return any(isinstance(part, ast.Name) and part.id == base for part in parts)


def _replacement(change: _Change, jnp: str = "jnp") -> str:
    """The statement with ``at`` or ``where``; "" when there is none that does the same."""
    if change.by_mask:
        return _chosen(change, jnp)
    statement, text_of = change.statement, change.model.text_of
    base, index, value = (text_of(node) for node in (change.target.value, change.target.slice, statement.value))
    if isinstance(statement, ast.Assign):
        method = "set" if len(statement.targets) == 1 else ""
    elif isinstance(statement.op, ast.Sub):
        is_simple = isinstance(statement.value, _SIMPLE)
        method, value = "add", f"-{value}" if is_simple else f"-({value})"
    else:
        method = _METHODS.get(type(statement.op), "")
    if isinstance(change.target.slice, ast.Tuple) and not change.target.slice.elts:
        index = "()"
    return f"{base} = {base}.at[{index}].{method}({value})" if method and base and value else ""


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """``x[i] = v`` becomes ``x = x.at[i].set(v)``, or ``x = jnp.where(i, v, x)`` where ``i`` is a mask."""
    for change in model.every(_changes):
        where = model.range_of(change.statement) if change.model is model else None
        if change.range != finding.range or where is None or where.start.line != where.end.line or change.into:
            continue
        by_mask = change.by_mask
        numpy = ensure_import(model.source.lines, _JNP, where.start, model.source) if by_mask else None
        if by_mask and numpy is None:
            return None
        new = _replacement(change, numpy.name if numpy is not None else "")
        if new:
            used = f"{model.text_of(change.target.value)}.at[…]" if numpy is None else f"{numpy.name}.where"
            title = f"Write `{new}`" if len(new) <= 60 else f"Use `{used}`"
            imports = numpy.edits if numpy is not None else ()
            return Fix(title, Safety.SAFE, (*imports, Edit(where, new)))
    return None


_BAD = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def first_is_one(x):
    x[0] = 1.0
    return jnp.sum(x)


STAGE = "call"
first_is_one(jnp.zeros(3))
'''

_INTO_NUMPY = """\
import jax
import jax.numpy as jnp
import numpy as np

totals = np.zeros(3)


@jax.checkpoint
def summed(x):
    totals[0] = jnp.sum(x)
    return jnp.sin(x)


STAGE = "call"
summed(jnp.zeros(3))
"""

_RETURNED = (
    _INTO_NUMPY.replace("    totals[0] = jnp.sum(x)\n    return jnp.sin(x)", "    return jnp.sin(x), jnp.sum(x)")
    .replace("summed(jnp.zeros(3))", "y, totals[0] = summed(jnp.zeros(3))")
)

RULE = Rule(
    code="JXP410",
    name=NAME,
    severity=Severity.ERROR,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint",),
    examples=(
        Example(
            _BAD, _BAD.replace("x[0] = 1.0", "x = x.at[0].set(1.0)"),
            Raises("TypeError", "item assignment", "call"),
        ),
        Example(_INTO_NUMPY, _RETURNED, Raises("ValueError", "setting an array element with a sequence", "call")),
    ),
    check=check,
    fix=fix,
)  # fmt: skip
