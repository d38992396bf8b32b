"""What a file holds that somebody may look for by name: rematerialized functions, policies and named values.

Plain data, so that a project's files can be read once.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.aliases import words_for
from jaxpert.model.cursor import name_range
from jaxpert.model.decoded_policies import is_policy
from jaxpert.model.effect_places import function_name
from jaxpert.model.rematerialized import alive
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import ClassValue, Def
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import BindingKind
from jaxpert.syntax.string_literals import inside
from jaxpert.text.lines import Position, Range, slice_lines

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel
    from jaxpert.model.names import NameFacts


class OutlineKind(enum.Enum):
    """What an entry is."""

    FUNCTION = "rematerialized function"
    CLASS = "rematerialized class"
    POLICY_FUNCTION = "policy function"
    POLICY = "policy"
    NAME = "checkpoint name"


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """One thing in a file.

    Attributes:
        name: what to call it.
        range: all of it; ``selection``: the part to look at.
        path: the file it is in.
        container: the class around it, or "".
        is_ascii: whether nothing up to the end of ``selection`` needs a file's text to count its columns.
    """

    name: str
    kind: OutlineKind
    range: Range
    selection: Range
    path: str
    container: str = ""
    is_ascii: bool = False


def outline(model: FileModel, names: NameFacts | None = None) -> tuple[OutlineEntry, ...]:
    """The entries of a file, and of policies of the user's that only this file uses; in the order of the text.

    Args:
        names: the checkpoint names in the file, if they are known already.
    """
    if not model.concerns_jax:
        return ()
    names = model.name_facts if names is None else names
    found = [*_checkpointed(model), *_custom_policies(model), *_policies(model), *_names(model, names)]
    places = {(entry.path, entry.selection, entry.kind): entry for entry in reversed(found)}
    ordered = sorted(places.values(), key=lambda it: (it.path, it.range.start, it.kind.value))
    return tuple(sorted(ordered, key=lambda it: it.path != model.path))


def _entry(
    owner: FileModel, name: str, kind: OutlineKind, area: Range, selection: Range, container: str = ""
) -> OutlineEntry:
    first = Range(Position(selection.start.line, 0), selection.end)
    is_ascii = slice_lines(owner.source.lines, first).isascii()
    return OutlineEntry(name, kind, area, selection, owner.path, container, is_ascii)


def _checkpointed(model: FileModel) -> Iterator[OutlineEntry]:
    for checkpoint in alive(model):
        entry = _defined(model, checkpoint) or _wrapped(model, checkpoint)
        if entry is not None:
            yield entry


def _defined(model: FileModel, checkpoint: Checkpoint) -> OutlineEntry | None:
    """The function or class where it is defined, in whichever file; None for lambdas and what is not known."""
    target = checkpoint.target
    if isinstance(target, ClassValue):
        return _definition(target.model or model, target.node, OutlineKind.CLASS)
    if isinstance(target, Def) and not isinstance(target.function.node, ast.Lambda):
        container = target.owner.node.name if target.owner is not None else ""
        return _definition(target.model or model, target.function.node, OutlineKind.FUNCTION, container)
    return None


def _definition(
    owner: FileModel,
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    kind: OutlineKind,
    container: str = "",
) -> OutlineEntry | None:
    area = owner.source.range_between(node.decorator_list[0] if node.decorator_list else node, node)
    name = name_range(owner, node)
    if area is None or name is None:
        return None
    if node.decorator_list:  # its node begins behind the "@"
        at = owner.source.lines[area.start.line].rfind("@", 0, area.start.column)
        area = Range(Position(area.start.line, max(at, 0)), area.end)
    return _entry(owner, node.name, kind, area, name, container)


def _wrapped(model: FileModel, checkpoint: Checkpoint) -> OutlineEntry | None:
    """The wrapping itself, where the function is not seen."""
    area = model.range_of(checkpoint.node)
    if area is None:
        return None
    name = function_name(model, checkpoint)
    fun = checkpoint.role("fun")
    if name == "function" and fun is not None and isinstance(fun.node, (ast.Name, ast.Attribute)):
        name = fun.model.text_of(fun.node) or name
    return _entry(model, name, OutlineKind.FUNCTION, area, area)


def _custom_policies(model: FileModel) -> Iterator[OutlineEntry]:
    for policy in model.custom_policies:
        node = policy.value.function.node
        owner = policy.value.owner.node.name if policy.value.owner is not None else ""
        if not isinstance(node, ast.Lambda):
            entry = _definition(policy.model, node, OutlineKind.POLICY_FUNCTION, owner)
            if entry is not None:
                yield entry


def _policies(model: FileModel) -> Iterator[OutlineEntry]:
    """Policies of JAX, or made by it, that have a name in a module or class."""
    words = words_for(model, *model.db.words_about_policies)
    for tree in model.every_tree:
        for binding in tree.aliases:
            if binding.kind is not BindingKind.ASSIGN or binding.scope.kind not in ("module", "class"):
                continue
            value = binding.value
            callee = value.func if isinstance(value, ast.Call) else value
            word = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
            if value is None or word not in words or model.is_dead(binding.block):
                continue
            target = _target(binding.node, binding.name)
            area = model.source.range_between(binding.node, value)
            name = model.range_of(target) if target is not None else None
            if area is not None and name is not None:
                if is_policy(model, model.evaluate(value, binding.scope, binding.block)):
                    container = getattr(binding.scope.node, "name", "")
                    yield _entry(model, binding.name, OutlineKind.POLICY, area, name, container)


def _target(statement: ast.AST, name: str) -> ast.Name | None:
    """Where an assignment names what it binds."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", statement)]
    found = (node for target in targets for node in ast.walk(target) if isinstance(node, ast.Name) and node.id == name)
    return next(found, None)


def _names(model: FileModel, names: NameFacts) -> Iterator[OutlineEntry]:
    for tag in names.tags:
        spot = tag.argument
        area, written, path = (spot.range, spot.written, spot.path) if spot else (tag.range, tag.written, tag.path)
        if tag.text and area is not None and path == model.path:
            yield _entry(model, tag.text, OutlineKind.NAME, area, inside(area, written))
