"""The elector with real threads, a virtual clock and a Lease over real HTTP, or in memory where calls have to hang."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from controllers.runtime.controller import AddKey, Controller
from controllers.runtime.election import Candidate, Timing
from controllers.runtime.elector import Elector, LeaseGuard, make_identity, system_boottime_s
from controllers.runtime.errors import Forbidden, LeaseLost, ServerError
from controllers.runtime.events import Reference
from controllers.runtime.leases import record_of
from controllers.runtime.reconcile import Context, Done
from controllers.runtime.resource import Params
from controllers.runtime.rest import RestClient
from controllers.runtime.workqueue import FIRST_LIST
from controllers.testing import FakeApi, FakeClock, Objects
from controllers.testing.answers import status
from controllers.testing.objects import Refusal
from tests.controllers.runtime.builders import refuse_death
from webhook.clock import Deadline, SystemClock
from webhook.objects.meta import Json
from webhook.telemetry import Telemetry

PERIOD_S = 2.0
KEY = "kube-system/gatehouse"
RELEASED: Json = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {"namespace": "kube-system", "name": "gatehouse"},
    "spec": {"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 3},
}


class Work:
    """Led work that keeps a diary."""

    name = "controller/edge"

    def __init__(self, *, ends: bool = True) -> None:
        self.ends = ends
        self.diary: list[str] = []
        self.signalled = threading.Event()
        self.running = threading.Event()
        self.stopped = threading.Event()
        self.on_stop: Callable[[], None] = lambda: None

    def start(self) -> None:
        self.diary.append("start")
        self.running.set()
        self.stopped.clear()

    def signal_stop(self) -> None:
        self.signalled.set()

    def stop(self, deadline: Deadline) -> bool:
        if self.running.is_set():
            self.on_stop()
            self.diary.append("stop")
            self.running.clear()
        self.stopped.set()
        return self.ends


class Voice:
    """Keeps Events."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def record(self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False) -> None:
        self.notes.append(f"{regarding.kind} {regarding.namespace}/{regarding.name} {reason}: {note}")


class Memory:
    """A Lease in memory; every call can be made to hang or fail."""

    def __init__(self) -> None:
        self.objects = Objects()
        self.open = threading.Event()
        self.open.set()
        self.error: Exception | None = None
        self.mangle: Callable[[Json], Any] = lambda lease: lease  # what comes back instead
        self.calls: list[str] = []
        self.timeouts: list[float] = []

    def get(self, path: str, params: Params | None = None, *, timeout_s: float | None = None) -> Json:
        return self._do("get", timeout_s, lambda: self.objects.get(self.objects.target(path)))

    def create(self, path: str, body: Json, *, timeout_s: float | None = None) -> Json:
        return self._do("create", timeout_s, lambda: self.objects.create(self.objects.target(path), body))

    def update(self, path: str, body: Json, *, timeout_s: float | None = None) -> Json:
        return self._do("update", timeout_s, lambda: self.objects.update(self.objects.target(path), body))

    def behave(self) -> None:
        self.error = None
        self.mangle = lambda lease: lease
        self.open.set()

    def _do(self, verb: str, timeout_s: float | None, deed: Callable[[], Json]) -> Json:
        self.calls.append(verb)
        self.timeouts.append(timeout_s or 0.0)
        self.open.wait(10)
        if self.error is not None:
            raise self.error
        try:
            return cast(Json, self.mangle(deed()))
        except Refusal as refusal:
            raise ServerError(refusal.message) from refusal


