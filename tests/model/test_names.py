"""Which checkpoint names a file tags and which its policies ask for, and what the names of a project know."""

import textwrap

import pytest

from jaxpert.model.names import NameFacts, NameIndex, NamePlace
from tests.model.models import model_of

HEAD = """\
from functools import partial
import jax
from jax import ad_checkpoint as adc
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import checkpoint_name
"""

MODULES = {"names": "ATTN = 'attn'\nALL = ('attn', 'mlp')\n"}

FACTS = {
    # tags
    "y = checkpoint_name(x, 'attn')": ["tag 'attn' = 'attn'"],
    "y = checkpoint_name(x, name='attn')": ["tag 'attn' = 'attn'"],
    "y = adc.checkpoint_name(x, 'attn')": ["tag 'attn' = 'attn'"],
    "y = jax.ad_checkpoint.checkpoint_name(x, 'attn')": ["tag 'attn' = 'attn'"],
    "import haliax as hax\ny = hax.tree_checkpoint_name(x, 'attn')": ["tag 'attn' = 'attn'"],
    "cn = checkpoint_name\ny = cn(x, 'attn')": ["tag 'attn' = 'attn'"],
    "tag = partial(checkpoint_name, name='attn')\ny = tag(x)": ["tag 'attn' = 'attn'", "tag 'attn' = 'attn'"],
    "y = checkpoint_name(checkpoint_name(x, 'a'), 'b')": ["tag 'a' = 'a'", "tag 'b' = 'b'"],
    "NAME = 'attn'\ny = checkpoint_name(x, NAME)": ["tag 'attn' = 'attn'"],
    "y = checkpoint_name(x, 'attn' + '_out')": ["tag 'attn_out' = 'attn' + '_out'"],
    "y = checkpoint_name(x, f'layer{i}_out')": ["tag /layer…_out/ = f'layer{i}_out'"],
    "y = checkpoint_name(x, prefix + '_out')": ["tag /…_out/ = prefix + '_out'"],
    "y = checkpoint_name(x, name)": ["tag /…/ = name"],
    "y = checkpoint_name(x, 'a' if train else name)": ["tag 'a' = 'a'", "tag /…/ = 'a' if train else name"],
    "y = checkpoint_name(*args)": ["tag /…/ = checkpoint_name(*args)"],
    "for n in ('q', 'k'):\n    y = checkpoint_name(x, n)": ["tag 'k' = 'k'", "tag 'q' = 'q'"],
    "from names import ATTN\ny = checkpoint_name(x, ATTN)": ["tag 'attn' = names.py: 'attn'"],
    "y = unknown_name(x, 'attn')": [],
    # uses
    "p = cp.save_only_these_names('a', 'b')": ["use 'a' = 'a'", "use 'b' = 'b'"],
    "p = cp.save_any_names_but_these('a')": ["use 'a' = 'a'"],
    "p = jax.ad_checkpoint.checkpoint_policies.save_only_these_names('a')": ["use 'a' = 'a'"],
    "p = getattr(cp, 'save_only_these_names')('a')": ["use 'a' = 'a'"],
    "make = cp.save_only_these_names\np = make('a')": ["use 'a' = 'a'"],
    "p = cp.save_only_these_names(f'layer{i}')": ["use /layer…/ = f'layer{i}'"],
    "p = cp.save_only_these_names(*('a', 'b'))": ["use 'a' = 'a'", "use 'b' = 'b'"],
    "p = cp.save_only_these_names(*names)": ["use /…/ = cp.save_only_these_names(*names)"],
    "p = cp.save_only_these_names(**options)": ["use /…/ = cp.save_only_these_names(**options)"],
    "NAMES = ['a', f'b{i}']\np = cp.save_only_these_names('c', *NAMES)":
        ["use 'a' = 'a'", "use 'c' = 'c'", "use /b…/ = f'b{i}'"],
    "P = partial\np = P(cp.save_only_these_names, 'a')()": ["use 'a' = 'a'", "use 'a' = 'a'"],
    "import enum\nclass N(str, enum.Enum):\n    A = 'a'\ny = checkpoint_name(x, N.A)": ["tag 'a' = 'a'"],
    "p = cp.save_and_offload_only_these_names(names_which_can_be_saved=cfg.names, names_which_can_be_offloaded=['b'],"
    " offload_src='device', offload_dst='pinned_host')": ["use 'b' = 'b'", "use /…/ = cfg.names"],
    # names that policies of the user's compare
    "def p(prim, *_, **kw):\n    return kw['name'] in ('a', 'b') or 'c' != kw.get('name')":
        ["use 'a' = 'a'", "use 'b' = 'b'", "use 'c' = 'c'"],
    "p = lambda prim, *_, **kw: kw['name'] == 'a'": ["use 'a' = 'a'"],
    "KEEP = {'a': 1}\np = lambda prim, *_, **kw: kw['name'] in KEEP": ["use 'a' = 'a'"],
    "def p(prim, *_, **kw):\n    return kw['axis'] == 'a' or other['name'] == 'b'": [],
    "def p(**kw):\n    return kw['name'] == 'a'": [],
    "p = cp.save_and_offload_only_these_names(names_which_can_be_saved=['a'], names_which_can_be_offloaded=('b',),"
    " offload_src='device', offload_dst='pinned_host')": ["use 'a' = 'a'", "use 'b' = 'b'"],
    "NAMES = {'a'}\np = cp.save_and_offload_only_these_names(names_which_can_be_saved=NAMES | {'b'},"
    " names_which_can_be_offloaded=[], offload_src='device', offload_dst='pinned_host')":
        ["use 'a' = 'a'", "use 'b' = 'b'"],
    "import names\np = cp.save_only_these_names(names.ATTN)": ["use 'attn' = names.py: 'attn'"],
    "p = cp.dots_saveable": [],
    # hints
    "y = kernel(q, residual_checkpoint_name='attn')": ["hint 'attn' = 'attn'"],
    "y = kernel(q, checkpoint_name=name)": [],
}  # fmt: skip


