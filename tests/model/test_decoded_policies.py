"""What policies do with each kind of value, as far as it can be told."""

from __future__ import annotations

import pytest

from jaxpert.ide.policy_words import in_words, short_form
from jaxpert.model.decoded_policies import Decoded, decoded_argument
from tests.model.models import model_of

HEAD = """\
import functools
import jax
from jax import lax
from jax import checkpoint_policies as cp
from jax.ad_checkpoint import Offloadable, Recompute, Saveable
NAMES = ("a", "b")
def f(x): return x
"""

# Behind each policy: its short form, "; ", and everything that is not recomputed, by the names of `Decoded`.
POLICIES = {
    # JAX's own, in every way in which they are reached
    "cp.dots_saveable": "saves: dots, convolutions; unbatched_dots saved, batched_dots saved, convolutions saved",
    "functools.partial(cp.nothing_saveable)": "saves nothing; ",
    "None": "saves nothing; ",
    "getattr(cp, 'everything_saveable')": "saves everything; unbatched_dots saved, batched_dots saved, convolutions saved, "
    "other_names saved, others saved",
    "cp.save_only_these_names(*NAMES)": "unknown: names; other_names unknown",
    "cp.save_only_these_names('a', name)": "saves: a · unknown: other names; a saved, other_names unknown",
    "cp.save_only_these_names('a' if deep else 'b')": "unknown: a, b; a unknown, b unknown",
    "cp.save_any_names_but_these('a')": "saves: other names; other_names saved",
    "functools.partial(cp.save_only_these_names, 'a')('b')": "saves: a, b; a saved, b saved",
    "cp.save_and_offload_only_these_names(names_which_can_be_saved=['a'], names_which_can_be_offloaded=NAMES[1:], "
    "offload_src='device', offload_dst='pinned_host')": "saves: a · offloads: b; a saved, b offloaded `device` → "
    "`pinned_host`",
    "cp.offload_dot_with_no_batch_dims('device', 'host')": "offloads: dots without batch dims; unbatched_dots offloaded "
    "`device` → `host` (stays on the device)",
    "cp.save_from_both_policies(cp.dots_with_no_batch_dims_saveable, lambda p, *_, **k: p is lax.tanh_p)":
        "saves: dots without batch dims, tanh results; tanh saved, unbatched_dots saved",
    # functions
    "lambda prim, *_, **__: Saveable if prim.name == 'dot_general' else Recompute":
        "saves: dots; unbatched_dots saved, batched_dots saved",
    "lambda prim, *_, **__: prim in (lax.conv_general_dilated_p, lax.sin_p)":
        "saves: convolutions, sin results; sin saved, convolutions saved",
    "lambda prim, *_, **__: str(prim) != 'name'": "saves: everything but names; unbatched_dots saved, batched_dots saved, "
    "convolutions saved, others saved",
    "lambda prim, *_, **p: prim.name == 'name' and p['name'] in NAMES": "saves: a, b; a saved, b saved",
    "lambda prim, *_, name=None, **__: name == 'a'": "saves: a; a saved",
    "lambda *a, **k: cp.dots_saveable(*a, **k) or k.get('name') in {'a'}":
        "saves: a, dots, convolutions; a saved, unbatched_dots saved, batched_dots saved, convolutions saved",
    "lambda prim, *_, **__: prim.name.startswith('reduce_pre')": "saves: reduce_precision results; "
    "reduce_precision saved",
    "lambda prim, *_, **__: flag": "unknown",
    "lambda prim, *_, **__: prim.name == 'dot_general' and flag":
        "unknown: dots; unbatched_dots unknown, batched_dots unknown",
    "lambda prim, *_, **__: True if prim.name == 'dot_general' and flag else False":
        "depends: dots; unbatched_dots saved if `prim.name == 'dot_general' and flag`, else recomputed, batched_dots saved "
        "if `prim.name == 'dot_general' and flag`, else recomputed",
    "functools.partial(lambda names, prim, *_, **p: p.get('name') in names, {'q'})": "saves: q; q saved",
    "functools.partial(lambda prim, *_, **__: True, *rest)": "unknown",
    # what is not known
    "unknown_module.policy": "unknown",
    "cp.no_such_policy": "unknown",
    "print": "unknown",
    "5": "unknown",
}  # fmt: skip

