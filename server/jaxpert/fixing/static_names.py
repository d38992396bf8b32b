"""Makes a parameter of a compiled function static, and an argument of a mapped one unmapped."""

from __future__ import annotations

from jaxpert.fixing.checkpoint_options import with_option
from jaxpert.model.file_model import FileModel
from jaxpert.model.transformed_calls import TransformedCall, axes_of, parameter_names, strings_in
from jaxpert.model.transforms import Checkpoint
from jaxpert.model.values import Def, Literal, Sequence
from jaxpert.text.edits import Edit


def named_static(model: FileModel, made_by: Checkpoint, *names: str) -> tuple[str, tuple[Edit, ...]] | None:
    """The value of ``static_argnames`` that adds ``names``, and the edits that set it; None where that is not plain."""
    if "static_argnames" not in made_by.api.roles or made_by.role("static_argnums") is not None:
        return None
    known = parameter_names(made_by.target)
    if known is not None and isinstance(made_by.target, Def):
        known = (*known, *(a.arg for a in made_by.target.function.node.args.kwonlyargs))
    given = made_by.role("static_argnames")
    before = strings_in(given.value) if given is not None else set()
    if known is None or before is None or any(name not in known for name in names):
        return None
    together = [name for name in known if name in before or name in names]
    value = f"({', '.join(_quoted(name) for name in together)}{',' if len(together) == 1 else ''})"
    edits = with_option(model, made_by, "static_argnames", value)
    return (value, edits) if edits else None


def _quoted(name: str) -> str:
    return f'"{name}"'


def unmapped(model: FileModel, call: TransformedCall, positions: set[int]) -> tuple[str, tuple[Edit, ...]] | None:
    """The value of ``in_axes`` that maps all but ``positions``, and its edits; None where that is not plain."""
    axes = axes_of(call)
    if call.owner is not model or call.opened or len(positions) == len(call.positional):
        return None
    if not isinstance(axes, Sequence) and call.self_given:
        return None  # nobody knows which axis of ``self`` would be meant
    if axes is None or (isinstance(axes, Literal) and type(axes.value) is int):
        before = [axes.value if isinstance(axes, Literal) else 0] * len(call.positional)
    elif isinstance(axes, Sequence) and axes.exact and all(isinstance(one, Literal) for one in axes.items):
        before = [one.value for one in axes.items if isinstance(one, Literal)]
    else:
        return None
    if len(before) != call.count:
        return None
    new = [None if index in positions else axis for index, axis in enumerate(before)]
    value = f"({', '.join(map(repr, new))}{',' if len(new) == 1 else ''})"
    edits = with_option(model, call.made_by, "in_axes", value)
    return (value, edits) if edits else None
