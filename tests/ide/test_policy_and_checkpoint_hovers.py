"""What hovers say about policies, rematerialized functions and their parameters, at a mark in the source."""

from __future__ import annotations

import pytest

from jaxpert.ide.blocks import Hover, to_markdown, to_plain_text
from jaxpert.ide.checkpoint_hover import checkpoint_hover
from jaxpert.ide.parameter_hover import parameter_hover
from jaxpert.ide.policy_hover import policy_hover
from jaxpert.model.names import NameIndex
from jaxpert.text.lines import slice_lines, split_lines
from tests.cursors import cut
from tests.model.models import model_of

HEAD = """\
import functools
import time
import flax.linen as nn
import jax
import jax.numpy as jnp
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import checkpoint_name
"""


def hovered(describe, source: str, jax: str = "0.12.0", **options) -> tuple[str, Hover] | None:
    """The text that a hover is for, and the hover."""
    text, position = cut(HEAD + source)
    found = describe(model_of(text, jax=jax, **options), position)
    if found is None:
        return None
    return slice_lines(split_lines(text), found[0]), Hover(found[0], tuple(found[1]))


POLICY_PLACES = {
    "a member": ("jax.checkpoint(f, policy=cp.dots‸_saveable)", "cp.dots_saveable"),
    "a factory": ("jax.checkpoint(f, policy=cp.save_only‸_these_names('a'))", "cp.save_only_these_names('a')"),
    "a name in it": ("jax.checkpoint(f, policy=cp.save_only_these_names('‸a'))", "cp.save_only_these_names('a')"),
    "a variable": ("p = cp.dots_saveable\njax.checkpoint(f, policy=‸p)", "p"),
    "its definition": ("p = cp.‸dots_saveable", "cp.dots_saveable"),
    "another use of it": ("p = cp.dots_saveable\nprint(‸p)", "p"),
    "a dict's entry": ("T = {'a': cp.dots_saveable‸}", "cp.dots_saveable"),
    "a dict's item": ("T = {'a': cp.dots_saveable}\njax.checkpoint(f, policy=‸T['a'])", "T['a']"),
    "an arm": ("jax.checkpoint(f, policy=cp.dots‸_saveable if x else None)", "cp.dots_saveable"),
    "a conditional": ("jax.checkpoint(f, policy=cp.dots_saveable ‸if x else None)", "cp.dots_saveable if x else None"),
    "a lambda": ("jax.checkpoint(f, policy=lambda p, *_, **__: p.name.startswith(‸'dot'))",
                 "lambda p, *_, **__: p.name.startswith('dot')"),
    "a function": ("def keep(p, *_, **__): return True\njax.checkpoint(f, policy=‸keep)", "keep"),
    "its name": ("def ‸keep(p, *_, **__): return True\njax.checkpoint(f, policy=keep)", "keep"),
    "an unknown one": ("jax.checkpoint(f, policy=‸unknown)", "unknown"),
}  # fmt: skip
NO_POLICIES = (
    "jax.checkpoint(‸f, policy=cp.dots_saveable)",
    "‸def keep(p, *_, **__): return True\njax.checkpoint(f, policy=keep)",
    "def ‸other(p): return True",
    "x = ‸print",
    "‸",
)


@pytest.mark.parametrize("name", POLICY_PLACES)
def test_where_a_policy_is_seen(name: str) -> None:
    source, text = POLICY_PLACES[name]
    found = hovered(policy_hover, source)
    assert found is not None and found[0] == text


@pytest.mark.parametrize("source", NO_POLICIES)
def test_where_none_is(source: str) -> None:
    assert hovered(policy_hover, source) is None


def test_a_policy_as_markdown() -> None:
    found = hovered(
        policy_hover,
        "def f(x): return checkpoint_name(x, 'attn_out')\n"
        "jax.checkpoint(f, policy=cp.‸save_only_these_names('attn_out', 'atn_out'))",
    )
    assert found is not None
    assert to_markdown(found[1]) == (
        "**`cp.save_only_these_names('attn_out', 'atn_out')`** · policy · JAX 0.12.0\n\n"
        "| on the backward pass |  |\n"
        "| --- | --- |\n"
        "| `attn_out` | saved (1 tag: main.py:8) |\n"
        "| `atn_out` | saved; **no value has this name**, the nearest is `attn_out` |\n"
        "| matrix products, convolutions, other names, everything else | recomputed |"
    )


