"""The section `given` of a golden case: the moment, the cluster's facts, and what the operator has configured.

    now: "2026-11-29T10:00:00Z"
    nodes: [{name: edge-1, ready: Unknown, kubelet: v1.33.0}]     # keyword arguments of `facts.node_facts`, in camelCase
    live: […]                                                     # the nodes that a live read finds
    pods: [{name: web-1, gatesMet: false}]                        # likewise of `facts.pod_facts`
    namespaces: [{name: shop, labels: {…}, annotations: {…}}]
    liveNamespaces: […]                                           # those that a live read finds
    configMaps: [{metadata: {name: envoy-initializer, namespace: shop}, data: {config: "…"}}]    # raw, read as sidecars
    limitRanges: […]                                              # raw, and so are
    resourceQuotas: […]
    missingConfigMaps: [shop/settings]                            # the API server has all others; absent: nobody knows
    votes: {maxAge: 60s}                                          # as in the configuration file, and so is
    settings: {sidecar: {default: [mesh], onMissingEntry: Deny, namespace: kube-system}}
    capacity: {allocatableCpuM: 40000, requestedCpuM: 32000, …}   # attributes of `cluster.CapacityFacts`; absent: nobody counts
    policies: {resources: [{name: a, container: {cpu: {requests: {max: 1}}}}], creators: {…}, compliance: […]}  # `policies`
    databases: {policy: Delete, instances: [{name: db, volumes: {…}}], claims: [{name: data}], sets: [{name: db, owner: db}]}
                                                                  # synced; all of "shop"; sets have the claim template "data"
    rules: {inherit-owner: {label: team}}                         # settings of rules that are plug-ins, as in `plugins.rules`
    addresses: {pools: […], reservations: […], …}                 # the module `given_addresses`; absent: no pod gets any

Raises AssertionError on unknown keys and on what cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from webhook.admission.settings import Settings
from webhook.cluster import CapacityFacts, Cluster, NamespaceFacts, NoAddresses, NoDatabases, NodeFacts, PodFacts, Status, Vote
from webhook.defaults.sets import PodDefaults
from webhook.defaults.tuning import Tuning
from webhook.objects import limit_ranges, meta, resource_quotas
from webhook.objects.compliance import CompliancePolicy
from webhook.objects.creators import CreatorPolicy
from webhook.objects.databases import KIND, ClaimFacts, DeletionPolicy, InstanceFacts, Owner, VolumesSpec
from webhook.objects.durations import parse_duration_s
from webhook.objects.meta import Json, parse_time_s
from webhook.objects.resource_policies import ResourcePolicy
from webhook.objects.selectors import Selector
from webhook.objects.votes import Protocol, VotePolicy
from webhook.sidecars.entries import source
from webhook.sidecars.entries.catalog import Reading
from webhook.sidecars.selection import Missing, Policy
from webhook.testing import facts, given_addresses, policies

NOW: Final = "2026-11-29T10:00:00Z"
_SHOP: Final = "shop"
_KEYS: Final = (
    *("now", "votes", "settings", "policies", "nodes", "live", "pods", "namespaces", "liveNamespaces"),
    *("configMaps", "limitRanges", "resourceQuotas", "missingConfigMaps", "capacity", "databases", "addresses", "rules"),
)


@attrs.frozen
class Given:
    """What a case starts from."""

    now_s: float
    settings: Settings
    json: Json

    @classmethod
    def read(cls, given: Json) -> Given:
        """The section, read."""
        known(given, *_KEYS)
        settings = given.get("settings") or {}
        known(settings, "sidecar")
        bounds = given.get("policies") or {}
        known(bounds, "resources", "creators", "compliance", "defaults", "tuning")
        return cls(
            _seconds(given.get("now", NOW)),
            Settings(
                votes=_votes(given.get("votes") or {}),
                sidecars=_policy(settings.get("sidecar") or {}),
                defaults=policies.read(PodDefaults, bounds.get("defaults") or {}),
                tuning=policies.read(Tuning, bounds.get("tuning") or {}),
                resource_policies=tuple(policies.read(ResourcePolicy, one) for one in bounds.get("resources") or ()),
                creators=policies.read(CreatorPolicy, bounds.get("creators") or {}),
                compliance=tuple(policies.read(CompliancePolicy, one) for one in bounds.get("compliance") or ()),
                database_policy=DeletionPolicy(given["databases"].get("policy", "Delete")) if "databases" in given else None,
                addresses=given_addresses.policy(given["addresses"]) if "addresses" in given else None,
                verify_patches=True,
            ),
            given,
        )

    def cluster(self) -> Cluster:
        """A fresh cluster of the facts: it counts what it is asked."""
        given = self.json
        missing = given.get("missingConfigMaps")
        return facts.cluster(
            [_node(value) for value in given.get("nodes") or ()],
            [_pod(value) for value in given.get("pods") or ()],
            [_node(value) for value in given.get("live") or ()],
            namespaces=[_namespace(value) for value in given.get("namespaces") or ()],
            live_namespaces=[_namespace(value) for value in given.get("liveNamespaces") or ()],
            sidecars=[_reading(value) for value in given.get("configMaps") or ()],
            limit_ranges=[limit_ranges.from_object(value) for value in given.get("limitRanges") or ()],
            quotas=[resource_quotas.from_object(value) for value in given.get("resourceQuotas") or ()],
            missing_config_maps=missing,
            capacity=policies.read(CapacityFacts, given["capacity"]) if "capacity" in given else None,
            databases=_databases(given["databases"]) if "databases" in given else NoDatabases(),
            addresses=given_addresses.read(given["addresses"]) if "addresses" in given else NoAddresses(),
        )


def known(value: Mapping[str, Any], *keys: str) -> None:
    """Raises AssertionError when *value* has other keys than *keys*."""
    unknown = sorted(set(value) - set(keys))
    assert not unknown, f"unknown keys {', '.join(map(str, unknown))} (known: {', '.join(sorted(keys)) or 'none'})"


def _node(value: Mapping[str, Any]) -> NodeFacts:
    known(value, "name", "ready", "vote", "readySince", "voteTime", "labels", "kubelet", "unschedulable")
    node = {
        "name": value["name"],
        "ready": _status(value.get("ready", "Unknown")),
        "vote": Vote(value.get("vote", "healthy")),
        "ready_since_s": _seconds(value.get("readySince", "2026-11-29T09:59:00Z")),
        "vote_time_s": _seconds(value["voteTime"]) if "voteTime" in value else None,
        "labels": value.get("labels") or {},
    }
    return facts.node_facts(**node, **{key: value[key] for key in ("kubelet", "unschedulable") if key in value})


def _pod(value: Mapping[str, Any]) -> PodFacts:
    known(value, "name", "namespace", "node", "uid", "phase", "deleting", "ready", "readyReason", "containersReady", "gatesMet")
    names = {"gatesMet": "gates_met", "readyReason": "ready_reason", "containersReady": "containers_ready"}
    pod = {names.get(key, key): item for key, item in value.items()}
    for condition in ("ready", "containers_ready"):
        if condition in pod:
            pod[condition] = _status(pod[condition])
    return facts.pod_facts(**pod)


def _namespace(value: Mapping[str, Any]) -> NamespaceFacts:
    known(value, "name", "labels", "annotations", "deleting")
    return facts.namespace_facts(**value)


def _databases(value: Mapping[str, Any]) -> facts.StaticDatabases:
    known(value, "policy", "instances", "claims", "sets", "synced")
    instances = [
        InstanceFacts(_SHOP, one["name"], f"uid-{one['name']}", VolumesSpec.of(one.get("volumes")), None)
        for one in value.get("instances") or ()
    ]
    claims = [
        ClaimFacts(_SHOP, one["name"], f"uid-{one['name']}", one.get("labels") or {}, (), f"pv-{one['name']}")
        for one in value.get("claims") or ()
    ]
    sets = [
        facts.StatefulSet(one["name"], f"uid-set-{one['name']}", (Owner(f"uid-{one['owner']}", KIND, one["owner"]),))
        for one in value.get("sets") or ()
    ]
    return facts.StaticDatabases(instances, claims, value.get("synced", True), {_SHOP: sets})


def _reading(config_map: Json) -> Reading:
    metadata = meta.metadata(config_map)
    assert metadata.get("name") and metadata.get("namespace"), f"a ConfigMap needs a name and a namespace: {metadata}"
    data = meta.texts(config_map, "data", "")
    return source.read(metadata["namespace"], metadata["name"], meta.labels_of(config_map), data, "uid-config", "1")


def _votes(value: Mapping[str, Any]) -> VotePolicy:
    known(value, "protocol", "timeAnnotation", "maxAge", "maxGuard", "nodeSelector", "alwaysReachable")
    return VotePolicy(
        protocol=Protocol(value.get("protocol", "annotation")),
        time_annotation=value.get("timeAnnotation", ""),
        max_age_s=parse_duration_s(value.get("maxAge", "0s")),
        max_guard_s=parse_duration_s(value.get("maxGuard", "24h")),
        node_selector=Selector.from_object(value.get("nodeSelector") or {}),
        always_reachable=value.get("alwaysReachable", False),
    )


def _policy(value: Mapping[str, Any]) -> Policy:
    known(value, "default", "namespace", "onMissingEntry")
    standard = Policy()
    return Policy(
        tuple(value.get("default") or standard.default),
        value.get("namespace") or standard.home,
        Missing(value.get("onMissingEntry", standard.on_missing)),
    )


def _status(value: str | None) -> Status | None:
    return None if value is None else Status(value)


def _seconds(value: str) -> float:
    seconds = parse_time_s(value)
    assert seconds is not None, f"{value!r} is not an RFC 3339 time"
    return seconds
