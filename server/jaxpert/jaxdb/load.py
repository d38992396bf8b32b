"""Answers about JAX in one version, read from ``data/``.

Two files, both written by ``server/tools/build_api.py``. ``apis.json`` holds the names we know something about and
is read when the first file is analysed. ``names.json`` holds the history of all public names and is read when
somebody first asks whether a name exists.
"""

from __future__ import annotations

import ast
import json
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal

from packaging.version import Version

from jaxpert.jaxdb.schema import Api, ApiKind, JaxTarget, Parameter, Signature, VersionNote

DATA = Path(__file__).parent / "data"
POLICIES = "jax.checkpoint_policies"

# Groups of names.json that are not modules.
PRIMITIVES = "<primitives>"
PRIVATE_PATHS = "<private paths>"

WAS_READ = "."
"""Stands among the names of an owner in the releases where that owner was read: elsewhere they are not known."""

ALWAYS_KNOWN = ("__version__", "__version_info__")
"""Names with underscores that are recorded all the same."""


class JaxDb:
    """What is known about the JAX of ``target``. Made by :func:`load`; its answers never change.

    Attributes:
        target: the JAX that the answers are about.
        markers: a text that contains none of these substrings cannot concern us.
    """

    markers: tuple[str, ...] = ("jax", "flax", "haiku", "equinox", "haliax", "checkpoint_name")

    def __init__(self, target: JaxTarget) -> None:
        self.target = target
        self._before, self._after = _neighbours(target.version)
        self._names: dict[str, tuple[frozenset[str] | None, frozenset[str] | None]] = {}

    def api(self, path: str) -> Api | None:
        """The API that a dotted path means in any version; None when we have nothing to say about it."""
        return _catalogue().api(path)

    def apis(self) -> Iterator[Api]:
        """Every API, of every version and library, in the order of the data."""
        return _catalogue().apis()

    @cached_property
    def words_about_names(self) -> frozenset[str]:
        """Last words of the paths of everything that takes checkpoint names."""
        kinds = (ApiKind.CHECKPOINT_NAME, ApiKind.POLICY_FACTORY)
        return frozenset(path.rpartition(".")[2] for api in self.apis() if api.kind in kinds for path in api.paths)

    @cached_property
    def words_about_policies(self) -> frozenset[str]:
        """Last words of the paths of every policy and of everything that makes one."""
        kinds = (ApiKind.POLICY, ApiKind.POLICY_FACTORY)
        return frozenset(path.rpartition(".")[2] for api in self.apis() if api.kind in kinds for path in api.paths)

    def signature(self, api: Api) -> Signature | None:
        """The signature in the target version, or None where it is unknown, not a callable or not there."""
        return api.signature(self.target.version)

    def exists(self, path: str) -> bool | None:
        """Whether a dotted path names something in the target version; None when that is not known.

        Known are the members of JAX's public modules and of its policy namespace in every release since the
        oldest of the data, and the private paths of :meth:`apis`. A version between two releases is known where
        both agree. In a later release series than the newest known one, names are known to be there, never to
        be missing.
        """
        parts = path.split(".")
        if parts[0] != "jax":
            return None
        if "._" in path and parts[-1] not in ALWAYS_KNOWN:
            return self._has(PRIVATE_PATHS, path) if _history().mentions(PRIVATE_PATHS, path) else None
        owner = "jax"
        for name in parts[1:]:
            there = self._has(owner, name)
            if there is not True:
                return there
            owner = f"{owner}.{name}"
        return True

    def policy_names(self) -> frozenset[str]:
        """The members of ``jax.checkpoint_policies``."""
        return self._nearest(POLICIES)

    def primitive_names(self) -> frozenset[str]:
        """Names of the primitives that a policy may meet, as ``prim.name`` gives them."""
        return self._nearest(PRIMITIVES)

    def was_primitive(self, name: str) -> bool:
        """Whether a primitive has this name in any known release."""
        return _history().mentions(PRIMITIVES, name)

    def signature_ignores_names(self, name: str) -> bool:
        """Whether the policy factory ``name`` accepts anything in place of its names."""
        api = self.api(f"{POLICIES}.{name}")
        return api is not None and api.has("names_not_looked_at", self.target.version)

    def _has(self, owner: str, name: str) -> bool | None:
        before, after = self._around(owner)
        if before is None:
            return None
        if self._after is None:
            return True if name in before else None
        return name in before if after is not None and (name in before) == (name in after) else None

    def _nearest(self, owner: str) -> frozenset[str]:
        """For a version between two releases, the names of the earlier one."""
        before, after = self._around(owner)
        return (before or after or frozenset()) - {WAS_READ}

    def _around(self, owner: str) -> tuple[frozenset[str] | None, frozenset[str] | None]:
        """The names of ``owner`` in the nearest releases; None where there is no release or no record."""
        found = self._names.get(owner)
        if found is None:
            history = _history()
            found = (history.names(owner, self._before), history.names(owner, self._after))
            self._names[owner] = found
        return found


@cache
def load(target: JaxTarget) -> JaxDb:
    """The database for ``target``; the same object for an equal target."""
    return JaxDb(target)


def known_versions() -> tuple[Version, ...]:
    """The releases that the data was read from, oldest first."""
    return _catalogue().versions


def newest_known() -> Version:
    """The newest release that the data was read from."""
    return _catalogue().versions[-1]


