from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from controllers.runtime.controller import FIRST_LIST, LIVE, AddKey, Controller, Policy, informer_source
from controllers.runtime.errors import Cancelled, Conflict, LeaseLost, Throttled, TimedOut
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.limiters import ExponentialPerKey
from controllers.runtime.reconcile import Context, Done, Key, Outcome, RequeueAfter, Terminal
from controllers.runtime.resource import Added, Removed
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.runtime import builders
from webhook.clock import Deadline, SystemClock
from webhook.telemetry import Telemetry


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


class Script:
    """A reconcile that does what it is told, key by key, and then is done."""

    def __init__(self, *answers: Outcome | Exception) -> None:
        self.answers = list(answers)
        self.seen: list[Key] = []
        self.contexts: list[Context] = []

    def __call__(self, key: Key, context: Context) -> Outcome:
        self.seen.append(key)
        self.contexts.append(context)
        answer = self.answers.pop(0) if self.answers else Done()
        if isinstance(answer, Exception):
            raise answer
        return answer


def controller(
    reconcile: Callable[[Key, Context], Outcome], clock: FakeClock, telemetry: Telemetry, **options: Any
) -> Controller:
    options.setdefault("limiter", ExponentialPerKey)
    sources = options.pop("sources", [lambda add: lambda: None])
    made = Controller("edge", reconcile, sources, telemetry, clock, builders.refuse_death, **options)
    made.run_ready()
    return made


def count(telemetry: Telemetry, name: str, **labels: str) -> float:
    words = ",".join(f'{key}="{value}"' for key, value in sorted({"controller": "edge", **labels}.items()))
    for text in telemetry.expose().decode().splitlines():
        if text.startswith(f"controller_runtime_{name}{{{words}}} "):
            return float(text.rsplit(" ", 1)[1])
    raise AssertionError(f"no {name} {words}")


def results(telemetry: Telemetry) -> dict[str, float]:
    words = ("success", "error", "requeue", "requeue_after")
    return {word: count(telemetry, "reconcile_total", result=word) for word in words}


# -- outcomes


def test_a_key_that_is_done_does_not_come_again(clock: FakeClock, telemetry: Telemetry) -> None:
    script = Script()
    edge = controller(script, clock, telemetry)
    edge.add("a")

    edge.run_ready()
    clock.advance(3600)

    assert edge.run_ready() == 0
    assert results(telemetry) == {"success": 1, "error": 0, "requeue": 0, "requeue_after": 0}


def test_a_key_comes_again_after_the_time_that_it_asked_for(clock: FakeClock, telemetry: Telemetry) -> None:
    script = Script(RequeueAfter(30))
    edge = controller(script, clock, telemetry)
    edge.add("a")
    edge.run_ready()
    clock.advance(29)
    early = edge.run_ready()
    clock.advance(1)

    assert early == 0
    assert edge.run_ready() == 1
    assert results(telemetry) == {"success": 1, "error": 0, "requeue": 0, "requeue_after": 1}


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_a_time_that_would_loop_or_never_come_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="return Done"):
        RequeueAfter(seconds)


def test_a_failing_key_backs_off_and_is_forgotten_on_success(clock: FakeClock, telemetry: Telemetry) -> None:
    script = Script(Conflict("a"), Conflict("a"), Done(), Conflict("a"))
    edge = controller(script, clock, telemetry)
    edge.add("a")
    for seconds in (0.0, 0.005, 0.01, 1.0):
        clock.advance(seconds)
        edge.run_ready()
    edge.add("a")
    edge.run_ready()
    clock.advance(0.005)
    edge.run_ready()

    assert [context.failures for context in script.contexts] == [0, 1, 2, 0, 1]
    assert results(telemetry)["error"] == 3


def test_a_failed_pass_wins_over_a_key_that_asked_for_a_time_before(clock: FakeClock, telemetry: Telemetry) -> None:
    script = Script(Conflict("a"), RequeueAfter(10), Conflict("a"))
    edge = controller(script, clock, telemetry)
    edge.add("a")
    edge.run_ready()
    clock.advance(0.005)
    edge.run_ready()
    clock.advance(10)
    edge.run_ready()

    assert script.contexts[-1].failures == 0  # a time asked for forgets failures


def test_an_exception_that_nobody_foresaw_is_counted_and_retried(clock: FakeClock, telemetry: Telemetry) -> None:
    script = Script(ZeroDivisionError("boom"))
    edge = controller(script, clock, telemetry)
    edge.add("a")
    edge.run_ready()
    clock.advance(0.005)

    assert edge.run_ready() == 1
    assert count(telemetry, "reconcile_panics_total") == 1
    assert count(telemetry, "reconcile_errors_total") == 1


