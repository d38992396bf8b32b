"""Write ``jaxdb/data/apis.json`` and ``names.json``.

    python server/tools/build_api.py                      join apis/*.toml with the facts already recorded
    python server/tools/build_api.py PYTHON …             also read the JAX that each of these interpreters has
    python server/tools/build_api.py --check [PYTHON …]   change nothing; exit with 1 when the files would change

A release that is not among the interpreters keeps the facts recorded for it, so a new release needs one new
environment. To read everything anew, delete the two files and give one interpreter for each release. The
environments need ``absl-py`` and ``flatbuffers`` as well: some public modules import them.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from packaging.version import Version

from jaxpert.jaxdb.load import DATA, PRIMITIVES, PRIVATE_PATHS, WAS_READ, in_spans, parse_signature
from jaxpert.jaxdb.schema import ROLES, TRAITS, ApiKind

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SWITCHES = ("jax_enable_x64", "jax_remat3")
REFERENCE = "https://docs.jax.dev/en/latest/_autosummary/{}.html"
CHANGES = {"added", "changed", "deprecated", "removed", "note"}
FIELDS = {
    "name", "library", "kind", "paths", "wider", "signature", "accepts", "roles", "traits", "trait_since", "summary",
    "arguments", "notes", "url", "example", "example_since",
}  # fmt: skip


class DataError(Exception):
    """The data contradicts itself or the JAX that was read; the text says where."""


@dataclass
class Facts:
    """What the releases say.

    Attributes:
        names: owner (module, namespace, or one of the special groups) -> release -> its names.
        signatures: API name -> release -> signature text.
        switches: configuration option -> releases that have it.
    """

    versions: set[str] = field(default_factory=set)
    names: dict[str, dict[str, frozenset[str]]] = field(default_factory=dict)
    signatures: dict[str, dict[str, str]] = field(default_factory=dict)
    switches: dict[str, set[str]] = field(default_factory=dict)


def main() -> int:
    """Run from a shell; see the module's text."""
    parser = argparse.ArgumentParser(description="Write the generated data of jaxdb.")
    parser.add_argument("--check", action="store_true", help="report differences instead of writing")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON", help="interpreters of environments with JAX")
    options = parser.parse_args()
    try:
        written = read_written()
        facts = recorded(written)
        for python in options.pythons:
            add(facts, inspect(python, written), written)
        made = {"apis.json": apis_json(written, facts), "names.json": names_json(facts)}
    except DataError as error:
        print(error, file=sys.stderr)
        return 2
    there = {path.name: path.read_text("utf-8") for path in DATA.glob("*.json")}
    stale = [name for name, text in made.items() if there.get(name) != text]
    for name in stale:
        if options.check:
            print(f"{name} is out of date")
        else:
            (DATA / name).write_text(made[name], "utf-8")
            print(f"wrote {name}: {len(made[name]):,} bytes")
    return 1 if options.check and stale else 0


# -- the hand-written part --------------------------------------------------------------------------------------------


def read_written() -> list[dict[str, Any]]:
    """The entries of apis/*.toml, checked and completed.

    Raises:
        DataError: an entry has an unknown field, kind, role or trait, or a path that another one has too.
    """
    entries: list[dict[str, Any]] = []
    for file in sorted((DATA / "apis").glob("*.toml")):
        content = tomllib.loads(file.read_text("utf-8"))
        entries += ({**entry, "shared_arguments": content.get("arguments", {})} for entry in content["api"])
    kinds = {kind.value for kind in ApiKind}
    owners: dict[str, str] = {}
    for entry in entries:
        name = entry["name"]
        for wrong, what in (
            (set(entry) - FIELDS - {"shared_arguments"}, "field"),
            ({entry["kind"]} - kinds, "kind"),
            (set(entry.get("roles", {})) - set(ROLES), "role"),
            (set(entry.get("traits", ())) - set(TRAITS), "trait"),
            ({change for _, change, _ in entry.get("notes", ())} - CHANGES, "change"),
            (set(entry.get("wider", ())) - set(entry.get("paths", ())), "path in wider"),
        ):
            if wrong:
                raise DataError(f"{name}: unknown {what} {', '.join(sorted(wrong))}")
        entry.setdefault("library", "jax")
        entry.setdefault("url", REFERENCE.format(name))
        entry["paths"] = [name, *entry.get("paths", ())]
        for path in entry["paths"]:
            if path in owners:
                raise DataError(f"{path} belongs to {owners[path]} and to {name}")
            owners[path] = name
    return entries


