"""Candidates around one Lease, with everything that can go wrong: at no time may two of them write.

The server is a compare-and-swap over one object. Requests are late, lost, or go through without their answer coming back;
processes stop and go on; machines are suspended, so that one of their clocks stands still; clocks have other origins; somebody
else deletes the Lease, clears its holder, cuts its length, puts a stranger's name in, or a candidate's.
"""

from __future__ import annotations

import copy
import heapq
from collections.abc import Callable
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from controllers.runtime.election import (
    Candidate,
    Create,
    Effect,
    End,
    Leave,
    Missing,
    Moment,
    NoAnswer,
    Observation,
    Read,
    Rejected,
    Seen,
    State,
    Timing,
    Update,
    Wait,
    Woke,
    Written,
    step,
    tenure_left_s,
)
from webhook.objects.meta import Json

TIMING = Timing(15.0, 10.0, 2.0)
REQUEST_TIMEOUT_S = 5.0


class Server:
    """One Lease."""

    def __init__(self) -> None:
        self.lease: Json | None = None
        self.version = 0

    def answer(self, effect: Effect) -> Observation:
        match effect:
            case Read():
                return Missing() if self.lease is None else Seen(copy.deepcopy(self.lease))
            case Create(lease) if self.lease is None:
                return self.store(lease)
            case Update(lease) if self.lease is not None and self.is_current(lease):
                return self.store(lease)
        return Rejected()

    def is_current(self, lease: Json) -> bool:
        assert self.lease is not None
        return bool(lease["metadata"]["resourceVersion"] == self.lease["metadata"]["resourceVersion"])

    def store(self, lease: Json) -> Written:
        self.version += 1
        self.lease = copy.deepcopy(lease)
        self.lease["metadata"]["resourceVersion"] = str(self.version)
        return Written(copy.deepcopy(self.lease))

    def meddle(self, how: str, who: str) -> None:
        """What another client does."""
        if self.lease is None:
            return
        if how == "delete":
            self.lease = None
            return
        edited = copy.deepcopy(self.lease)
        match how:
            case "clear":
                edited["spec"]["holderIdentity"] = ""
                edited["spec"]["leaseDurationSeconds"] = 15
            case "cut" if edited["spec"]["holderIdentity"]:  # without a holder that would forge a release
                edited["spec"]["leaseDurationSeconds"] = 1
            case "stranger":
                edited["spec"]["holderIdentity"] = "mallory"
            case "name":  # of a candidate, as it comes: perhaps of one that has led before
                edited["spec"]["holderIdentity"] = who
            case "label":
                edited["metadata"]["labels"] = {"x": str(self.version)}
        self.store(edited)


class Replica:
    """One machine with its clocks."""

    def __init__(self, name: str, offset_s: float) -> None:
        self.name = name
        self.state = State(Candidate(name, "kube-system", "gatehouse", TIMING))
        self.offset_s = offset_s
        self.slept_s = 0.0  # while suspended
        self.frozen_until_s = 0.0
        self.suspended_at_s: float | None = None
        self.serial = 0  # of the question in flight; late answers do not fit
        self.gone = False

    def now(self, true_s: float) -> Moment:
        monotonic_s = true_s + self.offset_s - self.slept_s
        return Moment(monotonic_s, true_s + 2 * self.offset_s, true_s + self.offset_s)

    def may_write_for_s(self, true_s: float) -> float:
        return tenure_left_s(self.state, self.now(true_s))


