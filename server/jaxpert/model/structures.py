"""The structures of pytrees, and where two of them differ; :mod:`jaxpert.model.pytrees` reads them off expressions.

Measured on 0.4.30 to 0.12.0.1: ``dict``, ``OrderedDict`` and ``defaultdict`` are different nodes, and the order of the
keys counts for ``OrderedDict`` only.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Site

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

Key = object
"""An index of a list or tuple, or a key of a dictionary."""


@dataclass(frozen=True, slots=True, eq=False)
class Structure:
    """What an expression is for JAX; ``site`` in ``model`` is where it is written, where that is known."""

    site: Site | None = field(default=None, kw_only=True, repr=False)
    model: FileModel | None = field(default=None, kw_only=True, repr=False)

    @property
    def words(self) -> str:
        """What to call it in a message."""
        return "an unknown value"


class Unknown(Structure):
    """Anything."""


@dataclass(frozen=True, slots=True, eq=False)
class Leaf(Structure):
    """A leaf: an "array", a "number", a "string", or another "object"."""

    type: str

    @property
    def is_array(self) -> bool:
        """Whether JAX can compute with it."""
        return self.type in ("array", "number")

    @property
    def words(self) -> str:
        """What to call it in a message."""
        return _a(self.type)


@dataclass(frozen=True, slots=True, eq=False)
class NoneNode(Structure):
    """None: for JAX a container without leaves, not a leaf."""

    @property
    def words(self) -> str:
        """What to call it in a message."""
        return "None"


@dataclass(frozen=True, slots=True, eq=False)
class Dict(Structure):
    """A dictionary. ``type`` is "dict", "OrderedDict" or "defaultdict".

    ``exact`` is false when its entries are not known; then there are none.
    """

    entries: dict[Key, Structure]
    type: str = "dict"
    exact: bool = True

    @property
    def words(self) -> str:
        """What to call it in a message."""
        if not self.exact:
            return _a(self.type)
        if not self.entries:
            return f"an empty {self.type}"
        keys = ", ".join(map(repr, self.entries))
        return f"{_a(self.type)} with the key{'s' if len(self.entries) > 1 else ''} {keys}"


@dataclass(frozen=True, slots=True, eq=False)
class _Items(Structure):
    items: tuple[Structure, ...]
    exact: bool = True


class List(_Items):
    """A list. ``exact`` is false when its items are not known; then there are none."""

    @property
    def words(self) -> str:
        """What to call it in a message."""
        return _counted("list", self)


class Tuple(_Items):
    """A tuple. ``exact`` is false when its items are not known; then there are none."""

    @property
    def words(self) -> str:
        """What to call it in a message."""
        return _counted("tuple", self)


@dataclass(frozen=True, slots=True, eq=False)
class Node(Structure):
    """An object of a registered class, a named tuple for one. We do not look inside.

    ``identity`` is equal for objects of the same class; ``name`` is the class's.
    """

    name: str
    identity: object

    @property
    def words(self) -> str:
        """What to call it in a message."""
        return _a(f"`{self.name}`")


def places_of_none(structure: Structure, path: str = "") -> Iterator[tuple[str, NoneNode]]:
    """Every None in a structure, with its place as JAX writes it."""
    if isinstance(structure, NoneNode):
        yield path, structure
    elif isinstance(structure, Dict):
        for key, inner in structure.entries.items():
            yield from places_of_none(inner, f"{path}[{key!r}]")
    elif isinstance(structure, _Items):
        for index, inner in enumerate(structure.items):
            yield from places_of_none(inner, f"{path}[{index}]")


def leaf_count(structure: Structure) -> int | None:
    """How many leaves there are; None when that is not known."""
    if isinstance(structure, Leaf):
        return 1
    if isinstance(structure, NoneNode):
        return 0
    if not isinstance(structure, (Dict, _Items)) or not structure.exact:
        return None
    inner = structure.entries.values() if isinstance(structure, Dict) else structure.items
    counts = [leaf_count(one) for one in inner]
    return None if None in counts else sum(count for count in counts if count is not None)


def composed(outer: Structure, inner: Structure) -> Structure:
    """The structure of ``outer`` with ``inner`` in place of each leaf, as ``PyTreeDef.compose`` gives it."""
    if isinstance(outer, Leaf):
        return inner
    if isinstance(outer, Dict):
        entries = {key: composed(child, inner) for key, child in outer.entries.items()}
        return Dict(entries, outer.type, outer.exact, site=outer.site, model=outer.model)
    if isinstance(outer, _Items):
        items = tuple(composed(child, inner) for child in outer.items)
        return type(outer)(items, outer.exact, site=outer.site, model=outer.model)
    return outer


def _a(noun: str) -> str:
    return f"{'an' if noun.lstrip('`')[0] in 'aeiouAEIOU' else 'a'} {noun}"


def _counted(name: str, structure: _Items) -> str:
    if not structure.exact:
        return f"a {name}"
    return f"a {name} of {len(structure.items)}" if structure.items else f"an empty {name}"


# -- comparison -------------------------------------------------------------------------------------------------------


class MismatchKind(enum.Enum):
    """How two structures differ in one place."""

    NONE_LEFT = "None against a value"
    NONE_RIGHT = "a value against None"
    LEAF_LEFT = "a leaf against a container"
    LEAF_RIGHT = "a container against a leaf"
    TYPE = "containers of different types"
    KEYS = "dictionaries with different keys"
    LENGTH = "sequences of different lengths"


@dataclass(frozen=True, slots=True, eq=False)
class Mismatch:
    """One place where two structures differ; ``path`` holds the keys and indices that lead there."""

    kind: MismatchKind
    path: tuple[Key, ...]
    left: Structure
    right: Structure

    @property
    def key_path(self) -> str:
        """The place as JAX writes it: ``['layers'][0]``; "" at the root."""
        return "".join(f"[{key!r}]" for key in self.path)

    @property
    def only_left(self) -> tuple[Key, ...]:
        """The keys of the left dictionary that the right one lacks."""
        return _lacking(self.left, self.right)

    @property
    def only_right(self) -> tuple[Key, ...]:
        """The keys of the right dictionary that the left one lacks."""
        return _lacking(self.right, self.left)


def compare(left: Structure, right: Structure) -> Mismatch | None:
    """The first mismatch, or None when none is known."""
    return next(mismatches(left, right), None)


def mismatches(left: Structure, right: Structure, path: tuple[Key, ...] = ()) -> Iterator[Mismatch]:
    """Every place where the structures differ for certain, in the order of the left one.

    ``jax.tree.map`` and other functions that take a prefix accept some kinds: :attr:`MismatchKind.LEAF_LEFT` and
    :attr:`MismatchKind.NONE_RIGHT` where the left side is a leaf.
    """
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return
    kind = _mismatch(left, right)
    if kind is not None:
        yield Mismatch(kind, path, left, right)
    if isinstance(left, Dict) and isinstance(right, Dict):
        for key, inner in left.entries.items():
            if key in right.entries:
                yield from mismatches(inner, right.entries[key], (*path, key))
    elif kind is None and isinstance(left, _Items) and isinstance(right, _Items):
        for index, (one, other) in enumerate(zip(left.items, right.items)):
            yield from mismatches(one, other, (*path, index))


def _mismatch(left: Structure, right: Structure) -> MismatchKind | None:
    """How the two differ at their root."""
    for one, kind_left, kind_right in (
        (NoneNode, MismatchKind.NONE_LEFT, MismatchKind.NONE_RIGHT),
        (Leaf, MismatchKind.LEAF_LEFT, MismatchKind.LEAF_RIGHT),
    ):
        if isinstance(left, one) or isinstance(right, one):
            if isinstance(left, one) and isinstance(right, one):
                return None
            return kind_left if isinstance(left, one) else kind_right
    if type(left) is not type(right):
        return MismatchKind.TYPE
    if isinstance(left, Node) and isinstance(right, Node):
        return None if left.identity == right.identity else MismatchKind.TYPE
    if isinstance(left, Dict) and isinstance(right, Dict):
        if left.type != right.type:
            return MismatchKind.TYPE
        order = list if left.type == "OrderedDict" else set
        different = left.exact and right.exact and order(left.entries) != order(right.entries)
        return MismatchKind.KEYS if different else None
    if isinstance(left, _Items) and isinstance(right, _Items):
        different = left.exact and right.exact and len(left.items) != len(right.items)
        return MismatchKind.LENGTH if different else None
    return None


def _lacking(one: Structure, other: Structure) -> tuple[Key, ...]:
    if not isinstance(one, Dict) or not isinstance(other, Dict):
        return ()
    return tuple(key for key in one.entries if key not in other.entries)
