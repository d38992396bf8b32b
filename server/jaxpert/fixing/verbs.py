"""What a fix can do to a program: one function a verb.

Every verb takes the lines of a file and the range of an expression, statement or function in it, and returns edits of
that file: they leave every other character as it is, keep comments, indentation and line ends, and have been applied
and parsed: the result is the intended program. A verb that cannot do that returns None.

New source is given with ``\\n`` as line end. Ranges are those of the tree: an expression without parentheses around it,
a function from its ``def`` on.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from jaxpert.fixing import items
from jaxpert.fixing.items import Items, Splice, items_of
from jaxpert.fixing.passage import (
    Passage,
    confirmed,
    expression,
    expression_at,
    function_at,
    moved,
    replace_node,
    statement,
    statement_at,
)
from jaxpert.syntax import indexing, scopes
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range

Edits = tuple[Edit, ...]
Lines = Sequence[str]

_KEYWORD = re.compile(r"\w+\s*=\s*")

# -- expressions ------------------------------------------------------------------------------------------------------


def replace_expression(lines: Lines, area: Range, new_source: str) -> Edits | None:
    """Put ``new_source`` in place of an expression, in parentheses where it needs them, or of a simple statement."""
    new = expression(new_source)
    if new is None:
        found, replacement = statement_at(lines, area), statement(new_source)
        if found is None or replacement is None:
            return None
        replace_node(found[0].tree, found[1], replacement)
        return confirmed(found[0], [[Edit(area, new_source)]])
    return _reshape(lines, area, lambda node: new, [[Edit(area, new_source)], [Edit(area, f"({new_source})")]])


def call_expression(lines: Lines, area: Range, arguments_source: str) -> Edits | None:
    """``f`` becomes ``f(arguments)``."""
    call = expression(f"_({arguments_source}\n)")
    if not isinstance(call, ast.Call):
        return None
    around = [("", f"({arguments_source})"), ("(", f")({arguments_source})")]
    return _reshape(lines, area, lambda node: ast.Call(node, call.args, call.keywords), _surround(area, around))


def uncall(lines: Lines, area: Range) -> Edits | None:
    """``f()`` becomes ``f``; None when the call has arguments."""
    passage, call = expression_at(lines, area, alone=True) or (None, None)
    if passage is None or not isinstance(call, ast.Call) or call.args or call.keywords:
        return None
    replace_node(passage.tree, call, call.func)
    source = passage.text_of(area)
    kept = len(source[: source.rindex("(")].rstrip(" \t"))
    ways = [[Splice(kept, len(source), "")], [Splice(0, 0, "("), Splice(kept, len(source), ")")]]
    return confirmed(passage, (_edits(area.start, source, way) for way in ways))


def wrap_call(lines: Lines, area: Range, function: str) -> Edits | None:
    """``x`` becomes ``function(x)``."""
    called = expression(function)
    if called is None:
        return None
    around = [(f"{function}(", ")"), (f"{function}((", "))"), (f"({function}(", "))"), (f"({function}((", ")))")]
    return _reshape(lines, area, lambda node: ast.Call(called, [node], []), _surround(area, around))


def wrap_in_list(lines: Lines, area: Range) -> Edits | None:
    """``"a"`` becomes ``["a"]``."""
    around = [("[", "]"), ("[(", ")]"), ("([", "])")]
    return _reshape(lines, area, lambda node: ast.List([node], ast.Load()), _surround(area, around))


def remove_element(lines: Lines, element: Range) -> Edits | None:
    """Take an element out of the list, tuple or set literal around it; None for the only one of a set."""
    passage, node = expression_at(lines, element) or (None, None)
    for literal in ast.walk(passage.tree) if passage else ():
        if passage and node and isinstance(literal, (ast.List, ast.Tuple, ast.Set)) and node in literal.elts:
            area, place = passage.range_of(literal), literal.elts.index(node)
            found = items_of(literal, passage.text_of(area))
            del literal.elts[place]
            ways = list(items.removed(found, place)) if found else []
            if found and isinstance(literal, ast.Tuple) and len(literal.elts) == 1:
                ways = [[*way, Splice(found.close, found.close, ",")] for way in ways] + ways
            return confirmed(passage, (_edits(area.start, passage.text_of(area), way) for way in ways))
    return None


def wrap_results(lines: Lines, area: Range, function: str) -> Edits | None:
    """Wrap what a lambda or ``def`` returns in a call of ``function``; None when it returns nothing."""
    passage, node = function_at(lines, area) or (None, None)
    if passage is None or node is None:
        return None
    if isinstance(node, ast.Lambda):
        values = [node.body]
    else:
        returns = _index(passage).functions[node].returns
        values = [one.value for one, _ in returns if one.value is not None]
    found = [wrap_call(lines, passage.range_of(value), function) for value in values]
    edits = [edit for one in found if one for edit in one]
    return tuple(edits) if values and all(found) else None


def _reshape(
    lines: Lines, area: Range, build: Callable[[ast.expr], ast.expr], ways: Iterable[Iterable[Edit]]
) -> Edits | None:
    """The first of ``ways`` that turns the expression at ``area`` into what ``build`` makes of it."""
    passage, node = expression_at(lines, area, alone=True) or (None, None)
    if passage is None or node is None:
        return None
    replace_node(passage.tree, node, build(node))
    return confirmed(passage, ways)


def _surround(area: Range, pairs: Iterable[tuple[str, str]]) -> Iterator[list[Edit]]:
    for before, after in pairs:
        yield [Edit(Range(area.start, area.start), before), Edit(Range(area.end, area.end), after)]


def _edits(start: Position, source: str, splices: Iterable[Splice]) -> list[Edit]:
    """``splices`` of ``source``, which stands at ``start``, as edits of the file."""
    return [
        Edit(Range(moved(start, source, first), moved(start, source, end)), new_text)
        for first, end, new_text in splices
    ]


# -- arguments of a call ----------------------------------------------------------------------------------------------


class _Call(NamedTuple):
    """A call, its arguments in the order of the text, and where they stand."""

    passage: Passage
    area: Range
    node: ast.Call
    arguments: list[ast.expr | ast.keyword]
    items: Items

    def confirmed(self, ways: Iterable[list[Splice]]) -> Edits | None:
        return confirmed(self.passage, (_edits(self.area.start, self.items.source, way) for way in ways))

    def whichof(self, name: str) -> int | None:
        """Which argument is given as the keyword ``name``."""
        names = [argument.arg if isinstance(argument, ast.keyword) else None for argument in self.arguments]
        return names.index(name) if name in names else None


def _call_at(lines: Lines, area: Range) -> _Call | None:
    passage, node = expression_at(lines, area) or (None, None)
    if passage is None or not isinstance(node, ast.Call):
        return None
    found = items_of(node, passage.text_of(area))
    arguments: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    arguments.sort(key=lambda argument: (argument.lineno, argument.col_offset))
    if found is None or len(found.items) != len(arguments):
        return None
    return _Call(passage, area, node, arguments, found)


def add_keyword(lines: Lines, call: Range, name: str, value: str) -> Edits | None:
    """Give a call ``name=value`` as its last argument; None when it has ``name`` already."""
    at, new = _call_at(lines, call), expression(value)
    if at is None or new is None or at.whichof(name) is not None:
        return None
    at.node.keywords.append(ast.keyword(name, new))
    return at.confirmed(way for source in (value, f"({value})") for way in items.added(at.items, [f"{name}={source}"]))


def set_keyword(lines: Lines, call: Range, name: str, value: str) -> Edits | None:
    """Make ``name=value`` an argument of a call, in place of another value if it has one."""
    at, new = _call_at(lines, call), expression(value)
    if at is None or new is None:
        return None
    which = at.whichof(name)
    if which is None:
        return add_keyword(lines, call, name, value)
    item, keyword = at.items.items[which], at.arguments[which]
    head = _KEYWORD.match(at.items.source, item.start)
    if head is None or not isinstance(keyword, ast.keyword):
        return None
    keyword.value = new
    return at.confirmed([Splice(head.end(), item.end, source)] for source in (value, f"({value})"))


def rename_keyword(lines: Lines, call: Range, old: str, new: str) -> Edits | None:
    """``f(old=x)`` becomes ``f(new=x)``; None when it has ``new`` already."""
    at = _call_at(lines, call)
    which = at and at.whichof(old)
    if at is None or which is None or at.whichof(new) is not None:
        return None
    keyword, start = at.arguments[which], at.items.items[which].start
    assert isinstance(keyword, ast.keyword)
    keyword.arg = new
    return at.confirmed([[Splice(start, start + len(old), new)]])


def remove_keyword(lines: Lines, call: Range, name: str) -> Edits | None:
    """Take the keyword argument ``name`` out of a call."""
    at = _call_at(lines, call)
    which = at and at.whichof(name)
    return None if at is None or which is None else _remove(at, which)


def remove_argument(lines: Lines, call: Range, index: int) -> Edits | None:
    """Take the argument at ``index``, counted in the order of the text from 0, out of a call."""
    at = _call_at(lines, call)
    return None if at is None or not 0 <= index < len(at.arguments) else _remove(at, index)


def _remove(at: _Call, index: int) -> Edits | None:
    argument = at.arguments[index]
    if isinstance(argument, ast.keyword):
        at.node.keywords.remove(argument)
    else:
        at.node.args.remove(argument)
    return at.confirmed(items.removed(at.items, index))


def star_argument(lines: Lines, argument: Range) -> Edits | None:
    """``f(names)`` becomes ``f(*names)``."""
    found = _call_around(lines, argument)
    if found is None:
        return None
    at, index = found
    node, item = at.arguments[index], at.items.items[index]
    assert isinstance(node, ast.expr)
    replace_node(at.node, node, ast.Starred(node, ast.Load()))
    star = Splice(item.start, item.start, "*")
    return at.confirmed([[star], [star._replace(new_text="*("), Splice(item.end, item.end, ")")]])


def spread_argument(lines: Lines, literal: Range) -> Edits | None:
    """``f(["a", "b"])`` becomes ``f("a", "b")``: a list, tuple or set literal gives way to its elements."""
    found = _call_around(lines, literal)
    if found is None:
        return None
    at, index = found
    node = at.arguments[index]
    if not isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        return None
    inner = items_of(node, at.passage.text_of(literal))
    if inner is None:
        return None
    place = at.node.args.index(node)
    at.node.args[place : place + 1] = node.elts
    return at.confirmed(items.spread(at.items, index, inner))


def _call_around(lines: Lines, argument: Range) -> tuple[_Call, int] | None:
    """The call that has ``argument`` as a positional one, and which of its arguments that is."""
    passage, node = expression_at(lines, argument) or (None, None)
    if passage is None:
        return None
    for call in ast.walk(passage.tree):
        if isinstance(call, ast.Call) and any(one is node for one in call.args):
            at = _call_at(lines, passage.range_of(call))
            ranges = [at.passage.range_of(one) for one in at.arguments] if at else []
            return (at, ranges.index(argument)) if at and argument in ranges else None
    return None


# -- functions and statements -----------------------------------------------------------------------------------------


def add_parameters(lines: Lines, function: Range, star: str = "_", double_star: str = "__") -> Edits | None:
    """Make a lambda or ``def`` accept any further arguments: ``p`` becomes ``p, *_, **__``.

    What the signature has already stays; names that the function uses get further underscores.

    Args:
        star, double_star: names of the new parameters; "" for none of that kind.

    Returns:
        None also when the signature has all this.
    """
    passage, node = function_at(lines, function) or (None, None)
    if passage is None or node is None:
        return None
    source = passage.text_of(function)
    if not isinstance(node, ast.Lambda):
        source = passage.text_of(Range(function.start, passage.start_of(node.body[0]))) + "pass"
    found = items_of(node, source)
    if found is None:
        return None
    taken = {str(getattr(one, "id", getattr(one, "arg", ""))) for one in ast.walk(node)}
    signature = node.args
    before: list[list[Splice]] = [[]]
    behind = []
    if star and signature.vararg is None:
        name = _free(star, taken)
        if signature.kwonlyargs:
            lone = next(item for item in found.items if source[item.start : item.end] == "*")
            before = [[Splice(lone.end, lone.end, name)]]
        elif signature.kwarg:
            before = list(items.added_before(found, len(found.items) - 1, f"*{name}"))
        else:
            behind.append(f"*{name}")
        signature.vararg = ast.arg(name)
    if double_star and signature.kwarg is None:
        name = _free(double_star, taken)
        behind.append(f"**{name}")
        signature.kwarg = ast.arg(name)
    after = items.added(found, behind, lead=" " if isinstance(node, ast.Lambda) else "") if behind else [[]]
    if before == [[]] and not behind:
        return None
    return confirmed(passage, (_edits(function.start, source, [*one, *other]) for other in after for one in before))


def append_return(lines: Lines, function: Range, source: str = "return False") -> Edits | None:
    """End the body of a ``def`` with the statement ``source``, behind its last comments."""
    passage, node = function_at(lines, function) or (None, None)
    new = statement(source)
    if passage is None or node is None or isinstance(node, ast.Lambda) or new is None:
        return None
    start, end = passage.start_of(node.body[0]), passage.range_of(node.body[-1]).end
    node.body.append(new)
    ways = []
    indent = passage.line(start.line)[: start.column]
    if not indent.strip():
        last = _last_comment(passage, end.line, indent)
        at = Position(last, len(passage.line(last)))
        ways.append([Edit(Range(at, at), "\n" + indent.replace("\f", "") + source)])
    rest = passage.line(end.line)[end.column :]
    semicolon = len(rest) - len(rest.lstrip()) + 1 if rest.lstrip().startswith(";") else 0
    at = Position(end.line, end.column + semicolon)
    ways.append([Edit(Range(at, at), (" " if semicolon else "; ") + source)])
    return confirmed(passage, ways)


def _last_comment(passage: Passage, line: int, indent: str) -> int:
    """The line of the last comment below ``line`` that is indented like the body or deeper; else ``line``."""
    last = line
    for number in range(line + 1, passage.first + len(passage.lines)):
        content = passage.line(number)
        comment = content.lstrip()
        width = len(content[: len(content) - len(comment)].expandtabs())
        if comment and not (comment.startswith("#") and width >= len(indent.expandtabs())):
            break
        last = number if comment else last
    return last


def assign_result(lines: Lines, area: Range, target: str) -> Edits | None:
    """The expression statement ``f(x)`` becomes ``target = f(x)``.

    Returns:
        None also when ``target`` is a name that the function around only reads: assigning would hide the outer one.
    """
    passage, node = statement_at(lines, area) or (None, None)
    assignment = statement(f"{target} = _")
    if passage is None or not isinstance(node, ast.Expr) or not isinstance(assignment, ast.Assign):
        return None
    name = assignment.targets[0]
    if len(assignment.targets) != 1 or (isinstance(name, ast.Name) and not _may_assign(passage, node, name.id)):
        return None
    assignment.value = node.value
    replace_node(passage.tree, node, assignment)
    start = passage.range_of(node).start
    return confirmed(passage, [[Edit(Range(start, start), f"{target} = ")]])


def _may_assign(passage: Passage, place: ast.stmt, name: str) -> bool:
    """Whether assigning ``name`` at ``place`` changes no other use of it: no outer variable becomes hidden."""
    tree = _index(passage)
    for block in tree.block_of[place].enclosing():
        if isinstance(block.owner, ast.ClassDef):
            return True
        if isinstance(block.owner, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return name in tree.functions[block.owner].inner.bindings
    return True


def _index(passage: Passage) -> scopes.TreeIndex:
    return indexing.index(passage.tree.body, scopes.Scope("module", None, None, None))


def _free(name: str, taken: set[str]) -> str:
    """``name``, with underscores behind it until it is not in ``taken``; it is from now on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name