# -- reading JAX ------------------------------------------------------------------------------------------------------


def inspect(python: str, written: list[dict[str, Any]]) -> dict[str, Any]:
    """What the JAX of one interpreter says; see inspect_jax.py.

    Raises:
        DataError: it cannot be run or read.
    """
    paths = [path for entry in written if entry["library"] == "jax" for path in entry["paths"]]
    request = json.dumps({"paths": paths, "switches": SWITCHES})
    script = Path(__file__).with_name("inspect_jax.py")
    try:
        done = subprocess.run([python, str(script)], input=request, capture_output=True, text=True, check=False)
    except OSError as error:
        raise DataError(f"{python}: {error}") from error
    if done.returncode:
        raise DataError(f"{python}:\n{done.stderr}")
    if done.stderr:
        print(done.stderr, end="", file=sys.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def add(facts: Facts, answer: Mapping[str, Any], written: list[dict[str, Any]]) -> None:
    """Put one release's answer into ``facts``, in place of what was recorded for it.

    Raises:
        DataError: a public module could not be imported, a switch is on by default, or two paths of one API have
            different signatures.
    """
    version = answer["version"]
    broken = sorted(name for name, members in answer["modules"].items() if members is None)
    if broken:
        raise DataError(f"JAX {version}: cannot import {', '.join(broken)}")
    facts.versions.add(version)
    for owner in facts.names.values():
        owner.pop(version, None)
    private = [path for path in answer["paths"] if "._" in path]
    groups = {**answer["modules"], PRIMITIVES: answer["primitives"], PRIVATE_PATHS: private}
    for owner_name, members in groups.items():
        facts.names.setdefault(owner_name, {})[version] = frozenset(members) | {WAS_READ}
    for switch in SWITCHES:
        facts.switches.setdefault(switch, set()).discard(version)
        if switch in answer["switches"]:
            if answer["switches"][switch]:
                raise DataError(f"JAX {version}: {switch} is on by default; JaxTarget and detect() assume it is off")
            facts.switches[switch].add(version)
    for entry in written:
        if entry["library"] == "jax":
            facts.signatures.setdefault(entry["name"], {}).pop(version, None)
            text = signature_of(entry, answer)
            if text is not None:
                facts.signatures[entry["name"]][version] = text


def signature_of(entry: Mapping[str, Any], answer: Mapping[str, Any]) -> str | None:
    """The signature of one API in one release; None when it is absent or not a callable."""
    present = {path: answer["paths"][path] for path in entry["paths"] if path in answer["paths"]}
    if not present:
        return None
    strict = {path: text for path, text in present.items() if path not in entry.get("wider", ())} or present
    first, *others = strict.values()
    if any(other != first for other in others):
        raise DataError(f"JAX {answer['version']}: paths of {entry['name']} differ: {strict}")
    text: str | None = first
    return text


# -- writing and reading the files ------------------------------------------------------------------------------------


def ordered(versions: Iterable[str]) -> list[str]:
    """Version strings, oldest first."""
    return sorted(versions, key=Version)


def spans_of(present: set[str], versions: list[str]) -> list[tuple[str, str]]:
    """Stretches of consecutive releases: the first one, and the first one after it ("" when it lasts)."""
    spans: list[tuple[str, str]] = []
    previous = False
    for version in [*versions, ""]:
        here = version in present
        if here and not previous:
            spans.append((version, ""))
        elif previous and not here:
            spans[-1] = (spans[-1][0], version)
        previous = here
    return spans


def names_json(facts: Facts) -> str:
    """One line for each owner: its names by the stretches in which they were there."""
    versions = ordered(facts.versions)
    lines = []
    for owner in sorted(facts.names):
        presence: dict[str, set[str]] = {}
        for version, members in facts.names[owner].items():
            for name in members:
                presence.setdefault(name, set()).add(version)
        groups: dict[str, list[str]] = {}
        for name in sorted(presence):
            spans = " ".join(f"{since}-{until}" for since, until in spans_of(presence[name], versions))
            groups.setdefault(spans, []).append(name)
        if groups:
            line = {spans: " ".join(names) for spans, names in sorted(groups.items())}
            lines.append(f"{json.dumps(owner)}: {json.dumps(line)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def apis_json(written: list[dict[str, Any]], facts: Facts) -> str:
    """One line for each API.

    Raises:
        DataError: an API of JAX was never there, or a role or a description names a parameter that no signature has.
    """
    versions = ordered(facts.versions)
    lines = []
    for entry in written:
        record = {
            "paths": entry["paths"],
            "library": entry["library"],
            "kind": entry["kind"],
            "signatures": signature_spans(entry, facts, versions),
            "roles": entry.get("roles", {}),
            "traits": sorted(entry.get("traits", ())),
            "trait_since": entry.get("trait_since", {}),
            "summary": entry["summary"],
            "arguments": {},
            "notes": entry.get("notes", []),
            "url": entry["url"],
            "example": entry.get("example", "").strip("\n"),
            "example_since": entry.get("example_since", ""),
        }
        signatures = [parse_signature(text, Version("0")) for text, *_ in record["signatures"]]
        parameters = {p.name: None for signature in signatures for p in signature.parameters}
        described = entry.get("arguments", {})
        lost = {*record["roles"].values(), *described} - parameters.keys()
        if lost:
            raise DataError(f"{entry['name']}: no signature has the parameter {', '.join(sorted(lost))}")
        described = {**entry.get("shared_arguments", {}), **described}
        record["arguments"] = {name: described[name] for name in parameters if name in described}
        lines.append("  " + json.dumps(record, ensure_ascii=False))
    # A switch, once there, has stayed; the first release is enough.
    switches = {name: ordered(found)[0] for name, found in sorted(facts.switches.items()) if found}
    return (
        f'{{\n"versions": {json.dumps(versions)},\n"switches": {json.dumps(switches)},\n"apis": [\n'
        + ",\n".join(lines)
        + "\n]\n}\n"
    )


def signature_spans(entry: Mapping[str, Any], facts: Facts, versions: list[str]) -> list[list[str]]:
    """``[text, since, until]`` by stretches of releases; until is "" when it lasts."""
    if entry["library"] != "jax":
        return [[entry["signature"], "0", ""]] if "signature" in entry else []
    read = dict(facts.signatures.get(entry["name"], {}))
    for since, until, text in entry.get("accepts", ()):
        read.update({v: text for v in versions if Version(since) <= Version(v) < Version(until)})
    spans: list[list[str]] = []
    previous = None
    for version in [*versions, ""]:
        text = read.get(version)
        if text != previous:
            if previous is not None:
                spans[-1][2] = version
            if text is not None:
                # Older versions than the oldest known are taken to be like it.
                spans.append([text, "0" if version == versions[0] else version, ""])
        previous = text
    return spans


def recorded(written: list[dict[str, Any]]) -> Facts:
    """The facts in the files as they are; none when there are no files."""
    facts = Facts()
    if not (DATA / "apis.json").exists() or not (DATA / "names.json").exists():
        return facts
    apis = json.loads((DATA / "apis.json").read_text("utf-8"))
    facts.versions = set(apis["versions"])
    for owner, groups in json.loads((DATA / "names.json").read_text("utf-8")).items():
        for version in facts.versions:
            members = frozenset(
                name for spans, text in groups.items() if in_spans(spans, Version(version)) for name in text.split()
            )
            if members:
                facts.names.setdefault(owner, {})[version] = members
    for name, since in apis["switches"].items():
        facts.switches[name] = {v for v in facts.versions if Version(v) >= Version(since)}
    known = {entry["name"] for entry in written}
    for record in apis["apis"]:
        if record["paths"][0] in known and record["library"] == "jax":
            facts.signatures[record["paths"][0]] = {
                version: text
                for text, since, until in record["signatures"]
                for version in facts.versions
                if in_spans(f"{since}-{until}", Version(version))
            }
    return facts


if __name__ == "__main__":
    sys.exit(main())
