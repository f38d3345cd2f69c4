"""What is refused, to whom, and with which words."""

from __future__ import annotations

import pytest

from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, Json
from tests.cluster.api import impersonating
from tests.cluster.kinds import apply
from tests.e2e import pods
from tests.e2e.installed import Installed

SHOP, PRODUCTION = "bounded", "production"
GREEDY = {"resources": {"requests": {"cpu": "3"}}}
ALICE = impersonating("alice")
OPERATOR = impersonating("olga", "platform")


@pytest.fixture(scope="module", autouse=True)
def _namespaces(gatehouse: Installed, api: Api) -> None:
    pods.make_namespace(api, SHOP)
    pods.make_namespace(api, PRODUCTION)
    rbac = "rbac.authorization.k8s.io"
    for user in ("alice", "olga"):
        body: Json = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": {"name": user, "namespace": PRODUCTION}}
        body["roleRef"] = {"apiGroup": rbac, "kind": "ClusterRole", "name": "admin"}
        apply(api, body | {"subjects": [{"apiGroup": rbac, "kind": "User", "name": user}]})


def test_a_pod_that_asks_for_too_much_is_refused_with_both_figures(api: Api) -> None:
    said = pods.refusal(api, pods_path(SHOP), pods.pod("greedy", pods.container("app", "true", **GREEDY)))

    assert 'pod bounded/greedy: container "app": cpu request 3 exceeds the maximum of 1' in said
    assert "spec.containers[0].resources.requests.cpu, policy modest" in said


def test_who_applies_a_workload_of_such_pods_is_warned_at_once(api: Api) -> None:
    _, warnings = api.told("POST", f"/apis/apps/v1/namespaces/{SHOP}/deployments", _deployment("greedy", **GREEDY))

    assert any("exceeds the maximum of 1" in warning for warning in warnings)


def test_a_privileged_pod_is_refused(api: Api) -> None:
    body = pods.pod("root", pods.container("app", "true", securityContext={"privileged": True}))

    assert "privileged" in pods.refusal(api, pods_path(SHOP), body)


def test_people_may_not_make_pods_by_hand_in_production(api: Api) -> None:
    said = pods.refusal(api, pods_path(PRODUCTION), pods.pod("by-hand", pods.sleeper()), ALICE)

    assert "alice" in said
    assert "pods-by-hand" in said


def test_those_of_the_named_group_may(api: Api) -> None:
    made = api.create(pods_path(PRODUCTION), pods.pod("by-operator", pods.sleeper()), OPERATOR)

    assert made["metadata"]["name"] == "by-operator"


def test_their_deployments_run_there(gatehouse: Installed, api: Api) -> None:
    api.create(f"/apis/apps/v1/namespaces/{PRODUCTION}/deployments", _deployment("web"), ALICE)

    def runs() -> bool:
        found = api.get(f"{pods_path(PRODUCTION)}?labelSelector=app=web")["items"]
        return [one["status"]["phase"] for one in found] == ["Running"]

    wait_for(runs, pods.RUNS_WITHIN_S, "the Deployment's pod")


def _deployment(name: str, **more: object) -> Json:
    labels = {"app": name}
    template = pods.pod("", {**pods.sleeper(), **more})["spec"]
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": template}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}
