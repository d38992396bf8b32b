"""Scopes, bindings, blocks and call sites of one tree. Knows Python, not JAX.

One walk over a tree collects everything that the model asks for later. Names are looked up with Python's
rules (class bodies are skipped from inside functions), and :func:`reaching` says which of several bindings of
a name a use may see: of ``p = a``, ``p = b``, ``use(p)`` only the second.
"""

from __future__ import annotations

import ast
import enum
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DefNode = ast.FunctionDef | ast.AsyncFunctionDef

_MOST_SEEN = 100
"""Bindings of one name that a use may see, of which anybody wants to know."""
_NOWHERE = (-1, 0, 0)


class BindingKind(enum.Enum):
    """How a name came to be."""

    IMPORT = enum.auto()  # import a.b, import a.b as c; detail: the dotted path bound
    FROM_IMPORT = enum.auto()  # from m import n; detail: (module, level, name)
    STAR_IMPORT = enum.auto()  # from m import *; detail: (module, level)
    ASSIGN = enum.auto()  # name = value, name := value, name: T = value
    UNPACK = enum.auto()  # a, b = value; detail: path of indices, None for what a star collects
    AUGMENTED = enum.auto()  # name += value
    FUNCTION = enum.auto()
    CLASS = enum.auto()
    PARAMETER = enum.auto()
    LOOP = enum.auto()  # for name in value
    ELSEWHERE = enum.auto()  # by a function that declares the name global or nonlocal: nobody knows when
    OTHER = enum.auto()  # with, except, match, del, type parameter: a value we do not follow


class Block:
    """A suite of statements: ``owner`` opens it, ``part`` says which of the owner's suites it is."""

    __slots__ = ("depth", "owner", "parent", "part", "tree")

    def __init__(self, parent: Block | None, owner: ast.AST | None, part: str, tree: TreeIndex) -> None:
        self.parent = parent
        self.owner = owner
        self.part = part
        self.tree = tree
        self.depth: int = parent.depth + 1 if parent else 0

    def enclosing(self) -> Iterator[Block]:
        """This block and every block around it, innermost first."""
        block: Block | None = self
        while block is not None:
            yield block
            block = block.parent


class Binding:
    """One place where a name gets a value.

    ``node`` is the binding statement or target, ``value`` the expression bound (None when there is none) and
    ``detail`` what its kind says.
    """

    __slots__ = ("block", "detail", "kind", "name", "node", "scope", "value")

    def __init__(
        self,
        name: str,
        kind: BindingKind,
        node: ast.AST,
        scope: Scope,
        block: Block,
        value: ast.expr | None = None,
        detail: tuple[object, ...] = (),
    ) -> None:
        self.name = name
        self.kind = kind
        self.node = node
        self.scope = scope
        self.block = block
        self.value = value
        self.detail = detail


class Scope:
    """A namespace: the module, a class body, a function, a lambda or a comprehension."""

    __slots__ = ("bindings", "block", "kind", "node", "orders", "parent")

    def __init__(self, kind: str, node: ast.AST | None, parent: Scope | None, block: Block | None) -> None:
        self.kind = kind
        self.node = node
        self.parent = parent
        self.block = block  # the block in which the scope's own statement stands
        self.bindings: dict[str, list[Binding]] = {}
        self.orders: dict[str, _Order] | None = None

    def rebind(self, bindings: dict[str, list[Binding]]) -> None:
        """Replace all that is bound here."""
        self.bindings = bindings
        self.orders = None

    def lookup(self, name: str) -> tuple[Scope, list[Binding]] | None:
        """The scope that binds ``name`` as seen from here, with its bindings; None for builtins and unknowns."""
        scope: Scope | None = self
        while scope is not None:
            found = scope.bindings.get(name)
            if found and (scope.kind != "class" or scope is self):
                return scope, found
            scope = scope.parent
        return None

    def function(self) -> Scope | None:
        """The nearest function or lambda around (or this scope itself)."""
        scope: Scope | None = self
        while scope is not None and scope.kind not in ("function", "lambda"):
            scope = scope.parent
        return scope


