"""Facts of a project's files from one run to the next, each with all that it rests on.

What is known about a file rests on its text, on the JAX that it will meet, on the modules that it looked into and
on which of those it asked for are there. All that is kept with it, and compared before it is believed. Facts of which
that cannot be said are not kept. What other files say about checkpoint names counts for findings only, and is
compared with them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TypeVar

from jaxpert.model.names import NameFacts
from jaxpert.model.outline import OutlineEntry
from jaxpert.project.file_table import FileTable
from jaxpert.project.index_cache import IndexCache
from jaxpert.project.plain_records import BadRecord, from_plain, to_plain
from jaxpert.project.tracked_file import TrackedFile
from jaxpert.records import dataclass
from jaxpert.text.digest import digest

T = TypeVar("T")
_UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Basis:
    """What facts rest on in one file.

    Attributes:
        itself: tells its path, its text, its module and the JAX that it meets from any other, or that it is
            unreadable.
        bases: the folders that it imports from.
        looked_into: the modules that it learned from, with the path and the real path of each.
        asked_for: modules of which it asked whether they are there, and their paths.
        glanced_at: paths of files of which it asked whether they mention rematerialization, and the answers.
    """

    path: str
    itself: str
    bases: tuple[str, ...]
    looked_into: tuple[tuple[str, str | None], ...]
    asked_for: tuple[tuple[str, str | None], ...]
    glanced_at: tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept about one file.

    Attributes:
        rests_on: keys of the basis in the file itself and in each that it looked into: files share most of them.
        names: None for a file that does not mention any.
        outline: None where nobody asked for it.
    """

    rests_on: tuple[str, ...]
    names: NameFacts | None
    outline: tuple[OutlineEntry, ...] | None


@dataclass(frozen=True, slots=True)
class KeptResult:
    """What came out of looking at one file in one way.

    Attributes:
        rests_on: as of :class:`Kept`.
        names: tells the checkpoint names around the file from any others; "" where they were not asked for.
        text: the result, as its maker wrote it.
    """

    rests_on: tuple[str, ...]
    names: str
    text: str


@dataclass(slots=True)
class _Moment:
    """What holds while nothing changes: keys of bases that are what is on disk or not, and what tells a file."""

    epoch: int
    held: dict[str, bool] = field(default_factory=dict)
    selves: dict[tuple[str, str], str] = field(default_factory=dict)