def test_an_error_of_the_api_server_is_no_panic(clock: FakeClock, telemetry: Telemetry) -> None:
    edge = controller(Script(Conflict("a")), clock, telemetry)
    edge.add("a")
    edge.run_ready()

    assert count(telemetry, "reconcile_panics_total") == 0
    assert count(telemetry, "reconcile_errors_total") == 1


def test_a_terminal_failure_is_counted_and_not_retried(clock: FakeClock, telemetry: Telemetry) -> None:
    edge = controller(Script(Conflict("a"), Terminal("the spec makes no sense")), clock, telemetry)
    edge.add("a")
    edge.run_ready()
    clock.advance(0.005)
    edge.run_ready()
    clock.advance(10_000)

    assert edge.run_ready() == 0
    assert count(telemetry, "terminal_reconcile_errors_total") == 1
    assert results(telemetry)["error"] == 2


def test_a_throttled_key_waits_as_long_as_the_server_asked(clock: FakeClock, telemetry: Telemetry) -> None:
    edge = controller(Script(Throttled("a", retry_after_s=7)), clock, telemetry)
    edge.add("a")
    edge.run_ready()
    clock.advance(6.9)
    early = edge.run_ready()
    clock.advance(0.1)

    assert early == 0
    assert edge.run_ready() == 1


def test_a_throttled_key_waits_a_minute_at_most(clock: FakeClock, telemetry: Telemetry) -> None:
    edge = controller(Script(Throttled("a", retry_after_s=1e9)), clock, telemetry)
    edge.add("a")
    edge.run_ready()
    clock.advance(60)

    assert edge.run_ready() == 1


# -- what a pass may do


def test_a_request_may_take_what_is_left_of_the_pass_and_of_the_lease(clock: FakeClock, telemetry: Telemetry) -> None:
    lease_left_s = 4.0
    found: list[float] = []

    class Lease:
        def check(self) -> float:
            return lease_left_s

    def reconcile(key: Key, context: Context) -> Outcome:
        found.append(context.request_timeout_s())
        clock.advance(8)
        found.append(context.request_timeout_s())
        return Done()

    edge = controller(reconcile, clock, telemetry, leadership=Lease(), policy=Policy(timeout_s=10))
    edge.add("a")
    edge.run_ready()

    assert found == [4.0, 2.0]


def test_a_pass_that_has_used_up_its_time_may_not_ask_anything_more(clock: FakeClock, telemetry: Telemetry) -> None:
    errors: list[str] = []

    def reconcile(key: Key, context: Context) -> Outcome:
        clock.advance(31)
        try:
            context.request_timeout_s()
        except TimedOut as error:
            errors.append(str(error))
            raise
        return Done()

    edge = controller(reconcile, clock, telemetry)
    edge.add("a")
    edge.run_ready()

    assert errors == ["edge: the time of this pass is used up"]
    assert count(telemetry, "reconcile_timeouts_total") == 1
    assert results(telemetry)["error"] == 1
    assert count(telemetry, "reconcile_time_seconds_sum") == 31


def test_a_pass_on_a_lost_lease_ends_before_its_next_request_and_is_retried(clock: FakeClock, telemetry: Telemetry) -> None:
    class Lease:
        def check(self) -> float:
            raise LeaseLost("gone")

    writes: list[str] = []

    def reconcile(key: Key, context: Context) -> Outcome:
        context.request_timeout_s()
        writes.append(key)
        return Done()

    edge = controller(reconcile, clock, telemetry, leadership=Lease())
    edge.add("a")
    edge.run_ready()
    clock.advance(0.005)

    assert writes == []
    assert edge.run_ready() == 1
    assert count(telemetry, "reconcile_panics_total") == 0


def test_a_request_that_was_let_go_is_not_sent_after_the_lease_has_gone(
    api: FakeApi, client: RestClient, clock: FakeClock, telemetry: Telemetry
) -> None:
    api.objects.put(builders.node())
    path = "/api/v1/nodes/edge-1"
    held = {"lease": True}

    class Lease:
        def check(self) -> float:
            if not held["lease"]:
                raise LeaseLost("gone")
            return 15.0

        def may_send(self) -> None:
            self.check()

    def reconcile(key: Key, context: Context) -> Outcome:
        timeout_s = context.request_timeout_s()
        if key == "stopped":
            held["lease"] = False  # as when the process is stopped right here, and goes on after its lease has expired
        client.patch_merge(path, {"metadata": {"labels": {"by": key}}}, timeout_s=timeout_s)
        return Done()

    edge = controller(reconcile, clock, telemetry, leadership=Lease())
    edge.add("leading")
    edge.add("stopped")
    edge.run_ready()
    client.patch_merge(path, {"metadata": {"labels": {"by": "unled"}}})  # what is not led stays free

    assert [json.loads(one.body)["metadata"]["labels"]["by"] for one in api.asked("patch")] == ["leading", "unled"]
    assert count(telemetry, "reconcile_panics_total") == 0