class Site:
    """An expression with the scope and block in which it stands."""

    __slots__ = ("block", "node", "scope")

    def __init__(self, node: ast.AST, scope: Scope, block: Block) -> None:
        self.node = node
        self.scope = scope
        self.block = block


class CallSite(Site):
    """A call, with the statement that holds it."""

    __slots__ = ("statement",)
    node: ast.Call

    def __init__(self, node: ast.Call, scope: Scope, block: Block, statement: ast.stmt) -> None:
        super().__init__(node, scope, block)
        self.statement = statement


class Function(Site):
    """A def or lambda. ``inner`` is the scope of its body; ``returns`` are its own, not nested functions'."""

    __slots__ = ("body_block", "inner", "is_generator", "returns")
    node: FunctionNode

    def __init__(self, node: FunctionNode, scope: Scope, block: Block, inner: Scope, body_block: Block) -> None:
        super().__init__(node, scope, block)
        self.inner = inner
        self.body_block = body_block
        self.returns: list[tuple[ast.Return, Block]] = []
        self.is_generator = False


class TreeIndex:
    """Everything collected from one tree.

    Attributes:
        body: the statements.
        top: the module or class scope that the statements stand in (shared between the trees of a file).
        contribution: what the statements bind in ``top``.
        aliases: every ``from`` import and assignment of a name or call, at any depth.
        facts: what was found out about the tree, by key.
        values: what its expressions can be, by the identity of their nodes.
        compounds: what :func:`jaxpert.syntax.expressions.compounds` keeps, by kind; None until it is asked.
        alive: false once the tree's text has been parsed again.
        first_line: zero-based document line where the tree's text starts; moves when lines above change.
        writes_large_integers: whether it writes an int of more than 31 bits, or an operator that may make one.
    """

    __slots__ = (
        "aliases",
        "alive",
        "block_of",
        "calls",
        "classes",
        "compounds",
        "comprehensions",
        "contribution",
        "dicts",
        "facts",
        "first_line",
        "functions",
        "line_map",
        "root",
        "scopes",
        "statements",
        "top",
        "values",
        "virtual_base",
        "virtual_length",
        "words",
        "writes_large_integers",
    )

    def __init__(self, top: Scope) -> None:
        self.top = top
        self.contribution: dict[str, list[Binding]] = {}
        self.statements: list[ast.stmt] = []
        self.calls: list[CallSite] = []
        self.functions: dict[FunctionNode, Function] = {}
        self.classes: dict[ast.ClassDef, Scope] = {}
        self.comprehensions: dict[ast.expr, Scope] = {}
        self.dicts: list[Site] = []
        self.aliases: list[Binding] = []
        self.scopes: list[Scope] = []
        self.block_of: dict[ast.stmt, Block] = {}
        self.root = Block(top.block, top.node, "body", self)
        self.alive = True
        self.first_line = 0
        self.virtual_base = 1
        self.virtual_length = 0
        self.line_map: list[int | None] | None = None
        self.facts: dict[str, object] = {}
        self.values: dict[int, Any] = {}
        self.compounds: dict[type, list[Any]] | None = None
        self.words: set[str] | frozenset[str] = set()
        self.writes_large_integers = False

    def mentions(self) -> frozenset[str]:
        """Every name in the tree, and every attribute as ``.name``; identifiers in strings count as both."""
        if not isinstance(self.words, frozenset):
            found = self.words
            if not isinstance(self.top.node, ast.ClassDef) or not self.functions:  # code of a class body sees its names
                found |= {f".{name}" for name in found if name[0] != "."}
            self.words = frozenset(found)
        return self.words

    def line_now(self, local: int) -> int | None:
        """The document line of the tree's line ``local``, counted from 0; None when it was edited since."""
        if self.line_map is None:
            return self.first_line + local
        mapped = self.line_map[local] if 0 <= local < len(self.line_map) else None
        return None if mapped is None else self.first_line + mapped

    def line_then(self, line: int) -> int | None:
        """The tree's line, counted from 0, that now is document line ``line``; None when there is none."""
        local = line - self.first_line
        if self.line_map is None:
            return local if 0 <= local < max(self.virtual_length, 1) else None
        return self.line_map.index(local) if local in self.line_map else None

    def dismantle(self) -> None:
        """Free the tree at once: cut the references that go round in circles. Nothing may use it any more."""
        for scope in (*self.scopes, *self.comprehensions.values()):
            scope.rebind({})
        for table in (self.contribution, self.functions, self.classes, self.comprehensions, self.block_of, self.facts):
            table.clear()
        for row in (self.calls, self.dicts, self.aliases, self.scopes):
            row.clear()
        self.values.clear()
        self.compounds = None
        self.statements = []
        self.alive = False
        del self.root


