"""The process that reads docstrings of an installed JAX with jedi, from its source files.

It runs on jaxpert's own interpreter, apart from the server: jedi needs seconds and tens of megabytes, and what it
imports must not come near the server. In it nothing but the standard library, jedi and jaxpert can be imported and
no program started, whatever jedi tries; so no code of the JAX that it reads about, or of the user, ever runs.

One line of JSON on standard input asks, one on standard output answers; see :func:`answers`.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

IDLE = 300.0
"""Seconds without a question after which the process ends, to give its memory back."""

LONGEST = 4_000
"""Characters of a docstring that are shown."""

_IMPORTABLE = frozenset({"jaxpert", "jedi", "parso", *sys.stdlib_module_names})
_STARTING = ("subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile", "socket.")


def main() -> None:
    """Answer until the questions end, or none comes for a while."""
    _jedi()  # before the gate is shut
    sys.addaudithook(_refuse)
    if hasattr(os, "nice"):
        os.nice(10)  # whoever types goes first
    for answer in answers(_within(IDLE, sys.stdin)):
        print(answer, flush=True)  # noqa: T201


def answers(questions: Iterable[str]) -> Iterator[str]:
    """The answer to each question.

    A question has ``id``, ``folder`` (that with the package) and ``paths`` (dotted names of one object, of which some
    may not exist); its answer has the same ``id`` and the ``text``, "" when there is none.
    """
    for line in questions:
        question = json.loads(line)
        try:
            text = docstring(question["folder"], question["paths"])
        except Exception:  # jedi met something that it does not expect
            text = ""
        yield json.dumps({"id": question["id"], "text": text})


def docstring(folder: str, paths: Sequence[str]) -> str:
    """The docstring of the object that ``paths`` mean in the packages of ``folder``, or ""."""
    jedi = _jedi()
    project = jedi.Project(folder, sys_path=[folder], smart_sys_path=False, load_unsafe_extensions=False)
    for path in paths:
        module, _, name = path.rpartition(".")
        code = f"from {module} import {name}\n{name}"
        script = jedi.Script(code, project=project, environment=jedi.InterpreterEnvironment())
        for found in script.goto(2, 0, follow_imports=True):
            if text := inspect.cleandoc(found.docstring(raw=True)):
                return _shortened(text)
    return ""


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return text[:LONGEST].rpartition("\n")[0].rstrip() + "\n…"


def _jedi() -> Any:
    import jedi  # type: ignore[import-untyped]
    import parso.cache

    # What it parses stays in memory alone: pickles on disk could be those of somebody else, or half written.
    for name in ("_load_from_file_system", "_save_to_file_system", "_remove_cache_and_update_lock"):
        setattr(parso.cache, name, lambda *_, **__: None)
    return jedi


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: what this process must never do raises."""
    if event == "import" and str(arguments[0]).partition(".")[0] not in _IMPORTABLE:
        raise ImportError(f"{arguments[0]} is not imported here")
    if event.startswith(_STARTING):
        raise PermissionError(f"{event} is not allowed here")


def _within(seconds: float, lines: Iterable[str]) -> Iterator[str]:
    """``lines``; the process ends when one takes longer than ``seconds`` to come."""
    waiting = iter(lines)
    while True:
        timer = threading.Timer(seconds, os._exit, (0,))
        timer.daemon = True
        timer.start()
        line = next(waiting, None)
        timer.cancel()
        if line is None:
            return
        yield line
