"""Measures jaxpert beside its peers, in one run on one machine, and prints a Markdown table.

    python -m tests.bench             # three sessions with each server, then checks of large packages
    python -m tests.bench --write     # the same, and put the table into README.md

The peers are installed from their packages into an environment in the user's cache; the code to check is the
corpus's. Rounds are interleaved, so that a noisy moment hits every server alike.
"""

from __future__ import annotations

import argparse
import asyncio
import compileall
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import platformdirs

import jaxpert
from tests.bench.session import Figures, play
from tests.corpus.sources import fetched, pinned_sources

HERE = Path(__file__).parent
README = HERE.parents[1] / "README.md"
CACHE = platformdirs.user_cache_path("jaxpert")
PEERS = ("ruff==0.17.5", "jaxlint[lsp]==0.1.0a1")
EDITED = ("maxtext", "maxtext/layers/pipeline.py")
CHECKED = ("praxis", "easydel", "flax")
TOUCHED = ("praxis", "praxis/layers/transformers.py")
_CHECKS = 3
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"


@dataclass(frozen=True)
class Program:
    """A server and a checker of the same project; either may be missing."""

    name: str
    serve: tuple[str, ...]
    check: tuple[str, ...] = ()


def programs(peers: Path) -> list[Program]:
    """What is measured; ``peers`` is the environment with the others' commands."""
    python = (sys.executable, "-m", "jaxpert")
    ruff, jaxlint = str(peers / "ruff"), str(peers / "jaxlint")
    return [
        Program("jaxpert", (*python, "lsp"), (*python, "check", "--exit-zero", "--jobs", "1")),
        Program("bare pygls", (sys.executable, str(HERE / "pygls_floor.py"))),
        Program("ruff", (ruff, "server"), (ruff, "check", "--isolated", "--no-cache", "--exit-zero")),
        Program("jaxlint", (f"{jaxlint}-lsp",), (jaxlint, "check", "--jobs", "1", "--format", "json")),
    ]


def install_peers(cache: Path) -> Path:
    """The folder of commands of an environment that holds :data:`PEERS`, made on the first call."""
    environment = cache / "bench-peers"
    commands = environment / ("Scripts" if os.name == "nt" else "bin")
    if not (commands / "jaxlint").exists():
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        subprocess.run([str(commands / "python"), "-m", "pip", "install", "--quiet", *PEERS], check=True)
    return commands


def cpu_seconds(command: tuple[str, ...], folder: Path) -> float:
    """User and system time of ``command`` on ``folder``, of all its processes together.

    Raises:
        RuntimeError: it did not get to the end.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise RuntimeError(f"{command[0]} failed on {folder}:\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_seconds(measured: list[Program], folder: Path, touched: str) -> dict[str, float | None]:
    """What one check of ``folder``, which is changed, costs each program; for jaxpert also once it knows the files.

    None for a program that crashes on it.
    """
    seconds: dict[str, float | None] = {}
    with tempfile.TemporaryDirectory() as cache:
        os.environ["JAXPERT_CACHE"] = cache
        for program in measured:
            if not program.check:
                continue
            print(f"check of {folder.name}: {program.name}", file=sys.stderr)
            try:
                seconds[program.name] = cpu_seconds(program.check, folder)
            except RuntimeError as crash:
                print(crash, file=sys.stderr)
                seconds[program.name] = None
            if program.name == "jaxpert":
                seconds["jaxpert again, nothing changed"] = cpu_seconds(program.check, folder)
            if program.name == "jaxpert" and touched:
                with (folder / touched).open("a", encoding="utf-8") as file:
                    file.write("# one more line\n")
                seconds[f"jaxpert again, `{Path(touched).name}` changed"] = cpu_seconds(program.check, folder)
        del os.environ["JAXPERT_CACHE"]
    return seconds


def least_seconds(measured: list[Program], folder: Path, touched: str) -> dict[str, float | None]:
    """The least of several rounds of :func:`check_seconds`: what a busy machine adds is nobody's."""
    rounds = []
    for _ in range(_CHECKS):
        with tempfile.TemporaryDirectory() as copied:
            rounds.append(check_seconds(measured, Path(shutil.copytree(folder, Path(copied, folder.name))), touched))
    taken = {name: [took for one in rounds if (took := one[name]) is not None] for name in rounds[0]}
    return {name: min(times) if times else None for name, times in taken.items()}


