"""Facts of a project's files from one run to the next, each with all that it rests on.

The checkpoint names of a file rest on its text, on the JAX that it will meet, on the modules that it looked into and
on which of those it asked for are there. All that is kept with them, and compared before they are believed. Facts
of which that cannot be said are not kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxpert.model.names import NameFacts
from jaxpert.model.outline import OutlineEntry
from jaxpert.project.file_table import FileTable
from jaxpert.project.index_cache import IndexCache
from jaxpert.project.plain_records import BadRecord, from_plain, to_plain
from jaxpert.project.tracked_file import TrackedFile
from jaxpert.text.digest import digest


@dataclass(frozen=True, slots=True)
class Basis:
    """What facts rest on in one file.

    Attributes:
        itself: tells its path, its text, its module and the JAX that it meets from any other.
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
        rests_on: the basis in the file itself and in each that it looked into.
        names: None for a file that does not mention any.
    """

    rests_on: tuple[Basis, ...]
    names: NameFacts | None
    outline: tuple[OutlineEntry, ...]


class KeptFacts:
    """The facts of one project that are kept.

    Args:
        files: all files, and what they rest on.
        cache: where they are kept.
        jax_of: what tells the JAX that a file will meet, apart from what its own text sets.
    """

    def __init__(self, files: FileTable, cache: IndexCache, jax_of: Callable[[TrackedFile], tuple[str, ...]]) -> None:
        self._files = files
        self._cache = cache
        self._jax_of = jax_of

    def restore(self, file: TrackedFile) -> bool:
        """Let ``file``, which is on disk, know what is kept about it and still holds; whether that is anything."""
        itself = self._itself(file)
        found = self._cache.get(itself) if itself else None
        if found is None:
            return False
        try:
            kept = from_plain(Kept, found)
        except BadRecord:
            return False
        if not all(self._holds(basis) for basis in kept.rests_on):
            return False
        for basis in kept.rests_on:
            self._learn(basis)
        file.names, file.names_are_old, file.names_are_whole = kept.names, False, True
        file.outline = kept.outline
        return True

    def keep(self, file: TrackedFile) -> None:
        """Keep what is known about ``file``, which is on disk, unless something may be otherwise later."""
        self._files.epoch += 1
        self._files.check(file)  # forgets what was read before it changed
        itself = self._itself(file)
        if not itself or file.outline is None or not file.names_are_whole:
            return
        if file.names is not None and file.names_are_old:
            return
        rests_on = [self._basis(each) for each in self._files.reached_from(file)]
        known = tuple(basis for basis in rests_on if basis is not None)
        if len(known) == len(rests_on):
            self._cache.put(itself, to_plain(Kept(known, file.names, file.outline)))

    def save(self) -> None:
        """Write what is new."""
        self._cache.save()

    def _itself(self, file: TrackedFile) -> str:
        """What tells ``file``, as it is on disk, from any other; "" where it cannot be read."""
        content = file.content()
        if not content:
            return ""
        module = self._files.resolver.module_of(file.path)
        return digest(file.path, file.real, content, module.name, str(module.is_package), *self._jax_of(file))

    def _basis(self, file: TrackedFile) -> Basis | None:
        """What facts rest on in ``file``; None where that is a text that nobody saved."""
        itself = self._itself(file)
        if not itself or (file.is_open and not file.is_saved()):
            return None
        table = self._files.files
        return Basis(
            file.path,
            itself,
            file.bases,
            tuple((module, table[real].path if real else None) for module, (real, _) in file.looked_into.items()),
            tuple(file.asked_for.items()),
            tuple((table[real].path, says) for real, says in file.glanced_at.items()),
        )

    def _holds(self, basis: Basis) -> bool:
        file = self._files.file(basis.path)
        self._files.check(file)
        if file.bases != basis.bases or self._itself(file) != basis.itself:
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
