"""Asks Gatehouse itself, as the API server would, which nodes it guards: its answer shows what its cache has of each."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Collection
from types import TracebackType

import jsonpatch

from tests.apiserver.gatehouse import Gatehouse
from tests.bench import objects
from tests.bench.reviews import review
from tests.cluster import Cluster, Json

_CONTROLLER = "system:serviceaccount:kube-system:endpoint-controller"


class Asking:
    """Connections to the webhook port of one process, closed with the block. Any thread."""

    def __init__(self, cluster: Cluster, gatehouse: Gatehouse) -> None:
        port = int(gatehouse.addresses["webhook"].rpartition(":")[2])
        self._connections = cluster.connections(port, ssl.create_default_context(cafile=str(gatehouse.ca_file)))

    def guarded(self, nodes: Collection[str]) -> set[str]:
        """Those of *nodes* that are silent and vouched for: the review is of Endpoints that lose an address on each."""
        addresses = [{"ip": objects.address(number), "nodeName": name} for number, name in enumerate(nodes)]
        new, old = objects.endpoints([], addresses), objects.endpoints(addresses, [])
        body = review("", "v1", "endpoints", "Endpoints", new, old, user=_CONTROLLER)
        headers = {"Content-Type": "application/json"}
        reply = self._connections.call("POST", "/endpoint?timeout=10s", body, headers)
        if reply.status != 200:
            raise AssertionError(f"a review got {reply.status}: {reply.body[:500]!r}")
        response: Json = json.loads(reply.body)["response"]
        if "patch" not in response:
            return set()
        (subset,) = jsonpatch.apply_patch(new, json.loads(base64.b64decode(response["patch"])))["subsets"]
        return {address["nodeName"] for address in subset["addresses"]}

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._connections.close()
