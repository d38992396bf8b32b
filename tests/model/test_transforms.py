"""Which functions are wrapped, how their parameters are counted, and what calls of them pass."""

from __future__ import annotations

import textwrap

import pytest

from jaxpert.model.file_model import FileModel
from jaxpert.model.transforms import fills_defaults, parameters, static_names
from jaxpert.model.wrapped_calls import called_checkpoints, passed, wrapped_calls
from tests.model.models import model_of

PREAMBLE = """\
import functools
import equinox as eqx
import flax.linen as nn
import haiku as hk
import jax
from flax import nnx
from flax.linen import partitioning
from functools import partial
def f(x, n, flag=True): ...
class M(nn.Module):
    @nn.compact
    def __call__(self, x, train): ...
    def head(self, x, train): ...
    @staticmethod
    def free(x, train): ...
"""


def model_after_preamble(source: str, **options: object) -> FileModel:
    return model_of(PREAMBLE + textwrap.dedent(source), **options)  # type: ignore[arg-type]


def counted(model: FileModel) -> list[str]:
    """Each checkpoint: its parameters as they are counted, then those that are static; "?" where unknown."""
    shown = []
    for checkpoint in sorted(model.checkpoints, key=lambda one: one.node.lineno):
        known = parameters(model, checkpoint)
        if known is None:
            shown.append("?")
            continue
        names = [f"({name})" if name == known.receiver else name for name in known.names]
        names += ["*"] * known.takes_more + [f"{name}=" for name in known.keyword_only]
        static = static_names(model, checkpoint, known)
        shown.append(f"{' '.join(names)} / {'?' if static is None else ' '.join(sorted(static))}".strip())
    return shown


COUNTED = {
    # wrapped by a call
    "jax.checkpoint(f)": "x n flag /",
    "jax.checkpoint(f, static_argnums=1)": "x n flag / n",
    "jax.remat(f, static_argnums=(1, -1))": "x n flag / flag n",
    "jax.checkpoint(f, static_argnums=numbers)": "x n flag / ?",
    "jax.checkpoint(f, **options)": "x n flag / ?",
    "jax.checkpoint(f, static_argnums=(7,))": "x n flag / ?",
    "jax.checkpoint(f, static_argnames='n')": "x n flag /",
    "jax.checkpoint(lambda a, *b, c: 0, static_argnums=0)": "a * c= / a",
    "jax.checkpoint(lambda a, *b: 0, static_argnums=-1)": "a * / ?",
    "jax.checkpoint(partial(f, 1.0), static_argnums=0)": "n flag / n",
    "jax.checkpoint(partial(f, n=2))": "x flag= /",
    "jax.checkpoint(partial(f, *given))": "?",
    "jax.checkpoint(unknown)": "?",
    "jax.checkpoint(M().head)": "x train /",
    "jax.checkpoint(M())": "x train /",
    "jax.checkpoint(M.head, static_argnums=2)": "(self) x train / train",
    "jax.checkpoint(M.free, static_argnums=1)": "x train / train",
    "partial(jax.checkpoint, static_argnums=(1,))(f)": "x n flag / n",
    "w = partial(jax.checkpoint, static_argnums=(1,)); w(f); w(f, static_argnums=())": "x n flag / n | x n flag /",
    "getattr(jax, 'checkpoint')(f)": "x n flag /",
    "{'on': jax.checkpoint}['on'](f)": "x n flag /",
    # other wrappers
    "nn.remat(M, static_argnums=(2,))": "(self) x train / train",
    "nn.remat(M, static_argnums=(0, -1))": "(self) x train / ?",
    "nn.remat(M, static_argnums=-2)": "(self) x train / train",
    "nn.remat(M.head, static_argnums=(2,))": "(self) x train / train",
    "nn.remat(lambda mdl, x, train: x, static_argnums=2)": "(mdl) x train / train",
    "nn.remat(M, methods=['head'])": "?",
    "nn.remat(M().head)": "?",
    "partitioning.remat(M, static_argnums=(1,))": "x train / train",
    "partitioning.remat(M, static_argnums=[1])": "x train / train",
    "partitioning.remat(M, static_argnums=(-1,))": "x train / ?",
    "partitioning.remat(M.head, static_argnums=(1,))": "x train / train",
    "nnx.remat(f, static_argnums=1)": "x n flag / n",
    "nnx.remat(static_argnums=1)(f)": "x n flag / n",
    "hk.remat(f, static_argnums=1)": "x n flag / n",
    "eqx.filter_checkpoint(f)": "x n flag /",
    "jax.checkpoint(M)": "?",
    # decorators
    "@jax.checkpoint\ndef g(a, b): ...": "a b /",
    "@partial(jax.checkpoint, static_argnums=1)\ndef g(a, b): ...": "a b / b",
    "@jax.jit\n@jax.checkpoint\ndef g(a, b): ...": "a b /",
    "@jax.checkpoint\n@jax.named_scope('g')\ndef g(a, b): ...": "a b /",
    "@jax.checkpoint\n@unknown\ndef g(a, b): ...": "?",
    "@nnx.remat(static_argnums=1)\ndef g(a, b): ...": "a b / b",
    "class C:\n    @jax.checkpoint\n    def g(self, a): ...": "(self) a /",
    "class C:\n    @staticmethod\n    @jax.checkpoint\n    def g(a, b): ...": "a b /",
    "class C:\n    @classmethod\n    @jax.checkpoint\n    def g(cls, a): ...": "(cls) a /",
    "@nn.remat\nclass C(nn.Module):\n    def __call__(self, a): ...": "(self) a /",
    "class C(nn.Module):\n    @nn.remat\n    @nn.compact\n    def __call__(self, a): ...": "(self) a /",
}


