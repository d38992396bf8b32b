"""From the dotted name of a module to its file, and from a file to its dotted name, without running anything."""

# Asked for many times at every keystroke; pathlib would cost several times as much.
# ruff: noqa: PTH100, PTH110, PTH111, PTH118, PTH119, PTH120, PTH122, PTH208

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

_ENVIRONMENT_MARKERS = (".venv", "venv", "uv.lock", "requirements.txt")
ROOT_MARKERS = ("jaxpert.toml", "pyproject.toml", "setup.py", "setup.cfg", ".git")
"""A folder that holds one of these is the root of a project."""


class ModuleName(NamedTuple):
    """The dotted name of a file.

    Attributes:
        name: absolute; "" for a file that cannot be imported.
        is_package: whether the file is an ``__init__.py``.
        base: the folder that the name starts from.
    """

    name: str
    is_package: bool
    base: str


class Resolver:
    """Finds modules and project roots, and remembers which names each folder that it looked into holds.

    All paths are strings, absolute and normal.

    Args:
        roots: the folders that the user works in.
        are_projects: whether each of them is a project where no file marks one.
    """

    def __init__(self, roots: Iterable[str], are_projects: bool = True) -> None:
        self.roots = tuple(roots)
        self._are_projects = are_projects
        self._names: dict[str, frozenset[str]] = {}
        self._modules: dict[tuple[str, str], str | None] = {}
        self._project_roots: dict[str, str | None] = {}
        self._environment_roots: dict[str, str | None] = {}
        self._open: set[str] = set()

    def forget(self) -> None:
        """Files or folders came or went."""
        self._names.clear()
        self._modules.clear()
        self._project_roots.clear()
        self._environment_roots.clear()

    def set_open(self, paths: Iterable[str]) -> None:
        """``paths`` are open buffers, which exist even where no file does."""
        self._open = set(paths)
        self.forget()

    def holds(self, folder: str, name: str) -> bool:
        """Whether ``folder`` holds a file or folder ``name``."""
        names = self._names.get(folder)
        if names is None:
            try:
                names = frozenset(os.listdir(folder))
            except OSError:
                names = frozenset()
            names |= {os.path.basename(path) for path in self._open if os.path.dirname(path) == folder}
            self._names[folder] = names
        return name in names

    def is_news(self, path: str, exists: bool) -> bool:
        """Whether it was not known that there is, or with ``exists`` off is not, a file or folder at ``path``."""
        folder, name = os.path.split(path)
        while name and folder not in self._names:  # nobody looked into it: perhaps because it was not there
            exists = os.path.exists(folder)
            folder, name = os.path.split(folder)
        return bool(name) and self.holds(folder, name) != exists

    def module_of(self, path: str) -> ModuleName:
        """The dotted name of the file at ``path``; its base is the first parent without an ``__init__.py``."""
        folder, file = os.path.split(path)
        stem, suffix = os.path.splitext(file)
        is_package = stem == "__init__"
        parts = [] if is_package else [stem]
        while self.holds(folder, "__init__.py"):
            folder, name = os.path.split(folder)
            if not name:
                break
            parts.insert(0, name)
        return ModuleName(".".join(parts) if suffix in (".py", ".pyi") else "", is_package, folder)

    def file_of(self, module: str, bases: Sequence[str]) -> str | None:
        """The file of the absolute ``module``, looked for from each of ``bases``; None when it is in none."""
        for base in bases:
            key = (base, module)
            if key not in self._modules:
                self._modules[key] = self._find(module.split("."), base)
            if (found := self._modules[key]) is not None:
                return found
        return None

    def _find(self, parts: list[str], folder: str) -> str | None:
        for part in parts[:-1]:
            if not part or not self.holds(folder, part):
                return None
            folder = os.path.join(folder, part)
        last = parts[-1]
        if last and self.holds(folder, last) and self.holds(os.path.join(folder, last), "__init__.py"):
            return os.path.join(folder, last, "__init__.py")
        return os.path.join(folder, f"{last}.py") if last and self.holds(folder, f"{last}.py") else None

    def project_root(self, path: str) -> str | None:
        """The root of the project that the file at ``path`` belongs to.

        The nearest parent with one of :data:`ROOT_MARKERS`, else the innermost of the user's folders around it if
        these are projects; but never the home folder or one that contains it, which hold far more than a project.
        """
        folder = os.path.dirname(path)
        if folder not in self._project_roots:
            self._project_roots[folder] = self._project_root(path, folder)
        return self._project_roots[folder]

    def _project_root(self, path: str, folder: str) -> str | None:
        while not is_too_wide(folder):
            if any(self.holds(folder, marker) for marker in ROOT_MARKERS):
                return folder
            folder = os.path.dirname(folder)
        return self.root_around(path) if self._are_projects else None

    def environment_root(self, path: str) -> str | None:
        """The outermost folder around the file at ``path`` that looks like the user's: where to look for JAX."""
        folder = os.path.dirname(path)
        if folder not in self._environment_roots:
            self._environment_roots[folder] = self._environment_root(path, folder)
        return self._environment_roots[folder]

    def _environment_root(self, path: str, folder: str) -> str | None:
        found = self.root_around(path)
        while not is_too_wide(folder):
            if any(self.holds(folder, marker) for marker in (*ROOT_MARKERS, *_ENVIRONMENT_MARKERS)):
                found = folder if found is None or is_inside(found, folder) else found
            folder = os.path.dirname(folder)
        return found

    def root_around(self, path: str) -> str | None:
        """The innermost of the user's folders around ``path``, if it is not too wide to be a project."""
        around = [root for root in self.roots if is_inside(path, root) and not is_too_wide(root)]
        return max(around, key=len, default=None)

    def bases_of(self, path: str) -> tuple[str, ...]:
        """The folders from which the file at ``path`` may import, the strongest first."""
        folders = [self.module_of(path).base]
        for root in (self.project_root(path), self.root_around(path), *self.roots):
            if root and not is_too_wide(root):
                folders += [root, os.path.join(root, "src")]
        return tuple(dict.fromkeys(folders))


def is_inside(path: str, folder: str) -> bool:
    """Whether ``path`` lies in ``folder``."""
    return path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def is_too_wide(folder: str) -> bool:
    """Whether ``folder`` is the home folder or contains it, or is the root of a file system."""
    return _is_too_wide(folder, os.environ.get("HOME"))


@lru_cache(maxsize=4096)
def _is_too_wide(folder: str, variable: str | None) -> bool:
    home = os.path.abspath(os.path.expanduser("~"))  # which depends on the variable
    return folder == home or is_inside(home, folder) or os.path.dirname(folder) == folder