class World:
    """Events in true time."""

    def __init__(self, random: Random, replicas: int, faults: float) -> None:
        self.random = random
        self.faults = faults
        self.server = Server()
        self.replicas = [Replica(name, random.uniform(-30, 30)) for name in "abc"[:replicas]]
        self.now_s = 0.0
        self.queue: list[tuple[float, int, Callable[[], None]]] = []
        self.number = 0
        self.busy: dict[str, float] = {}  # who wrote -> until when its requests may run
        for replica in self.replicas:
            self.at(random.uniform(0, 3), lambda replica=replica: self.think(replica, replica.serial, Woke()))
        self.at(1.0, self.disturb)

    def at(self, delay_s: float, deed: Callable[[], None]) -> None:
        self.number += 1
        heapq.heappush(self.queue, (self.now_s + delay_s, self.number, deed))

    def run(self, until_s: float) -> None:
        while self.queue and self.queue[0][0] <= until_s:
            self.now_s, _, deed = heapq.heappop(self.queue)
            deed()
            self.write()
        self.now_s = until_s

    def write(self) -> None:
        """Everybody who may writes, and its request takes as long as it is allowed to."""
        for replica in self.replicas:
            left_s = 0.0 if self.now_s < replica.frozen_until_s or replica.gone else replica.may_write_for_s(self.now_s)
            if left_s <= 0:
                continue
            others = {name: until_s for name, until_s in self.busy.items() if name != replica.name}
            assert all(until_s <= self.now_s + 1e-6 for until_s in others.values()), (replica.name, self.now_s, others)
            self.busy[replica.name] = self.now_s + min(left_s, REQUEST_TIMEOUT_S)

    def think(self, replica: Replica, serial: int, seen: Observation) -> None:
        if replica.gone or serial != replica.serial:
            return
        if self.now_s < replica.frozen_until_s:
            self.at(replica.frozen_until_s - self.now_s, lambda: self.think(replica, serial, seen))
            return
        replica.serial += 1
        replica.state, effect = step(replica.state, seen, replica.now(self.now_s), self.random.random())
        self.perform(replica, effect)

    def perform(self, replica: Replica, effect: Effect) -> None:
        serial = replica.serial
        if isinstance(effect, End):
            replica.gone = True
            return
        if isinstance(effect, Wait):
            self.at(effect.seconds, lambda: self.think(replica, serial, Woke()))
            return
        self.at(REQUEST_TIMEOUT_S, lambda: self.think(replica, serial, NoAnswer()))
        if self.chance(0.15):
            return  # never arrives
        there_s, back_s = self.delay_s(), self.delay_s()
        lost = self.chance(0.15)

        def arrive() -> None:
            answer = self.server.answer(effect)
            if not lost:
                self.at(back_s, lambda: self.think(replica, serial, answer))

        self.at(there_s, arrive)

    def disturb(self) -> None:
        self.at(self.random.uniform(0.5, 10), self.disturb)
        replica = self.random.choice(self.replicas)
        if self.chance(0.3):
            how = self.random.choice(["delete", "clear", "cut", "stranger", "name", "label"])
            self.server.meddle(how, self.random.choice(self.replicas).name)
        if self.chance(0.3):
            pause_s = self.random.choice([1.0, 8.0, 12.0, 30.0])
            if self.now_s >= replica.frozen_until_s:
                replica.frozen_until_s = self.now_s + pause_s
                if self.chance(1.0):
                    replica.slept_s += self.random.choice([0.0, pause_s])  # stopped, or the whole machine suspended
        if self.chance(0.1) and self.now_s >= replica.frozen_until_s and not replica.gone:
            self.leave(replica)

    def leave(self, replica: Replica) -> None:
        """Led work has ended; the process releases, and another one begins in its place."""
        self.busy.pop(replica.name, None)
        replica.serial += 1
        replica.state, effect = step(replica.state, Leave(), replica.now(self.now_s), 0.0)
        self.perform(replica, effect)
        fresh = Replica(f"{replica.name}'", replica.offset_s)
        self.replicas[self.replicas.index(replica)] = fresh
        self.at(self.random.uniform(0, 3), lambda: self.think(fresh, fresh.serial, Woke()))

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability * self.faults

    def delay_s(self) -> float:
        return self.random.choice([0.001, 0.01, 0.1, 4.0, 9.0, 20.0]) if self.chance(0.5) else 0.01


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32), replicas=st.integers(2, 3), faults=st.sampled_from([0.2, 1.0]))
def test_two_replicas_never_may_write_at_once(seed: int, replicas: int, faults: float) -> None:
    World(Random(seed), replicas, faults).run(until_s=300.0)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), replicas=st.integers(2, 3))
def test_when_the_trouble_is_over_one_of_them_leads(seed: int, replicas: int) -> None:
    world = World(Random(seed), replicas, 1.0)
    world.run(until_s=120.0)
    world.faults = 0.0

    # What is still late (20 s), a pause (30 s), a stranger's lease (15 s), then settling (15 s) and some periods.
    world.run(until_s=220.0)

    leaders = [replica.name for replica in world.replicas if replica.may_write_for_s(world.now_s) > 0]
    assert len(leaders) == 1


def test_clocks_half_a_minute_apart_change_nothing_and_a_dead_leader_is_replaced_in_time() -> None:
    world = World(Random(7), 2, 0.0)
    world.replicas[0].offset_s, world.replicas[1].offset_s = 30.0, -30.0
    world.run(until_s=60.0)
    first, second = sorted(world.replicas, key=lambda replica: -replica.may_write_for_s(world.now_s))
    before = (first.may_write_for_s(world.now_s) > 0, second.may_write_for_s(world.now_s) > 0)

    first.gone = True  # kill -9
    world.run(until_s=60.0 + TIMING.lease_duration_s + TIMING.retry_period_s)

    assert before == (True, False)
    assert second.may_write_for_s(world.now_s) > 0
