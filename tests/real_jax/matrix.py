"""Runs every rule example on many JAX versions and writes what happened to ``truth_table.json``.

A program that has not changed since is not run again.

    python -m tests.real_jax.matrix                                   # builds the environments it needs, in a cache
    python -m tests.real_jax.matrix --python 0.4.30=PATH --python …   # uses the given interpreters instead

An environment needs an interpreter that its JAX supports; where none is found, that version's old rows stay.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from packaging.version import Version

from jaxpert.rulekit.rule import Example
from jaxpert.rules import ALL_RULES
from tests.real_jax import outcomes
from tests.real_jax.outcomes import Outcome

TABLE = Path(__file__).parent / "truth_table.json"

INTERPRETERS = {
    "0.4.30": "3.10", "0.4.38": "3.10", "0.5.3": "3.11", "0.6.2": "3.11", "0.7.2": "3.11", "0.8.3": "3.11",
    "0.9.2": "3.12", "0.10.2": "3.12", "0.11.2": "3.12", "0.12.0.1": "3.12",
}  # fmt: skip
"""The versions of the table, each with a Python that it supports."""



@dataclass
class Row:
    """What one example did: ``(version, "default" or "remat3")`` to the outcomes of its bad and good program."""

    program: str
    outcomes: dict[tuple[str, str], tuple[Outcome, Outcome]] = field(default_factory=dict)


@dataclass
class Table:
    """JAX versions with the Python that they ran on, and for each rule a row for each example."""

    versions: dict[str, str]
    rules: dict[str, list[Row]]


def fingerprint(example: Example) -> str:
    """Changes whenever the programs or the evidence change, so that the table cannot silently age."""
    evidence = getattr(example.proof, "evidence", "")
    return hashlib.sha256("\0".join((example.bad, example.good, evidence)).encode()).hexdigest()[:12]


def read_table() -> Table:
    """The committed table."""
    if not TABLE.exists():
        return Table({}, {})
    stored = json.loads(TABLE.read_text(encoding="utf-8"))
    return Table(stored["versions"], {name: list(map(_row, rows)) for name, rows in stored["rules"].items()})


def _row(stored: dict[str, Any]) -> Row:
    row = Row(stored["program"])
    for group in stored["outcomes"]:
        pair = (outcomes.from_json(group["bad"]), outcomes.from_json(group["good"]))
        for mode in ("default", "remat3"):
            row.outcomes.update({(version, mode): pair for version in group.get(mode, "").split()})
    return row


def write_table(table: Table) -> None:
    """Write ``table``, versions in order, those with the same outcome together."""
    order = sorted(table.versions, key=Version)
    stored = {
        "versions": {version: table.versions[version] for version in order},
        "rules": {name: [_stored(row, order) for row in rows] for name, rows in table.rules.items()},
    }
    TABLE.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _stored(row: Row, order: list[str]) -> dict[str, Any]:
    groups: dict[tuple[Outcome, Outcome], dict[str, Any]] = {}
    for mode in ("default", "remat3"):
        for version in order:
            pair = row.outcomes.get((version, mode))
            if pair:
                bad, good = map(outcomes.as_json, pair)
                groups.setdefault(pair, {"bad": bad, "good": good}).setdefault(mode, []).append(version)
    shown = [{key: " ".join(v) if isinstance(v, list) else v for key, v in group.items()} for group in groups.values()]
    return {"program": row.program, "outcomes": shown}


def prepared_table(old: Table) -> Table:
    """``old`` with one row for each example as it is now; rows of changed programs start empty."""
    rules = {}
    for rule in ALL_RULES:
        known = {row.program: row for row in old.rules.get(rule.name, [])}
        marks = [fingerprint(example) for example in rule.examples]
        rules[rule.name] = [known.get(mark) or Row(mark) for mark in marks]
    return Table(dict(old.versions), rules)


def measure(version: str, python: str, table: Table, again: bool = False) -> int:
    """Run with ``python``, in default mode and with remat3 where it exists, what ``table`` lacks, and fill it in.

    Args:
        again: run what it has, too.

    Returns:
        How many examples ran.
    """
    pairs = [(e, row) for rule in ALL_RULES for e, row in zip(rule.examples, table.rules[rule.name])]
    lacking = [(e, row) for e, row in pairs if again or (version, "default") not in row.outcomes]
    if not lacking:
        return 0

    def run_all(remat3: bool) -> outcomes.Run:
        return outcomes.run([r for e, _ in lacking for r in outcomes.requests_for(e, remat3)], python)

    runs = {"default": run_all(remat3=False)}
    default = runs["default"]
    if str(default.jax) != version:
        raise SystemExit(f"{python} has JAX {default.jax}, not {version}")
    if default.has_remat3:
        runs["remat3"] = run_all(remat3=True)
    table.versions[version] = default.python
    for place, (_, row) in enumerate(lacking):
        for mode, run in runs.items():
            row.outcomes[version, mode] = (run.outcomes[2 * place], run.outcomes[2 * place + 1])
    return len(lacking)


def build_environment(jax: str, cache: Path) -> str | None:
    """The interpreter of a cached environment with that JAX, or None where no fitting Python is installed."""
    folder = cache / f"jax-{jax}"
    python = folder / "bin" / "python"
    if not python.exists():
        base = shutil.which(f"python{INTERPRETERS[jax]}")
        if base is None or subprocess.run([base, "-c", ""], capture_output=True).returncode:
            return None
        subprocess.run([base, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", f"jax=={jax}", f"jaxlib=={jax}"], check=True)
    return str(python)


def main() -> None:
    """Measure the versions asked for and write the table."""
    import platformdirs

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    several = {"action": "append", "default": []}
    parser.add_argument("--python", **several, metavar="VERSION=PATH", help="an interpreter with that JAX")
    parser.add_argument("--only", **several, metavar="VERSION", help="only these versions")
    parser.add_argument("--again", action="store_true", help="also run the programs that the table knows already")
    arguments = parser.parse_args()
    given = dict(item.split("=", 1) for item in arguments.python)
    cache = platformdirs.user_cache_path("jaxpert") / "jax-versions"
    table = prepared_table(read_table())
    for version in arguments.only or given or INTERPRETERS:
        python = given.get(version) or build_environment(version, cache)
        if python is None:
            print(f"{version}: no Python {INTERPRETERS[version]} here; its rows stay as they are", file=sys.stderr)
            continue
        ran = measure(version, python, table, arguments.again)
        print(f"{version}: {ran} examples run", file=sys.stderr)
        write_table(table)


if __name__ == "__main__":
    main()
