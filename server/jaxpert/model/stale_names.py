"""Names of outside that a checkpointed function reads and that get another value between its calls.

JAX traces the function once for each combination of shapes and keeps the program, also when the function is wrapped
anew: what a name of outside stood for is part of it (measured on 0.4.30 to 0.12.0.1).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.transforms import Checkpoint, parameters
from jaxpert.model.wrapped_calls import WrappedCall, wrapped_calls
from jaxpert.records import dataclass
from jaxpert.syntax.children import walk
from jaxpert.syntax.scopes import Binding, BindingKind, Block, Function, Scope, scope_of

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_CHANGING = {BindingKind.ASSIGN, BindingKind.UNPACK, BindingKind.AUGMENTED}


@dataclass(frozen=True, slots=True, eq=False)
class StaleName:
    """A name whose later value a checkpointed function does not see.

    Attributes:
        read: where the function reads it.
        change: what gives it another value.
        call: a call behind that, or in the loop that changes it.
        in_loop: whether a loop changes it.
    """

    read: ast.Name
    change: Binding
    call: WrappedCall
    in_loop: bool


def stale_names(model: FileModel, checkpoint: Checkpoint) -> Iterator[StaleName]:
    """The names of this kind, each once. Only functions and calls of this file, called in the scope of the name."""
    known = parameters(model, checkpoint)
    if known is None or (known.function.model or model) is not model or known.function.bound:
        return
    function = known.function.function
    key = f"free names of {id(function)}"
    reads = model.tree_fact(function.block.tree, key, lambda _: _free(function))
    free = {name: read for name, read in reads.items() if _changes(function, name)}
    if not free or model.source.contains("clear_caches"):
        return
    calls = sorted(wrapped_calls(model, checkpoint), key=lambda call: _place(call.site.statement, call.site.block))
    calls = [call for call in calls if not call.is_partial and not model.is_dead(call.site.block)]
    for name, read in free.items():
        found = next(_stale(function, name, read, calls), None)
        if found is not None:
            yield found


def _free(function: Function) -> dict[str, ast.Name]:
    """Where the function first reads each name of outside."""
    found: dict[str, ast.Name] = {}
    for node in walk(function.node):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in found:
            found[node.id] = node
    arguments = function.node.args
    before = [*arguments.defaults, *arguments.kw_defaults, *getattr(function.node, "decorator_list", ())]
    not_inside = {id(part) for one in before if one is not None for part in walk(one)}
    return {
        name: node
        for name, node in found.items()
        if id(node) not in not_inside and name not in function.inner.bindings
    }


def _owner(function: Function, name: str) -> tuple[Scope, list[Binding]] | None:
    return function.inner.lookup(name)


def _changes(function: Function, name: str) -> bool:
    found = _owner(function, name)
    if found is None or found[0] is function.inner or found[0].kind not in ("module", "function"):
        return False
    bindings = found[1]
    kinds = {binding.kind for binding in bindings}
    if kinds & {BindingKind.PARAMETER, BindingKind.IMPORT, BindingKind.FROM_IMPORT}:
        return False
    return len(bindings) > 1 or bool(kinds & {BindingKind.LOOP, BindingKind.AUGMENTED})


def _stale(function: Function, name: str, read: ast.Name, calls: list[WrappedCall]) -> Iterator[StaleName]:
    found = _owner(function, name)
    assert found is not None
    owner, bindings = found
    near = [call for call in calls if scope_of(call.site.block) is owner]
    for call in near:
        for loop in _loops(call.site.block):
            if loop in tuple(function.block.enclosing()):
                break  # the function is made anew in each turn
            for binding in bindings:
                turns = binding.kind is BindingKind.LOOP and binding.node in walk(loop.owner.target)  # type: ignore[union-attr]
                inside = binding.kind in _CHANGING and binding.block is loop
                if (turns or inside) and not _from_loop(call, loop):
                    yield StaleName(read, binding, call, True)
    for index, first in enumerate(near):
        for later in near[index + 1 :]:
            if not _same_call(first, later) or _suite(first.site.block) != _suite(later.site.block):
                continue
            start, end = (_place(one.site.statement, one.site.block) for one in (first, later))
            suite = _suite(first.site.block)
            between = [
                binding
                for some in owner.bindings.values()
                for binding in some
                if _suite(binding.block) == suite and start < _place(binding.node, binding.block) < end
            ]
            used = {n.id for n in walk(later.site.node) if isinstance(n, ast.Name)}
            changed = [b for b in between if b.name == name and b.kind in _CHANGING]
            if changed and not any(b.name in used for b in between):
                yield StaleName(read, changed[0], later, False)


def _loops(block: Block) -> Iterator[Block]:
    for around in block.enclosing():
        if isinstance(around.owner, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        if isinstance(around.owner, (ast.For, ast.AsyncFor)) and around.part == "body":
            yield around


def _from_loop(call: WrappedCall, loop: Block) -> bool:
    """Whether the loop itself gives the call an argument, whose shape may differ from turn to turn."""
    given = {n.id for n in walk(loop.owner.target) if isinstance(n, ast.Name)}  # type: ignore[union-attr]
    arguments = (*call.site.node.args, *(keyword.value for keyword in call.site.node.keywords))
    return any(isinstance(n, ast.Name) and n.id in given for argument in arguments for n in walk(argument))


def _same_call(one: WrappedCall, other: WrappedCall) -> bool:
    """Whether both calls pass the same, so that the second runs what the first traced."""
    first, second = one.site.node, other.site.node
    return bool(first.args) and [ast.dump(a) for a in (*first.args, *first.keywords)] == [
        ast.dump(a) for a in (*second.args, *second.keywords)
    ]


def _suite(block: Block) -> int:
    """Which suite the block is; the statements of a module stand in trees of their own."""
    return id(block.tree.top) if block is block.tree.root else id(block)


def _place(node: ast.AST, block: Block) -> tuple[int, int, int]:
    return block.tree.first_line, getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
