"""When to analyse: at once while we are faster than the typist, later when not, never later than a maximum.

:class:`Pace` decides, from times that are handed to it; :class:`Scheduler` acts on an event loop. Everything
runs on that loop's thread, so a run always sees the newest text and there is never a stale one to discard.
"""

from __future__ import annotations

import gc
import logging
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from jaxpert.records import dataclass

MAXIMUM_WAIT = 0.4
"""Seconds that a change may wait for its analysis, however fast more changes follow."""
QUIET = 0.15
"""Seconds without a change after which the idle work starts; more for somebody who types slowly."""
LONG_QUIET = 2.0
"""Seconds without a change after which everything collectable is collected."""
GATHERING = 0.03
"""Seconds without another event after which the consequence of many comes."""
_QUICK = 0.015  # an analysis this short is never worth a delay
_WEIGHT = 0.3  # of the newest measurement in the moving averages
_SLOWEST_TYPING = 1.0  # a longer pause says nothing about the typist's speed
_MANY_OBJECTS = 40_000  # young objects after which we collect without waiting for quiet

logger = logging.getLogger("jaxpert")


@dataclass(slots=True)
class Pace:
    """The speeds of one document: how long its analysis takes and how fast its changes follow each other."""

    cost: float = 0.0
    spacing: float | None = None
    _last_change: float | None = None
    _waiting_since: float | None = None

    def changed(self, now: float) -> None:
        """A change arrived at ``now`` (seconds of a monotonic clock)."""
        if self._last_change is not None:
            gap = max(0.0, now - self._last_change)
            if self.spacing is None:
                self.spacing = min(gap, _SLOWEST_TYPING)
            elif gap < _SLOWEST_TYPING:
                self.spacing += _WEIGHT * (gap - self.spacing)
        self._last_change = now
        if self._waiting_since is None:
            self._waiting_since = now

    def analysed(self, seconds: float) -> None:
        """An analysis of the newest text took ``seconds``."""
        self.cost = seconds if self.cost == 0.0 else self.cost + _WEIGHT * (seconds - self.cost)
        self._waiting_since = None

    def delay(self, now: float) -> float:
        """Seconds to wait before the next analysis.

        Nothing while an analysis fits between two changes. Else until the typist pauses for longer than usual,
        but no change waits longer than :data:`MAXIMUM_WAIT`.
        """
        spacing = _SLOWEST_TYPING if self.spacing is None else self.spacing
        if self.cost <= max(_QUICK, spacing / 2):
            return 0.0
        waited = now - self._waiting_since if self._waiting_since is not None else 0.0
        return max(0.0, min(max(self.cost, 1.5 * spacing), MAXIMUM_WAIT - waited))


class Timer(Protocol):
    """Something that is going to happen and can be called off."""

    def cancel(self) -> None:
        """Do not do it."""


class Loop(Protocol):
    """The part of an event loop that we use."""

    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        """Call back after ``delay`` seconds, after everything that is due before."""


