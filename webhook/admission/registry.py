"""The table of services: the single source of routes, health names, metric labels and webhook registrations.

What is off by default is imported where it is on.

Adding a rule: one file in `webhook/features`, its section in `controllers/config/features.py`, one line here, one folder of
golden cases.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import attrs

from webhook.addresses.policy import ByHand
from webhook.admission.addresses import pod_ip_check_entries, pod_ip_entries
from webhook.admission.bounds import compliance_policies, creator_entries, creator_policy, pod_entries, resource_policies
from webhook.admission.databases import database_entries
from webhook.admission.defaults import default_entries, sets_defaults, tunes
from webhook.admission.review import Operations
from webhook.admission.service import (
    LIMIT_RANGES_CACHE,
    NAMESPACES_CACHE,
    NODES_CACHE,
    PODS_CACHE,
    SIDECARS_CACHE,
    Entry,
    Match,
    Rule,
    Service,
)
from webhook.admission.settings import Settings
from webhook.admission.spared import NOT_OF_THE_SYSTEM, NOT_OURS, NOT_SWITCHED_OFF
from webhook.cluster import Cluster
from webhook.defaults.completing import Completion
from webhook.features.creator_policy import RestrictCreators
from webhook.features.endpoints import KeepAddressesReady
from webhook.features.node_taint import DropUnreachableTaint
from webhook.features.pod_compliance import KeepPodsCompliant
from webhook.features.pod_defaults import SetPodDefaults
from webhook.features.pod_status import KeepPodReady
from webhook.features.resource_limits import KeepResourcesInBounds, ResourceLimits
from webhook.features.resource_tuning import TuneResources
from webhook.features.sidecar import InjectSidecars
from webhook.features.workload_warnings import WarnOfWorkloads
from webhook.names import (
    ENABLED,
    INJECTED_NAMESPACE_LABEL,
    NODES_GROUP,
    OPT_IN_NAMESPACE_LABEL,
)
from webhook.objects.enforcement import Mode
from webhook.objects.workloads import WORKLOADS

DEFAULTS = Settings()
CREATE, UPDATE = Operations.CREATE, Operations.UPDATE

# What a controller of the control plane applies has no reader.
NOT_A_CONTROLLER = ("not-a-controller", "!request.userInfo.username.startsWith('system:serviceaccount:kube-system:')")
_PODS_OF_THEIR_OWN = ("Pod", "PodTemplate")  # the one is told of at its creation, of the other nothing comes by itself

# A flip by the node controller (MarkPodsNotReady in kubernetes/pkg/controller/util/node): Ready falls, ContainersReady stays. A
# failed probe lowers both, and kubelets write as members of system:nodes: neither ever reaches us.
NOT_A_KUBELET = ("not-a-kubelet", f"!('{NODES_GROUP}' in request.userInfo.groups)")
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


def _mutate(suffix: str, *labels: tuple[str, str]) -> Entry:
    """A registration for the creation of pods in the namespaces whose *labels* are (In, NotIn) enabled."""
    chosen = [{"key": key, "operator": operator, "values": [ENABLED]} for key, operator in labels]
    return Entry(
        (Match("", "v1", "pods", (CREATE,), "Namespaced"),),
        suffix,
        namespace_selector={"matchExpressions": [*chosen, NOT_SWITCHED_OFF, NOT_OF_THE_SYSTEM]},
        object_selector=NOT_OURS,
    )


def _node_taint(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return (DropUnreachableTaint(settings.votes),)


def _endpoint(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return (KeepAddressesReady(settings.votes, cluster.nodes, cluster.pods),)


def _pod_status(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return (KeepPodReady(settings.votes, cluster.nodes),)


def _mutating(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return (InjectSidecars(settings.sidecars, cluster), *_defaulting(settings, cluster))


def _mutating_caches(settings: Settings) -> frozenset[str]:
    """With the LimitRanges where anything keeps to them: without defaults their cache is in no pod's way."""
    injecting = frozenset({NAMESPACES_CACHE, SIDECARS_CACHE, NODES_CACHE})
    return injecting | {LIMIT_RANGES_CACHE} if sets_defaults(settings) or tunes(settings) else injecting


