"""What a rule is: prose, proof and two small functions, as one frozen value.

A rule module holds a docstring (the documentation, with the headings of :data:`HEADINGS`), ``check``, at most
one ``fix``, and ``RULE``. Everything a screen shows about the rule comes from that value.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING

from jaxpert.records import dataclass
from jaxpert.text.edits import Edit
from jaxpert.text.lines import Range

if TYPE_CHECKING:
    from jaxpert.model.file_model import FileModel

HEADINGS = (
    "What it finds",
    "Why it matters",
    "In which versions",
    "What to write instead",
    "Known limits",
    "Source",
)
"""The headings of a rule's docstring, in this order."""


class Severity(enum.Enum):
    """How bad it is, worst first."""

    ERROR = "error"  # proven to raise
    WARNING = "warning"  # silently wrong
    INFORMATION = "information"  # slower, or surprising
    HINT = "hint"  # there is a better way


class Stage(enum.Enum):
    """How far a rule has ripened. Both run; a preview rule says so in its documentation."""

    PREVIEW = "preview"
    STABLE = "stable"


class Safety(enum.Enum):
    """Whether a fix may be applied without a look."""

    SAFE = "safe"  # the program does what its author plainly meant
    UNSAFE = "unsafe"  # a guess about the author's intent


class Tag(enum.Enum):
    """How an editor may draw the range besides underlining it."""

    UNNECESSARY = "unnecessary"
    DEPRECATED = "deprecated"


@dataclass(frozen=True, slots=True)
class Raises:
    """Proof that ``Example.bad`` raises, at the statement ``when``, and ``Example.good`` does not.

    Attributes:
        exception: class name of the exception.
        message: text that its message contains.
        when: "decorate", "call" or "grad": the stage at which it is raised.
        since: first JAX version where this holds; earlier ones are not checked.
        until: first JAX version where it no longer holds, or "".
        remat3: whether it also holds with ``jax_remat3`` on.
    """

    exception: str
    message: str
    when: str = "call"
    since: str = "0.4.30"
    until: str = ""
    remat3: bool = True


@dataclass(frozen=True, slots=True)
class Silent:
    """Proof that ``Example.bad`` runs but does the wrong thing.

    Attributes:
        evidence: a Python expression over the example's names: true after ``bad``, false after ``good``.
        since, until, remat3: as in :class:`Raises`.
    """

    evidence: str
    since: str = "0.4.30"
    until: str = ""
    remat3: bool = True


Proof = Raises | Silent


@dataclass(frozen=True, slots=True)
class Example:
    """Two whole programs that run on real JAX: one with the mistake, one without, and what must happen."""

    bad: str
    good: str
    proof: Proof


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that the user should see, in this file or (``path`` set) in another."""

    range: Range
    message: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault at one place: plain data, comparable, without nodes.

    Attributes:
        rule: name of the rule.
        range: the smallest expression that the user must look at.
        message: one sentence: what happens, then what to write.
        severity: usually the rule's own.
        consequence: what the detected JAX does with it, e.g. "JAX 0.12.0 raises at the first grad:
            TypeError: …"; shown below the excerpt on a terminal.
        related: other places.
        data: plain strings that the rule's ``fix`` needs.
        exceptions: class names of what JAX raises here; code that expects them is not reported.
        tags: how to draw it.
    """

    rule: str
    range: Range
    message: str
    severity: Severity
    consequence: str = ""
    related: tuple[Related, ...] = ()
    data: tuple[tuple[str, str], ...] = ()
    exceptions: tuple[str, ...] = ()
    tags: tuple[Tag, ...] = ()

    def datum(self, key: str) -> str:
        """The value stored under ``key``, or ""."""
        return dict(self.data).get(key, "")


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that makes a finding go away.

    Attributes:
        title: an imperative with the user's own names.
        edits: disjoint, over the original text.
    """

    title: str
    safety: Safety
    edits: tuple[Edit, ...]


Check = Callable[["FileModel"], Iterator[Finding]]
FixFunction = Callable[["FileModel", Finding], Fix | tuple[Fix, ...] | None]
"""Gives the fix of a finding, or several to choose from, the best first: only that one is applied unasked."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. ``doc`` is the module's docstring; ``fix`` runs only when somebody asks for it.

    Attributes:
        apis: the APIs whose wrong use it finds, by name; or the value of an ``ApiKind`` for all of that kind.
        error_texts: what JAX raises for this mistake ("TypeError: …", with "…" for what differs) in forms that no
            example shows; ``jaxpert explain`` recognizes errors by them, and by the examples.
    """

    code: str
    name: str
    severity: Severity
    since: str
    doc: str
    examples: tuple[Example, ...]
    check: Check = field(repr=False)
    fix: FixFunction | None = field(default=None, repr=False)
    stage: Stage = Stage.STABLE
    apis: tuple[str, ...] = ()
    error_texts: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The first line of the documentation, without its final stop."""
        return self.doc.strip().partition("\n")[0].rstrip(".")

    @property
    def is_own(self) -> bool:
        """Whether it is about jaxpert's own comments, or about whether the file can be read at all."""
        return self.code[3] == "0"

    @property
    def family(self) -> str:
        """The group of the code: "checkpoint calls", "policies", …"""
        return FAMILIES[self.code[3]]


FAMILIES = {
    "0": "jaxpert itself",
    "1": "checkpoint calls",
    "2": "policies",
    "3": "checkpoint names",
    "4": "effects and refs",
    "5": "pytrees",
    "6": "transformation arguments and values",
    "7": "tracing",
    "8": "random",
    "9": "API changes",
}
"""What the digit after ``JXP`` means."""
