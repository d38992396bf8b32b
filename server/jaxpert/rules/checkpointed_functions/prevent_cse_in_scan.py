"""The body of a scan is checkpointed with the barriers that only code outside of a scan needs.

## What it finds

`jax.checkpoint` without `prevent_cse`, around a function that is used as body of `jax.lax.scan` or `jax.lax.map` and
for nothing else.

## Why it matters

By default `jax.checkpoint` puts optimization barriers into the backward pass, because the compiler would otherwise
merge the recomputation with the first computation and keep everything in memory after all. In a scan the two are in
different loops and cannot be merged, so the barriers only stand in the way of other optimizations. Nothing is raised,
and the results are the same.

## In which versions

All. JAX documents `prevent_cse=False` as the setting for this place. With `jax_remat3` on, the option has an effect
from 0.11.1 on.

## What to write instead

`prevent_cse=False`.

## Known limits

Silent when the function is also called elsewhere in the file, when `unroll` is given (the turns of an unrolled loop can
be merged) or `length` is 1, and for checkpoints inside the body, which need the barriers when the body takes gradients.

## Source

The documentation of `jax.checkpoint`; barriers counted on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packaging.version import Version

from jaxpert.fixing.checkpoint_options import with_option
from jaxpert.model.calls import ApiCall
from jaxpert.model.checkpoint_places import given_to
from jaxpert.model.file_model import FileModel
from jaxpert.model.speech import silent
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.wrapped_calls import wrapped_calls
from jaxpert.rulekit.rule import Example, Finding, Fix, Related, Rule, Safety, Severity, Silent

NAME = "prevent-cse-in-scan"

_REMAT3_LOOKS = Version("0.11.1")
_SCANS = {"jax.lax.scan", "jax.lax.map"}


def check(model: FileModel) -> Iterator[Finding]:
    """Checkpointed bodies of scans that keep the default ``prevent_cse=True``."""
    for checkpoint in model.checkpoints:
        scan = _scan(model, checkpoint)
        where = model.range_of(checkpoint.node) if scan is not None else None
        if scan is None or where is None:
            continue
        area = model.range_of(scan.node.func)
        yield Finding(
            NAME,
            where,
            f"the body of `{scan.api.name}` needs no protection from common subexpression elimination: "
            f"give `{checkpoint.api.name}` `prevent_cse=False`, documented as safe here, and spare the barriers",
            Severity.HINT,
            silent(model, "optimization barriers go into every turn of the backward pass"),
            (Related(area, "used as body here"),) if area is not None else (),
        )


def _scan(model: FileModel, checkpoint: Checkpoint) -> ApiCall | None:
    """The scan that runs the checkpointed function, when that is all it is used for."""
    call = checkpoint.call
    if model.target.remat3 and model.target.version < _REMAT3_LOOKS:
        return None
    if checkpoint.api.library != "jax" or model.is_dead(checkpoint.site.block):
        return None
    if call is not None and (call.opened or "prevent_cse" in call.arguments):
        return None
    used = list(given_to(model, checkpoint, "control_flow"))
    if not used or any(use.api.name not in _SCANS or not _is_rolled(use) for use in used):
        return None
    return None if any(wrapped_calls(model, checkpoint)) else used[0]


def _is_rolled(scan: ApiCall) -> bool:
    """Whether a loop is left of the scan, that cannot be merged: its turns are not unrolled, and not just one."""
    unroll, length = scan.arguments.get("unroll"), scan.arguments.get("length")
    stays = unroll is None or (isinstance(unroll.node, ast.Constant) and repr(unroll.node.value) in ("1", "False"))
    is_loop = length is None or not isinstance(length.node, ast.Constant) or length.node.value != 1
    return not scan.opened and stays and is_loop


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Switch the barriers off."""
    for checkpoint in model.checkpoints:
        if model.range_of(checkpoint.node) == finding.range and _scan(model, checkpoint) is not None:
            edits = with_option(model, checkpoint, "prevent_cse", "False")
            return Fix("Give it `prevent_cse=False`", Safety.SAFE, edits) if edits else None
    return None


_BAD = '''\
import jax
import jax.numpy as jnp


@jax.checkpoint
def step(carry, x):
    carry = jnp.sin(carry) * x
    return carry, carry


def loss(carry, xs):
    carry, ys = jax.lax.scan(step, carry, xs)
    return carry + jnp.sum(ys)


lowered = jax.jit(jax.grad(loss)).lower(1.0, jnp.ones(3)).as_text()
'''

_GOOD = _BAD.replace("import jax\n", "import functools\n\nimport jax\n", 1).replace(
    "@jax.checkpoint\n", "@functools.partial(jax.checkpoint, prevent_cse=False)\n"
)

RULE = Rule(
    code="JXP125",
    name=NAME,
    severity=Severity.HINT,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.lax.scan"),
    examples=(Example(bad=_BAD, good=_GOOD, proof=Silent("'optimization_barrier' in lowered", remat3=False)),),
    check=check,
    fix=fix,
)
