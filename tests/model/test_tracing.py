"""Which expressions of a checkpointed function are traced, and where their value is asked for."""

from __future__ import annotations

import ast
import textwrap

import pytest

from jaxpert.model.conversions import conversions
from jaxpert.model.file_model import FileModel
from jaxpert.model.traced_arguments import traced_arguments
from jaxpert.model.tracing import Body, Level, Place
from jaxpert.model.transforms import parameters
from tests.model.models import model_of

PREAMBLE = """\
import chex
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from functools import partial
from jaxtyping import Array, Float
from typing import Annotated, Optional, Union
"""


def body_of(model: FileModel, levels: dict[str, Level]) -> Body:
    (checkpoint,) = model.checkpoints
    known = parameters(model, checkpoint)
    assert known is not None
    return Body(model, known.function, levels)


# -- expressions ------------------------------------------------------------------------------------------------------

LEVELS = {"a": Level.ARRAY, "p": Level.LEAVES, "m": Level.MAYBE}

EXPRESSIONS = {
    # a is an array, p a parameter of any kind, m one that may be None or a plain value
    "a": "ARRAY a", "p": "LEAVES p", "m": "MAYBE m", "other": "NOT", "glob": "NOT",
    "a + 1": "ARRAY a", "p + 1": "ARRAY p", "p * 2": "LEAVES p", "p - q": "ARRAY p", "-p": "ARRAY p",
    "m - 1": "MAYBE m",
    "p + 'x'": "NOT", "p % (1, 2)": "NOT", "f'{p}' + p": "NOT", "a @ p": "ARRAY a p", "p // 2": "ARRAY p",
    "p + p": "LEAVES p",
    "a.T": "ARRAY a array", "a.shape": "NOT", "a.shape[0]": "NOT", "a.ndim": "NOT", "p.T": "NOT", "p.field": "NOT",
    "p.shape[0] > 1": "NOT", "len(p)": "NOT", "len(a) > 1": "NOT",
    "a[0]": "ARRAY a array", "p['k']": "LEAVES p array", "m[0]": "MAYBE m array", "p['k'][0]": "LEAVES p array",
    "p > 1": "ARRAY p", "p == 1": "ARRAY p", "p == q": "NOT", "p == 'x'": "NOT", "p != None": "NOT",
    "p < q": "ARRAY p",
    "1 < p": "ARRAY p", "a == q": "ARRAY a", "a == 'x'": "NOT", "a == (1, 2)": "NOT", "m > 1": "NOT",
    "p < (3, 8)": "NOT",
    "p is None": "NOT", "'k' in p": "NOT", "p > LIMIT": "ARRAY p", "p == LIMIT": "ARRAY p", "p == NAME": "NOT",
    "0 < p < 3": "ARRAY p", "not a": "NOT", "~p": "ARRAY p",
    "p.sum()": "ARRAY p array", "m.mean()": "ARRAY m array", "p.keys()": "NOT", "a.item()": "NOT",
    "p.sum() > 0": "ARRAY p array",
    "jnp.any(p)": "ARRAY p array", "jnp.any(m)": "ARRAY m array", "jnp.any(other)": "NOT", "jnp.shape(p)": "NOT",
    "jnp.where(p)": "NOT", "jnp.where(p, a, 0)": "ARRAY a p array", "jnp.linalg.norm(p)": "ARRAY p array",
    "jnp.split(p, 2)": "NOT",
    "jnp.any(axis=0, a=p)": "ARRAY p array", "jax.nn.relu(p)": "ARRAY p array",
    "jax.random.uniform(p)": "ARRAY p array",
    "jax.random.split(p)": "NOT", "jax.lax.stop_gradient(p)": "ARRAY p array", "np.sin(p)": "NOT",
    "unknown(p)": "NOT",
    "abs(p)": "LEAVES p", "abs(a)": "ARRAY a", "int(a)": "NOT", "(b := a)": "ARRAY a",
    "a if other else p": "LEAVES a p", "a if other else 1": "NOT", "[a]": "NOT", "(lambda: a)": "NOT",
}  # fmt: skip


@pytest.mark.parametrize("source", EXPRESSIONS)
def test_expressions(source: str) -> None:
    constants = "LIMIT = 3\nNAME = 'x'\n"
    model = model_of(f"{PREAMBLE}{constants}@jax.checkpoint\ndef f(a, p, m):\n    other = glob\n    {source}\n")
    assert last_expression(model, LEVELS) == EXPRESSIONS[source]


