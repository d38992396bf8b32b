"""The files that are known, and whether what is known about each still holds.

What is known about a file holds until its own text changes, or that of a module that it looked into. A file that
nobody imports changes nothing for others.
"""

# ruff: noqa: PTH100, PTH110

from __future__ import annotations

import os
from pathlib import Path

from jaxpert.project.resolver import Resolver
from jaxpert.project.tracked_file import TrackedFile, stamp_of


class FileTable:
    """Every file that was asked for, by its real path: one without links in it, which identifies the file.

    Attributes:
        files: all of them; ``opened``: those that are buffers of the editor.
        epoch: counts moments: within one, nothing changes, and each file is checked once.
        layout: counts changes of which files there are.
        settings_age: counts changes of what holds for all files, such as the version of JAX.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.files: dict[str, TrackedFile] = {}
        self.opened: dict[str, TrackedFile] = {}
        self.epoch = 0
        self.layout = 0
        self.settings_age = 0
        self._real_paths: dict[str, str] = {}

    def file(self, path: str | Path) -> TrackedFile:
        """The file at ``path``, which need not exist."""
        name = os.path.abspath(path)
        real = self._real_paths.get(name)
        if real is None:
            real = self._real_paths[name] = os.path.realpath(name)
            known = self.files.get(real)
            if known is not None and name != known.path and os.path.realpath(known.path) != real:
                self._rename(known, name)  # the link that it was first asked for by is another one now
        file = self.files.get(real)
        if file is None:
            file = self.files[real] = TrackedFile(name, real)
        return file

    def _rename(self, file: TrackedFile, path: str) -> None:
        """``file`` is to be read at ``path``, and whatever knows the old path is void."""
        if not file.is_open:
            file.forget()
        file.path = path
        file.model = file.names = file.indexed = None
        file.forget_links()
        file.touch()
        file.outdated = None

    # -- what changes -----------------------------------------------------------------------------------------

    def open(self, path: str | Path) -> TrackedFile:
        """The file at ``path``, which is a buffer of the editor from now on."""
        file = self.buffer_at(path)
        if file is None:
            self._real_paths.pop(os.path.abspath(path), None)  # it may lead elsewhere by now
            file = self.file(path)
        file.opened_as = os.path.abspath(path)
        file.is_open = True
        self.opened[file.real] = file
        return file

    def close(self, file: TrackedFile) -> None:
        """The file is no buffer any more."""
        file.is_open = False
        del self.opened[file.real]
        self._real_paths.pop(file.opened_as, None)
        if os.path.realpath(file.path) != file.real:
            self._rename(file, file.real)

    def buffer_at(self, path: str | Path) -> TrackedFile | None:
        """The buffer that stands for the file at ``path``, if one does."""
        name = os.path.abspath(path)
        named = next((file for file in self.opened.values() if file.opened_as == name), None)
        return named or self.opened.get(os.path.realpath(name))

    def leads_elsewhere(self, path: str) -> bool:
        """Whether ``path`` was asked for and leads to another file than at the last :meth:`links_changed`."""
        return self._real_paths.get(path, "") not in ("", os.path.realpath(path))

    def links_changed(self) -> None:
        """A path may lead to another file than before. What is open under it goes with it."""
        self._real_paths.clear()
        for file in list(self.opened.values()):
            real = os.path.realpath(file.opened_as)
            if real != file.real and real not in self.opened:
                self._move(file, real)
                self.layout_changed()
        self._real_paths.update((file.opened_as, file.real) for file in self.opened.values())

    def _move(self, file: TrackedFile, real: str) -> None:
        """The buffer ``file`` stands for another file than before, and what it stood for is on disk again."""
        left = self.files[file.real] = TrackedFile(file.real, file.real)
        del self.opened[file.real]
        left.state = file.state + 1
        if (replaced := self.files.get(real)) is not None:
            file.state = max(file.state, replaced.state)
        file.real = real
        self._rename(file, file.opened_as)
        file.is_shared = True  # as the one that was there may have been
        self.files[real] = self.opened[real] = file

    def came_or_went(self, path: str) -> None:
        """Note whether there is now a file at ``path``, if that is news."""
        exists = self.buffer_at(path) is not None or os.path.exists(path)
        if self.resolver.is_news(path, exists):
            self.layout_changed()

    def layout_changed(self) -> None:
        """Files or folders may have come or gone."""
        self.resolver.set_open(file.path for file in self.opened.values())
        self.layout += 1

    # -- what still holds -------------------------------------------------------------------------------------

    def check(self, file: TrackedFile) -> None:
        """Forget what is known about ``file`` if that is out of date; at most once in an epoch."""
        if file.checked == self.epoch:
            return
        self.check_alone(file)
        if not self._rests_on_what_is(file):
            file.generation += 1
            file.forget_links()
            file.touch()
            file.bases = self.resolver.bases_of(file.path)
            file.layout = self.layout
        file.checked = self.epoch

    def check_alone(self, file: TrackedFile) -> None:
        """As :meth:`check`, without a look at other files."""
        if not file.is_open and file.stamped != self.epoch:
            file.stamped = self.epoch
            if (stamp := stamp_of(file.real)) != file.stamp:
                file.forget()
                file.touch()
                file.stamp = stamp
        if file.settings != self.settings_age:
            file.settings = self.settings_age
            file.touch()

    def _rests_on_what_is(self, file: TrackedFile) -> bool:
        """Whether all modules that ``file`` looked into, and those that these looked into, are as they were."""
        reached = {file.real: file}
        waiting = [file]
        while waiting:
            at = waiting.pop()
            if at.layout != self.layout:
                if not self._finds_what_it_found(at):
                    return False
                at.layout = self.layout
            for glanced, says in at.glanced_at.items():
                glanced_at = self.files[glanced]
                self.check_alone(glanced_at)
                if glanced_at.mentions_rematerialization() != says:
                    return False
            for real, state in at.looked_into.values():
                if real is None:
                    continue
                other = self.files[real]
                self.check_alone(other)
                if other.state != state:
                    return False
                if real not in reached:
                    reached[real] = other
                    waiting.append(other)
        for each in reached.values():
            each.checked = self.epoch
        return True

    def _finds_what_it_found(self, file: TrackedFile) -> bool:
        """Whether every module that ``file`` asked for is still where it was, or still nowhere."""
        if file.bases != self.resolver.bases_of(file.path):
            return False
        if any(self.resolver.file_of(module, file.bases) != path for module, path in file.asked_for.items()):
            return False
        return all(self.real_of(module, file) == found[0] for module, found in file.looked_into.items())

    # -- from file to file ------------------------------------------------------------------------------------

    def real_of(self, module: str, for_file: TrackedFile) -> str | None:
        """The real path of the file of ``module``, as ``for_file`` imports it; None when there is none."""
        path = self.resolver.file_of(module, for_file.bases)
        return self.file(path).real if path else None

    def is_module(self, module: str, for_file: TrackedFile) -> bool:
        """Whether ``for_file`` can import ``module``; noted as something that it rests on."""
        path = for_file.asked_for[module] = self.resolver.file_of(module, for_file.bases)
        return path is not None

    def may_wrap(self, module: str, for_file: TrackedFile) -> bool:
        """Whether a module says anything about rematerialization; a package may pass on what its modules say.

        Noted as something that ``for_file`` rests on.
        """
        path = for_file.asked_for[module] = self.resolver.file_of(module, for_file.bases)
        if path is None:
            return False
        other = self.file(path)
        self.check_alone(other)
        for_file.glanced_at[other.real] = says = other.mentions_rematerialization()
        return says or path.endswith("__init__.py")

    def reached_from(self, file: TrackedFile) -> list[TrackedFile]:
        """``file`` and every file that it looked into, directly or through others."""
        reached = {file.real: file}
        waiting = [file]
        while waiting:
            for real, _ in waiting.pop().looked_into.values():
                if real is not None and real not in reached:
                    reached[real] = self.files[real]
                    waiting.append(reached[real])
        return list(reached.values())
