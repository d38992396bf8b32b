"""Hover on a rematerialized function: its policy, what it names, its static arguments and its effects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePath
from typing import TYPE_CHECKING

from jaxpert.ide.blocks import Block, Prose, Table
from jaxpert.ide.policy_hover import TABLE_HEAD, remat3_note
from jaxpert.ide.policy_words import in_words, short_form, table_rows
from jaxpert.model.cursor import class_at, expressions_at, function_at
from jaxpert.model.decoded_policies import DecodedPolicy, policy_of
from jaxpert.model.effect_kinds import CALLBACKS, PYTHON_EFFECTS, REF_EFFECTS, Effect, EffectKind
from jaxpert.model.effect_places import function_name, recomputes, shown
from jaxpert.model.rematerialized import Wrapping, wrappings_behind, wrappings_of, wrappings_of_class
from jaxpert.model.tags_inside import TagInside, tags_inside
from jaxpert.model.transforms import parameters, static_indices, static_names
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel
    from jaxpert.model.transforms import Checkpoint

_MOST_EFFECTS = 5
_MOST_WRAPPINGS = 3
_PRINTS = frozenset({EffectKind.DEBUG_CALLBACK, EffectKind.DEBUG_PRINT})


def checkpoint_hover(model: FileModel, position: Position) -> tuple[Range, list[Block]] | None:
    """What to show about the rematerialized function at ``position``: where it is defined, called or wrapped."""
    found = wrappings_at(model, position)
    if found is None:
        return None
    area, wrappings = found
    blocks: list[Block] = []
    for owner, checkpoint in wrappings[:_MOST_WRAPPINGS]:
        blocks += _blocks(model, owner, checkpoint, alone=len(wrappings) == 1)
    if len(wrappings) > _MOST_WRAPPINGS:
        blocks.append(Prose(f"It is wrapped in {len(wrappings) - _MOST_WRAPPINGS} more places."))
    if note := remat3_note(model):
        blocks.append(Prose(note))
    return area, blocks


def wrappings_at(model: FileModel, position: Position) -> tuple[Range, list[Wrapping]] | None:
    """The checkpoints of the function at ``position``, and the range of what names it; None where there are none."""
    if not model.concerns_jax:
        return None
    if (defined := function_at(model, position)) is not None:
        return _some(defined[1], [(model, checkpoint) for checkpoint in wrappings_of(model, defined[0])])
    if (cls := class_at(model, position)) is not None:
        scope = cls[0].block.tree.classes[cls[1]]
        return _some(cls[2], [(model, checkpoint) for checkpoint in wrappings_of_class(model, scope)])
    for one, area in expressions_at(model, position)[:1]:
        if not isinstance(one.node, (ast.Name, ast.Attribute)):
            continue
        given = [(model, it) for it in model.checkpoints if _names_it(it, one.node)]
        if given:
            return _some(area, given)
        value = model.evaluate(one.node, one.scope, one.block)
        return _some(area, wrappings_behind(model, value))
    return None


def _names_it(checkpoint: Checkpoint, node: ast.expr) -> bool:
    """Whether ``node`` is the wrapper of a checkpoint, or the function that it is given."""
    fun = checkpoint.role("fun")
    wrappers = [checkpoint.node]
    if isinstance(checkpoint.node, ast.Call):
        is_partial = checkpoint.call is not None and checkpoint.call.is_partial
        wrappers = [checkpoint.node.func, *(checkpoint.node.args[:1] if is_partial else ())]
    return any(node is each for each in wrappers) or (fun is not None and fun.node is node)


def _some(area: Range, wrappings: list[Wrapping]) -> tuple[Range, list[Wrapping]] | None:
    return (area, wrappings) if wrappings else None


def _blocks(model: FileModel, owner: FileModel, checkpoint: Checkpoint, alone: bool) -> Iterator[Block]:
    policy = policy_of(owner, checkpoint)
    tags = tags_inside(owner, checkpoint)
    title = f"**`{function_name(owner, checkpoint)}`** is rematerialized by `{checkpoint.api.name}`"
    facts = [title, _policy_text(owner, checkpoint, policy), *_static_text(owner, checkpoint)]
    if not alone or owner is not model:
        facts.append(f"wrapped at {_place(owner, model, checkpoint.node)}")
    yield Prose(" · ".join(facts))
    if policy.only is not None:
        yield Table(TABLE_HEAD, tuple(_rows(model, policy, tags)))
    elif tags:
        yield Prose(f"Names inside: {', '.join(sorted({f'`{tag.name}`' for tag in tags if tag.name}))}")
    if effects := list(_effects(model, owner, checkpoint)):
        yield Prose("\n".join(f"- {effect}" for effect in effects))


def _policy_text(owner: FileModel, checkpoint: Checkpoint, policy: DecodedPolicy) -> str:
    argument = checkpoint.role("policy")
    if argument is None:
        return "no policy" if policy.branches else "policy not known"
    text = " | ".join(branch.text for branch in policy.branches) or argument.model.text_of(argument.node)
    form = "" if policy.only is not None else short_form(policy)
    return f"policy `{text}`" + (f" ({form})" if form else "")


def _static_text(owner: FileModel, checkpoint: Checkpoint) -> Iterator[str]:
    known = parameters(owner, checkpoint)
    if "static_argnums" not in checkpoint.api.roles:
        return
    names = static_names(owner, checkpoint, known) if known is not None else None
    if names is None:
        if checkpoint.role("static_argnums") is not None:
            yield "static: not known"
        return
    assert known is not None
    numbered = [name for name in known.names if name in names]
    if numbered or names:
        counted = [f"`{name}` ({known.names.index(name)})" for name in numbered]
        yield "static: " + ", ".join([*counted, *(f"`{name}`" for name in sorted(names - set(numbered)))])
    elif static_indices(owner, checkpoint):
        yield "static: not known"


def _rows(model: FileModel, policy: DecodedPolicy, tags: tuple[TagInside, ...]) -> Iterator[tuple[str, str]]:
    """The policy's table, with a row for every name that is tagged inside."""
    decoded = policy.only
    assert decoded is not None
    version = model.target.version
    inside: dict[str, list[TagInside]] = {}
    for tag in tags:
        inside.setdefault(tag.name, []).append(tag)
    any_name = inside.pop("", [])
    for name, places in inside.items():
        where = ", ".join(dict.fromkeys(_place(tag.model, model, tag.call.node) for tag in places[:3]))
        yield f"`{name}`", f"{in_words(decoded.name(name), version)} ({where})"
    for number, (label, words) in enumerate(table_rows(decoded, version)):
        mentioned = list(decoded.names)[number] if number < len(decoded.names) else None
        if mentioned is None:
            yield label, words
        elif mentioned not in inside:
            yield label, words if any_name else f"{words}; **nothing inside has this name**"


