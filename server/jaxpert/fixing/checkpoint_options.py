"""Gives a checkpoint wrapper an option, however it is applied: by call, decorator, partial or alias."""

from __future__ import annotations

import ast

from jaxpert.fixing import verbs
from jaxpert.fixing.wrapper_calls import partial_name
from jaxpert.model.file_model import FileModel
from jaxpert.model.transforms import Checkpoint, static_indices
from jaxpert.text.edits import Edit


def with_option(model: FileModel, checkpoint: Checkpoint, name: str, value: str) -> tuple[Edit, ...] | None:
    """Give the wrapper ``name=value``, in place of another value if it has one.

    It goes into the wrapper's call, or into a ``functools.partial`` around a bare decorator. None where the wrapper's
    options stand somewhere else, or are not written as keywords.
    """
    lines, node, call = model.source.lines, checkpoint.node, checkpoint.call
    where = model.range_of(node)
    given = call.arguments.get(name) if call is not None else None
    if where is None or (given is not None and (given.keyword is None or given.is_spread)):
        return None
    if isinstance(node, ast.Call) and call is not None:
        inner = model.range_of(call.node)
        options = call.node is node or call.node is node.func  # `nnx.remat(…)(f)` has them in the inner call
        return verbs.set_keyword(lines, inner, name, value) if options and inner is not None else None
    if not checkpoint.by_decorator or isinstance(node, ast.Call) or (call is not None and not call.is_partial):
        return None
    if call is None and "callable_without_fun" in checkpoint.api.traits:
        return verbs.call_expression(lines, where, f"{name}={value}")
    partial = partial_name(lines, where.start, model.source)
    if partial is None:
        return None
    written, imports = partial
    edits = verbs.replace_expression(lines, where, f"{written}({model.text_of(node)}, {name}={value})")
    return (*imports, *edits) if edits else None


def made_static(
    model: FileModel, checkpoint: Checkpoint, *indices: int
) -> tuple[str, tuple[Edit, ...]] | None:
    """The value of ``static_argnums`` that adds ``indices``, and the edits that set it; None where it is not known."""
    known = static_indices(model, checkpoint)
    if known is None:
        return None
    together = sorted({*known, *indices})
    value = f"({', '.join(map(str, together))}{',' if len(together) == 1 else ''})"
    edits = with_option(model, checkpoint, "static_argnums", value)
    return (value, edits) if edits else None
