"""Code that does not run on the JAX at hand, and code that expects to fail.

A version check is decided only when it is certain; a check that asks for the JAX version in a way that cannot
be decided makes both its arms doubtful, and doubtful code is not reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from jaxpert.model.values import Symbol
from jaxpert.model.version_values import is_about_version, version_value
from jaxpert.syntax.children import walk
from jaxpert.syntax.scopes import BindingKind, Block, Scope, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_SKIPS_WHEN = {"skipif": True, "skipIf": True, "skipUnless": False}
_RAISES = {
    "raises",
    "assertRaises",
    "assertRaisesRegex",
    "assertRaisesRegexp",
    "assertRaisesWithLiteralMatch",
    "deprecated_call",
}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_GUARDS = (ast.With, ast.AsyncWith, ast.Try)
_ANCESTORS = {
    "AssertionError": {"Exception", "BaseException"},
    "TypeError": {"Exception", "BaseException"},
    "ValueError": {"Exception", "BaseException"},
    "AttributeError": {"Exception", "BaseException"},
    "NotImplementedError": {"RuntimeError", "Exception", "BaseException"},
    "OverflowError": {"ArithmeticError", "Exception", "BaseException"},
    "KeyError": {"LookupError", "Exception", "BaseException"},
    "IndexError": {"LookupError", "Exception", "BaseException"},
    "TracerBoolConversionError": {"ConcretizationTypeError", "JAXTypeError", "TypeError", "Exception", "BaseException"},
    "ConcretizationTypeError": {"JAXTypeError", "TypeError", "Exception", "BaseException"},
}


def version_condition(model: FileModel, test: ast.expr, scope: Scope, block: Block, depth: int = 0) -> bool | None:
    """Whether ``test`` is true on the target JAX; None when it does not ask, or cannot be decided."""
    if depth > 6:
        return None
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, (ast.Name, ast.Attribute)) and "TYPE_CHECKING" in (
        getattr(test, "id", ""),
        getattr(test, "attr", ""),
    ):
        return False
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        known = version_condition(model, test.operand, scope, block, depth + 1)
        return None if known is None else not known
    if isinstance(test, ast.BoolOp):
        parts = [version_condition(model, part, scope, block, depth + 1) for part in test.values]
        decisive = isinstance(test.op, ast.Or)
        if decisive in parts:
            return decisive
        return None if None in parts else not decisive
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _comparison(model, test, scope, block)
    if (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id == "hasattr"
        and len(test.args) == 2
    ):
        base = model.evaluate(test.args[0], scope, block)
        name = test.args[1]
        if isinstance(base, Symbol) and isinstance(name, ast.Constant) and isinstance(name.value, str):
            return model.db.exists(f"{base.path}.{name.value}")
        return None
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute):
        said = version_value(model, test, scope, block) if is_about_version(model, test, scope, block) else None
        return said if isinstance(said, bool) else None
    if isinstance(test, ast.Name):
        found = scope.lookup(test.id)
        if found and len(found[1]) == 1 and found[1][0].kind is BindingKind.ASSIGN and found[1][0].value is not None:
            binding = found[1][0]
            return version_condition(model, found[1][0].value, binding.scope, binding.block, depth + 1)
    return None


def _comparison(model: FileModel, test: ast.Compare, scope: Scope, block: Block) -> bool | None:
    sides = (test.left, test.comparators[0])
    if not any(is_about_version(model, side, scope, block) for side in sides):
        return None
    left, right = (version_value(model, side, scope, block) for side in sides)
    if left is None or right is None or type(left) is not type(right):
        return None
    operator = test.ops[0]
    try:
        less = bool(left < right)  # type: ignore[operator]
    except TypeError:
        return None  # (0, 9) < ("0", "10")
    equal = left == right
    if isinstance(operator, ast.Lt):
        return less
    if isinstance(operator, ast.LtE):
        return less or equal
    if isinstance(operator, ast.Gt):
        return not (less or equal)
    if isinstance(operator, ast.GtE):
        return not less
    if isinstance(operator, ast.Eq):
        return equal
    return not equal if isinstance(operator, ast.NotEq) else None


def is_dead(model: FileModel, block: Block) -> bool:
    """Whether a version check keeps ``block`` from running on the target JAX, or leaves that in doubt."""
    for inner in block.enclosing():
        owner = inner.owner
        if isinstance(owner, ast.If) and inner.parent is not None:
            scope = model.scope_of(inner.parent)
            known = version_condition(model, owner.test, scope, inner.parent)
            if known is not None and known is (inner.part == "orelse"):
                return True
            if known is None and is_about_version(model, owner.test, scope, inner.parent):
                return True
        elif isinstance(owner, ast.ExceptHandler) and _catches(
            owner, {"ImportError", "ModuleNotFoundError", "AttributeError"}
        ):
            if _try_succeeds(model, inner) is True:
                return True
        elif isinstance(owner, ast.Try) and inner.part == "body" and owner.handlers:
            if _imports_exist(model, owner.body, inner) is False:
                return True
        elif isinstance(owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and inner.parent is not None:
            if owner.decorator_list and _skipped(model, owner.decorator_list, inner.parent):
                return True
    return False


def _try_succeeds(model: FileModel, handler: Block) -> bool | None:
    """Whether the ``try`` body whose handler this is can import everything it asks for."""
    statement = next(
        (
            s
            for s, b in handler.tree.block_of.items()
            if b is handler.parent and isinstance(s, ast.Try) and handler.owner in s.handlers
        ),
        None,
    )
    return _imports_exist(model, statement.body, handler) if statement is not None else None


def _imports_exist(model: FileModel, body: Iterable[ast.stmt], block: Block) -> bool | None:
    """Whether the library names imported in ``body`` exist in the target JAX; None when none is known."""
    results: list[bool | None] = []
    for statement in body:
        if isinstance(statement, ast.ImportFrom) and not statement.level:
            results.extend(model.db.exists(f"{statement.module}.{alias.name}") for alias in statement.names)
        elif isinstance(statement, ast.Import):
            results.extend(model.db.exists(alias.name) for alias in statement.names)
        elif isinstance(statement, (ast.Assign, ast.Expr)) and isinstance(statement.value, ast.Attribute):
            value = model.evaluate(statement.value, model.scope_of(block), block)
            results.append(model.db.exists(value.path) if isinstance(value, Symbol) else None)
    if False in results:
        return False
    return True if results and None not in results else None


def _skipped(model: FileModel, decorators: list[ast.expr], block: Block) -> bool:
    scope = model.scope_of(block)
    for decorator in decorators:
        if (
            not isinstance(decorator, ast.Call)
            or not decorator.args
            or not isinstance(decorator.func, (ast.Attribute, ast.Name))
        ):
            continue
        name = decorator.func.attr if isinstance(decorator.func, ast.Attribute) else decorator.func.id
        if name not in _SKIPS_WHEN:
            continue
        condition = decorator.args[0]
        known = version_condition(model, condition, scope, block)
        if known is _SKIPS_WHEN[name] or (known is None and is_about_version(model, condition, scope, block)):
            return True
    return False


def leaves_before(model: FileModel, statement: ast.stmt, block: Block) -> bool:
    """Whether a ``return``, ``raise`` or skip, alone or behind a version check, stops before ``statement``."""
    at: ast.AST = statement
    for inner in block.enclosing():
        body = suite_of(inner)
        scope = model.scope_of(inner)
        for earlier in body:
            if earlier is at or getattr(earlier, "lineno", 0) >= getattr(at, "lineno", 0):
                break
            if _stops([earlier]):
                return True  # unreachable: a skipped test
            if isinstance(earlier, ast.If) and not earlier.orelse and _stops(earlier.body):
                known = version_condition(model, earlier.test, scope, inner)
                if known or (known is None and is_about_version(model, earlier.test, scope, inner)):
                    return True
        if inner.owner is None:
            break
        at = inner.owner
    return False


def suite_of(block: Block) -> list[ast.stmt]:
    """The statements of ``block``."""
    if block.owner is None:
        return block.tree.statements
    part = "body" if block.part in ("handler",) else block.part
    suite = getattr(block.owner, part, None)
    return suite if isinstance(suite, list) else []


def _stops(body: list[ast.stmt]) -> bool:
    last = body[-1]
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    return (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and ast.unparse(last.value.func).rpartition(".")[2] in ("skip", "skipTest", "exit")
    )


def expects_failure(model: FileModel, statement: ast.AST, block: Block, exceptions: Iterable[str]) -> bool:
    """Whether ``statement``, which stands in ``block``, is written to meet one of ``exceptions``.

    That is so inside ``pytest.raises``, ``assertRaises…`` or a ``try`` that catches it; when such a block in the same
    function or module uses what the statement makes; and anywhere in a test that holds a ``raises`` block, or calls
    something like ``assertRaises(TypeError, f)`` with the class.
    """
    wanted = set(exceptions)
    if not wanted:
        return False
    if any(_expecting(inner, wanted) for inner in block.enclosing()):
        return True
    function = next(
        (inner for inner in reversed(list(block.enclosing())) if isinstance(inner.owner, _FUNCTIONS)), None
    )  # the outermost one: the whole test
    if function is not None and any(
        function in where.enclosing() for where, names in _handed_over_in(function.tree) if names & wanted
    ):
        return True
    guards = model.remembered("guards", lambda: [it for tree in model.source.trees() for it in _guards_in(tree)])
    if function is not None:
        guards = [guard for guard in _guards_in(function.tree) if function in guard.enclosing()]
    guards = [guard for guard in guards if _expecting(guard, wanted)]
    if not guards:
        return False
    if function is not None and any(isinstance(guard.owner, (ast.With, ast.AsyncWith)) for guard in guards):
        return True
    makers = model.remembered("makers", lambda: [it for tree in model.source.trees() for it in _makers_in(tree)])
    if function is not None:
        makers = [maker for maker in _makers_in(function.tree) if function in maker[0].enclosing()]
    made = _made_from(statement, makers)
    return any(_loads(s) & made for guard in guards for s in suite_of(guard))


def _guards_in(tree: TreeIndex) -> list[Block]:
    """The bodies of all ``with`` and ``try`` statements of a tree."""
    known = tree.facts.get("guards")
    if not isinstance(known, list):
        blocks = {id(block): block for block in tree.block_of.values()}
        known = [b for b in blocks.values() if b.part == "body" and isinstance(b.owner, _GUARDS)]
        tree.facts["guards"] = known
    return known


def _made_from(statement: ast.AST, makers: list[_Maker]) -> set[str]:
    """The names that ``statement`` binds, and those that ``makers`` bind with their help."""
    made = _binds(statement)
    for _ in range(3):
        before = len(made)
        for _, loads, binds in makers:
            if not loads.isdisjoint(made):
                made |= binds
        if len(made) == before:
            return made
    return made


_Maker = tuple[Block, set[str], set[str]]


def _makers_in(tree: TreeIndex) -> list[_Maker]:
    """The statements of a tree that bind names: where they stand, what they read and what they bind."""
    known = tree.facts.get("makers")
    if not isinstance(known, list):
        known = tree.facts["makers"] = [
            (block, _loads(statement), _binds(statement))
            for statement, block in tree.block_of.items()
            if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.FunctionDef))
        ]
    return known


def _binds(statement: ast.AST) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    return {node.id for node in walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _loads(statement: ast.AST) -> set[str]:
    return {node.id for node in walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _expecting(block: Block, exceptions: set[str]) -> bool:
    owner = block.owner
    if block.part != "body":
        return False
    if isinstance(owner, (ast.With, ast.AsyncWith)):
        return any(_raises(item.context_expr, exceptions) for item in owner.items)
    if isinstance(owner, ast.Try):
        return any(_catches(handler, exceptions) for handler in owner.handlers)
    return False


def _raises(context: ast.expr, exceptions: set[str]) -> bool:
    if not isinstance(context, ast.Call):
        return False
    name = context.func.attr if isinstance(context.func, ast.Attribute) else getattr(context.func, "id", "")
    if name not in _RAISES:
        return name == "suppress" and any(_names(arg) & _wider(exceptions) for arg in context.args)
    if not context.args:
        return True
    return bool(_names(context.args[0]) & _wider(exceptions)) or not _names(context.args[0])


def _handed_over_in(tree: TreeIndex) -> list[tuple[Block, set[str]]]:
    """The names that calls get which are statements, as the class of an exception in ``assertRaises(TypeError, f)``."""
    known = tree.facts.get("handed over")
    if not isinstance(known, list):
        known = tree.facts["handed over"] = [
            (block, {name for argument in statement.value.args for name in _names(argument)})
            for statement, block in tree.block_of.items()
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        ]
    return known


def _catches(handler: ast.ExceptHandler, exceptions: set[str]) -> bool:
    return handler.type is None or bool(_names(handler.type) & _wider(exceptions))


def _names(node: ast.expr) -> set[str]:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return {part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "") for part in parts} - {""}


def _wider(exceptions: set[str]) -> set[str]:
    """``exceptions`` and the classes that catch them too."""
    wide = set(exceptions)
    for name in exceptions:
        wide |= _ANCESTORS.get(name, {"Exception", "BaseException"})
    return wide
