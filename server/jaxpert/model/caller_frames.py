"""What the parameters of a function are in the calls of it that stand in the same file, as values."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.aliases import last_word
from jaxpert.model.call_results import arguments_of, frame_of
from jaxpert.model.touched import is_touched
from jaxpert.model.values import UNKNOWN, Def, Frame, Value
from jaxpert.syntax.scopes import Block, CallSite, Function, TreeIndex

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_MOST_CALLS = 6


def frames_of_callers(model: FileModel, function: Function) -> Iterator[tuple[Frame, ast.Call]]:
    """The parameters of an undecorated ``function`` in each plain call of it that is not expected to fail."""
    name = getattr(function.node, "name", "")
    is_later = function.is_generator or isinstance(function.node, ast.AsyncFunctionDef)
    if not name or is_later or getattr(function.node, "decorator_list", None):
        return
    sites = [site for tree in model.every_tree for site in _calls_by_name(tree).get(name, ())]
    for site in sites if len(sites) <= _MOST_CALLS else ():
        if model.is_dead(site.block) or _may_fail(site.block):
            continue
        value = model.evaluate(site.node.func, site.scope, site.block)
        if not isinstance(value, Def) or value.function is not function:
            continue
        args, keywords = arguments_of(model.evaluator, site.node, site, {})
        if args is None:
            continue
        args = [_settled(model, node, site, given) for node, given in zip(site.node.args, args)]
        keywords = {
            str(one.arg): _settled(model, one.value, site, keywords[str(one.arg)]) for one in site.node.keywords
        }
        yield frame_of(model.evaluator, value, args, keywords), site.node


def _calls_by_name(tree: TreeIndex) -> dict[str, list[CallSite]]:
    kept = tree.facts.get("calls by name")
    if isinstance(kept, dict):
        return kept
    found: dict[str, list[CallSite]] = {}
    for site in tree.calls:
        found.setdefault(last_word(site.node.func), []).append(site)
    tree.facts["calls by name"] = found
    return found


def _settled(model: FileModel, node: ast.expr, site: CallSite, value: Value) -> Value:
    """The value of an argument, unless what the variable holds is changed somewhere."""
    return UNKNOWN if isinstance(node, ast.Name) and is_touched(model, node, site.scope) else value


def _may_fail(block: Block) -> bool:
    """Whether an exception at this place is caught, or expected by a test."""
    for around in block.enclosing():
        if isinstance(around.owner, ast.Try):
            return True
        if isinstance(around.owner, (ast.With, ast.AsyncWith)):
            names = (ast.unparse(item.context_expr).lower() for item in around.owner.items)
            if any("raises" in name or "suppress" in name for name in names):
                return True
    return False
