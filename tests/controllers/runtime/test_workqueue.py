from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator

import pytest

from controllers.runtime.limiters import ExponentialPerKey
from controllers.runtime.workqueue import FIRST_LIST, LIVE, WorkQueue
from controllers.testing import FakeClock
from webhook.clock import Deadline
from webhook.telemetry import Telemetry


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock, telemetry: Telemetry) -> WorkQueue[str]:
    return WorkQueue("edge", telemetry, clock, ExponentialPerKey())


def ready(queue: WorkQueue[str]) -> Iterator[str]:
    """Take and finish everything that is in line."""
    while (key := queue.get_ready()) is not None:
        queue.done(key)
        yield key


def sample(telemetry: Telemetry, line: str) -> float:
    for text in telemetry.expose().decode().splitlines():
        if text.startswith(line + " "):
            return float(text.rsplit(" ", 1)[1])
    raise AssertionError(f"no {line}")


def test_keys_come_out_in_the_order_in_which_they_came(queue: WorkQueue[str]) -> None:
    for key in "cab":
        queue.add(key)

    assert list(ready(queue)) == ["c", "a", "b"]


def test_a_key_added_again_while_in_line_runs_once(queue: WorkQueue[str]) -> None:
    for key in "abaab":
        queue.add(key)

    assert list(ready(queue)) == ["a", "b"]


