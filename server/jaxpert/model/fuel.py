"""How much work one question may cost, counted over all files that the answer needs."""

from __future__ import annotations

import threading

MOST_NESTED = 24
"""Expressions evaluated inside one another, across files."""

MOST_STEPS = 500
"""Expressions evaluated for one question."""


class Fuel(threading.local):
    """What the running question has used.

    Attributes:
        depth: expressions being evaluated inside one another.
        steps: expressions evaluated since the question was asked.
        cuts: how often something was left unknown for lack of fuel, ever: equal before and after, and the answer is
            whole.
    """

    depth = 0
    steps = 0
    cuts = 0

    def is_empty(self) -> bool:
        """Whether the next expression must be left unknown."""
        return self.depth >= MOST_NESTED or self.steps > MOST_STEPS


FUEL = Fuel()
