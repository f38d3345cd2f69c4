"""A cluster as the API server and as the caches have it, and between the two the controller, on a clock that stands still."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from controllers.edge_health.controller import edge_health
from controllers.edge_health.plan import Duties
from controllers.runtime.controller import Controller
from controllers.runtime.events import Reference
from controllers.runtime.informer import Informer
from controllers.runtime.projection import nodes_resource, pods_resource
from controllers.runtime.resource import Item, Params
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.edge_health.builders import WALL_S, Json
from tests.controllers.leadership import Lease
from tests.controllers.runtime.builders import refuse_death
from webhook.cluster import NodeFacts, PodFacts
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry


class Heard:
    """What was told, in order."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.warnings: list[bool] = []
        self.reasons: list[str] = []
        self.notes: list[str] = []

    def record(self, regarding: Reference, *, reason: str, action: str, note: str, warning: bool = False) -> None:
        self.names.append(regarding.name)
        self.warnings.append(warning)
        self.reasons.append(reason)
        self.notes.append(note)


class Interposed:
    """The client, and what somebody else does to the cluster just before one of our patches arrives."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.before_patches: list[Callable[[], object]] = []

    def forward_to(self, client: Any) -> None:
        """Ask *client* from now on."""
        self._client = client

    def get(self, path: str, params: Params | None = None, *, timeout_s: float | None = None) -> Json:
        return dict(self._client.get(path, params, timeout_s=timeout_s))

    def patch_json(self, path: str, operations: list[Json], *, timeout_s: float | None = None) -> Json:
        if self.before_patches:
            self.before_patches.pop(0)()
        return dict(self._client.patch_json(path, operations, timeout_s=timeout_s))

    def patch_strategic(self, path: str, patch: Json, *, timeout_s: float | None = None) -> Json:
        if self.before_patches:
            self.before_patches.pop(0)()
        return dict(self._client.patch_strategic(path, patch, timeout_s=timeout_s))


class Scene:
    """Everything at hand. `put` changes the API server, `sync` lets the caches see it, `run` lets the controller work."""

    def __init__(self, api: FakeApi, client: RestClient, policy: VotePolicy = VotePolicy(), duties: Duties = Duties()) -> None:
        self.api = api
        self.clock = FakeClock(wall_s=WALL_S)
        self.telemetry = Telemetry()
        self.lease = Lease()
        self.client = Interposed(client)
        self.heard = Heard()
        self._items: dict[str, Item[Any]] = {}
        self._synced = -1
        self.nodes: Informer[NodeFacts] = self._informer(nodes_resource(policy), client)
        self.pods: Informer[PodFacts] = self._informer(pods_resource(), client)
        self.controller: Controller = edge_health(
            self.client,
            self.nodes,
            self.pods,
            policy,
            self.heard,
            self.telemetry,
            self.clock,
            refuse_death,
            leadership=self.lease,
            duties=duties,
        )
        self.sync()

    # -- the cluster

    def put(self, *objects: Json) -> None:
        """The API server has these; the caches see them at the next `sync`."""
        for one in objects:
            self.api.objects.put(one)

    def node(self, name: str = "edge-1") -> Json:
        return self.api.objects.all("Node")[name]

    def pod(self, name: str = "web-1") -> Json:
        return self.api.objects.all("Pod")[f"shop/{name}"]

    def ready(self) -> dict[str, str]:
        """Of each pod, by name."""
        return {key.partition("/")[2]: _ready(one) for key, one in self.api.objects.all("Pod").items()}

    # -- the controller

    def sync(self) -> None:
        """The caches see everything up to now."""
        if self.api.objects.version == self._synced:
            return
        self._synced = self.api.objects.version
        for informer, kind in ((self.nodes, "Node"), (self.pods, "Pod")):
            items = [self._item(informer, one) for one in self.api.objects.all(kind).values()]
            informer.replace(items, str(self.api.objects.version), keep=())

    def run(self) -> int:
        """See everything, then reconcile whatever is in line: the number of passes."""
        self.sync()
        return self.run_blindly()

    def run_blindly(self) -> int:
        """Reconcile whatever is in line, with the caches as they are."""
        return self.controller.run_ready()

    def calls(self) -> list[str]:
        """What was asked of the API server, as "PATCH /nodes/edge-1"."""
        return [f"{one.method} {one.path.removeprefix('/api/v1')}" for one in self.api.requests]

    def patches(self) -> list[str]:
        """The paths that were patched."""
        return [call.removeprefix("PATCH ") for call in self.calls() if call.startswith("PATCH")]

    def metrics(self) -> dict[str, float]:
        """Of edge health, by name and labels."""
        lines = self.telemetry.expose().decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if line.startswith("gatehouse_edge_") and "_created" not in line)
        return {name: float(value) for name, _, value in pairs}

    def _item(self, informer: Informer[Any], obj: Json) -> Item[Any]:
        version = obj["metadata"]["resourceVersion"]  # no two objects have the same one
        if version not in self._items:
            self._items[version] = informer.resource.projection.convert(obj)
        return self._items[version]

    def _informer(self, resource: Any, client: RestClient) -> Informer[Any]:
        return Informer(resource, client, self.telemetry, self.clock, refuse_death)


def sent(api: FakeApi, index: int = -1) -> Any:
    """The body of a patch."""
    return json.loads(api.asked("patch")[index].body)


def _ready(pod: Json) -> str:
    return next((one["status"] for one in pod["status"]["conditions"] if one["type"] == "Ready"), "")
