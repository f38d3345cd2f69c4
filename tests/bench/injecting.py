"""A sidecar put into a pod as most webhooks written in Python do it: plain dicts, then a comparison of two documents.

For the peers that run on other servers; what the rules say is in the peer's own file (`tests.bench.peers.peer_rules`). Pure.
"""

from __future__ import annotations

import copy

import jsonpatch

from webhook.names import DEFAULT_CONTAINER, INJECTED
from webhook.objects.meta import Json


def injected(pod: Json, rules: Json) -> Json:
    """*pod* with the sidecar, the volumes and the annotations of *rules*."""
    changed = copy.deepcopy(pod)
    spec, metadata = changed["spec"], changed["metadata"]
    for field in ("initContainers", "volumes"):
        there = spec.setdefault(field, [])
        names = {one["name"] for one in there}
        there += [one for one in rules["sidecar"][field] if one["name"] not in names]
    annotations = metadata.setdefault("annotations", {})
    annotations.setdefault(DEFAULT_CONTAINER, spec["containers"][0]["name"])
    annotations[INJECTED] = rules["mark"]
    return changed


def patch(before: Json, after: Json) -> str:
    """The JSON patch between two documents."""
    return str(jsonpatch.make_patch(before, after).to_string())
