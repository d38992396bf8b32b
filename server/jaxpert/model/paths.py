"""Which statements of a function can end it: its returns, and the place where it falls off the end."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import field

from jaxpert.records import dataclass

Truth = Callable[[ast.expr], "bool | None"]
"""Says whether a condition is known to be true or false; None when it is not known."""


@dataclass(slots=True)
class Ends:
    """How a suite can end.

    Attributes:
        returns: the ``return`` statements that can be reached.
        falls: the statement after which the suite's end is reached without a return; None when it cannot be.
    """

    returns: list[ast.Return] = field(default_factory=list)
    falls: ast.stmt | None = None
    never_returns: Callable[[ast.Call], bool] | None = field(default=None, repr=False)


def ends_of(
    body: Iterable[ast.stmt], owner: ast.stmt, truth: Truth, never_returns: Callable[[ast.Call], bool] | None = None
) -> Ends:
    """How ``body``, which stands in ``owner``, can end. Unknown conditions are taken both ways.

    Args:
        never_returns: whether a call never comes back; those of the standard library are known without it.
    """
    ends = Ends(never_returns=never_returns)
    ends.falls = _suite(body, owner, truth, ends)
    return ends


def is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """A body that is only a docstring, ``...`` or ``pass``: an abstract or unfinished function."""
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        for statement in node.body
    )


_LAST_CALLS = frozenset({
    "sys.exit", "os._exit", "exit", "quit", "pytest.fail", "pytest.skip", "self.fail", "self.skipTest",
    "assert_never", "typing.assert_never", "typing_extensions.assert_never",
})  # fmt: skip


def _suite(body: Iterable[ast.stmt], owner: ast.stmt, truth: Truth, ends: Ends) -> ast.stmt | None:
    """Record returns in ``ends``; give the last statement through which control leaves at the end, or None."""
    last: ast.stmt | None = owner
    for statement in body:
        last = _statement(statement, truth, ends)
        if last is None:
            return None
    return last


def _statement(statement: ast.stmt, truth: Truth, ends: Ends) -> ast.stmt | None:
    if isinstance(statement, ast.Return):
        ends.returns.append(statement)
        return None
    if isinstance(statement, (ast.Raise, ast.Break, ast.Continue)):
        return None
    if isinstance(statement, ast.If):
        return _if(statement, truth, ends)
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        return statement if _suite(statement.body, statement, truth, ends) is not None else None
    if isinstance(statement, ast.While):
        return _while(statement, truth, ends)
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        _suite(statement.body, statement, truth, ends)
        if statement.orelse and not _breaks(statement.body):
            return statement if _suite(statement.orelse, statement, truth, ends) is not None else None
        _suite(statement.orelse, statement, truth, ends)
        return statement
    if isinstance(statement, ast.Match):
        return _match(statement, truth, ends)
    if isinstance(statement, ast.Try) or statement.__class__.__name__ == "TryStar":
        return _try(statement, truth, ends)  # type: ignore[arg-type]
    if isinstance(statement, ast.Assert) and truth(statement.test) is False:
        return None
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        if _is_last_call(statement.value, ends):
            return None
    return statement


def _if(statement: ast.If, truth: Truth, ends: Ends) -> ast.stmt | None:
    """An ``if`` with all its ``elif``: a loop, since there may be hundreds."""
    if not _may_end(statement, ends):
        return statement  # whichever arm runs: what its condition is need not be found out
    left = False
    arm = statement
    while True:
        known = truth(arm.test)
        if known is not False:
            left |= _suite(arm.body, arm, truth, ends) is not None
        if known is True:
            break
        if len(arm.orelse) == 1 and isinstance(arm.orelse[0], ast.If):
            arm = arm.orelse[0]
            continue
        left |= _suite(arm.orelse, arm, truth, ends) is not None
        break
    return statement if left else None


_LEADS_ON = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Pass, ast.Import, ast.ImportFrom, ast.Global,
    ast.Nonlocal, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
)  # fmt: skip
"""Statements behind which the next one always comes, unless they raise."""


def _may_end(statement: ast.stmt, ends: Ends) -> bool:
    """Whether anything in ``statement`` could keep control from going on behind it, or return; a cheap look."""
    waiting = [statement]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.If):
            waiting += one.body
            waiting += one.orelse
        elif isinstance(one, (ast.For, ast.With)):
            waiting += one.body
            waiting += getattr(one, "orelse", ())
        elif isinstance(one, ast.Expr):
            if isinstance(one.value, ast.Call) and _is_last_call(one.value, ends):
                return True
        elif not isinstance(one, _LEADS_ON):
            return True
    return False


def _is_last_call(call: ast.Call, ends: Ends) -> bool:
    return _never_returns(call) or (ends.never_returns is not None and ends.never_returns(call))


def _while(statement: ast.While, truth: Truth, ends: Ends) -> ast.stmt | None:
    forever = truth(statement.test) is True
    _suite(statement.body, statement, truth, ends)
    if forever:
        return statement if _breaks(statement.body) else None
    left = _suite(statement.orelse, statement, truth, ends)
    return statement if left is not None or _breaks(statement.body) else None


def _match(statement: ast.Match, truth: Truth, ends: Ends) -> ast.stmt | None:
    left = False
    total = False
    for case in statement.cases:
        left |= _suite(case.body, statement, truth, ends) is not None
        total |= case.guard is None and _irrefutable(case.pattern)
    return statement if left or not total else None


def _irrefutable(pattern: ast.pattern) -> bool:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or _irrefutable(pattern.pattern)
    return isinstance(pattern, ast.MatchOr) and any(_irrefutable(p) for p in pattern.patterns)


def _try(statement: ast.Try, truth: Truth, ends: Ends) -> ast.stmt | None:
    if statement.finalbody:
        inner = Ends(never_returns=ends.never_returns)
        if _suite(statement.finalbody, statement, truth, inner) is None and inner.returns:
            ends.returns.extend(inner.returns)  # a return in finally replaces every other one
            return None
    body = _suite(statement.body, statement, truth, ends)
    if body is not None and statement.orelse:
        body = _suite(statement.orelse, statement, truth, ends)
    left = body is not None
    for handler in statement.handlers:
        left |= _suite(handler.body, statement, truth, ends) is not None
    return statement if left else None


def _breaks(body: Iterable[ast.stmt]) -> bool:
    """Whether a ``break`` in ``body`` leaves the loop that ``body`` belongs to."""
    stack: list[ast.AST] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Break):
            return True
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            stack.extend(node.orelse)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)):
            stack.extend(ast.iter_child_nodes(node))
    return False


def _never_returns(call: ast.Call) -> bool:
    """``sys.exit()``, ``os._exit()``, ``exit()``, ``pytest.fail()`` and the like, by how they are written."""
    func = call.func
    if isinstance(func, ast.Attribute):
        return isinstance(func.value, ast.Name) and f"{func.value.id}.{func.attr}" in _LAST_CALLS
    return isinstance(func, ast.Name) and func.id in _LAST_CALLS
