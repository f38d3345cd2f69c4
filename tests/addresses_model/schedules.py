"""One random history, and what has to be true when all has calmed down. The number of a history is all that it depends on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from random import Random
from typing import Final

import attrs

from controllers.pod_ip.plan import StatefulSetFacts, is_wanted
from tests.addresses_model.leader import Leader
from tests.addresses_model.replicas import BARE, Replica, Wanted, admission, foreseeing
from tests.addresses_model.world import NAMESPACE, Pod, Violation, World
from tests.webhook.addresses.allocations import is_free
from webhook.addresses.address import Address
from webhook.addresses.facts import Phase, PodOwner, PoolFacts, ReservationFacts
from webhook.addresses.keys import STATEFUL_SET
from webhook.addresses.marks import Marks
from webhook.addresses.ranges import AddressSet, Span


def _pool(name: str, *addresses: tuple[str, int], cooldown_s: float = 0.0, expiry_s: float = 60.0) -> PoolFacts:
    spans = []
    for first, size in addresses:
        start = Address.parse(first)
        spans.append(Span(start.version, start.value, start.value + size - 1))
    return PoolFacts(name, name, 1, AddressSet.of(spans), cooldown_s=cooldown_s, expiry_s=expiry_s)


POOLS: Final = [
    _pool("web", ("10.0.0.1", 3)),
    _pool("dual", ("10.0.1.1", 3), ("fd00::1", 2), cooldown_s=30.0),
]
ADDRESSES: Final = [address for pool in POOLS for address in pool.addresses]
OWNERS: Final = [PodOwner("ReplicaSet", "web-1", "u-web-1"), PodOwner("ReplicaSet", "web-2", "u-web-2")]
BARE_NAMES: Final = ("alone", "also")
SET: Final = "db"
NAMES: Final = (*BARE_NAMES, *(f"{SET}-{number}" for number in range(3)))
STEPS: Final = 90
JUMPS_S: Final = (5.0, 45.0, 61.0, 70.0, 130.0)
FEW: Final = 60  # steps among namesakes: what they want is reserved soon
SHORT_S: Final = (1.0, 5.0, 9.0, 20.0)  # creates survive these
SPEEDS: Final = (1.0, 1.0, 0.5, 0.05)  # of caches: some hardly hear anything
SKEWS_S: Final = (0.0, 0.0, -61.0, 61.0, 130.0, 7200.0)  # of wall clocks: some by an expiry
# Rounds without a write; each is longer than any expiry and cooldown, and two of them than what two clocks may differ by when
# the leader heeds the date of a claim: 191 s.
QUIET: Final = 2
ROUNDS: Final = 40  # of quiet, each after an expiry: far more than any chain of releases is long


class Schedule:
    """A cluster of two replicas and a leader, and everything that goes on in it."""

    def __init__(self, number: int, steps: int = STEPS) -> None:
        self.random = Random(number)
        self.steps = steps
        self.world = World(self.random)
        self.replicas = [Replica(self.world, f"replica-{name}", self.random.choice(SKEWS_S)) for name in "ab"]
        self.leader = self.elected()
        self.creates: list[Generator[None, None, None]] = []
        self.turns: list[Generator[None, None, bool]] = []  # of the leader, and of those who led before
        self.late: list[Callable[[], object]] = []
        self.told: list[Wanted] = []
        self.speeds = self.random.choices(SPEEDS, k=len(self.followers()))
        self.world.put_set(StatefulSetFacts(NAMESPACE, SET, "s1", 2))
        self.choices = [
            (34, self.advance),
            (16, self.hear),
            (12, self.lead),
            (9, self.create),
            (6, self.end_pod),
            (4, self.pass_time),
            (2, self.scale),
            (2, self.arrive_late),
            (1, self.kill),
            (1, self.depose),
            (1, self.dry_run),
            (1, self.list_again),
            (1, self.take_marks_off),
            (0.5, self.create_without_asking),
            (0.3, self.write_by_hand),
            (0.2, self.delete_by_hand),
        ]
        self.doings = [doing for _, doing in self.choices]
        self.weights = [weight for weight, _ in self.choices]

    def run(self) -> None:
        """Live through it. Raises Violation."""
        for doing in self.random.choices(self.doings, self.weights, k=self.steps):
            self.world.now_s += self.random.random() * 0.2
            doing()
        self.calm_down()
        self.check()

    # -- what may happen

    def advance(self) -> None:
        if self.creates:
            create = self.random.choice(self.creates)
            for _ in range(self.random.randrange(1, 4)):
                if next(create, self) is self:
                    self.creates.remove(create)
                    return

    def hear(self) -> None:
        (follower,) = self.random.choices(self.followers(), self.speeds)
        follower.hear(self.random.randrange(1, 5))

    def lead(self) -> None:
        if not self.turns or self.random.random() < 0.3:
            reserved = list(self.world.reservations.items)
            hot = reserved and self.random.random() < 0.8
            self.turns.append(self.leader.pass_over(self.random.choice(reserved if hot else ADDRESSES)))
        turn = self.random.choice(self.turns)
        for _ in range(self.random.randrange(1, 5)):
            if next(turn, self) is self:
                self.turns.remove(turn)
                return

    def create(self) -> None:
        if len(self.creates) < 6:
            wanted = self.wanted()
            self.creates.append(admission(self.world, self.replicas, wanted, self.told, self.late, self.creates))

    def end_pod(self) -> None:
        pods = list(self.world.pods)
        if not pods:
            return
        pod: Pod = self.random.choice(pods)
        if self.random.random() < 0.2 and pod.phase == "Running":
            self.world.put_pod(attrs.evolve(pod, phase=self.random.choice(("Succeeded", "Failed"))))
        elif not pod.deleting and self.random.random() < 0.5:
            self.world.put_pod(attrs.evolve(pod, deleting=True))
        else:
            self.world.remove_pod(pod)

    def pass_time(self) -> None:
        self.world.now_s += self.random.choice(SHORT_S if self.creates and self.random.random() < 0.6 else JUMPS_S)

    def scale(self) -> None:
        facts: StatefulSetFacts | None = self.world.sets.get(SET)
        if facts is None or self.random.random() < 0.2:
            if facts is not None:
                self.world.sets.remove(SET)
            if self.random.random() < 0.7:
                self.world.put_set(StatefulSetFacts(NAMESPACE, SET, f"s{self.world.number()}", 1))
            return
        self.world.put_set(attrs.evolve(facts, replicas=self.random.randrange(4)))

    def arrive_late(self) -> None:
        if self.late:
            self.late.pop(self.random.randrange(len(self.late)))()

    def kill(self) -> None:
        self.random.choice(self.replicas).start()

    def depose(self) -> None:
        if self.random.random() < 0.5:
            self.turns.clear()  # killed; else what it has begun is still carried out
        self.leader = self.elected()

    def dry_run(self) -> None:
        foreseeing(self.random.choice(self.replicas), self.wanted(), self.told)

    def list_again(self) -> None:
        self.random.choice(self.followers()).list_again()

    def take_marks_off(self) -> None:
        """Somebody edits a pod that ends. Admission lets finished ones; of the others only those that it was not asked about,
        of which the leader knows the name."""
        pods = [pod for pod in self.world.pods if pod.deleting or not pod.is_live]
        if not pods:
            return
        pod: Pod = self.random.choice(pods)
        if not pod.is_live or pod.name in NAMES:
            self.world.put_pod(attrs.evolve(pod, marks=Marks()))

    def create_without_asking(self) -> None:
        """The label is gone from the template."""
        facts: StatefulSetFacts | None = self.world.sets.get(SET)
        name = self.random.choice(NAMES)
        if name in BARE_NAMES:
            self.world.persist(name, Marks(), BARE)
        elif facts is not None:
            self.world.persist(name, Marks(), PodOwner(STATEFUL_SET, SET, facts.uid))

    def write_by_hand(self) -> None:
        address = self.random.choice(ADDRESSES)
        marks = Marks("", (address,), address.name)
        self.world.persist(f"hand-{self.world.number()}", marks, BARE, by_hand=True)

    def delete_by_hand(self) -> None:
        reservations = list(self.world.reservations)
        if reservations:
            lost = self.random.choice(reservations)
            self.world.tainted.add(lost.address)
            self.world.delete(lost)

    # -- of what it is made

    def wanted(self) -> Wanted:
        random, marks = self.random, Marks(asks=True)
        pool = random.choice(POOLS)
        if self.told and random.random() < 0.2:  # somebody creates from what a pod looks like
            copied = random.choice(self.told[-4:])
            if random.random() < 0.6:
                return copied
            marks = copied.marks
        kind = random.random()
        if kind < 0.4:
            return Wanted(pool, random.choice(OWNERS), marks=marks)
        facts: StatefulSetFacts | None = self.world.sets.get(SET)
        if kind < 0.65 and facts is not None and facts.replicas:
            name = f"{SET}-{random.randrange(facts.replicas)}"
            return Wanted(POOLS[-1], PodOwner(STATEFUL_SET, SET, facts.uid), name, marks)
        return Wanted(pool, BARE, random.choice(BARE_NAMES), marks)

    def elected(self) -> Leader:
        """A leader that knows nothing yet."""
        replica = self.random.choice(self.replicas)
        return Leader(self.world, POOLS, replica.identity, replica.skew_s)

    def followers(self) -> list:
        caches = [self.leader.reservations, self.leader.pods, self.leader.sets]
        return caches + [cache for one in self.replicas for cache in (one.reservations, one.pods)]

    # -- at the end

    def calm_down(self) -> None:
        """No new pods, nothing is lost any more, and time passes until the leader has nothing left to do."""
        for create in self.creates:
            for _ in create:
                pass
        for turn in self.turns:
            for _ in turn:
                pass
        for arrives in self.late:
            arrives()
        idle = 0
        for _ in range(ROUNDS):
            self.world.now_s += 125.0
            idle = 0 if self.quiet_round() else idle + 1
            if idle > QUIET:
                return
        raise Violation("the leader finds no end")

    def quiet_round(self) -> bool:
        for follower in self.followers():
            follower.hear(10_000)
        acted = False
        for address in ADDRESSES:
            turn = self.leader.pass_over(address)
            while True:
                try:
                    next(turn)
                except StopIteration as end:
                    acted = end.value or acted
                    break
        return acted

    def check(self) -> None:
        """Whoever lives has what it carries, and nobody else has anything."""
        live = self.world.live_addresses()
        sets = {one.name: one for one in self.world.sets}
        reservations = {one.address: one for one in self.world.reservations}
        for address in live - reservations.keys():
            raise Violation(f"{address.text} is carried and not reserved")
        for address, reservation in reservations.items():
            if address in live:
                if reservation.phase is not Phase.BOUND and address not in self.world.tainted:
                    raise Violation(f"{address.text} is carried, and {reservation.phase}")
            elif namesakes := [pod for pod in self.world.pods if pod.is_live and _is_named(pod, reservation)]:
                if not namesakes[0].deleting and not namesakes[0].uses and reservation.bound_uid != namesakes[0].uid:
                    raise Violation(f"{address.text} is kept for {namesakes[0].name}, which has stopped asking")
            elif not is_wanted(reservation, sets.get(reservation.owner.name)):
                raise Violation(f"{address.text} is reserved for nobody: {reservation}")
        for replica in self.replicas:
            for address in ADDRESSES:
                if is_free(replica.book, address) is (address in reservations or address in live):
                    raise Violation(f"{replica.identity} is wrong about {address.text}")


class Namesakes(Schedule):
    """Everybody wants the same two pods, and caches are quick: what the calls for one name do to each other."""

    WEIGHTS: Final = {"create": 20, "hear": 25, "lead": 3, "pass_time": 1}

    def __init__(self, number: int, steps: int) -> None:
        super().__init__(number, steps)
        self.weights = [self.WEIGHTS.get(doing.__name__, weight) for weight, doing in self.choices]

    def wanted(self) -> Wanted:
        return Wanted(POOLS[-1], BARE, self.random.choice(BARE_NAMES), Marks(asks=True))


class Hurried(Schedule):
    """Nobody has the time to ask again."""

    def __init__(self, number: int, steps: int) -> None:
        super().__init__(number, steps)
        self.world.retries = False


def _is_named(pod: Pod, reservation: ReservationFacts) -> bool:
    return (pod.name, pod.owner.uid) == (reservation.pod_name, reservation.owner.uid)


def run(number: int, steps: int = STEPS, kind: type[Schedule] = Schedule) -> World:
    """History *number* of its kind; a violation names it."""
    schedule = kind(number, steps)
    try:
        schedule.run()
    except Violation as violation:
        raise Violation(f"schedule {number} of {steps} steps: {violation}") from violation
    return schedule.world
