"""What the last full examination of a file found, for as long as nothing it rests on changes.

While the user types, rules are asked about the statements that changed and nothing else; the other findings of before
stand, only their lines may have moved. What a change means for code elsewhere in the file is seen by the next full
examination: a pause in typing brings one, and so does a doubt.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from jaxpert.model.file_model import FileModel
from jaxpert.model.fuel import FUEL
from jaxpert.records import dataclass
from jaxpert.rulekit.rule import Finding
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.syntax.scopes import TreeIndex

_MARK = "examined"
_STEPS_IN_HASTE = 100
"""What a question may cost between two keystrokes; in a pause it is asked again and may cost more."""


@dataclass(frozen=True, slots=True)
class _Anchored:
    """A finding and, for each of its places in this file, the tree there and how far below its start it is."""

    finding: Finding
    anchors: tuple[tuple[TreeIndex, int], ...]


@dataclass(slots=True, eq=False)
class _Examination:
    """One run of all rules over a file, brought up to date by looks at what changed since.

    Attributes:
        state: what must be the same besides the trees.
        names: the checkpoint names of the other files, if a rule asked for them.
        basis: the trees that facts about other trees came out of.
        own_basis: those of this file among them.
        findings: what was found.
    """

    state: tuple[object, ...]
    names: dict[str, object] | None
    basis: frozenset[TreeIndex]
    own_basis: frozenset[TreeIndex]
    findings: list[_Anchored]


_LAST: WeakKeyDictionary[FileModel, _Examination] = WeakKeyDictionary()


def remember(model: FileModel, rules: Collection[str], findings: Iterable[Finding]) -> None:
    """Note what ``rules`` have just found in the file of ``model``."""
    asked = "project_names" in model.__dict__ and model.names is not None
    basis = frozenset(other for tree in model.every_tree for other in _others(model, tree))
    examination = _Examination(
        _state(model, rules),
        dict(model.names.files) if asked and model.names is not None else None,
        basis,
        basis.intersection(model.every_tree),
        [_anchored(model, finding) for finding in findings],
    )
    for tree in model.every_tree:
        tree.facts[_MARK] = examination
    _LAST[model] = examination


def standing(
    model: FileModel, rules: Collection[str], examine: Callable[[], list[Finding]]
) -> list[Finding] | None:
    """What ``rules`` find in the file of ``model`` as it is now; None when only a full examination can tell.

    Args:
        examine: asks the rules about the trees in focus.
    """
    last = _LAST.get(model)
    if last is None or last.state != _state(model, rules):
        return None
    if not all(tree.alive for tree in last.basis) or not all(_MARK in tree.facts for tree in last.own_basis):
        return None
    if last.names is not None and model.names is not None and last.names != dict(model.names.files):
        return None
    new = [tree for tree in model.every_tree if tree.facts.get(_MARK) is not last]
    left = [one for one in last.findings if one.anchors[0][0].facts.get(_MARK) is last and one.anchors[0][0].alive]
    if not all(tree.alive for one in left for tree, _ in one.anchors):
        return None
    found = [moved for one in left if (moved := _where_now(one)) is not None]
    if new:
        with model.focus(new), FUEL.at_most(_STEPS_IN_HASTE):
            more = examine()
        gone = Counter(one.finding.rule for one in last.findings) - Counter(one.finding.rule for one in left)
        if gone - Counter(finding.rule for finding in more):
            return None  # mended, or found by a look at other code
        for tree in new:
            tree.facts[_MARK] = last
        known = {(finding.rule, finding.range) for finding in found}
        more = [finding for finding in more if (finding.rule, finding.range) not in known]
        last.findings = [*left, *(_anchored(model, finding) for finding in more)]
        found += more
    return found


def _state(model: FileModel, rules: Collection[str]) -> tuple[object, ...]:
    source = model.source
    names = model.replaced_attributes, model.words_about_names
    return source.environment, model.generation, model.db, model.path, *names, frozenset(rules)


def _others(model: FileModel, tree: TreeIndex) -> Iterable[TreeIndex]:
    """The other trees that the facts about ``tree`` came out of."""
    for fact in tree.facts.values():
        if isinstance(fact, tuple) and (fact[0] is model.token or fact[0] is model.token_in_haste):
            yield from (other for other in fact[1] if other is not tree)


def _anchored(model: FileModel, finding: Finding) -> _Anchored:
    anchors = []
    for area in (finding.range, *(place.range for place in finding.related if not place.path)):
        trees = model.source.unit_at(area.start.line).trees
        found = ((tree, line) for tree in trees if (line := tree.line_then(area.start.line)) is not None)
        anchors.append(next(found, (trees[0], -1)))
    return _Anchored(finding, tuple(anchors))


def _where_now(one: _Anchored) -> Finding | None:
    """The finding with its places as they are now; None when lines of one have been edited."""
    moved: list[Range] = []
    finding = one.finding
    areas = [finding.range, *(place.range for place in finding.related if not place.path)]
    for area, (tree, below) in zip(areas, one.anchors):
        start, end = tree.line_now(below), tree.line_now(below + area.end.line - area.start.line)
        if below < 0 or start is None or end is None:
            return None
        moved.append(Range(Position(start, area.start.column), Position(end, area.end.column)))
    if moved == areas:
        return finding
    rest = iter(moved[1:])
    related = tuple(place if place.path else replace(place, range=next(rest)) for place in finding.related)
    return replace(finding, range=moved[0], related=related)
