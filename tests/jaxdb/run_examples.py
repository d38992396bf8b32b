"""Run examples of APIs on the JAX of this interpreter: a JSON object of name → program on standard input, of name →
what it raised on standard output. What the examples leave undefined is set up here."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import sys
import textwrap
import traceback
from typing import Any

GIVEN = """
import dataclasses, functools, operator
import numpy as np
import jax
import jax.numpy as jnp
from jax.ad_checkpoint import Offloadable, Recompute, Saveable, checkpoint_name, print_saved_residuals
from jax.experimental import checkify, io_callback

def block(x): return jnp.sin(x @ x)
def attention(x): return jnp.sin(x)
def step(params, batch, train): return params
def loss(params, batch): return jnp.sum(jnp.sin(batch @ params["weights"]))
def newton(f, guess):
    for _ in range(10): guess = guess - f(guess) / jax.grad(f)(guess)
    return guess

x = batch = jnp.ones((4, 4))
params = {"weights": jnp.ones((4, 4)), "bias": jnp.zeros(4)}
gradients = params
leaves, structure = jax.tree.flatten(params)
log = []
if hasattr(jax, "new_ref"): counter = jax.new_ref(jnp.zeros((), jnp.int32))
mesh = jax.sharding.Mesh(np.array(jax.devices()), ("data",))
spec = jax.sharding.PartitionSpec("data")
"""


def run(name: str, program: str) -> None:
    """Run ``program``, the example of the API ``name``; a part of a function is run as that of a policy."""
    names: dict[str, Any] = {}
    exec(GIVEN, names)
    module, _, last = name.rpartition(".")
    if last not in names:
        with contextlib.suppress(ImportError, AttributeError):
            names[last] = getattr(importlib.import_module(module), last)
    if program.startswith("return "):
        program = f"def policy(prim, *avals, **params):\n{textwrap.indent(program, '    ')}\npolicy(None)"
    exec(compile(program, name, "exec", dont_inherit=True), names)


def main() -> None:
    """Run everything that is asked for."""
    failures = {}
    for name, program in json.load(sys.stdin).items():
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                run(name, program)
        except Exception:
            failures[name] = traceback.format_exc(limit=-1)
    json.dump(failures, sys.stdout)


if __name__ == "__main__":
    main()