def server_table(figures: dict[str, Figures]) -> list[str]:
    """One row a server; in brackets, how many times jaxpert's figure it is."""
    columns = {
        "start → initialize": lambda f: f.middle("initialize"),
        "start → first diagnostics": lambda f: f.middle("first_diagnostics"),
        "keystroke → diagnostics, median": lambda f: f.middle("edits"),
        "95th percentile": lambda f: f.slow_edit(),
        "hover": lambda f: f.middle("hovers"),
        "peak memory": lambda f: max(f.megabytes),
        "findings kept while broken": lambda f: f"{100 * _kept(f):.0f}%" if f.kept and f.kept[0][1] else "–",
    }
    rows = ["| server | " + " | ".join(columns) + " |", "|---|" + "---|" * len(columns)]
    for name, figure in figures.items():
        cells = [
            _cell(read(figure), read(figures["jaxpert"]), "MB" if "memory" in column else "ms")
            for column, read in columns.items()
        ]
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


def _kept(figures: Figures) -> float:
    return min(after / before for after, before in figures.kept if before)


def _cell(value: float | str | None, ours: float | str | None, unit: str) -> str:
    if value is None or isinstance(value, str):
        return value or "–"
    shown = f"{value:,.0f} {unit}" if value >= 20 else f"{value:.1f} {unit}"
    return shown if value == ours or not isinstance(ours, float) else f"{shown} ({value / ours:.2g}×)"


def check_table(checks: dict[str, tuple[int, dict[str, float | None]]]) -> list[str]:
    """Lines per second of one core, by package; in brackets, how many times those of jaxpert's first run.

    Args:
        checks: the lines of each package, and what its check took each program in seconds.
    """
    heads = [f"{package}, {lines:,} lines" for package, (lines, _) in checks.items()]
    rows = ["| check, lines per CPU second | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    programs_measured = dict.fromkeys(name for _, seconds in checks.values() for name in seconds)
    for name in programs_measured:
        cells = []
        for lines, seconds in checks.values():
            took, ours = seconds.get(name), seconds["jaxpert"]
            if took is None or ours is None:
                cells.append("crashes" if name in seconds else "–")
            else:
                cells.append(f"{lines / took:,.0f}" + (f" ({ours / took:.2g}×)" if name != "jaxpert" else ""))
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return rows


def _caveat(pins: str, file: Path) -> str:
    versions = ", ".join(peer.replace("==", " ") for peer in PEERS)
    file_lines = file.read_text(encoding="utf-8").count("\n")
    return (
        f"Measured on {time.strftime('%Y-%m-%d')} in one run with `python -m tests.bench`: "
        f"jaxpert {jaxpert.__version__}, {versions}; sessions on {file_lines:,} lines (`{file.name}`), checks, the "
        f"best of {_CHECKS}, of {pins}; {platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}. Trust the ratios, not the milliseconds. The servers do different work: ruff "
        "does not know JAX, bare pygls knows nothing, jaxlint waits on purpose before it looks at a change. What "
        "jaxpert finds is kept from one run to the next; ruff runs with `--no-cache`."
    )


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="sessions with each server")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where the peers and the package are kept")
    parser.add_argument("--write", action="store_true", help="put the table into README.md")
    arguments = parser.parse_args()
    sources = {source.name: source for source in pinned_sources()}
    file = fetched(sources[EDITED[0]], arguments.cache / "corpus").resolve() / EDITED[1]
    folders = {name: fetched(sources[name], arguments.cache / "corpus").resolve() for name in CHECKED}
    measured = programs(install_peers(arguments.cache))
    server = HERE.parents[1] / "server"
    os.environ["PYTHONPATH"] = str(server)  # jaxpert from this copy, wherever a process starts
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    compileall.compile_dir(server, quiet=2)  # as installing does, for the peers too

    figures = {program.name: Figures() for program in measured}
    for number in range(arguments.rounds):
        for program in measured:
            print(f"round {number + 1}: {program.name}", file=sys.stderr)
            asyncio.run(play(program.serve, file, figures[program.name]))
    checks = {}
    for name, folder in folders.items():
        lines = sum(one.read_bytes().count(b"\n") for one in folder.rglob("*.py"))
        checks[name] = lines, least_seconds(measured, folder, TOUCHED[1] if name == TOUCHED[0] else "")

    pins = ", ".join(f"{name} {sources[name].pin}" for name in CHECKED)
    table = [*server_table(figures), "", *check_table(checks), "", _caveat(pins, file)]
    text = "\n".join(table)
    print(text)
    if arguments.write:
        readme = README.read_text(encoding="utf-8")
        before, rest = readme.split(BEGIN)
        README.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
