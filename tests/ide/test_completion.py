"""Completion and signature help around checkpoints, at a mark in sources that mostly do not parse."""

from __future__ import annotations

import ast

import pytest
from packaging.version import Version

from jaxpert.ide.completion import api_completions
from jaxpert.ide.completion_item import CompletionItem
from jaxpert.ide.signature_help import signature_help
from jaxpert.jaxdb.load import POLICIES, load
from jaxpert.jaxdb.schema import ApiKind, JaxTarget
from jaxpert.model.file_model import FileModel
from jaxpert.text.edits import Edit, apply_edits
from jaxpert.text.lines import Position, Range
from tests.cursors import cut
from tests.model.models import model_of

HEAD = """\
import functools
import jax
import flax.linen as nn
from jax.ad_checkpoint import Offloadable, checkpoint_name
cp = jax.checkpoint_policies
def keep_dots(prim, *avals, **params): return True
def block(x, train): return x
"""


def being_typed(text: str, position: Position, jax: str = "") -> FileModel:
    """The model of ``text`` when its line at ``position`` has just been typed, and no other."""
    lines = text.split("\n")
    line = lines[position.line]
    lines[position.line] = line[: len(line) - len(line.lstrip())] + "pass"
    model = model_of("\n".join(lines), jax=jax)
    model.source.edit(Range(Position(position.line, 0), Position(position.line, len(lines[position.line]))), line)
    assert model.source.text == text
    return model.renewed(model.db)


def completed(source: str, jax: str = "0.12.0", head: str = HEAD) -> tuple[FileModel, str, dict[str, CompletionItem]]:
    """The model, its text, and the completions at the mark by their labels."""
    text, position = cut(head + source)
    model = being_typed(text, position, jax)
    items = api_completions(model, position)
    for item in items:
        assert item.range.contains(position) and item.range.start.line == item.range.end.line
    return model, text, {item.label: item for item in items}


def labels(source: str, jax: str = "0.12.0", head: str = HEAD) -> set[str]:
    return set(completed(source, jax, head)[2])


def chosen(source: str, label: str, jax: str = "0.12.0") -> str:
    """The last line after the completion ``label`` was taken, as plain text."""
    _, text, items = completed(source, jax)
    return apply_edits(text, [Edit(items[label].range, items[label].new_text)]).rpartition("\n")[2]


# -- policies ---------------------------------------------------------------------------------------------------------

PLACES_OF_MEMBERS = (
    "jax.checkpoint_policies.‸",
    "jax.checkpoint(block, policy=jax.checkpoint_policies.dots‸",
    "policy = cp.‸\n",
    "policy = cp.do‸ts\n",
    "@functools.partial(jax.checkpoint, policy=cp.‸\ndef f(x):\n    return x\n",
    "def f(x):\n    p = cp.‸\n    return p\n",
    "class A:\n    def f(self):\n        from jax import checkpoint_policies as q\n        return q.‸",
    "table = {'a': cp.dots_saveable, 'b': cp.‸",
    "jax.checkpoint(block,\n    policy=(\n        jax\n        .checkpoint_policies\n        .‸",
)


@pytest.mark.parametrize("source", PLACES_OF_MEMBERS)
@pytest.mark.parametrize("jax", ["0.4.30", "0.11.2", "0.12.0"])
def test_members_of_the_namespace(source: str, jax: str) -> None:
    db = load(JaxTarget(Version(jax), "test"))
    assert labels(source, jax) == db.policy_names()


@pytest.mark.parametrize(
    "source",
    [
        "import jax.checkpoint_policies.‸",
        "other.‸",
        "jax.‸",
        "jax.checkpoint_policies().‸",
        "x = 'jax.checkpoint_policies.‸'",
        "x = 1  # cp.‸",
        "cp‸",
        "f().cp.‸",
    ],
)
def test_places_that_are_no_namespace(source: str) -> None:
    assert labels(source) == set()


def test_a_file_without_jax_is_left_alone() -> None:
    assert labels("cp.‸", head="cp = 1\n") == set()


def test_ready_made_policies_come_bare_and_factories_with_their_arguments() -> None:
    _, _, items = completed("cp.‸")
    assert (items["dots_saveable"].new_text, items["dots_saveable"].snippet) == ("dots_saveable", "")
    shapes = {
        "save_only_these_names": ('("${1:name}")', "()"),
        "save_from_both_policies": ("(${1:policy_1}, ${2:policy_2})", "()"),
        "offload_dot_with_no_batch_dims": ('(${1:"device"}, ${2:"pinned_host"})', '("device", "pinned_host")'),
        "save_and_offload_only_these_names": (
            '(names_which_can_be_saved=["${1:name}"], names_which_can_be_offloaded=["${2:name}"], '
            'offload_src=${3:"device"}, offload_dst=${4:"pinned_host"})',
            "(names_which_can_be_saved=[], names_which_can_be_offloaded=[], "
            'offload_src="device", offload_dst="pinned_host")',
        ),
    }
    for name, (snippet, text) in shapes.items():
        assert items[name].snippet == f"{name}{snippet}$0"
        assert items[name].new_text == f"{name}{text}"
        assert "```python" in items[name].documentation


