"""The data is sound in itself, and the answers between and beyond the known releases are careful."""

from __future__ import annotations

import ast
import re
import textwrap

import pytest
from packaging.version import Version

from jaxpert.jaxdb.load import JaxDb, in_spans, known_versions, load, newest_known, parse_signature, switch_exists
from jaxpert.jaxdb.schema import ROLES, TRAITS, Api, ApiKind, JaxTarget, Parameter, VersionNote


def database(version: str) -> JaxDb:
    return load(JaxTarget(Version(version), "test"))


APIS = tuple(database("0.10.2").apis())
EACH_API = pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)


@EACH_API
def test_entry_is_complete(api: Api) -> None:
    assert api.paths[0] == api.name and len(set(api.paths)) == len(api.paths)
    assert {path.partition(".")[0] for path in api.paths} == {api.library}
    assert api.library in JaxDb.markers
    assert set(api.roles) <= set(ROLES) and api.traits <= set(TRAITS) and set(api.trait_since) <= api.traits
    assert re.fullmatch(r"[A-Z`].+[.!] [A-Z`].+\.", api.summary), "two sentences"
    assert api.url.startswith("https://")
    ast.parse("def example():\n    pass\n" + textwrap.indent(api.example, "    "))


@EACH_API
def test_signatures_follow_each_other(api: Api) -> None:
    needs_one = api.kind not in (ApiKind.NAMESPACE, ApiKind.SENTINEL, ApiKind.CLASS)
    assert api.signatures or not needs_one
    for earlier, later in zip(api.signatures, api.signatures[1:]):
        assert earlier.until is not None and earlier.since < earlier.until <= later.since
        assert earlier.until < later.since or earlier.parameters != later.parameters
    parameters = {parameter.name for signature in api.signatures for parameter in signature.parameters}
    assert set(api.roles.values()) <= parameters


@pytest.mark.parametrize("api", [a for a in APIS if a.kind is ApiKind.CHECKPOINT], ids=lambda api: api.name)
def test_checkpoint_wrappers_say_what_rules_need(api: Api) -> None:
    newest = api.signatures[-1].parameters
    fun = api.roles["fun"]
    assert fun == newest[0].name
    assert api.roles["policy"] in {parameter.name for parameter in newest}
    assert (newest[0].default is not None) == ("callable_without_fun" in api.traits)
    assert ("static_argnums" in api.roles) == any(parameter.name == "static_argnums" for parameter in newest)


EACH_NOTE = pytest.mark.parametrize(
    "api, note",
    [
        pytest.param(api, note, id=f"{api.name}-{note.version}-{note.text[:20]}")
        for api in APIS
        for note in api.notes
        if note.change in ("added", "removed")
    ],
)


@EACH_NOTE
def test_notes_agree_with_what_was_read(api: Api, note: VersionNote) -> None:
    """Whether what a note is about (see apis/README.md) was there just before that release, and in it."""
    subject = re.match(r"`([\w.]+)`", note.text)
    assert subject or note.text == "" or note.text.startswith("use ")
    name = subject[1] if subject else api.name
    at = Version(note.version)
    before = known_versions()[known_versions().index(at) - 1]

    def there(version: Version) -> bool | None:
        db = load(JaxTarget(version, "test"))
        return db.exists(name) if "." in name else name in (_names(db, api.name) or ())

    assert (there(before), there(at)) == ((False, True) if note.change == "added" else (True, False))


def test_paths_mean_one_api_each() -> None:
    paths = [path for api in APIS for path in api.paths]
    assert len(paths) == len(set(paths))
    db = database("0.12.0.1")
    assert db.api("jax.remat") is not db.api("jax.checkpoint")
    assert db.api("jax.checkpoint_policies.checkpoint_dots") is db.api("jax._src.ad_checkpoint.dots_saveable")
    assert db.api("flax.linen.checkpoint") is db.api("flax.linen.remat")
    assert db.api("jax.no_such_name") is None and db.api("") is None


def _names(db: JaxDb, path: str) -> set[str] | None:
    api = db.api(path)
    signature = db.signature(api) if api else None
    return {parameter.name for parameter in signature.parameters} if signature else None


@pytest.mark.parametrize(
    "version, path, present, absent",
    [
        ("0.4.30", "jax.checkpoint", "concrete", "static_argnames"),
        ("0.10.1", "jax.checkpoint", "concrete", "static_argnames"),
        ("0.10.2", "jax.checkpoint", "static_argnames", "abstracted_axes"),
        ("0.12.0.1", "jax.checkpoint", "static_argnames", "concrete"),
        ("0.12.0.1", "jax.remat", "static_argnums", "static_argnames"),
        ("0.9.2", "jax.new_ref", "memory_space", "kind"),
        ("0.10.0", "jax.new_ref", "kind", "pin"),
        ("0.4.20", "jax.checkpoint", "static_argnums", "static_argnames"),  # taken to be like the oldest known
        ("0.99", "jax.checkpoint", "static_argnames", "concrete"),  # and the future to be like the newest
    ],
)
def test_parameters_by_version(version: str, path: str, present: str, absent: str) -> None:
    names = _names(database(version), path)
    assert names is not None and present in names and absent not in names


