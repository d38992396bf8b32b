"""Refactorings of policies: choosing one, leaving out what is the default, and writing the same policy more plainly."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial

from jaxpert.fixing import verbs
from jaxpert.fixing.checkpoint_options import with_option
from jaxpert.ide.refactoring import (
    REWRITE,
    Edits,
    Refactoring,
    RefactoringRefused,
    Spot,
    imported_api,
    shortened,
    together,
)
from jaxpert.jaxdb.schema import ApiKind
from jaxpert.model.calls import ApiCall, Argument
from jaxpert.model.equal_policies import is_default, joined_policies, ready_made_like, same
from jaxpert.model.file_model import FileModel
from jaxpert.model.policies import PolicyUse
from jaxpert.model.rematerialized import alive
from jaxpert.model.tags_inside import tags_inside
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import CallResult, ClassValue, Def, Symbol
from jaxpert.text.lines import Position, Range

NAMESPACE = "jax.checkpoint_policies"

_CHOICES = ("dots_saveable", "dots_with_no_batch_dims_saveable", "nothing_saveable")
_MOST_NAMES = 8


# -- choosing one -----------------------------------------------------------------------------------------------------


def choose_policy(spot: Spot) -> Iterator[Refactoring]:
    """A policy for the checkpoint that is pointed at and has none: one offer for each that makes sense."""
    model = spot.model
    checkpoint = next((one for one in alive(model) if _is_pointed_at(spot, one)), None)
    if checkpoint is None or not _takes_policy(checkpoint):
        return
    whose = _whose(checkpoint)
    for written in _choices(model, checkpoint):
        title = f"Give {whose} the policy `{written}`"
        yield Refactoring(title, REWRITE, partial(_give_policy, model, checkpoint, written))


def _is_pointed_at(spot: Spot, checkpoint: Checkpoint) -> bool:
    node = checkpoint.node
    if spot.is_selection:
        return spot.selected is not None and spot.selected[0].node is node
    if checkpoint.by_decorator or not isinstance(node, ast.Call):
        return spot.holds(node)
    return spot.holds(node.func)


def _takes_policy(checkpoint: Checkpoint) -> bool:
    """Whether the wrapper can be given a policy where it stands, and has none."""
    call, node = checkpoint.call, checkpoint.node
    if "policy" not in checkpoint.api.roles or checkpoint.role("policy") is not None:
        return False
    if call is not None and call.opened:
        return False
    if isinstance(node, ast.Call) and call is not None:
        return call.node is node or call.node is node.func
    return checkpoint.by_decorator and call is None


def _whose(checkpoint: Checkpoint) -> str:
    target = checkpoint.target
    if isinstance(target, Def) and target.name != "lambda":
        return f"`{target.name}`"
    return f"`{target.node.name}`" if isinstance(target, ClassValue) else "this function"


def _choices(model: FileModel, checkpoint: Checkpoint) -> Iterator[str]:
    names = [tag.name for tag in tags_inside(model, checkpoint)]
    known = list(dict.fromkeys(name for name in names if name and name.isprintable() and not set(name) & set("\"\\")))
    if known and len(known) <= _MOST_NAMES:
        yield f"save_only_these_names({', '.join(_quoted(name) for name in known)})"
    for name in _CHOICES:
        if model.db.exists(f"{NAMESPACE}.{name}") is not False:
            yield name


def _quoted(name: str) -> str:
    return f'"{name}"'


def _give_policy(model: FileModel, checkpoint: Checkpoint, written: str) -> Edits:
    where = model.range_of(checkpoint.node)
    if where is None:
        raise RefactoringRefused("the code has just been edited")
    name, imports = namespace(model, where.start)
    return together(imports, with_option(model, checkpoint, "policy", f"{name}.{written}"))


def namespace(model: FileModel, use: Position) -> tuple[str, Edits]:
    """How to write ``jax.checkpoint_policies`` at ``use``, and the edits that import it.

    Raises:
        RefactoringRefused: it cannot be named there.
    """
    return imported_api(model, (NAMESPACE,), use, "import jax", "{}.checkpoint_policies")


def _innermost(spot: Spot, wanted: Callable[[ApiCall], bool]) -> list[ApiCall]:
    """The innermost call of the wanted kind around the place; none, or one."""
    around = [(spot.model.range_of(call.node), call) for call in spot.model.calls if wanted(call)]
    inside = [(area, call) for area, call in around if area is not None and spot.is_in(area)]
    return [max(inside, key=lambda one: (one[0].start, (-one[0].end.line, -one[0].end.column)))[1]] if inside else []


# -- leaving out the default ------------------------------------------------------------------------------------------


def leave_out_default(spot: Spot) -> Iterator[Refactoring]:
    """``policy=None`` or ``nothing_saveable`` goes, and with the last option the ``functools.partial`` around."""
    model = spot.model
    if model.target.remat3:
        return
    for call in _innermost(spot, lambda call: call.api.kind is ApiKind.CHECKPOINT):
        given = call.role("policy")
        parts = [call.node.func, *([given.node] if given is not None else [])]
        if not call.is_partial and not any(spot.holds(part) for part in parts):
            continue
        is_only = call.is_partial and len(call.node.args) == 1
        keywords = call.node.keywords
        if given is None and is_only and not keywords:
            text = model.text_of(call.node.args[0])
            yield Refactoring(f"Write plain `{text}`: there are no options", REWRITE, partial(_unwrap, model, call))
        elif given is not None and _is_written_default(model, call, given):
            written = f"policy={model.text_of(given.node)}"
            title = f"Leave out `{shortened(written)}`: it is the default"
            plain = is_only and len(keywords) == 1
            make = partial(_unwrap, model, call) if plain else partial(_without_policy, model, call, given)
            yield Refactoring(title, REWRITE, make)


def _is_written_default(model: FileModel, call: ApiCall, given: Argument) -> bool:
    """Whether the policy is written in this very call, as a keyword, and is certainly that of a call without one."""
    signature = model.db.signature(call.api)
    defaults = {it.name: it.default for it in signature.parameters} if signature is not None else {}
    if defaults.get(call.api.roles["policy"]) != "None" or given.keyword not in call.node.keywords:
        return False
    options = list(given.value.options())
    plain = isinstance(given.node, (ast.Constant, ast.Attribute))
    return plain and len(options) == 1 and is_default(model, options[0])


def _unwrap(model: FileModel, call: ApiCall) -> Edits:
    where = model.range_of(call.node)
    if where is None:
        raise RefactoringRefused("the code has just been edited")
    return together(verbs.replace_expression(model.source.lines, where, model.text_of(call.node.args[0])))


def _without_policy(model: FileModel, call: ApiCall, given: Argument) -> Edits:
    where = model.range_of(call.node)
    assert given.keyword is not None and given.keyword.arg is not None
    if where is None:
        raise RefactoringRefused("the code has just been edited")
    return together(verbs.remove_keyword(model.source.lines, where, given.keyword.arg))


# -- the same policy --------------------------------------------------------------------------------------------------


def use_ready_made(spot: Spot) -> Iterator[Refactoring]:
    """A function or lambda of the user's that is a policy of JAX gives way to that."""
    model = spot.model
    for use in model.policy_uses:
        node = _replaceable(spot, use)
        if node is None:
            continue
        found = ready_made_like(model, use.value)
        if found is not None:
            written = found.path.rpartition(".")[2]
            if found.names is not None:
                written += f"({', '.join(_quoted(name) for name in found.names)})"
            title = f"Write `{shortened(written)}`: it is the same policy"
            yield Refactoring(title, REWRITE, partial(_use_ready_made, model, node, written))
            return