def test_a_call_that_is_there_gets_no_second_one() -> None:
    assert chosen("p = cp.save‸('a')", "save_only_these_names") == "p = cp.save_only_these_names('a')"
    assert chosen("p = cp.save_‸only", "dots_saveable") == "p = cp.dots_saveable"


@pytest.mark.parametrize("jax", ["0.4.30", "0.11.2", "0.12.0"])
def test_every_snippet_is_a_call_that_the_version_takes(jax: str) -> None:
    db = load(JaxTarget(Version(jax), "test"))
    _, _, items = completed("cp.‸", jax)
    for name in db.policy_names():
        api = db.api(f"{POLICIES}.{name}")
        assert api is not None
        call = ast.parse(items[name].new_text, mode="eval").body
        assert isinstance(call, ast.Call) == (api.kind is ApiKind.POLICY_FACTORY)
        if isinstance(call, ast.Call):
            signature = api.signature(db.target.version)
            assert signature is not None
            assert {keyword.arg for keyword in call.keywords} <= {it.name for it in signature.parameters}


# -- after policy= ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "jax.checkpoint(block, policy=‸",
        "jax.checkpoint(block, policy=ke‸)",
        "nn.remat(Block, policy=‸",
        "@functools.partial(jax.checkpoint, policy=‸)\ndef f(x): return x\n",
        "jax.checkpoint(\n    block,\n    prevent_cse=False,\n    policy=‸\n)\n",
    ],
)
def test_policies_in_the_place_of_one(source: str) -> None:
    _, _, items = completed(source)
    assert {"keep_dots", "dots_saveable", "save_only_these_names"} <= set(items)
    assert items["dots_saveable"].new_text == "cp.dots_saveable"
    assert items["keep_dots"].rank < items["dots_saveable"].rank


def test_named_policies_are_those_in_scope() -> None:
    source = (
        "mine = cp.save_only_these_names('a')\nnumber = 1\n"
        "def f(x):\n    inner = cp.dots_saveable\n    jax.checkpoint(block, policy=‸\n"
    )
    assert {"mine", "inner"} <= labels(source)
    assert not {"number", "block", "f", "x"} & labels(source)
    assert "inner" not in labels("def f(x):\n    inner = cp.dots_saveable\njax.checkpoint(block, policy=‸\n")


def test_the_way_to_the_namespace_is_the_files_own() -> None:
    _, _, items = completed("r(f, policy=‸", head="import jax as j\nfrom jax import remat as r\n")
    assert items["dots_saveable"].new_text == "j.checkpoint_policies.dots_saveable"
    assert items["save_only_these_names"].snippet.startswith("j.checkpoint_policies.save_only_these_names(")
    assert "dots_saveable" not in labels("r(f, policy=‸", head="from jax import remat as r\n")


# -- keywords ---------------------------------------------------------------------------------------------------------

KEYWORDS = {
    "jax.checkpoint(‸": {"fun=", "policy=", "prevent_cse=", "static_argnums=", "static_argnames="},
    "jax.checkpoint(block, ‸": {"policy=", "prevent_cse=", "static_argnums=", "static_argnames="},
    "jax.checkpoint(block, policy=p, st‸)": {"prevent_cse=", "static_argnums=", "static_argnames="},
    "jax.checkpoint(block, *options, ‸": {"fun=", "policy=", "prevent_cse=", "static_argnums=", "static_argnames="},
    "jax.remat(\n    block,\n    prevent_cse=False,\n    ‸\n)": {"policy=", "static_argnums="},
    "functools.partial(jax.remat, policy=p, ‸": {"fun=", "prevent_cse=", "static_argnums="},
    "@functools.partial(jax.remat, ‸)\ndef f(x): return x": {"fun=", "policy=", "prevent_cse=", "static_argnums="},
    "half = functools.partial(jax.remat, policy=p)\nhalf(block, ‸": {"prevent_cse=", "static_argnums="},
    "checkpoint_name(x, ‸": {"name="},
    "Offloadable(‸": {"src=", "dst=", '"device"'},
    "Offloadable(src='device', ‸": {"dst="},
    "cp.save_and_offload_only_these_names(names_which_can_be_saved=[], ‸": {
        "names_which_can_be_offloaded=", "offload_src=", "offload_dst=",
    },
    "cp.save_only_these_names(‸": set(),
    "jax.checkpoint(block, policy=f(‸": set(),
    "jax.checkpoint(block, static_argnums=(‸": set(),
    "jax.checkpoint(block, static_argnums=‸": set(),
    "jax.checkpoint(block, 1 + ‸": set(),
    "jax.jit(block, ‸": set(),
}  # fmt: skip