class Gathering:
    """Many events that have one consequence, which comes when no more of them come, but never much later.

    Args:
        loop: an event loop.
        then: the consequence.
        clock: seconds of a monotonic clock.
    """

    def __init__(self, loop: Loop, then: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._loop = loop
        self._then = then
        self._clock = clock
        self._timer: Timer | None = None
        self._began = 0.0

    def add(self) -> None:
        """One more event."""
        now = self._clock()
        if self._timer is None:
            self._began = now
        else:
            self._timer.cancel()
        delay = max(0.0, min(GATHERING, self._began + MAXIMUM_WAIT - now))
        self._timer = self._loop.call_later(delay, self._fire)

    def stop(self) -> None:
        """Nothing comes of the events so far."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _fire(self) -> None:
        self._timer = None
        self._then()


class Scheduler:
    """Runs analyses of documents, and idle work once nobody has typed for a while.

    Args:
        loop: an event loop.
        analyse: analyses the document with the given key and tells the client.
        idle_work: what to do when it is quiet, in small steps: between two of them, changes go first, and when
            one arrives the rest is dropped and started again at the next quiet. So it is when a step fails.
        clock: seconds of a monotonic clock.
    """

    def __init__(
        self,
        loop: Loop,
        analyse: Callable[[str], None],
        idle_work: Callable[[], Iterator[None]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._loop = loop
        self._analyse = analyse
        self._idle_work = idle_work
        self._clock = clock
        self._paces: dict[str, Pace] = {}
        self._pending: dict[str, Timer] = {}
        self._soon: dict[str, None] = {}
        self._soon_timer: Timer | None = None
        self._idle: Timer | None = None
        self._long_idle: Timer | None = None
        self._last_activity = 0.0
        self._steps: Iterator[None] | None = None

    def pace(self, key: str) -> Pace:
        """The speeds of the document ``key``."""
        return self._paces.setdefault(key, Pace())

    def changed(self, key: str, run: bool = True) -> None:
        """The document ``key`` has a new text; analyse it in time, unless ``run`` is off (somebody asks then)."""
        now = self._clock()
        pace = self.pace(key)
        pace.changed(now)
        if run:
            self._plan(key, pace.delay(now))
        self.touch()

    def soon(self, key: str) -> None:
        """Analyse ``key`` after what is already due, because something that it depends on changed.

        Of many documents one comes at a time: what the client asks for meanwhile goes first.
        """
        if key not in self._pending:
            self._soon[key] = None
            if self._soon_timer is None:
                self._soon_timer = self._loop.call_later(0, self._run_soon)
        self.touch()

    def forget(self, key: str) -> None:
        """The document ``key`` is gone: nothing planned for it happens."""
        self._paces.pop(key, None)
        self._soon.pop(key, None)
        if timer := self._pending.pop(key, None):
            timer.cancel()

    def stop(self) -> None:
        """Nothing that is planned happens."""
        for key in list(self._pending):
            self.forget(key)
        self._soon.clear()
        self._steps = None
        for timer in (self._idle, self._long_idle, self._soon_timer):
            if timer is not None:
                timer.cancel()
        self._idle = self._long_idle = self._soon_timer = None

    @property
    def quiet(self) -> float:
        """Seconds without a change that are no longer a pause between two keystrokes."""
        slowest = max((pace.spacing or 0.0 for pace in self._paces.values()), default=0.0)
        return max(QUIET, min(2 * slowest, 1.0))

    def touch(self) -> None:
        """Something happened: the idle work waits until it is quiet again."""
        self._last_activity = self._clock()
        self._steps = None
        if self._long_idle is not None:
            self._long_idle.cancel()
            self._long_idle = None
        if self._idle is None:
            self._idle = self._loop.call_later(self.quiet, self._when_quiet)

    def wake(self) -> None:
        """There is idle work: it comes when it is quiet, unless it is under way."""
        if self._idle is None:
            self.touch()

    def _plan(self, key: str, delay: float) -> None:
        self._soon.pop(key, None)
        if timer := self._pending.get(key):
            timer.cancel()
        self._pending[key] = self._loop.call_later(delay, lambda: self._run(key))

    def _run_soon(self) -> None:
        self._soon_timer = None
        if key := next(iter(self._soon), None):
            del self._soon[key]
            self._analyse_now(key)
        if self._soon:
            self._soon_timer = self._loop.call_later(0, self._run_soon)

    def _run(self, key: str) -> None:
        del self._pending[key]
        self._analyse_now(key)

    def _analyse_now(self, key: str) -> None:
        began = self._clock()
        self._analyse(key)
        if key in self._paces:
            self._paces[key].analysed(self._clock() - began)
        collect_when_many()

    def _when_quiet(self) -> None:
        # One timer serves all changes: it looks at the last one when it fires instead of being set anew by each.
        missing = self._last_activity + self.quiet - self._clock()
        if missing > 0 or self._pending or self._soon:
            self._idle = self._loop.call_later(max(missing, 0.01), self._when_quiet)
            return
        self._steps = self._idle_work()
        self._idle = self._loop.call_later(0, self._step)

    def _step(self) -> None:
        if self._steps is None:  # something happened in between
            self._idle = self._loop.call_later(self.quiet, self._when_quiet)
            return
        try:
            is_over = next(self._steps, self) is self
        except Exception as error:
            logger.error("idle work failed: %s: %s", type(error).__name__, error)
            is_over = True
        if not is_over:
            self._idle = self._loop.call_later(0, self._step)
            return
        self._steps = self._idle = None
        gc.collect(1)
        self._long_idle = self._loop.call_later(LONG_QUIET, self._when_long_quiet)

    def _when_long_quiet(self) -> None:
        self._long_idle = None
        gc.collect()


def settle_heap() -> None:
    """Collect once, give the system back what is free, and spare what is alive now from all later collections."""
    gc.collect()
    gc.freeze()
    _return_free_memory()


def _return_free_memory() -> None:
    """Where the C library has glibc's ``malloc_trim``; elsewhere free memory is kept for later."""
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (ImportError, OSError, AttributeError, TypeError):
        return


def collect_when_many(many: int = _MANY_OBJECTS) -> None:
    """Collect young objects if a long burst of work has left too many; automatic collection is off."""
    if gc.get_count()[0] > many:
        gc.collect(1)
