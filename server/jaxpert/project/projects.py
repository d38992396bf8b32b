"""The projects that the open files belong to: what is in their other files, as far as it matters to all.

A project is read in two rounds. The first looks at every file, as bytes; the second looks closer at those that say
something about rematerialization, and can take what was known in an earlier run.
"""

# ruff: noqa: PTH100, PTH110 (paths are strings here)

from __future__ import annotations

import ast
import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jaxpert.model.file_model import FileModel
from jaxpert.model.fuel import FUEL
from jaxpert.model.names import NameFacts, NamePlace
from jaxpert.project.file_table import FileTable
from jaxpert.project.index import IndexStep, ProjectIndex, is_about_names
from jaxpert.project.resolver import is_inside, is_too_wide
from jaxpert.project.switches import Switches
from jaxpert.project.tracked_file import TrackedFile
from jaxpert.text.decoding import UnreadableSource
from jaxpert.text.gaps import ANY

if TYPE_CHECKING:
    from jaxpert.model.outline import OutlineEntry
    from jaxpert.project.kept_facts import KeptFacts

_CHECKS_A_STEP = 200


class Reader(Protocol):
    """What reads files for a project."""

    def model_of(self, file: TrackedFile) -> FileModel:
        """Its model. May raise ``UnreadableSource``."""

    def outline_of(self, file: TrackedFile) -> tuple[OutlineEntry, ...]:
        """What there is to find by name in it."""

    def jax_around(self, file: TrackedFile) -> tuple[str, ...]:
        """What tells the JAX that it will meet, apart from what its own text sets."""

    def roots(self) -> Iterable[str]:
        """The folders that are the user's: those to work in, and the projects of the files that were named."""

    def forget_trees(self, file: TrackedFile) -> None:
        """Free the memory of a file that was read for what is remembered about it."""


