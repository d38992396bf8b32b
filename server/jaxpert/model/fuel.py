"""How much work one question may cost, counted over all files that the answer needs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

MOST_NESTED = 24
"""Expressions evaluated inside one another, across files."""

MOST_STEPS = 500
"""Expressions evaluated for one question."""


class Fuel:
    """What the running question has used. There is one, for one thread examines code.

    Attributes:
        depth: expressions being evaluated inside one another.
        steps: expressions evaluated since the question was asked.
        cuts: how often something was left unknown for lack of fuel, ever: equal before and after, and the answer is
            whole.
    """

    __slots__ = ("cuts", "depth", "most_steps", "steps")

    def __init__(self) -> None:
        self.depth = 0
        self.steps = 0
        self.cuts = 0
        self.most_steps = MOST_STEPS

    def is_empty(self) -> bool:
        """Whether the next expression must be left unknown."""
        return self.depth >= MOST_NESTED or self.steps > self.most_steps

    @property
    def is_little(self) -> bool:
        """Whether questions may cost less than usual: what is unknown for lack of fuel may be known to others."""
        return self.most_steps < MOST_STEPS

    @contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """Within, a question costs no more: for those that are asked about many expressions and rarely matter."""
        before, self.most_steps = self.most_steps, min(steps, self.most_steps)
        try:
            yield
        finally:
            self.most_steps = before


FUEL = Fuel()
