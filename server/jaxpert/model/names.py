"""Checkpoint names: where values are tagged, and which policies ask for which names.

The facts of a file are plain data, so that a project's files can be indexed once, kept by content, and sent
between processes. :class:`NameIndex` puts the files together.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.aliases import words_for
from jaxpert.model.calls import call_at
from jaxpert.model.values import Pattern, Sequence, Value, string
from jaxpert.syntax.scopes import TreeIndex
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.model.calls import ApiCall, Argument
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True)
class NamePlace:
    """One place where a checkpoint name is written.

    Attributes:
        text: the name; "" when only a pattern, or nothing, is known.
        regex: what all its values match, for f-strings and the like; "" when ``text`` is known; ".*" when nothing is.
        range: the expression that gives the name (inside the quotes' literal where it stands in this file).
        path: the file of ``range``.
        role: "tag" (``checkpoint_name``), "use" (an argument of a policy), "hint" (a literal given to a
            ``…checkpoint_name=`` keyword, or returned to one by code that we do not follow).
        policy: for a use, the policy's name.
    """

    text: str
    regex: str
    range: Range | None
    path: str
    role: str
    policy: str = ""


@dataclass(frozen=True, slots=True)
class NameFacts:
    """All checkpoint names of one file."""

    tags: tuple[NamePlace, ...] = ()
    uses: tuple[NamePlace, ...] = ()
    hints: tuple[NamePlace, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the file has nothing to say about names."""
        return not (self.tags or self.uses or self.hints)


@dataclass(frozen=True, slots=True)
class NameIndex:
    """The names of all files of a project, by path."""

    files: Mapping[str, NameFacts] = field(default_factory=dict)

    def tags(self) -> Iterable[NamePlace]:
        """Every tag in the project."""
        for facts in self.files.values():
            yield from facts.tags

    def uses(self) -> Iterable[NamePlace]:
        """Every name that a policy asks for."""
        for facts in self.files.values():
            yield from facts.uses

    def known(self) -> frozenset[str]:
        """All literal tags and hints."""
        places = [place for facts in self.files.values() for place in (*facts.tags, *facts.hints)]
        return frozenset(place.text for place in places if place.text)

    def may_be_tagged(self, name: str) -> bool:
        """Whether a tag has this name, or may have it at run time."""
        for facts in self.files.values():
            for place in (*facts.tags, *facts.hints):
                if place.text == name or (not place.text and re.fullmatch(place.regex or ".*", name, re.DOTALL)):
                    return True
        return False

    def nearest(self, name: str) -> str | None:
        """The literal tag that ``name`` is probably a misspelling of."""
        tagged = sorted({place.text for place in self.tags() if place.text})
        folded = re.sub(r"[^a-z0-9]", "", name.lower())
        for candidate in tagged:
            if re.sub(r"[^a-z0-9]", "", candidate.lower()) == folded:
                return candidate
        close = difflib.get_close_matches(name, tagged, n=1, cutoff=0.75)
        return close[0] if close else None


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """A name as found in a tree: a :class:`NamePlace` whose range is still a node, because lines move."""

    node: ast.AST
    owner: FileModel
    text: str
    regex: str
    role: str
    policy: str = ""


def name_facts(model: FileModel) -> NameFacts:
    """Collect the names of one file."""
    places: dict[str, list[NamePlace]] = {"tag": [], "use": [], "hint": []}
    for tree in model.every_tree:
        for it in model.tree_fact(tree, "names", lambda t: _names_in(model, t)):
            place = NamePlace(it.text, it.regex, it.owner.range_of(it.node), it.owner.path, it.role, it.policy)
            places[it.role].append(place)
    return NameFacts(tuple(places["tag"]), tuple(places["use"]), tuple(places["hint"]))


def _names_in(model: FileModel, tree: TreeIndex) -> list[_Written]:
    found: list[_Written] = []
    words = model.words_about_names
    for site in tree.calls:
        func = site.node.func
        word = func.attr if isinstance(func, ast.Attribute) else func.id if isinstance(func, ast.Name) else "partial"
        if word in words:
            for callee in model.evaluate(func, site.scope, site.block).options():
                call = call_at(model, site, callee)
                if call is not None:
                    found.extend(_said_by(model, call))
        for keyword in site.node.keywords:
            if keyword.arg and keyword.arg.endswith("checkpoint_name"):
                for option in model.evaluate(keyword.value, site.scope, site.block).options():
                    text = string(option)
                    if text is not None:
                        found.append(_Written(keyword.value, model, text, "", "hint"))
    return found


def words_about_names(model: FileModel) -> frozenset[str]:
    """What a call must end in to be about names: most calls of other files are passed over by it."""
    return words_for(model, "partial", *model.db.words_about_names)


def _said_by(model: FileModel, call: ApiCall) -> Iterable[_Written]:
    """The names in one call."""
    if call.api.kind is ApiKind.CHECKPOINT_NAME:
        argument = call.role("name")
        if argument is not None:
            yield from _written(model, argument, argument.value, "tag")
        elif call.opened or call.is_partial:
            yield _Written(call.node, model, "", ".*", "tag")
    elif call.api.kind is ApiKind.POLICY_FACTORY:
        yield from _used_by(model, call)


def _used_by(model: FileModel, call: ApiCall) -> Iterable[_Written]:
    """The names that a policy factory is given."""
    if "names_as_varargs" in call.api.traits:
        for argument in (*call.arguments.values(), *call.varargs):
            yield from _written(model, argument, argument.value, "use", call.api.name)
    if "names_as_collections" in call.api.traits:
        for role in ("names", "offloaded_names"):
            collection = call.role(role)
            for option in collection.value.options() if collection is not None else ():
                for item in option.items if isinstance(option, Sequence) else ():
                    assert collection is not None
                    yield from _written(model, collection, item, "use", call.api.name)


def _written(model: FileModel, argument: Argument, value: Value, role: str, policy: str = "") -> Iterable[_Written]:
    """The names that one argument can give, each at the literal that spells it."""
    for option in value.options():
        node: ast.AST = argument.node
        owner = argument.model
        text = string(option)
        if (
            text is not None
            and option.site is not None
            and option.model is not None
            and isinstance(option.site.node, ast.Constant)
        ):
            node, owner = option.site.node, option.model
        regex = "" if text is not None else option.regex if isinstance(option, Pattern) else ".*"
        yield _Written(node, owner, text or "", regex, role, policy)