@pytest.mark.parametrize("source", FACTS)
def test_names_of_a_file(source: str) -> None:
    model = model_of(HEAD + source, MODULES)
    facts = model.name_facts
    found = []
    for place in (*facts.tags, *facts.uses, *facts.hints, *facts.compared):
        written = _text(model_of(MODULES["names"]) if place.path == "names.py" else model, place)
        elsewhere = f"{place.path}: " if place.path != "main.py" else ""
        name = repr(place.text) if place.text else f"/{'…'.join(place.parts)}/"
        found.append(f"{place.role} {name} = {elsewhere}{written}")
    assert sorted(found) == FACTS[source]
    assert facts.is_empty is not FACTS[source]


def _text(model: object, place: NamePlace) -> str:
    if place.range is None:
        return ""
    (first, start), (last, end) = place.range
    assert first == last
    return str(model.source.lines[first][start:end])  # type: ignore[attr-defined]


def test_file_without_jax_has_no_names() -> None:
    assert model_of("def f(x):\n    return tag(x, 'a')\n").name_facts.is_empty


INDEX = NameIndex({
    "a.py": model_of(HEAD + "y = checkpoint_name(checkpoint_name(x, 'attn_out'), f'layer{i}')").name_facts,
    "b.py": model_of(HEAD + textwrap.dedent("""\
        y = kernel(x, residual_checkpoint_name='flash')
        p = cp.save_only_these_names('attn_out', 'other')
        z = checkpoint_name(x, 'mlp-up.proj')
    """)).name_facts,
})  # fmt: skip

TAGGED = {"attn_out": True, "layer12": True, "flash": True, "other": False, "attn": False, "my_layer1": False}


@pytest.mark.parametrize("name", TAGGED)
def test_whether_a_name_may_be_tagged(name: str) -> None:
    assert INDEX.may_be_tagged(name) is TAGGED[name]


NEAREST = {
    "attn_outt": "attn_out",
    "AttnOut": "attn_out",
    "mlp_up_proj": "mlp-up.proj",
    "flsh": None,
    "unrelated": None,
    "": None,
}


@pytest.mark.parametrize("name", NEAREST)
def test_nearest_tag(name: str) -> None:
    assert INDEX.nearest(name) == NEAREST[name]


def test_index_puts_files_together() -> None:
    assert INDEX.known() == {"attn_out", "flash", "mlp-up.proj"}
    assert sorted(place.text for place in INDEX.uses()) == ["attn_out", "other"]
    assert sorted(place.text for place in INDEX.tags()) == ["", "attn_out", "mlp-up.proj"]
    assert not NameIndex().may_be_tagged("attn_out")
    assert NameFacts().is_empty
