"""Nodes as they stand in a review. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.cluster import NodeFacts, Taint
from webhook.names import NO_EXECUTE, READY, UNREACHABLE_TAINT
from webhook.objects import conditions, meta
from webhook.objects.votes import VotePolicy


def facts(node: Mapping[str, Any], status_of: Mapping[str, Any], policy: VotePolicy) -> NodeFacts:
    """What a review says of a node: labels and vote as *node* has them, Ready as *status_of* has it.

    On a write to `nodes` the API server puts the stored status back over the sent one only after admission (nodeStrategy
    PrepareForUpdate), so that the sent status can be anything: pass the old object as *status_of*.
    """
    ready = conditions.of(status_of)
    vote, vote_time_s = policy.read(meta.annotations_of(node))
    spec = meta.mapping(node, "spec", "")
    return NodeFacts(
        name=meta.text(meta.metadata(node), "name", "metadata"),
        uid=meta.text(meta.metadata(node), "uid", "metadata"),
        labels=meta.labels_of(node),
        ready=conditions.status(ready, READY),
        ready_since_s=conditions.since_s(ready, READY),
        vote=vote,
        vote_time_s=vote_time_s,
        taints=tuple(
            Taint(*(meta.text(taint, key, "spec.taints") for key in ("key", "value", "effect"))) for taint in taints(node)
        ),
        kubelet_version="",
        unschedulable=bool(meta.boolean(spec, "unschedulable", "spec")),
    )


def taints(node: Mapping[str, Any]) -> list[meta.Json]:
    """The node's taints, in order."""
    return meta.objects(meta.mapping(node, "spec", ""), "taints", "spec")


def is_unreachable_no_execute(taint: Mapping[str, Any]) -> bool:
    """Whether *taint* is the one by which the node lifecycle controller evicts the pods of a silent node."""
    return taint.get("key") == UNREACHABLE_TAINT and taint.get("effect") == NO_EXECUTE
