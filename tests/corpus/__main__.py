"""Checks the pinned packages and compares the hits with the ledger.

    python -m tests.corpus                        # everything that can be fetched
    python -m tests.corpus flax EasyLM            # some (any part of the name)
    python -m tests.corpus --source jax-ml/jax=DIR   # a folder that is already here

Needs Python 3.12 or newer, since some of the code does. Exit code 0 when every hit is in the ledger and none is lost,
1 when not or when jaxpert crashed, 2 when nothing could be checked.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from jaxpert.jaxdb.load import load, newest_known
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.text.lines import split_lines
from tests.corpus.ledger import Hit, compare, read_ledger, stanza
from tests.corpus.sources import NotFetched, Source, fetched, pinned_sources

REPO = Path(__file__).resolve().parents[2]
CACHE = platformdirs.user_cache_path("jaxpert") / "corpus"


@dataclass(frozen=True)
class Checked:
    """What ``check`` said about one source; lines are those of files that mention JAX or a library around it."""

    findings: list[dict[str, Any]]
    crash: str
    lines: int
    seconds: float
    cpu_seconds: float


def check(source: Source, folder: Path, jobs: int) -> Checked:
    """Run ``jaxpert check`` on ``folder`` in a process of its own."""
    version = source.jax or str(newest_known())
    command = [sys.executable, "-m", "jaxpert", "check", "--output-format", "json", "--exit-zero"]
    command += ["--jobs", str(jobs), "--jax-version", version, "."]
    path = os.pathsep.join([str(REPO / "server"), os.environ.get("PYTHONPATH", "")])
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, encoding="utf-8"
    )
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    crashed = done.returncode != 0 or "Traceback" in done.stderr or "crash" in done.stderr
    findings = json.loads(done.stdout) if done.returncode == 0 else []
    return Checked(findings, done.stderr if crashed else "", lines_about_jax(folder), seconds, cpu)


def lines_about_jax(folder: Path) -> int:
    """Lines of the Python files that contain one of the substrings without which jaxpert looks no further."""
    markers = [marker.encode() for marker in load(JaxTarget(newest_known(), "newest known")).markers]
    count = 0
    for file in folder.rglob("*.py"):
        text = file.read_bytes()
        if any(marker in text for marker in markers):
            count += text.count(b"\n")
    return count


def main() -> int:
    """Fetch, check, compare, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only sources whose name contains one of these")
    parser.add_argument("--source", action="append", default=[], metavar="NAME=DIR", help="use this folder for NAME")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where fetched sources are kept")
    parser.add_argument("--jobs", type=int, default=1, help="processes for one check")
    arguments = parser.parse_args()
    local = {name: Path(folder) for name, folder in (item.split("=", 1) for item in arguments.source)}
    if sys.version_info < (3, 12):
        parser.error("run this with Python 3.12 or newer: with an older one, newer syntax is a syntax error")
    known = pinned_sources()
    if unknown := local.keys() - {source.name for source in known}:
        parser.error(f"not in packages.toml: {', '.join(sorted(unknown))}")

    checked: dict[str, Checked] = {}
    hits: dict[Hit, tuple[str, str]] = {}
    for source in known:
        if arguments.names and not any(name.lower() in source.name.lower() for name in arguments.names):
            continue
        try:
            folder = local.get(source.name) or fetched(source, arguments.cache)
        except NotFetched as error:
            print(f"{source.name}: cannot be fetched here: {error}")
            continue
        result = checked[source.name] = check(source, folder.resolve(), arguments.jobs)
        speed = result.lines / max(result.cpu_seconds, 1e-3)
        print(
            f"{source.name}: {len(result.findings)} findings, {result.lines:,} lines about JAX, "
            f"{result.seconds:.1f} s, {speed:,.0f} lines per CPU second"
        )
        if result.crash:
            print(f"{source.name}: jaxpert crashed:\n{result.crash}")
        hits.update(_hits(source, folder.resolve(), result))
    if not checked:
        print("Nothing could be checked.")
        return 2

    comparison = compare(hits, read_ledger(), set(checked))
    for hit in comparison.new:
        print("\n" + stanza(hit, *hits[hit]), end="")
    for entry in comparison.lost:
        print(f"\nlost: {entry.hit} ({entry.verdict}: {entry.why})")
    verdicts = Counter(entry.verdict for entry in comparison.known)
    lines, cpu = (sum(getattr(result, name) for result in checked.values()) for name in ("lines", "cpu_seconds"))
    print(
        f"\n{len(checked)} sources, {lines:,} lines about JAX, {lines / max(cpu, 1e-3):,.0f} lines per CPU second. "
        f"{len(hits)} hits: {verdicts['true']} true, {verdicts['arguable']} arguable, {verdicts['false']} false, "
        f"{len(comparison.new)} to be judged; {len(comparison.lost)} lost."
    )
    crashed = any(result.crash for result in checked.values())
    return 1 if comparison.new or comparison.lost or crashed else 0


def _hits(source: Source, folder: Path, result: Checked) -> dict[Hit, tuple[str, str]]:
    """Each hit with its line of code and the message."""
    found = {}
    for finding in result.findings:
        file, place = Path(str(finding["filename"])), finding["location"]
        name, row, cell = file.relative_to(folder).as_posix(), place["row"], finding["cell"] or 0
        hit = Hit(source.name, name, row, place["column"], str(finding["name"]), cell)
        lines = split_lines(file.read_text(encoding="utf-8", errors="replace"))
        code = "" if cell else lines[row - 1]
        found[hit] = (code, str(finding["message"]))
    return found


if __name__ == "__main__":
    sys.exit(main())
