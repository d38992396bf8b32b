"""What a file differentiates, and which operands of effects are traced or carry the derivative."""

from __future__ import annotations

import textwrap

import pytest

from jaxpert.model.differentiation import carries_derivative, differentiations, where_differentiated
from jaxpert.model.effect_kinds import CALLBACKS, EffectKind
from jaxpert.model.effect_paths import operands_of, traced_operand
from jaxpert.model.effect_places import traced_body
from tests.model.models import model_of

PRELUDE = textwrap.dedent("""\
    import functools, jax, jax.numpy as jnp, numpy as np
    from jax.experimental import io_callback
    seen = []
    """)

DIFFERENTIATIONS = {
    "def f(x, y): return x\njax.grad(f)": ["jax.grad f (x)"],
    "def f(x, y): return x\njax.grad(f, argnums=(0, 1))(1., 2.)": ["jax.grad f (x, y)"],
    "def f(x, y): return x\njax.grad(f, argnums=unknown)": ["jax.grad f ()"],
    "def f(x, y): return x\njax.vjp(f, 1., 2.)": ["jax.vjp f (x, y)"],
    "def f(x): return x\njax.jit(jax.value_and_grad(jax.checkpoint(f)))": ["jax.value_and_grad f (x)"],
    "def f(n, x): return x\njax.grad(functools.partial(f, 1))": ["jax.grad f ()"],
    "@functools.partial(jax.value_and_grad, has_aux=True)\ndef f(x): return x": ["jax.value_and_grad f (x)"],
    "@jax.grad\n@jax.checkpoint\ndef f(x): return x": ["jax.grad f (x)"],
    "class C:\n    def f(self, x): return x\njax.grad(C().f)": ["jax.grad f (x)"],
    "jax.jacfwd(lambda x: x)": ["jax.jacfwd lambda (x) forward"],
    "jax.grad(unknown)": [],
    "import torch\ndef f(x): return x\ntorch.grad(f)": [],
}

CARRIED = {
    "def f(x): io_callback(np.sin, None, x)\ng = jax.checkpoint(f)\njax.grad(g)(1.)": "x",
    "def f(x): io_callback(np.sin, None, (x, 1)[0], jnp.sin(x) + 1)\ng = jax.checkpoint(f)\njax.grad(g)(1.)":
        "jnp.sin(x) + 1",
    "def f(x): io_callback(np.sin, None, jnp.argmax(x), x > 0, x // 2, jnp.sign(x), x.shape)\n"
    "g = jax.checkpoint(f)\njax.grad(g)(1.)": "nothing",
    "def h(v): io_callback(np.sin, None, v * 2)\ndef f(x):\n    y = x.reshape(3)\n    h(v=y)\n"
    "g = jax.checkpoint(f)\njax.grad(g)(1.)": "v * 2",
    "def f(w, x): io_callback(np.sin, None, x)\ng = jax.checkpoint(f)\njax.grad(g)(1., 2.)": "nothing",
    "def f(w, x): io_callback(np.sin, None, x)\ng = jax.checkpoint(f)\n"
    "def loss(w): return g(w, w * 2)\njax.grad(loss)(1.)": "x",
    "@jax.custom_vjp\ndef h(v): io_callback(np.sin, None, v)\ndef f(x): h(x)\ng = jax.checkpoint(f)\njax.grad(g)(1.)":
        "nothing",
    "def f(x):\n    def inner(): io_callback(np.sin, None, x)\n    inner()\ng = jax.checkpoint(f)\njax.grad(g)(1.)": "x",
    "def f(x): io_callback(np.sin, None, x)\ng = jax.checkpoint(f)\njax.grad(f)(1.)": "not differentiated",
    "def f(x): io_callback(np.sin, None, x)\ng = jax.checkpoint(f)\njax.jvp(g, (1.,), (1.,))": "not differentiated",
}  # fmt: skip

KEPT = {
    "@jax.checkpoint\ndef f(x): seen.append(x)": "x",
    "@jax.checkpoint\ndef f(x): seen.append((1, [x[0] + 1]))": "x[0] + 1",
    "@jax.checkpoint\ndef f(x): seen.append(f'{x.shape} {x:.3f}')": "x",
    "@jax.checkpoint\ndef f(x): seen.append('%s' % (x,))": "x",
    "@jax.checkpoint\ndef f(x): seen.append(x.shape)": "nothing",
    "@functools.partial(jax.checkpoint, static_argnums=1)\ndef f(x, n): seen.append(n)": "nothing",
    "def put(v): seen.append(v)\n@jax.checkpoint\ndef f(x): put(x)": "v",
    "def body(c, _): seen.append(c)\n@jax.checkpoint\ndef f(x): jax.lax.scan(body, x, None)": "c",
    "def put(v): seen.append(v)\n@jax.checkpoint\ndef f(x): put(3)": "nothing",
}


@pytest.mark.parametrize("source", DIFFERENTIATIONS)
def test_what_is_differentiated(source: str) -> None:
    found = [
        f"{each.api.name} {each.function.name} ({', '.join(each.names)}){'' if each.is_reverse else ' forward'}"
        for each in differentiations(model_of(PRELUDE + source))
    ]
    assert found == DIFFERENTIATIONS[source]


@pytest.mark.parametrize("source", CARRIED)
def test_what_carries_the_derivative(source: str) -> None:
    model = model_of(PRELUDE + source)
    ((checkpoint, effects),) = model.checkpoint_effects
    (effect,) = (effect for effect in effects if effect.kind in CALLBACKS)
    found = where_differentiated(model, checkpoint, effect)
    carrier = carries_derivative(model, found, operands_of(effect)) if found is not None else None
    words = "not differentiated" if found is None else model.text_of(carrier) if carrier is not None else "nothing"
    assert words == CARRIED[source]


@pytest.mark.parametrize("source", KEPT)
def test_what_is_traced(source: str) -> None:
    model = model_of(PRELUDE + source)
    ((checkpoint, effects),) = model.checkpoint_effects
    (effect,) = (effect for effect in effects if effect.kind is EffectKind.CONTAINER)
    body = traced_body(model, checkpoint)
    kept = traced_operand(body, effect, effect.stored) if body is not None else None
    assert (model.text_of(kept) if kept is not None else "nothing") == KEPT[source]
