"""Hover on a parameter of a rematerialized function: traced or static, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxpert.ide.blocks import Block, Prose
from jaxpert.model.cursor import parameter_at
from jaxpert.model.effect_places import function_name
from jaxpert.model.rematerialized import wrappings_of
from jaxpert.model.traced_arguments import traced_arguments
from jaxpert.model.transforms import (
    Checkpoint,
    Parameters,
    fills_defaults,
    parameters,
    static_names,
    traces_only_arrays,
)
from jaxpert.model.wrapped_calls import passed, wrapped_calls
from jaxpert.text.lines import Position, Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_KINDS = {
    "bool": "a bool", "int": "an int", "float": "a float", "complex": "a complex number", "array": "an array",
    "none": "None", "string": "a string",
}  # fmt: skip


def parameter_hover(model: FileModel, position: Position) -> tuple[Range, list[Block]] | None:
    """What to show about the parameter at ``position``; None where it is none of a rematerialized function."""
    if not model.concerns_jax or not model.checkpoints:
        return None
    found = parameter_at(model, position)
    if found is None:
        return None
    function, name, area = found
    texts = [_text(model, checkpoint, name) for checkpoint in wrappings_of(model, function)]
    blocks: list[Block] = [Prose(text) for text in dict.fromkeys(texts) if text]
    return (area, blocks) if blocks else None


def _text(model: FileModel, checkpoint: Checkpoint, name: str) -> str:
    known = parameters(model, checkpoint)
    if known is None:
        return ""
    function = f"`{function_name(model, checkpoint)}`"
    verdict, reason = _verdict(model, checkpoint, known, name)
    return f"**`{name}`** of {function} is {verdict} under `{checkpoint.api.name}`: {reason}" if verdict else ""


def _verdict(model: FileModel, checkpoint: Checkpoint, known: Parameters, name: str) -> tuple[str, str]:
    """ "**traced**", "**static**" and so on, with the reason; empty when nothing can be said."""
    static = static_names(model, checkpoint, known)
    if name == known.receiver and {"counts_self", "excludes_self"} & checkpoint.api.traits:
        return "**not traced**", "it is the module itself, and the wrapper passes it on."
    if traces_only_arrays(checkpoint.api):
        return "**traced where it is an array**", "this wrapper leaves everything else as it is."
    if static is None:
        return "**traced or static**", "which parameters are static cannot be told from the code."
    is_positional = name in known.names
    if not is_positional and name not in known.keyword_only:
        arguments = known.function.function.node.args
        stars = [star.arg for star in (arguments.vararg, arguments.kwarg) if star is not None]
        return ("**traced**", "every value that it takes up is.") if name in stars and not static else ("", "")
    if name == known.receiver and name not in static:
        return "**traced**", "the object is an argument like any other, so its class must be a registered pytree."
    if name in static:
        return "**static**", _why_static(checkpoint, known, name)
    return _traced(model, checkpoint, known, name)


def _why_static(checkpoint: Checkpoint, known: Parameters, name: str) -> str:
    place = f"number {known.names.index(name)} in `static_argnums`" if name in known.names else "in `static_argnames`"
    by_keyword = ""
    if name in known.names and fills_defaults(checkpoint) is not True:
        by_keyword = " Passed by keyword it would be traced."
    return (
        f"it is {place}. Inside it is a plain Python value, and the function is traced again for each new one; it must "
        f"be hashable.{by_keyword}"
    )


def _traced(model: FileModel, checkpoint: Checkpoint, known: Parameters, name: str) -> tuple[str, str]:
    found = traced_arguments(model, checkpoint).get(name)
    calls = [passed(known, call) for call in wrapped_calls(model, checkpoint)]
    given = [one for one in calls if name in one.arguments]
    if found is None:
        if name in known.defaults and not given and not fills_defaults(checkpoint) and calls:
            return "**a plain Python value**", "the calls in this file leave it to its default; passed, it is traced."
        return "**traced**", "it is not in `static_argnums`."
    reasons = ["it is not in `static_argnums`"]
    if name not in known.names:
        reasons = ["it can only be passed by keyword, and `static_argnums` counts positions"]
    named = checkpoint.role("static_argnames")
    if named is not None and not model.target.remat3 and checkpoint.api.library == "jax":
        reasons.append("`static_argnames` has no effect without `jax_remat3`")
    kinds = [_KINDS[kind] for kind in sorted(found.kinds) if kind in _KINDS]
    if kinds:
        reasons.append(f"the calls in this file pass {' or '.join(kinds)}")
    inside = "Inside, its shape and dtype are known and its value is not: Python cannot branch on it."
    return "**traced**", f"{'; '.join(reasons)}. {inside}"