class Stage:
    """An elector, its work and its clock."""

    def __init__(self, client: Any, identity: str = "a", clock: FakeClock | None = None, timing: Timing = Timing()) -> None:
        self.client = client
        self.clock = clock or FakeClock()
        self.suspended_s = 0.0
        self.random: Callable[[], float] = lambda: 0.0
        self.work, self.voice, self.telemetry = Work(), Voice(), Telemetry()
        self.deaths: list[str] = []
        self.died = threading.Event()
        self.elector = Elector(
            Candidate(identity, "kube-system", "gatehouse", timing),
            client,
            self.telemetry,
            self.clock,
            self.on_death,
            announcer=self.voice,
            boottime_s=lambda: self.clock.monotonic_s() + self.suspended_s,
            random=lambda: self.random(),
        )
        self.elector.lead(self.work)

    def on_death(self, name: str, error: BaseException) -> None:
        self.deaths.append(f"{name}: {error}")
        self.died.set()

    def start(self) -> Stage:
        self.elector.start()
        return self

    def pauses(self) -> None:
        """Block until the elector waits between two requests; the wait for an answer is longer."""
        limit_s = time.monotonic() + 5
        while self.clock.until_waiting()[0] > PERIOD_S:
            assert time.monotonic() < limit_s, "the request does not end"
            time.sleep(0.001)

    def pass_time(self, seconds: float) -> None:
        """Let time pass between two requests."""
        self.pauses()
        self.clock.advance(seconds)

    def leads(self) -> Stage:
        assert self.work.running.wait(5)
        self.pauses()
        return self

    def stop(self) -> bool:
        return self.elector.stop(Deadline.after(5, self.clock))

    def sample(self, line: str) -> float:
        for text in self.telemetry.expose().decode().splitlines():
            if text.startswith(line + " "):
                return float(text.rsplit(" ", 1)[1])
        raise AssertionError(f"no {line}")


@pytest.fixture
def stages() -> Iterator[Callable[..., Stage]]:
    made: list[Stage] = []

    def make(*arguments: Any, **options: Any) -> Stage:
        made.append(Stage(*arguments, **options))
        return made[-1]

    yield make
    for stage in made:
        if isinstance(stage.client, Memory):
            stage.client.behave()
        stage.stop()


@pytest.fixture
def memory() -> Memory:
    made = Memory()
    made.objects.put(RELEASED)
    return made


def holder(objects: Objects) -> str:
    return record_of(objects.all("Lease")[KEY]).holder


# -- over HTTP


def test_a_released_lease_is_taken_and_work_begins(api: FakeApi, client: RestClient, stages: Callable[..., Stage]) -> None:
    api.objects.put(RELEASED)

    stage = stages(client).start().leads()

    assert holder(api.objects) == "a"
    assert stage.elector.is_leading()
    assert stage.elector.guard.check() > 10
    assert stage.sample('leader_election_master_status{name="gatehouse"}') == 1


def test_a_missing_lease_is_created_and_work_begins_after_a_lease_duration(
    api: FakeApi, client: RestClient, stages: Callable[..., Stage]
) -> None:
    stage = stages(client).start()
    for _ in range(7):
        stage.pass_time(2)
    stage.pauses()
    early = list(stage.work.diary)
    stage.pass_time(1)
    stage.leads()

    assert early == []
    assert api.count("create") == 1


def test_renewals_are_updates_without_reads(api: FakeApi, client: RestClient, stages: Callable[..., Stage]) -> None:
    api.objects.put(RELEASED)
    stage = stages(client).start().leads()
    for _ in range(3):
        stage.pass_time(2)
        stage.pauses()

    assert api.count("get") == 1
    assert api.count("update") == 4
    assert stage.sample('leader_election_slowpath_total{name="gatehouse"}') == 0


def test_a_failed_renewal_takes_the_slow_path_and_leads_on(
    api: FakeApi, client: RestClient, stages: Callable[..., Stage]
) -> None:
    api.objects.put(RELEASED)
    stage = stages(client).start().leads()
    api.next("update", status(500))
    stage.pass_time(2)
    stage.pauses()

    assert api.count("get") == 2
    assert stage.elector.is_leading()
    assert stage.work.diary == ["start"]
    assert stage.sample('leader_election_slowpath_total{name="gatehouse"}') == 1


def test_a_server_that_answers_500_costs_the_lease_at_the_deadline_and_the_process_campaigns_on(
    api: FakeApi, client: RestClient, stages: Callable[..., Stage]
) -> None:
    api.objects.put(RELEASED)
    stage = stages(client).start().leads()
    api.always("any", status(500))
    for _ in range(5):
        stage.pass_time(2)
    assert stage.work.stopped.wait(5)
    lost = (stage.elector.is_leading(), stage.sample('leader_election_master_status{name="gatehouse"}'))

    api.behave()
    stage.pass_time(2)
    stage.leads()

    assert lost == (False, 0)
    assert stage.work.diary == ["start", "stop", "start"]
    assert stage.deaths == []


