"""Small objects and machines for the runtime's tests. Builders start valid; a test changes one thing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from controllers.runtime.backoff import Backoff
from controllers.runtime.errors import OnDeath
from controllers.runtime.informer import Informer
from controllers.runtime.projection import nodes_resource, pods_resource
from controllers.runtime.reflector import Reflector
from controllers.runtime.resource import Added, Item, ListWatch, Removed, Resource
from controllers.runtime.watch import WatchPolicy
from controllers.testing import FakeClock
from webhook.clock import Clock
from webhook.cluster import NodeFacts, PodFacts
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry

PAGES = WatchPolicy(stream_lists=False)
NODES: Resource[NodeFacts] = nodes_resource(VotePolicy())
PODS: Resource[PodFacts] = pods_resource()


def node(name: str = "edge-1", *, ready: str = "True", labels: Json | None = None, **metadata: Any) -> Json:
    """A Node as the API server has it."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels or {}, **metadata},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": ready, "lastTransitionTime": "2026-01-01T00:00:00Z"}],
            "nodeInfo": {"kubeletVersion": "v1.37.2"},
        },
    }


def pod(name: str = "web-1", *, namespace: str = "shop", on: str = "edge-1", **metadata: Any) -> Json:
    """A running, ready Pod."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": {"nodeName": on},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}],
        },
    }


def namespace(name: str = "shop", **metadata: Any) -> Json:
    """A Namespace."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, **metadata}}


def config_map(
    name: str = "envoy-initializer", *, space: str = "shop", data: Json | None = None, labels: Json | None = None
) -> Json:
    """A ConfigMap."""
    metadata = {"name": name, "namespace": space, "labels": labels or {}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data or {}}


def limit_range(name: str = "limits", *, space: str = "shop", maximum: str = "1Gi") -> Json:
    """A LimitRange that bounds the memory of containers."""
    spec = {"limits": [{"type": "Container", "max": {"memory": maximum}}]}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": name, "namespace": space}, "spec": spec}


def quota(name: str = "quota", *, space: str = "shop", hard: str = "10", used: str = "3") -> Json:
    """A ResourceQuota of pods, as its controller has seen it."""
    metadata = {"name": name, "namespace": space}
    status = {"hard": {"pods": hard}, "used": {"pods": used}}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata,
        "spec": {"hard": {"pods": hard}},
        "status": status,
    }


def event(kind: str, obj: Json) -> Json:
    """A watch event."""
    return {"type": kind, "object": obj}


def bookmark(version: int, *, end: bool = False) -> Json:
    """A BOOKMARK of nodes."""
    annotations = {"annotations": {"k8s.io/initial-events-end": "true"}} if end else {}
    metadata = {"resourceVersion": str(version), **annotations}
    return event("BOOKMARK", {"apiVersion": "v1", "kind": "Node", "metadata": metadata})


class Recorder:
    """A sink that keeps the current objects and what happened, as words."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.keys: set[str] = set()
        self.version = ""

    def replace(self, items: Iterable[Item[NodeFacts]], version: str, keep: Collection[str]) -> None:
        self.keys = {item.key for item in items}
        self.version = version
        self.calls.append("replace " + ",".join(sorted(self.keys)))

    def apply(self, event: Added[NodeFacts] | Removed[NodeFacts]) -> None:
        word = "put" if isinstance(event, Added) else "remove"
        (self.keys.add if word == "put" else self.keys.discard)(event.item.key)
        self.version = event.item.version
        self.calls.append(f"{word} {event.item.key}")

    def advance(self, version: str) -> None:
        self.version = version
        self.calls.append(f"advance {version}")


def refuse_death(name: str, error: BaseException) -> None:
    """A thread that dies fails the test."""
    raise AssertionError(name) from error


def reflector(
    client: ListWatch,
    sink: Any,
    clock: Clock,
    *,
    policy: WatchPolicy = PAGES,
    random: Callable[[], float] = lambda: 0.0,
    telemetry: Telemetry | None = None,
    on_death: OnDeath = refuse_death,
    backoff: Backoff = Backoff(),
) -> Reflector[NodeFacts]:
    """A reflector of nodes, not started."""
    return Reflector(
        NODES, client, sink, telemetry or Telemetry(), clock, on_death, policy=policy, random=random, backoff=backoff
    )


def informer(
    client: ListWatch,
    clock: Clock | None = None,
    resource: Resource[Any] = NODES,
    *,
    policy: WatchPolicy = PAGES,
    telemetry: Telemetry | None = None,
) -> Informer[Any]:
    """An informer, not started; its waits are virtual."""
    return Informer(
        resource,
        client,
        telemetry or Telemetry(),
        clock or FakeClock(auto_advance=True),
        refuse_death,
        policy=policy,
        random=lambda: 0.0,
    )