def test_a_policy_as_plain_text() -> None:
    source = "jax.checkpoint(f, policy=cp.dots_saveable if a | b ‸else functools.partial(keep, *rest))"
    found = hovered(policy_hover, "def keep(p): return True\n" + source)
    assert found is not None
    assert to_plain_text(found[1]) == (
        "cp.dots_saveable if a | b else functools.partial(keep, *rest) · policy · JAX 0.12.0\n\n"
        "dots_saveable · where a | b\n\n"
        "on the backward pass\n"
        "matrix products, convolutions  saved\n"
        "named values, everything else  recomputed\n\n"
        "partial(keep, *rest) · where not a | b\n\n"
        "What it decides is unknown: it cannot be told from the code."
    )


@pytest.mark.parametrize(
    ("jax", "said"),
    [("0.11.0", "its own policies only"), ("0.11.2", "only about named values"), ("0.12.0", "matrix products, conv")],
)
def test_remat3_is_mentioned_where_it_changes_the_table(jax: str, said: str) -> None:
    source = "jax.checkpoint(f, policy=‸lambda *_, **__: True)"
    found = hovered(policy_hover, source, jax, remat3=True)
    assert found is not None and said in to_markdown(found[1])
    assert "| everything | saved |" in to_markdown(hovered(policy_hover, source, jax)[1])


BLOCK = """\
def norm(x):
    return checkpoint_name(x / 2, "norm")

@functools.partial(jax.checkpoint, policy=cp.save_only_these_names("attn", "lost"), static_argnums=(2,))
def block(x, w, train, scale=1.0, *, mask=None, **rest):
    jax.debug.print("{}", x)
    start = time.time()
    y = checkpoint_name(x @ w, "attn")
    y, _ = jax.lax.scan(lambda c, i: (checkpoint_name(c, f"{i}"), None), y, None, length=2)
    return norm(y)

out = block(jnp.ones((2, 2)), jnp.ones((2, 2)), True)
"""
CHECKPOINT_PLACES = (
    ("def block", "def ‸block", "block"),
    ("out = block", "out = blo‸ck", "block"),
    ("functools.partial(jax.checkpoint", "functools.partial(jax.‸checkpoint", "jax.checkpoint"),
    ("functools.partial(", "functools.‸partial(", "functools.partial"),
)


@pytest.mark.parametrize(("old", "new", "text"), CHECKPOINT_PLACES)
def test_a_rematerialized_function(old: str, new: str, text: str) -> None:
    found = hovered(checkpoint_hover, BLOCK.replace(old, new, 1))
    assert found is not None and found[0] == text
    assert to_markdown(found[1]) == (
        '**`block`** is rematerialized by `jax.checkpoint` · policy `save_only_these_names("attn", "lost")` · '
        "static: `train` (2)\n\n"
        "| on the backward pass |  |\n"
        "| --- | --- |\n"
        "| `attn` | saved (line 15) |\n"
        "| `norm` | recomputed (line 9) |\n"
        "| `lost` | saved |\n"
        "| matrix products, convolutions, other names, everything else | recomputed |\n\n"
        '- `jax.debug.print("{}", x)` (line 13): runs again on the backward pass\n'
        "- `time.time()` (line 14): happens while JAX traces, not when the program runs"
    )


def test_a_name_that_nothing_inside_has() -> None:
    found = hovered(checkpoint_hover, BLOCK.replace("def block", "def ‸block").replace('f"{i}"', '"i"'))
    assert found is not None
    assert "| `lost` | saved; **nothing inside has this name** |" in to_markdown(found[1])


