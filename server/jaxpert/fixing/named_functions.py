"""Turns a lambda into a named function before the statement that it stands in."""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from jaxpert.fixing.passage import Passage, function_at, replace_node, same_tree, statement
from jaxpert.syntax import indexing, scopes
from jaxpert.syntax.logical_lines import find_comments
from jaxpert.syntax.parse import SyntaxProblem, parse
from jaxpert.syntax.scopes import Scope, TreeIndex
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Position, Range

Edits = tuple[Edit, ...]
Lines = Sequence[str]


def assigned_name(lines: Lines, area: Range) -> str:
    """The variable that the lambda at ``area`` is the whole value of; "" when it is more, or something else."""
    passage, node = function_at(lines, area) or (None, None)
    if passage is None or not isinstance(node, ast.Lambda):
        return ""
    holder = _Places(passage).holder(node)
    if isinstance(holder, ast.Assign) and holder.value is node and len(holder.targets) == 1:
        target = holder.targets[0]
        return target.id if isinstance(target, ast.Name) else ""
    return ""


def name_lambda(lines: Lines, area: Range, name: str) -> Edits | None:
    """The lambda becomes a function called ``name``, right before the statement around it.

    An assignment of nothing but the lambda to ``name`` becomes the function itself. A statement that does not begin
    its line, or stands in a class body, has the function before what is around it.

    Returns:
        None when a variable of the lambda cannot be seen from there, when its defaults would be computed at another
        time, or when a comment would be lost.
    """
    passage, node = function_at(lines, area) or (None, None)
    if passage is None or not isinstance(node, ast.Lambda):
        return None
    parts = _signature_and_body(passage.text_of(area))
    if parts is None:
        return None
    places = _Places(passage)
    holder = places.holder(node)
    new = statement(f"def {name}(): pass")
    assert isinstance(new, ast.FunctionDef)
    new.args, new.body = node.args, [ast.Return(node.body)]
    if assigned_name(lines, area) == name:
        return _as_statement(passage, holder, new, name, (*parts, _unit(lines)))
    where = places.where(node)
    if where is None:
        return None
    suite = places.suite_of(where)
    suite.insert(suite.index(where), new)
    replace_node(holder, node, ast.Name(name, ast.Load()))
    source = (name, *parts, _unit(lines), passage.line(area.start.line))
    insertion = _insertion(passage, where, source, is_first=suite.index(where) == 1)
    return _confirmed(passage, [insertion, Edit(area, name)])


def _as_statement(
    passage: Passage, holder: ast.stmt, new: ast.FunctionDef, name: str, parts: tuple[str, str, str]
) -> Edits | None:
    replace_node(passage.tree, holder, new)
    area = passage.range_of(holder)
    line = passage.line(area.start.line)
    indent = line[: area.start.column]
    if indent.strip() or passage.line(area.end.line)[area.end.column :].lstrip().startswith(";"):
        return None
    return _confirmed(passage, [Edit(area, _function(name, *parts, line, indent.replace("\f", "")).lstrip(" \t"))])


def _confirmed(passage: Passage, edits: list[Edit]) -> Edits | None:
    """The edits, if they make of the passage what its (changed) tree says and lose no comment; some may move."""
    text = passage.edited(sorted(edits))
    tree = parse(text)
    if isinstance(tree, SyntaxProblem) or not same_tree(tree, passage.tree):
        return None
    if _comments(text) != _comments("".join(passage.lines)):
        return None
    return tuple(Edit(edit.range, edit.new_text.replace("\n", passage.line_end)) for edit in sorted(edits))


# -- where it goes ----------------------------------------------------------------------------------------------------