@pytest.mark.parametrize("source", KEYWORDS)
def test_keywords_that_are_not_given_yet(source: str) -> None:
    assert labels(source) == KEYWORDS[source]


def test_keywords_are_those_of_the_version() -> None:
    assert "concrete=" in labels("jax.checkpoint(block, ‸", "0.4.30")
    assert "concrete=" not in labels("jax.checkpoint(block, ‸", "0.8.2")
    assert "static_argnames=" not in labels("jax.checkpoint(block, ‸", "0.9.2")
    _, _, items = completed("jax.checkpoint(block, ‸")
    assert items["prevent_cse="].detail == "default True"
    assert items["policy="].documentation.startswith("which values are stored")


# -- memory -----------------------------------------------------------------------------------------------------------

MEMORY = {
    "Offloadable(src=‸": {'"device"'},
    "Offloadable(src='‸": {"device"},
    "Offloadable(src='de‸', dst='pinned_host')": {"device"},
    "Offloadable('device', '‸": {"pinned_host"},
    "cp.offload_dot_with_no_batch_dims('device', '‸')": {"pinned_host"},
    "cp.save_and_offload_only_these_names(offload_dst=‸": {'"pinned_host"'},
    "cp.save_and_offload_only_these_names(names_which_can_be_saved=['‸": set(),
    "cp.save_only_these_names('‸": set(),
    "Offloadable(src=f('‸": set(),
}


@pytest.mark.parametrize("source", MEMORY)
def test_kinds_of_memory(source: str) -> None:
    assert labels(source) == MEMORY[source]


def test_kinds_of_memory_by_version() -> None:
    assert labels("Offloadable('device', '‸", "0.7.0") == {"pinned_host", "unpinned_host"}
    assert chosen("Offloadable('device', 'pin‸ned')", "pinned_host") == "Offloadable('device', 'pinned_host')"


# -- signatures -------------------------------------------------------------------------------------------------------

ACTIVE = {
    "jax.checkpoint(‸": "fun",
    "jax.checkpoint(block, ‸": "",
    "jax.checkpoint(block, policy=‸": "policy=None",
    "jax.checkpoint(block, policy=cp.dots_saveable, static_argnums=(1, ‸": "static_argnums=()",
    "cp.save_only_these_names('a', 'b‸": "*names_which_can_be_saved",
    "jax.checkpoint(block, policy=cp.save_only_these_names(‸": "*names_which_can_be_saved",
    "checkpoint_name(x, ‸": "name",
    "Offloadable(dst='pinned_host', src=‸": "src",
    "functools.partial(jax.checkpoint, policy=‸": "policy=None",
}


@pytest.mark.parametrize("source", ACTIVE)
def test_the_active_parameter(source: str) -> None:
    text, position = cut(HEAD + source)
    shown = signature_help(model_of(text, jax="0.12.0"), position)
    assert shown is not None
    active = shown.parameters[shown.active] if shown.active is not None else None
    assert (shown.label[active.start : active.end] if active else "") == ACTIVE[source]


def test_the_signature_is_that_of_the_version() -> None:
    text, position = cut(HEAD + "jax.checkpoint(‸")
    shown = signature_help(model_of(text, jax="0.11.0"), position)
    assert shown is not None
    assert shown.label == "jax.checkpoint(fun, *, prevent_cse=True, policy=None, static_argnums=(), static_argnames=())"
    assert shown.documentation.startswith("JAX 0.11.0: Recompute")
    assert [shown.label[it.start : it.end] for it in shown.parameters][:2] == ["fun", "prevent_cse=True"]
    assert all(it.documentation for it in shown.parameters)
    old = signature_help(model_of(text, jax="0.4.30"), position)
    assert old is not None and "static_argnames" not in old.label


@pytest.mark.parametrize(
    "source", ["print(‸", "jax.jit(‸", "jax.checkpoint(block)‸", "# jax.checkpoint(‸", "jax.checkpoint(f(‸", "(‸"]
)
def test_places_without_a_signature(source: str) -> None:
    text, position = cut(HEAD + source)
    assert signature_help(model_of(text), position) is None


# -- while somebody types ---------------------------------------------------------------------------------------------


def test_the_line_that_is_typed_may_break_everything_below() -> None:
    source = HEAD + "def outer(x):\n    block_fn = block\n    return x\n"
    model = model_of(source)
    line = source.count("\n") - 1  # the last one, which is overwritten
    typed = "    f = jax.checkpoint(block_fn, policy=cp.save_only_these_names("
    for end in range(1, len(typed) + 1):
        model.source.edit(Range(Position(line, 0), Position(line, end - 1)), typed[:end])
        model = model.renewed(model.db)
        items = api_completions(model, Position(line, end))
        if typed[:end].endswith("policy="):
            assert "dots_saveable" in {item.label for item in items}
        if typed[:end].endswith("cp."):
            assert {item.label for item in items} == model.db.policy_names()
        signature_help(model, Position(line, end))
