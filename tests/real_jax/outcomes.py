"""Runs rule examples on a real JAX and says whether what a rule claims is what happened."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.version import Version

from jaxpert.rulekit.rule import Example, Raises

RUNNER = Path(__file__).parent / "run_programs.py"
_PLACE = re.compile(r"/\S*?/(?:site-packages/|\d+/(?=program\.py))")


@dataclass(frozen=True)
class Outcome:
    """How one program ended; see ``run_programs.py``."""

    exception: str
    message: str
    stage: str
    evidence: bool | None

    def __str__(self) -> str:
        if self.exception:
            return f"{self.exception} at {self.stage}: {self.message}"
        return "runs" if self.evidence is None else f"runs, evidence {self.evidence}"


@dataclass(frozen=True)
class Run:
    """What one interpreter made of some programs, in their order."""

    jax: Version
    python: str
    has_remat3: bool
    outcomes: list[Outcome]


def requests_for(example: Example, remat3: bool) -> list[dict[str, Any]]:
    """What to run for one example: the bad program, then the good one."""
    evidence = "" if isinstance(example.proof, Raises) else example.proof.evidence
    return [{"program": text, "evidence": evidence, "remat3": remat3} for text in (example.bad, example.good)]


def run(requests: list[dict[str, Any]], python: str = sys.executable) -> Run:
    """Run programs on the JAX of ``python``.

    Raises:
        RuntimeError: the interpreter has no JAX, or the runner itself failed.
    """
    done = subprocess.run(
        [python, "-I", str(RUNNER)], input=json.dumps(requests), capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        raise RuntimeError(f"{python} could not run the examples:\n{done.stderr[-2000:]}")
    answer = json.loads(done.stdout)
    outcomes = [Outcome(**{**one, "message": _without_place(one["message"])}) for one in answer["outcomes"]]
    return Run(Version(answer["jax"]), answer["python"].rpartition(".")[0], answer["remat3"], outcomes)


def _without_place(message: str) -> str:
    """The start of ``message``, which must not depend on where JAX is installed and where the program was run."""
    return _PLACE.sub("", message)[:300]


def is_claimed(example: Example, version: Version, remat3: bool) -> bool:
    """Whether the proof says anything about this JAX: not before ``since``, nor with remat3 unless it says so."""
    return Version(example.proof.since) <= version and (example.proof.remat3 or not remat3)


def must_hold(example: Example, version: Version, remat3: bool) -> bool:
    """Whether the proof says that the bad program misbehaves on this JAX."""
    until = example.proof.until
    return is_claimed(example, version, remat3) and not (until and version >= Version(until))


def holds(example: Example, bad: Outcome) -> bool:
    """Whether the bad program did what the proof says."""
    proof = example.proof
    if isinstance(proof, Raises):
        return (bad.exception, bad.stage) == (proof.exception, proof.when) and proof.message in bad.message
    return not bad.exception and bad.evidence is True


def is_fine(good: Outcome) -> bool:
    """Whether the good program ran, without the fault."""
    return not good.exception and good.evidence is not True


def claim(example: Example) -> str:
    """The proof in words."""
    proof = example.proof
    if isinstance(proof, Raises):
        return f"{proof.exception} at {proof.when}: {proof.message}"
    return f"runs, and {proof.evidence} is true"


def as_json(outcome: Outcome) -> str | dict[str, str]:
    """A short form for the truth table: "runs", "shows the fault", or the exception."""
    if not outcome.exception:
        return "shows the fault" if outcome.evidence else "runs"
    return {"exception": outcome.exception, "stage": outcome.stage, "message": outcome.message}


def from_json(short: str | dict[str, str]) -> Outcome:
    """The outcome that :func:`as_json` wrote."""
    if isinstance(short, str):
        return Outcome("", "", "", short == "shows the fault")
    return Outcome(short["exception"], short["message"], short["stage"], None)
