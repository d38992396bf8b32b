"""Docstrings of the JAX that is installed where the user's code runs, without waiting for them.

They are read by :mod:`~jaxpert.ide.docstring_process` in a process of its own, which is started when somebody first
asks, and are kept. When it is slow, fails or cannot be started there are no docstrings, and nothing else happens.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jaxpert.jaxdb.load import JaxDb
    from jaxpert.jaxdb.schema import Api

logger = logging.getLogger("jaxpert")

_BOOT = "import sys; sys.path += sys.argv[1:]; from jaxpert.ide.docstring_process import main; main()"
_NEEDED = ("jaxpert", "jedi", "parso")
_SLOWEST = 60.0  # seconds after which a question is given up, and the process with it
_MOST_FAILURES = 3


def command() -> list[str]:
    """How the process is started: our own interpreter, blind to the working directory and to the environment.

    Raises:
        ModuleNotFoundError: jedi is not installed.
    """
    folders: dict[str, None] = {}
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{name} is not installed")
        folders[str(Path(spec.origin).parents[1])] = None
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", _BOOT, *folders]


def paths_to_try(db: JaxDb, api: Api) -> tuple[str, ...]:
    """The dotted paths that may lead to ``api`` in source files."""
    return tuple(path for path in api.paths if db.exists(path) is not False)


class InstalledDocs:
    """The docstrings that are known, and the process that finds out more.

    Its methods are called from one thread; answers come from another.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, Sequence[str]], str] = {}
        self._asked: dict[int, tuple[tuple[str, Sequence[str]], Future[str], float]] = {}
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()
        self._number = 0
        self._failures = 0
        self._is_warm = False

    @property
    def is_warm(self) -> bool:
        """Whether the process has answered before: a short wait for the next answer may do then."""
        return self._is_warm

    def of(self, db: JaxDb, api: Api) -> Future[str]:
        """The docstring of ``api`` in the JAX that ``db`` is about, when it is known; "" when there is none."""
        return self.ask(db.target.folder, paths_to_try(db, api))

    def ask(self, folder: str, paths: Sequence[str]) -> Future[str]:
        """The docstring of the object that ``paths`` mean in the packages of ``folder``."""
        key = folder, paths
        future: Future[str] = Future()
        with self._lock:
            known = "" if not folder or self._failures >= _MOST_FAILURES else self._known.get(key)
            if known is not None:
                future.set_result(known)
                return future
            for asked, pending, since in self._asked.values():
                if time.monotonic() - since > _SLOWEST:
                    self._kill()  # its reader clears up
                    future.set_result("")
                    return future
                if asked == key:
                    return pending
            self._number += 1
            self._asked[self._number] = key, future, time.monotonic()
            question = json.dumps({"id": self._number, "folder": folder, "paths": paths})
        self._send(question)
        return future

    def close(self) -> None:
        """End the process; questions that are open have no answer."""
        with self._lock:
            self._failures = _MOST_FAILURES
            self._asked.clear()
            process = self._process
            self._kill()
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(1.0)

    def _send(self, question: str) -> None:
        try:
            process = self._process or self._start()
            assert process.stdin is not None
            process.stdin.write(question + "\n")
            process.stdin.flush()
        except (OSError, ImportError, ValueError) as error:
            self._gone(self._process, str(error))

    def _start(self) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            cwd=Path(__file__).parent,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._process = process
        threading.Thread(target=self._read, args=(process,), name="docstrings", daemon=True).start()
        return process

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(OSError):
                self._process.kill()

    def _read(self, process: subprocess.Popen[str]) -> None:
        """Take the answers of ``process`` until it ends. Runs in a thread of its own."""
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError), process.stdout:
            for line in process.stdout:
                answer = json.loads(line)
                with self._lock:
                    asked = self._asked.pop(answer["id"], None)
                    if asked is not None:
                        self._known[asked[0]] = answer["text"]
                        self._failures = 0
                        self._is_warm = True
                if asked is not None:
                    asked[1].set_result(answer["text"])
        process.wait()
        self._gone(process, "the process ended")

    def _gone(self, process: subprocess.Popen[str] | None, why: str) -> None:
        """The process is not there any more: what was asked has no answer."""
        with self._lock:
            if process is not self._process:
                return
            self._process = None
            self._is_warm = False
            if process is not None and process.stdin is not None:
                with contextlib.suppress(OSError):
                    process.stdin.close()
            asked = list(self._asked.values())
            self._asked.clear()
            if asked:
                self._failures += 1
        if asked and self._failures == _MOST_FAILURES:
            logger.info("no docstrings of the installed JAX: %s", why)
        for _, future, _ in asked:
            future.set_result("")