@pytest.mark.parametrize("source", COUNTED)
def test_parameters(source: str) -> None:
    assert " | ".join(counted(model_after_preamble(source))) == COUNTED[source]


def test_static_argnames_counts_under_remat3() -> None:
    assert counted(model_after_preamble("jax.checkpoint(f, static_argnames='n')", remat3=True)) == ["x n flag / n"]


def calls(model: FileModel) -> list[str]:
    """Each call of each wrapped function: "line: positional count, names passed (``name=`` by keyword)"."""
    shown = []
    first = PREAMBLE.count("\n")
    for checkpoint in called_checkpoints(model):
        known = parameters(model, checkpoint)
        assert known is not None
        for call in wrapped_calls(model, checkpoint):
            given = passed(known, call)
            names = [f"{name}=" if passing.keyword else name for name, passing in given.arguments.items()]
            notes = ["…"] * given.opened + ["transformed"] * call.transformed + ["partial"] * call.is_partial
            shown.append(f"{call.site.node.lineno - first}: {given.positional} {' '.join([*names, *notes])}".strip())
    return sorted(shown)


CALLS = {
    "g = jax.checkpoint(f); g(1, n=2)": ["1: 1 x n="],
    "jax.checkpoint(f)(1, 2)": ["1: 2 x n"],
    "g = jax.checkpoint(f); h = g; h(1, *rest); h(1, **rest)": ["1: 1 x …", "1: 1 x …"],
    "g = jax.checkpoint(f) if a else f; g(1)": ["1: 1 x"],
    "g = jax.checkpoint(f); f(1); jax.vmap(g)(1)": [],
    "g = jax.checkpoint(f); jax.grad(g)(1); jax.jit(jax.grad(g))(1, 2)": ["1: 1 x", "1: 2 x n transformed"],
    "g = jax.checkpoint(f); h = partial(g, n=2)": ["1: 0 n= partial"],
    "g = jax.checkpoint(M().head); g(1, train=2)": ["1: 1 x train="],
    "@jax.checkpoint\ndef g(a, b): ...\ng(1, b=2)": ["3: 1 a b="],
    "class C:\n    @jax.checkpoint\n    def g(self, a): ...\n    def h(self): self.g(1)\nm = C(); m.g(1); C.g(m, 1)":
        ["4: 2 a", "5: 2 a", "5: 2 self a"],
    "R = nn.remat(M)\nR()(1, train=2)\nR(name='a').init(0, 1, 2)\nR().apply(0, 1, train=2, rngs=3)":
        ["2: 2 x train=", "3: 3 x train", "4: 2 x train="],
    "class C:\n    def setup(self): self.b = nn.remat(M)()\n    def __call__(self): self.b(1, 2)": ["3: 3 x train"],
    "@nn.remat\nclass C(nn.Module):\n    def __call__(self, a): ...\nC()(1)": ["4: 2 a"],
    "class C(nn.Module):\n    @nn.remat\n    def __call__(self, a): ...\nC()(1)": ["4: 2 a"],
    "R = partitioning.remat(M)\nR()(1, 2)\npartitioning.remat(M.head)(M(), 1, 2)": ["2: 2 x train", "3: 2 x train"],
    "g = nnx.remat(static_argnums=1)(f); g(1, 2)": ["1: 2 x n"],
    "@jax.jit\n@jax.checkpoint\ndef g(a, b): ...\ng(1, b=2)": ["4: 1 a b= transformed"],
    "@jax.custom_vjp\n@jax.checkpoint\ndef g(a, b): ...\ng(1, b=2)": [],
}  # fmt: skip


@pytest.mark.parametrize("source", CALLS)
def test_calls(source: str) -> None:
    assert calls(model_after_preamble(source)) == CALLS[source]


def test_calls_of_functions_that_another_module_wraps() -> None:
    layers = "import jax\ndef f(x, n): ...\ng = jax.checkpoint(f)\n@jax.checkpoint\ndef h(x, n): ...\n"
    source = "import layers\nfrom layers import g\ng(1, n=2)\nlayers.h(1, 2)"
    model = model_after_preamble(source, modules={"layers": layers})
    assert calls(model) == ["3: 1 x n=", "4: 2 x n"]


FILLS = {
    "nnx.remat(f)": True,
    "nnx.remat(f, graph=True)": True,
    "nnx.remat(f, graph=False)": False,
    "nnx.remat(f, graph_updates=False)": False,
    "nnx.remat(f, graph=unknown)": None,
    "nnx.remat(f, **unknown)": None,
    "@nnx.remat\ndef g(a): ...": True,
    "jax.checkpoint(f)": False,
}


@pytest.mark.parametrize("source", FILLS)
def test_nnx_fills_defaults(source: str) -> None:
    (checkpoint,) = model_after_preamble(source).checkpoints
    assert fills_defaults(checkpoint) is FILLS[source]
