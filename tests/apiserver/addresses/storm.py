"""A thousand pods created at once, deleted and created again, while replicas are killed: rounds, and what came of each.

Of the 20 apps every fourth has one of four habits: addresses from an AddressPool or from a list of its own, pods whose names
come back or names that the API server makes. Nobody runs the pods, so they are gone as soon as they are deleted.
"""

from __future__ import annotations

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import attrs

from tests.apiserver.addresses import objects
from tests.apiserver.addresses.stage import Stage
from tests.apiserver.audit import AuditLog
from tests.apiserver.replicas import Seat
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import create_namespace, pods_path
from tests.cluster import ApiError, Json
from tests.server.figures import Figures

APPS, PODS = 20, 50  # of each app
CLIENTS = 32
SPARE = 10  # addresses of each app that are added where a kill leaves reservations behind
WITHIN_S = 180.0
PAUSE_S = 0.5  # of a client that was refused
Say = Callable[[str], None]


@attrs.frozen
class App:
    """One of them."""

    number: int
    namespace: str

    @property
    def name(self) -> str:
        return f"{self.namespace}-{self.number}"

    @property
    def from_pool(self) -> bool:
        return self.number % 2 == 0

    @property
    def named(self) -> bool:
        """Whether its pods have names that come back."""
        return self.number % 4 < 2

    def range(self, spare: int) -> str:
        """Its addresses, in the way of a label."""
        return f"10.100.{self.number}.1-{PODS + spare}"

    def body(self, number: int, spare: int) -> Json:
        """One of its pods."""
        asks = objects.from_pool(self.name) if self.from_pool else objects.from_list(self.range(spare))
        return objects.pod(f"{self.name}-{number if self.named else ''}", {"app": self.name} | asks)


@attrs.frozen
class Round:
    """What came of creating every pod once."""

    pods: list[Json]
    reservations: list[Json]
    seconds: float
    refused: Counter[str]  # what clients were told, the beginnings of it
    posts: int
    patches: int
    replicas_counted: float  # posts by our own metric; less than `posts` when a replica was killed
    bound_s: float  # until the leader had seen every pod

    @property
    def posts_per_pod(self) -> float:
        return self.posts / max(1, len(self.pods))

    def complaints(self) -> list[str]:
        """Everything that must not be."""
        held = Counter(objects.address(pod) for pod in self.pods)
        kept = {one["spec"]["ip"]: one["spec"]["reservationKey"] for one in self.reservations}
        found = [f"{address} was given to {times} pods" for address, times in held.items() if times > 1]
        found += [f"{APPS * PODS - len(self.pods)} pods are missing"] if len(self.pods) != APPS * PODS else []
        for pod in self.pods:
            address, app = objects.address(pod), pod["metadata"]["labels"]["app"].rpartition("-")[2]
            if not address.startswith(f"10.100.{app}."):
                found.append(f"{pod['metadata']['name']} has {address}, which is not its app's")
            if kept.get(address) != objects.key(pod):
                found.append(f"{pod['metadata']['name']} has {address}, whose reservation has another key")
        return found

    def show(self, figures: Figures, what: str, *, strict: bool) -> None:
        """Into the table; *strict*: without kills."""
        ratio = f"{self.posts_per_pod:.2f}"
        figures.add(f"{what}: reservation POSTs a pod", ratio, "<= 1.30" if strict else "any", self.posts_per_pod <= 1.3)
        figures.add(f"{what}: the leader's PATCHes", str(self.patches), "any", True)
        speed = f"{len(self.pods) / self.seconds:.0f}/s, {self.seconds:.1f} s"
        figures.add(f"{what}: creates", speed, "any", True)
        figures.add(f"{what}: bound after", f"{self.bound_s:.1f} s", "any", True)


@attrs.frozen
class Rounds:
    """What the short form does."""

    namespace: str
    first: Round  # pools that just fit, nobody killed
    again: Round  # with addresses to spare, and a replica killed meanwhile
    freed_s: tuple[float, ...]
    ended_s: float  # monotonic