def test_no_signature_where_the_name_is_not_there() -> None:
    assert _names(database("0.4.30"), "jax.shard_map") is None
    assert _names(database("0.12.0.1"), "jax.custom_remat") is None


@pytest.mark.parametrize(
    "version, path, expected",
    [
        ("0.4.38", "jax.tree_map", True),
        ("0.6.0", "jax.tree_map", False),
        ("0.9.2", "jax.ad_checkpoint.checkpoint", True),
        ("0.10.0", "jax.ad_checkpoint.checkpoint", False),
        ("0.10.0", "jax._src.ad_checkpoint.checkpoint", True),
        ("0.5.2", "jax._src.ad_checkpoint.dots_with_no_batch_dims_saveable", False),
        ("0.11.0", "jax.checkpoint_policies.SaveOnlyTheseNames", True),
        ("0.12.0", "jax.checkpoint_policies.SaveOnlyTheseNames", False),
        ("0.4.30", "jax.ref.new_ref", False),  # its module is not there either
        ("0.7.0", "jax.experimental.maps", False),
        ("0.7.0", "jax.__version__", True),
        ("0.7.0", "jax.__version_info__", True),
        ("0.7.0", "jax", True),
        # local parts do not matter
        ("0.7.2+cuda12", "jax.new_ref", True),
        # between releases only what both agree on
        ("0.7.2.dev20250801", "jax.new_ref", None),
        ("0.7.2.dev20250801", "jax.array_ref", True),
        ("0.4.32", "jax.tree_map", True),
        ("0.4.32", "jax.new_ref", False),
        # before the first known release nothing
        ("0.4.20", "jax.jit", None),
        # a patch of the newest series is like the newest, later ones can only add
        ("0.12.7", "jax.custom_remat", False),
        ("0.13.0", "jax.custom_remat", None),
        ("0.13.0", "jax.checkpoint", True),
        # not ours to know
        ("0.7.0", "jax._src.core.Tracer", None),
        ("0.7.0", "jax.Array.at", None),
        ("0.7.0", "jax._no_such_name", None),
        ("0.7.0", "jax.numpy.__doc__", None),
        ("0.7.0", "jax.tools.colab_tpu", None),
        ("0.7.0", "flax.linen.remat", None),
        ("0.7.0", "numpy.float", None),
        ("0.7.0", "", None),
    ],
)
def test_existence(version: str, path: str, expected: bool | None) -> None:
    assert database(version).exists(path) is expected


def test_primitives_by_version() -> None:
    assert "pjit" in database("0.4.30").primitive_names() and "jit" not in database("0.4.30").primitive_names()
    assert "jit" in database("0.12.0.1").primitive_names() and "pjit" not in database("0.12.0.1").primitive_names()
    assert not any(name.startswith("_") or name == "." for name in database("0.12.0.1").primitive_names())


def test_names_are_ignored_from_one_version_on() -> None:
    name = "save_anything_except_these_names"
    answers = [database(v).signature_ignores_names(name) for v in ("0.4.30", "0.10.1", "0.10.2", "0.12.0.1")]
    assert answers == [False, False, True, True]
    assert not database("0.12.0.1").signature_ignores_names("save_only_these_names")
    assert not database("0.12.0.1").signature_ignores_names("no_such_policy")


def test_switches() -> None:
    assert [switch_exists("jax_remat3", Version(v)) for v in ("0.10.1", "0.10.2", "0.13")] == [False, True, True]
    assert switch_exists("jax_enable_x64", Version("0.4.30")) and not switch_exists("jax_no_such", newest_known())


def test_known_versions_are_in_order() -> None:
    assert list(known_versions()) == sorted(set(known_versions()))
    assert newest_known() == known_versions()[-1]


def test_equal_targets_share_a_database() -> None:
    assert database("0.7.2") is database("0.7.2") and database("0.7.2") is not database("0.7.1")


@pytest.mark.parametrize(
    "text, kinds",
    [
        ("()", []),
        ("(a, /, b=1)", [("a", "positional_only", None), ("b", "positional_or_keyword", "1")]),
        ("(*args, k)", [("args", "var_positional", None), ("k", "keyword_only", None)]),
        ("(b=(), *, c='x', **kw)", [("b", "positional_or_keyword", "()"), ("c", "keyword_only", "'x'"),
                                    ("kw", "var_keyword", None)]),
    ],
)  # fmt: skip
def test_signature_texts(text: str, kinds: list[tuple[str, str, str | None]]) -> None:
    assert parse_signature(text, Version("1")).parameters == tuple(Parameter(*kind) for kind in kinds)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "spans, version, inside",
    [
        ("0.4.30-", "0.4.30", True),
        ("0.4.30-", "0.4.29", False),
        ("0.4.30-0.5.0", "0.4.38", True),
        ("0.4.30-0.5.0", "0.5.0", False),
        ("0.4.30-0.5.0 0.7.0-", "0.6.2", False),
        ("0.4.30-0.5.0 0.7.0-", "0.10.0", True),
    ],
)
def test_spans_are_half_open(spans: str, version: str, inside: bool) -> None:
    assert in_spans(spans, Version(version)) is inside