def last_expression(model: FileModel, levels: dict[str, Level]) -> str:
    body = body_of(model, levels)
    function = body.function
    statements = [(s, b) for s, b in function.block.tree.block_of.items() if isinstance(s, ast.Expr)]
    statement, block = max(statements, key=lambda found: found[0].lineno)
    assert isinstance(statement, ast.Expr)
    traced = body.traced(statement.value, Place(model.scope_of(block), block))
    return " ".join([traced.level.name, *sorted(traced.names), *(["array"] if traced.needs_array else [])])


NAMES = {
    "b = a\nc = b\nc": "ARRAY a",
    "b = a * 2\nb += 1\nb": "ARRAY a",
    "a = 1\na": "NOT",
    "if z:\n    a = 1\na": "NOT",
    "if z:\n    b = a\nelse:\n    b = p\nb": "LEAVES a p",
    "b = a\nfor i in range(3):\n    b = jnp.sin(b)\nb": "ARRAY a array",
    "while z:\n    a = a - 1\na": "ARRAY a",
    "b, c = p\nb": "LEAVES p array",
    "b, (c, *d) = p\nd": "NOT",
    "b, c = a, 1\nb": "ARRAY a",
    "b, c = a, 1\nc": "NOT",
    "b, c = a.shape\nb": "NOT",
    "for b in p:\n    b": "LEAVES p array",
    "for i, b in enumerate(p):\n    b": "LEAVES p array",
    "for i, b in enumerate(p):\n    i": "NOT",
    "for b, c in zip(p, other):\n    b": "LEAVES p array",
    "for b, c in zip(p, other):\n    c": "NOT",
    "with z as b:\n    b": "NOT",
    "def g(h):\n    a": "ARRAY a",
    "def g(a):\n    a": "NOT",
    "def g(h, n=a):\n    n": "NOT",
    "def g(h):\n    b = a > 1\n    b": "ARRAY a",
    "b, *c, d = p\nd": "LEAVES p array",
    "b, *c, d = 1, 2, a\nd": "ARRAY a",
    "b = 0\nb += a\nb": "ARRAY a",
    "p -= other\np": "ARRAY p",
    "p += u\np": "LEAVES p",
}


@pytest.mark.parametrize("source", NAMES)
def test_names(source: str) -> None:
    model = model_of(f"{PREAMBLE}@jax.checkpoint\ndef f(a, p, m):\n{textwrap.indent(source, '    ')}\n")
    assert last_expression(model, LEVELS) == NAMES[source]


# -- arguments --------------------------------------------------------------------------------------------------------