class KeptFacts:
    """The facts of one project that are kept.

    Args:
        files: all files, and what they rest on.
        cache: where they are kept.
        jax_of: what tells the JAX that a file will meet, apart from what its own text sets.
    """

    def __init__(self, files: FileTable, cache: IndexCache, jax_of: Callable[[TrackedFile], tuple[str, ...]]) -> None:
        self.cache = cache
        self._files = files
        self._jax_of = jax_of
        self._now = _Moment(-1)
        self._digests: dict[int, tuple[NameFacts, str]] = {}
        self._keys: dict[str, tuple[tuple[int, ...], str]] = {}

    def restore(self, file: TrackedFile) -> bool:
        """Let ``file``, which is on disk, know what is kept about it and still holds; whether that is anything."""
        itself = self._itself(file)
        kept = self._get(Kept, itself) if itself else None
        if kept is None:
            return False
        rests_on = [basis for key in kept.rests_on if (basis := self._get(Basis, key)) is not None]
        if len(rests_on) < len(kept.rests_on) or not all(map(self._holds, rests_on)):
            return False
        for basis in rests_on:
            self._learn(basis)
        file.names, file.names_are_old, file.names_are_whole = kept.names, False, True
        file.outline = kept.outline
        return True

    def keep(self, file: TrackedFile) -> None:
        """Keep what is known about ``file``, which is on disk and up to date, unless it may be otherwise later."""
        itself = self._itself(file)
        if not itself or not file.names_are_whole or (file.names is not None and file.names_are_old):
            return
        rests_on = self._foundations(file)
        if rests_on is not None:
            self.cache.put(itself, to_plain(Kept(rests_on, file.names, file.outline)))

    def result(self, file: TrackedFile, asked: str, names: Callable[[], Mapping[str, NameFacts]]) -> str | None:
        """What was kept by :meth:`keep_result` for what is on disk now; None when there is nothing that still holds.

        Args:
            asked: the way of looking, and all that it depends on besides files.
            names: gives the checkpoint names around the file.
        """
        itself = self._itself(file)
        kept = self._get(KeptResult, digest(itself, asked)) if itself else None
        if kept is None or not self._all_hold(kept.rests_on):
            return None
        return kept.text if not kept.names or kept.names == self._digest_of(names()) else None

    def keep_result(self, file: TrackedFile, asked: str, text: str) -> None:
        """Keep what came out of looking at ``file``, which is on disk and up to date."""
        itself, rests_on = self._itself(file), self._foundations(file)
        if itself and rests_on is not None:
            names = "" if file.names_seen is None else self._digest_of(file.names_seen)
            self.cache.put(digest(itself, asked), to_plain(KeptResult(rests_on, names, text)))

    def imports(self, file: TrackedFile, find: Callable[[], list[str]]) -> list[str]:
        """What ``find`` says ``file`` imports, which rests on its own text alone."""
        key = digest("imports", self._itself(file))
        found = self.cache.get(key)
        if not isinstance(found, list):
            found = find()
            if file.content():
                self.cache.put(key, found)
        return list(map(str, found))

    def save(self) -> None:
        """Write what is new."""
        self.cache.save()

    def _get(self, kind: type[T], key: str) -> T | None:
        found = self.cache.get(key)
        try:
            return None if found is None else from_plain(kind, found)
        except BadRecord:
            return None

    def _itself(self, file: TrackedFile) -> str:
        """What tells ``file``, as it is on disk, from any other; "" where it cannot be read."""
        content = file.content()
        if not content:
            return ""
        key = file.real, content
        known = self._moment().selves.get(key)
        if known is None:
            module = self._files.resolver.module_of(file.path)
            known = digest(file.path, file.real, content, module.name, str(module.is_package), *self._jax_of(file))
            self._now.selves[key] = known
        return known

    def _digest_of(self, names: Mapping[str, NameFacts]) -> str:
        """What tells ``names`` from any others."""
        told = ["names"]
        for path, facts in sorted(names.items()):
            known = self._digests.get(id(facts))
            if known is None:
                known = self._digests[id(facts)] = facts, digest(json.dumps(to_plain(facts)))
            told += path, known[1]
        return digest(*told)

    def _foundations(self, file: TrackedFile) -> tuple[str, ...] | None:
        """The keys of all that facts about ``file`` rest on, kept; None where that includes an unsaved text."""
        keys = []
        for each in self._files.reached_from(file):
            # What it rests on is only added to, until its state changes.
            now = each.state, len(each.looked_into), len(each.asked_for), len(each.glanced_at)
            known = self._keys.get(each.real)
            if known is None or known[0] != now or each.is_open:
                basis = self._basis(each)
                if basis is None:
                    return None
                plain = to_plain(basis)
                known = self._keys[each.real] = now, digest("basis", json.dumps(plain))
                self.cache.put(known[1], plain)
            keys.append(known[1])
        return tuple(keys)

    def _basis(self, file: TrackedFile) -> Basis | None:
        """What facts rest on in ``file``; None where that is a text that nobody saved."""
        if file.is_open and not file.is_saved():
            return None
        table = self._files.files
        return Basis(
            file.path,
            self._itself(file) or _UNREADABLE,
            file.bases,
            tuple((module, table[real].path if real else None) for module, (real, _) in file.looked_into.items()),
            tuple(file.asked_for.items()),
            tuple((table[real].path, says) for real, says in file.glanced_at.items()),
        )

    def _all_hold(self, keys: Iterable[str]) -> bool:
        """Whether every basis is what is on disk."""
        held = self._moment().held
        for key in keys:
            if key not in held:
                basis = self._get(Basis, key)
                held[key] = basis is not None and self._holds(basis)
            if not held[key]:
                return False
        return True

    def _moment(self) -> _Moment:
        """What was found since something may have changed. Where a file is open, it may do so at any time."""
        if self._now.epoch != self._files.epoch or self._files.opened:
            self._now = _Moment(self._files.epoch)
        return self._now

    def _holds(self, basis: Basis) -> bool:
        try:
            file = self._files.file(basis.path)
        except ValueError:  # no path at all: somebody has written into the cache
            return False
        self._files.check(file)
        if file.bases != basis.bases or (self._itself(file) or _UNREADABLE) != basis.itself:
            return False
        resolver = self._files.resolver
        return (
            all(resolver.file_of(module, file.bases) == path for module, path in basis.asked_for)
            and all(self._files.real_of(module, file) == self._real(path) for module, path in basis.looked_into)
            and all(self._mentions(path) == says for path, says in basis.glanced_at)
        )

    def _learn(self, basis: Basis) -> None:
        """Note what facts rest on in one file, so that they are forgotten when that changes."""
        file = self._files.file(basis.path)
        for module, path in basis.looked_into:
            other = self._files.file(path) if path else None
            file.looked_into.setdefault(module, (other.real, other.state) if other else (None, 0))
        for module, path in basis.asked_for:
            file.asked_for.setdefault(module, path)
        for path, says in basis.glanced_at:
            file.glanced_at.setdefault(self._files.file(path).real, says)

    def _mentions(self, path: str) -> bool:
        file = self._files.file(path)
        self._files.check_alone(file)
        return file.mentions_rematerialization()

    def _real(self, path: str | None) -> str | None:
        return self._files.file(path).real if path else None
