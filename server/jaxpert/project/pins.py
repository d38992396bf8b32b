"""Which JAX do the lock files, requirements files and the pyproject.toml of a folder ask for?"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from jaxpert.jaxdb.load import known_versions
from jaxpert.project.reading import children, parse_version, read_text, skip

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_TOML_LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
_LOCKS = (*_TOML_LOCKS, "Pipfile.lock")
_REQUIREMENT = re.compile(r"jax\s*(?:\[[^\]]*\])?\s*(?:(?![\w.-])\(?([^;()]*)\)?)?\s*(?:;.*)?", re.IGNORECASE)


def pinned(folder: Path) -> tuple[Version, Path] | None:
    """The JAX that ``folder`` asks for and the file that says so: lock files first, pyproject.toml last.

    A range gives the newest known JAX in it. A requirement without a version says nothing.
    """
    names = children(folder)
    return _of_lock_files(folder, names) or _of_requirements(folder, names) or _of_pyproject(folder, names)


def _of_lock_files(folder: Path, names: list[str]) -> tuple[Version, Path] | None:
    for name in _LOCKS:
        path = folder / name
        text = read_text(path) if name in names else None
        if text is None:
            continue
        pins = _toml_lock_pins(text) if name in _TOML_LOCKS else _pipfile_pins(text, path)
        versions = [version for pin in pins if (version := parse_version(pin, path))]
        if versions:
            return max(versions), path
    return None


def _toml_lock_pins(text: str) -> Iterator[str]:
    """Versions of the packages called jax. By pattern: these files are long, machine-written and regular."""
    for found in re.finditer(r"""^name\s*=\s*["']jax["']\s*$""", text, re.MULTILINE):
        end = text.find("\n[", found.end())
        table = text[text.rfind("\n[", 0, found.start()) + 1 : end if end >= 0 else len(text)]
        version = re.search(r"""^version\s*=\s*["']([^"']+)""", table, re.MULTILINE)
        if version and table.startswith("[[package"):
            yield version[1]


def _pipfile_pins(text: str, path: Path) -> Iterator[str]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        skip(path, error)
        return
    for section in ("default", "develop"):
        pin = _at(data, section, "jax", "version")
        if isinstance(pin, str):
            yield pin.removeprefix("==")


def _of_requirements(folder: Path, names: list[str]) -> tuple[Version, Path] | None:
    lists = [name for name in names if name.startswith("requirements") and name.endswith(".txt")]
    for name in sorted(lists, key=lambda name: (name != "requirements.txt", name)):
        path = folder / name
        if version := _newest_allowed(_requirement_lines(read_text(path) or ""), path):
            return version, path
    return None


def _requirement_lines(text: str) -> Iterator[str]:
    """The requirements of a pip file, without comments and options."""
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        requirement = re.split(r"(?:^|\s)(?:#|--?[a-z])", line, maxsplit=1)[0].strip()
        if requirement:
            yield requirement


def _of_pyproject(folder: Path, names: list[str]) -> tuple[Version, Path] | None:
    path = folder / "pyproject.toml"
    text = read_text(path) if "pyproject.toml" in names else None
    if text is None or "jax" not in text.lower():
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        data: object = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        skip(path, error)
        return None
    # What the project needs says more than what an extra or a group needs.
    for requirements in (_main_requirements(data), _other_requirements(data)):
        if version := _newest_allowed(requirements, path):
            return version, path
    return None


def _main_requirements(data: object) -> Iterator[str]:
    yield from _strings(_at(data, "project", "dependencies"))
    yield from _poetry(_at(data, "tool", "poetry", "dependencies"))


def _other_requirements(data: object) -> Iterator[str]:
    for place in (("project", "optional-dependencies"), ("dependency-groups",), ("tool", "pdm", "dev-dependencies")):
        for group in _values(_at(data, *place)):
            yield from _strings(group)
    for name in ("dev-dependencies", "constraint-dependencies", "override-dependencies"):
        yield from _strings(_at(data, "tool", "uv", name))
    yield from _poetry(_at(data, "tool", "poetry", "dev-dependencies"))
    for group in _values(_at(data, "tool", "poetry", "group")):
        yield from _poetry(_at(group, "dependencies"))


def _poetry(table: object) -> Iterator[str]:
    """Poetry's own notation of the jax entry as ordinary requirements."""
    entry = _at(table, "jax")
    for item in entry if isinstance(entry, list) else [entry]:
        constraint = item if isinstance(item, str) else _at(item, "version")
        if isinstance(constraint, str):
            for alternative in constraint.split("||"):
                clauses = re.split(r"[,\s]+(?=\D)", alternative.strip())
                yield "jax" + ",".join(map(_poetry_clause, clauses))


def _poetry_clause(clause: str) -> str:
    """``^0.4.30`` means up to the next 0.5, ``~0.4.30`` as well, ``^1.2`` up to 2; a bare version means itself."""
    if clause[:1] in "^~" and clause[1:2] != "=":
        numbers = [int(number) for number in re.findall(r"\d{1,9}", clause)] or [0]
        kept = 2 if clause[0] == "~" or numbers[0] == 0 else 1
        upper = [*numbers[:kept]]
        upper[-1] += 1
        return f">={clause[1:].strip()},<{'.'.join(map(str, upper))}"
    return f"=={clause}" if clause[:1].isdigit() else clause.removeprefix("*")


def _newest_allowed(requirements: Iterable[str], path: Path) -> Version | None:
    """The newest JAX that one of ``requirements`` asks for; None when none says anything about its version."""
    found = []
    for text in requirements:
        # By pattern and not with packaging.requirements, whose import alone costs more than all else here.
        requirement = _REQUIREMENT.fullmatch(text.strip())
        if requirement is None or "@" in text.partition(";")[0]:
            continue
        from packaging.specifiers import SpecifierSet

        try:
            found.append(_allowed(SpecifierSet(requirement[1])))
        except ValueError as error:  # InvalidSpecifier, or a number with more digits than Python converts
            skip(path, f"{text!r}: {error}")
    return max((version for version in found if version is not None), default=None)


def _allowed(specifiers: SpecifierSet) -> Version | None:
    """The pinned version, else the newest known one that fits, else the nearest one that is named."""
    named: dict[str, list[Version]] = {}
    for specifier in specifiers:
        try:
            version = Version(specifier.version.removesuffix(".*"))
        except InvalidVersion:  # only ``===`` takes other texts
            continue
        if specifier.operator in ("==", "===") and not specifier.version.endswith(".*"):
            return version
        named.setdefault(specifier.operator, []).append(version)
    if not named:
        return None
    fitting = list(specifiers.filter(known_versions(), prereleases=True))
    if fitting:
        return max(fitting)
    bounds = [version for operator, versions in named.items() if operator not in ("<", "!=") for version in versions]
    return max(bounds or named.get("<", []), default=None)


def _at(data: object, *keys: str) -> object:
    """The value below nested tables, or None."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _values(data: object) -> Iterable[object]:
    return data.values() if isinstance(data, dict) else ()


def _strings(data: object) -> Iterator[str]:
    return (item for item in data if isinstance(item, str)) if isinstance(data, list) else iter(())