def test_a_pass_in_progress_ends_before_its_next_request_when_told_to_stop(clock: FakeClock, telemetry: Telemetry) -> None:
    ended: list[Exception] = []

    def reconcile(key: Key, context: Context) -> Outcome:
        edge.signal_stop()
        try:
            context.request_timeout_s()
        except Cancelled as error:
            ended.append(error)
            raise
        return Done()

    edge = controller(reconcile, clock, telemetry)
    edge.add("a")
    edge.add("b")

    assert edge.run_ready() == 2  # "b" is taken from the line and left
    assert len(ended) == 1


def test_a_key_waits_until_the_cache_has_seen_its_own_last_write(clock: FakeClock, telemetry: Telemetry) -> None:
    cache = {"version": "41"}
    writes = OwnWrites({"pods": lambda: cache["version"]}, clock, telemetry)
    script = Script()
    edge = controller(script, clock, telemetry, own_writes=writes)
    writes.note("a", "pods", "42")
    edge.add("a")
    edge.add("b")
    edge.run_ready()
    before = list(script.seen)
    cache["version"] = "43"
    clock.advance(0.1)
    edge.run_ready()

    assert before == ["b"]
    assert script.seen == ["b", "a"]
    assert results(telemetry)["error"] == 0


# -- sources


def test_every_object_of_the_cache_is_looked_at_behind_what_really_happens(telemetry: Telemetry) -> None:
    added: list[tuple[Key, int]] = []
    cache = builders.informer(NoServer())
    for name in ("n1", "n2"):
        cache.apply(Added(builders.NODES.projection.convert(builders.node(name, uid=name, resourceVersion="1"))))
    changed = builders.NODES.projection.convert(builders.node("n1", uid="n1", resourceVersion="2", ready="Unknown"))
    same = builders.NODES.projection.convert(builders.node("n2", uid="n2", resourceVersion="3"))

    end = informer_source(cache, lambda change: [change.item.key])(lambda key, priority: added.append((key, priority)))
    cache.apply(Added(changed))
    cache.apply(Added(same))
    cache.apply(Removed(same))
    end()
    cache.apply(Removed(changed))

    assert added == [("n1", FIRST_LIST), ("n2", FIRST_LIST), ("n1", LIVE), ("n2", FIRST_LIST), ("n2", LIVE)]


class NoServer:
    """For caches that tests fill by hand."""

    def cancellation(self) -> Any:
        return None


# -- life


class Recorder:
    """A source that replays the same keys to whoever subscribes."""

    def __init__(self, *keys: Key) -> None:
        self.keys = keys
        self.subscribers: list[AddKey] = []

    def __call__(self, add: AddKey) -> Callable[[], None]:
        for key in self.keys:
            add(key, FIRST_LIST)
        self.subscribers.append(add)
        return lambda: self.subscribers.remove(add)


def test_a_controller_that_starts_again_looks_at_everything_again(telemetry: Telemetry) -> None:
    clock, script, source = FakeClock(), Script(), Recorder("a", "b")
    edge = Controller("edge", script, [source], telemetry, clock, builders.refuse_death)
    for _ in range(2):
        edge.start()
        clock.until_waiting()
        assert edge.is_alive()
        assert edge.check() is None
        assert edge.stop(Deadline.after(5, clock))

    assert script.seen == ["a", "b", "a", "b"]
    assert source.subscribers == []


def test_no_key_is_taken_before_the_caches_have_synced(telemetry: Telemetry) -> None:
    clock, script, synced = FakeClock(), Script(), threading.Event()
    edge = Controller("edge", script, [Recorder("a")], telemetry, clock, builders.refuse_death, waits_for=[synced])
    edge.start()
    clock.until_waiting()
    before = list(script.seen)

    synced.set()
    clock.advance(1)
    clock.until_waiting(longer_than_s=5)
    edge.stop(Deadline.after(5, clock))

    assert before == []
    assert script.seen == ["a"]


