"""All files that the user works on, open or on disk: the way from a path to what is known about it.

A file is read when it is first asked for, and again when it changed on disk. What is known about it stays known
until its own text changes or a module that it looked into does: every file has a ``state`` that counts this, and
remembers the states of the modules that it looked into. A file that nobody imports changes nothing for others.

Not thread-safe: one thread asks and edits. Inside, files are absolute strings, which compare quickly; a ``real``
path has no links in it and identifies the file.
"""

# ruff: noqa: PTH100, PTH110, PTH116, PTH119, PTH120

from __future__ import annotations

import ast
import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from jaxpert.jaxdb.load import JaxDb, load
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.model.file_model import FileModel
from jaxpert.model.names import NameFacts, NameIndex, NamePlace
from jaxpert.project.config import ConfigProblem, Options, load_options
from jaxpert.project.config_file import find_config
from jaxpert.project.discovery import SUFFIXES, find_files
from jaxpert.project.environment import detect
from jaxpert.project.index import NAME_MARKERS, ProjectIndex
from jaxpert.project.resolver import Resolver
from jaxpert.project.switches import Switches, switches_of_source
from jaxpert.rulekit.rule import Rule
from jaxpert.syntax.notebook import BadNotebook, NotebookMap, read_notebook
from jaxpert.syntax.units import SourceFile
from jaxpert.text.decoding import (
    MAX_NOTEBOOK_BYTES,
    MAX_SOURCE_BYTES,
    SourceText,
    UnreadableSource,
    read_source,
)
from jaxpert.text.lines import Range

