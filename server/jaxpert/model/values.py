"""What an expression can be, as far as it can be known without running it.

A value knows the expression it came from (``site`` in ``model``), so that a rule can point at the place where
the value is written, however many variables, dictionaries and files away from its use.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Function, Scope, Site
from jaxpert.text.gaps import Parts

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """Anything; the base class itself stands for what is not known."""

    site: Site | None = field(default=None, kw_only=True, repr=False)
    model: FileModel | None = field(default=None, kw_only=True, repr=False)

    def options(self) -> Iterator[Value]:
        """The alternatives of a choice; otherwise the value itself."""
        yield self


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Value):
    """A string, number, bool, None, bytes or Ellipsis."""

    value: object


@dataclass(frozen=True, slots=True, eq=False)
class Pattern(Value):
    """A string of which only parts are known, with gaps between them: see :mod:`jaxpert.text.gaps`."""

    parts: Parts


@dataclass(frozen=True, slots=True, eq=False)
class Typed(Value):
    """A value of which only the type is known: "bool", "int", "str", "generator", "primitive" (JAX's), …"""

    type: str


@dataclass(frozen=True, slots=True, eq=False)
class Sequence(Value):
    """A list, tuple or set display. ``exact`` is false when it holds more than the items listed."""

    kind: str
    items: tuple[Value, ...]
    exact: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Table(Value):
    """A dictionary. ``exact`` is false when it holds more than the entries listed."""

    entries: tuple[tuple[Value, Value], ...]
    exact: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Symbol(Value):
    """An object of a library or the builtins, by the dotted path through which it was reached."""

    path: str


@dataclass(frozen=True, slots=True, eq=False)
class Def(Value):
    """A function or lambda of the user's.

    Attributes:
        function: the definition.
        owner: the class it was found in, when reached through a class or an instance.
        bound: whether ``self`` is already given.
        frame: values of names from enclosing calls that are known.
    """

    function: Function
    owner: ClassValue | None = None
    bound: bool = False
    frame: Frame = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The function's name; "lambda" for a lambda."""
        return getattr(self.function.node, "name", "lambda")


@dataclass(frozen=True, slots=True, eq=False)
class ClassValue(Value):
    """A class of the user's."""

    scope: Scope
    node: ast.ClassDef


@dataclass(frozen=True, slots=True, eq=False)
class Instance(Value):
    """An object of a user's class; ``call`` is the expression that makes it, None for ``self``."""

    cls: ClassValue
    call: ast.Call | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EnumMember(Value):
    """A member of an enumeration of the user's."""

    name: str
    value: Value
    is_string: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Partial(Value):
    """``functools.partial(target, *args, **keywords)``. ``open`` when a star argument hides some."""

    target: Value
    args: tuple[Value, ...]
    keywords: Mapping[str, Value]
    open: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class CallResult(Value):
    """What calling a library object gives; ``site`` is the call.

    ``callee`` is a symbol, a partial of one, or such a result itself, as in ``jax.grad(f)(x)``.
    """

    callee: Value
    call: ast.Call

    @property
    def path(self) -> str:
        """Dotted path of the library object that was called, or ""."""
        callee = self.callee
        while isinstance(callee, Partial):
            callee = callee.target
        return callee.path if isinstance(callee, Symbol) else ""


@dataclass(frozen=True, slots=True, eq=False)
class Choice(Value):
    """One of several values, which one depends on what happens at run time."""

    values: tuple[Value, ...]

    def options(self) -> Iterator[Value]:
        for value in self.values:
            yield from value.options()


Frame = Mapping[tuple[int, str], Value]
"""Known values of parameters: (id of the function's scope, name) → value."""

PRIMITIVE_PARAMETERS = "primitive parameters"
"""The type of a policy's ``**params``: which keys it has differs from primitive to primitive."""

NUMPY_BOOL = "numpy.bool"
"""The type of a comparison of a NumPy number, which is no ``bool``."""

PRIMITIVE_NAME = "primitive name"
"""The type of ``prim.name`` and ``str(prim)``: a string that is the name of some primitive of JAX."""

UNKNOWN = Value()


def choice(values: list[Value]) -> Value:
    """The one value, or a choice of them."""
    if len(values) == 1:
        return values[0]
    flat: list[Value] = []
    seen: set[object] = set()
    for value in values:
        for option in value.options():
            key = option.path if isinstance(option, Symbol) else id(option)  # `import jax` may stand there twice
            if key not in seen:
                seen.add(key)
                flat.append(option)
    if not flat:
        return UNKNOWN
    return flat[0] if len(flat) == 1 else Choice(tuple(flat))


def truth(value: Value) -> bool | None:
    """Whether ``value`` is true in a condition; None when that is not known."""
    if isinstance(value, Literal):
        return bool(value.value)
    if isinstance(value, Sequence) and (value.exact or value.items):
        return bool(value.items)
    if isinstance(value, Table) and (value.exact or value.entries):
        return bool(value.entries)
    if isinstance(value, (Def, ClassValue, Partial)):
        return True
    if isinstance(value, Choice):
        results = {truth(option) for option in value.options()}
        return results.pop() if len(results) == 1 else None
    return None


def is_none(value: Value) -> bool:
    """Whether ``value`` is None, written as such."""
    return isinstance(value, Literal) and value.value is None


def string(value: Value) -> str | None:
    """The text of a string literal or of a member of a string enumeration; None for anything else."""
    if isinstance(value, Literal) and isinstance(value.value, str):
        return value.value
    if isinstance(value, EnumMember) and value.is_string:
        return string(value.value)
    return None