def test_a_controller_that_waits_for_its_caches_stops_at_once(telemetry: Telemetry) -> None:
    clock = FakeClock()
    edge = Controller("edge", Script(), [], telemetry, clock, builders.refuse_death, waits_for=[threading.Event()])
    edge.start()
    clock.until_waiting()

    assert edge.stop(Deadline.after(5, clock))


def test_workers_bear_the_name_of_their_controller(telemetry: Telemetry) -> None:
    clock, names = FakeClock(), set[str]()

    def reconcile(key: Key, context: Context) -> Outcome:
        names.add(threading.current_thread().name)
        return Done()

    edge = Controller("edge", reconcile, [Recorder("a")], telemetry, clock, builders.refuse_death)
    edge.start()
    clock.until_waiting()
    edge.stop(Deadline.after(5, clock))

    assert names == {"controller/edge/0"}


class Hang:
    """A reconcile that lasts until released."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.release = threading.Event()

    def __call__(self, key: Key, context: Context) -> Outcome:
        self.began.set()
        self.release.wait(10)
        return Done()


def test_a_pass_that_does_not_end_is_told_by_stop_and_by_health(telemetry: Telemetry) -> None:
    clock, hang = FakeClock(auto_advance=True), Hang()
    edge = Controller("edge", hang, [Recorder("a")], telemetry, clock, builders.refuse_death)
    edge.start()
    hang.began.wait(5)

    clock.advance(91)
    health = edge.check()
    stopped = edge.stop(Deadline(clock.monotonic_s(), clock))
    with pytest.raises(RuntimeError, match="has not ended yet"):
        edge.start()
    hang.release.set()

    assert health == "a pass has been running for 91 s"
    assert not stopped
    assert edge.stop(Deadline.after(5, clock))


def test_several_workers_share_the_line(telemetry: Telemetry) -> None:
    clock, together = FakeClock(), threading.Barrier(3)

    def reconcile(key: Key, context: Context) -> Outcome:
        together.wait(5)
        return Done()

    policy = Policy(workers=3)
    edge = Controller("edge", reconcile, [Recorder("a", "b", "c")], telemetry, clock, builders.refuse_death, policy=policy)
    edge.start()
    clock.until_waiting(3)
    edge.stop(Deadline.after(5, clock))

    assert count(telemetry, "max_concurrent_reconciles") == 3
    assert count(telemetry, "active_workers") == 0
    assert results(telemetry)["success"] == 3


def test_a_worker_that_dies_takes_the_process_with_it(telemetry: Telemetry) -> None:
    deaths: list[tuple[str, str]] = []

    def broken(add: AddKey) -> Callable[[], None]:
        raise LookupError("no such index")

    edge = Controller("edge", Script(), [broken], telemetry, FakeClock(), lambda name, error: deaths.append((name, str(error))))
    edge.start()
    for thread in threading.enumerate():
        if thread.name == "controller/edge/0":
            thread.join(5)

    assert deaths == [("controller/edge/0", "no such index")]
    assert not edge.is_alive()
    assert edge.check() == "a worker has ended"
    edge.stop(Deadline.after(5, FakeClock()))


def test_a_controller_that_never_started_stops_and_is_well(clock: FakeClock, telemetry: Telemetry) -> None:
    edge = Controller("edge", Script(), [], telemetry, clock, builders.refuse_death)
    edge.add("a")

    assert edge.check() is None
    assert not edge.running
    assert len(edge) == 0
    assert edge.stop(Deadline.after(5, clock))


def test_no_pass_begins_before_the_sources_have_said_what_is_there(telemetry: Telemetry) -> None:
    script, telling, told = Script(), threading.Event(), threading.Event()

    def source(add: AddKey) -> Callable[[], None]:
        add("a", FIRST_LIST)  # which another worker could take now
        telling.set()
        assert told.wait(10)
        known.append("all")
        return lambda: None

    known: list[str] = []
    seen_by_passes: list[list[str]] = []

    def reconcile(key: Key, context: Context) -> Outcome:
        seen_by_passes.append(list(known))
        return script(key, context)

    clock = SystemClock()
    edge = Controller(
        "edge", reconcile, [source], telemetry, clock, builders.refuse_death, policy=Policy(workers=4, timeout_s=5.0)
    )
    edge.start()
    assert telling.wait(10)
    deadline = Deadline.after(0.2, clock)
    while not deadline.expired() and not script.seen:
        clock.wait(threading.Event(), 0.01)
    told.set()
    deadline = Deadline.after(10.0, clock)
    while not deadline.expired() and not script.seen:
        clock.wait(threading.Event(), 0.01)

    assert edge.stop(Deadline.after(5.0, clock))
    assert seen_by_passes == [["all"]]