def test_a_key_added_while_it_is_processed_runs_once_more_afterwards(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.add("a")

    during = queue.get_ready()
    queue.done("a")

    assert during is None
    assert list(ready(queue)) == ["a"]


def test_the_length_counts_the_line_only(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("b")
    queue.add_after("later", 5)
    queue.get()
    queue.add("a")

    assert len(queue) == 1


def test_a_key_added_in_between_goes_behind_those_that_wait(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("b")
    first = queue.get()
    queue.add("a")
    queue.done("a")
    queue.add("c")

    assert first == "a"
    assert list(ready(queue)) == ["b", "a", "c"]


def test_done_without_get_changes_nothing(queue: WorkQueue[str]) -> None:
    queue.add("a")

    queue.done("a")

    assert list(ready(queue)) == ["a"]


def test_after_a_shutdown_nothing_is_taken_in_but_the_line_is_handed_out(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a")
    queue.add_after("later", 1)

    queue.shut_down()
    queue.add("b")
    clock.advance(2)

    assert queue.get() == "a"
    assert queue.get() is None


def test_a_shutdown_wakes_every_waiting_worker(queue: WorkQueue[str], clock: FakeClock) -> None:
    got: list[str | None] = []
    workers = [threading.Thread(target=lambda: got.append(queue.get())) for _ in range(3)]
    for worker in workers:
        worker.start()
    clock.until_waiting(3)

    queue.shut_down()

    for worker in workers:
        worker.join(5)
    assert got == [None] * 3


def test_a_delayed_key_comes_when_its_time_has_come(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 0.05)
    clock.advance(0.04)
    early = queue.get_ready()
    clock.advance(0.01)

    assert early is None
    assert list(ready(queue)) == ["a"]


def test_of_several_delays_of_a_key_the_earliest_counts_and_it_runs_once(queue: WorkQueue[str], clock: FakeClock) -> None:
    for delay_s in (5, 1, 3):
        queue.add_after("a", delay_s)
    clock.advance(1)
    at_one = list(ready(queue))
    clock.advance(10)

    assert at_one == ["a"]
    assert list(ready(queue)) == []


def test_delayed_keys_come_in_the_order_of_their_times(queue: WorkQueue[str], clock: FakeClock) -> None:
    for key, delay_s in (("c", 3), ("a", 1), ("b", 2)):
        queue.add_after(key, delay_s)
    clock.advance(2)
    queue.add("live")
    clock.advance(1)

    assert list(ready(queue)) == ["a", "b", "live", "c"]


def test_a_plain_add_ends_the_delay_of_a_key(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("a", 60)
    queue.add("a")
    now = list(ready(queue))
    clock.advance(120)

    assert now == ["a"]
    assert list(ready(queue)) == []


def test_a_delay_of_nothing_is_a_plain_add(queue: WorkQueue[str]) -> None:
    queue.add_after("a", 0)
    queue.add_after("b", -1)

    assert list(ready(queue)) == ["a", "b"]


def test_a_delay_that_ends_while_the_key_is_processed_runs_it_afterwards(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add("a")
    queue.get()
    queue.add_after("a", 1)
    clock.advance(2)
    during = queue.get_ready()
    queue.done("a")

    assert during is None
    assert list(ready(queue)) == ["a"]


def test_a_waiting_worker_wakes_up_for_a_delayed_key(queue: WorkQueue[str], clock: FakeClock) -> None:
    got: list[str | None] = []
    worker = threading.Thread(target=lambda: got.append(queue.get()))
    worker.start()
    clock.until_waiting()
    queue.add_after("a", 3)
    clock.until_waiting()  # it has looked again, and now waits for the key's time

    clock.advance(3)

    worker.join(5)
    assert got == ["a"]


def test_a_worker_gives_up_waiting_at_its_deadline(telemetry: Telemetry) -> None:
    clock = FakeClock(auto_advance=True)
    queue = WorkQueue[str]("edge", telemetry, clock)

    assert queue.get(Deadline.after(25, clock)) is None
    assert clock.monotonic_s() == 1025


def test_failures_wait_longer_and_longer_until_the_key_is_forgotten(queue: WorkQueue[str]) -> None:
    waits = [queue.add_rate_limited("a") for _ in range(3)]
    failures = queue.failures("a")
    queue.forget("a")

    assert waits == [0.005, 0.01, 0.02]
    assert failures == 3
    assert queue.failures("a") == 0


@pytest.mark.parametrize(("asked_s", "waits_s"), [(1e9, 60.0), (float("inf"), 0.005), (float("nan"), 0.005), (-1.0, 0.005)])
def test_what_a_server_asks_without_reason_is_not_obeyed(queue: WorkQueue[str], asked_s: float, waits_s: float) -> None:
    assert queue.add_rate_limited("a", at_least_s=asked_s) == waits_s


def test_keys_put_off_and_added_again_leave_nothing_behind(clock: FakeClock, telemetry: Telemetry) -> None:
    queue: WorkQueue[frozenset[str]] = WorkQueue("edge", telemetry, clock, ExponentialPerKey())
    made: list[weakref.ref[frozenset[str]]] = []
    for number in range(2000):
        key = frozenset([f"edge-{number % 10}"])
        made.append(weakref.ref(key))
        queue.add(key)
        queue.get_ready()
        queue.add_after(key, 3600)
        queue.done(key)

    assert sum(reference() is not None for reference in made) < 100
    clock.advance(3600)
    assert len(queue) == 10


def test_a_failed_key_waits_at_least_as_long_as_the_server_asked(queue: WorkQueue[str]) -> None:
    assert queue.add_rate_limited("a", at_least_s=4) == 4


def test_live_keys_go_before_those_of_the_first_list(queue: WorkQueue[str]) -> None:
    queue.add("old-1", priority=FIRST_LIST)
    queue.add("old-2", priority=FIRST_LIST)
    queue.add("live")

    assert list(ready(queue)) == ["live", "old-1", "old-2"]


def test_the_priority_of_a_key_in_line_only_rises_and_it_runs_once(queue: WorkQueue[str]) -> None:
    queue.add("first", priority=FIRST_LIST)
    queue.add("risen", priority=FIRST_LIST)
    queue.add("risen", priority=LIVE)
    queue.add("risen", priority=FIRST_LIST)

    assert list(ready(queue)) == ["risen", "first"]


def test_a_delayed_high_priority_beats_a_ready_low_one_only_when_due(queue: WorkQueue[str], clock: FakeClock) -> None:
    queue.add_after("high", 1, priority=LIVE)
    queue.add("low-1", priority=FIRST_LIST)
    queue.add("low-2", priority=FIRST_LIST)
    first = queue.get()
    clock.advance(1)

    assert first == "low-1"
    assert list(ready(queue)) == ["high", "low-2"]


def test_a_priority_raised_while_the_key_is_processed_counts_afterwards(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.get()
    queue.add("a", priority=FIRST_LIST)
    queue.add("b", priority=FIRST_LIST)
    queue.add("a", priority=LIVE)
    queue.done("a")

    assert list(ready(queue)) == ["a", "b"]


def test_metrics_have_the_names_that_dashboards_know(queue: WorkQueue[str], clock: FakeClock, telemetry: Telemetry) -> None:
    labels = '{controller="edge",name="edge"}'
    queue.add("a")
    queue.add("a")
    queue.add("b", priority=FIRST_LIST)
    queue.add_after("c", 60)
    clock.advance(2)
    queue.get()
    clock.advance(3)
    queue.done("a")

    assert sample(telemetry, 'workqueue_depth{controller="edge",name="edge",priority="0"}') == 0
    assert sample(telemetry, 'workqueue_depth{controller="edge",name="edge",priority="-100"}') == 1
    assert sample(telemetry, f"workqueue_adds_total{labels}") == 2
    assert sample(telemetry, f"workqueue_retries_total{labels}") == 1
    assert sample(telemetry, f"workqueue_queue_duration_seconds_sum{labels}") == 2
    assert sample(telemetry, f"workqueue_work_duration_seconds_sum{labels}") == 3


def test_metrics_tell_how_long_unfinished_work_has_taken(queue: WorkQueue[str], clock: FakeClock, telemetry: Telemetry) -> None:
    labels = '{controller="edge",name="edge"}'
    queue.add("a")
    queue.add("b")
    queue.get()
    clock.advance(5)
    queue.get()
    clock.advance(2)

    unfinished = sample(telemetry, f"workqueue_unfinished_work_seconds{labels}")
    longest = sample(telemetry, f"workqueue_longest_running_processor_seconds{labels}")
    for key in "ab":
        queue.done(key)

    assert (unfinished, longest) == (9, 7)
    assert sample(telemetry, f"workqueue_unfinished_work_seconds{labels}") == 0
    assert sample(telemetry, f"workqueue_longest_running_processor_seconds{labels}") == 0


def test_with_many_producers_and_workers_no_key_is_in_two_hands_and_none_is_lost(telemetry: Telemetry) -> None:
    queue = WorkQueue[int]("edge", telemetry, FakeClock())
    lock, held, clashes = threading.Lock(), set[int](), list[int]()
    wanted, seen = [0] * 10, [0] * 10  # versions of keys; what a worker saw last

    def produce() -> None:
        for number in range(300):
            key = number % 10
            with lock:
                wanted[key] += 1
            queue.add(key)

    def work() -> None:
        while (key := queue.get()) is not None:
            with lock:
                if key in held:
                    clashes.append(key)
                held.add(key)
                seen[key] = wanted[key]
            with lock:
                held.discard(key)
            queue.done(key)

    producers = [threading.Thread(target=produce) for _ in range(3)]
    workers = [threading.Thread(target=work) for _ in range(3)]
    for thread in producers + workers:
        thread.start()
    for thread in producers:
        thread.join(10)
    queue.shut_down()
    for thread in workers:
        thread.join(10)

    assert clashes == []
    assert seen == wanted == [90] * 10
