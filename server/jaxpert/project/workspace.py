"""All files that the user works on, open or on disk: the way from a path to what is known about it.

A file is read when it is first asked for, and again when it changed on disk. What is known about it stays known
until its own text changes or a module that it looked into does: every file has a ``state`` that counts this, and
remembers the states of the modules that it looked into. A file that nobody imports changes nothing for others.

Not thread-safe: one thread asks and edits. Inside, files are absolute strings, which compare quickly; a ``real``
path has no links in it and identifies the file.
"""

# ruff: noqa: PTH100, PTH120

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jaxpert.jaxdb.load import JaxDb, load
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.model.file_model import FileModel
from jaxpert.model.names import NameFacts, NameIndex
from jaxpert.project.config import ConfigProblem, Options
from jaxpert.project.discovery import SUFFIXES, find_files
from jaxpert.project.file_table import FileTable
from jaxpert.project.index import IndexStep
from jaxpert.project.projects import Projects
from jaxpert.project.resolver import Resolver, is_inside
from jaxpert.project.settings import FolderSettings, Overrides, Settings
from jaxpert.project.switches import Switches, switches_of_source
from jaxpert.project.tracked_file import TrackedFile
from jaxpert.records import dataclass
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
from jaxpert.text.lines import Range, split_lines

if TYPE_CHECKING:
    from jaxpert.model.outline import OutlineEntry

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
        cache_folder: where what is known about the project in a folder is kept from one run to the next; None for
            nowhere.
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
        cache_folder: Callable[[Path], Path | None] | None = None,
    ) -> None:
        self.known_rules = known_rules
        self._settings = Settings(known_rules, overrides or Overrides())
        self._lines_kept = lines_kept
        self._releases_trees = False
        self._given = [os.path.abspath(path) for path in files]
        self._table = FileTable(self._resolver_of(roots))
        self._files, self._open = self._table.files, self._table.opened
        self._kept: OrderedDict[str, int] = OrderedDict()
        self._projects = Projects(self._table, self, self._files_below, wait_for_index, cache_folder)
        for path in self._given:
            self._table.file(path)  # so that a file with several names goes by the one that was given

    # -- what changes -----------------------------------------------------------------------------------------

    def open(self, path: Path, text: str = "", *, notebook: NotebookMap | None = None) -> None:
        """The content of the file at ``path`` is now ``text``, or the cells of ``notebook``, whatever is on disk.

        A notebook that is open already is edited only where its text differs.
        """
        file = self._table.buffer_at(path)
        if notebook is not None and file is not None and file.notebook is not None and file.source is not None:
            file.source.replace(notebook.text)
        else:
            file = self._table.open(path)
            file.forget()
            file.source = SourceFile(text if notebook is None else notebook.text)
        file.notebook = notebook
        file.touch()
        self._kept.pop(file.real, None)
        self._table.came_or_went(file.path)

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

    def is_open(self, path: Path) -> bool:
        """Whether the file at ``path`` is open, under whichever name."""
        return self._table.buffer_at(path) is not None

    def close(self, path: Path) -> None:
        """The file at ``path`` is again what is on disk, if anything."""
        file = self._file(path)
        if file.is_open:
            self._table.close(file)
            file.forget()
            file.touch()
            self._table.came_or_went(file.path)
            self._projects.changed(file.path)

    def files_changed(self, paths: Iterable[Path] | None = None) -> None:
        """Files on disk were written, created or removed; None when it is not known which.

        Anything that is no source file counts as configuration.
        """
        changed = None if paths is None else [os.path.abspath(path) for path in paths]
        if any(map(self._table.leads_elsewhere, changed or ())):
            self._projects.look_again()  # the file that it led to counts by its own name now
        self._table.links_changed()
        if changed is None or not all(path.endswith(SUFFIXES) for path in changed):
            self._table.layout_changed()
            self._projects.forget()
            self.settings_changed()
            return
        for path in changed:
            self._table.came_or_went(path)
            self._projects.changed(path)

    def settings_changed(self) -> None:
        """What is set by hand, the configuration, or what is installed is no longer the same."""
        self._table.settings_age += 1
        self._settings.forget()

    def set_roots(self, roots: Iterable[Path]) -> None:
        """The user works in other folders now."""
        self._table.resolver = self._resolver_of(roots)
        self._table.layout_changed()
        self._projects.forget()
        self.settings_changed()

    def look_again(self) -> None:
        """Any file may have been written, created or removed, and nobody told."""
        self._table.links_changed()
        self._table.layout_changed()
        self._projects.look_again()

    def index(self) -> Iterator[IndexStep]:
        """Read the projects of the open files, a little with each step. What was found counts from then on."""
        return self._projects.index()

    def give_up_index(self) -> None:
        """Nobody goes through :meth:`index` for now, so that no name counts as missing."""
        self._projects.give_up()

    def outlines(self) -> Iterator[OutlineEntry]:
        """What there is to find by name in the projects of the open files, as far as they were read."""
        return self._projects.outlines()

    # -- texts and files --------------------------------------------------------------------------------------

    def lines_of(self, path: str, containing: str = "") -> Sequence[str] | None:
        """The lines of a file as it is now, open or on disk, of a notebook the joined text; None when it is unreadable.

        Args:
            containing: of a file on disk that does not contain this, there need be no lines.
        """
        opened = self._table.buffer_at(path)
        if opened is not None and opened.source is not None:
            return opened.source.lines
        is_notebook = path.endswith(".ipynb")
        try:
            text = read_source(Path(path), MAX_NOTEBOOK_BYTES if is_notebook else MAX_SOURCE_BYTES).text
            if containing not in text:
                return []
            return split_lines(read_notebook(text).text if is_notebook else text)
        except (UnreadableSource, BadNotebook):
            return None

    def project_files(self, path: str) -> list[str]:
        """Every file of the project that the file at ``path`` belongs to, as far as it was read, and open ones."""
        return self._projects.files_of(self._file(path))

    def why_names_are_missing(self, path: str) -> str:
        """Why names of the project that the file at ``path`` belongs to may not be known; "" when all are."""
        return self._projects.why_names_are_missing(self._file(path))

    def may_edit(self, path: str) -> bool:
        """Whether the file at ``path`` is the user's: open, or in one of the folders that the user works in."""
        if not self._resolver.roots or self._table.buffer_at(path) is not None:
            return True
        return any(is_inside(path, root) for root in self._resolver.roots)

    # -- what is known ----------------------------------------------------------------------------------------

    def snapshot(self, path: Path) -> Snapshot:
        """What is known about the file at ``path``.

        Raises:
            UnreadableSource: it is not open, and cannot be read or is no notebook although its name says so.
        """
        self._table.epoch += 1
        for opened in self._open.values():
            if opened.source is not None and opened.environment != opened.source.environment:
                opened.touch()  # it was reconciled
        file = self._file(path)
        self._projects.catch_up()
        settings = self._folder_settings(os.path.dirname(file.path), again=True)
        model = self._model(file)
        if file.names_seen is not None and self._projects.names_around(file) != file.names_seen:
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
            self._table.check_alone(file)
            text = file.read().text
        return any(marker in text for marker in JaxDb.markers)

    def kept_result(self, path: Path, asked: str) -> tuple[str, SourceText] | None:
        """What :meth:`keep_result` was given for the file at ``path``, perhaps in an earlier run, and the file's text.

        None when there is nothing that still holds for what was on disk at the last :meth:`snapshot` or else at the
        first question.

        Args:
            asked: as it was given then.

        Raises:
            UnreadableSource: it cannot be read.
        """
        file = self._file(path)
        kept = None if file.is_open else self._projects.kept_in(self._projects.index_of(file))
        if kept is None:
            return None
        self._projects.switches_for(file)  # reads the project
        self._table.check(file)
        source = file.read()
        text = kept.result(file, asked, lambda: self._projects.names_around(file))
        if text is None:
            return None
        file.on_disk = None
        return text, source

    def keep_result(self, snapshot: Snapshot, asked: str, text: str) -> None:
        """Keep, from one run to the next, what came out of a ``snapshot`` of a file on disk that nothing has changed.

        Args:
            asked: tells the way of looking, and all that it depends on besides files, from any other.
        """
        file = self._file(snapshot.path)
        kept = None if file.is_open else self._projects.kept_in(self._projects.index_of(file))
        if kept is not None and file.model is snapshot.model:
            kept.keep_result(file, asked, text)

    def take_kept(self) -> dict[str, dict[str, bytes]]:
        """What is new to be kept, by project, for :meth:`save_kept` in another process."""
        return self._projects.take_kept()

    def save_kept(self, taken: Iterable[Mapping[str, Mapping[str, bytes]]] = ()) -> None:
        """Write what shall be kept, here and ``taken`` in other processes."""
        self._projects.save_kept(taken)

    def circumstances(self, path: Path) -> tuple[Options, JaxTarget]:
        """What holds for the file at ``path``; of the JAX, all but the switches that its project or its text sets."""
        file = self._file(path)
        folder = os.path.dirname(file.path)
        return self._folder_settings(folder, again=True).options, self._jax_around(file)[0]

    def options_for(self, folder: Path) -> Options:
        """The options that hold in ``folder``, as ``find_files`` asks for them."""
        return self._folder_settings(os.path.abspath(folder), again=True).options

    def _resolver_of(self, roots: Iterable[Path]) -> Resolver:
        # Where files were named, a folder that nothing marks as a project is just where they happen to lie.
        return Resolver(map(os.path.abspath, roots), are_projects=not self._given)

    # -- files ------------------------------------------------------------------------------------------------

    @property
    def _resolver(self) -> Resolver:
        return self._table.resolver

    def _file(self, path: str | Path) -> TrackedFile:
        return self._table.file(path)

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
            if file.is_open:  # a path that led to another file now leads to this one
                pass
            elif self._releases_trees:
                file.dismantle()
            else:
                file.drop_trees()
            total -= count

    # -- models -----------------------------------------------------------------------------------------------

    def _model(self, file: TrackedFile) -> FileModel:
        """The model of ``file``, a new one if anything that it may rest on has changed."""
        self._table.check(file)
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
                    is_module=lambda module: self._table.is_module(module, file),
                    may_wrap=lambda module: self._table.may_wrap(module, file),
                    names=names,
                    generation=file.generation,
                )
            file.outdated = None
            file.names_seen = None
        return file.model

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
            self._projects.forget()  # what is excluded may be something else
            found, _ = self._settings.of(folder, again)
        return found

    def _db(self, file: TrackedFile, source: SourceFile) -> JaxDb:
        """What is known about the JAX that ``file`` will meet."""
        target, chosen, in_project = self._jax_around(file)
        found = chosen.over(switches_of_source(source)).over(in_project).over(Switches(target.remat3, target.x64))
        return load(replace(target, remat3=bool(found.remat3), x64=bool(found.x64)))

    def _jax_around(self, file: TrackedFile) -> tuple[JaxTarget, Switches, Switches]:
        """The JAX of the environment of ``file``, the switches that the user chose, and those that its project sets."""
        folder = os.path.dirname(file.path)
        options = self._folder_settings(folder).options
        target = self._settings.target(file.path, self._resolver.environment_root(file.path) or folder)
        return target, Switches(options.remat3, options.x64), self._projects.switches_for(file)

    # -- for the projects -------------------------------------------------------------------------------------

    def _files_below(self, root: str) -> Iterator[str]:
        if root:
            yield from map(str, find_files([Path(root)], self.options_for))
        for path in self._given:
            if (self._resolver.project_root(path) or "") == root:
                yield path

    def _names_for(self, file: TrackedFile) -> dict[str, NameFacts]:
        file.names_seen = self._projects.names_around(file)
        return file.names_seen

    def model_of(self, file: TrackedFile) -> FileModel:
        """The model of ``file``.

        Raises:
            UnreadableSource: it cannot be read.
        """
        return self._model(file)

    def outline_of(self, file: TrackedFile) -> tuple[OutlineEntry, ...]:
        """What there is to find in a file. Of one that is not open, what is seen without a look into others."""
        from jaxpert.model.outline import outline  # only editors ask for it

        if file.outline is None:
            try:
                source = self._load(file)
                if file.is_open:
                    file.outline = outline(self._model(file))
                else:  # the model shares the trees, but no facts, with the file's own
                    name, is_package, _ = self._resolver.module_of(file.path)
                    model = FileModel(source, self._db(file, source), file.path, name, is_package, generation=-1)
                    file.outline = outline(model, file.names)
            except UnreadableSource:
                file.outline = ()
        return file.outline

    def jax_around(self, file: TrackedFile) -> tuple[str, ...]:
        """What tells the JAX that ``file`` will meet, apart from what its own text sets."""
        target, chosen, in_project = self._jax_around(file)
        return tuple(map(str, (target.version, target.remat3, target.x64, *chosen, *in_project)))

    def roots(self) -> set[str]:
        """The folders that are the user's: those to work in, and the projects of the files that were named."""
        return {*self._resolver.roots, *(root for path in self._given if (root := self._resolver.project_root(path)))}

    def forget_trees(self, file: TrackedFile) -> None:
        """Free the memory of a file that was read for what is remembered about it."""
        if not (file.is_open or file.is_shared):
            self._kept.pop(file.real, None)
            file.free_trees()


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