ARGUMENTS = {
    "@jax.checkpoint\ndef f(x, n): ...": "x LEAVES, n LEAVES",
    "@jax.checkpoint\ndef f(x: jax.Array, n: int, b: bool, s: float): ...": "x ARRAY, n ARRAY, b ARRAY, s ARRAY",
    "@jax.checkpoint\ndef f(x: Float[Array, 'b d'], y: 'jnp.ndarray', z: chex.Array): ...": "x ARRAY, y ARRAY, z ARRAY",
    "@jax.checkpoint\ndef f(x: dict, y: str, z: list[int]): ...": "x LEAVES, y LEAVES, z LEAVES",
    "@jax.checkpoint\ndef f(x: int | None, y: Optional[int], z: Union[int, float]): ...": "x MAYBE, y MAYBE, z ARRAY",
    "@jax.checkpoint\ndef f(x, n: int = None): ...\nf(u, n=u)": "x LEAVES, n MAYBE",
    "@jax.checkpoint\ndef f(x: Annotated[int, 'n'], y: int | str): ...": "x ARRAY, y LEAVES",
    "@jax.checkpoint\ndef f(x, n=2, *a, k=3, **o): ...": "x LEAVES",
    "@jax.checkpoint\ndef f(x, *, k): ...": "x LEAVES, k LEAVES",
    "@partial(jax.checkpoint, static_argnums=1)\ndef f(x, n): ...": "x LEAVES",
    "@partial(jax.checkpoint, static_argnums=u)\ndef f(x, n): ...": "",
    "def f(x, n): ...\ng = jax.checkpoint(partial(f, n=2))": "x LEAVES",
    # what calls give
    "@jax.checkpoint\ndef f(x, n=2): ...\nf(1., 3)": "x ARRAY, n ARRAY",
    "@jax.checkpoint\ndef f(x, n=2): ...\nf(u, n=u)": "x LEAVES, n LEAVES",
    "@jax.checkpoint\ndef f(x, n): ...\nf(jnp.ones(3), None)": "x ARRAY",
    "@jax.checkpoint\ndef f(x, n): ...\nf(np.ones(3), 'a')": "x ARRAY",
    "@jax.checkpoint\ndef f(x, n): ...\nf(u, None); f(u, u)": "x LEAVES, n MAYBE",
    "@jax.checkpoint\ndef f(x, n): ...\nf(-1, not u)": "x ARRAY, n ARRAY",
    "@jax.checkpoint\ndef f(x, n): ...\ndef g(n=True): f(u, n)": "x LEAVES, n ARRAY",
    "@jax.checkpoint\ndef f(x, n): ...\njax.grad(f)(1., 2)": "x ARRAY, n ARRAY",
    # what the function asks itself
    "@jax.checkpoint\ndef f(x, n: int):\n    if isinstance(n, int): ...": "x LEAVES",
    "@jax.checkpoint\ndef f(x, n):\n    if n is None: ...": "x LEAVES, n MAYBE",
    "@jax.checkpoint\ndef f(x, n):\n    if n is None: ...\nf(1., 2)": "x ARRAY, n ARRAY",
    "@jax.checkpoint\ndef f(x, n):\n    if check(n) or jax.core.is_concrete(x): ...": "",
    "@jax.checkpoint\ndef f(x, n):\n    if len(n) > 2 or jnp.any(x): ...": "x LEAVES, n LEAVES",
    # wrappers with other ways
    "@eqx.filter_checkpoint\ndef f(x: jax.Array, n: int, b): ...\nf(u, 2, jnp.ones(3))": "x ARRAY, n MAYBE, b ARRAY",
    "@nnx.remat\ndef f(x, n=2, m=None): ...": "x LEAVES, n ARRAY",
    "@partial(nnx.remat, graph=False)\ndef f(x, n=2): ...": "x LEAVES",
    "class C:\n    @jax.checkpoint\n    def f(self, x): ...": "x LEAVES",
}


@pytest.mark.parametrize("source", ARGUMENTS)
def test_arguments(source: str) -> None:
    model = model_of(PREAMBLE + source)
    (checkpoint,) = model.checkpoints
    shown = [f"{name} {argument.level.name}" for name, argument in traced_arguments(model, checkpoint).items()]
    assert ", ".join(shown) == ARGUMENTS[source]


FLAGS = {
    "f(1., True); f(1., False)": True,
    "f(1., 3)": True,
    "f(1., 0.5)": False,
    "f(1., u)": False,
    "f(1., n=True)": False,
    "f(1., True); f(*u)": False,
    "jax.grad(f)(1., True)": True,
    "jax.jit(f)(1., True)": False,
    "partial(f, n=True)": False,
    "pass": False,
}


@pytest.mark.parametrize("source", FLAGS)
def test_flags(source: str) -> None:
    model = model_of(f"{PREAMBLE}@jax.checkpoint\ndef f(x, n): ...\n{source}")
    (checkpoint,) = model.checkpoints
    assert traced_arguments(model, checkpoint)["n"].is_flag is FLAGS[source]


# -- conversions ------------------------------------------------------------------------------------------------------