def test_stopping_ends_the_work_then_releases_the_lease(api: FakeApi, client: RestClient, stages: Callable[..., Stage]) -> None:
    api.objects.put(RELEASED)
    stage = stages(client).start().leads()
    held_at_stop: list[str] = []
    stage.work.on_stop = lambda: held_at_stop.append(holder(api.objects))

    assert stage.stop()

    record = record_of(api.objects.all("Lease")[KEY])
    assert held_at_stop == ["a"]
    assert (record.holder, record.duration_s, record.transitions) == ("", 1, 4)
    assert stage.stop()  # safe to repeat


def test_a_release_that_meets_a_conflict_is_repeated(api: FakeApi, client: RestClient, stages: Callable[..., Stage]) -> None:
    api.objects.put(RELEASED)
    stage = stages(client).start().leads()
    api.next("update", status(409, "Conflict"))

    assert stage.stop()
    assert holder(api.objects) == ""


def test_the_next_candidate_leads_within_a_period_of_a_release(
    api: FakeApi, client: RestClient, tmp_path: Path, stages: Callable[..., Stage]
) -> None:
    api.objects.put(RELEASED)
    first = stages(client).start().leads()
    second = stages(client, "b").start()
    second.pauses()
    first.stop()

    second.pass_time(2)
    second.leads()

    assert holder(api.objects) == "b"
    assert not first.elector.is_leading()


def test_a_deleted_lease_is_made_again_by_its_leader(api: FakeApi, client: RestClient, stages: Callable[..., Stage]) -> None:
    api.objects.put(RELEASED)
    stage = stages(client).start().leads()
    api.objects.drop("Lease", KEY)
    stage.pass_time(2)
    stage.pauses()

    assert holder(api.objects) == "a"
    assert stage.work.diary == ["start"]


def test_a_lease_that_somebody_gives_to_another_ends_the_work(
    api: FakeApi, client: RestClient, stages: Callable[..., Stage]
) -> None:
    api.objects.put(RELEASED)
    stage = stages(client).start().leads()
    lease = api.objects.all("Lease")[KEY]
    lease["spec"]["holderIdentity"] = "mallory"
    api.objects.put(lease)

    stage.pass_time(2)

    assert stage.work.stopped.wait(5)
    assert not stage.elector.is_leading()
    assert stage.elector.holder == "mallory"


def test_gain_and_loss_are_events_of_the_lease(api: FakeApi, client: RestClient, stages: Callable[..., Stage]) -> None:
    api.objects.put(RELEASED)
    stage = stages(client).start().leads()
    stage.stop()

    assert stage.voice.notes == [
        "Lease kube-system/gatehouse LeaderElection: a became leader",
        "Lease kube-system/gatehouse LeaderElection: a stopped leading",
    ]


def test_a_controller_works_while_its_replica_leads(
    api: FakeApi, client: RestClient, telemetry: Telemetry, stages: Callable[..., Stage]
) -> None:
    api.objects.put(RELEASED)
    stage = stages(client)
    found: list[float] = []

    def reconcile(key: str, context: Context) -> Done:
        found.append(context.request_timeout_s(60.0))
        return Done()

    def source(add: AddKey) -> Callable[[], None]:
        add("edge-1", FIRST_LIST)
        return lambda: None

    edge = Controller("edge", reconcile, [source], telemetry, stage.clock, refuse_death, leadership=stage.elector.guard)
    stage.elector.lead(edge)
    before = edge.running
    stage.start().leads()
    api.until(lambda: found != [])
    during = edge.running
    stage.stop()

    assert (before, during, edge.running) == (False, True, False)
    assert found == [pytest.approx(15.0)]


def test_a_candidate_that_never_led_stops_without_a_write(
    api: FakeApi, client: RestClient, stages: Callable[..., Stage]
) -> None:
    api.objects.put({**RELEASED, "spec": {"holderIdentity": "b", "leaseDurationSeconds": 15}})
    stage = stages(client).start()
    stage.pauses()

    assert stage.stop()
    assert api.count("update") == 0
    assert stage.work.diary == []


