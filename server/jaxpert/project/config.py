"""The user's options: ``[tool.jaxpert]`` in ``pyproject.toml``, or the whole of ``jaxpert.toml``.

For a file, the nearest parent folder with either counts (``jaxpert.toml`` first); command line and server ask here,
so they cannot disagree. A mistake is a :class:`ConfigProblem` at the key or value, and that value is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packaging.version import InvalidVersion, Version

from jaxpert.project.config_file import NOWHERE, ConfigProblem, find_config, read_config
from jaxpert.project.toml_positions import KeyPath, Place
from jaxpert.records import dataclass
from jaxpert.text.near_misses import did_you_mean

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

__all__ = ["KEYS", "ConfigProblem", "Options", "likely_meant", "load_options", "matches", "rules_meant", "unknown_rule"]

KEYS = ("select", "ignore", "per-file-ignores", "exclude", "jax-version", "remat3", "x64")
"""Every option there is."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for.

    Attributes:
        select: names, codes or beginnings of codes of the rules to run; all when empty.
        ignore: of those, which not. The longer of two that disagree wins; of equally long ones, ``ignore``.
        per_file_ignores: pairs of a glob, relative to ``root``, and what is ignored in files that it matches.
        exclude: globs, relative to ``root``, of files and folders that are not looked for.
        jax_version: the JAX that the code is for.
        remat3: JAX's ``jax_remat3``, where the user fixes it.
        x64: JAX's ``jax_enable_x64``, where the user fixes it.
        root: the folder of the configuration file, or the one that was asked about.
        source: the configuration file.
    """

    root: Path
    source: Path | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    jax_version: str | None = None
    remat3: bool | None = None
    x64: bool | None = None

    def enabled_rules(self, path: Path | None, known: Mapping[str, str]) -> frozenset[str]:
        """Names of the rules that run on the file at ``path`` (None: on any).

        Args:
            known: name -> code of every rule there is.
        """
        return _enabled(self, path, tuple(known.items()))


@lru_cache(maxsize=256)  # asked with every keystroke
def _enabled(options: Options, path: Path | None, known: tuple[tuple[str, str], ...]) -> frozenset[str]:
    chosen = {
        name
        for name, code in known
        if (_longest(options.select, name, code) if options.select else 1) > _longest(options.ignore, name, code)
    }
    codes = dict(known)
    for glob, ignored in options.per_file_ignores:
        if path is not None and matches(glob, path, options.root):
            chosen -= {name for name in chosen if _longest(ignored, name, codes[name])}
    return frozenset(chosen)


def load_options(
    for_file_or_dir: Path,
    overrides: Mapping[str, object] | None = None,
    *,
    known: Mapping[str, str],
    config_file: Path | None = None,
    overrides_from: str = "command line",
) -> tuple[Options, tuple[ConfigProblem, ...]]:
    """The options for a file, or for a folder and what lies in it.

    Args:
        overrides: options by key, from the command line or an editor; ``None`` values do not count. ``select``
            replaces both ``select`` and ``ignore`` of the file; ``ignore`` and ``exclude`` add to what is there.
        known: name -> code of every rule there is.
        config_file: the file to read in place of the nearest one.
        overrides_from: where ``overrides`` come from, for messages.
    """
    folder = (for_file_or_dir if for_file_or_dir.is_dir() else for_file_or_dir.parent).absolute()
    source = config_file.absolute() if config_file else find_config(folder)
    options = Options(root=source.parent if source else folder, source=source)
    problems: tuple[ConfigProblem, ...] = ()
    if source:
        table = read_config(source)
        checked, wrong = _check(table.values, table.places, source, known)
        options = replace(options, **checked)
        problems = table.problems + wrong
    given = {_kebab(key): value for key, value in (overrides or {}).items() if value is not None}
    checked, wrong = _check(given, {}, Path(overrides_from), known)
    if "select" in checked:
        options = replace(options, ignore=())
    for key in ("ignore", "exclude"):
        if key in checked:
            checked[key] = (*getattr(options, key), *checked[key])
    return replace(options, **checked), problems + wrong


def matches(glob: str, path: Path, root: Path) -> bool:
    """Whether ``glob``, written like a line of ``.gitignore`` and relative to ``root``, matches the file at ``path``.

    With ``!`` in front it matches every other file.
    """
    try:
        relative = path.absolute().relative_to(root).as_posix()
    except ValueError:
        relative = path.name
    if glob.startswith("!"):
        return not _spec(glob[1:]).match_file(relative)
    return _spec(glob).match_file(relative)


@lru_cache(maxsize=256)
def _spec(glob: str) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # slow to import and seldom needed

    return GitIgnoreSpec.from_lines([glob])


def rules_meant(entry: str, known: Mapping[str, str]) -> frozenset[str]:
    """Names of the rules that ``entry`` stands for: a name, a code, the beginning of a code, or ``ALL``.

    Args:
        known: name -> code of every rule there is.
    """
    return frozenset(name for name, code in known.items() if _length(entry, name, code))


def _length(entry: str, name: str, code: str) -> int:
    """How closely ``entry`` means this rule, by name or code: 0 for not at all."""
    upper = entry.upper()
    if upper == code or entry.lower() == name:
        return len(code)
    if upper == "ALL":
        return 1
    return len(upper) if upper.startswith("JXP") and code.startswith(upper) else 0


def _longest(entries: Iterable[str], name: str, code: str) -> int:
    return max((_length(entry, name, code) for entry in entries), default=0)


def _kebab(key: str) -> str:
    """``jaxVersion`` and ``jax_version``, as editors and Python write it, to ``jax-version``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", key).replace("_", "-").lower()


