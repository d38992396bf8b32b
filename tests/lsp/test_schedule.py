"""The scheduler on a clock of its own: nothing here waits."""

import heapq
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jaxpert.lsp.schedule import GATHERING, LONG_QUIET, MAXIMUM_WAIT, QUIET, Gathering, Pace, Scheduler


class FakeLoop:
    """An event loop whose time passes only when told."""

    def __init__(self):
        self.now = 0.0
        self._due = []
        self._order = itertools.count()

    def call_later(self, delay, callback):
        timer = FakeTimer(callback)
        heapq.heappush(self._due, (self.now + delay, next(self._order), timer))
        return timer

    def pass_time(self, seconds):
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            due, _, timer = heapq.heappop(self._due)
            self.now = max(self.now, due)
            if timer.callback:
                timer.callback()
        self.now = max(self.now, end)

    @property
    def planned(self):
        return sum(timer.callback is not None for _, _, timer in self._due)


class FakeTimer:
    def __init__(self, callback):
        self.callback = callback

    def cancel(self):
        self.callback = None


class Session:
    """A scheduler with analyses that take ``cost`` seconds and idle work of three steps."""

    def __init__(self, cost=0.0):
        self.loop = FakeLoop()
        self.cost = cost
        self.runs = []
        self.idle = []
        self.scheduler = Scheduler(self.loop, self._analyse, self._idle_work, clock=lambda: self.loop.now)

    def _analyse(self, key):
        self.loop.now += self.cost
        self.runs.append((key, self.loop.now))

    def _idle_work(self):
        for step in range(3):
            self.idle.append(step)
            yield

    def type(self, count, spacing, key="a"):
        for _ in range(count):
            self.scheduler.changed(key)
            self.loop.pass_time(spacing)


def test_a_quick_analysis_is_never_delayed():
    session = Session(cost=0.005)
    session.type(10, 0.03)
    assert len(session.runs) == 10
    assert all(at - 0.03 * n <= 0.03 for n, (_, at) in enumerate(session.runs))


def test_changes_that_arrive_together_are_analysed_once():
    session = Session()
    for _ in range(5):
        session.scheduler.changed("a")
    session.loop.pass_time(0.01)
    assert len(session.runs) == 1


def test_a_slow_analysis_waits_for_a_pause():
    session = Session(cost=0.2)
    session.scheduler.pace("a").analysed(0.2)
    session.type(8, 0.04)
    during = len(session.runs)
    session.loop.pass_time(1.0)
    assert during < 4
    assert len(session.runs) == during + 1


@given(st.floats(0.0, 3.0), st.lists(st.floats(0.0, 0.5), min_size=1, max_size=30))
def test_no_change_waits_longer_than_the_maximum(cost, gaps):
    pace = Pace()
    pace.analysed(cost)
    now = 100.0
    first = None
    for gap in gaps:
        now += gap
        if first is not None and now - first > MAXIMUM_WAIT:
            pace.analysed(cost)  # it was due before this change
            first = None
        pace.changed(now)
        first = now if first is None else first
        assert pace.delay(now) >= 0.0
        assert now + pace.delay(now) <= first + MAXIMUM_WAIT + 1e-9


def test_a_closed_document_is_not_analysed():
    session = Session()
    session.scheduler.changed("a")
    session.scheduler.forget("a")
    session.loop.pass_time(0.1)
    assert session.runs == []


def test_idle_work_starts_after_quiet_and_only_then():
    session = Session()
    session.type(10, QUIET / 2)
    assert session.idle == []
    session.loop.pass_time(QUIET * 2)
    assert session.idle == [0, 1, 2]


def test_a_pause_between_two_slow_keystrokes_is_no_quiet():
    session = Session()
    session.type(6, 0.3)
    assert session.idle == [0, 1, 2]  # before the speed was known
    session.loop.pass_time(1.0)
    assert session.idle == [0, 1, 2] * 2


def test_a_change_interrupts_idle_work_and_it_starts_again():
    session = Session()
    interrupted = []

    def work():
        interrupted.append("step")
        session.scheduler.changed("a")
        yield
        interrupted.append("not reached")

    session.scheduler._idle_work = work
    session.scheduler.changed("a")
    session.loop.pass_time(QUIET)
    session.scheduler._idle_work = session._idle_work
    session.loop.pass_time(QUIET * 3)
    assert interrupted == ["step"]
    assert session.idle == [0, 1, 2]


@pytest.mark.parametrize("touched", [False, True])
def test_idle_work_that_fails_is_one_log_line_and_comes_again(touched, caplog):
    session = Session()

    def work():
        yield
        if touched:
            session.scheduler.touch()
        raise OSError("by accident")

    session.scheduler._idle_work = work
    session.type(1, QUIET * 2)
    session.scheduler._idle_work = session._idle_work
    assert [record.getMessage() for record in caplog.records] == ["idle work failed: OSError: by accident"]
    session.type(1, 2.0)
    assert session.idle == [0, 1, 2]
    assert session.loop.planned == 1  # the long quiet


def test_waking_starts_idle_work_but_does_not_hold_it_up():
    session = Session()
    session.scheduler.wake()
    for _ in range(10):
        session.loop.pass_time(QUIET / 2)
        session.scheduler.wake()
    assert session.idle[:3] == [0, 1, 2]


def test_after_long_quiet_nothing_is_planned_any_more():
    session = Session()
    session.type(3, 0.01)
    session.loop.pass_time(QUIET * 2 + LONG_QUIET)
    assert session.loop.planned == 0
    session.type(1, QUIET * 2)
    assert session.idle == [0, 1, 2, 0, 1, 2]


def test_stopping_calls_everything_off():
    session = Session()
    session.scheduler.changed("a")
    session.scheduler.stop()
    session.loop.pass_time(10)
    assert (session.runs, session.idle, session.loop.planned) == ([], [], 0)


def test_many_documents_take_turns_with_what_else_is_due():
    session = Session(cost=0.1)
    for key in ("a", "b", "c"):
        session.scheduler.soon(key)
    session.loop.call_later(0.05, lambda: session.runs.append(("asked", session.loop.now)))
    session.loop.pass_time(1.0)
    assert [key for key, _ in session.runs][:4] == ["a", "asked", "b", "c"]


def test_a_document_that_is_gone_is_not_looked_at_soon():
    session = Session()
    session.scheduler.soon("a")
    session.scheduler.soon("b")
    session.scheduler.forget("a")
    session.scheduler.changed("b")
    session.loop.pass_time(0.01)
    assert [key for key, _ in session.runs] == ["b"]


def test_many_events_have_one_consequence_and_not_much_later():
    loop, consequences = FakeLoop(), []
    gathering = Gathering(loop, lambda: consequences.append(loop.now), clock=lambda: loop.now)
    for _ in range(10):
        gathering.add()
        loop.pass_time(GATHERING / 2)
    assert consequences == []
    loop.pass_time(1.0)
    assert len(consequences) == 1
    for _ in range(100):
        gathering.add()
        loop.pass_time(GATHERING / 2)
    assert 2 <= len(consequences) <= 6
    gathering.add()
    gathering.stop()
    before = len(consequences)
    loop.pass_time(1.0)
    assert len(consequences) == before
