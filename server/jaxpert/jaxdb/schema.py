"""The shape of what jaxpert knows about JAX and the libraries around it. Knows no trees."""

from __future__ import annotations

import enum
from dataclasses import field
from typing import Literal

from packaging.version import Version

from jaxpert.records import dataclass


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
    """The parameters in the half-open range of versions ``since`` <= version < ``until``.

    Versions older than the oldest that the database knows are taken to be like that one.
    """

    parameters: tuple[Parameter, ...]
    since: Version
    until: Version | None = None


@dataclass(frozen=True, slots=True)
class VersionNote:
    """What happened to a name in one version.

    Attributes:
        version: the first version where it holds, or "any".
        change: added, changed, deprecated, removed or note.
        text: what, as a clause; "" when the name itself was added or removed.
    """

    version: str
    change: str
    text: str


ROLES = {
    "fun": "the function that is transformed, or traced and run",
    "second_fun": "another such function: the false branch of cond, the condition of while_loop",
    "funs": "a sequence of such functions: the branches of switch",
    "callback": "a Python function that runs on the host and is not traced",
    "policy": "says what is stored",
    "static_argnums": "numbers of static positional arguments",
    "static_argnames": "names of static arguments",
    "names": "checkpoint names that the policy is about: stored, or with names_excluded not stored",
    "offloaded_names": "checkpoint names whose values go to other memory",
    "offload_src": "memory a value comes from",
    "offload_dst": "memory a value goes to",
    "name": "the checkpoint name given to a value",
    "value": "the value tagged, stored in a ref, or passed through",
}
"""Every key of ``Api.roles`` and what the parameter does."""

TRAITS = {
    # CHECKPOINT
    "callable_without_fun": "``@wrapper(option=...)`` is legal: without a function it returns a decorator",
    "wraps_classes": "takes a module class as well as a function",
    "counts_self": "in static_argnums 0 is ``self`` when a class is wrapped",
    "excludes_self": "in static_argnums 0 is the argument after ``self`` (or after the module or scope)",
    "argnums_iterable": "static_argnums must be iterable: lists work, a bare int raises TypeError at the call",
    "no_negative_argnums": "negative static_argnums mean another argument or none",
    "rejects_bound_methods": "a bound method raises ValueError",
    # POLICY and POLICY_FACTORY
    "names_as_varargs": "names are separate positional arguments",
    "names_as_collections": "names are lists, tuples or sets",
    "names_disjoint": "raises when one name is in two of its collections",
    "names_excluded": "the names are those that are not stored",
    "names_have_no_effect": "what is stored does not depend on the names",
    "names_not_looked_at": "any arguments are accepted, even unhashable ones",
    "policies_as_varargs": "takes policies, each as an argument of its own",
    "saves_everything": "stores all",
    "saves_nothing": "stores none",
    "saves_dots": "stores matrix products",
    "saves_convolutions": "stores convolutions",
    "saves_unbatched_dots": "stores matrix products without a batch dimension",
    "offloads_unbatched_dots": "moves matrix products without a batch dimension to other memory",
    # TRANSFORM
    "compiles": "jit and its relatives",
    "maps": "vmap and its relatives",
    "maps_axes": "in_axes says which axis of each argument is mapped",
    "differentiates": "grad and its relatives",
    "control_flow": "loops, branches and solvers of jax.lax",
    "custom_derivative": "the function's derivative is given by hand",
    "applies": "calls the function at once; the others return a new function",
    # FUNCTION
    "runs_on_host": "leaves the compiled program",
    "side_effect": "has an effect besides its result",
    "debugging": "meant for looking, not for computing",
    "creates_ref": "allocates a mutable array",
    "reads_ref": "reads a mutable array",
    "writes_ref": "writes a mutable array",
}
"""Every trait and what it says."""


@dataclass(frozen=True, slots=True)
class Api:
    """A public name, with every dotted path it is reached by.

    Attributes:
        name: the path that documentation uses, e.g. "jax.checkpoint". Unique.
        library: top-level package, e.g. "jax", "flax".
        paths: all dotted paths that mean this object, ``name`` among them.
        signatures: newest last; empty where not a callable.
        roles: which parameter plays which part; see :data:`ROLES`. Values are parameter names, and a role is
            there even in versions whose signature lacks the parameter.
        traits: plain facts that rules ask for; see :data:`TRAITS`.
        trait_since: the first version of those traits that have not always held; see :meth:`has`.
        summary: two plain sentences.
        arguments: parameter name → what it is, a clause; parameters of every version.
        notes: oldest first.
        url: the page that documents it.
        example: a short piece of correct use, or "".
        example_since: the first version that the example is correct in; None means all.
    """

    name: str
    library: str
    kind: ApiKind
    paths: tuple[str, ...]
    signatures: tuple[Signature, ...] = ()
    roles: dict[str, str] = field(default_factory=dict)
    traits: frozenset[str] = frozenset()
    trait_since: dict[str, Version] = field(default_factory=dict)
    summary: str = ""
    arguments: dict[str, str] = field(default_factory=dict)
    notes: tuple[VersionNote, ...] = ()
    url: str = ""
    example: str = ""
    example_since: Version | None = None

    def has(self, trait: str, version: Version) -> bool:
        """Whether ``trait`` holds in ``version``."""
        since = self.trait_since.get(trait)
        return trait in self.traits and (since is None or since <= version)

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
        folder: the folder with its package, such as ``site-packages``; "" when it is not installed, or not known where.
    """

    version: Version
    origin: str
    remat3: bool = False
    x64: bool = False
    folder: str = ""