# -- with calls that hang


def test_a_renewal_that_hangs_ends_leadership_by_the_deadline(memory: Memory, stages: Callable[..., Stage]) -> None:
    stage = stages(memory).start().leads()
    memory.open.clear()
    stage.pass_time(2)
    for seconds in (5, 3):  # the renewal hangs, then the read behind it, which gets what is left
        assert stage.clock.until_waiting(longer_than_s=PERIOD_S) == [seconds]
        stage.clock.advance(seconds)

    assert stage.work.stopped.wait(5)
    assert not stage.elector.is_leading()
    assert stage.work.diary == ["start", "stop"]


def test_every_request_has_a_timeout_below_the_renew_deadline(memory: Memory, stages: Callable[..., Stage]) -> None:
    stage = stages(memory).start().leads()
    memory.error = OSError("no route")
    for _ in range(3):
        stage.pass_time(2)
        stage.pauses()

    assert max(memory.timeouts) == 5.0
    assert memory.timeouts[-1] == 4.0  # what was left until the deadline


def test_any_exception_is_a_failed_try(memory: Memory, stages: Callable[..., Stage]) -> None:
    memory.error = ZeroDivisionError("in the middle of TLS")
    stage = stages(memory).start()
    stage.pauses()
    memory.error = None
    stage.pass_time(2)

    stage.leads()
    assert stage.deaths == []


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "ok",
        {},
        {"metadata": None},
        {"metadata": "x"},
        {"metadata": {"name": "gatehouse"}},
        {"metadata": {"resourceVersion": "1", "labels": ["x"]}},
        {"metadata": {"resourceVersion": "1"}, "spec": "x"},
    ],
)
def test_an_answer_that_is_no_lease_is_a_failed_try(answer: Any, memory: Memory, stages: Callable[..., Stage]) -> None:
    memory.mangle = lambda lease: answer
    stage = stages(memory).start()
    stage.pauses()
    before = stage.work.diary.copy()
    memory.behave()
    stage.pass_time(2)

    stage.leads()
    assert before == []
    assert stage.deaths == []


def test_a_write_that_comes_back_with_another_holder_starts_no_work(memory: Memory, stages: Callable[..., Stage]) -> None:
    theirs = {"holderIdentity": "mallory", "leaseDurationSeconds": 15}
    memory.mangle = lambda lease: {**lease, "spec": theirs} if memory.calls[-1] == "update" else lease
    stage = stages(memory).start()
    stage.pauses()

    assert memory.calls == ["get", "update"]
    assert not stage.elector.is_leading()
    assert stage.work.diary == []


def test_a_process_that_was_stopped_may_not_write_when_it_goes_on(memory: Memory, stages: Callable[..., Stage]) -> None:
    stage = stages(memory).start().leads()
    guard: LeaseGuard = stage.elector.guard
    guard.check()
    memory.open.clear()

    stage.clock.advance(11)  # as after SIGCONT: time has passed, and no thread has done anything yet

    with pytest.raises(LeaseLost, match="kube-system/gatehouse is not ours"):
        guard.check()
    with pytest.raises(LeaseLost):
        guard.may_send()
    memory.open.set()


def test_a_machine_that_was_suspended_may_not_write_though_its_clock_stood_still(
    memory: Memory, stages: Callable[..., Stage]
) -> None:
    stage = stages(memory).start().leads()

    stage.suspended_s = 60.0

    with pytest.raises(LeaseLost):
        stage.elector.guard.check()


def test_led_work_that_does_not_end_after_a_loss_takes_the_process_down(memory: Memory, stages: Callable[..., Stage]) -> None:
    stage = stages(memory).start().leads()
    stage.work.ends = False
    memory.error = OSError("no route")
    for _ in range(5):
        stage.pass_time(2)

    assert stage.died.wait(5)
    assert stage.deaths == ["elector: led work goes on 5 s after the lease was lost"]
    assert not stage.elector.is_alive()
    assert not stage.stop()
    assert holder(memory.objects) == "a"  # not released


