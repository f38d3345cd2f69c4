"""The kinds that can be explained, and which objects are of one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from webhook.objects import databases
from webhook.objects.meta import Json
from webhook.objects.workloads import workload_of

KINDS: Final = ("pod", "workload", "node", "endpoint", "address", "databaseinstance", "object")
BY_NAME: Final = frozenset({"node", "address"})  # what a replica knows without being shown the object
WORDS: Final[Mapping[str, str]] = {
    "pod": "pod and no workload",
    "workload": "workload",
    "node": "Node",
    "endpoint": "Endpoints and no EndpointSlice",
    "databaseinstance": "DatabaseInstance",
    "object": "object",
}
IN_NAMESPACES: Final = frozenset({"pod", "workload", "endpoint", "databaseinstance"})


def is_of(kind: str, value: Json) -> bool:
    """Whether *value* is what *kind* (of KINDS) explains. A workload is taken as a pod: it makes some."""
    version, named = value.get("apiVersion"), value.get("kind")
    match kind:
        case "pod" | "workload":
            return workload_of(value) is not None
        case "node":
            return (version, named) == ("v1", "Node")
        case "endpoint":
            return (version, named) in (("v1", "Endpoints"), ("discovery.k8s.io/v1", "EndpointSlice"))
        case "databaseinstance":
            return (version, named) == (databases.API_VERSION, databases.KIND)
    return isinstance(version, str) and isinstance(named, str)
