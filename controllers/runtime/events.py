"""Events for the cluster's operators: what was decided about an object and why, never at the expense of who reports it.

`record` only puts a value into a bounded queue; a thread of its own writes. Events are best effort: over the cap, with a full
queue or after some tries against a server that does not answer they are dropped, counted and said in the log; a warning takes
the place of what is none. That an Event is refused (403 while its namespace is being deleted, 404 after it) is no error.

Only the leader reports what every replica sees: `only_while(elector.is_leading)`.
Threads: `events`; `record` by anyone, start and stop by the supervisor.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from controllers.runtime.api import Creates, PatchesMerge
from controllers.runtime.errors import AlreadyExists, ApiError, Forbidden, NotFound, OnDeath
from controllers.runtime.event_series import KEPT, Count, EventSeries, Kept, Occurrence, Reference, Write
from webhook.clock import Clock, Deadline
from webhook.logs import Throttle, get_log
from webhook.names import DOMAIN
from webhook.telemetry import Telemetry

__all__ = ["Announcer", "EventClient", "EventRecorder", "Reference"]

log = get_log("events")


QUEUE_LIMIT = 10_000  # two for each of 5,000 nodes: an outage of a whole site, at 10 requests a second, is told in a while
REQUEST_TIMEOUT_S = 5.0
TRIES = 4
RETRY_S = 2.0  # then 4 and 8: an outage of some seconds costs no Event
LOOK_EVERY_S = 30.0  # at counts that have to be written


class Announcer(Protocol):
    """Where an Event can be left."""

    def record(
        self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False, topic: str = ""
    ) -> None:
        """Say that *action* was taken about *regarding* because of *reason* (both CamelCase); *note* is a sentence.

        topic: what tells it apart from others of this reason about the object, where each has to be an Event of its own.
        Never blocks, never raises. Any thread.
        """


class EventClient(Creates, PatchesMerge, Protocol):
    """What the recorder needs of an API server (`rest.RestClient`). Raises ApiError."""


class EventRecorder:
    """Implements Announcer."""

    name = "events"

    def __init__(
        self, component: str, instance: str, client: EventClient, telemetry: Telemetry, clock: Clock, on_death: OnDeath
    ) -> None:
        """component: who reports ("gatehouse"); instance: which replica of it."""
        self._client = client
        self._clock = clock
        self._on_death = on_death
        self._series = EventSeries(f"{DOMAIN}/{component}", instance)  # only touched by the thread
        self._lock = threading.Lock()  # guards _warnings and _others
        self._warnings: deque[Occurrence] = deque()  # these two together hold QUEUE_LIMIT
        self._others: deque[Occurrence] = deque()
        self._throttle = Throttle(1)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._leave_by: Deadline | None = None
        self._thread: threading.Thread | None = None
        self._events = telemetry.counter(
            "gatehouse_events",
            "Events by what became of them: created, counted (in a series), capped, overflow, refused, failed.",
            ("result",),
        )
        self._forgotten = telemetry.counter(
            "gatehouse_event_series_forgotten", "Series that went on, but had no room: what they count begins anew."
        )
        self._forgotten_before = 0  # only touched by the thread

    # -- called by anyone

    def record(
        self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False, topic: str = ""
    ) -> None:
        """See Announcer."""
        occurrence = Occurrence(regarding, reason, action, note, warning, self._clock.wall_s(), topic)
        with self._lock:
            lost: Occurrence | None = None
            if self._stopping.is_set():
                lost = occurrence
            elif len(self._warnings) + len(self._others) >= QUEUE_LIMIT:
                lost = self._others.popleft() if warning and self._others else occurrence
            if lost is not occurrence:
                (self._warnings if warning else self._others).append(occurrence)
        if lost is not occurrence:
            self._wake.set()
        if lost is not None:
            self._lose(lost)

    def only_while(self, allowed: Callable[[], bool]) -> Announcer:
        """This recorder for who may report only while *allowed* says so."""
        return _Conditional(self, allowed)

    def is_alive(self) -> bool:
        """False when the thread has ended that should not have."""
        return self._thread is None or self._stopping.is_set() or self._thread.is_alive()

    # -- called by the supervisor

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self, deadline: Deadline) -> bool:
        """Write what is left, each once, then end: whether that was before *deadline*. Safe to repeat.

        What has not been sent by then is dropped and counted.
        """
        self._leave_by = deadline
        self._stopping.set()
        self._wake.set()
        if self._thread is None:
            return True
        self._thread.join(deadline.remaining_s())
        return not self._thread.is_alive()

    # -- called by the thread

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._clock.wait(self._wake, LOOK_EVERY_S)
                self._wake.clear()
                self.work()
            self.work()
            for write in self._series.due(self._clock.monotonic_s(), all_of_them=True):
                self._send(write)
        except BaseException as error:  # the thread's top frame
            log.error("event recorder died", exc_info=error)
            self._on_death(self.name, error)

    def work(self) -> None:
        """Write what has been recorded. The thread's loop; tests call it instead of starting one."""
        while (occurrence := self._next()) is not None:
            write = self._series.admit(occurrence, self._clock.monotonic_s())
            if isinstance(write, Kept):
                self._events.labels(write.value).inc()
            else:
                self._send(write)
            self._note_forgotten()
        for write in self._series.due(self._clock.monotonic_s()):
            self._send(write)

    def _next(self) -> Occurrence | None:
        with self._lock:
            if self._warnings and self._others:  # in the order in which they were told
                first_of = min(self._warnings, self._others, key=lambda queue: queue[0].wall_s)
            else:
                first_of = self._warnings or self._others
            return first_of.popleft() if first_of else None

    def _lose(self, occurrence: Occurrence) -> None:
        self._events.labels("overflow").inc()
        admitted, held_back = self._throttle.admits("overflow", self._clock.monotonic_s())
        if admitted and not self._stopping.is_set():
            log.warning("events lost, the queue is full", reason=occurrence.reason, limit=QUEUE_LIMIT, alike_before=held_back)

    def _note_forgotten(self) -> None:
        forgotten, self._forgotten_before = self._series.forgotten - self._forgotten_before, self._series.forgotten
        if forgotten:
            self._forgotten.inc(forgotten)
            admitted, held_back = self._throttle.admits("forgotten", self._clock.monotonic_s())
            if admitted:
                log.warning("event series forgotten, there are too many", limit=KEPT, alike_before=held_back)

    def _send(self, write: Write) -> None:
        if self._leave_by is not None and self._leave_by.expired():
            self._events.labels("overflow").inc()  # the loops end soon, without a request
            return
        result = "failed"
        for number in range(TRIES):
            try:
                result = self._try(write)
                break
            except (Forbidden, NotFound) as error:
                result = "refused"
                log.debug("event refused", path=write.path, reason=write.occurrence.reason, error=error)
                break
            except ApiError as error:
                if not error.retriable or not self._may_try_again(number, error.retry_after_s or 0.0):
                    log.warning("event lost", path=write.path, reason=write.occurrence.reason, error=error)
                    break
        if result in ("refused", "failed"):
            self._series.forget(write.occurrence)
        self._events.labels(result).inc()

    def _try(self, write: Write) -> str:
        timeout_s = REQUEST_TIMEOUT_S
        if self._leave_by is not None:
            timeout_s = max(0.05, min(timeout_s, self._leave_by.remaining_s()))
        if isinstance(write, Count):
            self._client.patch_merge(write.path, write.patch, timeout_s=timeout_s)
            return "counted"
        with suppress(AlreadyExists):  # a try without an answer went through
            self._client.create(write.path, write.body, timeout_s=timeout_s)
        return "created"

    def _may_try_again(self, number: int, at_least_s: float) -> bool:
        if number + 1 >= TRIES or self._stopping.is_set():
            return False
        return not self._clock.wait(self._stopping, max(RETRY_S * 2**number, at_least_s))


class _Conditional:
    def __init__(self, recorder: EventRecorder, allowed: Callable[[], bool]) -> None:
        self._recorder = recorder
        self._allowed = allowed

    def record(
        self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False, topic: str = ""
    ) -> None:
        """See Announcer."""
        if self._allowed():
            self._recorder.record(regarding, reason=reason, action=action, note=note, warning=warning, topic=topic)
