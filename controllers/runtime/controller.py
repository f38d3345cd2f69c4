"""A controller's life: keys come from caches into a queue, workers take them through `reconcile`.

    controller = Controller("edge-health", reconcile, [informer_source(nodes, node_keys)], telemetry, clock, on_death,
                            leadership=elector.guard, waits_for=[nodes.synced_event])
    controller.start(); ...; controller.stop(deadline)

Each start begins afresh: a new queue, and every object of the caches as a key of low priority. So a replica that leads again
after it has lost the lease looks at everything once. Nothing is taken from the queue before the caches have synced.

Threads: `controller/<name>/<n>`; the first one also subscribes to the caches. `start`, `stop` and `signal_stop` belong to the
elector (led) or the supervisor; `add`, `check` and `is_alive` to anyone.
Errors:  a fault of `reconcile` is a backoff; anything else that ends a worker goes to `on_death`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

import attrs

from controllers.runtime.errors import ApiError, Cancelled, InformerStopped, OnDeath
from controllers.runtime.freshness import OwnWrites
from controllers.runtime.informer import Informer
from controllers.runtime.limiters import Limiter
from controllers.runtime.reconcile import (
    Context,
    Done,
    Failed,
    Key,
    Leadership,
    Reconcile,
    ReconcileMetrics,
    RequeueAfter,
    Terminal,
    Unguarded,
    Verdict,
    behind_interceptors,
)
from controllers.runtime.resource import F
from controllers.runtime.store import Addition, Change, Update
from controllers.runtime.workqueue import FIRST_LIST, LIVE, WorkQueue
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("controller")

SYNC_POLL_S = 0.1  # a thread can wait for one event only, and that is its stop
STUCK_AFTER_S = 60.0  # beyond its deadline: then a pass has hung

AddKey = Callable[[Key, int], None]  # key, priority
Detach = Callable[[], None]
Source = Callable[[AddKey], Detach]  # subscribes; the answer ends the subscription


@attrs.frozen
class Policy:
    """How a controller works. Seconds."""

    workers: int = 1
    timeout_s: float = 30.0  # of one pass


def informer_source(
    informer: Informer[F], keys: Callable[[Change[F]], Iterable[Key]], urgency: Callable[[Key], int] = lambda key: LIVE
) -> Source:
    """The keys that each change of *informer* concerns; first those of everything it has.

    keys, urgency: called on the reflector's thread; must not block. Objects that merely exist, and changes of fields that we do
    not keep, come behind what has really happened; a key whose *urgency* is above LIVE goes before all of it.
    """

    def attach(add: AddKey) -> Detach:
        def handle(change: Change[F]) -> None:
            priority = FIRST_LIST if _is_old_news(change) else LIVE
            for key in keys(change):
                urgent = urgency(key)
                add(key, urgent if urgent > LIVE else priority)

        registration = informer.add_handler(handle)
        return lambda: _ignore(informer.remove_handler(registration))

    return attach


def memory_source(forget: Detach, begin: Callable[[], None] = lambda: None) -> Source:
    """No source of keys: what a controller remembers ends when it stops, for then another replica may lead.

    begin: called when it starts.
    """

    def attach(add: AddKey) -> Detach:
        begin()
        return forget

    return attach


def _is_old_news(change: Change[F]) -> bool:
    match change:
        case Addition(initial=initial):
            return initial
        case Update(old, item):
            return old.facts == item.facts
    return False


def _ignore(_: object) -> None:
    pass


class Controller:
    """One controller. Implements `elector.LedWork`."""

    def __init__(
        self,
        name: str,
        reconcile: Reconcile,
        sources: Sequence[Source],
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
        *,
        leadership: Leadership = Unguarded(),
        waits_for: Sequence[threading.Event] = (),
        own_writes: OwnWrites | None = None,
        policy: Policy = Policy(),
        limiter: Callable[[], Limiter[Key]] | None = None,
    ) -> None:
        """waits_for: the `synced_event`s of the caches that *reconcile* reads. limiter: makes the one of each start."""
        self.name = f"controller/{name}"
        self._label = name
        self._metrics = ReconcileMetrics(name, telemetry, policy.workers)
        self._pass = behind_interceptors(reconcile, self._metrics)
        self._sources = tuple(sources)
        self._telemetry = telemetry
        self._clock = clock
        self._on_death = on_death
        self._leadership = leadership
        self._waits_for = tuple(waits_for)
        self._own_writes = own_writes
        self._policy = policy
        self._make_limiter = limiter
        self._lock = threading.Lock()  # guards _run
        self._run: _Run | None = None

    # -- called by anyone

    def add(self, key: Key, *, priority: int = LIVE) -> None:
        """Let *key* be reconciled soon. Ignored while stopped: the next start looks at everything anyway."""
        run = self._run
        if run is not None:
            run.queue.add(key, priority=priority)

    @property
    def running(self) -> bool:
        """Whether it was started and not told to stop."""
        run = self._run
        return run is not None and not run.stopping.is_set()

    def __len__(self) -> int:
        """Keys in line."""
        run = self._run
        return 0 if run is None else len(run.queue)

    def is_alive(self) -> bool:
        """False when a worker has ended that should not have."""
        run = self._run
        return run is None or run.stopping.is_set() or all(thread.is_alive() for thread in run.threads)

    def check(self) -> str | None:
        """The health of the service `name`: what is wrong, None when nothing is. A controller that stands by is well."""
        run = self._run
        if run is None or run.stopping.is_set():
            return None
        if not self.is_alive():
            return "a worker has ended"
        longest_s = run.queue.longest_running_s()
        limit_s = self._policy.timeout_s + STUCK_AFTER_S
        return f"a pass has been running for {longest_s:.0f} s" if longest_s > limit_s else None

    # -- called by the owner: elector or supervisor

    def start(self) -> None:
        """Start the workers. Returns at once. Raises RuntimeError when the former ones still run."""
        with self._lock:
            run = self._begin()
            for number in range(self._policy.workers):
                thread = threading.Thread(target=self._work, args=(run, number), name=f"{self.name}/{number}", daemon=True)
                run.threads.append(thread)
        for thread in run.threads:
            thread.start()
        log.info("controller started", controller=self._label, workers=self._policy.workers)

    def signal_stop(self) -> None:
        """Ask the workers to end after the pass that they are in. Never blocks; safe to repeat."""
        run = self._run
        if run is not None:
            run.stopping.set()
            run.queue.shut_down()

    def stop(self, deadline: Deadline) -> bool:
        """End the workers: whether all ended before *deadline*. What was in line is left to the next start."""
        self.signal_stop()
        run = self._run
        if run is None:
            return True
        for thread in run.threads:
            thread.join(deadline.remaining_s())
        if any(thread.is_alive() for thread in run.threads):
            return False
        run.detach()
        with self._lock:
            self._run = None
        log.info("controller stopped", controller=self._label)
        return True

    def run_ready(self) -> int:
        """Reconcile everything that is in line now, on the calling thread: the number of passes. For tests, instead of `start`.

        Keys whose time has not come stay; advance the clock and call again. End with `stop`.
        """
        with self._lock:
            run = self._run or self._begin()
        run.attach(self._sources)
        passes = 0
        while (key := run.queue.get_ready()) is not None:
            self._take(run, key)
            passes += 1
        return passes

    # -- called by the workers

    def _begin(self) -> _Run:
        if self._run is not None:
            raise RuntimeError(f"{self.name} has not ended yet")
        limiter = None if self._make_limiter is None else self._make_limiter()
        self._run = _Run(WorkQueue[Key](self._label, self._telemetry, self._clock, limiter))
        return self._run

    def _work(self, run: _Run, number: int) -> None:
        try:
            if not self._synced(run):
                return
            if number == 0:
                run.attach(self._sources)
                run.attached.set()
            run.attached.wait()
            while not run.stopping.is_set():
                key = run.queue.get()
                if key is None:
                    return
                self._take(run, key)
        except InformerStopped:
            log.info("the caches have stopped", controller=self._label)
        except BaseException as error:  # the thread's top frame
            log.error("worker died", exc_info=error, controller=self._label)
            self._on_death(f"{self.name}/{number}", error)
        finally:
            if number == 0:
                run.attached.set()  # it has ended before: nobody waits for it

    def _synced(self, run: _Run) -> bool:
        while not all(event.is_set() for event in self._waits_for):
            if self._clock.wait(run.stopping, SYNC_POLL_S):
                return False
        return not run.stopping.is_set()

    def _take(self, run: _Run, key: Key) -> None:
        try:
            if run.stopping.is_set():
                return
            wait_s = 0.0 if self._own_writes is None else self._own_writes.wait_s(key)
            if wait_s > 0:
                run.queue.add_after(key, wait_s, priority=run.queue.priority(key))
                return
            failures = run.queue.failures(key)
            deadline = Deadline.after(self._policy.timeout_s, self._clock)
            context = Context(
                self._label,
                deadline,
                self._clock,
                self._leadership,
                log,
                failures,
                stopping=run.stopping.is_set,
                waiting=run.queue.waits,
            )
            self._settle(run, key, self._pass(key, context))
        finally:
            run.queue.done(key)

    def _settle(self, run: _Run, key: Key, verdict: Verdict) -> None:
        match verdict:
            case Failed(error):
                if not isinstance(error, Cancelled):  # only a stop cancels
                    asked_s = error.retry_after_s if isinstance(error, ApiError) else None
                    run.queue.add_rate_limited(key, at_least_s=asked_s or 0.0)
            case Terminal(reason):
                run.queue.forget(key)
                log.error("no retry helps", controller=self._label, key=key, why=reason)
            case RequeueAfter(seconds, priority):
                run.queue.forget(key)
                run.queue.add_after(key, seconds, priority=priority)
            case Done():
                run.queue.forget(key)


class _Run:
    """What lives from one start to its stop."""

    def __init__(self, queue: WorkQueue[Key]) -> None:
        self.queue = queue
        self.stopping = threading.Event()
        self.threads: list[threading.Thread] = []
        # Sources keep indexes that a pass reads: one over the first half of what is there would take it for all there is.
        self.attached = threading.Event()
        self._attached: list[Detach] | None = None  # touched by worker 0, then by who joined it

    def attach(self, sources: Sequence[Source]) -> None:
        """Subscribe, once."""
        if self._attached is None:
            self._attached = []
            for source in sources:
                self._attached.append(source(lambda key, priority: self.queue.add(key, priority=priority)))

    def detach(self) -> None:
        """End the subscriptions."""
        for end in self._attached or ():
            end()
        self._attached = None