MAX_LINES_KEPT = 60_000
"""Trees of files that are not open are kept for about this many lines, those asked for last."""


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the command line or the editor sets for a folder.

    Attributes:
        options: stronger than those of the configuration file; not checked yet.
        interpreter: the Python whose installed JAX counts.
        origin: where they come from, for messages.
    """

    options: Mapping[str, object] = field(default_factory=dict)
    interpreter: Path | None = None
    origin: str = "command line"


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
    """

    def __init__(
        self,
        roots: Iterable[Path],
        known_rules: Mapping[str, str],
        overrides: Overrides | Callable[[Path], Overrides] | None = None,
        *,
        files: Iterable[Path] = (),
        wait_for_index: bool = True,
    ) -> None:
        self.known_rules = known_rules
        self._overrides = overrides or Overrides()
        self._wait_for_index = wait_for_index
        self._given = [os.path.abspath(path) for path in files]
        self._resolver = self._resolver_of(roots)
        self._files: dict[str, _File] = {}
        self._open: dict[str, _File] = {}
        self._real_paths: dict[str, str] = {}
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._configurations: dict[str, _Configuration] = {}
        self._targets: dict[tuple[str, str | None, Path | None], JaxTarget] = {}
        self._indexes: dict[str, ProjectIndex] = {}
        # Counters: snapshots taken; changes of which files there are; changes of settings.
        self._epoch = 0
        self._layout = 0
        self._settings = 0

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
        self._settings += 1
        self._configurations.clear()
        self._targets.clear()

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
                self._settings += 1  # switches and names may have been found

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
        configuration = self._configuration(os.path.dirname(file.path), again=True)
        model = self._model(file)
        if file.names_seen is not None and self._names_around(file) != file.names_seen:
            file.model = None
            model = self._model(file)
        return Snapshot(
            path,
            model.source,
            model,
            configuration.options,
            configuration.problems,
            file.notebook,
            file.on_disk,
            self.known_rules,
            configuration.options.enabled_rules(Path(file.path), self.known_rules),
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
        return self._configuration(os.path.abspath(folder), again=True).options

    def _resolver_of(self, roots: Iterable[Path]) -> Resolver:
        # Where files were named, a folder that nothing marks as a project is just where they happen to lie.
        return Resolver(map(os.path.abspath, roots), are_projects=not self._given)

    # -- files ------------------------------------------------------------------------------------------------

    def _file(self, path: str | Path) -> _File:
        name = os.path.abspath(path)
        real = self._real_paths.get(name)
        if real is None:
            real = self._real_paths[name] = os.path.realpath(name)
        file = self._files.get(real)
        if file is None:
            file = self._files[real] = _File(name, real)
        return file

    def _came_or_went(self, path: str) -> None:
        """Note whether there is now a file at ``path``, if that is news."""
        exists = os.path.realpath(path) in self._open or os.path.exists(path)
        if self._resolver.holds(os.path.dirname(path), os.path.basename(path)) != exists:
            self._resolver.set_open(file.path for file in self._open.values())
            self._layout += 1

    def _load(self, file: _File) -> SourceFile:
        source = file.parse()
        if not file.is_open:
            self._keep(file, len(source.lines))
        return source

    def _keep(self, file: _File, lines: int) -> None:
        """Drop the trees of files that are not open and were not asked for in a long time; ``file`` just was."""
        self._kept[file.real] = lines
        self._kept.move_to_end(file.real)
        total = sum(self._kept.values())
        while total > MAX_LINES_KEPT and len(self._kept) > 1:
            real, count = self._kept.popitem(last=False)
            self._files[real].drop_trees()
            total -= count

    # -- models -----------------------------------------------------------------------------------------------

    def _model(self, file: _File) -> FileModel:
        """The model of ``file``, a new one if anything that it may rest on has changed."""
        self._check(file)
        source = self._load(file)
        if file.model is None:
            name = self._resolver.module_of(file.path)
            file.model = FileModel(
                source,
                self._db(file, source),
                path=file.path,
                module=name.name,
                is_package=name.is_package,
                lookup=lambda module: self._look_up(module, file),
                names=NameIndex(_Lazily(lambda: self._names_for(file))),
                generation=file.generation,
            )
            file.names_seen = None
        return file.model

    def _check(self, file: _File) -> None:
        """Forget what is known about ``file`` if that is out of date; at most once in a snapshot."""
        if file.checked == self._epoch:
            return
        self._check_alone(file)
        if not self._rests_on_what_is(file):
            file.generation += 1
            file.looked_into.clear()
            file.touch()
            file.bases = self._resolver.bases_of(file.path)
            file.layout = self._layout
        file.checked = self._epoch

    def _check_alone(self, file: _File) -> None:
        """As :meth:`_check`, without a look at other files."""
        if not file.is_open and file.stamped != self._epoch:
            file.stamped = self._epoch
            if (stamp := _stamp(file.real)) != file.stamp:
                file.forget()
                file.touch()
                file.stamp = stamp
        if file.settings != self._settings:
            file.settings = self._settings
            file.touch()

    def _rests_on_what_is(self, file: _File) -> bool:
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

    def _look_up(self, module: str, for_file: _File) -> FileModel | None:
        path = self._resolver.file_of(module, for_file.bases)
        if path is None:
            for_file.looked_into[module] = None, 0
            return None
        other = self._file(path)
        try:
            model = self._model(other)
        except UnreadableSource:
            model = None
        for_file.looked_into[module] = other.real, other.state
        return model

    # -- settings ---------------------------------------------------------------------------------------------

    def _configuration(self, folder: str, again: bool = False) -> _Configuration:
        """The options of ``folder``; ``again``: look whether the files that they come from changed."""
        known = self._configurations.get(folder)
        if known is not None and not again:
            return known
        source = find_config(Path(folder))
        key = (source, _stamp(str(source)) if source else None)
        if known is None or known.key != key:
            if known is not None:
                self.settings_changed()
                self._indexes.clear()  # what is excluded may be something else
            given = self._overrides_for(folder)
            options, problems = load_options(
                Path(folder), given.options, known=self.known_rules, overrides_from=given.origin
            )
            known = self._configurations[folder] = _Configuration(key, options, problems)
        return known

    def _overrides_for(self, folder: str) -> Overrides:
        return self._overrides(Path(folder)) if callable(self._overrides) else self._overrides

    def _db(self, file: _File, source: SourceFile) -> JaxDb:
        """What is known about the JAX that ``file`` will meet."""
        folder = os.path.dirname(file.path)
        options = self._configuration(folder).options
        interpreter = self._overrides_for(folder).interpreter
        key = (folder, options.jax_version, interpreter)
        target = self._targets.get(key)
        if target is None:
            root = self._resolver.root_around(file.path) or self._resolver.project_root(file.path) or folder
            target = detect(Path(root), Path(file.path), options.jax_version, interpreter, os.environ)
            self._targets[key] = target
        index = self._index_of(file)
        if self._wait_for_index:
            index.finish()
        in_project = index.switches() if index.complete else Switches()
        found = Switches(options.remat3, options.x64).over(switches_of_source(source)).over(in_project)
        found = found.over(Switches(target.remat3, target.x64))
        return load(replace(target, remat3=bool(found.remat3), x64=bool(found.x64)))

    # -- projects ---------------------------------------------------------------------------------------------

    def _index_of(self, file: _File) -> ProjectIndex:
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

    def _names_for(self, file: _File) -> dict[str, NameFacts]:
        file.names_seen = self._names_around(file)
        return file.names_seen

    def _names_around(self, file: _File) -> dict[str, NameFacts]:
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

    def _name_facts(self, file: _File) -> NameFacts:
        self._check(file)
        if file.names is None:
            try:
                text = self._load(file).text
                mentioned = any(marker in text for marker in NAME_MARKERS)
                file.names = self._model(file).name_facts if mentioned else NameFacts()
            except UnreadableSource:
                file.names = NameFacts()
        return file.names

    def _imported_by(self, file: _File) -> set[str]:
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


class _File:
    """A file and what is known about it.

    Attributes:
        path: as it was first asked for.
        is_open: whether ``source`` is a buffer of the editor.
        state: changes whenever what other files may have learned from this one can have.
        looked_into: for each module that was asked for, the real path of its file (None when there is none) and the
            state of that file at the time.
        bases, layout: where modules are looked for, and when that was last found to be right.
        checked, stamped, settings: when what is known was last found to be up to date.
        environment: that of ``source`` when what is known was last forgotten.
        names: the checkpoint names in it.
        names_seen: those around it, if anybody asked its model for them.
    """

    def __init__(self, path: str, real: str) -> None:
        self.path = path
        self.real = real
        self.is_open = False
        self.source: SourceFile | None = None
        self.notebook: NotebookMap | None = None
        self.on_disk: SourceText | None = None
        self.failure: UnreadableSource | None = None
        self.model: FileModel | None = None
        self.names: NameFacts | None = None
        self.names_seen: dict[str, NameFacts] | None = None
        self.indexed: ProjectIndex | None = None
        self.state = 0
        self.generation = 0
        self.environment = 0
        self.looked_into: dict[str, tuple[str | None, int]] = {}
        self.bases: tuple[str, ...] = ()
        self.layout = -1
        self.checked = -1
        self.stamped = -1
        self.settings = -1
        self.stamp: tuple[int, ...] | None = ()

    def touch(self) -> None:
        """Something that facts rest on has changed."""
        self.state += 1
        self.model = None
        self.names = None
        if self.source is not None:
            self.environment = self.source.environment

    def forget(self) -> None:
        """The content is another one."""
        self.drop_trees()
        self.failure = None
        self.stamp = ()
        self.looked_into.clear()

    def drop_trees(self) -> None:
        """Keep only what is small."""
        self.source = self.notebook = self.on_disk = self.model = None

    def read(self) -> SourceText:
        """The content on disk.

        Raises:
            UnreadableSource: it cannot be read.
        """
        if self.failure is not None:
            raise self.failure.with_traceback(None)
        if self.on_disk is None:
            try:
                limit = MAX_NOTEBOOK_BYTES if self.path.endswith(".ipynb") else MAX_SOURCE_BYTES
                self.on_disk = read_source(Path(self.path), limit)
            except UnreadableSource as error:
                self.failure = error
                raise
        return self.on_disk

    def parse(self) -> SourceFile:
        """The buffer, or the trees of what is on disk.

        Raises:
            UnreadableSource: it cannot be read.
        """
        if self.source is None:
            text = self.read().text
            if self.path.endswith(".ipynb"):
                try:
                    self.notebook = read_notebook(text)
                except BadNotebook as error:
                    self.failure = UnreadableSource(self.path, error.reason, error.line)
                    raise self.failure from error
                text = self.notebook.text
            self.source = SourceFile(text)
            self.environment = self.source.environment
        return self.source


@dataclass(frozen=True, slots=True)
class _Configuration:
    """The options of a folder. ``key`` changes when they have to be read again."""

    key: tuple[Path | None, tuple[int, ...] | None]
    options: Options
    problems: tuple[ConfigProblem, ...]


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


def _stamp(path: str) -> tuple[int, ...] | None:
    """What changes when the file at ``path`` does; None when there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