class _Places:
    """What stands around the nodes of a passage."""

    def __init__(self, passage: Passage) -> None:
        self.passage = passage
        self.parents = {child: parent for parent in ast.walk(passage.tree) for child in ast.iter_child_nodes(parent)}
        self.tree: TreeIndex = indexing.index(passage.tree.body, Scope("module", None, None, None))

    def holder(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around ``node``, or ``node`` itself."""
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def suite_of(self, one: ast.stmt) -> list[ast.stmt]:
        """The statements among which ``one`` stands."""
        for _, value in ast.iter_fields(self.parents[one]):
            if isinstance(value, list) and one in value:
                return value
        raise AssertionError("every statement stands in a suite")

    def where(self, node: ast.Lambda) -> ast.stmt | None:
        """The statement before which a function can take the place of a lambda; None where there is none."""
        place = holder = self.holder(node)
        while (outer := self._outer(place)) is not None:
            place = outer
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        plain = all(isinstance(one, (ast.Name, ast.Constant)) for one in defaults)
        if defaults and (place is not holder or not plain or isinstance(holder, ast.While)):
            return None
        if any(isinstance(one, (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)) for one in ast.walk(node)):
            return None
        if defaults and any(isinstance(one, ast.NamedExpr) for one in ast.walk(holder)):
            return None
        return place if self._sees_the_same(node, place) else None

    def _outer(self, place: ast.stmt) -> ast.stmt | None:
        """The statement to go before instead of ``place``; None when ``place`` will do."""
        start = self.passage.start_of(place)
        line = self.passage.line(start.line)
        around = self.holder(self.parents[place]) if not isinstance(self.parents[place], ast.Module) else None
        if isinstance(around, ast.ClassDef) or line.startswith("elif", start.column):
            return around
        if line[: start.column].strip():
            suite = self.suite_of(place)
            index = suite.index(place)
            return suite[index - 1] if index else around
        return None

    def _sees_the_same(self, node: ast.Lambda, place: ast.stmt) -> bool:
        """Whether every free variable of the lambda is the same variable for a function before ``place``."""
        function = self.tree.functions[node]
        visible: list[Scope] = []
        scope: Scope | None = scopes.scope_of(self.tree.block_of[place])
        while scope is not None:
            visible.append(scope)
            scope = scope.parent
        in_class = any(isinstance(one, ast.ClassDef) for one in self._around(node))
        for name, start in self._free(node, function.inner):
            if in_class and name.startswith("__") and not name.endswith("__"):
                return False  # the class changes the name
            found = start.lookup(name)
            if found is not None and found[0] not in visible:
                return False
        return True

    def _free(self, node: ast.Lambda, inner: Scope) -> Iterator[tuple[str, Scope]]:
        """Names that the lambda reads, each with a scope to look it up from: outside for what it does not bind."""
        outside = inner.parent
        assert outside is not None
        bound = set(inner.bindings)
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id not in bound:
                # From inside a function the names of a class body around it are not seen.
                start = outside
                while start.kind == "class" and start.parent is not None and not self._is_default(node, part):
                    start = start.parent
                yield part.id, start
            elif isinstance(part, ast.arg) and part.arg.startswith("__"):
                yield part.arg, outside

    def _is_default(self, node: ast.Lambda, part: ast.Name) -> bool:
        defaults = [one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None]
        return any(part is one for default in defaults for one in ast.walk(default))

    def _around(self, node: ast.AST) -> Iterator[ast.AST]:
        while node in self.parents:
            node = self.parents[node]
            yield node


def _insertion(
    passage: Passage, place: ast.stmt, function: tuple[str, str, str, str, str], is_first: bool
) -> Edit:
    """The edit that adds the function before ``place`` and the comments that belong to it."""
    start = passage.start_of(place)
    indent = passage.line(start.line)[: start.column].replace("\f", "")
    line = start.line
    while line > passage.first:
        above = passage.line(line - 1)
        if not above.lstrip().startswith("#") or above[: len(above) - len(above.lstrip())] != indent:
            break
        line -= 1
    blank = 0
    while line - blank > passage.first and not passage.line(line - blank - 1).strip():
        blank += 1
    wanted = 1 if indent else 2
    at_top = line - blank <= passage.first and (passage.first == 0 or not indent)
    before = 0 if (indent and is_first) or (at_top and passage.first == 0) else max(0, wanted - blank)
    source = _function(*function, indent)
    begins = 1 if passage.line(line).startswith("\f") and line == 0 else 0
    at = Position(line, begins)
    return Edit(Range(at, at), "\n" * before + source + "\n" * (wanted + 1))


# -- how it is written ------------------------------------------------------------------------------------------------


def _signature_and_body(source: str) -> tuple[str, str] | None:
    """What stands before and behind the colon of a lambda."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(f"({source}\n)").readline))
    except (tokenize.TokenError, SyntaxError):
        return None
    lines = f"({source}\n)".split("\n")
    depth = lambdas = 0
    for token in tokens:
        if token.string in ("(", "[", "{"):
            depth += 1
        elif token.string in (")", "]", "}"):
            depth -= 1
        elif token.type == tokenize.NAME and token.string == "lambda" and depth == 1:
            lambdas += 1
        elif token.type == tokenize.OP and token.string == ":" and depth == 1:
            lambdas -= 1
            if not lambdas:
                offset = _offset(lines, token.start) - 1
                return source[len("lambda") : offset].strip(), source[offset + 1 :].strip()
    return None


def _function(name: str, signature: str, body: str, unit: str, old_line: str, indent: str) -> str:
    """The source of the function, its first line indented too."""
    if "\n" in body and not (body.startswith("(") and _closes_at_end(body)):
        body = f"({'  ' if body.startswith('#') else ''}{body})"
    old = _indent(old_line.replace("\f", ""))
    if '"""' not in body and "'''" not in body:
        first, *rest = body.split("\n")
        moved = (indent + unit + one.removeprefix(old) if one.startswith(old) else one for one in rest)
        body = "\n".join([first, *moved])
    return f"{indent}def {name}({signature}):\n{indent}{unit}return {body}"


def _closes_at_end(body: str) -> bool:
    """Whether the bracket that opens ``body`` closes at its end."""
    depth = 0
    for token in tokenize.generate_tokens(io.StringIO(body).readline):
        if token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
            if not depth:
                return _offset(body.split("\n"), token.end) == len(body)
    return False


def _offset(lines: list[str], place: tuple[int, int]) -> int:
    """How far into the text of ``lines`` a token's place is."""
    return sum(len(line) + 1 for line in lines[: place[0] - 1]) + place[1]


def _unit(lines: Lines) -> str:
    """What the file indents its blocks by; four blanks when it has none."""
    for header, line in pairwise(lines):
        outer, inner = _indent(header), _indent(line)
        if header.rstrip().endswith(":") and line.strip() and inner != outer and inner.startswith(outer):
            return inner[len(outer) :]
    return "    "


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _comments(text: str) -> Counter[str]:
    return Counter(comment.text for comment in find_comments(text))
