"""Keys to work on: each at most once in the queue and in one worker at a time, live ones first, failed ones later.

A key is *ready* (in line), *delayed* (its time has not come) or only *processing*. Adding a ready key again changes nothing
but may raise its priority; adding one that is being processed lets it run once more afterwards; of several delays the
earliest counts, and a plain add ends a delay. Higher priorities go first, equal ones in the order in which they became
ready. Delayed keys join the line when their time comes, whatever their priority, not before.

Threads: any; there is none of its own: who waits in `get` wakes up for delayed keys. The lock guards everything together, and
only memory is touched under it.
Source: client-go util/workqueue; controller-runtime pkg/controller/priorityqueue. Metrics have their names.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Hashable
from typing import Generic, TypeVar

import attrs

from controllers.runtime.errors import bearable_s
from controllers.runtime.limiters import Limiter, default_limiter
from controllers.runtime.queue_metrics import QueueMetrics
from webhook.clock import Clock, Deadline
from webhook.telemetry import Telemetry

K = TypeVar("K", bound=Hashable)

LIVE = 0  # something has happened to the object
FIRST_LIST = -100  # it merely exists, or nothing that we keep has changed: controller-runtime's LowPriority

_HEARTBEAT_S = 10.0  # a waiting worker looks again after this long at the latest, as client-go's delaying queue
_SPARE = 64  # entries of delays that count no more, beside as many as there are wishes, before they are cleared away
_SLACK_S = 1e-6  # so that a wait cut by float rounding does not lead to another, endlessly short one


@attrs.define(eq=False)
class _Wish(Generic[K]):
    """That *key* be worked on."""

    key: K
    priority: int
    due_s: float
    ready: bool = False
    turn: int = 0  # place in the line
    ready_s: float = 0.0


class WorkQueue(Generic[K]):
    """The queue of one controller. *name* is the label of its metrics."""

    def __init__(self, name: str, telemetry: Telemetry, clock: Clock, limiter: Limiter[K] | None = None) -> None:
        self._clock = clock
        self._limiter: Limiter[K] = limiter if limiter is not None else default_limiter(clock)
        self._lock = threading.Lock()  # guards all below
        self._wishes: dict[K, _Wish[K]] = {}
        self._processing: dict[K, tuple[float, int]] = {}  # key -> since when, and its priority
        # Entries that no longer fit their wish (a raised priority, an earlier time) are skipped when they come up.
        self._line: list[tuple[int, int, _Wish[K]]] = []  # -priority, turn
        self._delayed: list[tuple[float, int, _Wish[K]]] = []  # due_s, number
        self._numbers = itertools.count(1)
        self._length = 0
        self._shut = False
        self._wake = threading.Event()  # something a waiting worker should look at
        self._metrics = QueueMetrics(name, telemetry, self._running_times)

    # -- called by anyone

    def add(self, key: K, *, priority: int = LIVE) -> None:
        """Let *key* be worked on as soon as a worker is free. Ignored after a shutdown."""
        with self._lock:
            self._add(key, 0.0, priority)

    def add_after(self, key: K, delay_s: float, *, priority: int = LIVE) -> None:
        """Let *key* be worked on in *delay_s* seconds, or earlier if somebody adds it."""
        with self._lock:
            self._metrics.retries.inc()
            self._add(key, delay_s, priority)

    def add_rate_limited(self, key: K, *, priority: int = LIVE, at_least_s: float = 0.0) -> float:
        """Let the failed *key* be worked on again when its limiter says so: the seconds until then.

        at_least_s: what a server asked for (Retry-After); obeyed up to MOST_RETRY_AFTER_S.
        """
        delay_s = max(bearable_s(at_least_s) or 0.0, self._limiter.delay_s(key))
        self.add_after(key, delay_s, priority=priority)
        return delay_s

    def forget(self, key: K) -> None:
        """*key* has succeeded: its next failure counts as the first."""
        self._limiter.forget(key)

    def failures(self, key: K) -> int:
        """How often `add_rate_limited` was called for *key* since it last succeeded."""
        return self._limiter.failures(key)

    def __len__(self) -> int:
        """Keys in line: neither delayed ones nor those in a worker's hands."""
        with self._lock:
            self._promote(self._clock.monotonic_s())
            return self._length

    def waits(self, above: int) -> bool:
        """Whether a key of a higher priority than *above* is in line."""
        with self._lock:
            self._promote(self._clock.monotonic_s())
            while self._line and self._wishes.get(self._line[0][2].key) is not self._line[0][2]:
                heapq.heappop(self._line)  # left behind by a raised priority
            return bool(self._line) and -self._line[0][0] > above

    def priority(self, key: K) -> int:
        """The priority with which *key*, which is in a worker's hands, was in line."""
        with self._lock:
            return self._processing.get(key, (0.0, LIVE))[1]

    def longest_running_s(self) -> float:
        """Seconds since the longest-running worker took its key; 0 when none works."""
        return max(self._running_times(), default=0.0)

    def shut_down(self) -> None:
        """Take nothing more in; hand out what is in line, then None. Delayed keys are given up."""
        with self._lock:
            self._shut = True
            self._wake.set()

    # -- called by workers

    def get(self, deadline: Deadline | None = None) -> K | None:
        """The next key, which is the caller's until `done`. Blocks.

        None: shut down with nothing left in line, or *deadline* has passed.
        """
        while True:
            with self._lock:
                now_s = self._clock.monotonic_s()
                wish = self._take(now_s)
                if wish is not None:
                    return wish.key
                wait_s = self._longest_wait_s(now_s, deadline)
                if wait_s <= 0.0 or self._shut:
                    return None
                self._wake.clear()
            self._clock.wait(self._wake, wait_s)

    def get_ready(self) -> K | None:
        """The next key that is in line; None when there is none. Never blocks."""
        with self._lock:
            wish = self._take(self._clock.monotonic_s())
            return None if wish is None else wish.key

    def done(self, key: K) -> None:
        """The caller of `get` has finished *key*, in whatever way. If it was added meanwhile, it joins the line."""
        with self._lock:
            taken = self._processing.pop(key, None)
            if taken is None:
                return
            started_s, _ = taken
            now_s = self._clock.monotonic_s()
            self._metrics.work_duration.observe(max(0.0, now_s - started_s))
            wish = self._wishes.get(key)
            if wish is not None and wish.ready:
                self._enter_line(wish)

    # -- inside; all under the lock

    def _add(self, key: K, delay_s: float, priority: int) -> None:
        if self._shut:
            return
        now_s = self._clock.monotonic_s()
        self._promote(now_s)  # what is due already goes first
        due_s = now_s + max(0.0, delay_s)
        wish = self._wishes.get(key)
        if wish is None:
            wish = self._wishes[key] = _Wish(key, priority, due_s)
        elif wish.ready:
            self._raise_priority(wish, priority)
            return
        else:
            wish.priority = max(wish.priority, priority)
            if due_s >= wish.due_s:
                return
            wish.due_s = due_s
        if due_s <= now_s:
            self._make_ready(wish, now_s)
        else:
            heapq.heappush(self._delayed, (due_s, next(self._numbers), wish))
            self._clear_delayed()
            self._wake.set()  # a waiting worker may have to wake up earlier now

    def _raise_priority(self, wish: _Wish[K], priority: int) -> None:
        if priority <= wish.priority:
            return
        if wish.key in self._processing:
            wish.priority = priority
            return
        self._metrics.depth(wish.priority, -1)
        wish.priority = priority
        self._metrics.depth(priority, +1)
        heapq.heappush(self._line, (-priority, wish.turn, wish))

    def _make_ready(self, wish: _Wish[K], since_s: float) -> None:
        wish.ready, wish.ready_s = True, since_s
        self._metrics.adds.inc()
        if wish.key not in self._processing:
            self._enter_line(wish)

    def _enter_line(self, wish: _Wish[K]) -> None:
        wish.turn = next(self._numbers)
        heapq.heappush(self._line, (-wish.priority, wish.turn, wish))
        self._length += 1
        self._metrics.depth(wish.priority, +1)
        self._wake.set()

    def _promote(self, now_s: float) -> None:
        while not self._shut and self._delayed and self._delayed[0][0] - now_s <= _SLACK_S:
            due_s, _, wish = heapq.heappop(self._delayed)
            if self._counts(due_s, wish):
                self._make_ready(wish, due_s)

    def _counts(self, due_s: float, wish: _Wish[K]) -> bool:
        return self._wishes.get(wish.key) is wish and not wish.ready and wish.due_s == due_s

    def _clear_delayed(self) -> None:
        # Keys that are put off for an hour and added every second would leave an entry each time.
        if len(self._delayed) > 2 * len(self._wishes) + _SPARE:
            self._delayed = [entry for entry in self._delayed if self._counts(entry[0], entry[2])]
            heapq.heapify(self._delayed)

    def _take(self, now_s: float) -> _Wish[K] | None:
        self._promote(now_s)
        while self._line:
            _, _, wish = heapq.heappop(self._line)
            if self._wishes.get(wish.key) is not wish:
                continue  # left behind by a raised priority: the wish has been taken through its better entry
            del self._wishes[wish.key]
            self._processing[wish.key] = (now_s, wish.priority)
            self._length -= 1
            self._metrics.depth(wish.priority, -1)
            self._metrics.queue_duration.observe(max(0.0, now_s - wish.ready_s))
            if self._length:
                self._wake.set()  # for the next worker
            return wish
        return None

    def _longest_wait_s(self, now_s: float, deadline: Deadline | None) -> float:
        while self._delayed and self._delayed[0][2].due_s != self._delayed[0][0]:
            heapq.heappop(self._delayed)  # overtaken by an earlier time
        due_s = self._delayed[0][0] - now_s if self._delayed else _HEARTBEAT_S
        return min(due_s, _HEARTBEAT_S, _HEARTBEAT_S if deadline is None else deadline.remaining_s())

    def _running_times(self) -> list[float]:
        with self._lock:
            now_s = self._clock.monotonic_s()
            return [max(0.0, now_s - started_s) for started_s, _ in self._processing.values()]
