"""A remat policy looks for a primitive that does not exist.

## What it finds

`prim is jax.lax.dot_general` and `prim == jnp.matmul`, which compare the primitive with a function;
`prim.name == "matmul"`, `prim.name in ("dot", "einsum")`, `str(prim) == "dot_genral"`, `case "conv":` and look-ups with
names that no primitive has: names of functions, and misspellings; and `prim.name == jax.lax.dot_general_p`, which
compares a name with a primitive. The primitive and its name are followed through variables, and through functions of
the same file that they are passed on to.

## Why it matters

JAX asks a policy about primitives, the few operations that programs are made of: `jnp.matmul`, `jnp.einsum` and `@` are
all `dot_general`. The test is false for all of them, so what the policy was to save is recomputed; JAX says nothing.

## In which versions

All; each version is asked for its own primitives.

## What to write instead

`prim is jax.lax.dot_general_p`, or `prim.name == "dot_general"`.

## Known limits

Names of primitives of other releases are taken to be meant for those. Other unknown names may be primitives of your
own or of another library and are not reported.

## Source

The primitives of each release from 0.4.30 on; measured on 0.4.30 to 0.12.0.1.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxpert.fixing import verbs
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import CustomPolicy
from jaxpert.model.primitive_matches import NameTest, ObjectTest, name_tests, object_tests
from jaxpert.model.speech import policy_places, silent
from jaxpert.rulekit.rule import Example, Finding, Fix, Rule, Safety, Severity, Silent
from jaxpert.text.near_misses import nearest

NAME = "primitive-never-matches"

_MADE_OF = {
    "dot_general": (
        "dot", "matmul", "einsum", "tensordot", "vdot", "inner", "dot_product", "vecdot", "batch_matmul", "batch_dot",
        "linear", "dense", "gemm", "mm", "bmm", "dotgeneral", "DotGeneral", "xla_dot",
    ),
    "conv_general_dilated": ("conv", "conv1d", "conv2d", "conv3d", "convolution", "convolve", "conv_general"),
    "reduce_sum": ("sum", "mean"),
    "logistic": ("sigmoid",),
    "mul": ("multiply",),
    "sub": ("subtract",),
    "div": ("divide", "true_divide"),
    "pow": ("power",),
    "select_n": ("where", "select"),
    "transpose": ("permute_dims",),
    "concatenate": ("concat",),
    "name": ("checkpoint_name",),
}  # fmt: skip
_PRIMITIVE = {name: primitive for primitive, names in _MADE_OF.items() for name in names}
_FUNCTIONS = ("jax.numpy", "jax.nn", "jax.lax", "jax.scipy.special")


class _Wrong(NamedTuple):
    """A test that is never true: where it is wrong, what is said about that, and the expression to write there."""

    node: ast.AST
    message: str
    written: str
    is_sure: bool = True


def check(model: FileModel) -> Iterator[Finding]:
    """Names and objects that no primitive equals, where they are written."""
    seen: set[int] = set()
    for policy in model.custom_policies:
        here = policy.model is model
        for wrong in _wrong(model, policy):
            if id(wrong.node) in seen:
                continue
            seen.add(id(wrong.node))
            where = model.range_of(wrong.node if here else policy.uses[0].argument.node)
            if where is None:
                continue
            advice = f"; write `{wrong.written}`" if wrong.written else ""
            yield Finding(
                NAME, where, f"policy `{policy.name}` never finds it: {wrong.message}{advice}", Severity.WARNING,
                silent(model, "the test is false for every primitive"),
                policy_places(model, policy, policy.model.range_of(wrong.node), "this is what it looks for"),
            )  # fmt: skip


def _wrong(model: FileModel, policy: CustomPolicy) -> Iterator[_Wrong]:
    for found in name_tests(policy):
        wrong = _wrong_name(model, policy, found)
        if wrong is not None:
            yield wrong
    for compared in object_tests(policy):
        wrong = _wrong_object(model, policy, compared)
        if wrong is not None:
            yield wrong


def _wrong_name(model: FileModel, policy: CustomPolicy, found: NameTest) -> _Wrong | None:
    name, db = found.name, model.db
    if not name or db.was_primitive(name) or _is_made_here(policy.model, name):
        return None
    known = db.primitive_names()
    if found.is_part:  # `"dot" in prim.name`
        near = _PRIMITIVE.get(name, "")
        if near not in known or any(name in primitive for primitive in known):
            return None
        return _Wrong(found.node, f'`"{name}"` is in no primitive\'s name', f'"{near}"', False)
    near = _PRIMITIVE.get(name, "")
    if near in known:
        return _Wrong(found.node, f'no primitive is called "{name}": it is done by `{near}`', f'"{near}"')
    if name.endswith("_p") and name[:-2] in known:
        return _Wrong(found.node, f'no primitive is called "{name}"', f'"{name[:-2]}"')
    if any(db.exists(f"{module}.{name}") for module in _FUNCTIONS):
        return _Wrong(found.node, f'no primitive is called "{name}", which is a function made of several', "")
    nearby = nearest(name, sorted(known)) if len(name) > 3 else None
    return _Wrong(found.node, f'no primitive is called "{name}"', f'"{nearby}"') if nearby else None


def _is_made_here(model: FileModel, name: str) -> bool:
    """Whether the file makes a primitive of its own with this name."""
    return re.search(rf"Primitive\(\s*(?:name\s*=\s*)?[\"']{re.escape(name)}[\"']", model.source.text) is not None


def _wrong_object(model: FileModel, policy: CustomPolicy, found: ObjectTest) -> _Wrong | None:
    path, db = found.path, model.db
    last = path.rpartition(".")[2]
    written = policy.model.text_of(found.node)
    if found.by_name:
        if last.endswith("_p") and path.startswith("jax.") and not last[0].isupper():
            return _Wrong(found.node, f"`{written}` is a primitive, and its name is compared", f"{written}.name")
        name = _PRIMITIVE.get(last, last)
        is_function = path.startswith(("jax.lax.", "jax.numpy.", "jax.nn.")) and db.exists(path)
        if not is_function or last.endswith("__") or not isinstance(found.node, (ast.Name, ast.Attribute)):
            return None
        meant = f'"{name}"' if name in db.primitive_names() else ""
        return _Wrong(found.node, f"`{written}` is a function, and no name", meant)
    if path.endswith("_p.name") and path.startswith("jax."):
        primitive = written.removesuffix(".name")
        return _Wrong(found.node, f"`{written}` is a name, and the primitive is compared", primitive)
    if last.endswith("_p") or not path.startswith(("jax.lax.", "jax.numpy.", "jax.nn.")) or not db.exists(path):
        return None
    if not isinstance(found.node, (ast.Name, ast.Attribute)):
        return None
    name = _PRIMITIVE.get(last, last)
    primitive = f"jax.lax.{name}_p"
    meant = _as_written(policy.model, found, primitive) if db.exists(primitive) else ""
    return _Wrong(found.node, f"`{written}` is a function, and no primitive", meant)


def _as_written(model: FileModel, found: ObjectTest, primitive: str) -> str:
    """The primitive as the file can name it: beside ``jax.lax.dot_general``, that with ``_p``."""
    last = primitive.rpartition(".")[2]
    if isinstance(found.node, ast.Attribute) and found.path.startswith("jax.lax."):
        return f"{model.text_of(found.node.value)}.{last}"
    return primitive


def fix(model: FileModel, finding: Finding) -> Fix | None:
    """Write the name, or the primitive, that is meant."""
    for policy in model.custom_policies:
        for wrong in _wrong(model, policy) if policy.model is model else ():
            if model.range_of(wrong.node) != finding.range or not wrong.written:
                continue
            if wrong.written.startswith("jax.") and not _names_jax(model):
                return None
            if wrong.written.startswith('"') and not isinstance(wrong.node, (ast.Constant, ast.Attribute, ast.Name)):
                return None
            if isinstance(wrong.node, ast.Name) and model.range_of(wrong.node) is not None and not wrong.is_sure:
                return None
            edits = verbs.replace_expression(model.source.lines, finding.range, wrong.written)
            safety = Safety.SAFE if wrong.is_sure else Safety.UNSAFE
            return Fix(f"Write `{wrong.written}`", safety, edits) if edits else None
    return None


def _names_jax(model: FileModel) -> bool:
    """Whether ``jax`` means JAX in the file."""
    bindings = model.source.module.bindings.get("jax", ())
    return bool(bindings) and all(str(binding.detail[0]) == "jax" for binding in bindings if binding.detail)


_BAD = """\
import jax
import jax.numpy as jnp
from jax._src.ad_checkpoint import saved_residuals


def keep_dots(prim, *_, **__):
    return prim.name == "matmul"


def loss(w, x):
    return jnp.sum(jnp.sin(jnp.sin(x @ w)))


residuals = saved_residuals(jax.checkpoint(loss, policy=keep_dots), jnp.ones((3, 3)), jnp.ones((2, 3)))
computed = [source for _, source in residuals if "argument" not in source]
"""
_OBJECT = _BAD.replace('prim.name == "matmul"', "prim is jax.lax.dot_general")

RULE = Rule(
    code="JXP221",
    name=NAME,
    severity=Severity.WARNING,
    since="0.1.0",
    doc=__doc__,
    apis=("checkpoint", "jax.checkpoint_policies"),
    examples=(
        Example(bad=_BAD, good=_BAD.replace("matmul", "dot_general"), proof=Silent("not computed", remat3=False)),
        Example(
            bad=_OBJECT,
            good=_OBJECT.replace("dot_general", "dot_general_p"),
            proof=Silent("not computed", remat3=False),
        ),
    ),
    check=check,
    fix=fix,
)
