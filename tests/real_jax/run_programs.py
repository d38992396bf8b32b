"""Runs programs on the JAX of the interpreter that runs this script, each in its own forked process.

JAX is imported once, before the forks and without touching a backend, so a program costs what it computes.
Nothing but the standard library and JAX is imported: the script must also run in environments of old versions.

Reads a JSON list from stdin: ``[{"program": text, "evidence": expression or "", "remat3": bool}, ...]``.
Writes a JSON object ``{"jax": version, "python": version, "remat3": whether the switch exists, "outcomes":
[...]}``; an outcome is ``{"exception": class name or "", "message": text, "stage": "decorate" | "call" | "grad" |
"", "evidence": bool or null}``.
"""

import ast
import contextlib
import io
import json
import multiprocessing
import os
import platform
import signal
import sys
import tempfile
import traceback
from multiprocessing import connection
from pathlib import Path

SECONDS_FOR_ONE_PROGRAM = 60
_DIFFERENTIATION = {"grad", "value_and_grad", "vjp", "jvp", "linearize", "jacrev", "jacfwd", "jacobian", "hessian"}
_DECORATING = ("checkpoint", "remat", "save_", "offload_")


def stage_of(program: str, error: BaseException, names: dict) -> str:
    """At which stage ``error`` left the program.

    A program may say so itself by setting ``STAGE`` before each step. Else it is read off the top-level
    statement that failed: one that differentiates is "grad"; a definition, or a statement whose last call is to
    ``checkpoint`` itself or makes a policy, is "decorate"; any other is "call".
    """
    if "STAGE" in names:
        return str(names["STAGE"])
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == names["__file__"]]
    if not lines:
        return "decorate"  # it does not even compile
    for statement in ast.parse(program).body:
        if lines[0] <= statement.end_lineno:
            return _stage_of_statement(statement)
    return "call"


def _stage_of_statement(statement: ast.stmt) -> str:
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return "decorate"
    if {_last_name(node) for node in ast.walk(statement)} & _DIFFERENTIATION:
        return "grad"
    value = getattr(statement, "value", None)
    called = _last_name(value.func) if isinstance(value, ast.Call) else ""
    return "decorate" if called.startswith(_DECORATING) else "call"


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def outcome_of(file: Path, evidence: str, remat3: bool) -> dict:
    """Runs the program in ``file`` in this process. What it printed is the name ``printed`` in ``evidence``."""
    import jax

    program = file.read_text(encoding="utf-8")
    names = {"__name__": "__main__", "__file__": str(file)}
    printed = io.StringIO()
    try:
        if remat3:
            jax.config.update("jax_remat3", True)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            exec(compile(program, str(file), "exec"), names)
            jax.effects_barrier()
    except BaseException as error:
        stage = stage_of(program, error, names)
        return {"exception": type(error).__name__, "message": str(error), "stage": stage, "evidence": None}
    holds = bool(eval(evidence, {**names, "printed": printed.getvalue()})) if evidence else None
    return {"exception": "", "message": "", "stage": "", "evidence": holds}


def outcomes_of(files: list, requests: list) -> list:
    """Run each request in a fork of this process, a few at a time. No threads: they and forks do not mix."""
    context = multiprocessing.get_context("fork")
    outcomes = [{"exception": "ProcessDied", "message": "", "stage": "", "evidence": None} for _ in requests]
    waiting = list(range(len(requests)))
    running = {}
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            number = waiting.pop(0)
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_send_outcome, args=(sender, files[number], requests[number]))
            process.start()
            sender.close()
            running[receiver] = (number, process)
        for receiver in connection.wait(list(running)):
            number, process = running.pop(receiver)
            with contextlib.suppress(EOFError):
                outcomes[number] = receiver.recv()
            process.join()
    return outcomes


def _send_outcome(sender: connection.Connection, file: Path, request: dict) -> None:
    signal.alarm(SECONDS_FOR_ONE_PROGRAM)
    sender.send(outcome_of(file, request.get("evidence", ""), request.get("remat3", False)))


def main() -> None:
    """Reads requests, runs them a few at a time, writes outcomes."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    requests = json.load(sys.stdin)
    import jax
    import jax.numpy

    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, str(number), "program.py") for number in range(len(requests))]
        for file, request in zip(files, requests):
            file.parent.mkdir()
            file.write_text(request["program"], encoding="utf-8")
        outcomes = outcomes_of(files, requests)
    answer = {
        "jax": jax.__version__,
        "python": platform.python_version(),
        "remat3": hasattr(jax.config, "jax_remat3"),
        "outcomes": outcomes,
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
