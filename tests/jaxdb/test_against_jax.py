"""What the data says about the JAX installed here, compared with that JAX and with the libraries around it."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

from jaxpert.jaxdb.load import known_versions, load, switch_exists
from jaxpert.jaxdb.schema import Api, ApiKind, JaxTarget, Signature

pytestmark = pytest.mark.jax

INSPECT = Path(__file__).parents[2] / "server" / "tools" / "inspect_jax.py"
SWITCHES = ("jax_remat3", "jax_enable_x64")
CATALOGUE = load(JaxTarget(known_versions()[-1], "test"))


def paths_of_jax() -> list[str]:
    return [path for api in CATALOGUE.apis() if api.library == "jax" for path in api.paths]


@functools.cache
def installed() -> Any:
    """What the installed JAX says; the tests are skipped when there is none, or one that the data does not know."""
    pytest.importorskip("jax")
    request = json.dumps({"paths": paths_of_jax(), "switches": SWITCHES})
    done = subprocess.run([sys.executable, str(INSPECT)], input=request, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    if Version(answer["version"]) not in known_versions():
        pytest.skip(f"the data does not know JAX {answer['version']}; run server/tools/build_api.py")
    return answer


def database() -> Any:
    return load(JaxTarget(Version(installed()["version"]), "test"))


def written(signature: Signature) -> str:
    """A signature in the form that inspect_jax.py writes."""
    parts: list[str] = []
    last = ""
    for parameter in signature.parameters:
        if last == "positional_only" and parameter.kind != last:
            parts.append("/")
        if parameter.kind == "keyword_only" and last not in ("keyword_only", "var_positional"):
            parts.append("*")
        stars = {"var_positional": "*", "var_keyword": "**"}.get(parameter.kind, "")
        parts.append(f"{stars}{parameter.name}" + ("" if parameter.default is None else f"={parameter.default}"))
        last = parameter.kind
    return f"({', '.join([*parts, '/'] if last == 'positional_only' else parts)})"


@pytest.mark.parametrize("api", [a for a in CATALOGUE.apis() if a.library == "jax"], ids=lambda api: api.name)
def test_paths_and_signature_are_those_of_the_installed_jax(api: Api) -> None:
    real, db = installed()["paths"], database()
    assert {path: db.exists(path) for path in api.paths} == {path: path in real for path in api.paths}
    assert all(db.api(path) is api for path in api.paths)
    signature = db.signature(api)
    if api.name == "jax.jit" and Version("0.6.0") <= db.target.version < Version("0.7.0"):
        # Its wrapper still took options by position then, which introspection does not show.
        assert signature is not None and signature.parameters[0].kind == "positional_or_keyword"
    elif api.name in real:
        assert real[api.name] == (written(signature) if signature else None)
    elif not any(path in real for path in api.paths):
        assert signature is None


def test_every_public_name_is_known_and_no_other() -> None:
    db = database()
    for module, names in installed()["modules"].items():
        if names is not None:  # else it needs something that is not installed here
            assert [name for name in names if db.exists(f"{module}.{name}") is not True] == [], module
            assert db.exists(f"{module}.no_such_name") is False


def test_names_that_came_or_went_are_known_to_be_missing() -> None:
    """Names of other releases: the installed JAX must agree on each."""
    db, modules = database(), installed()["modules"]
    names = {name for v in known_versions() for name in load(JaxTarget(v, "test")).policy_names()}
    for name in names:
        assert db.exists(f"jax.checkpoint_policies.{name}") is (name in modules["jax.checkpoint_policies"])
    for name in ("tree_map", "new_ref", "array_ref", "shard_map", "freeze", "custom_remat", "empty_ref", "linear_util"):
        assert db.exists(f"jax.{name}") is (name in modules["jax"]), name
    for name in ("checkpoint", "remat", "checkpoint_name_fwd"):
        assert db.exists(f"jax.ad_checkpoint.{name}") is (name in modules["jax.ad_checkpoint"]), name


def test_policies_and_primitives() -> None:
    db = database()
    assert db.policy_names() == set(installed()["modules"]["jax.checkpoint_policies"])
    # Here some modules may not be importable, and then their primitives are missing.
    assert set(installed()["primitives"]) <= db.primitive_names()
    assert {"dot_general", "conv_general_dilated", "name", "scan", "pallas_call"} <= db.primitive_names()


def test_every_policy_of_the_namespace_is_described() -> None:
    described = {path for api in CATALOGUE.apis() for path in api.paths}
    assert {f"jax.checkpoint_policies.{name}" for name in database().policy_names()} <= described


def test_kinds_are_true() -> None:
    """Ready-made policies answer about a primitive; factories give something to call; sentinels are no classes."""
    jax = pytest.importorskip("jax")
    adc = importlib.import_module("jax.ad_checkpoint")
    installed()
    for name in database().policy_names():
        api = database().api(f"jax.checkpoint_policies.{name}")
        member = getattr(jax.checkpoint_policies, name)
        if api.kind is ApiKind.POLICY:
            parameters = {"dimension_numbers": (((1,), (0,)), ((), ()))}
            assert isinstance(member(jax.lax.dot_general_p, **parameters), bool), name
        else:
            assert api.kind is ApiKind.POLICY_FACTORY, name
    for api in database().apis():
        if api.kind is ApiKind.SENTINEL:
            assert not inspect.isclass(getattr(adc, api.name.rpartition(".")[2]))
    assert inspect.isclass(adc.Offloadable)


def test_switches_are_there_and_off() -> None:
    real = installed()["switches"]
    version = Version(installed()["version"])
    assert {name: switch_exists(name, version) for name in SWITCHES} == {name: name in real for name in SWITCHES}
    assert not any(real.values())


@pytest.mark.parametrize("api", [a for a in CATALOGUE.apis() if a.library != "jax"], ids=lambda api: api.name)
def test_wrappers_are_those_of_the_installed_library(api: Api) -> None:
    module = pytest.importorskip(api.name.rpartition(".")[0], exc_type=ImportError)
    function = getattr(module, api.name.rpartition(".")[2])
    real = inspect.signature(function).parameters
    (signature,) = api.signatures
    # Haiku's follows that of the installed jax.remat, which may have more.
    ours = {parameter.name: parameter.kind for parameter in signature.parameters}
    assert ours == {name: real[name].kind.name.lower() for name in ours}
    assert ours.keys() == real.keys() or api.library == "haiku"
    required = {parameter.name for parameter in signature.parameters if parameter.default is None}
    assert required == {name for name in ours if real[name].default is inspect.Parameter.empty}
