"""Sentences that several rules say about trees, so that they say them alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

from jaxpert.model.structures import Dict, List, MismatchKind, Node, NoneNode, Structure, Tuple
from jaxpert.rulekit.rule import Related

if TYPE_CHECKING:
    from jaxpert.model.calls import ApiCall, Argument
    from jaxpert.model.file_model import FileModel
    from jaxpert.model.structures import Mismatch
    from jaxpert.model.tree_maps import Difference
    from jaxpert.text.lines import Range

_NEW_TEXTS = Version("0.10.2")


def mapped_name(call: ApiCall) -> str:
    """What to call the function that maps: ``tree.map``."""
    return call.api.name.removeprefix("jax.")


def at(path: str) -> str:
    """`` at `['a'][0]```; "" for the root."""
    return f" at `{path}`" if path else ""


def place_in_tree(model: FileModel, tree: Argument, part: Structure) -> Range | None:
    """Where to point for a part of a tree: the part where the call itself spells it out, else the argument."""
    if tree.model is not model:
        return None
    whole = model.range_of(tree.node)
    inner = model.range_of(part.site.node) if part.site is not None and part.model is model else None
    return inner if whole is not None and inner is not None and _encloses(whole, inner) else whole


def _encloses(outer: Range, inner: Range) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def written_at(model: FileModel, difference: Difference, pointed_at: Range) -> tuple[Related, ...]:
    """Where the two parts that differ are written, when that is elsewhere."""
    found = []
    for side in (difference.mismatch.left, difference.mismatch.right):
        owner = side.model
        area = owner.range_of(side.site.node) if owner is not None and side.site is not None else None
        if area is None or owner is None or (owner is model and _encloses(pointed_at, area)):
            continue
        found.append(Related(area, f"{side.words} here", "" if owner is model else owner.path))
    caller = model.range_of(difference.map.caller) if difference.map.caller is not None else None
    if caller is not None:
        found.append(Related(caller, "the function is called here"))
    return tuple(found)


def key_path_error(model: FileModel, difference: Difference) -> str:
    """What ``jax.tree.map`` says about a structure that does not fit."""
    path = f"{mapped_name(difference.map.call).replace('tree.', 'tree_')} tree{difference.mismatch.key_path}"
    return structure_error(model, difference.mismatch, path)


def structure_error(model: FileModel, mismatch: Mismatch, path: str) -> str:
    """JAX's text for a structure that does not fit; measured on 0.4.30 to 0.12.0.1."""
    if model.target.version >= _NEW_TEXTS:
        what = "different types"
        if mismatch.kind is MismatchKind.KEYS:
            what = "different pytree metadata" if _same_count(mismatch) else "different numbers of pytree children"
        elif mismatch.kind is MismatchKind.LENGTH:
            what = f"different lengths of {_type(mismatch.left)}"
        return f"pytree structure error: {what} at key path {path}"
    if mismatch.kind is MismatchKind.KEYS:
        assert isinstance(mismatch.left, Dict)
        if mismatch.left.type == "OrderedDict":
            return "Mismatch custom node data: …"
        return f"Dict key mismatch; expected keys: {sorted(mismatch.left.entries, key=str)}; …"
    if mismatch.kind is MismatchKind.LENGTH:
        assert isinstance(mismatch.left, (List, Tuple)) and isinstance(mismatch.right, (List, Tuple))
        counts = f"{len(mismatch.right.items)} != {len(mismatch.left.items)}"
        return f"{_type(mismatch.left).capitalize()} arity mismatch: {counts}; …"
    if isinstance(mismatch.left, Node) or _type(mismatch.left) in ("OrderedDict", "defaultdict"):
        return f"Custom node type mismatch: expected type: {_type(mismatch.left)}, …"
    return f"Expected {_type(mismatch.left)}, got …"


def _same_count(mismatch: Mismatch) -> bool:
    left, right = mismatch.left, mismatch.right
    return isinstance(left, Dict) and isinstance(right, Dict) and len(left.entries) == len(right.entries)


def _type(structure: Structure) -> str:
    if isinstance(structure, NoneNode):
        return "None"
    if isinstance(structure, Dict):
        return structure.type
    if isinstance(structure, Node):
        return structure.name
    return "list" if isinstance(structure, List) else "tuple"