CONVERSIONS = {
    "if a: pass": "if bool a",
    "if p: pass": "",
    "if p > 1 and other: pass": "if bool p > 1",
    "if not (p > 1): pass": "if bool p > 1",
    "if (b := p > 1): pass": "if bool p > 1",
    "while a: pass": "while bool a",
    "assert a, 'x'": "assert bool a",
    "b = 1 if a else 2": "if bool a",
    "b = a and other": "and bool a",
    "b = other or a": "",
    "b = not a": "not bool a",
    "b = 0 < p < 3": "chain bool 0 < p < 3",
    "if 0 < p < 3: pass": "if bool 0 < p < 3",
    "b = p in (1, 2)": "in bool p in (1, 2)",
    "b = 'k' in p": "",
    "b = p in u": "",
    "b = bool(a), bool(p)": "bool() bool bool(a)",
    "b = int(p), float(m)": "int() int int(p)",
    "for i in range(1, p): pass": "range() index range(1, p)",
    "b = [1, 2][p]": "[] index p",
    "b = a[p], u[p], p[1]": "",
    "b = {1: 2}[p]": "[] key p",
    "b = max(p, 1), min(p, q), max(p)": "max() bool max(p, 1)",
    "b = p.item(), a.tolist(), u.item()": ".item() float p.item() | .tolist() float a.tolist()",
    "b = np.sin(p), np.sum(p), np.linalg.norm(a), np.sin(m), np.sin(2)":
        "np.sin numpy np.sin(p) | np.linalg.norm numpy np.linalg.norm(a)",
    "b = p[p > 0], p[~(p > 0) & (a < 1)], p[jnp.isnan(p)], p[a + 1], u[p > 0]":
        "[] mask p[p > 0] | [] mask p[~(p > 0) & (a < 1)] | [] mask p[jnp.isnan(p)]",
    "k = p > 0\nb = p[k]\np[k] = 1\nc = p.at[k].set(0)": "[] mask p[k] | [] mask p.at[k]",
    "import math\nb = math.sin(p), math.gcd(p, 2), math.prod(p), math.sin(u)":
        "math.sin float math.sin(p) | math.gcd index math.gcd(p, 2)",
    "b = any(a), all(p), sorted([a, p]), sorted(a), hash(a), hash(p), hex(p)":
        "any() bool any(a) | sorted() bool sorted(a) | hash() hash a | hex() index hex(p)",
    "b = {a}, {a: 1, **m}, {p}, a in {1, 2}, a in u": "{} hash a | {} hash a | in hash a",
    "b = np.array([p, 1]), np.float32(a), np.array([1, 2])[p], np.arange(3)[1]":
        "np.array numpy np.array([p, 1]) | np.float32 numpy np.float32(a) | [] numpy p",
    "b = jnp.zeros(p), jnp.ones((3, p)), jnp.zeros(p.shape), jnp.zeros(m), jnp.eye(2, M=a)":
        "jnp.zeros shape p | jnp.ones shape p | jnp.eye shape a",
    "b = jnp.arange(a, p), jnp.repeat(a, p), jnp.repeat(a, p, total_repeat_length=4), jax.random.split(u, p)":
        "jnp.arange size a | jnp.arange size p | jnp.repeat size p | jax.random.split keys p",
    "b = jnp.sum(u, axis=p), jnp.sum(u, axis=a), jnp.stack([u, u], axis=a), a.mean(p), a.mean(axis=a)":
        "jnp.sum axis a | jnp.stack axis index a | .mean() axis a",
    "b = a.reshape(p, -1), u.reshape(p), a.reshape((2, p)), a.reshape(u.shape)":
        ".reshape() shape p | .reshape() shape p",
    "b = p[:a], p[:p], p[0, a:a + 1], p.at[a:].set(0), u[:a], [1, 2][:a], p[:u]":
        "[:] slice a | [:] slice a | [:] slice a | [] index a",
    "def int(v): ...\nb = int(p)": "",
    "b = [v for v in u if v > p]": "if bool v > p",
    "b = [p for p in u if p > 1]": "",
    "def g(h):\n    if p > h: pass": "if bool p > h",
    "b = lambda h: h if a else 0": "if bool a",
    "match p:\n    case 1: pass": "match bool p",
    "match p:\n    case None | True: pass\n    case [v]: pass": "",
    "match u:\n    case 1:\n        if a: pass": "if bool a",
    "try:\n    if a: pass\nexcept u:\n    if p > 1: pass": "if bool a | if bool p > 1",
    "with u(int(p)):\n    pass": "int() int int(p)",
    "return f'{int(p)}'": "int() int int(p)",
    "class C:\n    if a: pass": "",
    "if jax.__version_info__ < (0, 3):\n    if a: pass": "",
}  # fmt: skip


@pytest.mark.parametrize("source", CONVERSIONS)
def test_conversions(source: str) -> None:
    model = model_of(f"{PREAMBLE}@jax.checkpoint\ndef f(a, p, m, u, other):\n{textwrap.indent(source, '    ')}\n")
    found = conversions(body_of(model, LEVELS))
    assert " | ".join(f"{one.where} {one.how} {model.text_of(one.node)}" for one in found) == CONVERSIONS[source]
