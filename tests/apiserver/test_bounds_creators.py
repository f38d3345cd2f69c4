"""Who may create what, with impersonated users on the real API server: what the rules say is what happens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from controllers.config.document import parse
from tests.apiserver import bounds
from tests.apiserver.bounds import (
    ANN,
    BOB,
    DEPLOYER,
    ELECTOR,
    LAB,
    ODD,
    PROD,
    RULES,
    SHOP,
    creation,
    error,
    lease,
    pod,
    refusal,
)
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import impersonating
from tests.cluster.kinds import collection_path
from webhook.admission.bounds import creator_policy
from webhook.objects.creators import CreatorPolicy, Deed, Requester, objecting
from webhook.objects.documents import write_yaml


@pytest.fixture(scope="module")
def gatehouse(cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    """One process with these rules; the users may do everything else."""
    bounds.let_users_in(admin)
    with bounds.judging(cluster, admin, tmp_path_factory.mktemp("creators"), RULES) as running:
        wait_for(lambda: bool(refusal(admin, SHOP, pod("web"), impersonating(ANN))), 15.0, "a refusal")
        yield running


@pytest.fixture(scope="module")
def policy() -> CreatorPolicy:
    """The same rules, to be asked directly."""
    head = {"apiVersion": "gatehouse.dev/v1alpha1", "kind": "GatehouseConfiguration"}
    return creator_policy(parse(write_yaml(head | {"features": RULES}), "rules.yaml").settings())


def test_whoever_no_rule_names_is_refused_with_the_rule(gatehouse: Gatehouse, admin: Api) -> None:
    said = refusal(admin, SHOP, pod("web"), impersonating(ANN, "dev"))

    assert 'user "ann" may not CREATE pods in namespace shop-a: rule by-hand allows user bob-*, group ops, service' in said


@pytest.mark.parametrize("namespace", [SHOP, PROD, LAB, "default", "kube-system"])
@pytest.mark.parametrize("user", [ANN, BOB, ODD, DEPLOYER, ELECTOR])
def test_what_happens_is_what_the_rules_say(
    gatehouse: Gatehouse, admin: Api, policy: CreatorPolicy, user: str, namespace: str
) -> None:
    for plural, group, body in (
        ("pods", "", pod("web")),
        ("configmaps", "", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}),
        ("leases", "coordination.k8s.io", lease()),
        ("deployments", "apps", _deployment("web")),
    ):
        asked = Requester(user, ())
        refusing = [one for one in objecting(policy, asked, Deed("CREATE", group, plural, "", namespace)) if one.mode == "Deny"]

        said = creation(admin, namespace, body, impersonating(user))

        assert bool(said) is bool(refusing), f"{user} {plural}: {said}"
        assert not said or "may not CREATE" in said


def test_a_group_is_allowed_whoever_is_in_it(gatehouse: Gatehouse, admin: Api) -> None:
    # The right to create comes from the user's name, the permission of the rule from the group.
    assert refusal(admin, SHOP, pod("web"), impersonating(ANN, "ops")) == ""


def test_the_pods_of_a_deployment_that_somebody_was_let_create_are_made(gatehouse: Gatehouse, admin: Api) -> None:
    deployment = _deployment("made", SHOP)
    admin.create(collection_path(deployment), deployment, impersonating(ANN))

    wait_for(lambda: bool(_pods_of(admin, "made")), 30.0, "the pods of the Deployment")


def test_a_rule_that_warns_is_a_warning(gatehouse: Gatehouse, admin: Api) -> None:
    body: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "noted"}}
    path = f"/api/v1/namespaces/{SHOP}/configmaps?dryRun=All"

    _, warnings = admin.told("POST", path, body, headers=impersonating(ANN))

    assert warnings == ['gatehouse: user "ann" may not CREATE configmaps in namespace shop-a: rule maps allows nobody']


def test_exec_is_refused_before_anything_is_connected(gatehouse: Gatehouse, admin: Api) -> None:
    admin.create(pods_path(SHOP), pod("target"), impersonating(BOB))
    path = f"{pods_path(SHOP)}/target/exec?command=sh&stdout=true"

    assert "may not CONNECT pods/exec in namespace shop-a" in error(admin, "POST", path, None, impersonating(ANN))
    assert "may not CONNECT" not in error(admin, "POST", path, None, impersonating(ANN, "ops"))


def test_deletions_and_scaling_are_judged_too(gatehouse: Gatehouse, admin: Api) -> None:
    deployment = _deployment("kept", PROD)
    path = collection_path(deployment)
    admin.create(path, deployment, impersonating(DEPLOYER))

    assert "may not DELETE deployments.apps in namespace prod-a" in error(
        admin, "DELETE", f"{path}/kept", None, impersonating(ANN)
    )
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "kept", "namespace": PROD},
        "spec": {"replicas": 0},
    }
    assert "may not UPDATE deployments.apps/scale" in error(admin, "PUT", f"{path}/kept/scale", scale, impersonating(ANN))
    assert error(admin, "DELETE", f"{path}/kept", None, impersonating(DEPLOYER)) == ""


def test_what_belongs_to_no_namespace_is_judged_too(gatehouse: Gatehouse, admin: Api) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterroles?dryRun=All"
    role: Json = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "made"},
        "rules": [],
    }

    assert "may not CREATE clusterroles.rbac.authorization.k8s.io outside of namespaces" in error(
        admin, "POST", path, role, impersonating(ANN)
    )


def _deployment(name: str, namespace: str = "") -> Json:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [bounds.container()]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace}, "spec": spec}


def _pods_of(admin: Api, app: str) -> list[Json]:
    found: list[Json] = admin.get(f"{pods_path(SHOP)}?labelSelector=app%3D{app}")["items"]
    return found
