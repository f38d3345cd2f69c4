"""The table of services: the single source of routes, health names, metric labels and webhook registrations.

Adding a rule: one file in `webhook/features`, one line here, one folder of golden cases.
"""

from __future__ import annotations

from typing import Any

from webhook.admission.review import Operations
from webhook.admission.service import NODES_CACHE, PODS_CACHE, Entry, Match, Rule, Service
from webhook.admission.settings import Settings
from webhook.cluster import Cluster
from webhook.features.endpoints import KeepAddressesReady
from webhook.features.node_taint import DropUnreachableTaint
from webhook.features.pod_status import KeepPodReady
from webhook.names import APP_LABEL, PROJECT

CREATE, UPDATE = Operations.CREATE, Operations.UPDATE

# Our own objects are never ours to judge: a broken Gatehouse must not stand in the way of its own recovery.
NOT_OURS: dict[str, Any] = {
    "matchExpressions": [{"key": APP_LABEL, "operator": "NotIn", "values": [PROJECT]}],
}

# A flip by the node controller (MarkPodsNotReady in kubernetes/pkg/controller/util/node): Ready falls, ContainersReady stays. A
# failed probe lowers both, and kubelets write as members of system:nodes: neither ever reaches us.
NOT_A_KUBELET = ("not-a-kubelet", "!('system:nodes' in request.userInfo.groups)")
POD_STATUS_CONDITIONS = (
    NOT_A_KUBELET,
    (
        "was-ready",
        "has(oldObject.status) && has(oldObject.status.conditions) && "
        "oldObject.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
    ),
    (
        "becomes-unready",
        "has(object.status) && has(object.status.conditions) && "
        "object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'False')",
    ),
    (
        "containers-are-ready",
        "has(object.status) && has(object.status.conditions) && "
        "object.status.conditions.exists(c, c.type == 'ContainersReady' && c.status == 'True')",
    ),
)


def _guard(*matches: Match, **options: Any) -> Entry:
    """A registration of a service that guards availability: it is never in anyone's way."""
    return Entry(
        matches,
        match_policy="Exact",
        failure_policy="Ignore",
        side_effects="None",
        timeout_s=3,  # below 3 s there is no room for the API server's own retry after a 503
        reinvocation_policy="Never",
        **options,
    )


def _node_taint(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return (DropUnreachableTaint(settings.votes),)


def _endpoint(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return (KeepAddressesReady(settings.votes, cluster.nodes, cluster.pods),)


def _pod_status(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return (KeepPodReady(settings.votes, cluster.nodes),)


SERVICES: tuple[Service, ...] = (
    Service(
        "node-taint",
        "/node-taint",
        (
            _guard(
                Match("", "v1", "nodes", (UPDATE,), "Cluster"),
                object_selector=NOT_OURS,
                match_conditions=(NOT_A_KUBELET,),
            ),
        ),
        _node_taint,
        guards_availability=True,
    ),
    Service(
        "endpoint",
        "/endpoint",
        (
            _guard(
                Match("", "v1", "endpoints", (CREATE, UPDATE), "Namespaced"),
                Match("discovery.k8s.io", "v1", "endpointslices", (CREATE, UPDATE), "Namespaced"),
                object_selector=NOT_OURS,
            ),
        ),
        _endpoint,
        guards_availability=True,
        caches=frozenset({NODES_CACHE, PODS_CACHE}),
    ),
    Service(
        "pod-status",
        "/pod-status",
        (
            _guard(
                Match("", "v1", "pods/status", (UPDATE,), "Namespaced"),
                object_selector=NOT_OURS,
                match_conditions=POD_STATUS_CONDITIONS,
            ),
        ),
        _pod_status,
        guards_availability=True,
        caches=frozenset({NODES_CACHE}),
    ),
)


def by_name(name: str) -> Service:
    """The service *name*. Raises KeyError."""
    return {service.name: service for service in SERVICES}[name]


def path_for(group: str, resource: str, subresource: str = "") -> str | None:
    """The path that reviews of a resource are sent to; None when no registration matches it."""
    name = f"{resource}/{subresource}" if subresource else resource
    return next(
        (
            service.path
            for service in SERVICES
            for entry in service.entries
            for match in entry.matches
            if (match.group, match.resource) == (group, name)
        ),
        None,
    )
