"""What expressions are as arrays; the values were printed by real JAX and NumPy."""

from __future__ import annotations

import pytest
from packaging.version import Version

from jaxpert.jaxdb.load import load
from jaxpert.jaxdb.schema import JaxTarget
from jaxpert.model.arrays import array_type
from jaxpert.model.file_model import FileModel
from jaxpert.syntax.units import SourceFile

_START = """\
import jax
import jax.numpy as jnp
import numpy as np

x = jnp.ones((3, 2))
n = 5
m = np.ma.masked_array([1.0, 2.0], mask=[0, 1])
if unknown:
    either = jnp.zeros(3)
else:
    either = jnp.ones(4, int)
def f(p, q=1.0):
    return p, q
"""


@pytest.mark.parametrize(
    ("expression", "library", "shape", "kind"),
    [
        ("x", "jax", (3, 2), "float"),
        ("x[0] * 2 > 0", "jax", (2,), "bool"),
        ("x[:, 1]", "jax", (3,), "float"),
        ("x[1:]", "jax", (None, 2), "float"),
        ("x.T @ x", "jax", (2, 2), "float"),
        ("x.sum(axis=0).mean()", "jax", (), "float"),
        ("jnp.max(x, axis=-1)", "jax", (3,), "float"),
        ("jnp.any(x > 0)", "jax", (), "bool"),
        ("jnp.array([[1, 2], [3, 4]])", "jax", (2, 2), "int"),
        ("jnp.array([1, 2], dtype=float)", "jax", (2,), "float"),
        ("jnp.arange(n)", "jax", (5,), "int"),
        ("jnp.arange(0, 1, 0.1)", "jax", (None,), "float"),
        ("jnp.zeros((n, 3)).at[0].set(1.0)", "jax", (5, 3), "float"),
        ("jnp.where(x > 0, x, 1)", "jax", (3, 2), "float"),
        ("jnp.int32(3)", "jax", (), "int"),
        ("jnp.arange(3) / 2", "jax", (3,), "float"),
        ("jax.random.normal(jax.random.PRNGKey(0), (4, 1))", "jax", (4, 1), "float"),
        ("jnp.sin(unknown)", "jax", None, ""),
        ("np.zeros(3) + 1", "numpy", (3,), "float"),
        ("np.zeros(3) * x[:, 0]", "jax", (3,), "float"),
        ("x.shape[0]", "python", (), "int"),
        ("m[0:1]", "masked", (None,), "float"),
        ("m.filled(0.0)", "numpy", (2,), "float"),
        ("either", "jax", (None,), ""),
        ("-2", "python", (), "int"),
        ("True + True", "python", (), "int"),
        ("(x > 0) + (x > 1)", "jax", (3, 2), "bool"),
    ],
)
def test_known(expression: str, library: str, shape: tuple[int | None, ...] | None, kind: str) -> None:
    found = _type(expression)
    assert found is not None
    assert (found.library, found.shape, found.kind) == (library, shape, kind)


@pytest.mark.parametrize(
    "expression",
    ["unknown", "unknown + 1", "f(x)", "x if unknown else None", "[x, x]", "np.sin(unknown)", "x.at[0]", "m[0]"],
)
def test_unknown(expression: str) -> None:
    assert _type(expression) is None


def _type(expression: str):  # type: ignore[no-untyped-def]
    source = SourceFile(f"{_START}result = {expression}\n")
    model = FileModel(source, load(JaxTarget(Version("0.12.0.1"), "test")))
    binding = source.module.bindings["result"][0]
    assert binding.value is not None
    return array_type(model, binding.value, binding.scope, binding.block)