@dataclass
class _Check:
    places: Mapping[KeyPath, Place]
    path: Path
    known: Mapping[str, str]
    problems: list[ConfigProblem] = field(default_factory=list)

    def report(self, at: KeyPath, message: str, on_key: bool = False) -> None:
        place = self.places.get(at)
        area = NOWHERE if place is None else place.key if on_key else place.value
        self.problems.append(ConfigProblem(self.path, area, str(at[0]) if at else "", message))

    def strings(self, value: object, *at: str | int) -> list[tuple[KeyPath, str]]:
        """The strings of a list, each with its place; other items are reported."""
        name = ".".join(map(str, at))
        if not isinstance(value, (list, tuple)):
            example = f'["{value}"]' if isinstance(value, str) else '["…"]'
            self.report(at, f"`{name}` must be a list of strings, not {_kind(value)}: write `{example}`")
            return []
        good = []
        for number, item in enumerate(value):
            if isinstance(item, str) and item.strip():
                good.append(((*at, number), item.strip()))
            else:
                what = "an empty string" if isinstance(item, str) else _kind(item)
                self.report((*at, number), f"`{name}` must be a list of strings; item {number + 1} is {what}")
        return good

    def rules(self, value: object, *at: str | int) -> tuple[str, ...]:
        """A list of rules, without those that do not exist."""
        good = []
        for place, entry in self.strings(value, *at):
            if message := unknown_rule(entry, self.known):
                self.report(place, message)
            else:
                good.append(entry)
        return tuple(good)

    def globs(self, value: object, *at: str | int) -> tuple[str, ...]:
        return tuple(glob for place, glob in self.strings(value, *at) if self.glob(glob, place))

    def glob(self, glob: str, at: KeyPath, on_key: bool = False) -> bool:
        try:
            matches_something = any(it.include is not None for it in _spec(glob.removeprefix("!")).patterns)
        except ValueError:
            matches_something = False
        if not matches_something:
            self.report(at, f"`{glob}` is not a pattern: write one as in `.gitignore`, such as `tests/*`", on_key)
        return matches_something

    def truth(self, value: object, key: str) -> bool | None:
        if isinstance(value, bool):
            return value
        self.report((key,), f"`{key}` must be true or false, not {_kind(value)}")
        return None

    def version(self, value: object, key: str) -> str | None:
        example = f'`{key} = "0.7.2"`'
        if isinstance(value, str):
            try:
                return str(Version(value))
            except InvalidVersion:
                self.report((key,), f"`{value}` is not a version: write one such as {example}")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            self.report((key,), f"`{key}` must be a string, or 0.10 would be 0.1: write {example}")
        else:
            self.report((key,), f"`{key}` must be a string, not {_kind(value)}: write {example}")
        return None

    def ignores_by_file(self, value: object, key: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
        if not isinstance(value, Mapping):
            message = f'`{key}` must be a table, not {_kind(value)}: write `{key} = {{ "tests/*" = ["JXP301"] }}`'
            self.report((key,), message)
            return ()
        return tuple(
            (glob, self.rules(ignored, key, glob))
            for glob, ignored in value.items()
            if self.glob(glob, (key, glob), on_key=True)
        )


def _check(
    values: Mapping[str, Any], places: Mapping[KeyPath, Place], path: Path, known: Mapping[str, str]
) -> tuple[dict[str, Any], tuple[ConfigProblem, ...]]:
    """The good values by the field of :class:`Options`, and what is wrong with the others."""
    check = _Check(places, path, known)
    good: dict[str, Any] = {}
    for key, value in values.items():
        if key in ("select", "ignore"):
            good[key] = check.rules(value, key)
        elif key == "exclude":
            good[key] = check.globs(value, key)
        elif key == "per-file-ignores":
            good["per_file_ignores"] = check.ignores_by_file(value, key)
        elif key == "jax-version":
            good["jax_version"] = check.version(value, key)
        elif key in ("remat3", "x64"):
            good[key] = check.truth(value, key)
        else:
            check.report((key,), _unknown_option(key, path), on_key=True)
    problems = sorted(check.problems, key=lambda problem: problem.range)
    return {key: value for key, value in good.items() if value is not None}, tuple(problems)


def _unknown_option(key: str, path: Path) -> str:
    if path.name == "jaxpert.toml" and key in ("tool", "jaxpert"):
        return f"in jaxpert.toml the options stand at the top: take `[{'tool.jaxpert' if key == 'tool' else key}]` out"
    known_keys = ", ".join(f"`{it}`" for it in KEYS)
    return f"there is no option `{key}`{did_you_mean(key, KEYS) or f'; there are {known_keys}'}"


def unknown_rule(entry: str, known: Mapping[str, str]) -> str:
    """What to say when ``entry`` is no rule's name, code, or beginning of a code; "" when it is.

    Args:
        known: name -> code of every rule there is.
    """
    if rules_meant(entry, known):
        return ""
    return f"there is no rule `{entry}`{did_you_mean(entry, likely_meant(entry, known))}"


def likely_meant(entry: str, known: Mapping[str, str]) -> list[str]:
    """What an unknown ``entry`` may be a slip of: a wrong number is not, since a near number is another rule."""
    return [*known] if entry.upper().startswith("JXP") else [*known, *known.values()]


def _kind(value: object) -> str:
    """What a user calls a TOML or JSON value of this type."""
    names = {str: "a string", bool: "a boolean", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), "a date" if hasattr(value, "isoformat") else f"{type(value).__name__}")
