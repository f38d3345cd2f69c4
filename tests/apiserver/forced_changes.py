"""What is done to replicas, to their Lease and to the API server so that the leadership changes, one thing at a time.

Each change begins with a leader, and ends when there is one again that has written something, with a process in every seat.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Mapping
from random import Random

import attrs

from tests.apiserver.replicas import LEASE, Seat, Timing
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.components import APISERVER

LEADS_WITHIN_S = 60.0  # a bound, never an expectation
LOOK_ON_S = 1.0
GARBAGE: tuple[Json, ...] = (
    # The most transitions that the API server stores: one more would be refused.
    {"spec": {"leaseTransitions": 2**31 - 1, "renewTime": "2999-12-31T23:59:59.999999Z"}},
    {"spec": {"acquireTime": None, "renewTime": None, "leaseTransitions": None}},
    {"spec": {"leaseDurationSeconds": 1}},
    {"spec": {"leaseDurationSeconds": 2**31 - 1}, "metadata": {"labels": None, "annotations": {"edited": "by hand"}}},
    {"spec": {"leaseDurationSeconds": None, "renewTime": "1970-01-01T00:00:00.000000Z"}},
)


@attrs.frozen
class Mark:
    """One change: what was done, to whom, from when to when (seconds since the epoch). user: who led before."""

    kind: str
    seat: str
    user: str
    begin_s: float
    end_s: float


@attrs.define
class Stage:
    """Everything that a change can get hold of."""

    cluster: Cluster
    admin: Api
    seats: list[Seat]
    timing: Timing
    random: Random
    pauses: list[tuple[float, float]] = attrs.field(factory=list)  # of the API server
    marks: list[Mark] = attrs.field(factory=list)

    def leader(self, but: Seat | None = None) -> Seat:
        """Who leads, as soon as somebody does (somebody else than *but*)."""
        found: list[Seat] = []

        def met() -> bool:
            found[:] = [seat for seat in self.seats if seat is not but and seat.leads()]
            return len(found) == 1

        try:
            wait_for(met, LEADS_WITHIN_S, "a leader")
        except AssertionError as fault:
            logs = "\n".join(f"{seat.name}:\n{seat.replica.log()[-2000:]}" for seat in self.seats)
            raise AssertionError(f"{fault}, after {[mark.kind for mark in self.marks]}:\n{logs}") from None
        return found[0]

    def change(self, kind: str) -> None:
        """Make the change *kind* of CHANGES."""
        before = self.leader()
        begin_s = CHANGES[kind](self, before)
        end_s = time.time()
        self.settle()
        self.marks.append(Mark(kind, before.name, before.user, begin_s, end_s))

    def settle(self) -> None:
        """Wait until somebody leads and writes."""
        wait_for(self._leader_writes, LEADS_WITHIN_S, "led writes")

    def _leader_writes(self) -> bool:
        leader = self.leader()
        try:
            before = leader.has_written()
            time.sleep(LOOK_ON_S)
            return leader.leads() and leader.has_written() > before
        except OSError:
            return False


def _kill(stage: Stage, leader: Seat) -> float:
    at_s = leader.signal(signal.SIGKILL)
    stage.leader(but=leader)
    leader.start()
    return at_s


def _leave(stage: Stage, leader: Seat) -> float:
    at_s = leader.signal(signal.SIGTERM)
    stage.leader(but=leader)
    process = leader.replica.process
    if not process.wait(45.0) or process.exit_code:
        raise AssertionError(f"{leader.name} left with {process.exit_code}:\n{leader.replica.log()}")
    leader.start()
    return at_s


def _freeze(stage: Stage, leader: Seat) -> float:
    """Until somebody else has led for a while."""
    at_s = leader.signal(signal.SIGSTOP)
    stage.leader(but=leader)
    time.sleep(LOOK_ON_S)
    leader.signal(signal.SIGCONT)
    leader.away.clear()
    return at_s


def _nap(stage: Stage, leader: Seat) -> float:
    """About as long as the lease, whoever leads then."""
    timing = stage.timing
    at_s = leader.signal(signal.SIGSTOP)
    time.sleep(stage.random.uniform(timing.renew_deadline_s - 0.5, timing.lease_duration_s + 1.5))
    leader.signal(signal.SIGCONT)
    leader.away.clear()
    return at_s


def _pause(stage: Stage, leader: Seat) -> float:
    """The API server stands still for longer than the lease."""
    at_s = time.time()
    stage.cluster.suspend(APISERVER)
    try:
        time.sleep(stage.timing.lease_duration_s + stage.random.uniform(0.5, 3.0))
    finally:
        stage.cluster.resume(APISERVER)
    stage.pauses.append((at_s, time.time()))
    return at_s


def _delete(stage: Stage, leader: Seat) -> float:
    at_s = time.time()
    stage.admin.delete(LEASE)
    time.sleep(stage.timing.retry_period_s)
    return at_s


def _edit(edit: Callable[[Stage], Json]) -> Callable[[Stage, Seat], float]:
    def make(stage: Stage, leader: Seat) -> float:
        at_s = time.time()
        stage.admin.patch(LEASE, edit(stage))
        time.sleep(2 * stage.timing.retry_period_s)  # whoever leads has to notice
        return at_s

    return make


def _usurped(stage: Stage) -> Json:
    return {"spec": {"holderIdentity": "somebody-else", "leaseDurationSeconds": stage.timing.lease_duration_s}}


def _garbled(stage: Stage) -> Json:
    return GARBAGE[sum(mark.kind == "garbled" for mark in stage.marks) % len(GARBAGE)]


CHANGES: Mapping[str, Callable[[Stage, Seat], float]] = {
    "killed": _kill,
    "left": _leave,
    "frozen": _freeze,
    "napped": _nap,
    "API server paused": _pause,
    "lease deleted": _delete,
    "usurped": _edit(_usurped),
    "holder cleared": _edit(lambda stage: {"spec": {"holderIdentity": ""}}),
    "garbled": _edit(_garbled),
    "emptied": _edit(lambda stage: {"spec": None}),
}
