"""What policies do on the JAX that runs this: prints, as JSON, policy → kind of value → "saved", "offloaded" …

Knows nothing of jaxpert, so that it runs wherever JAX is installed; with the argument ``remat3``, under that option. A
value counts as saved when something of its shape, which no other value has, is kept for the backward pass.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax._src.ad_checkpoint import saved_residuals
from jax.ad_checkpoint import checkpoint_name

SHAPES = {
    "dots without batch dimensions": (2, 3), "dots with batch dimensions": (5, 2, 3), "convolutions": (1, 1, 4, 4),
    "attn_out": (7,), "mlp_up": (11,), "sin": (13,), "tanh": (17,),
}  # fmt: skip

POLICIES = {
    "None": "None",
    **{
        name: f"cp.{name}"
        for name in (
            "everything_saveable", "nothing_saveable", "dots_saveable", "checkpoint_dots",
            "dots_with_no_batch_dims_saveable", "checkpoint_dots_with_no_batch_dims",
        )
    },
    **{
        text: f"cp.{text}"
        for text in (
            'save_only_these_names("attn_out")',
            'save_only_these_names("attn_out", "mlp_up")',
            'save_any_names_but_these("attn_out")',
            'save_anything_except_these_names("attn_out")',
            'offload_dot_with_no_batch_dims("device", "pinned_host")',
            'save_and_offload_only_these_names(names_which_can_be_saved=["attn_out"], '
            'names_which_can_be_offloaded=["mlp_up"], offload_src="device", offload_dst="pinned_host")',
            'save_from_both_policies(cp.dots_with_no_batch_dims_saveable, cp.save_only_these_names("mlp_up"))',
            'save_from_both_policies(cp.everything_saveable, cp.nothing_saveable)',
            'save_from_both_policies(cp.nothing_saveable, cp.offload_dot_with_no_batch_dims("device", "pinned_host"))',
        )
    },
    "lambda prim, *_, **__: True": "lambda prim, *_, **__: True",
    "lambda prim, *_, **__: prim.name == 'sin'": "lambda prim, *_, **__: prim.name == 'sin'",
    "lambda prim, *_, **__: prim is jax.lax.dot_general_p": "lambda prim, *_, **__: prim is jax.lax.dot_general_p",
    "lambda prim, *_, **__: prim.name.startswith('dot')": "lambda prim, *_, **__: prim.name.startswith('dot')",
    "lambda prim, *_, **p: p.get('name') == 'mlp_up'": "lambda prim, *_, **p: p.get('name') == 'mlp_up'",
    "lambda prim, *a, **p: cp.dots_saveable(prim, *a, **p) or prim.name == 'tanh'":
        "lambda prim, *a, **p: cp.dots_saveable(prim, *a, **p) or prim.name == 'tanh'",
}  # fmt: skip
"""Each policy as it is written in a source where ``cp`` is ``jax.checkpoint_policies``."""


def block(x: Any, w: Any, xs: Any, ws: Any, image: Any, kernel: Any, *vectors: Any) -> Any:
    """One value of every kind, each needed on the backward pass and each with a shape of its own."""
    attn_out, mlp_up, sine, tangent = vectors
    total = jnp.sum(jnp.exp(lax.dot(x, w)))
    total += jnp.sum(jnp.exp(lax.dot_general(xs, ws, (((2,), (1,)), ((0,), (0,))))))
    total += jnp.sum(jnp.exp(lax.conv(image, kernel, (1, 1), "VALID")))
    total += jnp.sum(jnp.exp(checkpoint_name(jnp.abs(attn_out), "attn_out")) ** 2)
    total += jnp.sum(jnp.exp(checkpoint_name(jnp.abs(mlp_up), "mlp_up")) ** 2)
    return total + jnp.sum(jnp.sinh(jnp.sin(sine))) + jnp.sum(jnp.sinh(jnp.tanh(tangent)))


def arguments() -> list[Any]:
    """What ``block`` takes; the shapes of its matrices and images are not those of its results."""
    shapes = [(2, 6), (6, 3), (5, 2, 6), (5, 6, 3), (1, 1, 5, 5), (1, 1, 2, 2), (7,), (11,), (13,), (17,)]
    return [jnp.ones(shape) for shape in shapes]


def answer(policy: Any) -> dict[str, str]:
    """What happens to each kind of value under ``policy``."""
    kept = saved_residuals(jax.checkpoint(block, policy=policy), *arguments())
    found = dict.fromkeys(SHAPES, "recomputed")
    for aval, source in kept:
        for kind, shape in SHAPES.items():
            if tuple(aval.shape) == shape and "argument" not in source:
                found[kind] = "offloaded" if "host" in str(aval) else "saved"
    return found


def measure() -> dict[str, dict[str, str]]:
    """All policies; one that raises answers "raises" to everything."""
    found = {}
    for text, source in POLICIES.items():
        policy = eval(source, {"jax": jax, "cp": jax.checkpoint_policies})
        try:
            found[text] = answer(policy)
        except Exception as error:
            found[text] = dict.fromkeys(SHAPES, "raises")
            print(text, type(error).__name__, str(error)[:200], file=sys.stderr)
    return found


if __name__ == "__main__":
    if "remat3" in sys.argv:
        jax.config.update("jax_remat3", True)
    json.dump(measure(), sys.stdout)