def _place(owner: FileModel, model: FileModel, node: ast.AST) -> str:
    area = owner.range_of(node)
    line = f"{area.start.line + 1}" if area is not None else "?"
    return f"line {line}" if owner is model else f"{PurePath(owner.path).name}:{line}"


def _effects(model: FileModel, owner: FileModel, checkpoint: Checkpoint) -> Iterator[str]:
    """The effects of the function, one line each."""
    found = next((effects for one, effects in owner.checkpoint_effects if one is checkpoint), ())
    again = recomputes(owner, checkpoint)
    for effect in found[:_MOST_EFFECTS]:
        yield f"`{shown(effect)}` ({_place(effect.model, model, effect.node)}): {_what(effect, again)}"
    if len(found) > _MOST_EFFECTS:
        yield f"{len(found) - _MOST_EFFECTS} more effects"


def _what(effect: Effect, again: bool) -> str:
    kind = effect.kind
    if kind in _PRINTS:
        return "runs again on the backward pass" if again else "an effect of the compiled program"
    if kind in PYTHON_EFFECTS:
        return "happens while JAX traces, not when the program runs"
    if kind in REF_EFFECTS:
        verb = {EffectKind.REF_CREATION: "makes", EffectKind.REF_READ: "reads", EffectKind.REF_WRITE: "writes"}[kind]
        return f"{verb} a Ref"
    return "calls Python on the host" if kind in CALLBACKS else "a run-time check"
