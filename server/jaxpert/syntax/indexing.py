"""The one walk over a tree that collects everything that the model asks for later. Knows Python, not JAX."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from jaxpert.syntax.scopes import (
    Binding,
    BindingKind,
    Block,
    CallSite,
    DefNode,
    Function,
    FunctionNode,
    Scope,
    Site,
    TreeIndex,
)  # fmt: skip

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


class _Walk:
    """The walk itself: statements by recursion, expressions with a stack."""

    def __init__(self, tree: TreeIndex) -> None:
        self.tree = tree
        self.top = tree.top
        self.words: set[str] = tree.words  # type: ignore[assignment]
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
        block_of = self.tree.block_of
        for statement in statements:
            block_of[statement] = block
            handler = _HANDLERS.get(statement.__class__)
            if handler is not None:
                handler(self, statement, scope, block, function)
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


_HANDLERS: dict[type, Callable[..., None]] = {
    ast.FunctionDef: _Walk.function,
    ast.AsyncFunctionDef: _Walk.function,
    ast.ClassDef: _Walk.class_,
    ast.Import: _Walk.import_,
    ast.ImportFrom: _Walk.import_from,
    ast.Assign: _Walk.assign,
    ast.AnnAssign: _Walk.annotated,
    ast.AugAssign: _Walk.augmented,
    ast.For: _Walk.for_,
    ast.AsyncFor: _Walk.for_,
    ast.While: _Walk.while_,
    ast.If: _Walk.if_,
    ast.With: _Walk.with_,
    ast.AsyncWith: _Walk.with_,
    ast.Try: _Walk.try_,
    ast.Return: _Walk.return_,
    ast.Match: _Walk.match,
    ast.Global: _Walk.declaration,
    ast.Nonlocal: _Walk.declaration,
    ast.Delete: _Walk.delete,
}
for _later, _handler in (("TryStar", _Walk.try_), ("TypeAlias", _Walk.type_alias)):
    if hasattr(ast, _later):
        _HANDLERS[getattr(ast, _later)] = _handler


def _parameters(arguments: ast.arguments) -> list[ast.arg]:
    found = [*arguments.posonlyargs, *arguments.args]
    if arguments.vararg:
        found.append(arguments.vararg)
    found.extend(arguments.kwonlyargs)
    if arguments.kwarg:
        found.append(arguments.kwarg)
    return found
