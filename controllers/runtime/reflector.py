"""The thread that keeps a store equal to the API server: it performs the effects of the `watch` machine.

Threads: one, named `reflector/<resource>`. `signal_stop` may be called by any thread and returns at once; a blocked read
         or sleep ends with it (a connection attempt in progress ends by its own timeout).
Errors:  API faults are the machine's business. Anything else ends the thread and is reported to `on_death`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from random import random as system_random
from typing import Generic, Protocol

from controllers.runtime.backoff import Backoff
from controllers.runtime.errors import (
    ApiError,
    BadRequest,
    Cancelled,
    Forbidden,
    Invalid,
    NotFound,
    OnDeath,
    StoreError,
    Unauthorized,
)
from controllers.runtime.resource import (
    Added,
    Event,
    F,
    Item,
    ListWatch,
    Page,
    Removed,
    Resource,
    Skipped,
    WatchLines,
)
from controllers.runtime.watch import (
    Advance,
    Apply,
    Begun,
    Discard,
    Effect,
    Failed,
    Got,
    GotPage,
    ListPage,
    Note,
    Observation,
    Opened,
    OpenWatch,
    ReadEvent,
    Sleep,
    Stage,
    Swap,
    WatchPolicy,
    begin,
    step,
)
from webhook.clock import Clock
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("reflector")

_LASTING = (BadRequest, Forbidden, Invalid, NotFound, Unauthorized)
_SKIPS_LOGGED = 10  # of one page; all are counted


class Sink(Protocol[F]):
    """Where the objects go. Called by the reflector's thread only; may raise StoreError, which leads to a new list."""

    def replace(self, items: Iterable[Item[F]], version: str, keep: Collection[str]) -> None:
        """Everything there is, as of *version*; keys in *keep* exist too but could not be decoded."""

    def apply(self, event: Added[F] | Removed[F]) -> None:
        """One object changed."""

    def advance(self, version: str) -> None:
        """Nothing has changed up to *version*."""


