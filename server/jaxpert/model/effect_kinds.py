"""The effects that a function can have, as plain data; :mod:`jaxpert.model.effects` finds them."""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from jaxpert.model.values import CallResult, Def, Value
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import Site

if TYPE_CHECKING:
    from jaxpert.model.calls import ApiCall
    from jaxpert.model.file_model import FileModel


class EffectKind(enum.Enum):
    """What happens."""

    PURE_CALLBACK = "pure callback"
    IO_CALLBACK = "io callback"
    DEBUG_CALLBACK = "debug callback"
    DEBUG_PRINT = "debug print"  # jax.debug.print, log and breakpoint
    CHECK = "check"  # checkify.check
    REF_CREATION = "ref creation"
    REF_READ = "ref read"
    REF_WRITE = "ref write"
    PRINT = "print"
    LOGGING = "logging"
    RANDOM = "random number"  # of numpy.random or random
    CLOCK = "clock"
    NAME = "name assigned"  # global or nonlocal
    ATTRIBUTE = "attribute assigned"  # of an object that outlives the call
    CONTAINER = "container changed"  # a list, set or dictionary that outlives the call


CALLBACKS = frozenset({
    EffectKind.PURE_CALLBACK, EffectKind.IO_CALLBACK, EffectKind.DEBUG_CALLBACK, EffectKind.DEBUG_PRINT,
})  # fmt: skip
"""The compiled program calls Python on the host."""

REF_EFFECTS = frozenset({EffectKind.REF_CREATION, EffectKind.REF_READ, EffectKind.REF_WRITE})
"""The compiled program uses a mutable array."""

PYTHON_EFFECTS = frozenset(EffectKind) - CALLBACKS - REF_EFFECTS - {EffectKind.CHECK}
"""Python does it while JAX traces: once a trace, not once a call."""


class RefOrigin(enum.Enum):
    """Where a Ref comes from, seen from the function whose effects are asked for."""

    INSIDE = "inside"  # made by a call that runs in it
    PARAMETER = "parameter"  # passed to it
    OUTSIDE = "outside"  # closed over, global, or an attribute
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Ref(Value):
    """A mutable array; ``creation`` is the call that makes it, None when only an annotation says what it is."""

    origin: RefOrigin
    creation: CallResult | None = None


class Passes(enum.Enum):
    """What a call gives to the function that it runs."""

    ARGUMENTS = "arguments"  # its own, in their order
    TRACERS = "tracers"  # whatever a loop or branch of JAX carries
    OTHER = "other"  # not followed


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A call, in the file of ``model``, that leads to an effect.

    Attributes:
        target: the function that it runs.
        own_derivative: whether that function's derivative is given by hand, so that it is not differentiated itself.
    """

    node: ast.Call
    model: FileModel
    site: Site
    target: Def
    passes: Passes = Passes.OTHER
    own_derivative: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """One effect of a function.

    Attributes:
        node: the expression that has it: a call, or what is read or assigned.
        model: the model of the file where ``node`` stands.
        name: the API or library function by its dotted path, or the name, attribute or container that is changed, as
            it is written.
        steps: the calls from the function down to the one that holds ``node``, outermost first; () for its own body.
        call: of an effect of a JAX API, with its arguments.
        ref: the mutable array that is made, read or written.
        ordered: whether a callback keeps its order; None when that is not known, or for other effects.
        site: where ``node`` stands.
        stored: what is written to the Ref, assigned, or put into the container; () when it is not seen.
        is_sure: false for a method that looks as if it changed its object, of which nothing is known.
    """

    kind: EffectKind
    node: ast.expr
    model: FileModel
    name: str
    steps: tuple[Step, ...] = ()
    call: ApiCall | None = None
    ref: Ref | None = None
    ordered: bool | None = None
    site: Site | None = None
    stored: tuple[ast.expr, ...] = ()
    is_sure: bool = True

    def node_in(self, model: FileModel) -> ast.expr | None:
        """What to point at in the file of ``model``: the effect, else the last call there that leads to it."""
        if self.model is model:
            return self.node
        return next((step.node for step in reversed(self.steps) if step.model is model), None)
