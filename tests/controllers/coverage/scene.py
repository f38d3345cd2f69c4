"""A cluster as the API server and as the caches have it, and between the two the controller, on a clock that stands still."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs

from controllers.coverage.controller import coverage
from controllers.coverage.evictions import Limits
from controllers.coverage.plan import GRACE_S, State, survey
from controllers.coverage.tally import Tally
from controllers.runtime.controller import Controller
from controllers.runtime.events import Announcer, EventRecorder, Reference
from controllers.runtime.informer import Informer
from controllers.runtime.projection import pods_resource
from controllers.runtime.projection_cluster import namespaces_resource
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.coverage.builders import POLICY, WALL_S, Json, catalog, entry
from tests.controllers.leadership import Lease
from tests.controllers.runtime.builders import refuse_death
from webhook.clock import Deadline
from webhook.cluster import NamespaceFacts, PodFacts
from webhook.sidecars.entries.catalog import Catalog
from webhook.telemetry import Telemetry


class Entries:
    """The entries in force."""

    def __init__(self) -> None:
        self._value = catalog(entry())
        self.listeners: list[Callable[[], None]] = []

    def catalog(self) -> Catalog:
        return self._value

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    def set(self, value: Catalog) -> None:
        self._value = value
        for listener in list(self.listeners):
            listener()


@attrs.frozen
class Said:
    """Something that was told."""

    about: str  # "Deployment/web"
    reason: str
    note: str
    uid: str
    api_version: str


class Heard:
    """What was told, in order."""

    def __init__(self) -> None:
        self.said: list[Said] = []

    def record(self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False) -> None:
        assert warning
        about = f"{regarding.kind}/{regarding.name}"
        self.said.append(Said(about, reason, note, regarding.uid, regarding.api_version))

    def about(self, reason: str = "SidecarMissing") -> list[str]:
        """The objects that were told of *reason*."""
        return [one.about for one in self.said if one.reason == reason]


class Scene:
    """Everything at hand. `put` changes the API server, `sync` lets the caches see it, `run` lets the controller work."""

    def __init__(
        self, api: FakeApi, client: RestClient, *, evictions: Limits | None = None, writes_events: bool = False
    ) -> None:
        """writes_events: what is told becomes Events, instead of being `heard`."""
        self.api = api
        self.clock = FakeClock(wall_s=WALL_S)
        self.telemetry = Telemetry()
        self.lease = Lease()
        self.heard = Heard()
        self.entries = Entries()
        self.tally = Tally(self.telemetry)
        self.recorder = EventRecorder("gatehouse", "a", client, self.telemetry, self.clock, refuse_death)
        self.pods: Informer[PodFacts] = self._informer(pods_resource(), client)
        self.namespaces: Informer[NamespaceFacts] = self._informer(namespaces_resource(), client)
        announcer: Announcer = self.recorder if writes_events else self.heard
        self.controller: Controller = coverage(
            client,
            self.pods,
            self.namespaces,
            self.entries,
            POLICY,
            announcer,
            self.telemetry,
            self.clock,
            refuse_death,
            leadership=self.lease,
            tally=self.tally,
            evictions=evictions,
        )
        self.sync()

    # -- the cluster

    def put(self, *objects: Json) -> None:
        """The API server has these; the caches see them at the next `sync`."""
        for one in objects:
            self.api.objects.put(one)

    def drop(self, name: str, namespace: str = "shop") -> None:
        """A pod is gone."""
        self.api.objects.drop("Pod", f"{namespace}/{name}")

    def left(self) -> list[str]:
        """The names of the pods that there are."""
        return sorted(key.partition("/")[2] for key in self.api.objects.all("Pod"))

    # -- the controller

    def sync(self) -> None:
        """The caches see everything up to now."""
        for informer, kind in ((self.namespaces, "Namespace"), (self.pods, "Pod")):
            projection: Any = informer.resource.projection
            items = [projection.convert(one) for one in self.api.objects.all(kind).values()]
            informer.replace(items, str(self.api.objects.version), keep=())

    def run(self) -> int:
        """See everything, then reconcile whatever is in line: the number of passes."""
        self.sync()
        return self.controller.run_ready()

    def later(self, seconds: float) -> int:
        """As `run`, *seconds* from now."""
        self.clock.advance(seconds)
        return self.run()

    def lead_again(self) -> None:
        """Lose the lease, and win it back."""
        self.stand_by()
        self.run()

    def stand_by(self) -> None:
        """Lose the lease."""
        assert self.controller.stop(Deadline.after(1.0, self.clock))

    def calls(self) -> list[str]:
        """What was asked of the API server, as "GET /apis/apps/v1/namespaces/shop/replicasets/web"."""
        return [f"{one.method} {one.path}" for one in self.api.requests]

    def evictions(self) -> list[str]:
        """The names of the pods whose eviction was asked for."""
        return [one.path.split("/")[-2] for one in self.api.asked("create") if one.path.endswith("/eviction")]

    def counted(self) -> dict[str, int]:
        """The counts above zero, as the metric has them."""
        return {state: int(count) for state, count in self.series("gatehouse_coverage_pods").items() if count}

    def series(self, name: str) -> dict[str, float]:
        """The values of a metric by the value of its one label, "" of one without."""
        lines = self.telemetry.expose().decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if line.startswith((f"{name}{{", f"{name} ")))
        return {key.partition('="')[2].rstrip('"}'): float(value) for key, _, value in pairs}

    def fresh_count(self) -> dict[str, int]:
        """What a count of every pod that there is comes to."""
        everywhere: dict[State, int] = {}
        for item in self.pods.store.items():
            pod = item.facts
            namespace = self.namespaces.store.get(pod.namespace)
            found = survey([pod], namespace, self.entries.catalog(), POLICY, self.clock.wall_s(), GRACE_S)
            for state, count in found.counts.items():
                everywhere[state] = everywhere.get(state, 0) + count
        return {state.value: count for state, count in everywhere.items() if count}

    def _informer(self, resource: Any, client: RestClient) -> Informer[Any]:
        return Informer(resource, client, self.telemetry, self.clock, refuse_death)
