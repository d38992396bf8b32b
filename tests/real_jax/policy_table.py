"""What policies keep on many JAX versions, in ``policy_answers.json``; writes it anew for the given interpreters.

    python -m tests.real_jax.policy_table 0.4.30=PYTHON 0.12.0.1=PYTHON …

Rows of versions that are not given stay.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.real_jax.policy_answers import POLICIES, SHAPES

TABLE = Path(__file__).parent / "policy_answers.json"
SCRIPT = Path(__file__).parent / "policy_answers.py"
WITH_REMAT3 = ("0.10.2", "0.11.0", "0.11.1", "0.11.2", "0.12.0.1")

Answers = dict[str, dict[str, str]]
"""Policy as it is written → kind of value → what becomes of it."""


def read_table() -> dict[tuple[str, str], Answers]:
    """The committed table: version and "default" or "remat3" → answers."""
    stored = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    found: dict[tuple[str, str], Answers] = {}
    for policy, groups in stored.items():
        for answers, runs in groups.items():
            for run in runs.split():
                version, _, mode = run.partition("/")
                found.setdefault((version, mode), {})[policy] = dict(zip(SHAPES, answers.split()))
    return found


def write_table(table: dict[tuple[str, str], Answers]) -> None:
    """Write the table; runs with the same answers share a line."""
    stored: dict[str, dict[str, str]] = {policy: {} for policy in POLICIES}
    for (version, mode), answers in table.items():
        for policy, found in answers.items():
            line = " ".join(found[kind] for kind in SHAPES)
            runs = stored[policy].get(line, "")
            stored[policy][line] = f"{runs} {version}/{mode}".strip()
    TABLE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


def run(python: str, mode: str) -> Answers:
    """What the JAX of an interpreter does."""
    arguments = [python, str(SCRIPT), *(["remat3"] if mode == "remat3" else [])]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(arguments, capture_output=True, text=True, check=True, env=environment, timeout=300)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Run the given interpreters and write the table."""
    table = read_table()
    for argument in sys.argv[1:]:
        version, _, python = argument.partition("=")
        for mode in ("default", "remat3") if version in WITH_REMAT3 else ("default",):
            table[version, mode] = run(python, mode)
    write_table(dict(sorted(table.items(), key=lambda item: ([int(n) for n in item[0][0].split(".")], item[0][1]))))


if __name__ == "__main__":
    main()