class Reflector(Generic[F]):
    """Lists, watches, recovers."""

    def __init__(
        self,
        resource: Resource[F],
        client: ListWatch,
        sink: Sink[F],
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
        *,
        policy: WatchPolicy = WatchPolicy(),
        backoff: Backoff = Backoff(),
        random: Callable[[], float] = system_random,
    ) -> None:
        self.name = f"reflector/{resource.name}"
        self._resource = resource
        self._client = client
        self._sink = sink
        self._clock = clock
        self._on_death = on_death
        self._random = random
        self._stop = threading.Event()
        self._cancellation = client.cancellation()
        self._thread: threading.Thread | None = None
        # Only touched by the thread:
        self._state = begin(policy, backoff)
        self._question: Effect[F] | None = None
        self._staged: dict[str, Item[F]] = {}
        self._kept: set[str] = set()
        self._watch: WatchLines | None = None
        self._lines: Iterator[bytes] = iter(())
        self._heard_s = clock.monotonic_s()
        self._trouble: ApiError | StoreError | None = None
        self._metrics(telemetry)

    def _metrics(self, telemetry: Telemetry) -> None:
        name = self._resource.name
        self._lists = telemetry.counter(
            "gatehouse_reflector_lists", "Lists begun, by what made them necessary.", ("resource", "reason")
        )
        self._watches = telemetry.counter(
            "gatehouse_reflector_watches", "Watches begun, by what made them necessary.", ("resource", "reason")
        )
        self._skips = telemetry.counter(
            "gatehouse_reflector_skipped", "Objects and events that could not be used.", ("resource", "reason")
        )
        age = telemetry.gauge(
            "gatehouse_reflector_last_event_age_seconds", "Since the API server was last heard.", ("resource",)
        )
        age.labels(name).set_function(self.silence_s)

    # -- called by anyone

    def start(self) -> None:
        """Start the thread. After `signal_stop` this does nothing."""
        if self._stop.is_set():
            return
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def signal_stop(self) -> None:
        """Ask the thread to end. Never blocks."""
        self._stop.set()
        self._cancellation.cancel()

    def join(self, timeout_s: float) -> bool:
        """Whether the thread has ended within *timeout_s*."""
        if self._thread is None:
            return True
        if self._thread is threading.current_thread():
            return False  # `on_death` runs on this thread, which is about to end
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def alive(self) -> bool:
        """Whether the thread runs, or has yet to begin: False when it has ended."""
        return self._thread is None or self._thread.is_alive()

    def silence_s(self) -> float:
        """Seconds since the API server was last heard (an event, a bookmark, a page)."""
        return max(0.0, self._clock.monotonic_s() - self._heard_s)

    def trouble(self) -> ApiError | StoreError | None:
        """What keeps it from following at this moment; None while it follows, or has not failed yet."""
        return self._trouble

    # -- called by the thread

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                self.advance()
        except Cancelled:
            pass  # only `signal_stop` cancels
        except Exception as error:  # the thread's top frame
            log.error("reflector died", exc_info=error, resource=self._resource.name)
            self._on_death(self.name, error)
        finally:
            self.hang_up()

    def advance(self) -> None:
        """Ask the machine's question, then do what it makes of the answer.

        Blocks in at most one request or sleep, at the beginning. The thread's loop; tests call it instead of starting one.
        """
        seen = self._ask(self._question)
        try:
            self._decide(seen)
        except StoreError as error:
            self._decide(Failed(error))  # leads to a Sleep: the store is not touched again

    def _decide(self, seen: Observation[F]) -> None:
        self._state, effects = step(self._state, seen, self._clock.monotonic_s(), self._random())
        *deeds, self._question = effects
        for deed in deeds:
            self._perform(deed)

    def _ask(self, question: Effect[F] | None) -> Observation[F]:
        if isinstance(question, ReadEvent):
            return self._read()
        self.hang_up()
        match question:
            case ListPage(params):
                return self._list({**self._resource.params, **params})
            case OpenWatch(params, read_timeout_s):
                return self._open({**self._resource.params, **params}, read_timeout_s)
            case Sleep():
                self._sleep(question)
        return Begun()

    def _perform(self, effect: Effect[F]) -> None:
        match effect:
            case Apply(event):
                self._sink.apply(event)
            case Stage(part):
                self._stage(part)
            case Discard():
                self._staged, self._kept = {}, set()
            case Swap(version):
                self._swap(version)
            case Advance(version):
                self._sink.advance(version)
            case Note():
                self._note(effect)

    def _list(self, params: dict[str, str]) -> Observation[F]:
        begun = False
        try:
            with self._client.listing(self._resource.path, params, cancellation=self._cancellation) as pieces:
                begun = True  # the head has come, which is written with the first of the body
                page = self._resource.projection.read(pieces)
        except ApiError as error:
            return _failed(error, begun=begun)
        self._heard()
        return GotPage(page)

    def _open(self, params: dict[str, str], read_timeout_s: float) -> Observation[F]:
        try:
            self._watch = self._client.watch(self._resource.path, params, read_timeout_s, cancellation=self._cancellation)
        except ApiError as error:
            return _failed(error)
        self._lines = iter(self._watch)
        self._heard()
        return Opened()

    def _read(self) -> Observation[F]:
        try:
            line = next(self._lines, None)
            if line is None:
                return Failed(None)
            event: Event[F] = self._resource.projection.event(line)
        except ApiError as error:
            return _failed(error)
        self._heard()
        return Got(event)

    def _sleep(self, sleep: Sleep) -> None:
        self._trouble = sleep.error
        # Nobody but an operator can mend these; the others pass.
        say = log.error if isinstance(sleep.error, _LASTING) else log.warning
        say(
            "api server not followed, waiting",
            resource=self._resource.name,
            reason=sleep.reason,
            error=sleep.error or "watch ended at once",
            seconds=round(sleep.seconds, 1),
        )
        self._clock.wait(self._stop, sleep.seconds)

    def _stage(self, part: Page[F] | Added[F] | Removed[F] | Skipped) -> None:
        match part:
            case Page(items, _, _, broken):
                self._staged.update((item.key, item) for item in items)
                self._kept.update(one.key for one in broken)
                for one in broken[:_SKIPS_LOGGED]:
                    self._note(Note("skip", "undecodable", Skipped("undecodable", one.reason, one.key)))
                self._skips.labels(self._resource.name, "undecodable").inc(max(0, len(broken) - _SKIPS_LOGGED))
            case Added(item):
                self._staged[item.key] = item
            case Removed(item):
                self._staged.pop(item.key, None)
            case Skipped():
                self._kept.add(part.key)

    def _swap(self, version: str) -> None:
        staged, kept = self._staged, self._kept
        self._staged, self._kept = {}, set()
        self._sink.replace(staged.values(), version, kept)

    def _note(self, note: Note) -> None:
        name = self._resource.name
        if note.what == "list":
            self._lists.labels(name, note.reason).inc()
        elif note.what == "watch":
            self._watches.labels(name, note.reason).inc()
        else:
            self._skips.labels(name, note.reason).inc()
            log.warning("object skipped", resource=name, why=note.skipped.reason if note.skipped else note.reason)

    def hang_up(self) -> None:
        """Give up the open watch, if there is one."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def _heard(self) -> None:
        self._heard_s = self._clock.monotonic_s()
        self._trouble = None


def _failed(error: ApiError, *, begun: bool = False) -> Failed:
    if isinstance(error, Cancelled):
        raise error
    return Failed(error, begun)
