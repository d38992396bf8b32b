"""Which fixes of the checkpoint-call rules are safe, and where there is none: the pages show only what fixes give."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxpert.engine.fixing import fix_for
from tests.projects import Project

PREAMBLE = "import functools\nimport flax.linen as nn\nimport jax\nimport jax.numpy as jnp\nfrom flax import nnx\n"

G = "g = jax.checkpoint(lambda x, n: x if n > 1 else -x)\n"
SAFE = "safe Make `n` static with `static_argnums=(1,)`"
UNSAFE = "unsafe Make `n` static with `static_argnums=(1,)`"

FIXES = {
    # make it static: safe when every visible call passes a Python bool or int by position
    G + "g(1., 2)": SAFE,
    G: UNSAFE,
    G + "g(1., 0.5)": UNSAFE,
    G + "g(1., n)": UNSAFE,
    G + "jax.jit(g)(1., 2)": None,  # jit passes tracers
    G + "jax.jit(g, static_argnums=1)(1., 2)": UNSAFE,
    G + "jax.lax.cond(True, g, g, 1., 2)": None,
    G + "g(1., jnp.ones(3))": None,
    G + "g(1., n=2)": None,
    "g = jax.checkpoint(lambda x, n=1: x if n > 1 else -x)\ng(1.)\ng(1., 2)": None,
    "g = jax.checkpoint(lambda x, *, n: x if n > 1 else -x)": None,
    "g = jax.checkpoint(lambda x: x if x > 1 else -x)": None,
    "g = jax.checkpoint(lambda x, n: x if x.sum() > 1 else -n)": None,
    "g = jax.checkpoint(lambda x, n: x if n[0] > 1 else -x)": None,
    "g = jax.checkpoint(lambda x, n: x if n > x else -x)": None,
    "g = nnx.remat(lambda x, n=1: x if n > 1 else -x)\ng(1., n=2)": SAFE,
    # pass it by position
    "g = jax.checkpoint(lambda x, n: x, static_argnums=1)\ng(1., n=2)": "safe Pass `n` by position",
    "g = jax.checkpoint(lambda x, m=0, n=1: x, static_argnums=2)\ng(1., n=2)": None,
    "g = jax.checkpoint(lambda x, n: x, static_argnums=1)\ng(*x, n=2)": None,
    "g = jax.checkpoint(lambda x, n: x, static_argnums=1)\njax.jit(g)(1., n=2)": None,
    "g = jax.checkpoint(lambda x, n: x, static_argnums=1)\nfunctools.partial(g, n=2)": None,
    # write ints
    "g = jax.checkpoint(lambda x, n: x, static_argnums=[1])": "safe Write `(1,)`",
    "N = [1]\ng = jax.checkpoint(lambda x, n: x, static_argnums=N)": "unsafe Write `(1,)`",
    "g = jax.checkpoint(lambda x, n: x, static_argnums=True)": None,
    "g = jax.checkpoint(lambda x, n: x, static_argnums=[\n    1\n])": None,
    "g = jax.checkpoint(lambda x, n: x, static_argnums=2)": "unsafe Write `1`",
    "g = jax.checkpoint(lambda x, n: x, static_argnums=(1, 2))": None,
    "g = jax.checkpoint(lambda x, n: x, static_argnums=5)": None,
    "g = nn.remat(lambda m, x, n: x, static_argnums=-1)": "unsafe Write `2`",
    "g = nn.remat(lambda m, x, n: x, static_argnums=0)": None,
    "g = jax.checkpoint(lambda x, n=1: x, static_argnums=1)\ng(1.)": "safe Pass `1`",
    "g = jax.checkpoint(lambda x, n=c: x, static_argnums=1)\ng(1.)": None,
    "g = jax.checkpoint(lambda x, n=1: x, static_argnums=1)\ng((1.))": None,
}


@pytest.mark.parametrize("source", FIXES)
def test_fix(source: str, tmp_path: Path) -> None:
    analysis = Project(tmp_path, {"a.py": PREAMBLE + source + "\n"}).analysis("a.py")
    (finding,) = analysis.findings
    fix = fix_for(analysis, finding)
    assert (f"{fix.safety.value} {fix.title}" if fix else None) == FIXES[source]
