"""Functions that are a policy of JAX under another name: what is found agrees with real JAX on every question."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from jaxpert.model.equal_policies import ready_made_like
from tests.model.models import model_of

INSTALLED = jax.__version__
_NAMED = "p.name == 'name' and k['name']"

SAME = {
    "lambda *_, **__: True": "everything_saveable",
    "lambda *_, **__: False": "nothing_saveable",
    "lambda p, *_, **__: False if p.name == 'sin' else False": "nothing_saveable",
    f"lambda p, *_, **k: {_NAMED} in ('a', 'b')": "save_only_these_names a b",
    f"lambda p, *_, **k: {_NAMED} == 'a'": "save_only_these_names a",
    f"lambda p, *_, **k: {_NAMED} in NAMES": "save_only_these_names a b",
    f"lambda p, *_, **k: {_NAMED} not in ('a',)": "save_any_names_but_these a",
    "lambda p, *_, **k: p.name == 'name'": "save_any_names_but_these",
    "lambda p, *_, **k: p.name in ('dot_general', 'conv_general_dilated', 'scaled_matmul_wrapper')": "dots_saveable",
}
BEFORE_SCALED_PRODUCTS = {
    "lambda p, *_, **k: p.name in ('dot_general', 'conv_general_dilated')": "dots_saveable",
    "lambda p, *_, **k: p is jax.lax.dot_general_p or p is jax.lax.conv_general_dilated_p": "dots_saveable",
    "lambda p, *_, **k: p.name == 'dot_general' and not k['dimension_numbers'][1][0]": "dots_with_no_batch_dims_saveable",
}
NOT_CERTAIN = [
    *BEFORE_SCALED_PRODUCTS,
    "lambda p, *_, **k: p.name == 'dot_general'",
    "lambda p, *_, **k: p.name in ('dot_general', 'sin')",
    "lambda p, *_, **k: p.name.startswith('dot')",
    "lambda p, *_, **k: k.get('name') == 'a'",
    "lambda p, *_, **k: k.get('name') in ('a', 'b')",
    f"lambda p, *_, **k: {_NAMED}.startswith('a')",
    f"lambda p, *_, **k: {_NAMED} in OTHER",
    "lambda p, *_, **k: print(p) or True",
    "lambda p, *a, **k: a[0].ndim > 1",
    "lambda p, *_: True",
    "lambda p, **k: True",
    "lambda p, q, *_, **k: True",
    "lambda *_, **__: 1",
    "lambda *_, **__: None",
    "lambda *_, **__: jax.numpy.bool_(True)",
    "lambda *_, flag=False, **__: flag",
    "lambda p, flag=False, *_, **__: flag",
    "lambda p, *_, **k: p.name != 'name' or k['name'] != 'a'",
]


def found(policy: str, version: str = INSTALLED, **switches: bool) -> str | None:
    """The policy of JAX that a policy is, with its names."""
    source = f"import jax\nNAMES = ('a', 'b')\njax.checkpoint(f, policy={policy})\n"
    model = model_of(source, jax=version, **switches)
    same = ready_made_like(model, model.policy_uses[0].value)
    return None if same is None else " ".join([same.path.rpartition(".")[2], *(same.names or ())])


@pytest.mark.parametrize("policy", SAME)
def test_a_policy_under_another_name(policy: str) -> None:
    assert found(policy) == SAME[policy]
    assert found(policy, remat3=True) is None  # JAX asks its own policies otherwise


@pytest.mark.parametrize("policy", BEFORE_SCALED_PRODUCTS)
def test_since_scaled_products_count_other_functions_differ(policy: str) -> None:
    assert found(policy, "0.7.0") == BEFORE_SCALED_PRODUCTS[policy]


@pytest.mark.parametrize("policy", NOT_CERTAIN)
def test_nothing_is_said_without_certainty(policy: str) -> None:
    assert found(policy) is None


def test_a_function_with_statements() -> None:
    source = (
        "import jax\ndef keep(prim, *_, **params):\n    '''Names.'''\n    if prim.name != 'name':\n        return False\n"
        "    return params['name'] in ('a',)\n{}jax.checkpoint(f, policy=keep)\n"
    )
    model = model_of(source.format(""), jax=INSTALLED)
    same = ready_made_like(model, model.policy_uses[0].value)
    assert same is not None and same.names == ("a",)
    for changed in ("    '''Names.'''\n    global n; n = 1\n", "    seen.append(prim)\n", "    seen[prim] = 1\n"):
        model = model_of(source.format("").replace("    '''Names.'''\n", changed), jax=INSTALLED)
        assert ready_made_like(model, model.policy_uses[0].value) is None


def questions() -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    """Primitives with their operands and parameters, as a policy is asked about them."""

    def primitives(function: Any, *arguments: Any) -> list[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
        equations = jax.make_jaxpr(function)(*arguments).jaxpr.eqns
        return [(one.primitive, tuple(it.aval for it in one.invars), one.params) for one in equations]

    from jax.ad_checkpoint import checkpoint_name
    from jax.extend.core import Primitive

    x, xs = jnp.ones((2, 2)), jnp.ones((3, 2, 2))
    image = jnp.ones((1, 1, 4, 4))
    asked = primitives(lambda x: jnp.sin(x @ x) + x.sum(), x)
    asked += primitives(lambda x: jnp.einsum("bij,bjk->bik", x, x), xs)
    asked += primitives(lambda x: jnp.einsum("abij,abjk->abik", x, x), jnp.ones((2, 3, 2, 2)))
    asked += primitives(lambda x: jax.lax.conv(x, x, (1, 1), "VALID"), image)
    for name in ("a", "b", "c"):
        asked += primitives(lambda x, name=name: checkpoint_name(x, name), x)
        asked.append((Primitive("composite"), (x,), {"name": name}))
    asked += [(Primitive("scaled_matmul_wrapper"), (xs, xs), {}), (Primitive("dot_like"), (x,), {})]
    return asked


@pytest.mark.parametrize("policy", SAME)
def test_real_jax_answers_alike(policy: str) -> None:
    space = {"jax": jax, "NAMES": ("a", "b")}
    name, *names = SAME[policy].split()
    ready_made = getattr(jax.checkpoint_policies, name)
    if name.startswith("save_"):
        ready_made = ready_made(*names)
    own = eval(policy, space)
    for primitive, avals, params in questions():
        assert own(primitive, *avals, **params) is ready_made(primitive, *avals, **params), primitive
