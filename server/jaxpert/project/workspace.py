"""All files that the user works on, open or on disk: the way from a path to what is known about it.

A file is read when it is first asked for, and again when it changed on disk. What is known about it stays known
until its own text changes or a module that it looked into does: every file has a ``state`` that counts this, and
remembers the states of the modules that it looked into. A file that nobody imports changes nothing for others.

Not thread-safe: one thread asks and edits. Inside, files are absolute strings, which compare quickly; a ``real``
path has no links in it and identifies the file.
"""

# ruff: noqa: PTH100, PTH110, PTH119, PTH120

from __future__ import annotations

import ast
import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from jaxpert.jaxdb.load import JaxDb, load
from jaxpert.model.file_model import FileModel
from jaxpert.model.names import NameFacts, NameIndex, NamePlace
from jaxpert.project.config import ConfigProblem, Options
from jaxpert.project.discovery import SUFFIXES, find_files
from jaxpert.project.index import NAME_MARKERS, ProjectIndex
from jaxpert.project.resolver import Resolver
from jaxpert.project.settings import FolderSettings, Overrides, Settings
from jaxpert.project.switches import Switches, switches_of_source
from jaxpert.project.tracked_file import TrackedFile, stamp_of
from jaxpert.rulekit.rule import Rule
from jaxpert.syntax.notebook import NotebookMap
from jaxpert.syntax.units import SourceFile
from jaxpert.text.decoding import SourceText, UnreadableSource
from jaxpert.text.lines import Range

__all__ = ["Overrides", "Snapshot", "Workspace"]



