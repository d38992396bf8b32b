"""Where the body of a checkpointed function asks a tracer for its value, which only concrete arrays have."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.model import static_sizes
from jaxpert.model.formatted_values import formatted_values
from jaxpert.model.helper_conversions import asked_by_helper
from jaxpert.model.tracing import Body, Level, Place, Traced, as_array, is_number, where_none
from jaxpert.model.values import CallResult, Def, Sequence, Symbol, Table
from jaxpert.records import dataclass
from jaxpert.syntax.children import children, walk
from jaxpert.syntax.scopes import BindingKind, FunctionNode, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_DEEPEST = 60
_ASKING_METHODS = {"item", "tolist", "tobytes"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Comprehension = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
_INDEXED = {"list", "tuple", "range"}
_NUMPY_FUNCTIONS = {
    "sin", "cos", "tan", "tanh", "exp", "log", "log1p", "sqrt", "square", "abs", "maximum", "minimum", "dot", "matmul",
    "einsum", "where", "isnan", "isfinite", "allclose", "floor", "ceil", "sign", "power", "linalg.norm", "array",
    "asarray", "concatenate", "stack", "clip", "zeros_like", "ones_like", "full_like", "broadcast_to", "expand_dims",
    "copy", "tile", "pad", "take", "ravel", "diag", "float16", "float32", "float64", "int8", "int16", "int32", "int64",
    "testing.assert_allclose", "testing.assert_array_equal", "testing.assert_array_less",
    "testing.assert_array_almost_equal",
}  # fmt: skip
"""Functions of NumPy that turn their arguments into NumPy arrays, in every version; ``np.sum`` and others do not."""
_MATH_OF_INTEGERS = {"factorial", "gcd", "lcm", "comb", "perm", "isqrt"}
_MATH_OF_ANYTHING = {"prod", "fsum", "sumprod", "dist"}
_BUILTINS = {
    **dict.fromkeys(("bool", "int", "float", "complex"), ""), "range": "index", "min": "bool", "max": "bool",
    "sorted": "bool", "any": "bool", "all": "bool", "chr": "index", "hex": "index", "bin": "index", "oct": "index",
    "hash": "hash",
}  # fmt: skip
"""What the builtins turn their arguments into; "" for what they are called."""
_OF_ONE_ARRAY = {"bool", "sorted", "any", "all", "hash"}
_HASHES_TRACERS_UNTIL = Version("0.4.36")
STATIC = static_sizes.KINDS | {"slice"}
"""Values of :attr:`Conversion.how` for what JAX, not Python, asks for: sizes, axes and bounds of slices."""
_NUMPY_TABLES = {f"numpy.{name}" for name in ("array", "asarray", "arange", "linspace", "zeros", "ones", "eye", "full")}
_MASKS = {"isnan", "isinf", "isfinite", "isin", "logical_and", "logical_or", "logical_not", "greater", "less", "equal"}


@dataclass(frozen=True, slots=True, eq=False)
class Conversion:
    """A place where Python asks a tracer for its value.

    Attributes:
        node: the smallest expression to look at.
        how: what it is turned into: "bool", "int", "float", "complex", "index", "key", "hash", "mask", "numpy",
            "format", "count" (the size of an array), "block" (a finished array), or one of :data:`STATIC`.
        where: who asks: "if", "while", "assert", "not", "and", "or", "in", "match", "chain", "int()", ".item()", "[]",
            "np.sin", "math.sin", "jnp.zeros" …
        traced: the expression whose value is asked for.
        helper: where ``node`` calls a function that asks, this function, and what it asks in ``inner``.
    """

    node: ast.expr
    how: str
    where: str
    traced: Traced
    inner: Conversion | None = None
    helper: Def | None = None


def conversions(body: Body) -> Iterator[Conversion]:
    """All of them, also in functions defined in the body, in the order of the text."""
    return _Search(body).function(body.function.node)


class _Search:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.model = body.model
        self.tree = body.function.block.tree
        self.depth = 0

    # -- statements ---------------------------------------------------------------------------------------------------

    def function(self, node: FunctionNode) -> Iterator[Conversion]:
        function = self.tree.functions.get(node)
        if function is None:
            return
        if isinstance(node, ast.Lambda):
            yield from self.expression(node.body, Place(function.inner, function.body_block))
        else:
            yield from self.suite(node.body, function.inner)

    def suite(self, statements: Iterable[ast.stmt], scope: Scope) -> Iterator[Conversion]:
        for statement in statements:
            block = self.tree.block_of.get(statement)
            if block is None or self.model.is_dead(block) or isinstance(statement, ast.ClassDef):
                continue
            if isinstance(statement, _FUNCTIONS):
                yield from self.function(statement)
            else:
                yield from self.statement(statement, Place(scope, block))

    def statement(self, statement: ast.stmt, place: Place) -> Iterator[Conversion]:
        if isinstance(statement, ast.Match):
            yield from self.match(statement, place)
        truth = self.constant(statement.test, place) if isinstance(statement, (ast.If, ast.While)) else None
        for field, part in ast.iter_fields(statement):
            if (field == "body" and truth is False) or (field == "orelse" and truth is True):
                continue  # never runs
            if field == "test":
                yield from self.test(part, type(statement).__name__.lower(), place)
                continue
            for inner in part if isinstance(part, list) else [part]:
                if isinstance(inner, ast.expr):
                    yield from self.expression(inner, place)
                elif isinstance(inner, ast.stmt):
                    yield from self.suite([inner], place.scope)
                elif isinstance(inner, (ast.ExceptHandler, ast.match_case)):
                    yield from self.suite(inner.body, place.scope)
                elif isinstance(inner, ast.withitem):
                    yield from self.expression(inner.context_expr, place)

    def constant(self, test: ast.expr, place: Place) -> bool | None:
        """What a condition is in every run: a constant, or ``TYPE_CHECKING``; None for all others."""
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.constant(test.operand, place)
            return None if inner is None else not inner
        if getattr(test, "id", getattr(test, "attr", "")) != "TYPE_CHECKING":
            return None
        value = self.model.evaluate(test, place.scope, place.block)
        return False if isinstance(value, Symbol) and value.path == "typing.TYPE_CHECKING" else None

    def match(self, statement: ast.Match, place: Place) -> Iterator[Conversion]:
        """``case 1:`` compares; ``case None:`` and ``case True:`` ask for identity, which is fine."""
        patterns = [pattern for case in statement.cases for pattern in walk(case.pattern)]
        traced = self.body.traced(statement.subject, place)
        if traced.level >= Level.LEAVES and any(isinstance(p, ast.MatchValue) and is_number(p.value) for p in patterns):
            yield Conversion(statement.subject, "bool", "match", traced)

    # -- expressions --------------------------------------------------------------------------------------------------

    def test(self, node: ast.expr, word: str, place: Place) -> Iterator[Conversion]:
        """An expression whose truth is asked for."""
        if isinstance(node, ast.BoolOp):
            for operand in node.values:
                yield from self.test(operand, word, place)
                place = where_none(operand, isinstance(node.op, ast.And), place)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield from self.test(node.operand, word, place)
        elif isinstance(node, ast.NamedExpr):
            yield from self.test(node.value, word, place)
        else:
            traced = self.body.traced(node, place)
            if traced.level is Level.ARRAY:
                yield Conversion(node, "bool", word, traced)
            if traced.level is Level.ARRAY and isinstance(node, ast.Compare):  # a chain is reported once
                for side in (node.left, *node.comparators):
                    yield from self.expression(side, place)
            else:
                yield from self.expression(node, place)

    def expression(self, node: ast.AST, place: Place) -> Iterator[Conversion]:
        """Everything inside an expression whose own truth is not asked for."""
        if isinstance(node, ast.Lambda):
            yield from self.function(node)
        elif isinstance(node, _Comprehension):
            yield from self.comprehension(node, place)
        elif isinstance(node, ast.IfExp):
            yield from self.test(node.test, "if", place)
            yield from self.expression(node.body, where_none(node.test, True, place))
            yield from self.expression(node.orelse, where_none(node.test, False, place))
        elif isinstance(node, ast.BoolOp):
            for operand in node.values[:-1]:
                yield from self.test(operand, type(node.op).__name__.lower(), place)
                place = where_none(operand, isinstance(node.op, ast.And), place)
            yield from self.expression(node.values[-1], place)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield from self.test(node.operand, "not", place)
        else:
            for value, how in formatted_values(node):
                traced = self.body.traced(value, place)
                if traced.level >= Level.LEAVES:
                    yield Conversion(value, how, "text", traced)
            if isinstance(node, ast.Compare):
                yield from self.comparison(node, place)
            elif isinstance(node, ast.Call):
                yield from self.call(node, place)
            elif isinstance(node, ast.Subscript):
                yield from self.index(node, place)
            elif isinstance(node, (ast.Set, ast.Dict)):
                for key in node.elts if isinstance(node, ast.Set) else node.keys:
                    yield from self.hashed(key, "{}", place)
            if self.depth < _DEEPEST:
                self.depth += 1
                for child in children(node):
                    yield from self.expression(child, place)
                self.depth -= 1

    def comprehension(self, node: _Comprehension, place: Place) -> Iterator[Conversion]:
        targets = {name.id for part in node.generators for name in walk(part.target) if isinstance(name, ast.Name)}
        inside = place._replace(hidden=place.hidden | targets)
        for generator in node.generators:
            yield from self.expression(generator.iter, place)
            for test in generator.ifs:
                yield from self.test(test, "if", inside)
        for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
            yield from self.expression(part, inside)

    def comparison(self, node: ast.Compare, place: Place) -> Iterator[Conversion]:
        left = node.left
        for position, (operator, right) in enumerate(zip(node.ops, node.comparators)):
            if isinstance(operator, (ast.In, ast.NotIn)):
                numbers = isinstance(right, (ast.Tuple, ast.List)) and right.elts and all(map(is_number, right.elts))
                traced = self.body.traced(left, place)
                if numbers and traced.level >= Level.LEAVES:
                    yield Conversion(node, "bool", "in", traced)
                elif isinstance(right, (ast.Set, ast.Dict)):
                    yield from self.hashed(left, "in", place)
            elif position < len(node.ops) - 1:  # `a < b < c` is `a < b and b < c`
                traced = self.body.compared(left, operator, right, place)
                if traced.level is Level.ARRAY:
                    yield Conversion(node, "bool", "chain", traced)
                    return
            left = right

    def hashed(self, node: ast.expr | None, where: str, place: Place) -> Iterator[Conversion]:
        """Something that is looked up, or put into a set or a dictionary."""
        traced = self.body.traced(node, place) if node is not None else None
        if node is None or traced is None or self.model.target.version < _HASHES_TRACERS_UNTIL:
            return
        if traced.level is Level.ARRAY:
            yield Conversion(node, "hash", where, traced)

    def call(self, node: ast.Call, place: Place) -> Iterator[Conversion]:
        if isinstance(node.func, ast.Attribute):
            base = self.body.traced(node.func.value, place)
            if base.level is Level.NOT:
                yield from self.library(node, node.func, place)
            elif node.func.attr in _ASKING_METHODS:
                yield Conversion(node, "float", f".{node.func.attr}()", as_array(base))
            elif node.func.attr == "block_until_ready":
                yield Conversion(node, "block", ".block_until_ready()", as_array(base))
            elif node.func.attr == "nonzero" and not node.args and not node.keywords:
                yield Conversion(node, "count", ".nonzero()", as_array(base))
            elif base.level >= Level.LEAVES:
                needed = static_sizes.needed_by_method(node.func.attr, node)
                yield from self.sizes(needed, f".{node.func.attr}()", place)
        elif isinstance(node.func, ast.Name):
            yield from self.builtin(node, node.func, place)

    def builtin(self, node: ast.Call, func: ast.Name, place: Place) -> Iterator[Conversion]:
        name = func.id
        if name not in _BUILTINS or not node.args or (node.keywords and name != "sorted"):
            yield from self.library(node, func, place)
            return
        if not self._is_builtin(func, place):
            return
        if name == "hash":
            yield from self.hashed(node.args[0], "hash()", place)
            return
        traced = max((self.body.traced(one, place) for one in node.args), key=lambda one: one.level)
        # A list has a truth and can be compared with another, but it is no number.
        is_sure = traced.level is Level.ARRAY or (traced.level is Level.LEAVES and name not in _OF_ONE_ARRAY)
        if name in ("min", "max"):
            is_sure &= len(node.args) > 1 and (traced.level is Level.ARRAY or any(map(is_number, node.args)))
        if is_sure:
            yield Conversion(node, _BUILTINS[name] or name, f"{name}()", traced)

    def library(self, node: ast.Call, func: ast.expr, place: Place) -> Iterator[Conversion]:
        """Functions of NumPy, ``math`` and JAX."""
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        given = [self._surest(one, place) for one in arguments]
        traced = max(given, key=lambda one: one.level, default=None)
        if traced is None or traced.level < Level.LEAVES:
            return
        value = self.model.evaluate(func, place.scope, place.block)
        if isinstance(value, Def) and not place.hidden:
            asked = asked_by_helper(self.body, node, value, place, conversions)
            if asked is not None and asked.how not in STATIC:
                yield asked
            return
        path = value.path if isinstance(value, Symbol) else ""
        module, _, name = path.partition(".")
        if module == "numpy" and name in _NUMPY_FUNCTIONS:
            yield Conversion(node, "numpy", f"np.{name}", traced)
        elif module == "math" and name not in _MATH_OF_ANYTHING:
            yield Conversion(node, "index" if name in _MATH_OF_INTEGERS else "float", path, traced)
        elif path == "operator.index":
            yield Conversion(node, "index", path, traced)
        elif module == "jax":
            if static_sizes.counts(path, node):
                yield Conversion(node, "count", path.replace("jax.numpy.", "jnp."), traced)
            yield from self.sizes(static_sizes.needed(path, node), path.replace("jax.numpy.", "jnp."), place)

    def sizes(self, needed: Iterable[tuple[str, ast.expr]], where: str, place: Place) -> Iterator[Conversion]:
        """Arguments that JAX has to know while tracing."""
        for kind, argument in needed:
            for part in argument.elts if isinstance(argument, (ast.Tuple, ast.List)) else [argument]:
                traced = self.body.traced(part, place)
                enough = Level.ARRAY if kind in static_sizes.MAY_BE_NONE else Level.LEAVES
                if traced.level >= enough:
                    yield Conversion(part, kind, where, traced)

    def _surest(self, node: ast.expr, place: Place) -> Traced:
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) and node.elts else [node]
        return max((self.body.traced(part, place) for part in parts), key=lambda one: one.level)

    def index(self, node: ast.Subscript, place: Place) -> Iterator[Conversion]:
        if place.hidden:
            return
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "at":
            base = base.value
        inside = self.body.traced(base, place).level >= Level.LEAVES
        for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            if isinstance(part, ast.Slice):
                yield from self.bounds(part, base if not inside else None, place)
        traced = self.body.traced(node.slice, place)
        if traced.level < Level.LEAVES:
            return
        if isinstance(node.ctx, ast.Load) and inside:
            if traced.level is Level.ARRAY and is_mask(self.model, node.slice, place):
                yield Conversion(node, "mask", "[]", as_array(traced))
            return
        options = list(self.model.evaluate(node.value, place.scope, place.block).options())
        if all(isinstance(option, Sequence) and option.kind in _INDEXED for option in options):
            yield Conversion(node.slice, "index", "[]", traced)
        elif all(isinstance(option, Table) for option in options):
            yield Conversion(node.slice, "key", "[]", traced)
        elif all(isinstance(option, CallResult) and option.path in _NUMPY_TABLES for option in options):
            yield Conversion(node.slice, "numpy", "[]", traced)

    def bounds(self, part: ast.Slice, unknown: ast.expr | None, place: Place) -> Iterator[Conversion]:
        """The bounds of a slice of something traced, or of ``unknown``, which must turn out to be a list then."""
        for bound in (part.lower, part.upper, part.step):
            traced = self.body.traced(bound, place) if bound is not None else None
            if bound is None or traced is None or traced.level is not Level.ARRAY:
                continue
            if unknown is None:
                yield Conversion(bound, "slice", "[:]", traced)
                return
            options = list(self.model.evaluate(unknown, place.scope, place.block).options())
            if all(isinstance(option, Sequence) and option.kind in _INDEXED for option in options):
                yield Conversion(bound, "index", "[]", traced)
            return

    def _is_builtin(self, node: ast.Name, place: Place) -> bool:
        value = self.model.evaluate(node, place.scope, place.block)
        return isinstance(value, Symbol) and value.path == f"builtins.{node.id}"


def is_mask(model: FileModel, node: ast.expr, place: Place) -> bool:
    """Whether an index is an array of bools."""
    if isinstance(node, ast.Compare):
        return True
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and is_mask(model, node.operand, place)
    if isinstance(node, ast.BinOp):
        is_logic = isinstance(node.op, (ast.BitAnd, ast.BitOr))
        return is_logic and is_mask(model, node.left, place) and is_mask(model, node.right, place)
    if isinstance(node, ast.Call):
        value = model.evaluate(node.func, place.scope, place.block)
        return isinstance(value, Symbol) and value.path.removeprefix("jax.numpy.") in _MASKS
    made = assigned_once(node, place)
    return made is not None and not isinstance(made[0], ast.Name) and is_mask(model, *made)


def assigned_once(node: ast.expr, place: Place) -> tuple[ast.expr, Place] | None:
    """What the only assignment to a name gives it, and where that stands."""
    found = place.scope.lookup(node.id) if isinstance(node, ast.Name) else None
    binding = found[1][0] if found is not None and len(found[1]) == 1 else None
    if binding is None or binding.value is None or binding.kind is not BindingKind.ASSIGN:
        return None
    return binding.value, Place(binding.scope, binding.block)