def index(statements: list[ast.stmt], top: Scope) -> TreeIndex:
    """Walk ``statements``, which stand directly in ``top``."""
    tree = TreeIndex(top)
    tree.statements = statements
    _Walk(tree).suite(statements, top, tree.root, None)
    return tree


def index_statement(statement: ast.stmt, top: Scope, scope: Scope, block: Block) -> TreeIndex:
    """What a walk collects from one simple ``statement`` in ``block``; what it binds is bound in ``scope``."""
    piece = TreeIndex(top)
    _Walk(piece).suite([statement], scope, block, None)
    return piece


class _Order:
    """The bindings of one name in the order of the text, parameters first.

    Attributes:
        bindings: all of them.
        keys: where each stands.
        anywhere: those that a nested function may see.
        is_changed_elsewhere: whether a function declares the name global or nonlocal, and binds it.
        first_line: where their tree started when they were put in order.
    """

    __slots__ = ("anywhere", "bindings", "first_line", "is_changed_elsewhere", "keys")

    def __init__(self, bindings: list[Binding]) -> None:
        by_key = [(_NOWHERE if _is_parameter(b) else _key(b.node, b.block), b) for b in reversed(bindings)]
        by_key.sort(key=lambda it: it[0])
        self.keys = [key for key, _ in by_key]
        self.bindings = [binding for _, binding in by_key]
        self.is_changed_elsewhere = any(b.kind is BindingKind.ELSEWHERE for b in bindings)
        self.first_line = bindings[0].block.tree.first_line
        last = {_suite(b.block): _key(b.node, b.block) for b in bindings if b.kind is BindingKind.AUGMENTED}
        self.anywhere = bindings
        if last:
            self.anywhere = [b for b in bindings if _key(b.node, b.block) >= last.get(_suite(b.block), _NOWHERE)]


def _order(bindings: list[Binding], owner: Scope) -> _Order:
    """The bindings of one name in ``owner``, in order."""
    if owner.orders is None:
        owner.orders = {}
    name, first_line = bindings[0].name, bindings[0].block.tree.first_line
    known = owner.orders.get(name)
    if known is None or known.first_line != first_line or len(known.bindings) != len(bindings):
        known = owner.orders[name] = _Order(bindings)
    return known


def is_changed_elsewhere(bindings: list[Binding], owner: Scope) -> bool:
    """Whether one of ``bindings`` (all of one name in ``owner``) is made nobody knows when."""
    if len(bindings) < 2:
        return bindings[0].kind is BindingKind.ELSEWHERE
    return _order(bindings, owner).is_changed_elsewhere


def _never(block: Block) -> bool:
    return False