@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One file as it is now. Valid until the next change of the workspace.

    Attributes:
        path: as it was asked for.
        source: the text and its trees; of a notebook, the joined text of its Python cells.
        model: the facts about it.
        options: the user's options for it.
        problems: mistakes in the configuration that they come from.
        notebook: the map of the cells; None for a file that is no notebook.
        on_disk: the file's content as it was read; None for an open buffer.
        known_rules: name -> code of every rule there is.
        enabled_rules: names of the rules that run on it.
    """

    path: Path
    source: SourceFile
    model: FileModel
    options: Options
    problems: tuple[ConfigProblem, ...]
    notebook: NotebookMap | None
    on_disk: SourceText | None
    known_rules: Mapping[str, str]
    enabled_rules: frozenset[str]

    @property
    def text(self) -> str:
        """The text that is analysed."""
        return self.source.text

    def enabled(self, rule: Rule) -> bool:
        """Whether ``rule`` runs on this file."""
        return rule.name in self.enabled_rules


class Workspace:
    """The user's files.

    Args:
        roots: the folders that the user works in; may be empty.
        known_rules: name -> code of every rule there is.
        overrides: what is set by hand, for all folders or by folder.
        files: the files that are going to be asked for, where that is known beforehand. Those that belong to no
            project then form one, together with what they import; else each root is one.
        wait_for_index: whether the first snapshot reads the whole project first. Else somebody must go through
            :meth:`index`, and until then no checkpoint name counts as missing.
        lines_kept: of how many lines, in files that are not open, the trees stay in memory (about 2 KB a line).
    """

    def __init__(
        self,
        roots: Iterable[Path],
        known_rules: Mapping[str, str],
        overrides: Overrides | Callable[[Path], Overrides] | None = None,
        *,
        files: Iterable[Path] = (),
        wait_for_index: bool = True,
        lines_kept: int = 30_000,
    ) -> None:
        self.known_rules = known_rules
        self._settings = Settings(known_rules, overrides or Overrides())
        self._wait_for_index = wait_for_index
        self._lines_kept = lines_kept
        self._releases_trees = False
        self._given = [os.path.abspath(path) for path in files]
        self._resolver = self._resolver_of(roots)
        self._files: dict[str, TrackedFile] = {}
        self._open: dict[str, TrackedFile] = {}
        self._real_paths: dict[str, str] = {}
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._indexes: dict[str, ProjectIndex] = {}
        # Counters: snapshots taken; changes of which files there are; changes of settings.
        self._epoch = 0
        self._layout = 0
        self._settings_age = 0

    # -- what changes -----------------------------------------------------------------------------------------

    def open(self, path: Path, text: str = "", *, notebook: NotebookMap | None = None) -> None:
        """The content of the file at ``path`` is now ``text``, or the cells of ``notebook``, whatever is on disk.

        A notebook that is open already is edited only where its text differs.
        """
        file = self._file(path)
        if notebook is not None and file.is_open and file.notebook is not None and file.source is not None:
            file.source.replace(notebook.text)
        else:
            file.forget()
            file.source = SourceFile(text if notebook is None else notebook.text)
        file.notebook = notebook
        file.touch()
        self._kept.pop(file.real, None)
        file.is_open = True
        self._open[file.real] = file
        self._came_or_went(file.path)

    def edit(self, path: Path, area: Range, new_text: str) -> None:
        """Replace ``area`` of an open file.

        Raises:
            KeyError: it is not open.
        """
        self.source(path).edit(area, new_text)
        self._file(path).touch()

    def replace(self, path: Path, text: str) -> None:
        """Make ``text`` the whole content of an open file, keeping what is known about the parts that stay.

        Raises:
            KeyError: it is not open.
        """
        self.source(path).replace(text)
        self._file(path).touch()

    def source(self, path: Path) -> SourceFile:
        """The text of an open file, to look at; change it through the workspace.

        Raises:
            KeyError: it is not open.
        """
        file = self._file(path)
        if not file.is_open or file.source is None:
            raise KeyError(str(path))
        return file.source

    def close(self, path: Path) -> None:
        """The file at ``path`` is again what is on disk, if anything."""
        file = self._file(path)
        if file.is_open:
            file.is_open = False
            del self._open[file.real]
            file.forget()
            file.touch()
            self._came_or_went(file.path)
            self._index_again(file.path)

    def files_changed(self, paths: Iterable[Path] | None = None) -> None:
        """Files on disk were written, created or removed; None when it is not known which.

        Anything that is no source file counts as configuration.
        """
        changed = None if paths is None else [os.path.abspath(path) for path in paths]
        self._real_paths.clear()
        if changed is None or not all(path.endswith(SUFFIXES) for path in changed):
            self._resolver.forget()
            self._layout += 1
            self._indexes.clear()
            self.settings_changed()
            return
        for path in changed:
            self._came_or_went(path)
            self._index_again(path)

    def settings_changed(self) -> None:
        """What is set by hand, the configuration, or what is installed is no longer the same."""
        self._settings_age += 1
        self._settings.forget()

    def set_roots(self, roots: Iterable[Path]) -> None:
        """The user works in other folders now."""
        self._resolver = self._resolver_of(roots)
        self._resolver.set_open(file.path for file in self._open.values())
        self._layout += 1
        self._indexes.clear()
        self.settings_changed()

    def index(self) -> Iterator[None]:
        """Read the projects of the open files, a little with each step. What was found counts from the end on."""
        for file in list(self._open.values()):
            index = self._index_of(file)
            if not index.complete:
                yield from index.steps()
                self._settings_age += 1  # switches may have been found
                self._epoch += 1
                for path in index.files_about_names():
                    other = self._file(path)
                    self._name_facts(other)
                    if not (other.is_open or other.is_shared):
                        self._kept.pop(other.real, None)
                        other.free_trees()
                    yield

    # -- what is known ----------------------------------------------------------------------------------------

    def snapshot(self, path: Path) -> Snapshot:
        """What is known about the file at ``path``.

        Raises:
            UnreadableSource: it is not open, and cannot be read or is no notebook although its name says so.
        """
        self._epoch += 1
        for opened in self._open.values():
            if opened.source is not None and opened.environment != opened.source.environment:
                opened.touch()  # it was reconciled
        file = self._file(path)
        settings = self._folder_settings(os.path.dirname(file.path), again=True)
        model = self._model(file)
        if file.names_seen is not None and self._names_around(file) != file.names_seen:
            file.outdate_model()
            model = self._model(file)
        return Snapshot(
            path,
            model.source,
            model,
            settings.options,
            settings.problems,
            file.notebook,
            file.on_disk,
            self.known_rules,
            settings.options.enabled_rules(Path(file.path), self.known_rules),
        )

    def mentions_jax(self, path: Path) -> bool:
        """Whether the file at ``path`` mentions JAX or a library around it; if not, no rule has anything to say.

        Far cheaper than a snapshot, which parses.

        Raises:
            UnreadableSource: it is not open and cannot be read.
        """
        file = self._file(path)
        if file.is_open and file.source is not None:
            text = file.source.text
        else:
            self._epoch += 1
            self._check_alone(file)
            text = file.read().text
        return any(marker in text for marker in JaxDb.markers)

    def options_for(self, folder: Path) -> Options:
        """The options that hold in ``folder``, as ``find_files`` asks for them."""
        return self._folder_settings(os.path.abspath(folder), again=True).options

    def _resolver_of(self, roots: Iterable[Path]) -> Resolver:
        # Where files were named, a folder that nothing marks as a project is just where they happen to lie.
        return Resolver(map(os.path.abspath, roots), are_projects=not self._given)

    # -- files ------------------------------------------------------------------------------------------------

    def _file(self, path: str | Path) -> TrackedFile:
        name = os.path.abspath(path)
        real = self._real_paths.get(name)
        if real is None:
            real = self._real_paths[name] = os.path.realpath(name)
        file = self._files.get(real)
        if file is None:
            file = self._files[real] = TrackedFile(name, real)
        return file

    def _came_or_went(self, path: str) -> None:
        """Note whether there is now a file at ``path``, if that is news."""
        exists = os.path.realpath(path) in self._open or os.path.exists(path)
        if self._resolver.holds(os.path.dirname(path), os.path.basename(path)) != exists:
            self._resolver.set_open(file.path for file in self._open.values())
            self._layout += 1

    def _load(self, file: TrackedFile) -> SourceFile:
        source = file.parse()
        if not file.is_open:
            self._keep(file, len(source.lines))
        return source

    def _keep(self, file: TrackedFile, lines: int) -> None:
        """Note that ``file`` was just asked for, and forget files that are not open and were not for a long time."""
        self._kept[file.real] = lines
        self._kept.move_to_end(file.real)
        if not self._releases_trees:
            self._forget_oldest()

    def release_trees(self) -> None:
        """Free, at once, the trees that are too many. Nothing of any earlier snapshot may be used any more.

        A workspace on which this was called leaves them alone in between.
        """
        self._releases_trees = True
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        total = sum(self._kept.values())
        while total > self._lines_kept and len(self._kept) > 1:
            real, count = self._kept.popitem(last=False)
            file = self._files[real]
            if self._releases_trees:
                file.dismantle()
            else:
                file.drop_trees()
            total -= count

    # -- models -----------------------------------------------------------------------------------------------

    def _model(self, file: TrackedFile) -> FileModel:
        """The model of ``file``, a new one if anything that it may rest on has changed."""
        self._check(file)
        source = self._load(file)
        if file.model is None:
            db = self._db(file, source)
            names = NameIndex(_Lazily(lambda: self._names_for(file)))
            name = self._resolver.module_of(file.path)
            if file.outdated is not None and (file.outdated.source, file.outdated.module) == (source, name.name):
                file.model = file.outdated.renewed(db, names, file.generation)
            else:
                file.model = FileModel(
                    source,
                    db,
                    path=file.path,
                    module=name.name,
                    is_package=name.is_package,
                    lookup=lambda module: self._look_up(module, file),
                    is_module=lambda module: self._resolver.file_of(module, file.bases) is not None,
                    may_wrap=lambda module: self._may_wrap(module, file),
                    names=names,
                    generation=file.generation,
                )
            file.outdated = None
            file.names_seen = None
        return file.model

    def _check(self, file: TrackedFile) -> None:
        """Forget what is known about ``file`` if that is out of date; at most once in a snapshot."""
        if file.checked == self._epoch:
            return
        self._check_alone(file)
        if not self._rests_on_what_is(file):
            file.generation += 1
            file.looked_into.clear()
            file.glanced_at.clear()
            file.touch()
            file.bases = self._resolver.bases_of(file.path)
            file.layout = self._layout
        file.checked = self._epoch

    def _check_alone(self, file: TrackedFile) -> None:
        """As :meth:`_check`, without a look at other files."""
        if not file.is_open and file.stamped != self._epoch:
            file.stamped = self._epoch
            if (stamp := stamp_of(file.real)) != file.stamp:
                file.forget()
                file.touch()
                file.stamp = stamp
        if file.settings != self._settings_age:
            file.settings = self._settings_age
            file.touch()

    def _rests_on_what_is(self, file: TrackedFile) -> bool:
        """Whether all modules that ``file`` looked into, and those that these looked into, are as they were."""
        reached = {file.real: file}
        waiting = [file]
        while waiting:
            at = waiting.pop()
            if at.layout != self._layout:
                if at.bases != self._resolver.bases_of(at.path):
                    return False
                for module, (real, _) in at.looked_into.items():
                    path = self._resolver.file_of(module, at.bases)
                    if (self._file(path).real if path else None) != real:
                        return False
                at.layout = self._layout
            for real, says in at.glanced_at.items():
                glanced_at = self._files[real]
                self._check_alone(glanced_at)
                if glanced_at.mentions_rematerialization() != says:
                    return False
            for real, state in at.looked_into.values():
                if real is None:
                    continue
                other = self._files[real]
                self._check_alone(other)
                if other.state != state:
                    return False
                if real not in reached:
                    reached[real] = other
                    waiting.append(other)
        for each in reached.values():
            each.checked = self._epoch
        return True

    def _may_wrap(self, module: str, for_file: TrackedFile) -> bool:
        """Whether a module says anything about rematerialization; a package may pass on what its modules say."""
        path = self._resolver.file_of(module, for_file.bases)
        if path is None:
            return False
        other = self._file(path)
        self._check_alone(other)
        for_file.glanced_at[other.real] = says = other.mentions_rematerialization()
        return says or path.endswith("__init__.py")

    def _look_up(self, module: str, for_file: TrackedFile) -> FileModel | None:
        path = self._resolver.file_of(module, for_file.bases)
        if path is None:
            for_file.looked_into[module] = None, 0
            return None
        other = self._file(path)
        other.is_shared = True
        try:
            model = self._model(other)
        except UnreadableSource:
            model = None
        for_file.looked_into[module] = other.real, other.state
        return model

    # -- settings ---------------------------------------------------------------------------------------------

    def _folder_settings(self, folder: str, again: bool = False) -> FolderSettings:
        """The settings of ``folder``; ``again``: look whether the files that they come from changed."""
        found, is_news = self._settings.of(folder, again)
        if is_news:
            self.settings_changed()
            self._indexes.clear()  # what is excluded may be something else
            found, _ = self._settings.of(folder, again)
        return found

    def _db(self, file: TrackedFile, source: SourceFile) -> JaxDb:
        """What is known about the JAX that ``file`` will meet."""
        folder = os.path.dirname(file.path)
        options = self._folder_settings(folder).options
        root = self._resolver.environment_root(file.path) or folder
        target = self._settings.target(file.path, root)
        index = self._index_of(file)
        if self._wait_for_index:
            index.finish()
        in_project = index.switches() if index.complete else Switches()
        found = Switches(options.remat3, options.x64).over(switches_of_source(source)).over(in_project)
        found = found.over(Switches(target.remat3, target.x64))
        return load(replace(target, remat3=bool(found.remat3), x64=bool(found.x64)))

    # -- projects ---------------------------------------------------------------------------------------------

    def _index_of(self, file: TrackedFile) -> ProjectIndex:
        root = self._resolver.project_root(file.path) or ""
        index = self._indexes.get(root)
        if index is None:
            index = self._indexes[root] = ProjectIndex(root, lambda: self._files_below(root))
        if not root and file.indexed is not index:
            index.update(file.path)
        file.indexed = index
        return index

    def _files_below(self, root: str) -> Iterator[str]:
        if root:
            yield from map(str, find_files([Path(root)], self.options_for))
        for path in self._given:
            if (self._resolver.project_root(path) or "") == root:
                yield path

    def _index_again(self, path: str) -> None:
        """The file at ``path`` may have other content on disk."""
        index = self._indexes.get(self._resolver.project_root(path) or "")
        if index is not None:
            index.update(path)

    def _names_for(self, file: TrackedFile) -> dict[str, NameFacts]:
        file.names_seen = self._names_around(file)
        return file.names_seen

    def _names_around(self, file: TrackedFile) -> dict[str, NameFacts]:
        """The checkpoint names in the other files of the project of ``file``."""
        index = self._index_of(file)
        around = {self._file(path).real for path in index.files_about_names()}
        around |= {other.real for other in self._open.values() if self._index_of(other) is index}
        if not index.root:
            around |= self._imported_by(file)
        found = {}
        for real in sorted(around - {file.real}):
            other = self._files[real]
            facts = self._name_facts(other)
            if not facts.is_empty:
                found[other.path] = facts
        if not index.complete or index.too_many:  # there may be any name
            found[index.root] = NameFacts(tags=(NamePlace("", ".*", None, index.root, "tag"),))
        return found

    def _name_facts(self, file: TrackedFile) -> NameFacts:
        self._check(file)
        if file.names is None:
            try:
                text = self._load(file).text
                mentioned = any(marker in text for marker in NAME_MARKERS)
                file.names = self._model(file).name_facts if mentioned else NameFacts()
            except UnreadableSource:
                file.names = NameFacts()
        return file.names

    def _imported_by(self, file: TrackedFile) -> set[str]:
        """The files that ``file`` imports, directly or through others."""
        reached: set[str] = set()
        waiting = [file]
        while waiting:
            at = waiting.pop()
            with contextlib.suppress(UnreadableSource):
                for module in _imports(self._model(at)):
                    path = self._resolver.file_of(module, at.bases)
                    if path and (other := self._file(path)).real not in reached:
                        reached.add(other.real)
                        waiting.append(other)
        return reached


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


class _Lazily(Mapping[str, NameFacts]):
    """A mapping that is made when first looked at: most files never ask for the names of the others."""

    def __init__(self, make: Callable[[], dict[str, NameFacts]]) -> None:
        self._make = make
        self._made: dict[str, NameFacts] | None = None

    def _now(self) -> dict[str, NameFacts]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def __getitem__(self, path: str) -> NameFacts:
        return self._now()[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())
