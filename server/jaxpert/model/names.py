"""Checkpoint names: where values are tagged, and which policies ask for which names.

The facts of a file are plain data, so that a project's files can be indexed once, kept by content, and sent
between processes. :class:`NameIndex` puts the files together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.aliases import last_word, words_for
from jaxpert.model.calls import Argument, bind, call_at
from jaxpert.model.spellings import Spellings, series
from jaxpert.model.values import CallResult, EnumMember, Pattern, Sequence, Table, Value, string
from jaxpert.records import dataclass
from jaxpert.syntax.children import walk
from jaxpert.syntax.expressions import compounds
from jaxpert.syntax.scopes import CallSite, Site, TreeIndex
from jaxpert.text.gaps import ANY, Parts, fits
from jaxpert.text.lines import Range, slice_lines

if TYPE_CHECKING:
    from jaxpert.model.calls import ApiCall
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True)
class Spot:
    """An expression of some file: where it stands, and how it is written there."""

    path: str
    range: Range
    written: str

    def holds(self, other: Spot) -> bool:
        """Whether ``other`` is a part of this."""
        return self.path == other.path and self.range.start <= other.range.start and other.range.end <= self.range.end


@dataclass(frozen=True, slots=True)
class NamePlace:
    """One place where a checkpoint name is written.

    Attributes:
        text: the name; "" when only a pattern, or nothing, is known.
        parts: what is known of it, for f-strings and the like; none when ``text`` is known;
            :data:`~jaxpert.text.gaps.ANY` when nothing is.
        range: the expression that gives the name (inside the quotes' literal where it stands in this file).
        path: the file of ``range``.
        role: "tag" (``checkpoint_name``), "use" (an argument of a policy, or compared by one), "hint" (a literal
            given to a ``…checkpoint_name=`` keyword, or returned to one by code that we do not follow).
        policy: for a use, the policy's name.
        written: the text at ``range``.
        argument: the argument of the call, where the name is written elsewhere: in a constant, a table, a tuple.
    """

    text: str
    parts: Parts
    range: Range | None
    path: str
    role: str
    policy: str = ""
    written: str = ""
    argument: Spot | None = None

    def may_be(self, name: str) -> bool:
        """Whether the name is, or can be, ``name``."""
        return self.text == name or (not self.text and fits(name, self.parts or ANY))


@dataclass(frozen=True)
class NameFacts:
    """All checkpoint names of one file.

    Attributes:
        compared: names that functions of the user's, shaped like a policy, look for in ``params["name"]``.
        is_whole: whether no name can be hidden in lines that do not parse.
    """

    tags: tuple[NamePlace, ...] = ()
    uses: tuple[NamePlace, ...] = ()
    hints: tuple[NamePlace, ...] = ()
    compared: tuple[NamePlace, ...] = ()
    is_whole: bool = True

    @cached_property
    def by_name(self) -> Mapping[str, tuple[NamePlace, ...]]:
        """The places of each known name."""
        found: dict[str, list[NamePlace]] = {}
        for place in (*self.tags, *self.hints, *self.uses, *self.compared):
            if place.text:
                found.setdefault(place.text, []).append(place)
        return {name: tuple(places) for name, places in found.items()}

    @cached_property
    def computed(self) -> tuple[NamePlace, ...]:
        """The places of names that are not known, or only in part."""
        return tuple(place for place in (*self.tags, *self.uses) if not place.text)

    @cached_property
    def computed_tags(self) -> frozenset[Parts]:
        """What is known of the tags among them."""
        return frozenset(place.parts or ANY for place in self.tags if not place.text)

    @cached_property
    def paths(self) -> frozenset[str]:
        """The files that the places lie in: constants may be written in others."""
        places = (*self.tags, *self.hints, *self.uses, *self.compared)
        arguments = (place.argument.path for place in places if place.argument is not None)
        return frozenset([*(place.path for place in places), *arguments])

    @property
    def is_empty(self) -> bool:
        """Whether the file has nothing to say about names."""
        return self.is_whole and not (self.tags or self.uses or self.hints or self.compared)


@dataclass(frozen=True, slots=True)
class NameIndex:
    """The names of all files of a project, by path."""

    files: Mapping[str, NameFacts] = field(default_factory=dict)
    _spellings: list[Spellings] = field(default_factory=list, init=False, repr=False, compare=False)

    def tags(self) -> Iterable[NamePlace]:
        """Every tag in the project."""
        for facts in self.files.values():
            yield from facts.tags

    def uses(self) -> Iterable[NamePlace]:
        """Every name that a policy asks for."""
        for facts in self.files.values():
            yield from facts.uses

    def named(self, names: Iterable[str]) -> Iterator[NamePlace]:
        """Every place of some names."""
        for facts in self.files.values():
            for name in names:
                yield from facts.by_name.get(name, ())

    def computed(self) -> Iterator[NamePlace]:
        """Every place of a name that is not known, or only in part."""
        for facts in self.files.values():
            yield from facts.computed

    def known(self) -> frozenset[str]:
        """All literal tags and hints."""
        places = [place for facts in self.files.values() for place in (*facts.tags, *facts.hints)]
        return frozenset(place.text for place in places if place.text)

    def may_be_tagged(self, name: str) -> bool:
        """Whether a tag has this name, or may have it at run time."""
        for facts in self.files.values():
            if any(place.role != "use" for place in facts.by_name.get(name, ())):
                return True
            if any(fits(name, parts) for parts in facts.computed_tags):
                return True
        return False

    def nearest(self, name: str, beside: Iterable[str] = ()) -> str | None:
        """The literal tag that ``name`` is probably a misspelling of.

        ``beside``: what the same policy asks for as well. One of these is not meant again, and who asks for some of
        ``q_proj``, ``k_proj``, … means each of them.
        """
        if not self._spellings:
            self._spellings.append(Spellings(sorted({place.text for place in self.tags() if place.text})))
        near = self._spellings[0].nearest(name)
        if near is None or near in beside:
            return None
        own = series(name)
        is_one_of_several = series(near) == own and any(series(it) == own for it in beside if it != name)
        return None if is_one_of_several else near


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """A name as found in a tree: a :class:`NamePlace` whose range is still a node, because lines move."""

    node: ast.AST
    owner: FileModel
    text: str
    parts: Parts
    role: str
    policy: str = ""
    argument: Argument | None = None

    def place(self) -> NamePlace:
        """Where it stands now."""
        spot, argument = _spot(self.owner, self.node), None
        if self.argument is not None and self.argument.node is not self.node:
            argument = _spot(self.argument.model, self.argument.node)
            if argument is not None and spot is not None and argument.holds(spot):
                argument = None
        area, written = (spot.range, spot.written) if spot is not None else (None, "")
        return NamePlace(self.text, self.parts, area, self.owner.path, self.role, self.policy, written, argument)


def _spot(owner: FileModel, node: ast.AST) -> Spot | None:
    area = owner.range_of(node)
    return None if area is None else Spot(owner.path, area, slice_lines(owner.source.lines, area))


def name_facts(model: FileModel) -> NameFacts:
    """Collect the names of one file."""
    places: dict[str, list[NamePlace]] = {"tag": [], "use": [], "hint": []}
    for tree in model.every_tree:
        for it in model.tree_fact(tree, "names", lambda t: _names_in(model, t)):
            places[it.role].append(it.place())
    tags, uses, hints = places["tag"], places["use"], places["hint"]
    compared = model.from_each_tree("names compared", compared_names) if model.concerns_jax else []
    places_compared = tuple(it.place() for it in compared)
    return NameFacts(tuple(tags), tuple(uses), tuple(hints), places_compared, model.source.is_current)


def _names_in(model: FileModel, tree: TreeIndex) -> list[_Written]:
    found: list[_Written] = []
    words = model.words_about_names
    for site in tree.calls:
        func = site.node.func
        word = last_word(func)
        is_partial = bool(site.node.args) and last_word(site.node.args[0]) in words
        if word in words or is_partial or (not word and _mentions(func, words)):
            for callee in model.evaluate(func, site.scope, site.block).options():
                call = call_at(model, site, callee)
                if call is not None:
                    found.extend(_said_by(model, call))
        for keyword in site.node.keywords:
            if keyword.arg and keyword.arg.endswith("checkpoint_name"):
                argument = Argument(keyword.value, site, model, keyword)
                found.extend(it for it in _written(model, argument, argument.value, "hint") if it.text)
    return found


def _mentions(node: ast.expr, words: frozenset[str]) -> bool:
    """Whether one of ``words`` stands in an expression, as a name, an attribute or a string."""
    parts = (part for part in walk(node) if isinstance(part, ast.expr))
    return any((part.value if isinstance(part, ast.Constant) else last_word(part)) in words for part in parts)


def asked_beside(model: FileModel, use: NamePlace) -> frozenset[str]:
    """The names that the policies which get theirs at ``use`` ask for, its own among them."""
    return frozenset(model.remembered("names asked together", lambda: _asked_together(model)).get(use, ()))


def _asked_together(model: FileModel) -> dict[NamePlace, set[str]]:
    """By each place of a name, what the policies that get it ask for."""
    found: dict[NamePlace, set[str]] = {}
    for tree in model.every_tree:
        by_call: dict[int, list[_Written]] = {}
        for it in model.tree_fact(tree, "names", lambda t: _names_in(model, t)):
            if it.role == "use" and it.argument is not None:
                by_call.setdefault(id(it.argument.site.node), []).append(it)
        for written in by_call.values():
            texts = {it.text for it in written if it.text}
            for it in written:
                found.setdefault(it.place(), set()).update(texts)
    return found


def words_about_names(model: FileModel) -> frozenset[str]:
    """What a call must end in to be about names: most calls of other files are passed over by it."""
    return words_for(model, *model.db.words_about_names)


def _said_by(model: FileModel, call: ApiCall) -> Iterable[_Written]:
    """The names in one call."""
    if call.api.kind is ApiKind.CHECKPOINT_NAME:
        argument = call.role("name")
        if argument is not None:
            yield from _written(model, argument, argument.value, "tag")
        elif call.opened or call.is_partial:
            yield _Written(call.node, model, "", ANY, "tag")
    elif call.api.kind is ApiKind.POLICY_FACTORY:
        yield from _used_by(model, call)


def _used_by(model: FileModel, call: ApiCall) -> Iterable[_Written]:
    """The names that a policy factory is given; some name or other where a star hides them."""
    if call.opened:
        yield from _starred(model, call)
    if "names_as_varargs" in call.api.traits:
        for argument in (*call.arguments.values(), *call.varargs):
            yield from _written(model, argument, argument.value, "use", call.api.name)
    if "names_as_collections" in call.api.traits:
        for role in ("names", "offloaded_names"):
            collection = call.role(role)
            for option in collection.value.options() if collection is not None else ():
                assert collection is not None
                for item in option.items if isinstance(option, Sequence) else ():
                    yield from _written(model, collection, item, "use", call.api.name)
                if not isinstance(option, Sequence) or not option.exact:
                    yield _Written(collection.node, collection.model, "", ANY, "use", call.api.name)


def _starred(model: FileModel, call: ApiCall) -> Iterable[_Written]:
    """The names behind the stars of a call of a policy factory, as far as they are known."""
    unknown = _Written(call.node, model, "", ANY, "use", call.api.name)
    stars = [argument for argument in call.node.args if isinstance(argument, ast.Starred)]
    if "names_as_varargs" not in call.api.traits or not stars or any(word.arg is None for word in call.node.keywords):
        yield unknown
        return
    for star in stars:
        argument = Argument(star.value, call.site, model)
        for option in argument.value.options():
            for item in option.items if isinstance(option, Sequence) else ():
                yield from _written(model, argument, item, "use", call.api.name)
            if not isinstance(option, Sequence) or not option.exact:
                yield unknown


def _written(model: FileModel, argument: Argument, value: Value, role: str, policy: str = "") -> Iterable[_Written]:
    """The names that one argument can give, each at the literal that spells it."""
    for option in value.options():
        node: ast.AST = argument.node
        owner = argument.model
        text = string(option)
        spelled = option.value if isinstance(option, EnumMember) else option
        if (
            spelled.site is not None
            and spelled.model is not None
            and isinstance(spelled.site.node, ast.Constant if text is not None else ast.JoinedStr)
        ):
            node, owner = spelled.site.node, spelled.model
        parts = () if text is not None else option.parts if isinstance(option, Pattern) else ANY
        yield _Written(node, owner, text or "", parts, role, policy, argument)


def _is_name_of_value(node: ast.expr, params: str) -> bool:
    """Whether ``node`` is ``params["name"]`` or ``params.get("name")``: in a policy, the checkpoint name."""
    if isinstance(node, ast.Subscript):
        base, key = node.value, node.slice
    elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        base, key = node.func.value, node.args[0]
    else:
        return False
    return isinstance(base, ast.Name) and base.id == params and isinstance(key, ast.Constant) and key.value == "name"


def compared_names(model: FileModel, tree: TreeIndex) -> list[_Written]:
    """The names that functions of the form ``(prim, *avals, **params)`` compare ``params["name"]`` with."""
    shaped = {
        function.inner: (arguments.kwarg.arg, getattr(function.node, "name", "lambda"))
        for function in tree.functions.values()
        if (arguments := function.node.args).vararg and arguments.kwarg and (arguments.args or arguments.posonlyargs)
    }
    if not shaped or "name" not in tree.mentions():
        return []
    found: list[_Written] = []
    for one in compounds(tree, ast.Compare):
        inside = one.scope.function()
        if inside not in shaped or not isinstance(one.node, ast.Compare):
            continue
        params, policy = shaped[inside]
        sides = [one.node.left, *one.node.comparators]
        if any(_is_name_of_value(side, params) for side in sides):
            for side in sides:
                argument = Argument(side, Site(side, one.scope, one.block), model)
                for option in argument.value.options():
                    items = option.items if isinstance(option, Sequence) else [option]
                    items = [key for key, _ in option.entries] if isinstance(option, Table) else items
                    for item in items:
                        found.extend(it for it in _written(model, argument, item, "use", policy) if it.text)
    return found


def names_saved_by(model: FileModel, policy: Value) -> frozenset[str]:
    """The names whose values a policy stores or offloads, as far as they are known; none for other policies."""
    api = model.db.api(policy.path) if isinstance(policy, CallResult) else None
    if not isinstance(policy, CallResult) or api is None or api.kind is not ApiKind.POLICY_FACTORY:
        return frozenset()
    if policy.site is None or "names_excluded" in api.traits:
        return frozenset()
    owner, where = policy.model or model, policy.site
    call = bind(owner, CallSite(policy.call, where.scope, where.block, ast.Expr(policy.call)), policy.callee)
    return frozenset(it.text for it in _used_by(owner, call) if it.text) if call is not None else frozenset()