FUNCTIONS = {
    "def keep(prim, *_, **params):\n"
    "    if prim is lax.dot_general_p:\n"
    "        (_, _), (left, right) = params['dimension_numbers']\n"
    "        return not left and not right\n"
    "    return False\n": "saves: dots without batch dims; unbatched_dots saved",
    "def keep(prim, *_, **__):\n"
    "    if prim.name == 'dot_general':\n"
    "        return True\n": ": unbatched_dots saved, batched_dots saved, convolutions **no decision**: JAX raises, "
    "other_names **no decision**: JAX raises, others **no decision**: JAX raises",
    "def is_dot(p): return p.name in ('dot_general',)\n"
    "def keep(prim, *_, **__):\n"
    "    if FULL:\n"
    "        return False\n"
    "    return is_dot(prim)\n": "depends: dots; unbatched_dots recomputed if `FULL`, else saved, batched_dots recomputed "
    "if `FULL`, else saved",
    "class Keep:\n"
    "    def __init__(self, names): self.names = names\n"
    "    def __call__(self, prim, *_, **p): return p.get('name') in self.names\n"
    "keep = Keep(['a'])\n": "saves: a; a saved",
    "def keep(prim, *_, **__):\n"
    "    yield True\n": ": unbatched_dots **no decision**: JAX raises, batched_dots **no decision**: JAX raises, "
    "convolutions **no decision**: JAX raises, other_names **no decision**: JAX raises, others **no decision**: JAX raises",
    "def keep(prim, *avals, **params):\n"
    "    return Offloadable(src='device', dst='pinned_host') if prim.name == 'name' else cp.dots_saveable(prim, *avals, "
    "**params)\n": "saves: dots, convolutions · offloads: names; unbatched_dots saved, batched_dots saved, convolutions "
    "saved, other_names offloaded `device` → `pinned_host`",
}  # fmt: skip


def told(source: str, jax: str = "") -> str:
    """What the policy of the source's last checkpoint does."""
    model = model_of(HEAD + source, jax=jax)
    argument = model.checkpoints[-1].role("policy")
    assert argument is not None
    policy = decoded_argument(model, argument)
    if policy.only is None:
        return "unknown"
    short, rest = short_form(policy), kept(policy.only, model)
    return f"{short}; {rest}" if short else f": {rest}"


def kept(decoded: Decoded, model) -> str:
    """Everything that is not recomputed."""
    groups = {**decoded.names, **decoded.primitives}
    for group in ("unbatched_dots", "batched_dots", "convolutions", "other_names", "others"):
        groups[group] = getattr(decoded, group)
    words = {group: in_words(answers, model.target.version) for group, answers in groups.items()}
    return ", ".join(f"{group} {word}" for group, word in words.items() if word != "recomputed")


@pytest.mark.parametrize("policy", POLICIES)
def test_policies_as_expressions(policy: str) -> None:
    assert told(f"jax.checkpoint(f, policy={policy})\n") == POLICIES[policy]


@pytest.mark.parametrize("source", FUNCTIONS)
def test_policies_as_functions(source: str) -> None:
    assert told(f"{source}jax.checkpoint(f, policy=keep)\n") == FUNCTIONS[source]


BRANCHES = {
    "cp.dots_saveable if deep else None": ["dots_saveable where deep", "None where not deep"],
    "{'dots': cp.dots_saveable, 'names': cp.save_only_these_names('a')}[kind]":
        ["dots_saveable where 'dots'", "save_only_these_names('a') where 'names'"],
    "TABLE.get(kind)": ["keep where 'own'", "nothing_saveable where 'none'", "None"],
    "CHOSEN": ["dots_saveable where DEEP", "keep"],
    "unknown": [""],
    "cp.dots_saveable": ["dots_saveable"],
}  # fmt: skip


@pytest.mark.parametrize("policy", BRANCHES)
def test_each_policy_that_an_expression_can_be_is_a_branch(policy: str) -> None:
    source = (
        "def keep(prim, *_, **__): return False\n"
        "TABLE = {'own': keep, 'none': cp.nothing_saveable}\n"
        "CHOSEN = keep\nif DEEP:\n    CHOSEN = cp.dots_saveable\n"
        f"jax.checkpoint(f, policy={policy})\n"
    )
    model = model_of(HEAD + source)
    argument = model.checkpoints[-1].role("policy")
    assert argument is not None
    branches = decoded_argument(model, argument).branches
    found = [f"{branch.text} where {branch.when}" if branch.when else branch.text for branch in branches]
    assert sorted(found) == sorted(BRANCHES[policy])


def test_a_policy_of_another_version_is_not_known() -> None:
    source = "jax.checkpoint(f, policy=cp.SaveOnlyTheseNames({'a'}))\n"
    assert told(source, "0.11.0") == "saves: a; a saved"
    assert told(source, "0.12.0") == "unknown"


def test_destinations_other_than_the_host_are_memory_before_0_7_1() -> None:
    source = "jax.checkpoint(f, policy=cp.offload_dot_with_no_batch_dims('device', 'unpinned_host'))\n"
    assert "stays" not in told(source, "0.7.0")
    assert "stays on the device" in told(source, "0.7.1")
