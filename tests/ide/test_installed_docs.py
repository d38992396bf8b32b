"""Docstrings of an installed JAX: read from its files, never by running it, and never at the cost of anything else."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import psutil
import pytest
from packaging.version import Version

from jaxpert.ide import docstring_process, installed_docs
from jaxpert.ide.docstring_process import LONGEST, answers
from jaxpert.ide.installed_docs import InstalledDocs, paths_to_try
from jaxpert.jaxdb.load import load
from jaxpert.jaxdb.schema import JaxTarget

PATIENCE = 60.0
RAN = 'open(__file__ + ".ran", "w")\n'
PACKAGE = {
    "jax/__init__.py": RAN + "from jax._src.api import checkpoint as checkpoint\nfrom jax import ad_checkpoint\n",
    "jax/ad_checkpoint.py": RAN + "from jax._src.api import name as checkpoint_name\n",
    "jax/_src/__init__.py": RAN,
    "jax/_src/api.py": RAN
    + 'import numpy\ndef checkpoint(fun):\n    """Short.\n\n      Indented.\n    """\n'
    + 'def name(x):\n    """Of a name."""\n'
    + f'def talkative():\n    """{"word " * 50}\n{("x" * 99 + chr(10)) * 80}"""\n'
    + "def silent(): pass\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> str:
    for name, text in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return str(tmp_path)


@pytest.fixture
def docs():
    made = InstalledDocs()
    yield made
    made.close()


def children() -> list[psutil.Process]:
    return psutil.Process().children()


def test_docstrings_come_from_the_files_and_nothing_runs(folder: str, docs: InstalledDocs) -> None:
    assert docs.ask(folder, ("jax.checkpoint",)).result(PATIENCE) == "Short.\n\nIndented."
    assert docs.ask(folder, ("jax.missing", "jax.ad_checkpoint.checkpoint_name")).result(PATIENCE) == "Of a name."
    assert docs.ask(folder, ("jax._src.api.silent",)).result(PATIENCE) == ""
    assert docs.ask(folder, ("no.such.thing", "jax")).result(PATIENCE) == ""
    long = docs.ask(folder, ("jax._src.api.talkative",)).result(PATIENCE)
    assert long.startswith("word") and long.endswith("x\n…") and len(long) <= LONGEST + 2
    assert not list(Path(folder).glob("**/*.ran"))
    assert "jedi" not in sys.modules


def test_what_is_known_is_there_at_once(folder: str, docs: InstalledDocs) -> None:
    first = docs.ask(folder, ("jax.checkpoint",))
    assert docs.ask(folder, ("jax.checkpoint",)) is first or first.done()
    first.result(PATIENCE)
    again = docs.ask(folder, ("jax.checkpoint",))
    assert again.done() and again.result() == first.result()
    assert len(children()) == 1


def test_nothing_is_started_where_no_jax_is_installed(docs: InstalledDocs) -> None:
    db = load(JaxTarget(Version("0.12.0"), "newest known"))
    api = db.api("jax.checkpoint")
    assert api is not None
    assert docs.of(db, api).result(0) == ""
    assert not children()


def test_paths_are_those_of_the_version() -> None:
    new, old = (load(JaxTarget(Version(version), "test")) for version in ("0.12.0.1", "0.4.30"))
    api = new.api("jax.checkpoint")
    assert api is not None
    assert "jax.ad_checkpoint.checkpoint" in paths_to_try(old, api)
    assert "jax.ad_checkpoint.checkpoint" not in paths_to_try(new, api)
    assert paths_to_try(new, api)[0] == "jax.checkpoint"


def test_the_end_is_clean_whatever_is_asked(folder: str) -> None:
    docs = InstalledDocs()
    waiting = docs.ask(folder, ("jax.checkpoint",))
    (process,) = children()
    docs.close()
    assert psutil.wait_procs([process], timeout=PATIENCE)[1] == []
    assert docs.ask(folder, ("jax.ad_checkpoint.checkpoint_name",)).result(0) == ""
    assert not waiting.done() or waiting.result() == ""
    assert not children()


@pytest.mark.parametrize("program", ["import sys; sys.exit(1)", "print('nonsense', flush=True)"])
def test_a_process_that_fails_is_given_up(
    folder: str, docs: InstalledDocs, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    started = []

    def command() -> list[str]:
        started.append(program)
        return [sys.executable, "-c", program]

    monkeypatch.setattr(installed_docs, "command", command)
    for number in range(5):
        assert docs.ask(folder, (f"jax.name{number}",)).result(PATIENCE) == ""
    assert 1 <= len(started) <= 3


def test_a_process_that_cannot_be_started_is_none(
    folder: str, docs: InstalledDocs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed_docs, "command", lambda: [str(Path(folder) / "no-such-program")])
    assert docs.ask(folder, ("jax.checkpoint",)).result(0) == ""
    monkeypatch.undo()
    monkeypatch.setattr(installed_docs, "_NEEDED", ("no_such_package",))
    assert docs.ask(folder, ("jax.other",)).result(0) == ""


def test_a_question_that_takes_too_long_ends_the_process(
    folder: str, docs: InstalledDocs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed_docs, "command", lambda: [sys.executable, "-c", "import time; time.sleep(600)"])
    waiting = docs.ask(folder, ("jax.checkpoint",))
    monkeypatch.setattr(installed_docs, "_SLOWEST", -1.0)
    assert docs.ask(folder, ("jax.other",)).result(0) == ""
    assert waiting.result(PATIENCE) == ""
    while children():
        time.sleep(0.01)


def test_a_question_that_jedi_cannot_answer_has_an_empty_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(folder: str, paths: list[str]) -> str:
        raise RecursionError

    monkeypatch.setattr(docstring_process, "docstring", fail)
    assert list(answers(['{"id": 7, "folder": "", "paths": []}'])) == ['{"id": 7, "text": ""}']


@pytest.mark.parametrize("event", ["subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "socket.connect"])
def test_the_process_starts_nothing(event: str) -> None:
    with pytest.raises(PermissionError):
        docstring_process._refuse(event, ())


@pytest.mark.parametrize("module", ["jax", "jaxlib.xla_client", "numpy", "user_code"])
def test_the_process_imports_nothing_of_the_users(module: str) -> None:
    with pytest.raises(ImportError):
        docstring_process._refuse("import", (module, None, [], [], []))


@pytest.mark.parametrize("module", ["json", "jedi.api", "parso", "os.path"])
def test_the_process_imports_what_it_needs(module: str) -> None:
    docstring_process._refuse("import", (module, None, [], [], []))
