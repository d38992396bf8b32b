"""Hover on a policy expression: what it stores, moves and recomputes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.ide.blocks import Block, Prose, Table
from jaxpert.ide.policy_words import table_rows
from jaxpert.model.cursor import expressions_at, function_at
from jaxpert.model.decoded_policies import (
    Branch,
    DecodedPolicy,
    decoded_argument,
    decoded_expression,
    decoded_value,
    is_policy,
)
from jaxpert.model.policies import callable_behind
from jaxpert.records import dataclass
from jaxpert.syntax.expressions import Expression
from jaxpert.syntax.scopes import Site
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_LONGEST_TITLE = 80
_WRITTEN = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.IfExp, ast.Lambda, ast.Constant)
_MOST_PLACES = 3
_NAMES, _PRODUCTS = Version("0.11.2"), Version("0.12.0")

TABLE_HEAD = ("on the backward pass", "")


@dataclass(frozen=True, slots=True)
class PolicyAt:
    """The policy under the cursor; ``title`` is how it is written."""

    range: Range
    title: str
    policy: DecodedPolicy


def policy_hover(model: FileModel, position: Position) -> tuple[Range, list[Block]] | None:
    """What to show about the policy at ``position``; None where there is none, or nothing is known about it."""
    found = policy_at(model, position)
    if found is None:
        return None
    return found.range, policy_blocks(model, found)


def policy_at(model: FileModel, position: Position) -> PolicyAt | None:
    """The policy that the expression at ``position`` is, or that the function defined there decides."""
    if not model.concerns_jax:
        return None
    around = expressions_at(model, position)
    given = {id(use.argument.node): use for use in model.policy_uses if use.argument.model is model}
    for one, area in around:
        if not isinstance(one.node, _WRITTEN):
            continue
        node = one.node
        if id(node) in given:
            use = given[id(node)]
            return PolicyAt(area, _title(model, node), decoded_argument(model, use.argument))
        if _is_called(one) or isinstance(node, (ast.Lambda, ast.Constant)):
            continue  # the call around it says more
        value = model.evaluate(node, one.scope, one.block)
        if is_policy(model, value) or _is_used(model, value):
            site = Site(node, one.scope, one.block)
            return PolicyAt(area, _title(model, node), decoded_expression(model, node, site))
    return _defined_at(model, position)


def _is_called(one: Expression) -> bool:
    return isinstance(one.parent, ast.Call) and one.parent.func is one.node


def _is_used(model: FileModel, value: object) -> bool:
    """Whether ``value`` is a function that this file uses as a policy."""
    function = getattr(value, "function", None)
    return function is not None and any(policy.value.function is function for policy in model.custom_policies)


def _defined_at(model: FileModel, position: Position) -> PolicyAt | None:
    found = function_at(model, position)
    if found is None:
        return None
    for policy in model.custom_policies:
        if policy.value.function is found[0]:
            for option in (option for use in policy.uses for option in use.value.options()):
                behind = callable_behind(model, option)
                if behind is not None and behind[0].function is found[0]:
                    return PolicyAt(found[1], policy.name, decoded_value(model, option))
    return None


def _title(model: FileModel, node: ast.expr) -> str:
    text = "lambda" if isinstance(node, ast.Lambda) else model.text_of(node)
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"


def policy_blocks(model: FileModel, found: PolicyAt) -> list[Block]:
    """The title, a table for each policy that the expression can be, and what there is to know besides."""
    blocks: list[Block] = [Prose(f"**`{found.title}`** · policy · JAX {model.target.version}")]
    branches = found.policy.branches
    if not branches:
        return [*blocks, Prose("What this policy is cannot be told from the code.")]
    for branch in branches:
        if len(branches) > 1:
            blocks.append(Prose(_heading(branch)))
        if branch.decoded is None:
            blocks.append(Prose("What it decides is **unknown**: it cannot be told from the code."))
        else:
            blocks.append(Table(TABLE_HEAD, tuple(_rows(model, branch))))
    if note := remat3_note(model):
        blocks.append(Prose(note))
    return blocks


def _heading(branch: Branch) -> str:
    when = f" · where `{branch.when}`" if branch.when else ""
    return f"`{branch.text}`{when}"


def _rows(model: FileModel, branch: Branch) -> Iterator[tuple[str, str]]:
    assert branch.decoded is not None
    names = list(branch.decoded.names)
    for number, (label, words) in enumerate(table_rows(branch.decoded, model.target.version)):
        yield label, f"{words}{where_tagged(model, names[number])}" if number < len(names) else words


def where_tagged(model: FileModel, name: str) -> str:
    """Where values of this name are tagged, behind what becomes of them: " (2 tags: block.py:31, block.py:88)"."""
    index = model.project_names
    if not index.may_be_tagged(name):
        near = index.nearest(name)
        return "; **no value has this name**" + (f", the nearest is `{near}`" if near is not None else "")
    places = [
        f"{PurePath(tag.path).name}:{tag.range.start.line + 1}"
        for tag in index.tags()
        if tag.text == name and tag.range is not None
    ]
    if not places:
        return ""
    shown = ", ".join(places[:_MOST_PLACES]) + (", …" if len(places) > _MOST_PLACES else "")
    return f" ({len(places)} tag{'s' if len(places) > 1 else ''}: {shown})"


def remat3_note(model: FileModel) -> str:
    """What ``jax_remat3`` changes, where it is on."""
    if not model.target.remat3:
        return ""
    version = model.target.version
    if version >= _PRODUCTS:
        return "`jax_remat3` is on: JAX asks only about matrix products, convolutions and named values."
    if version >= _NAMES:
        return "`jax_remat3` is on: JAX asks functions of your own only about named values."
    return "`jax_remat3` is on: JAX asks its own policies only, never functions of your own."