def test_the_lease_is_not_released_while_led_work_goes_on(memory: Memory, stages: Callable[..., Stage]) -> None:
    stage = stages(memory).start().leads()
    stage.work.ends = False

    assert not stage.stop()
    assert holder(memory.objects) == "a"


def test_a_stop_while_the_lease_is_being_taken_starts_no_work_and_releases(
    memory: Memory, stages: Callable[..., Stage]
) -> None:
    stage = stages(memory)
    memory.open.clear()
    stage.start()
    stopping = threading.Thread(target=stage.stop)
    stopping.start()
    assert stage.work.signalled.wait(5)
    memory.open.set()
    stopping.join(5)

    assert stage.work.diary == []
    assert holder(memory.objects) == ""


# -- health and the rest


def test_who_does_not_lead_is_well(memory: Memory, stages: Callable[..., Stage]) -> None:
    stage = stages(memory)

    assert stage.elector.check() is None
    assert stage.elector.is_alive()
    with pytest.raises(LeaseLost):
        stage.elector.guard.check()


def test_a_leader_that_renews_is_well_and_one_that_is_stuck_is_not(memory: Memory, stages: Callable[..., Stage]) -> None:
    stage = stages(memory).start().leads()
    fresh = stage.elector.check()
    memory.open.clear()
    stage.suspended_s = 35.0
    tolerated = stage.elector.check()
    stage.suspended_s = 36.0

    assert (fresh, tolerated) == (None, None)
    assert stage.elector.check() == "leading, but the last renewal is 36 s old"
    memory.open.set()


def test_who_holds_the_lease_but_does_not_get_to_lead_is_not_well(memory: Memory, stages: Callable[..., Stage]) -> None:
    memory.objects.put({**RELEASED, "spec": {"holderIdentity": "", "leaseDurationSeconds": 15}})  # so it has to settle
    stage = stages(memory).start()
    stage.pauses()
    goes_on = threading.Event()
    stage.random = lambda: 0.0 * goes_on.wait(10)  # the thread is stuck
    stage.clock.advance(35)
    tolerated = stage.elector.check()
    stage.clock.advance(1)

    assert tolerated is None
    assert stage.elector.check() == "holds the lease but does not lead"
    goes_on.set()


def test_who_left_without_a_release_is_well(memory: Memory, stages: Callable[..., Stage]) -> None:
    stage = stages(memory).start().leads()
    stage.elector.stop(Deadline.after(0, stage.clock))
    limit_s = time.monotonic() + 5
    while len(stage.voice.notes) < 2:  # "stopped leading"
        assert time.monotonic() < limit_s
        time.sleep(0.001)
    stage.clock.advance(60)

    assert holder(memory.objects) == "a"
    assert stage.elector.check() is None


def test_a_request_that_hangs_for_a_minute_longer_than_a_lease_is_not_well(
    memory: Memory, stages: Callable[..., Stage]
) -> None:
    memory.open.clear()
    stage = stages(memory).start()
    stage.clock.until_waiting(longer_than_s=PERIOD_S)
    stage.clock.advance(75)
    tolerated = stage.elector.check()
    stage.clock.advance(1)

    assert tolerated is None
    assert stage.elector.check() == "a lease request hangs for 76 s"


def test_a_candidate_without_the_right_says_so_in_its_status_and_goes_on_trying(
    memory: Memory, stages: Callable[..., Stage]
) -> None:
    memory.error = Forbidden("GET lease: 403 no", status=403)
    stage = stages(memory).start()
    for _ in range(3):
        stage.pass_time(2)

    status = stage.elector.status()

    assert (status["leading"], status["leader"], status["lastError"]) == (False, "", "GET lease: 403 no")
    memory.behave()
    for _ in range(12):  # the Lease is made, then it settles
        stage.pass_time(2)
    stage.leads()
    assert stage.elector.status()["lastError"] is None
    assert stage.elector.status()["leader"] == "a"


def test_identities_differ_even_on_one_host() -> None:
    assert make_identity() != make_identity()


def test_the_boottime_clock_never_runs_behind_the_monotonic_one() -> None:
    assert system_boottime_s() >= SystemClock().monotonic_s() - 1.0
