"""Scopes, bindings, blocks and call sites of one tree. Knows Python, not JAX.

Names are looked up with Python's rules: class bodies are skipped from inside functions. :mod:`~jaxpert.syntax.indexing`
collects all this in one walk; :mod:`~jaxpert.syntax.reaching` says which of several bindings a use may see.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import Any

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DefNode = ast.FunctionDef | ast.AsyncFunctionDef


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
        self.orders: dict[str, Any] | None = None

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
        self.node = node
        self.scope = scope
        self.block = block
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


def scope_of(block: Block) -> Scope:
    """The scope in which the statements of ``block`` run."""
    for inner in block.enclosing():
        owner = inner.owner
        if isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return inner.tree.functions[owner].inner
        if isinstance(owner, ast.ClassDef):
            return inner.tree.classes.get(owner) or inner.tree.top
    return block.tree.top
