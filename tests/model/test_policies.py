"""Where policies are given, what runs when they are asked, and what they answer."""

import ast

import pytest

from jaxpert.model.policies import falls_after, results
from tests.model.models import in_words, model_of

HEAD = """\
import functools
import jax
import flax.linen as nn
import haiku as hk
import equinox as eqx
from flax import nnx
from functools import partial
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import Offloadable, Recompute, Saveable
def keep(prim, *_, **__): return False
"""

USES = {
    "jax.checkpoint(f)": [],
    "jax.checkpoint(f, policy=cp.dots_saveable)": ["jax.checkpoint_policies.dots_saveable"],
    "jax.remat(f, policy=keep)": ["def keep"],
    "@partial(jax.checkpoint, policy=keep)\ndef f(x): return x": ["def keep"],
    "@partial(nn.remat, policy=keep)\nclass Block(nn.Module): pass": ["def keep"],
    "@nnx.remat(policy=keep)\ndef f(x): return x": ["def keep"],
    "remat = partial(jax.checkpoint, policy=keep)\nremat(f)\nremat(g)": ["def keep"],
    "remat = jax.checkpoint\nremat(f, policy=keep)": ["def keep"],
    "nn.remat(Block, policy=keep, static_argnums=(1,))": ["def keep"],
    "hk.remat(f, policy=keep)": ["def keep"],
    "eqx.filter_checkpoint(f, policy=keep)": ["def keep"],
    "policy = None\nif large:\n    policy = keep\njax.checkpoint(f, policy=policy)": ["def keep | None"],
    "jax.checkpoint(f, policy=keep if large else cp.nothing_saveable)":
        ["def keep | jax.checkpoint_policies.nothing_saveable"],
    "T = {'a': keep, 'b': cp.dots_saveable}\njax.checkpoint(f, policy=T[name])":
        ["def keep | jax.checkpoint_policies.dots_saveable"],
    "def get(name): return {'a': keep}[name]\njax.checkpoint(f, policy=get('a'))": ["def keep"],
    "jax.checkpoint(f, policy=getattr(cp, 'dots_saveable', None))": ["jax.checkpoint_policies.dots_saveable"],
    "jax.checkpoint(f, policy=getattr(cp, name, None))": ["?"],
    "class C:\n    def __init__(self):\n        self.policy = keep\n    def m(self):\n"
    "        return jax.checkpoint(f, policy=self.policy)": ["def keep"],
    "jax.checkpoint(f, policy=cp.save_from_both_policies(keep, cp.dots_saveable))": [
        "def keep",
        "jax.checkpoint_policies.dots_saveable",
        "jax.checkpoint_policies.save_from_both_policies(…)",
    ],
    "if jax.__version_info__ < (0, 1):\n    jax.checkpoint(f, policy=keep)": [],
    "unknown.checkpoint(f, policy=keep)": [],
}  # fmt: skip


@pytest.mark.parametrize("source", USES)
def test_where_policies_are_given(source: str) -> None:
    uses = model_of(HEAD + source).policy_uses
    assert sorted(in_words(use.value) for use in uses) == USES[source]


CUSTOM = {
    "jax.checkpoint(f, policy=keep)\njax.checkpoint(g, policy=keep)": ["keep(prim) used 2 times"],
    "jax.checkpoint(f, policy=lambda p, *a, **k: False)": ["lambda(p)"],
    "jax.checkpoint(f, policy=lambda *a, **k: False)": ["lambda()"],
    "def two(names, prim, *_, **__): return False\njax.checkpoint(f, policy=partial(two, {'a'}))": ["two(prim)"],
    "def two(a, b, prim, *_, **__): return False\njax.checkpoint(f, policy=partial(partial(two, 1), 2))":
        ["two(prim)"],
    "def named(prim, *_, names, **__): return False\njax.checkpoint(f, policy=partial(named, names={'a'}))":
        ["named(prim)"],
    "jax.checkpoint(f, policy=partial(keep, *names))": [],
    "class P:\n    def __call__(self, prim, *_, **__): return False\njax.checkpoint(f, policy=P())":
        ["P.__call__(prim)"],
    "class P:\n    def __call__(self, prim, *_, **__): return False\n    def wrap(self, f):\n"
    "        return jax.checkpoint(f, policy=self)": ["P.__call__(prim)"],
    "class P:\n    def m(self, prim, *_, **__): return False\njax.checkpoint(f, policy=P().m)": ["P.m(prim)"],
    "class P:\n    @staticmethod\n    def m(prim, *_, **__): return False\njax.checkpoint(f, policy=P.m)":
        ["P.m(prim)"],
    "class P: pass\njax.checkpoint(f, policy=P())\njax.checkpoint(f, policy=P)": [],
    "def make(n):\n    def inner(prim, *_, **__): return n\n    return inner\njax.checkpoint(f, policy=make(1))":
        ["inner(prim)"],
    "jax.checkpoint(f, policy=cp.dots_saveable)\njax.checkpoint(f, policy=unknown)": [],
    "async def p(prim, *_, **__): return False\njax.checkpoint(f, policy=p)": ["coroutine p(prim)"],
    "def p(prim, *_, **__): yield False\njax.checkpoint(f, policy=p)": ["generator p(prim)"],
}  # fmt: skip