class Projects:
    """Every project, by its root.

    Args:
        table: all files.
        reader: reads them.
        files_below: lists the files of a project.
        waits: whether a project is read when something about it is asked. Else somebody goes through :meth:`index`,
            and until then any name may be in it.
        cache_folder: where what is known about the project in a folder shall be kept; None for nowhere.
    """

    def __init__(
        self,
        table: FileTable,
        reader: Reader,
        files_below: Callable[[str], Iterable[str]],
        waits: bool,
        cache_folder: Callable[[Path], Path | None] | None = None,
    ) -> None:
        self._table = table
        self._reader = reader
        self._files_below = files_below
        self._waits = waits
        self._cache_folder = cache_folder
        self._indexes: dict[str, ProjectIndex] = {}

    def index_of(self, file: TrackedFile) -> ProjectIndex:
        """The index of the project that ``file`` belongs to."""
        root = self._table.resolver.project_root(file.path) or ""
        index = self._indexes.get(root)
        if index is None:
            index = self._indexes[root] = ProjectIndex(root, lambda: self._files_below(root))
        if not root and file.indexed is not index:
            index.update(file.path)
        file.indexed = index
        return index

    def switches_for(self, file: TrackedFile) -> Switches:
        """What the project of ``file`` sets, as far as it was read."""
        index = self.index_of(file)
        if self._waits and not index.complete:
            index.finish()
            index.switches = index.found_switches()
        return index.switches

    # -- what changes -----------------------------------------------------------------------------------------

    def forget(self) -> None:
        """There may be other projects, and other files in them."""
        self._indexes.clear()

    def changed(self, path: str) -> None:
        """The file at ``path`` was written, created or removed."""
        index = self._indexes.get(self._table.resolver.project_root(path) or "")
        if index is None:
            return
        if index.holds(path):
            index.update(path)
            self._notice_switches(index)
        elif index.root and os.path.exists(path):
            index.look_again()

    def look_again(self) -> None:
        """Any file may have been written, created or removed."""
        for index in self._indexes.values():
            if index.root:
                index.look_again()

    def give_up(self) -> None:
        """Nobody goes through :meth:`index` for now: any name may be in a project."""
        for index in self._indexes.values():
            index.give_up()

    def catch_up(self) -> None:
        """If this waits, read what is new in projects that were read before."""
        for index in self._indexes.values() if self._waits else ():
            if index.complete and index.outdated:
                index.finish()
                self._notice_switches(index)

    def _notice_switches(self, index: ProjectIndex) -> None:
        if index.complete and (found := index.found_switches()) != index.switches:
            index.switches = found
            self._table.settings_age += 1

    # -- reading ----------------------------------------------------------------------------------------------

    def index(self) -> Iterator[IndexStep]:
        """Read the projects of the open files, a little with each step. What was found counts from then on."""
        for index in {id(index): index for index in map(self.index_of, list(self._table.opened.values()))}.values():
            yield from index.steps()
            self._notice_switches(index)
            yield from self._look_closer(index)
            if not index.is_announced:
                index.is_announced = True
                yield IndexStep(len(index.files()), len(index.files()))

    def _look_closer(self, index: ProjectIndex) -> Iterator[IndexStep]:
        self._table.epoch += 1
        kept = self.kept_in(index)
        about_names = set(index.files_about_names())
        paths = index.files_about_checkpoints()
        for number, path in enumerate(paths, 1):
            file = self._table.file(path)
            self._table.check(file)
            lacks_names = path in about_names and (file.names is None or file.names_are_old)
            if file.is_open or (file.outline is not None and not lacks_names):
                if number % _CHECKS_A_STEP == 0:
                    yield IndexStep(number, len(paths), is_news=False)
                continue
            if kept is None or not kept.restore(file):
                if lacks_names:
                    self.names_of(file)
                    yield IndexStep(number, len(paths), is_news=False)
                    file.outline = None
                self._reader.outline_of(file)
                if kept is not None:
                    self._table.epoch += 1
                    self._table.check(file)  # forgets what was read before it changed
                    if file.outline is not None:
                        kept.keep(file)
                self._reader.forget_trees(file)
            yield IndexStep(number, len(paths))
        if kept is not None:
            kept.save()

    def kept_in(self, index: ProjectIndex) -> KeptFacts | None:
        """What is kept about a project; never in a folder of the user's.

        Who waits keeps findings too, in a place of their own, and also those about files that belong to no project.
        """
        make = self._cache_folder if index.root or self._waits else None
        folder = make(Path(index.root)) if make is not None else None
        if folder is None:
            index.kept = None
        elif index.kept is None:
            from jaxpert.project.index_cache import LARGEST_FINDINGS, IndexCache
            from jaxpert.project.kept_facts import KeptFacts

            place = os.path.realpath(folder) + os.sep
            # A home folder holds the cache by nature, and is no project.
            theirs = (root for root in {index.root, *self._reader.roots()} if not is_too_wide(root))
            if not any(is_inside(place, os.path.realpath(each)) for each in theirs):
                cache = IndexCache(folder, index.root)
                if self._waits:
                    named = f"findings in {index.root or os.path.abspath('')}"
                    cache = IndexCache(folder, named, LARGEST_FINDINGS)
                index.kept = KeptFacts(self._table, cache, self._reader.jax_around)
        return index.kept

    def take_kept(self) -> dict[str, dict[str, bytes]]:
        """What is new to be kept, by the root of the project."""
        return {root: index.kept.cache.take() for root, index in self._indexes.items() if index.kept is not None}

    def save_kept(self, taken: Iterable[Mapping[str, Mapping[str, bytes]]]) -> None:
        """Write what shall be kept, here and ``taken`` elsewhere."""
        for root, index in self._indexes.items():
            if index.kept is not None:
                for new in taken:
                    index.kept.cache.add(new.get(root, {}))
                index.kept.save()

    # -- what is in them --------------------------------------------------------------------------------------

    def files_of(self, file: TrackedFile) -> list[str]:
        """Every file of the project of ``file``, as far as it was read, and open ones."""
        index = self.index_of(file)
        opened = (other.path for other in self._table.opened.values() if self.index_of(other) is index)
        return list(dict.fromkeys([*index.files(), *opened]))

    def outlines(self) -> Iterator[OutlineEntry]:
        """What there is to find by name in the projects of the open files, as far as they were read."""
        self._table.epoch += 1
        listed: dict[str, TrackedFile] = {}
        for opened in list(self._table.opened.values()):
            listed[opened.real] = opened
            for path in self.index_of(opened).files_about_checkpoints():
                file = self._table.file(path)
                self._table.check_alone(file)
                if file.outline is not None or file.is_open:
                    listed[file.real] = file
        for file in listed.values():
            yield from self._reader.outline_of(file)

    def why_names_are_missing(self, file: TrackedFile) -> str:
        """Why names of the project of ``file`` may not be known; "" when all are."""
        index = self.index_of(file)
        if index.too_many:
            return "the project has too many files: names are not followed across them"
        if index.complete and None not in self._names_by_path(file).values():
            return ""
        return "the files of the project are not all read: try again when they are"

    def names_around(self, file: TrackedFile) -> dict[str, NameFacts]:
        """The checkpoint names in the other files of the project of ``file``."""
        index = self.index_of(file)
        by_path = self._names_by_path(file)
        found = {path: facts for path, facts in by_path.items() if facts is not None and not facts.is_empty}
        if not index.complete or index.too_many or None in by_path.values():  # there may be any name
            found[index.root] = NameFacts(tags=(NamePlace("", ANY, None, index.root, "tag"),))
        return found

    def _names_by_path(self, file: TrackedFile) -> dict[str, NameFacts | None]:
        """What each file around ``file`` says about names; None where that has yet to be read."""
        index = self.index_of(file)
        opened = {other.real for other in self._table.opened.values() if self.index_of(other) is index}
        together = None if index.root else self._belonging_together(index, opened | {file.real})
        around = {self._table.file(path).real for path in index.files_about_names()}
        around = opened | (around if together is None else around & together)
        found = {}
        for real in sorted(around - {file.real}):
            other = self._table.files[real]
            at_once = self._waits or other.is_open or not index.root
            # What rests on something that changed is good enough until :meth:`index` has read it again.
            found[other.path] = self.names_of(other) if at_once else other.names
        return found

    def names_of(self, file: TrackedFile) -> NameFacts:
        """The checkpoint names in a file; none in one that cannot be read."""
        self._table.check(file)
        if file.names is None or file.names_are_old:
            # Where somebody types, this is done ahead, as long as nobody waits.
            kept = self.kept_in(self.index_of(file)) if self._waits and not file.is_open else None
            if kept is not None and kept.restore(file):
                file.names = file.names or NameFacts()
                return file.names
            cuts = FUEL.cuts
            try:
                model = self._reader.model_of(file)
                mentioned = is_about_names(model.source.text.encode("utf-8", "replace"))
                file.names = model.name_facts if mentioned else NameFacts()
            except UnreadableSource:
                file.names = NameFacts()
            file.names_are_old = False
            file.names_are_whole = cuts == FUEL.cuts
            if kept is not None:
                kept.keep(file)
        return file.names

    def _belonging_together(self, index: ProjectIndex, files: set[str]) -> set[str]:
        """``files``, those that were given and belong to no project either, and all that these import."""
        may_change = self._table.opened or not self._waits
        if index.together is not None and files <= index.together and not may_change:
            return index.together
        together = files | {self._table.file(path).real for path in self._files_below("")}
        together |= self._imported_by([self._table.files[real] for real in together])
        index.together = None if may_change else together
        return together

    def _imported_by(self, files: Iterable[TrackedFile]) -> set[str]:
        """The files that ``files`` import, directly or through others."""
        reached: set[str] = set()
        waiting = list(files)
        while waiting:
            at = waiting.pop()
            with contextlib.suppress(UnreadableSource):
                for module in self._imports(at):
                    path = self._table.resolver.file_of(module, at.bases)
                    if path and (other := self._table.file(path)).real not in reached:
                        reached.add(other.real)
                        waiting.append(other)
        return reached

    def _imports(self, file: TrackedFile) -> list[str]:
        def find() -> list[str]:
            return list(_imports(self._reader.model_of(file)))

        self._table.check(file)
        kept = None if file.is_open or not self._waits else self.kept_in(self.index_of(file))
        return find() if kept is None else kept.imports(file, find)


def _imports(model: FileModel) -> Iterator[str]:
    """Every module that a file may import: of ``from a import b``, ``a`` and ``a.b``."""
    for tree in model.source.trees():
        for statement in tree.block_of:
            if isinstance(statement, ast.Import):
                yield from (alias.name for alias in statement.names)
            elif isinstance(statement, ast.ImportFrom):
                module = model.absolute(statement.module or "", statement.level)
                if module:
                    yield module
                    yield from (f"{module}.{alias.name}" for alias in statement.names)
