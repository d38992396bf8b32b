"""What is said about each API: every argument has its line, every example is correct."""

from __future__ import annotations

import ast
import itertools
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from packaging.version import Version

from jaxpert.jaxdb.load import known_versions, load, newest_known
from jaxpert.jaxdb.schema import Api, ApiKind, JaxTarget

RUNNER = Path(__file__).with_name("run_examples.py")
APIS = tuple(load(JaxTarget(newest_known(), "test")).apis())
WAITS_FOR_A_USER = {"jax.debug.breakpoint"}

each_api = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)


@each_api
def test_every_argument_is_described(api: Api) -> None:
    if api.kind is ApiKind.POLICY:  # never called by users
        return
    names = {p.name for signature in api.signatures for p in signature.parameters if not p.name.startswith("_")}
    assert names == set(api.arguments)


@each_api
def test_descriptions_are_clauses(api: Api) -> None:
    for text in api.arguments.values():
        assert text[0] == "`" or text[0].islower(), text
        assert not text.endswith(".") and text.count("`") % 2 == 0, text
    assert api.summary.count(". ") <= 2 and api.summary.endswith((".", "`"))


UNTOLD = {
    "jax.Ref": "nobody makes one",
    "jax.custom_remat": "public for one series only",
    "jax.custom_gradient": "`with_accums` is for JAX itself",
    "jax.tree_util.build_tree": "the gap of one release is no history",
}


@each_api
def test_the_history_tells_of_every_change_of_a_signature(api: Api) -> None:
    if api.library != "jax" or api.kind is ApiKind.POLICY or api.name in UNTOLD:
        return
    told = {(note.version, word) for note in api.notes for word in re.findall(r"`([\w.]+)", note.text)}
    versions = known_versions()
    for before, after in itertools.pairwise(versions):
        was, now = (_parameters(api, version) for version in (before, after))
        if was is not None and now is not None:
            late = {(str(version), name) for name in was ^ now for version in versions if version >= after}
            assert {name for _, name in late & told} == was ^ now
        there = [load(JaxTarget(version, "test")).exists(api.name) for version in (before, after)]
        assert there[0] == there[1] or str(after) in {note.version for note in api.notes}


def _parameters(api: Api, version: Version) -> set[str] | None:
    signature = api.signature(version)
    return {it.name for it in signature.parameters if not it.name.startswith("_")} if signature is not None else None


@each_api
def test_every_example_is_python(api: Api) -> None:
    gone = not any(load(JaxTarget(newest_known(), "test")).exists(path) is not False for path in api.paths)
    assert api.example or gone
    ast.parse("def _():\n" + textwrap.indent(api.example or "pass", "    "))


@pytest.mark.jax
def test_examples_of_jax_run_on_the_installed_jax() -> None:
    jax = pytest.importorskip("jax")
    version = Version(jax.__version__)
    if version not in known_versions():
        pytest.skip(f"the data does not know JAX {version}")
    db = load(JaxTarget(version, "test"))
    programs = {
        api.name: api.example
        for api in APIS
        if api.library == "jax" and api.example and db.exists(api.name) and api.name not in WAITS_FOR_A_USER
        if api.example_since is None or api.example_since <= version
    }
    done = subprocess.run(
        [sys.executable, str(RUNNER)], input=json.dumps(programs), capture_output=True, text=True, check=True
    )
    assert len(programs) > 60
    assert json.loads(done.stdout) == {}
