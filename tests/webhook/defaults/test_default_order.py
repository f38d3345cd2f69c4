"""Sidecar, defaults, tuning: the rules of one service, in this order, settle at once."""

from __future__ import annotations

from tests.webhook.defaults.defaulting import amounts, call, capacity, container, default_set, limit_range, pod
from webhook.admission.service import Rule
from webhook.defaults.sets import PodDefaults
from webhook.defaults.tuning import Scale, Tuning
from webhook.features.pod_defaults import SetPodDefaults
from webhook.features.resource_tuning import TuneResources
from webhook.features.sidecar import InjectSidecars
from webhook.names import INJECT, INJECTED_NAMESPACE_LABEL
from webhook.objects.meta import Json
from webhook.sidecars.entries import source
from webhook.sidecars.selection import Policy
from webhook.testing import facts

ENTRY = "containers: [{name: proxy, image: 'proxy:9'}]\nlabels: {version: mine}"
SET = default_set(
    labels={"version": "${image.tag}", "app": "${image.name}"},
    app=amounts({"cpu": "500m"}),
    containers={"proxy": amounts({"cpu": "100m"})},
)


def rules() -> tuple[Rule, ...]:
    cluster = facts.cluster(
        namespaces=[facts.namespace_facts(labels={INJECTED_NAMESPACE_LABEL: "enabled"})],
        sidecars=[source.read("shop", "envoy-initializer", {}, {"config": ENTRY})],
        limit_ranges=[limit_range(max={"memory": "1Gi"})],
        capacity=capacity(82),
    )
    tuning = Tuning({"cpu": Scale(), "memory": Scale()}, enabled=True)
    return InjectSidecars(Policy(), cluster), SetPodDefaults(PodDefaults((SET,)), cluster), TuneResources(tuning, cluster)


def served(before: Json) -> Json:
    for rule in rules():
        before = call(rule, before).pod
    return before


def test_an_injected_container_gets_defaults_and_the_image_is_that_of_the_pods_own() -> None:
    done = served(pod(metadata={"annotations": {INJECT: "true"}}))

    assert done["metadata"]["labels"] == {"version": "mine", "app": "web"}
    assert {one["name"]: one["resources"]["requests"]["cpu"] for one in done["spec"]["containers"]} == {
        "app": "300m",
        "proxy": "60m",
    }


def test_a_second_call_changes_nothing() -> None:
    first = served(pod(metadata={"annotations": {INJECT: "true"}}))

    assert served(first) == first


def test_a_container_that_another_webhook_adds_in_between_gets_its_own() -> None:
    first = served(pod())
    first["spec"]["containers"].append(container("late"))

    second = served(first)

    assert [one["resources"]["requests"]["cpu"] for one in second["spec"]["containers"]] == ["300m", "60m", "300m"]
