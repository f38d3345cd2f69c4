"""Pods beyond the operator's bounds are refused by the real API server in every position, and old ones are left in peace."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver import bounds, injection
from tests.apiserver.bounds import MODEST, NAMESPACE, POLICIES, UNBOUND, container, pod, refusal
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, ApiError, Cluster, Json
from tests.cluster.api import STRATEGIC_MERGE_PATCH
from tests.cluster.kinds import collection_path

OFFENDER = "old-offender"
PODS = pods_path(NAMESPACE)


@pytest.fixture(scope="module")
def gatehouse(cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    """One process, and a pod that broke every rule before there were any."""
    injection.namespace(admin, NAMESPACE, {})
    greedy = container("greedy", resources={"requests": {"cpu": "3"}}, securityContext={"privileged": True})
    old = pod(OFFENDER, containers=[greedy, container("modest")])
    old["metadata"] |= {"finalizers": ["example.com/tracking"]}
    admin.create(PODS, old)
    with bounds.judging(cluster, admin, tmp_path_factory.mktemp("bounds"), POLICIES) as running:
        bounds.wait_until_judged(admin)
        yield running


@pytest.mark.parametrize(
    ("resources", "fact"),
    [
        ({"requests": {"cpu": "1001m"}}, "cpu request 1001m exceeds the maximum of 1"),
        ({"requests": {"memory": "1025Mi"}}, "memory request 1025Mi exceeds the maximum of 1Gi"),
        ({"limits": {"cpu": "2"}}, "cpu request 2 exceeds the maximum of 1"),
    ],
)
@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"containers": [container("first"), "x"]}, "spec.containers[1]"),
        ({"initContainers": ["x"]}, "spec.initContainers[0]"),
        ({"initContainers": [container("first"), "native"]}, "spec.initContainers[1]"),
    ],
)
def test_the_articles_rule_refuses_a_container_in_every_position(
    gatehouse: Gatehouse, admin: Api, spec: Json, path: str, resources: Json, fact: str
) -> None:
    made = {
        "x": container("x", resources=resources),
        "native": container("x", resources=resources, restartPolicy="Always"),
    }
    placed = {key: [made[one] if isinstance(one, str) else one for one in found] for key, found in spec.items()}

    said = refusal(admin, NAMESPACE, pod("web", **placed))

    assert f'container "x": {fact} ({path}.resources.requests.' in said
    assert "policy article)" in said


def test_every_breach_is_in_one_answer(gatehouse: Gatehouse, admin: Api) -> None:
    broken = container(image="evil.example/app:1", resources={"requests": {"cpu": "2", "memory": "2Gi"}})

    said = refusal(admin, NAMESPACE, pod("web", containers=[broken, container("b", securityContext={"privileged": True})]))

    for part in ("cpu request 2", "memory request 2Gi", "comes from evil.example/app", 'container "b" must not set privileged'):
        assert part in said


def test_what_keeps_to_the_bounds_is_created(gatehouse: Gatehouse, admin: Api) -> None:
    exact = container(resources={"requests": {"cpu": "1000m", "memory": "1073741824"}})

    assert refusal(admin, NAMESPACE, pod("web", containers=[exact])) == ""


def test_nobody_evades_a_rule_by_our_label(gatehouse: Gatehouse, admin: Api) -> None:
    posing = pod("web", containers=[container(resources={"requests": {"cpu": "9"}})])
    posing["metadata"]["labels"] = {"app.kubernetes.io/name": "gatehouse"}

    assert "exceeds the maximum of 1" in refusal(admin, NAMESPACE, posing)


def test_other_namespaces_are_not_asked_about(gatehouse: Gatehouse, admin: Api) -> None:
    def asked() -> float:
        return gatehouse.total("controller_runtime_webhook_requests_total", webhook="/validate")

    before = asked()
    refused = refusal(admin, UNBOUND, pod("web", containers=[container(resources={"requests": {"cpu": "9"}})]))

    assert (refused, asked()) == ("", before)


def test_an_ephemeral_container_is_judged(gatehouse: Gatehouse, admin: Api) -> None:
    admin.create(PODS, pod("debugged"))
    path = f"{PODS}/debugged/ephemeralcontainers?dryRun=All"
    plain: Json = {"name": "debug", "image": "busybox:1.37"}

    privileged = {"ephemeralContainers": [plain | {"securityContext": {"privileged": True}}]}
    admin.patch(path, {"spec": {"ephemeralContainers": [plain]}}, STRATEGIC_MERGE_PATCH)
    with pytest.raises(ApiError, match=r"spec\.ephemeralContainers\[0\]\.securityContext\.privileged"):
        admin.patch(path, {"spec": privileged}, STRATEGIC_MERGE_PATCH)


def test_a_deployment_is_warned_of_with_the_field_of_its_template(gatehouse: Gatehouse, admin: Api) -> None:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [container(resources={"requests": {"cpu": "2"}})]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": spec,
    }

    _, warnings = admin.told("POST", f"{collection_path(deployment)}?dryRun=All", deployment)

    assert warnings == [
        'gatehouse: Deployment web: its pods will be refused: container "app": cpu request 2 exceeds the maximum of 1 '
        "(spec.template.spec.containers[0].resources.requests.cpu, policy article)"
    ]


def test_a_rule_that_warns_lets_the_pod_in(gatehouse: Gatehouse, admin: Api) -> None:
    _, warnings = injection.create(admin, NAMESPACE, pod("web", containers=[container(image="busybox")]), "?dryRun=All")

    assert any("has no tag, which means latest" in warning for warning in warnings)


def test_a_resize_beyond_the_maximum_is_refused_and_one_within_it_passes(gatehouse: Gatehouse, admin: Api) -> None:
    admin.create(PODS, pod("resized"))

    with pytest.raises(ApiError, match="cpu request 1500m exceeds the maximum of 1"):
        _resize(admin, "resized", "app", "1500m")
    assert _resize(admin, "resized", "app", "900m")["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "900m"


def test_an_old_offender_may_be_resized_in_its_other_containers_and_towards_the_maximum(
    gatehouse: Gatehouse, admin: Api
) -> None:
    _resize(admin, OFFENDER, "modest", "200m")
    _resize(admin, OFFENDER, "greedy", "2")
    with pytest.raises(ApiError, match="cpu request 4 exceeds the maximum of 1"):
        _resize(admin, OFFENDER, "greedy", "4")


def test_metadata_and_finalizers_of_an_old_offender_may_change(gatehouse: Gatehouse, admin: Api) -> None:
    changed = admin.patch(f"{PODS}/{OFFENDER}", {"metadata": {"labels": {"a": "b"}, "finalizers": []}})

    assert "finalizers" not in changed["metadata"]
    image = {"spec": {"containers": [{"name": "modest", "image": "evil.example/other:1"}]}}
    with pytest.raises(ApiError, match=r"comes from evil\.example/other"):
        admin.patch(f"{PODS}/{OFFENDER}", image, STRATEGIC_MERGE_PATCH)


def test_a_large_pod_may_be_updated(gatehouse: Gatehouse, admin: Api) -> None:
    env = [{"name": f"VARIABLE_{number}", "value": "x" * 90} for number in range(1500)]
    admin.create(PODS, pod("large", containers=[container(f"c{number}", env=env, resources={}) for number in range(5)]))

    assert admin.patch(f"{PODS}/large", {"metadata": {"annotations": {"a": "b"}}})["metadata"]["annotations"] == {"a": "b"}
    with pytest.raises(ApiError, match="comes from evil"):
        admin.patch(
            f"{PODS}/large", {"spec": {"containers": [{"name": "c4", "image": "evil.example/a:1"}]}}, STRATEGIC_MERGE_PATCH
        )


def _resize(admin: Api, name: str, of: str, cpu: str) -> Json:
    resources = {"requests": MODEST["requests"] | {"cpu": cpu}}
    body = {"spec": {"containers": [{"name": of, "resources": resources}]}}
    return admin.patch(f"{PODS}/{name}/resize", body, STRATEGIC_MERGE_PATCH)