OTHER_FUNCTIONS = {
    "def f(x): return x\ng = jax.remat(‸f)": "`f`** is rematerialized by `jax.remat` · no policy",
    "def ‸f(x): return x\ng = jax.checkpoint(f)\nh = jax.checkpoint(f)": "no policy · wrapped at line 10",
    "def f(x): return x\ng = jax.checkpoint(f, **options)\n‸g(1)": "policy not known",
    "def f(x): return x\ng = jax.checkpoint(f, policy=make())\n‸g(1)": "policy `make()`",
    "@nn.remat\nclass ‸Layer(nn.Module):\n    def __call__(self, x): return x": "`Layer`** is rematerialized by",
    "class A:\n    @jax.checkpoint\n    def f(self, x): return x\nA().‸f(1)": "`A.f`** is rematerialized",
}


@pytest.mark.parametrize("source", OTHER_FUNCTIONS)
def test_other_rematerialized_functions(source: str) -> None:
    found = hovered(checkpoint_hover, source)
    assert found is not None and OTHER_FUNCTIONS[source] in to_markdown(found[1])


@pytest.mark.parametrize(
    "source",
    ["def ‸f(x): return x", "def f(x): return x\ng = jax.checkpoint(f)\n‸f(1)", "‸jax.jit(f)", "@jax.checkpoint\ndef f(‸x): pass"],
)
def test_functions_that_are_not(source: str) -> None:
    assert hovered(checkpoint_hover, source) is None


PARAMETERS = {
    "def block(‸x": "**`x`** of `block` is **traced** under `jax.checkpoint`: it is not in `static_argnums`; the calls in "
    "this file pass an array. Inside, its shape and dtype are known and its value is not: Python cannot branch on it.",
    "(x‸ @ w": "**`x`** of `block` is **traced**",
    "‸train, scale": "**`train`** of `block` is **static** under `jax.checkpoint`: it is number 2 in `static_argnums`. "
    "Inside it is a plain Python value, and the function is traced again for each new one; it must be hashable. Passed "
    "by keyword it would be traced.",
    "‸scale=1.0": "**`scale`** of `block` is **a plain Python value**",
    "‸mask=None": "**`mask`** of `block` is **a plain Python value**",
}  # fmt: skip


@pytest.mark.parametrize("place", PARAMETERS)
def test_parameters_of_a_rematerialized_function(place: str) -> None:
    found = hovered(parameter_hover, BLOCK.replace(place.replace("‸", ""), place, 1))
    assert found is not None
    assert to_markdown(found[1]).startswith(PARAMETERS[place])


OTHER_PARAMETERS = {
    "def f(‸x, n): return x\ng = jax.checkpoint(f, static_argnums=numbers)": "**traced or static**",
    "class A:\n    @jax.checkpoint\n    def f(‸self, x): return x": "its class must be a registered pytree",
    "@nn.remat\nclass Layer(nn.Module):\n    def __call__(‸self, x): return x": "**not traced**",
    "import equinox as eqx\n@eqx.filter_checkpoint\ndef f(‸x): return x": "**traced where it is an array**",
    "@functools.partial(jax.checkpoint, static_argnames=('n',))\ndef f(x, ‸n): return x":
        "`static_argnames` has no effect without `jax_remat3`",
    "@jax.checkpoint\ndef f(*‸xs): return xs": "**traced** under `jax.checkpoint`: every value that it takes up is.",
}  # fmt: skip


@pytest.mark.parametrize("source", OTHER_PARAMETERS)
def test_other_parameters(source: str) -> None:
    found = hovered(parameter_hover, source)
    assert found is not None and OTHER_PARAMETERS[source] in to_markdown(found[1])


@pytest.mark.parametrize("source", ["def f(‸x): return x", "@jax.checkpoint\ndef f(x): return jnp.‸sin(x)", "‸x = 1"])
def test_what_is_no_such_parameter(source: str) -> None:
    assert hovered(parameter_hover, source) is None


def test_names_of_other_files_are_found() -> None:
    text, position = cut(HEAD + "jax.checkpoint(f, policy=cp.‸save_only_these_names('far'))")
    model = model_of(text)
    other = model_of("from jax.ad_checkpoint import checkpoint_name\ncheckpoint_name(x, 'far')\n")
    model.names = NameIndex({"far/away.py": other.name_facts})
    found = policy_hover(model, position)
    assert found is not None
    assert "saved (1 tag: main.py:2)" in to_markdown(Hover(found[0], tuple(found[1])))