def reaching(
    bindings: list[Binding],
    use: ast.AST,
    scope: Scope,
    block: Block,
    owner: Scope,
    is_dead: Callable[[Block], bool] = _never,
) -> list[Binding]:
    """Those of ``bindings`` (all of one name in scope ``owner``) that a use at ``use`` may see.

    Inside the owner's own code, later bindings cannot be seen (unless a loop leads back), an unconditional one
    hides all before it, and one in the other arm of the same ``if`` cannot be seen. From a nested function every
    binding may be seen that no ``+=`` behind it has changed. The value of an augmented assignment takes in those
    before it.

    Bindings in dead blocks do not count, unless all are dead. Where more may be seen than anybody would follow, the
    answer is one binding that cannot be followed.
    """
    if len(bindings) < 2:
        return bindings
    order = _order(bindings, owner)
    if not _same_frame(scope, owner):
        found = order.anywhere
        if len(found) <= _MOST_SEEN:
            return [binding for binding in found if not is_dead(binding.block)] or found
    else:
        found = _in_line(order, use, block, is_dead) or bindings
        if found is bindings and len(found) <= _MOST_SEEN:
            alive = [binding for binding in bindings if not is_dead(binding.block)]
            found = alive or _in_line(order, use, block, _never) or bindings
        if len(found) <= _MOST_SEEN:
            return found
    return [Binding(bindings[0].name, BindingKind.OTHER, use, owner, block)]


def _in_line(order: _Order, use: ast.AST, block: Block, is_dead: Callable[[Block], bool]) -> list[Binding]:
    """What a use in the owner's own code may see, the last first; more than :data:`_MOST_SEEN` may not be all."""
    seen: list[Binding] = []
    around = tuple(block.enclosing())
    loops = [b for b in around if isinstance(b.owner, (ast.For, ast.While, ast.AsyncFor)) and b.part == "body"]
    here = bisect_left(order.keys, _key(use, block))
    if loops:
        assert loops[-1].owner is not None
        end = bisect_right(order.keys, _key(loops[-1].owner, loops[-1]))
        for position in range(end - 1, here - 1, -1):
            binding = order.bindings[position]
            if not is_dead(binding.block) and not set(loops).isdisjoint(binding.block.enclosing()):
                seen.append(binding)
                if len(seen) > _MOST_SEEN:
                    return seen
    suites = set(map(_suite, around))
    arms = {id(b.owner): b.part for b in around if isinstance(b.owner, (ast.If, ast.Match))}
    for position in range(here - 1, -1, -1):
        binding = order.bindings[position]
        if is_dead(binding.block) or (arms and _is_in_other_arm(binding.block, arms)):
            continue
        seen.append(binding)
        if len(seen) > _MOST_SEEN or (_suite(binding.block) in suites and not _in_loop_header(binding)):
            break
    return seen


def scope_of(block: Block) -> Scope:
    """The scope in which the statements of ``block`` run."""
    for inner in block.enclosing():
        owner = inner.owner
        if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return inner.tree.functions[owner].inner
        if isinstance(owner, ast.ClassDef):
            return inner.tree.classes.get(owner) or inner.tree.top
    return block.tree.top


def _suite(block: Block) -> int:
    """Which suite the block is; the trees of one module or class share theirs."""
    return id(block.tree.top) if block is block.tree.root else id(block)


def _is_parameter(binding: Binding) -> bool:
    return binding.kind is BindingKind.PARAMETER


def _in_loop_header(binding: Binding) -> bool:
    return binding.kind is BindingKind.LOOP


def _same_frame(scope: Scope, owner: Scope) -> bool:
    """Whether code in ``scope`` runs in line with the code of ``owner`` (comprehensions do)."""
    while scope is not owner:
        if scope.kind != "comprehension" or scope.parent is None:
            return False
        scope = scope.parent
    return True


def _key(node: ast.AST, block: Block) -> tuple[int, int, int]:
    return (block.tree.first_line, getattr(node, "end_lineno", 0) or 0, getattr(node, "end_col_offset", 0) or 0)


def _is_in_other_arm(block: Block, arms: dict[int, str]) -> bool:
    """Whether a block lies in another arm of an ``if`` or ``match`` than in the one given for it."""
    inner: Block | None = block
    while inner is not None:
        if arms.get(id(inner.owner), inner.part) != inner.part:
            return True
        inner = inner.parent
    return False


