"""Which of several bindings of a name a use may see: of ``p = a``, ``p = b``, ``use(p)`` only the second."""

from __future__ import annotations

import ast
from bisect import bisect_left, bisect_right
from collections.abc import Callable

from jaxpert.syntax.scopes import Binding, BindingKind, Block, Scope

_MOST_SEEN = 100
"""Bindings of one name that a use may see, of which anybody wants to know."""
_NOWHERE = (-1, 0, 0)


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
