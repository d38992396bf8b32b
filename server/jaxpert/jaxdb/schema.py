"""The shape of what jaxpert knows about JAX and the libraries around it. Knows no trees."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Literal

from packaging.version import Version


class ApiKind(enum.Enum):
    """What sort of thing a public name is."""

    NAMESPACE = "namespace"  # jax.checkpoint_policies
    CHECKPOINT = "checkpoint"  # jax.checkpoint and the wrappers of other libraries
    TRANSFORM = "transform"  # jit, grad, vmap, scan, custom_vjp …
    POLICY = "policy"  # ready made: passed as it is
    POLICY_FACTORY = "policy factory"  # called with arguments, gives a policy
    CHECKPOINT_NAME = "checkpoint name"  # the tagging function
    SENTINEL = "sentinel"  # Saveable, Recompute
    CLASS = "class"  # Offloadable
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a signature; ``default`` is its source text, or None when required."""

    name: str
    kind: Literal["positional_only", "positional_or_keyword", "keyword_only", "var_positional", "var_keyword"]
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """The parameters in the half-open range of versions ``since`` <= version < ``until``."""

    parameters: tuple[Parameter, ...]
    since: Version
    until: Version | None = None


@dataclass(frozen=True, slots=True)
class VersionNote:
    """What happened to a name in one version. ``change``: added, changed, deprecated, removed, note."""

    version: str
    change: str
    text: str


@dataclass(frozen=True, slots=True)
class Api:
    """A public name, with every dotted path it is reached by.

    Attributes:
        name: the path that documentation uses, e.g. "jax.checkpoint". Unique.
        library: top-level package, e.g. "jax", "flax".
        paths: all dotted paths that mean this object, ``name`` among them.
        signatures: newest last; empty where not a callable.
        roles: which parameter plays which part. Keys: "fun" (the function transformed), "policy",
            "static_argnums", "static_argnames", "names" (names that are kept), "name" (the tag), "value".
            Values: parameter names.
        traits: plain facts that rules ask for. For CHECKPOINT: "callable_without_fun" (``@nnx.remat(...)`` is
            legal), "counts_self" (index 0 of static_argnums is ``self`` when a class is wrapped),
            "wraps_classes". For POLICY_FACTORY: "names_as_varargs", "names_as_collections",
            "policies_as_varargs".
    """

    name: str
    library: str
    kind: ApiKind
    paths: tuple[str, ...]
    signatures: tuple[Signature, ...] = ()
    roles: dict[str, str] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    summary: str = ""
    notes: tuple[VersionNote, ...] = ()
    url: str = ""
    example: str = ""

    def signature(self, version: Version) -> Signature | None:
        """The signature in ``version``, or None where it is unknown or not a callable."""
        for signature in self.signatures:
            if signature.since <= version and (signature.until is None or version < signature.until):
                return signature
        return None


@dataclass(frozen=True, slots=True)
class JaxTarget:
    """The JAX that the user's code will meet, and its two switches that change what our rules say.

    Attributes:
        version: the version.
        origin: where it was found, in words for the user: "setting", ".venv", "uv.lock", "newest known" …
        remat3: the ``jax_remat3`` configuration option.
        x64: the ``jax_enable_x64`` configuration option.
    """

    version: Version
    origin: str
    remat3: bool = False
    x64: bool = False
