"""Modules of Flax Linen, Haiku and Equinox: their classes, their objects, and functions that make or use them."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jaxpert.model.values import CallResult, ClassValue, Def, Instance, Symbol, Value
from jaxpert.records import dataclass
from jaxpert.syntax.scopes import CallSite, Scope

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

_LINEN = frozenset({
    "Module", "BatchNorm", "Bidirectional", "Conv", "ConvLSTMCell", "ConvLocal", "ConvTranspose", "Dense",
    "DenseGeneral", "Dropout", "Einsum", "Embed", "GRUCell", "GroupNorm", "InstanceNorm", "LSTMCell", "LayerNorm",
    "MGUCell", "MultiHeadAttention", "MultiHeadDotProductAttention", "OptimizedLSTMCell", "PReLU", "RMSNorm", "RNN",
    "SelfAttention", "Sequential", "SimpleCell", "SpectralNorm", "WeightNorm",
})  # fmt: skip
_HAIKU = frozenset({
    "Module", "BatchNorm", "Bias", "Conv1D", "Conv2D", "Conv3D", "DepthwiseConv2D", "Embed", "GRU", "GroupNorm", "LSTM",
    "LayerNorm", "Linear", "MultiHeadAttention", "RMSNorm", "Sequential", "VanillaRNN",
})  # fmt: skip
_HAIKU_STATE = frozenset({"get_parameter", "get_state", "set_state", "next_rng_key", "next_rng_keys"})

# Measured on Equinox 0.13.8: objects that hold arrays cannot be hashed, and functions cannot be traced.
_EQUINOX_WITH_ARRAYS = frozenset({
    "Conv", "Conv1d", "Conv2d", "Conv3d", "Embedding", "GRUCell", "GroupNorm", "LSTMCell", "LayerNorm", "Linear", "MLP",
    "MultiheadAttention", "PReLU", "RMSNorm",
})  # fmt: skip
_EQUINOX_WITH_FUNCTIONS = frozenset({"MLP", "Lambda", "MaxPool1d", "MaxPool2d", "MaxPool3d"})
_DEEPEST = 8
_MAKES_VARIABLES = frozenset({"param", "variable"})


class Library(enum.Enum):
    """Whose module it is; the value is the import that brings the library's own wrapper."""

    LINEN = "from flax import linen as nn"
    HAIKU = "import haiku as hk"
    EQUINOX = "import equinox as eqx"


@dataclass(frozen=True, slots=True, eq=False)
class ModuleUse:
    """A call in a function that makes or uses a module's parameters."""

    library: Library
    node: ast.Call


def class_library(model: FileModel, value: Value, depth: int = 0) -> Library | None:
    """The library whose module class ``value`` is; None for anything else."""
    if isinstance(value, Symbol):
        module, _, name = value.path.rpartition(".")
        if module in ("flax.linen", "flax.linen.module") and name in _LINEN:
            return Library.LINEN
        if module == "haiku" and name in _HAIKU:
            return Library.HAIKU
        return Library.EQUINOX if value.path == "equinox.Module" or module == "equinox.nn" else None
    if not isinstance(value, ClassValue) or value.site is None or depth > _DEEPEST:
        return None
    owner = value.model or model
    for base in value.node.bases:
        for option in owner.evaluate(base, value.site.scope, value.site.block).options():
            found = class_library(owner, option, depth + 1)
            if found is not None:
                return found
    return None


def object_library(model: FileModel, value: Value) -> Library | None:
    """The library of whose module class ``value`` is an object; None for anything else."""
    if isinstance(value, Instance):
        return class_library(model, value.cls)
    if isinstance(value, CallResult) and isinstance(value.callee, Symbol):
        return class_library(model, value.callee)
    return None


def holds_arrays(model: FileModel, value: Value, depth: int = 0) -> bool:
    """Whether an Equinox module certainly holds an array, so that it cannot be hashed."""
    if isinstance(value, CallResult):
        return value.path.startswith("equinox.nn.") and value.path.rpartition(".")[2] in _EQUINOX_WITH_ARRAYS
    if not isinstance(value, Instance) or depth > 2:
        return False
    if class_library(model, value.cls) is not Library.EQUINOX:
        return False
    owner = value.cls.model or model
    return any(
        len(assigned) == 1 and any(holds_arrays(owner, o, depth + 1) for o in owner.evaluate(*assigned[0]).options())
        for assigned in owner.self_attributes(value.cls.scope).values()
    )


def holds_functions(value: Value) -> bool:
    """Whether an Equinox module has a function among its leaves, so that it cannot be traced."""
    is_equinox = isinstance(value, CallResult) and value.path.startswith("equinox.nn.")
    return is_equinox and value.path.rpartition(".")[2] in _EQUINOX_WITH_FUNCTIONS  # type: ignore[attr-defined]


def module_uses(model: FileModel, target: Def) -> Iterator[ModuleUse]:
    """Calls in the body of ``target`` itself that make parameters on the first run, in a module of Linen or Haiku."""
    owner = target.model or model
    inner = target.function.inner
    if not owner.source.contains_any(("flax", "haiku")):
        return
    for site in target.function.block.tree.calls:
        if not _is_directly_in(site, inner):
            continue
        func = site.node.func
        if isinstance(func, ast.Attribute) and func.attr in _MAKES_VARIABLES:
            base = owner.evaluate(func.value, site.scope, site.block)
            if isinstance(base, Instance) and class_library(owner, base.cls) is Library.LINEN:
                yield ModuleUse(Library.LINEN, site.node)
            continue
        for option in owner.evaluate(func, site.scope, site.block).options():
            if isinstance(option, Symbol) and option.path.rpartition(".")[::2] in {("haiku", n) for n in _HAIKU_STATE}:
                yield ModuleUse(Library.HAIKU, site.node)
                continue
            library = object_library(owner, option)
            makes = library is Library.LINEN and not _is_called_elsewhere(site, inner)
            makes = makes or (library is Library.HAIKU and _is_directly_in(option.site, inner))
            if library is not None and makes:
                yield ModuleUse(library, site.node)


def _is_directly_in(site: object, inner: Scope) -> bool:
    scope: Scope | None = getattr(site, "scope", None)
    while scope is not None and scope.kind == "comprehension":
        scope = scope.parent
    return scope is inner


def _is_called_elsewhere(site: CallSite, inner: Scope) -> bool:
    """Whether the same module is called outside of the function as well: then it may have its parameters already."""
    if not isinstance(site.node.func, (ast.Name, ast.Attribute)):
        return False
    text, kind = ast.unparse(site.node.func), site.node.func.__class__
    others = (one.node.func for one in site.block.tree.calls if not _is_inside(one.scope, inner))
    return any(func.__class__ is kind and ast.unparse(func) == text for func in others)


def _is_inside(scope: Scope | None, inner: Scope) -> bool:
    while scope is not None:
        if scope is inner:
            return True
        scope = scope.parent
    return False