def _replaceable(spot: Spot, use: PolicyUse) -> ast.expr | None:
    """The expression to replace: what is given as a policy, or the lambda behind it."""
    node = use.argument.node
    if isinstance(node, (ast.Name, ast.Attribute, ast.Lambda)) and spot.holds(node):
        return node
    value = use.value
    behind = value.function.node if isinstance(value, Def) and value.model is spot.model else None
    return behind if isinstance(behind, ast.Lambda) and spot.holds(behind) else None


def _use_ready_made(model: FileModel, node: ast.expr, written: str) -> Edits:
    where = model.range_of(node)
    if where is None:
        raise RefactoringRefused("the code has just been edited")
    name, imports = namespace(model, where.start)
    return together(imports, verbs.replace_expression(model.source.lines, where, f"{name}.{written}"))


def simplify_joined(spot: Spot) -> Iterator[Refactoring]:
    """``save_from_both_policies`` of two that are one: of names, or where one of them is the same as both."""
    model = spot.model
    for call in _innermost(spot, lambda call: "policies_as_varargs" in call.api.traits):
        where = model.range_of(call.node)
        given = call.node.args
        if where is None or call.is_partial or len(given) != 2 or call.node.keywords:
            continue
        names = _both_names(model, call)
        if names is not None:
            title = f"Write `{shortened(names)}`: it is the same policy"
            yield Refactoring(title, REWRITE, partial(_write, model, where, names))
            continue
        policy = model.evaluate(call.node, call.site.scope, call.site.block)
        parts = joined_policies(model, policy)
        for one, value in zip(given, parts or ()):
            if same(model, policy, value):
                text = model.text_of(one)
                title = f"Write `{shortened(text)}`: it is the same policy"
                yield Refactoring(title, REWRITE, partial(_write, model, where, text))
                break


def _both_names(model: FileModel, call: ApiCall) -> str | None:
    """The one call that saves the names of both arguments; None when they are not two such calls."""
    texts: list[str] = []
    callee = ""
    for node in call.node.args:
        value = model.evaluate(node, call.site.scope, call.site.block)
        api = model.db.api(value.path) if isinstance(value, CallResult) and isinstance(value.callee, Symbol) else None
        if api is None or api.traits != {"names_as_varargs"} or not isinstance(node, ast.Call) or node.keywords:
            return None
        callee = callee or model.text_of(node.func)
        texts += [text for argument in node.args if (text := model.text_of(argument)) not in texts]
    return f"{callee}({', '.join(texts)})"


def _write(model: FileModel, where: Range, text: str) -> Edits:
    return together(verbs.replace_expression(model.source.lines, where, text))
