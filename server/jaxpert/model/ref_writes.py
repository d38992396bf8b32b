"""What a write of a Ref does when it is repeated, and whether the Ref says that it is not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.jaxdb.schema import Api
from jaxpert.model.effect_kinds import Effect, EffectKind, Ref
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import CallResult, Literal, Symbol

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

NOT_REPEATED = "no_grad_no_remat"
"""The ``kind`` of Refs whose writes are neither repeated on the backward pass nor differentiated."""

_CONSTANTS = {"zeros", "ones", "full", "empty", "eye", "arange", "zeros_like", "ones_like", "full_like"}


def adds(effect: Effect) -> bool:
    """Whether the write is an ``addupdate``."""
    node = effect.node
    return isinstance(node, ast.Call) and "addupdate" in (effect.call.api.name if effect.call else ast.dump(node.func))


def takes_from_itself(model: FileModel, checkpoint: Checkpoint, effect: Effect) -> bool:
    """``r[…] += x``, or a stored value that reads the Ref."""
    reads = list(_reads(model, checkpoint, effect))
    if any(other.node is effect.node and isinstance(effect.node, ast.Subscript) for other in reads):
        return True
    stored = {id(node) for value in effect.stored for node in ast.walk(value)}
    return any(id(other.node) in stored for other in reads)


def read_before(model: FileModel, checkpoint: Checkpoint, effect: Effect) -> bool:
    """Whether the function that holds the write uses the Ref's value above it: it reads another one when repeated."""
    stored = {id(node) for value in effect.stored for node in ast.walk(value)}
    return any(
        other.node is not effect.node
        and id(other.node) not in stored
        and other.site is not None
        and effect.site is not None
        and other.site.scope.function() is effect.site.scope.function()
        and (other.node.lineno, other.node.col_offset) < (effect.node.lineno, effect.node.col_offset)
        for other in _reads(model, checkpoint, effect)
    )


def _reads(model: FileModel, checkpoint: Checkpoint, effect: Effect) -> Iterator[Effect]:
    """Where the checkpointed function reads the Ref that ``effect`` writes."""
    creation = effect.ref.creation if effect.ref is not None else None
    for owner, effects in model.checkpoint_effects:
        for other in effects if owner is checkpoint else ():
            if other.kind is EffectKind.REF_READ and other.model is effect.model and other.ref is not None:
                same = other.ref.creation is not None and creation is not None
                if other.name == effect.name or (same and other.ref.creation.call is creation.call):  # type: ignore[union-attr]
                    yield other


def _api(model: FileModel, creation: CallResult | None) -> Api | None:
    return model.db.api(creation.path) if creation is not None else None


def can_be_marked(model: FileModel, creation: CallResult | None) -> bool:
    """Whether the call that makes the Ref (or ``new_ref``, where that is not known) takes ``kind``."""
    api = _api(model, creation)
    signature = model.db.signature(api) if api is not None else model.db.signature(_new_ref(model))
    return signature is not None and any(parameter.name == "kind" for parameter in signature.parameters)


def _new_ref(model: FileModel) -> Api:
    return next(api for api in model.db.apis() if api.name == "jax.new_ref")


def markable(model: FileModel, ref: Ref | None) -> ast.Call | None:
    """The call that makes the Ref, when it stands in this file and can take ``kind``."""
    creation = ref.creation if ref is not None else None
    if creation is None or not isinstance(creation.callee, Symbol) or creation.model not in (None, model):
        return None
    has_kind = any(keyword.arg in ("kind", None) for keyword in creation.call.keywords)
    return creation.call if can_be_marked(model, creation) and not has_kind else None


def is_not_repeated(model: FileModel, ref: Ref) -> bool:
    """Whether the Ref is, or may be, of the kind whose writes are not repeated."""
    creation = ref.creation
    if creation is None:
        return False
    owner = creation.model or model
    for keyword in creation.call.keywords:
        if keyword.arg is None:
            return True
        if keyword.arg == "kind" and creation.site is not None:
            kind = owner.evaluate(keyword.value, creation.site.scope, creation.site.block)
            return not isinstance(kind, Literal) or kind.value == NOT_REPEATED
    return not isinstance(creation.callee, Symbol)  # a partial may give the kind


def is_constant(model: FileModel, creation: CallResult) -> bool:
    """Whether the Ref starts with numbers that no argument takes part in."""
    owner = creation.model or model
    first = creation.call.args[0] if creation.call.args else None
    if isinstance(first, ast.Constant):
        return True
    if not isinstance(first, ast.Call) or creation.site is None:
        return False
    value = owner.evaluate(first.func, creation.site.scope, creation.site.block)
    path = value.path if isinstance(value, Symbol) else ""
    module, _, name = path.rpartition(".")
    is_filled = name.startswith("full") and not all(isinstance(node, ast.Constant) for node in first.args[1:2])
    return module in ("jax.numpy", "numpy") and name in _CONSTANTS and not is_filled
