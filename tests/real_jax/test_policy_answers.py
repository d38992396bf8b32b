"""The decoded policies say what JAX keeps, in every version of the table; and the table says what this JAX does."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from packaging.version import Version

from jaxpert.model.decoded_policies import Decoded, decoded_argument
from tests.model.models import model_of
from tests.real_jax.policy_answers import POLICIES, SHAPES
from tests.real_jax.policy_table import read_table, run

TABLE = read_table()
HEAD = "import jax\nfrom jax import checkpoint_policies as cp\ndef f(x): return x\n"


def decoded(version: str, mode: str) -> dict[str, Decoded]:
    """What we say about every policy."""
    lines = [f"jax.checkpoint(f, policy={source})\n" for source in POLICIES.values()]
    model = model_of(HEAD + "".join(lines), jax=version, remat3=mode == "remat3")
    found = {}
    for text, checkpoint in zip(POLICIES, model.checkpoints):
        argument = checkpoint.role("policy")
        assert argument is not None
        only = decoded_argument(model, argument).only
        assert only is not None, text
        found[text] = only
    return found


def in_words(policy: Decoded) -> dict[str, str]:
    """The same words as in the table."""
    groups = (policy.unbatched_dots, policy.batched_dots, policy.convolutions)
    names = (policy.name("attn_out"), policy.name("mlp_up"))
    others = (policy.primitives.get("sin", policy.others), policy.primitives.get("tanh", policy.others))
    return {kind: " or ".join(a.fate.value for a in answers) for kind, answers in zip(SHAPES, groups + names + others)}


@pytest.mark.parametrize(("version", "mode"), TABLE)
def test_what_is_said_is_what_jax_keeps(version: str, mode: str) -> None:
    ours = {text: in_words(policy) for text, policy in decoded(version, mode).items()}
    for text, measured in TABLE[version, mode].items():
        said = ours[text]
        if "raises" in measured.values():
            assert "raises" in said.values(), text
            continue
        if Version(version) < Version("0.7"):  # the kinds of memory are not part of types yet: offloaded values look saved
            said = {kind: word.replace("offloaded", "saved") for kind, word in said.items()}
        assert said == measured, text


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
@pytest.mark.parametrize("mode", ["default", "remat3"])
def test_the_table_says_what_this_jax_does(mode: str) -> None:
    import jax

    if (jax.__version__, mode) not in TABLE:
        pytest.skip(f"the table has no {mode} row for JAX {jax.__version__}")
    assert run(sys.executable, mode) == TABLE[jax.__version__, mode]