_ALIASES = (ast.Name, ast.Attribute, ast.Call)
_COMPREHENSIONS = frozenset({ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp})
_INNER: dict[type, tuple[str, ...]] = {
    ast.BinOp: ("left", "right"),
    ast.UnaryOp: ("operand",),
    ast.BoolOp: ("values",),
    ast.Compare: ("left", "comparators"),
    ast.Subscript: ("value", "slice"),
    ast.Starred: ("value",),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
}
"""Where the common expressions hold others; operators and contexts hold none."""
_GROWING = (ast.Pow, ast.LShift)
MOST_IN_32_BITS = (1 << 31) - 1
_NAMED_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class _Walk:
    """The walk itself: statements by recursion, expressions with a stack."""

    def __init__(self, tree: TreeIndex) -> None:
        self.tree = tree
        self.top = tree.top
        self.words: set[str] = tree.words  # type: ignore[assignment]
        self.handlers: dict[type, Callable[..., None]] = {
            ast.FunctionDef: self.function,
            ast.AsyncFunctionDef: self.function,
            ast.ClassDef: self.class_,
            ast.Import: self.import_,
            ast.ImportFrom: self.import_from,
            ast.Assign: self.assign,
            ast.AnnAssign: self.annotated,
            ast.AugAssign: self.augmented,
            ast.For: self.for_,
            ast.AsyncFor: self.for_,
            ast.While: self.while_,
            ast.If: self.if_,
            ast.With: self.with_,
            ast.AsyncWith: self.with_,
            ast.Try: self.try_,
            ast.Return: self.return_,
            ast.Match: self.match,
            ast.Global: self.declaration,
            ast.Nonlocal: self.declaration,
            ast.Delete: self.delete,
        }
        for later in ("TryStar", "TypeAlias"):
            if hasattr(ast, later):
                self.handlers[getattr(ast, later)] = self.try_ if later == "TryStar" else self.type_alias
        self.declared: dict[tuple[int, str], Scope] = {}

    # -- names ------------------------------------------------------------------------------------------------

    def bind(
        self,
        name: str,
        kind: BindingKind,
        node: ast.AST,
        scope: Scope,
        block: Block,
        value: ast.expr | None = None,
        detail: tuple[object, ...] = (),
    ) -> None:
        target = self.declared.get((id(scope), name), scope) if self.declared else scope
        if target is not scope:
            kind = BindingKind.ELSEWHERE
        sink = self.tree.contribution if target is self.top else target.bindings
        binding = Binding(name, kind, node, target, block, value, detail)
        if kind is BindingKind.FROM_IMPORT or (kind is BindingKind.ASSIGN and isinstance(value, _ALIASES)):
            self.tree.aliases.append(binding)
        known = sink.get(name)
        if known is None:
            sink[name] = [binding]
        else:
            known.append(binding)

    def target(
        self,
        node: ast.expr,
        scope: Scope,
        block: Block,
        value: ast.expr | None,
        kind: BindingKind,
        path: tuple[object, ...] = (),
        statement: ast.stmt | None = None,
    ) -> None:
        """Bind the names in an assignment target. Attributes and items bind nothing, but hold expressions."""
        if node.__class__ is ast.Name:
            self.words.add(node.id)
            self.bind(node.id, kind, statement or node, scope, block, value, path)
        elif isinstance(node, (ast.Tuple, ast.List)):
            stars = [position for position, item in enumerate(node.elts) if isinstance(item, ast.Starred)]
            for position, item in enumerate(node.elts):
                inner = item.value if isinstance(item, ast.Starred) else item
                behind = bool(stars) and position > stars[0]
                step = None if position in stars else position - len(node.elts) if behind else position
                into = BindingKind.UNPACK if kind is BindingKind.ASSIGN else kind
                self.target(inner, scope, block, value, into, (*path, step), statement)
        elif isinstance(node, ast.Starred):
            self.target(node.value, scope, block, None, BindingKind.OTHER)
        elif statement is not None:
            self.expression(node, scope, block, statement)

    # -- statements -------------------------------------------------------------------------------------------

    def suite(self, statements: Iterable[ast.stmt], scope: Scope, block: Block, function: Function | None) -> None:
        handlers = self.handlers
        block_of = self.tree.block_of
        for statement in statements:
            block_of[statement] = block
            handler = handlers.get(statement.__class__)
            if handler is not None:
                handler(statement, scope, block, function)
            else:
                self.children(statement, scope, block, statement, function)

    def children(
        self, node: ast.AST, scope: Scope, block: Block, statement: ast.stmt, function: Function | None
    ) -> None:
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.expr):
                self.expression(value, scope, block, statement, function)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.expr):
                        self.expression(item, scope, block, statement, function)

    def function(self, node: DefNode, scope: Scope, block: Block, function: Function | None) -> None:
        for decorator in node.decorator_list:
            self.expression(decorator, scope, block, node, function)
        self.bind(node.name, BindingKind.FUNCTION, node, scope, block)
        self.body(node, scope, block, node)

    def body(self, node: FunctionNode, scope: Scope, block: Block, statement: ast.stmt) -> None:
        """Parameters, defaults and body of a def or lambda."""
        arguments = node.args
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.expression(default, scope, block, statement)
        kind = "lambda" if isinstance(node, ast.Lambda) else "function"
        inner = Scope(kind, node, scope, block)
        self.tree.scopes.append(inner)
        body_block = Block(block, node, "body", self.tree)
        info = Function(node, scope, block, inner, body_block)
        self.tree.functions[node] = info
        for parameter in _parameters(arguments):
            self.bind(parameter.arg, BindingKind.PARAMETER, parameter, inner, body_block)
            if parameter.annotation is not None:
                self.expression(parameter.annotation, scope, block, statement)
        if isinstance(node, ast.Lambda):
            self.expression(node.body, inner, body_block, statement, info)
        else:
            if node.returns is not None:
                self.expression(node.returns, scope, block, statement)
            self.suite(node.body, inner, body_block, info)

    def class_(self, node: ast.ClassDef, scope: Scope, block: Block, function: Function | None) -> None:
        for expression in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.expression(expression, scope, block, node, function)
        self.bind(node.name, BindingKind.CLASS, node, scope, block)
        inner = Scope("class", node, scope, block)
        self.tree.scopes.append(inner)
        self.tree.classes[node] = inner
        self.suite(node.body, inner, Block(block, node, "body", self.tree), None)

    def import_(self, node: ast.Import, scope: Scope, block: Block, function: Function | None) -> None:
        for alias in node.names:
            if alias.asname:
                self.bind(alias.asname, BindingKind.IMPORT, node, scope, block, detail=(alias.name, alias.name))
            else:
                first = alias.name.partition(".")[0]
                self.bind(first, BindingKind.IMPORT, node, scope, block, detail=(first, alias.name))

    def import_from(self, node: ast.ImportFrom, scope: Scope, block: Block, function: Function | None) -> None:
        for alias in node.names:
            if alias.name == "*":
                self.bind("*", BindingKind.STAR_IMPORT, node, scope, block, detail=(node.module or "", node.level))
            else:
                self.bind(
                    alias.asname or alias.name,
                    BindingKind.FROM_IMPORT,
                    node,
                    scope,
                    block,
                    detail=(node.module or "", node.level, alias.name),
                )

    def assign(self, node: ast.Assign, scope: Scope, block: Block, function: Function | None) -> None:
        self.expression(node.value, scope, block, node, function)
        for target in node.targets:
            self.target(target, scope, block, node.value, BindingKind.ASSIGN, (), node)

    def annotated(self, node: ast.AnnAssign, scope: Scope, block: Block, function: Function | None) -> None:
        self.expression(node.annotation, scope, block, node, function)
        if node.value is not None:
            self.expression(node.value, scope, block, node, function)
            self.target(node.target, scope, block, node.value, BindingKind.ASSIGN, (), node)
        elif scope.kind == "class" and isinstance(node.target, ast.Name):
            self.bind(node.target.id, BindingKind.OTHER, node, scope, block)

    def augmented(self, node: ast.AugAssign, scope: Scope, block: Block, function: Function | None) -> None:
        self.expression(node.value, scope, block, node, function)
        self.target(node.target, scope, block, None, BindingKind.AUGMENTED, (), node)

    def for_(self, node: ast.For | ast.AsyncFor, scope: Scope, block: Block, function: Function | None) -> None:
        self.expression(node.iter, scope, block, node, function)
        inside = Block(block, node, "body", self.tree)
        self.target(node.target, scope, inside, node.iter, BindingKind.LOOP)
        self.suite(node.body, scope, inside, function)
        self.arm(node.orelse, scope, block, node, "orelse", function)

    def while_(self, node: ast.While, scope: Scope, block: Block, function: Function | None) -> None:
        self.expression(node.test, scope, block, node, function)
        self.arm(node.body, scope, block, node, "body", function)
        self.arm(node.orelse, scope, block, node, "orelse", function)

    def if_(self, node: ast.If, scope: Scope, block: Block, function: Function | None) -> None:
        self.expression(node.test, scope, block, node, function)
        self.arm(node.body, scope, block, node, "body", function)
        self.arm(node.orelse, scope, block, node, "orelse", function)

    def arm(
        self,
        statements: list[ast.stmt],
        scope: Scope,
        block: Block,
        owner: ast.AST,
        part: str,
        function: Function | None,
    ) -> None:
        if statements:
            self.suite(statements, scope, Block(block, owner, part, self.tree), function)

    def with_(self, node: ast.With | ast.AsyncWith, scope: Scope, block: Block, function: Function | None) -> None:
        for item in node.items:
            self.expression(item.context_expr, scope, block, node, function)
            if item.optional_vars is not None:
                self.target(item.optional_vars, scope, block, None, BindingKind.OTHER, (), node)
        # A with body always runs: it is its own block only so that guards can be seen.
        self.arm(node.body, scope, block, node, "body", function)

    def try_(self, node: ast.Try, scope: Scope, block: Block, function: Function | None) -> None:
        self.arm(node.body, scope, block, node, "body", function)
        for handler in node.handlers:
            if handler.type is not None:
                self.expression(handler.type, scope, block, node, function)
            inside = Block(block, handler, "handler", self.tree)
            if handler.name:
                self.bind(handler.name, BindingKind.OTHER, handler, scope, inside)
            self.suite(handler.body, scope, inside, function)
        self.arm(node.orelse, scope, block, node, "orelse", function)
        self.arm(node.finalbody, scope, block, node, "finalbody", function)

    def return_(self, node: ast.Return, scope: Scope, block: Block, function: Function | None) -> None:
        if function is not None:
            function.returns.append((node, block))
        if node.value is not None:
            self.expression(node.value, scope, block, node, function)

    def match(self, node: ast.Match, scope: Scope, block: Block, function: Function | None) -> None:
        self.expression(node.subject, scope, block, node, function)
        for number, case in enumerate(node.cases):
            inside = Block(block, node, f"case {number}", self.tree)
            for pattern in ast.walk(case.pattern):
                if isinstance(pattern, ast.Name):
                    self.words.add(pattern.id)
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self.bind(name, BindingKind.OTHER, pattern, scope, inside)
            if case.guard is not None:
                self.expression(case.guard, scope, inside, node, function)
            self.suite(case.body, scope, inside, function)

    def declaration(
        self, node: ast.Global | ast.Nonlocal, scope: Scope, block: Block, function: Function | None
    ) -> None:
        for name in node.names:
            home: Scope | None = scope.parent
            if isinstance(node, ast.Global):
                while home is not None and home.parent is not None:
                    home = home.parent
            else:
                while home is not None and (home.kind == "class" or name not in home.bindings) and home.parent:
                    home = home.parent
            if home is not None:
                self.declared[(id(scope), name)] = home

    def delete(self, node: ast.Delete, scope: Scope, block: Block, function: Function | None) -> None:
        for target in node.targets:
            if not isinstance(target, ast.Name):
                self.expression(target, scope, block, node, function)

    def type_alias(self, node: ast.AST, scope: Scope, block: Block, function: Function | None) -> None:
        name = getattr(node, "name", None)
        if isinstance(name, ast.Name):
            self.bind(name.id, BindingKind.OTHER, node, scope, block)

    # -- expressions ------------------------------------------------------------------------------------------

    def expression(
        self, root: ast.expr, scope: Scope, block: Block, statement: ast.stmt, function: Function | None = None
    ) -> None:
        calls = self.tree.calls
        words = self.words
        stack: list[ast.AST] = [root]
        while stack:
            node = stack.pop()
            kind = node.__class__
            if kind is ast.Name:
                words.add(node.id)  # type: ignore[attr-defined]
            elif kind is ast.Constant:
                text = node.value  # type: ignore[attr-defined]
                if text.__class__ is str:
                    if text.isidentifier():
                        words.add(text)
                        words.add(f".{text}")
                elif text.__class__ is int and text > MOST_IN_32_BITS:
                    self.tree.writes_large_integers = True
            elif kind is ast.Attribute:
                words.add(f".{node.attr}")  # type: ignore[attr-defined]
                stack.append(node.value)  # type: ignore[attr-defined]
            elif kind is ast.Call:
                calls.append(CallSite(node, scope, block, statement))  # type: ignore[arg-type]
                stack.append(node.func)  # type: ignore[attr-defined]
                stack.extend(node.args)  # type: ignore[attr-defined]
                for keyword in node.keywords:  # type: ignore[attr-defined]
                    stack.append(keyword.value)
            elif kind is ast.Lambda:
                self.body(node, scope, block, statement)  # type: ignore[arg-type]
            elif kind in _COMPREHENSIONS:
                self.comprehension(node, scope, block, statement)  # type: ignore[arg-type]
            elif kind is ast.NamedExpr:
                stack.append(node.value)  # type: ignore[attr-defined]
                home = scope
                while home.kind == "comprehension" and home.parent is not None:
                    home = home.parent
                self.bind(node.target.id, BindingKind.ASSIGN, node, home, block, node.value)  # type: ignore[attr-defined]
            else:
                if kind is ast.BinOp:
                    if node.op.__class__ in _GROWING and node.left.__class__ is ast.Constant:  # type: ignore[attr-defined]
                        self.tree.writes_large_integers = True
                elif kind is ast.Dict:
                    self.tree.dicts.append(Site(node, scope, block))
                elif kind in (ast.Yield, ast.YieldFrom) and function is not None:
                    function.is_generator = True
                for field in _INNER.get(kind) or node._fields:
                    value = getattr(node, field, None)
                    if value.__class__ is list:
                        stack += [item for item in value if isinstance(item, ast.AST)]
                    elif isinstance(value, ast.AST):
                        stack.append(value)

    def comprehension(
        self,
        node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
        scope: Scope,
        block: Block,
        statement: ast.stmt,
    ) -> None:
        inner = self.tree.comprehensions[node] = Scope("comprehension", node, scope, block)
        for position, generator in enumerate(node.generators):
            self.expression(generator.iter, scope if position == 0 else inner, block, statement)
            self.target(generator.target, inner, block, generator.iter, BindingKind.LOOP)
            for condition in generator.ifs:
                self.expression(condition, inner, block, statement)
        parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
        for part in parts:
            self.expression(part, inner, block, statement)


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    found = [*arguments.posonlyargs, *arguments.args]
    if arguments.vararg:
        found.append(arguments.vararg)
    found.extend(arguments.kwonlyargs)
    if arguments.kwarg:
        found.append(arguments.kwarg)
    return found
