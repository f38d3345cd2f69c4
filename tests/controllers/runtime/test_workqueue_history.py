"""Any history of adds, delays, failures, takes and passing time: nothing is lost, nothing is in two hands."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from controllers.runtime.limiters import ExponentialPerKey
from controllers.runtime.workqueue import FIRST_LIST, LIVE, WorkQueue
from controllers.testing import FakeClock
from webhook.telemetry import Telemetry

KEYS = st.sampled_from("abcd")
PRIORITIES = st.sampled_from([LIVE, FIRST_LIST])
SECONDS = st.sampled_from([0.0, 0.1, 1.0, 2.0, 30.0])


class QueueHistory(RuleBasedStateMachine):
    """The model: for each key the earliest time at which it has to run, and which keys are in hands."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.queue = WorkQueue[str]("edge", Telemetry(), self.clock, ExponentialPerKey(0.1, 10.0))
        self.due_s: dict[str, float] = {}
        self.priority: dict[str, int] = {}
        self.held: set[str] = set()

    def wish(self, key: str, delay_s: float, priority: int) -> None:
        due_s = self.clock.monotonic_s() + delay_s
        self.due_s[key] = min(due_s, self.due_s.get(key, due_s))
        self.priority[key] = max(priority, self.priority.get(key, priority))

    def ready(self) -> set[str]:
        return {key for key, due_s in self.due_s.items() if due_s <= self.clock.monotonic_s() + 1e-6} - self.held

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: str, priority: int) -> None:
        self.queue.add(key, priority=priority)
        self.wish(key, 0.0, priority)

    @rule(key=KEYS, delay_s=SECONDS, priority=PRIORITIES)
    def add_after(self, key: str, delay_s: float, priority: int) -> None:
        self.queue.add_after(key, delay_s, priority=priority)
        self.wish(key, delay_s, priority)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.wish(key, self.queue.add_rate_limited(key), LIVE)
        self.finish(key)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.held)))
        self.queue.forget(key)
        self.finish(key)

    def finish(self, key: str) -> None:
        self.queue.done(key)
        self.held.discard(key)

    @rule()
    def take(self) -> None:
        ready = self.ready()
        key = self.queue.get_ready()
        if key is None:
            assert ready == set()
            return
        assert key in ready
        assert self.priority[key] == max(self.priority[one] for one in ready)
        del self.due_s[key], self.priority[key]
        self.held.add(key)

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @invariant()
    def the_length_is_that_of_the_line(self) -> None:
        assert len(self.queue) == len(self.ready())

    def teardown(self) -> None:
        for key in sorted(self.held):
            self.finish(key)
        self.clock.advance(10_000)
        for _ in range(len(self.due_s)):
            self.take()
        assert self.due_s == {}, "lost"


TestQueueHistory = QueueHistory.TestCase
TestQueueHistory.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
