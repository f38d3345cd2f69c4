"""What the benchmark's peers need: the Go program built into the cache folder, and the rules it shares with Gatehouse.

The rules are written once, here, and given to each contender in its own form: as a GatehouseConfiguration and as the peer's
JSON. Needs Go for `peer_program` only. Errors: BuildError.
"""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

from tests.bench import objects, reviews
from tests.cluster import binaries
from webhook.admission.call import Call
from webhook.admission.gate import Gate
from webhook.admission.settings import Settings
from webhook.clock import SystemClock
from webhook.names import INJECTED
from webhook.objects.documents import read_documents
from webhook.telemetry import Telemetry

PEER_SOURCES = Path(__file__).parent / "peer"

# Bounds that the pods of the benchmark keep: all of them are looked at, nothing is refused.
_CPU_REQUEST, _CPU_LIMIT, _MEMORY_LIMIT, _POD_CPU = "2", "4", "4Gi", "8"

# Of fixed addresses: more than a benchmark uses up.
POOL, POOL_PREFIX = "bench", "10.105.0.0/17"

CONFIGURATION = f"""\
apiVersion: gatehouse.dev/v1alpha1
kind: GatehouseConfiguration
features:
  resourceLimits:
    policies:
      - name: modest
        absent: Passes
        container:
          cpu: {{requests: {{max: {_CPU_REQUEST}}}, limits: {{max: {_CPU_LIMIT}}}, maxRatio: 4}}
          memory: {{limits: {{max: {_MEMORY_LIMIT}}}, maxRatio: 4}}
        pod:
          cpu: {{requests: {{max: {_POD_CPU}}}}}
"""


def peer_program() -> Path:
    """The controller-runtime webhook, built if its sources have changed (a minute or two when cold)."""
    return binaries.go_program("peer", PEER_SOURCES)


def peer_rules() -> dict[str, Any]:
    """The same rules as the peer reads them. What the mark says of the entry is whatever Gatehouse says."""
    entry = read_documents(objects.SIDECAR, "sidecar")[0].value
    sidecars = [{**one, "restartPolicy": "Always"} for one in entry["containers"]]
    return {
        "namespaces": [objects.NAMESPACE],
        "mark": _mark(),
        "sidecar": {"initContainers": sidecars, "volumes": entry["volumes"], "containers": None},
        "limits": {
            "cpu": {"requests": _CPU_REQUEST, "limits": _CPU_LIMIT, "ratio": 4},
            "memory": {"limits": _MEMORY_LIMIT, "ratio": 4},
        },
        "podMax": {"cpu": _POD_CPU},
        "pool": {"name": POOL, "prefix": POOL_PREFIX},
    }


def _mark() -> str:
    gate = Gate(Settings(), reviews.facts(nodes=1, pods=1), Telemetry(), SystemClock())
    review = reviews.injected(4)
    reply = gate.answer(Call("POST", review.path, "timeout=10s", "application/json", review.body, time.monotonic()))
    patch = json.loads(base64.b64decode(json.loads(reply.body)["response"]["patch"]))
    return str(next(one for one in patch if one["path"] == "/metadata/annotations")["value"][INJECTED])
