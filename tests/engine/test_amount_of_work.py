"""A file twice as long takes about twice the work, whatever it is full of. Counted are calls, in Python and in C."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import pytest

from jaxpert.engine.analyze import analyze
from jaxpert.engine.fixing import fix_for
from jaxpert.project.workspace import Workspace
from jaxpert.rules import ALL_RULES

HEAD = "import jax\nimport jax.numpy as jnp\nfrom jax.ad_checkpoint import checkpoint_name\n\n"
MOST = 2.6
"""What work may grow by when a file grows to the double."""


def one_function(statement: str) -> Callable[[int], str]:
    """A checkpointed function that does the same again and again."""
    repeat = many(f"    {statement}\n")
    return lambda count: f"@jax.checkpoint\ndef long(x, w):\n{repeat(count)}    return x\n"


def many(text: str) -> Callable[[int], str]:
    """Something again and again, with a number in it."""
    return lambda count: "".join(text.format(n) for n in range(count))


FULL_OF: dict[str, tuple[int, Callable[[int], str]]] = {
    "tags, each in a function": (400, many("def f{0}(x):\n    return checkpoint_name(x, 'same')\n\n")),
    "lines of one function": (400, one_function("x = jnp.sin(x @ w)")),
    "branches of one function": (100, one_function("if w > {0}:\n        x = jnp.sin(x)")),
    "checkpoints": (100, many(
        "@jax.checkpoint\ndef f{0}(x):\n    return checkpoint_name(x, 'n{0}')\n\n"
        "g{0} = jax.checkpoint(f{0}, policy=jax.checkpoint_policies.save_only_these_names('n{0}'))\n"
    )),
    "checkpoints in one statement": (100, lambda count: (
        "TABLE = {" + ", ".join(f"{n}: jax.checkpoint(lambda x: x + {n})" for n in range(count)) + "}\n"
    )),
    "names that nobody gives": (60, many(
        "g{0} = jax.checkpoint(jnp.sin, policy=jax.checkpoint_policies.save_only_these_names('hiden{0}'))\n"
        "y{0} = checkpoint_name(1.0, 'hidden{0}')\n"
    )),
    "suppressions": (300, many("x{0} = jax.checkpoint(jnp.sin, policy=3)  # jaxpert: ignore[policy-not-callable]\n")),
    "findings, and a block that expects one": (100, lambda count: (
        many("g{0} = jax.checkpoint(jnp.sin, policy=jax.checkpoint_policies.save_only_these_names)\n")(count)
        + "try:\n    g1(1.0)\nexcept TypeError:\n    pass\n"
    )),
}  # fmt: skip


FIXED: dict[str, tuple[int, Callable[[int], str]]] = {
    "wrappers without a function": (30, many(
        "w{0} = jax.checkpoint(prevent_cse=False)\n\n\n@w{0}\ndef f{0}(x):\n    return jnp.sin(x)\n\n"
    )),
    "policies that fall through": (60, many(
        "def p{0}(prim, *_, **__):\n    if prim.name == 'dot_general':\n        return True\n\n"
        "g{0} = jax.checkpoint(jnp.sin, policy=p{0})\n"
    )),
    "unflatten with a list": (60, many("y{0} = jax.tree.unflatten([{0}], [1.0])\n")),
    "refs written in a checkpoint": (20, many(
        "def loss{0}(x):\n    log = jax.new_ref(jnp.zeros(3))\n\n    @jax.checkpoint\n    def step(y):\n"
        "        log[...] = y\n        return jnp.sin(y)\n\n    return jnp.sum(step(x))\n\n"
        "jax.grad(loss{0})(jnp.ones(3))\n"
    )),
}  # fmt: skip
"""What every fix is made for, each of which may look for its finding anew."""

MOST_FOR_FIXES = 3.2


def work(folder: Path, text: str, fixing: bool = False) -> int:
    """How many calls it takes to analyse ``text``, or to make the fixes for what is found."""
    file = folder / "full.py"
    workspace = Workspace([folder], {rule.name: rule.code for rule in ALL_RULES})
    workspace.open(file, HEAD + text)
    snapshot = workspace.snapshot(file)
    count = 0

    def called(_frame: FrameType, event: str, _: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    analysis = analyze(snapshot) if fixing else None
    assert analysis is None or analysis.findings or not text
    sys.setprofile(called)
    try:
        if analysis is None:
            analyze(snapshot)
        else:
            for finding in analysis.findings:
                fix_for(analysis, finding)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("kind", FULL_OF)
def test_twice_as_long_takes_twice_the_work(kind: str, tmp_path: Path) -> None:
    work(tmp_path, "")  # what is worked out once
    count, make = FULL_OF[kind]
    once, twice = work(tmp_path, make(count)), work(tmp_path, make(2 * count))
    assert twice < MOST * once


@pytest.mark.parametrize("kind", FIXED)
def test_fixes_for_twice_as_much_take_not_much_more_than_twice_the_work(kind: str, tmp_path: Path) -> None:
    count, make = FIXED[kind]
    work(tmp_path, make(1), fixing=True)
    once, twice = work(tmp_path, make(count), fixing=True), work(tmp_path, make(2 * count), fixing=True)
    assert twice < MOST_FOR_FIXES * once
