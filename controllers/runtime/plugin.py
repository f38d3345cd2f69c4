"""A controller of somebody else's: what its author writes down.

    plugin = ControllerPlugin(
        settings=NoSettings,
        watches=(Watch(objects_resource("buckets", "/apis/example.com/v1/buckets", "example.com/v1", "Bucket")),),
        build=lambda given: Buckets(given.api).reconcile,
        rights=({"apiGroups": ["example.com"], "resources": ["buckets"], "verbs": ["get", "list", "watch", "patch"]},),
    )

Its name is that of its entry point in the group `gatehouse.controllers`. The rest is there: caches that sync first, a queue
with backoff, the lease asked before each request, metrics under controller-runtime's names, a health check, an end in time.
Values and Protocols; nothing here raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import attrs

from controllers.runtime.api import Creates, Deletes, PatchesJson, PatchesMerge, PatchesStrategic, Reads, Updates
from controllers.runtime.controller import Policy
from controllers.runtime.events import Announcer
from controllers.runtime.reconcile import Key, Reconcile
from controllers.runtime.resource import F, Item, Json, Resource
from controllers.runtime.store import Change
from webhook.clock import Clock
from webhook.telemetry import Counter, Gauge, Histogram

S = TypeVar("S")


class Api(Reads, Creates, Updates, PatchesJson, PatchesMerge, PatchesStrategic, Deletes, Protocol):
    """The API server, as the process's ServiceAccount. Every method blocks, at most for *timeout_s*, and raises ApiError.

    Ask `context.request_timeout_s()` for it right before each call: that is where a lost lease or a stop ends a pass.
    """


class Cache(Protocol):
    """The objects of one watched resource, as far as the API server has told. Look-ups in memory, by any thread."""

    def get(self, key: str) -> Any | None:
        """The facts of the object *key*; None when there is none."""

    def by_index(self, index: str, value: str) -> list[Any]:
        """The facts of all objects for which the resource's *index* gives *value*, in no order."""

    def items(self) -> list[Item[Any]]:
        """Every object, in no order."""

    def __len__(self) -> int: ...


class Metrics(Protocol):
    """Metrics of one's own, exposed with all others. Asking twice for the same name returns the same metric."""

    def counter(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Counter:
        """The counter *name* (exposed with the suffix `_total`)."""

    def gauge(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Gauge:
        """The gauge *name*."""

    def histogram(self, name: str, documentation: str, labels: Sequence[str] = ()) -> Histogram:
        """The histogram *name*, with buckets from a millisecond to ten seconds."""


def own_key(change: Change[F]) -> Iterable[Key]:
    """The key of the object that has changed."""
    return (change.item.key,)


@attrs.frozen
class Watch(Generic[F]):
    """A cache, and the keys to reconcile when an object in it changes."""

    resource: Resource[F]  # its name is that of the cache in `Given.caches`
    keys: Callable[[Change[F]], Iterable[Key]] = own_key  # called on the reflector's thread; must not block


@attrs.frozen
class Given(Generic[S]):
    """What a controller is made of."""

    settings: S
    api: Api
    caches: Mapping[str, Cache]  # by the name of the watched resource; read only, by any thread
    events: Announcer  # speaks only while we lead
    metrics: Metrics
    clock: Clock


@attrs.frozen(kw_only=True)
class ControllerPlugin(Generic[S]):
    """What an entry point of the group `gatehouse.controllers` names."""

    settings: type[S]  # an attrs class, as for rules; NoSettings where there is nothing to decide
    watches: Sequence[Watch[Any]] | Callable[[S], Sequence[Watch[Any]]]
    build: Callable[[Given[S]], Reconcile]  # once in each process; opens nothing
    rights: Sequence[Json] = ()  # rules of a ClusterRole, printed by `gatehouse manifests --all`
    led: bool = True  # whether only the leader runs it; False: every replica does, and may write nothing that others undo
    policy: Policy = Policy()
