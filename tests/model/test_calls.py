"""Calls of known APIs: found through every way to reach them, with their arguments bound to parameters."""

from __future__ import annotations

import pytest

from jaxpert.model.calls import ApiCall
from tests.model.models import model_of

IMPORTS = """\
import functools
import jax
import flax.linen as nn
from functools import partial
from jax import ad_checkpoint as adc, checkpoint as ckpt, checkpoint_policies as cp
from jax.ad_checkpoint import checkpoint_name
"""


def shown(call: ApiCall) -> str:
    """``name(parameter=source, …)`` and what did not fit."""
    parts = [f"{name}={argument.model.text_of(argument.node)}" for name, argument in sorted(call.arguments.items())]
    parts += [f"*{argument.model.text_of(argument.node)}" for argument in call.varargs]
    parts += [f"surplus {argument.model.text_of(argument.node)}" for argument in call.surplus]
    parts += [f"unexpected {argument.keyword.arg}" for argument in call.unexpected if argument.keyword]
    parts += [f"missing {name}" for name in call.missing]
    parts += ["opened"] if call.opened else []
    return f"{'partial ' if call.is_partial else ''}{call.api.name}({', '.join(parts)})"


BOUND = [
    ("jax.checkpoint(f, policy=p)", ["jax.checkpoint(fun=f, policy=p)"]),
    ("ckpt(f)", ["jax.checkpoint(fun=f)"]),
    ("jax.remat(f, prevent_cse=False)", ["jax.remat(fun=f, prevent_cse=False)"]),
    ("jax.checkpoint(f, p)", ["jax.checkpoint(fun=f, surplus p)"]),
    ("jax.checkpoint(policy=p)", ["jax.checkpoint(policy=p, missing fun)"]),
    ("jax.checkpoint(f, polcy=p)", ["jax.checkpoint(fun=f, unexpected polcy)"]),
    ("jax.checkpoint(f, **options)", ["jax.checkpoint(fun=f, opened)"]),
    ("checkpoint_name(x, 'a')", ["jax.ad_checkpoint.checkpoint_name(name='a', x=x)"]),
    ("adc.checkpoint_name(x, name='a')", ["jax.ad_checkpoint.checkpoint_name(name='a', x=x)"]),
    ("checkpoint_name(*(x, 'a'))", ["jax.ad_checkpoint.checkpoint_name(name='a', x=x)"]),
    ("checkpoint_name(x, *rest)", ["jax.ad_checkpoint.checkpoint_name(x=x, opened)"]),
    ("cp.save_only_these_names('a', 'b')", ["jax.checkpoint_policies.save_only_these_names(*'a', *'b')"]),
    ("partial(jax.checkpoint, policy=p)", ["partial jax.checkpoint(policy=p)"]),
    ("partial(partial(jax.checkpoint, policy=p), static_argnums=1)(f)",
     ["jax.checkpoint(fun=f, policy=p, static_argnums=1)", "partial jax.checkpoint(policy=p)",
      "partial jax.checkpoint(policy=p, static_argnums=1)"]),
    ("(ckpt if f else jax.remat)(f)", ["jax.checkpoint(fun=f)", "jax.remat(fun=f)"]),
    ("nn.remat(f, policy=p)", ["flax.linen.remat(policy=p, target=f)"]),
    ("getattr(jax, 'checkpoint')(f)", ["jax.checkpoint(fun=f)"]),
    ("f(x)", []),
    ("np.sum(x)", []),
]  # fmt: skip


@pytest.mark.parametrize(("source", "calls"), BOUND, ids=[source for source, _ in BOUND])
def test_arguments_are_bound(source: str, calls: list[str]) -> None:
    model = model_of(f"{IMPORTS}\ndef g(f, p, x, rest, options, np):\n    return {source}\n")
    assert sorted(shown(call) for call in model.calls) == sorted(calls)


REACHED = [
    "remat = jax.checkpoint\nremat(f)",
    "from jax.ad_checkpoint import checkpoint as c\nc(f)",
    "import jax.ad_checkpoint\njax.ad_checkpoint.checkpoint(f)",
    "if f:\n    wrap = jax.remat\nelse:\n    wrap = jax.checkpoint\nwrap(f)",
    "def pick():\n    return jax.checkpoint\npick()(f)",
    "class A:\n    wrap = jax.checkpoint\nA.wrap(f)",
    "class A:\n    def __init__(self):\n        self.wrap = jax.checkpoint\n    def go(self):\n        self.wrap(f)",
    "TABLE = {'a': jax.checkpoint}\nTABLE['a'](f)",
    "(lambda: jax.checkpoint)()(f)",
]


@pytest.mark.parametrize("source", REACHED)
def test_a_wrapper_is_found_however_it_is_reached(source: str) -> None:
    model = model_of(f"import jax\n{source}\n", jax="0.7.2")
    found = {call.api.name for call in model.calls if not call.is_partial}
    assert found & {"jax.checkpoint", "jax.remat"}


def test_a_wrapper_is_found_through_two_modules() -> None:
    modules = {"layers/": "from .remat import ckpt", "layers.remat": "import jax\nckpt = jax.checkpoint"}
    model = model_of("from layers import ckpt\nimport jax\nckpt(f)\n", modules)
    assert [call.api.name for call in model.calls] == ["jax.checkpoint"]
    assert model.looked_up == {"layers"}


def test_a_local_name_is_not_the_library() -> None:
    model = model_of(
        "import jax\n\ndef f(jax):\n    return jax.checkpoint(1)\n\ndef checkpoint(f):\n    return f\ncheckpoint(f)\n"
    )
    assert model.calls == ()


def test_signatures_are_those_of_the_target_version() -> None:
    source = "import jax\njax.checkpoint(f, static_argnames='x', concrete=True)\n"
    old, new = model_of(source, jax="0.4.30"), model_of(source, jax="0.12.0.1")
    assert [a.keyword.arg for a in old.calls[0].unexpected if a.keyword] == ["static_argnames"]
    assert [a.keyword.arg for a in new.calls[0].unexpected if a.keyword] == ["concrete"]
