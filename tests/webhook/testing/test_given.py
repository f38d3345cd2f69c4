"""What a golden case says is given becomes facts and settings."""

from __future__ import annotations

from typing import Any

import pytest

from webhook.clock import Deadline
from webhook.cluster import Cluster
from webhook.objects.quantity import parse
from webhook.sidecars.selection import Missing, Policy
from webhook.testing.given import NOW, Given
from webhook.testing.golden import FixedClock

CONFIG_MAP: dict[str, Any] = {
    "metadata": {"name": "envoy-initializer", "namespace": "shop"},
    "data": {"config": "containers: [{name: proxy, image: proxy:1}]"},
}
SOON = Deadline.after(1.0, FixedClock(0.0))


def cluster(**given: Any) -> Cluster:
    return Given.read(given).cluster()


def test_nothing_given_is_an_empty_cluster_at_a_fixed_moment() -> None:
    found = Given.read({})

    assert found.now_s == Given.read({"now": NOW}).now_s
    assert found.settings.sidecars == Policy()
    assert found.cluster().sidecars.catalog().sources == {}
    assert found.cluster().nodes.oldest_kubelet() is None


def test_namespaces_may_differ_from_what_a_live_read_finds() -> None:
    found = cluster(namespaces=[{"name": "shop"}], liveNamespaces=[{"name": "shop", "labels": {"a": "b"}}])
    cached, live = found.namespaces.get("shop"), found.namespaces.confirm("shop", SOON)

    assert cached is not None
    assert live is not None
    assert (cached.labels, live.labels) == ({}, {"a": "b"})


def test_config_maps_are_read_as_sidecars() -> None:
    state = cluster(configMaps=[CONFIG_MAP]).sidecars.catalog().find("envoy-initializer", "shop", "home")

    assert state is not None
    assert state.entry is not None


def test_limit_ranges_and_quotas_are_raw_objects() -> None:
    metadata = {"name": "a", "namespace": "shop"}
    found = cluster(
        limitRanges=[{"metadata": metadata, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "2"}}]}}],
        resourceQuotas=[{"metadata": metadata, "spec": {"hard": {"pods": "1"}}}],
    )

    assert found.limit_ranges.of("shop")[0].items[0].max == {"cpu": parse("2")}
    assert found.resource_quotas.of("shop")[0].hard == {"pods": parse("1")}


def test_the_oldest_kubelet_is_that_of_nodes_that_take_pods() -> None:
    nodes = [{"name": "a", "kubelet": "v1.33.0"}, {"name": "b", "kubelet": "v1.20.0", "unschedulable": True}]

    assert cluster(nodes=nodes).nodes.oldest_kubelet() == (1, 33)


def test_missing_config_maps_are_known_only_when_given() -> None:
    nobody, server = cluster().config_maps, cluster(missingConfigMaps=["shop/a"]).config_maps

    assert nobody.exists("shop", "a", SOON) is None
    assert (server.exists("shop", "a", SOON), server.exists("shop", "b", SOON)) == (False, True)


def test_the_policy_of_sidecars_is_written_as_in_the_configuration() -> None:
    settings = {"sidecar": {"default": ["mesh"], "onMissingEntry": "Warn", "namespace": "platform"}}

    assert Given.read({"settings": settings}).settings.sidecars == Policy(("mesh",), "platform", Missing.WARN)


@pytest.mark.parametrize("given", [{"nods": []}, {"settings": {"sidecars": {}}}, {"namespaces": [{"nam": "a"}]}])
def test_unknown_keys_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(AssertionError, match="unknown keys"):
        Given.read(given).cluster()