class Storm:
    """The apps of one namespace."""

    def __init__(self, stage: Stage, namespace: str, say: Say = print) -> None:
        self.stage = stage
        self.namespace = namespace
        self.apps = [App(number, namespace) for number in range(APPS)]
        self._say = say
        self._pods = pods_path(namespace)
        create_namespace(stage.api, namespace)
        self.set_spare(0)

    def set_spare(self, spare: int) -> None:
        """Give each app so many addresses more than it needs."""
        self._spare = spare
        for app in self.apps:
            if app.from_pool:
                objects.make_pool(self.stage.api, app.name, app.range(spare))

    def create(self, after: int = 0, kill: Callable[[], Seat] | None = None) -> Round:
        """All pods at once; *kill* says which replica dies when *after* of them are there."""
        since, begin_s, counted = AuditLog(self.stage.cluster.audit_log).from_now(), time.monotonic(), self._counted()
        refused: Counter[str] = Counter()
        made, enough = threading.Semaphore(0), threading.Event()
        work = [(app, number) for app in self.apps for number in range(PODS)]
        random.Random(CLIENTS).shuffle(work)
        with self._killing(made, after, kill, enough), ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda one: self._insist(one[0], one[1], refused, made), work))
            enough.set()
        seconds = time.monotonic() - begin_s
        bound_s = wait_for(self._all_bound, 60.0, "every reservation bound")
        pods, kept = objects.pods(self.stage.api, self.namespace), objects.reservations(self.stage.api, self.namespace)
        patches = sum(count for (verb, _, _), count in self.stage.requests(since).items() if verb == "patch")
        posts = self.stage.posts(since)
        done = Round(pods, kept, seconds, refused, posts, patches, self._counted() - counted, bound_s)
        self._say(f"{len(pods)} pods in {seconds:.1f} s, {posts} POSTs, refused: {dict(refused)}")
        return done

    def delete(self, kill: Callable[[], Seat] | None = None, *, until_free: bool = True) -> float:
        """All pods; the seconds until what they had is free too. *kill* says who dies meanwhile.

        An address whose create was cut off by a kill, and tried again, may come free as late as after its expiry.
        """
        begin_s = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as clients:  # one request for all would be one after the other
            list(clients.map(lambda app: self.stage.api.delete(f"{self._pods}?labelSelector=app={app.name}"), self.apps))
        if kill is not None:
            self.kill(kill())
        wait_for(lambda: not objects.pods(self.stage.api, self.namespace), 60.0, "every pod gone")
        if until_free:
            wait_for(lambda: not self._held(), WITHIN_S, "the addresses given back")
        self._say(f"all deleted after {time.monotonic() - begin_s:.1f} s")
        return time.monotonic() - begin_s

    def kill(self, seat: Seat) -> None:
        """kill -9, and a new process in its place."""
        seat.signal(signal.SIGKILL)
        self._say(f"killed {seat.name}")
        seat.start()

    def _insist(self, app: App, number: int, refused: Counter[str], made: threading.Semaphore) -> None:
        """Create a pod as a controller does: again and again."""
        end_s = time.monotonic() + WITHIN_S
        while True:
            try:
                objects.create(self.stage.api, self.namespace, app.body(number, self._spare))
                break
            except ApiError as error:
                if error.reason == "AlreadyExists":
                    break
                if time.monotonic() > end_s:
                    raise
                refused[f"{error.status} {str(error).partition(': ')[2][4:100]}"] += 1
                time.sleep(PAUSE_S)
        made.release()

    @contextmanager
    def _killing(
        self, made: threading.Semaphore, after: int, kill: Callable[[], Seat] | None, enough: threading.Event
    ) -> Iterator[None]:
        """Inside the block a thread waits for *after* pods, then kills."""

        def watch() -> None:
            for _ in range(after):
                while not made.acquire(timeout=0.2):
                    if enough.is_set():
                        return
            self.kill(kill() if kill else self.stage.other())

        if kill is None:
            yield
            return
        with ThreadPoolExecutor(1) as killer:
            killed = killer.submit(watch)
            yield
        killed.result()

    def _counted(self) -> float:
        return self.stage.total("gatehouse_address_reservation_posts_total")

    def _all_bound(self) -> bool:
        """Whether each pod's reservation is bound. A killed replica's are left over, and bound to nobody."""
        bound = [one for one in self._reservations() if one.get("status", {}).get("phase") == "Bound"]
        return len(bound) >= len(objects.pods(self.stage.api, self.namespace))

    def _held(self) -> list[Json]:
        """Reservations that a pod had."""
        return [one for one in self._reservations() if one.get("status", {}).get("phase") == "Bound"]

    def _reservations(self) -> list[Json]:
        return objects.reservations(self.stage.api, self.namespace)