def _defaulting(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    made = completion(settings, cluster)
    return (
        *([SetPodDefaults(made.defaults, cluster)] if sets_defaults(settings) else []),
        *([TuneResources(made.tuning, cluster)] if tunes(settings) else []),
    )


def completion(settings: Settings, cluster: Cluster) -> Completion:
    """What follows the sidecars, for whoever foresees it."""
    refusing = resource_policies(settings, Mode.DENY)
    defaults = attrs.evolve(settings.defaults, policies=refusing)
    return Completion(defaults, attrs.evolve(settings.tuning, policies=refusing), cluster)


def _validating(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return pod_bounds(settings, Mode.DENY)


def _warning(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return pod_bounds(settings, Mode.WARN)


def pod_bounds(settings: Settings, mode: Mode | None = None) -> tuple[KeepResourcesInBounds | KeepPodsCompliant, ...]:
    """The rules that hold pods to bounds, or those of *mode*, as far as *settings* leave them anything to decide."""
    limits, compliance = resource_policies(settings, mode), compliance_policies(settings, mode)
    # Where both services are asked about a pod, one of them doubts its amounts.
    doubted = resource_policies(settings, Mode.DENY) if mode is Mode.WARN else ()
    elsewhere = tuple(policy.namespaces for policy in doubted)
    return (
        *([KeepResourcesInBounds(ResourceLimits(limits, settings.typo_hints, elsewhere))] if limits else []),
        *([KeepPodsCompliant(compliance)] if compliance else []),
    )


def _creators(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return _restricting(settings, Mode.DENY)


def _warning_of_creators(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    return _restricting(settings, Mode.WARN)


def _restricting(settings: Settings, mode: Mode) -> tuple[Rule, ...]:
    policy = creator_policy(settings, mode)
    return (RestrictCreators(policy),) if policy.rules else ()


def _databases(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    if settings.database_policy is None:
        return ()
    from webhook.features.database_instance import GuardClaims

    return (GuardClaims(settings.database_policy, cluster.databases),)


def _pod_ip(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    if settings.addresses is None:
        return ()
    from webhook.features.pod_ip import GiveAddresses

    return (GiveAddresses(settings.addresses, cluster),)


def _pod_ip_check(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    if settings.addresses is None:
        return ()
    from webhook.features.pod_ip_check import CheckAddresses

    return (CheckAddresses(settings.home, cluster, settings.addresses.by_hand),)


def _workload_warnings(settings: Settings, cluster: Cluster) -> tuple[Rule, ...]:
    gives = settings.addresses is not None
    refuses = settings.addresses is not None and settings.addresses.by_hand is ByHand.REFUSE
    judges = pod_bounds(settings)
    return (WarnOfWorkloads(settings.sidecars, cluster, completion(settings, cluster), judges, gives, refuses),)


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
    Service(
        "mutate",
        "/mutate",
        (
            _mutate("", (OPT_IN_NAMESPACE_LABEL, "In")),
            _mutate("-every-pod", (INJECTED_NAMESPACE_LABEL, "In"), (OPT_IN_NAMESPACE_LABEL, "NotIn")),
        ),
        _mutating,
        caches=_mutating_caches,
    ),
    Service(
        "mutate-defaults",
        "/mutate/defaults",
        default_entries,
        _defaulting,
        caches=frozenset({NAMESPACES_CACHE, LIMIT_RANGES_CACHE}),
    ),
    # The last that changes pods: the API server calls again whom a later one's change has passed by, and each call of this one
    # may be a request of ours. As database-instance, these two wait for no cache that only a CRD brings: their rules do.
    Service(
        "pod-ip",
        "/pod-ip",
        pod_ip_entries,
        _pod_ip,
        caches=frozenset({NAMESPACES_CACHE}),
        aliases=("/webhook/mutating",),
    ),
    Service(
        "pod-ip-check",
        "/pod-ip-check",
        pod_ip_check_entries,
        _pod_ip_check,
        mutating=False,
        caches=frozenset({NAMESPACES_CACHE}),
    ),
    Service("validate", "/validate", pod_entries, _validating, mutating=False),
    Service("validate-warn", "/validate/warn", partial(pod_entries, mode=Mode.WARN), _warning, mutating=False),
    Service("validate-creators", "/validate/creators", creator_entries, _creators, mutating=False, asks_who=True),
    Service(
        "validate-creators-warn",
        "/validate/creators/warn",
        partial(creator_entries, mode=Mode.WARN),
        _warning_of_creators,
        mutating=False,
        asks_who=True,
    ),
    Service(
        "workload-warnings",
        "/workload-warnings",
        (
            Entry(
                tuple(
                    Match(workload.versions[0].rpartition("/")[0], "v1", workload.resource, (CREATE, UPDATE), "Namespaced")
                    for workload in WORKLOADS
                    if workload.kind not in _PODS_OF_THEIR_OWN
                ),
                namespace_selector={"matchExpressions": [NOT_OF_THE_SYSTEM]},
                object_selector=NOT_OURS,
                match_conditions=(NOT_A_CONTROLLER,),
                failure_policy="Ignore",
                timeout_s=3,
            ),
        ),
        _workload_warnings,
        mutating=False,
        caches=frozenset({NAMESPACES_CACHE, SIDECARS_CACHE, NODES_CACHE}),
    ),
    # Waits for no cache: without the CRD there is none to wait for, and no review either. The rule asks for itself.
    Service("database-instance", "/database-instance", database_entries, _databases, mutating=False),
)


_LAST_TO_CHANGE_PODS: Final = "pod-ip"


def services_with(settings: Settings) -> tuple[Service, ...]:
    """The table with the rules of others that *settings* name, in the order of asking."""
    place = next(index for index, service in enumerate(SERVICES) if service.name == _LAST_TO_CHANGE_PODS)
    return (*SERVICES[:place], *settings.plugins, *SERVICES[place:])


def taken() -> dict[str, str]:
    """Names and paths that no rule of others may have, and whose they are."""
    words = ((word, service.name) for service in SERVICES for word in (service.name, service.path, *service.aliases))
    return {word: f"Gatehouse's own {name}" for word, name in words}


def by_name(name: str) -> Service:
    """The service *name*. Raises KeyError."""
    return {service.name: service for service in SERVICES}[name]


def paths_for(
    group: str, resource: str, subresource: str = "", operation: Operations | None = None, settings: Settings = DEFAULTS
) -> tuple[str, ...]:
    """The paths that reviews of a resource are sent to, mutating ones first; () when no registration matches it.

    operation: None asks for any.
    """
    name = f"{resource}/{subresource}" if subresource else resource
    return tuple(
        service.path
        for service in sorted(services_with(settings), key=lambda service: not service.mutating)
        if any(
            match.covers(group, match.version, name, one)
            for entry in service.entries_with(settings)
            for match in entry.matches
            for one in (match.operations if operation is None else (operation,))
        )
    )


def path_for(group: str, resource: str, subresource: str = "") -> str | None:
    """The first of `paths_for`; None when there is none."""
    return next(iter(paths_for(group, resource, subresource)), None)
