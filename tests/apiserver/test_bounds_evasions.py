"""Ways around a bound that a real API server offers are closed; and what only warns stands in nobody's way when we are gone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver import bounds, injection
from tests.apiserver.bounds import ANN, NAMESPACE, container, pod, refusal
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, ApiError, Cluster, Json
from tests.cluster.api import MERGE_PATCH, STRATEGIC_MERGE_PATCH, impersonating

PODS = pods_path(NAMESPACE)
WARNED = "warned"
FEATURES: Json = {
    "resourceLimits": {
        "policies": [
            bounds.POLICIES["resourceLimits"]["policies"][0],
            {"name": "soft", "mode": "Warn", "namespaces": {"only": [WARNED]}, "container": {"cpu": {"requests": {"max": 1}}}},
        ]
    },
    "podCompliance": {
        "policies": [
            {
                "name": "strict",
                "namespaces": {"only": [NAMESPACE]},
                "labels": {"mode": "Deny", "required": {"team": []}},
                "tags": {"mode": "Deny"},
            }
        ]
    },
    "creatorPolicy": {
        "rules": [{"name": "spaces", "resources": ["namespaces"], "namespaces": {"only": ["prod-*"]}}],
        "exempt": {"groups": ["platform"]},
    },
}


@pytest.fixture(scope="module")
def gatehouse(cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    injection.namespace(admin, WARNED, {})
    bounds.let_users_in(admin)
    with bounds.judging(cluster, admin, tmp_path_factory.mktemp("evasions"), FEATURES) as running:
        bounds.wait_until_judged(admin)
        yield running


def labelled(name: str, **spec: object) -> Json:
    body = pod(name, **spec)
    body["metadata"]["labels"] = {"team": "shop"}
    return body


def test_no_label_is_taken_off_with_the_status(gatehouse: Gatehouse, admin: Api) -> None:
    admin.create(PODS, labelled("kept"))

    with pytest.raises(ApiError, match="label team is missing"):
        admin.patch(f"{PODS}/kept/status", {"metadata": {"labels": {"team": None}}}, MERGE_PATCH)
    asked = gatehouse.total("controller_runtime_webhook_requests_total", webhook="/validate")
    admin.patch(f"{PODS}/kept/status", {"status": {"message": "x"}, "metadata": {"labels": {"other": "x"}}}, MERGE_PATCH)
    admin.patch(f"{PODS}/kept", {"spec": {"activeDeadlineSeconds": 1000}}, MERGE_PATCH)
    assert gatehouse.total("controller_runtime_webhook_requests_total", webhook="/validate") == asked


def test_an_image_is_judged_when_it_is_changed(gatehouse: Gatehouse, admin: Api) -> None:
    admin.create(PODS, labelled("tagged"))
    image = {"name": "app", "image": "busybox:latest"}

    with pytest.raises(ApiError, match="busybox:latest"):
        admin.patch(f"{PODS}/tagged", {"spec": {"containers": [image]}}, STRATEGIC_MERGE_PATCH)


def test_no_container_gets_more_from_what_its_pod_states(gatehouse: Gatehouse, admin: Api) -> None:
    greedy = labelled("greedy", containers=[container(resources={})], resources={"requests": {"cpu": "9"}})

    assert "spec.resources.requests.cpu" in refusal(admin, NAMESPACE, greedy)


@pytest.mark.parametrize("amount", ["1e400", "1e306", "9E"])
def test_no_amount_is_too_large_for_an_answer(gatehouse: Gatehouse, admin: Api, amount: str) -> None:
    huge = labelled("huge", containers=[container(resources={"requests": {"cpu": amount}, "limits": {"cpu": amount}})])

    assert "exceeds the maximum of 1" in refusal(admin, NAMESPACE, huge)


@pytest.mark.parametrize("metadata", [{"name": "prod-new"}, {"generateName": "prod-"}])
def test_a_namespace_is_judged_by_the_name_that_it_will_have(gatehouse: Gatehouse, admin: Api, metadata: Json) -> None:
    space: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    other: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "lab-"}}

    def made(body: Json) -> str:
        return bounds.error(admin, "POST", "/api/v1/namespaces?dryRun=All", body, impersonating(ANN))

    assert "rule spaces allows nobody" in made(space)
    assert made(other) == ""


def test_an_outage_refuses_nothing_for_a_rule_that_only_warns(
    cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory
) -> None:
    injection.namespace(admin, WARNED, {})
    with bounds.judging(cluster, admin, tmp_path_factory.mktemp("warned"), FEATURES) as running:
        bounds.wait_until_judged(admin)

        def is_asked() -> bool:
            assert refusal(admin, WARNED, pod("web")) == ""
            return running.total("controller_runtime_webhook_requests_total", webhook="/validate/warn") > 0

        wait_for(is_asked, 15.0, "a call")
        running.stop()

        assert refusal(admin, WARNED, pod("web")) == ""
        assert "validate.gatehouse.dev" in refusal(admin, NAMESPACE, labelled("web"))