def switch_exists(name: str, version: Version) -> bool:
    """Whether JAX ``version`` has the configuration option ``name``, "jax_remat3" or "jax_enable_x64".

    All recorded options are off by default in all recorded versions; the builder refuses anything else.
    """
    since = _catalogue().switches.get(name)
    return since is not None and since <= version


def parse_signature(text: str, since: Version, until: Version | None = None) -> Signature:
    """A :class:`Signature` from ``(a, *, b=1)``.

    Raises:
        SyntaxError: ``text`` is not a parameter list.
    """
    definition = ast.parse(f"def _{text}: ...").body[0]
    assert isinstance(definition, ast.FunctionDef)
    arguments = definition.args
    parameters: list[Parameter] = []
    positional = [*arguments.posonlyargs, *arguments.args]
    required = len(positional) - len(arguments.defaults)
    for index, argument in enumerate(positional):
        default = ast.unparse(arguments.defaults[index - required]) if index >= required else None
        kind: Literal["positional_only", "positional_or_keyword"] = (
            "positional_only" if index < len(arguments.posonlyargs) else "positional_or_keyword"
        )
        parameters.append(Parameter(argument.arg, kind, default))
    if arguments.vararg is not None:
        parameters.append(Parameter(arguments.vararg.arg, "var_positional"))
    for argument, value in zip(arguments.kwonlyargs, arguments.kw_defaults):
        parameters.append(Parameter(argument.arg, "keyword_only", None if value is None else ast.unparse(value)))
    if arguments.kwarg is not None:
        parameters.append(Parameter(arguments.kwarg.arg, "var_keyword"))
    return Signature(tuple(parameters), since, until)


class _Catalogue:
    """``apis.json``; each :class:`Api` is built when it is first asked for."""

    def __init__(self) -> None:
        data = json.loads((DATA / "apis.json").read_text(encoding="utf-8"))
        self.versions = tuple(map(Version, data["versions"]))
        self.switches = {name: Version(since) for name, since in data["switches"].items()}
        self._records: list[dict[str, Any]] = data["apis"]
        self._built: dict[int, Api] = {}
        self._index = {path: place for place, record in enumerate(self._records) for path in record["paths"]}

    def api(self, path: str) -> Api | None:
        place = self._index.get(path)
        return None if place is None else self._at(place)

    def apis(self) -> Iterator[Api]:
        return map(self._at, range(len(self._records)))

    def _at(self, place: int) -> Api:
        api = self._built.get(place)
        if api is None:
            api = self._built[place] = _build(self._records[place])
        return api


def _build(record: dict[str, Any]) -> Api:
    return Api(
        name=record["paths"][0],
        library=record["library"],
        kind=ApiKind(record["kind"]),
        paths=tuple(record["paths"]),
        signatures=tuple(
            parse_signature(text, Version(since), Version(until) if until else None)
            for text, since, until in record["signatures"]
        ),
        roles=record["roles"],
        traits=frozenset(record["traits"]),
        trait_since={trait: Version(since) for trait, since in record["trait_since"].items()},
        summary=record["summary"],
        arguments=record["arguments"],
        notes=tuple(VersionNote(*note) for note in record["notes"]),
        url=record["url"],
        example=record["example"],
        example_since=Version(record["example_since"]) if record["example_since"] else None,
    )


class _History:
    """``names.json``: for each owner, names grouped by the stretches of releases in which they were there."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, str]] = json.loads((DATA / "names.json").read_text(encoding="utf-8"))

    def names(self, owner: str, version: Version | None) -> frozenset[str] | None:
        """The names of ``owner`` in a known release; None when they were not read there."""
        groups = self._groups.get(owner)
        if groups is None or version is None:
            return None
        names = frozenset(name for spans, text in groups.items() if in_spans(spans, version) for name in text.split())
        return names if WAS_READ in names else None

    def mentions(self, owner: str, name: str) -> bool:
        """Whether ``owner`` has or had ``name``."""
        return any(name in text.split() for text in self._groups.get(owner, {}).values())


def in_spans(spans: str, version: Version) -> bool:
    """Whether ``version`` lies in one of ``spans``: ``0.4.30-0.5.0 0.7.0-`` means from the first up to, not
    including, the second, and again from the third on."""
    for span in spans.split():
        since, _, until = span.partition("-")
        if Version(since) <= version and (not until or version < Version(until)):
            return True
    return False


def beyond_what_is_known(version: Version) -> str:
    """How ``version`` lies beyond the releases that were measured, to be said after its name; "" when it does not."""
    oldest, newest = known_versions()[0], known_versions()[-1]
    if version < oldest:
        return f"older than {oldest}, the oldest that is known here"
    if version.release[:2] > newest.release[:2] or version.epoch:
        return f"newer than {newest}, the newest that is known here"
    return ""


_catalogue = cache(_Catalogue)
_history = cache(_History)


def _neighbours(version: Version) -> tuple[Version | None, Version | None]:
    """The known releases at or around ``version``: both the same when it is one of them.

    A later patch of the newest known series counts as the newest known release.
    """
    versions = known_versions()
    version = Version(version.public)
    place = bisect_right(versions, version)
    if not place:
        return None, versions[0]
    before = versions[place - 1]
    if place < len(versions):
        return before, before if before == version else versions[place]
    return before, before if before.release[:2] == version.release[:2] else None