@pytest.mark.parametrize("source", CUSTOM)
def test_functions_used_as_policies(source: str) -> None:
    found = []
    for policy in model_of(HEAD + source).custom_policies:
        kind = "" if policy.kind == "function" else f"{policy.kind} "
        times = f" used {len(policy.uses)} times" if len(policy.uses) > 1 else ""
        found.append(f"{kind}{policy.name}({policy.primitive.arg if policy.primitive else ''}){times}")
    assert found == CUSTOM[source]


ANSWERS = {
    "return prim.name == 'a'": ["<bool>"],
    "return False": ["False"],
    "return 'a' if prim.name == 'b' else None": ["'a'", "None"],
    "if prim.name == 'a':\n        return Saveable\n    return Offloadable(src='device', dst='pinned_host')":
        ["jax.ad_checkpoint.Saveable", "jax.ad_checkpoint.Offloadable(…)"],
    "if False:\n        return 1\n    return True": ["True"],
    "if jax.__version_info__ < (0, 1):\n        return 1\n    return True": ["True"],
    "while True:\n        return 1": ["1"],
    "raise ValueError\n    return 1": [],
    "return keep(prim)": ["False"],
    "return prim.name == 'a' and 1": ["<bool>", "1"],
    "def inner(): return 1\n    return inner()": ["1"],
    "x = 1\n    x = x + 1\n    return x": ["2"],
    "return {'a': True}.get(prim.name)": ["True", "None"],
    "pass": [],
}  # fmt: skip


@pytest.mark.parametrize("body", ANSWERS)
def test_what_a_policy_returns(body: str) -> None:
    source = f"def policy(prim, *_, **__):\n    {body}\njax.checkpoint(f, policy=policy)\n"
    (policy,) = model_of(HEAD + source).custom_policies
    assert [in_words(result.value) for result in results(policy)] == ANSWERS[body]


def test_partial_arguments_decide_what_is_returned() -> None:
    source = """\
def policy(offload, prim, *_, **__):
    if offload:
        return Offloadable(src='device', dst='pinned_host')
    return Saveable
jax.checkpoint(f, policy=partial(policy, False))
"""
    (policy,) = model_of(HEAD + source).custom_policies
    assert [in_words(result.value) for result in results(policy)] == ["jax.ad_checkpoint.Saveable"]


FALLS = {
    "return False": None,
    "if prim.name == 'a':\n        return True": "if prim.name == 'a':\n    return True",
    "if prim.name == 'a':\n        return True\n    else:\n        return False": None,
    "if prim.name == 'a':\n        return True\n    print(prim)": "print(prim)",
    "if prim.name == 'a':\n        return\n    return False": "return",
    "for n in names:\n        if prim.name == n:\n            return True":
        "for n in names:\n    if prim.name == n:\n        return True",
    "match prim.name:\n        case 'a': return True\n        case _: return False": None,
    "match prim.name:\n        case 'a': return True": "match prim.name:\n    case 'a':\n        return True",
    "try:\n        return table[prim]\n    except KeyError:\n        return False": None,
    "with scope():\n        return True": None,
    "while True:\n        if prim: return True": None,
    "raise NotImplementedError": None,
    "assert False": None,
    "'''Not written yet.'''": None,
    "...": None,
    "yield True": None,
}


@pytest.mark.parametrize("body", FALLS)
def test_where_a_policy_falls_off_its_end(body: str) -> None:
    source = f"def policy(prim, *_, **__):\n    {body}\njax.checkpoint(f, policy=policy)\n"
    (policy,) = model_of(HEAD + source).custom_policies
    last = falls_after(policy)
    assert (last and ast.unparse(last)) == FALLS[body]


def test_policy_of_another_module_is_known_by_its_model() -> None:
    modules = {"policies": "def keep(prim, *_, **__):\n    if prim.name == 'a':\n        return True\n"}
    source = "import jax\nfrom policies import keep\njax.checkpoint(f, policy=keep)\n"
    (policy,) = model_of(source, modules).custom_policies
    last = falls_after(policy)
    assert policy.model.path == "policies.py"
    assert last is not None
    assert policy.model.text_of(last).startswith("if prim.name")
