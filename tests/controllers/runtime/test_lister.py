"""What rules may ask, answered from the caches."""

from __future__ import annotations

from typing import Any

from controllers.runtime.informer import Informer
from controllers.runtime.lister import LimitRangeLister, NamespaceLister, NodeLister, PodLister, QuotaLister
from controllers.runtime.projection_cluster import limit_ranges_resource, namespaces_resource, resource_quotas_resource
from controllers.runtime.resource import Resource
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi, FakeClock
from tests.controllers.runtime.builders import NODES, PODS, Json, informer, limit_range, namespace, node, pod, quota
from webhook.clock import Deadline
from webhook.cluster import LimitRanges, Namespaces, Nodes, Pods, ResourceQuotas, Vote
from webhook.names import VOTE_ANNOTATION
from webhook.objects.votes import VotePolicy
from webhook.telemetry import Telemetry


def synced(client: RestClient, resource: Resource[Any]) -> Informer[Any]:
    """A cache that has its first list; its thread does not run."""
    made = informer(client, FakeClock(auto_advance=True), resource)
    while not made.has_synced():
        made.reflector.advance()
    return made


def test_listers_answer_from_the_stores(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    api.objects.put(node("edge-1", annotations={VOTE_ANNOTATION: "true"}))
    api.objects.put(pod("web-1", on="edge-1"))
    nodes: Nodes = NodeLister(synced(client, NODES), client, VotePolicy(), FakeClock(), telemetry)
    pods: Pods = PodLister(synced(client, PODS))

    facts, running = nodes.get("edge-1"), pods.get("shop/web-1")

    assert facts is not None
    assert facts.vote is Vote.HEALTHY
    assert running is not None
    assert pods.on_node("edge-1") == [running]
    assert (nodes.get("edge-2"), pods.get("web-1"), pods.on_node("edge-2")) == (None, None, [])


def with_kubelet(name: str, version: str, *, cordoned: bool = False) -> Json:
    made = node(name)
    made["status"]["nodeInfo"]["kubeletVersion"] = version
    made["spec"] = {"unschedulable": cordoned}
    return made


def oldest(api: FakeApi, client: RestClient, telemetry: Telemetry, *objects: Json) -> tuple[int, int] | None:
    for one in objects:
        api.objects.put(one)
    return NodeLister(synced(client, NODES), client, VotePolicy(), FakeClock(), telemetry).oldest_kubelet()


def test_the_oldest_kubelet_is_that_of_the_nodes_that_take_pods(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    old = with_kubelet("a", "v1.9.4", cordoned=True)
    found = oldest(api, client, telemetry, old, with_kubelet("b", "v1.33.2-eks-1a"), with_kubelet("c", "v1.28.0+k3s1"))

    assert found == (1, 28)


def test_minor_versions_are_compared_as_numbers(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    assert oldest(api, client, telemetry, with_kubelet("a", "v1.9.4"), with_kubelet("b", "v1.30.0")) == (1, 9)


def test_a_kubelet_of_which_nothing_can_be_read_is_the_oldest(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    assert oldest(api, client, telemetry, with_kubelet("a", "devel"), with_kubelet("b", "v1.30.0")) == (0, 0)


def test_without_nodes_that_take_pods_there_is_no_oldest_kubelet(
    api: FakeApi, client: RestClient, telemetry: Telemetry
) -> None:
    assert oldest(api, client, telemetry, with_kubelet("a", "v1.30.0", cordoned=True)) is None


def test_a_namespace_is_looked_up_and_confirmed(api: FakeApi, client: RestClient, telemetry: Telemetry) -> None:
    api.objects.put(namespace("shop", labels={"team": "a"}))
    clock = FakeClock()
    namespaces: Namespaces = NamespaceLister(synced(client, namespaces_resource()), client, clock, telemetry)
    api.objects.put(namespace("late"))

    known, unknown = namespaces.get("shop"), namespaces.get("late")
    confirmed = namespaces.confirm("late", Deadline.after(2.0, clock))

    assert known is not None
    assert known.labels == {"team": "a"}
    assert unknown is None
    assert confirmed is not None
    assert namespaces.confirm("", Deadline.after(2.0, clock)) is None


def test_limit_ranges_and_quotas_come_by_namespace_and_name(api: FakeApi, client: RestClient) -> None:
    for one in (limit_range("b"), limit_range("a"), limit_range("c", space="other"), quota("y"), quota("x")):
        api.objects.put(one)
    ranges: LimitRanges = LimitRangeLister(synced(client, limit_ranges_resource()))
    quotas: ResourceQuotas = QuotaLister(synced(client, resource_quotas_resource()))

    assert [one.name for one in ranges.of("shop")] == ["a", "b"]
    assert [one.name for one in quotas.of("shop")] == ["x", "y"]
    assert list(quotas.of("other")) == []


def test_a_cache_without_its_first_list_forecasts_nothing(client: RestClient) -> None:
    assert list(QuotaLister(informer(client, FakeClock(), resource_quotas_resource())).of("shop")) == []
