"""A cache that follows the API server, and handlers that hear of every change.

Handlers run on the reflector's thread, after the store has the change: they must not block or do IO (put a key into a
queue). One that raises is logged and counted, and hears the next change. Each handler sees a consistent history of every
key: one Addition, Updates, one Deletion; an object that vanished while we were away arrives as a Deletion that is not
`final`, and one that came back under another uid as Deletion, Addition.

`has_synced` turns true once, after the first list has passed through the handlers.
Threads: see Reflector. Handlers may be added and removed by any thread, also by a handler.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from random import random as system_random
from typing import Generic

from controllers.runtime.backoff import Backoff
from controllers.runtime.errors import InformerStopped, OnDeath
from controllers.runtime.reflector import Reflector
from controllers.runtime.resource import Added, F, Item, ListWatch, Removed, Resource
from controllers.runtime.store import Addition, Change, Store
from controllers.runtime.watch import WatchPolicy
from webhook.clock import Clock, Deadline
from webhook.logs import get_log
from webhook.telemetry import Telemetry

log = get_log("informer")

Handler = Callable[[Change[F]], None]


class Registration(Generic[F]):
    """A handler in place; the value to remove it by."""

    def __init__(self, handler: Handler[F]) -> None:
        self.handler = handler


class Informer(Generic[F]):
    """Store, reflector and handlers of one resource."""

    def __init__(
        self,
        resource: Resource[F],
        client: ListWatch,
        telemetry: Telemetry,
        clock: Clock,
        on_death: OnDeath,
        *,
        policy: WatchPolicy = WatchPolicy(),
        backoff: Backoff = Backoff(),
        random: Callable[[], float] = system_random,
    ) -> None:
        self.resource = resource
        self.store: Store[F] = Store(resource.indexes)
        self.synced_event = threading.Event()
        self._clock = clock
        self._created_s = clock.monotonic_s()
        # Serialises history: a change and its handlers, or the replay for a late handler. Reentrant, since a handler may
        # add or remove handlers. Readers of the store never take it.
        self._history = threading.RLock()
        self._handlers: tuple[Registration[F], ...] = ()
        self._stopped = False
        self._failures = telemetry.counter(
            "gatehouse_informer_handler_failures", "Exceptions of event handlers.", ("resource",)
        )
        objects = telemetry.gauge("gatehouse_cache_objects", "Objects in the cache.", ("resource",))
        objects.labels(resource.name).set_function(lambda: len(self.store))
        self.reflector = Reflector(
            resource, client, _Sink(self), telemetry, clock, on_death, policy=policy, backoff=backoff, random=random
        )

    # -- called by anyone

    @property
    def name(self) -> str:
        """The name of the thread: `reflector/nodes`."""
        return self.reflector.name

    def start(self) -> None:
        """Start following. After `stop` this does nothing."""
        self.reflector.start()

    def signal_stop(self) -> None:
        """Ask the thread to end, without waiting: to stop several informers at once."""
        self._stopped = True
        self.reflector.signal_stop()

    def stop(self, deadline: Deadline) -> bool:
        """End the thread: whether it ended before *deadline*. The store keeps what it has. Safe to repeat."""
        self.signal_stop()
        return self.reflector.join(deadline.remaining_s())

    def has_synced(self) -> bool:
        """Whether the first list is in the store and has passed through the handlers."""
        return self.synced_event.is_set()

    def alive(self) -> bool:
        """Whether the thread runs."""
        return self.reflector.alive()

    def silence_s(self) -> float:
        """Seconds since the API server was last heard."""
        return self.reflector.silence_s()

    def trouble(self) -> Exception | None:
        """What keeps it from following at this moment; None while it follows, or has not failed yet."""
        return self.reflector.trouble()

    def add_handler(self, handler: Handler[F]) -> Registration[F]:
        """Let *handler* hear of every change; first of what is already there, as initial Additions, on this thread.

        Raises InformerStopped after `stop`.
        """
        registration = Registration(handler)
        with self._history:
            if self._stopped:
                raise InformerStopped(f"{self.resource.name}: the informer has stopped")
            for item in self.store.items():
                self._call(registration, Addition(item, initial=True))
            self._handlers = (*self._handlers, registration)
        return registration

    def remove_handler(self, registration: Registration[F]) -> bool:
        """Whether *registration* was in place; it hears nothing more."""
        with self._history:
            kept = tuple(one for one in self._handlers if one is not registration)
            found = len(kept) < len(self._handlers)
            self._handlers = kept
        return found

    # -- called by the reflector's thread, through _Sink

    def replace(self, items: Iterable[Item[F]], version: str, keep: Collection[str]) -> None:
        """See `reflector.Sink`."""
        with self._history:
            initial = not self.synced_event.is_set()
            self._publish(self.store.replace(items, version, keep=keep, initial=initial))
        if initial:
            log.info(
                "cache synced",
                resource=self.resource.name,
                items=len(self.store),
                seconds=round(self._clock.monotonic_s() - self._created_s, 3),
            )
            self.synced_event.set()

    def apply(self, event: Added[F] | Removed[F]) -> None:
        """See `reflector.Sink`."""
        change = self.store.put if isinstance(event, Added) else self.store.remove
        with self._history:
            self._publish(change(event.item, event.item.version))

    def _publish(self, changes: Iterable[Change[F]]) -> None:
        handlers = self._handlers
        for change in changes:
            for registration in handlers:
                if registration in self._handlers:  # it may have been removed by one before it
                    self._call(registration, change)

    def _call(self, registration: Registration[F], change: Change[F]) -> None:
        try:
            registration.handler(change)
        except Exception as error:  # the crash guard of handlers
            self._failures.labels(self.resource.name).inc()
            log.error("handler failed", exc_info=error, resource=self.resource.name, key=change.item.key)


class _Sink(Generic[F]):
    """The informer as its reflector sees it."""

    def __init__(self, informer: Informer[F]) -> None:
        self._informer = informer

    def replace(self, items: Iterable[Item[F]], version: str, keep: Collection[str]) -> None:
        self._informer.replace(items, version, keep)

    def apply(self, event: Added[F] | Removed[F]) -> None:
        self._informer.apply(event)

    def advance(self, version: str) -> None:
        self._informer.store.advance(version)
