"""Bounds on a real API server: policies and rules, pods that break them, users whom they refuse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.apiserver import injection
from tests.apiserver.gatehouse import ADMISSION_ONLY, Gatehouse
from tests.apiserver.waiting import wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, ApiError, Cluster, Json
from tests.cluster.api import Headers
from tests.cluster.kinds import apply, collection_path

NAMESPACE, UNBOUND = "bounded", "unbounded"
POLICIES: Json = {
    "resourceLimits": {
        "policies": [
            {
                "name": "article",
                "namespaces": {"only": ["bounded*"]},
                "container": {"cpu": {"requests": {"max": 1}}, "memory": {"requests": {"max": "1Gi"}}},
            }
        ]
    },
    "podCompliance": {
        "policies": [
            {
                "name": "strict",
                "namespaces": {"only": [NAMESPACE]},
                "privilege": "Deny",
                "tags": {"mode": "Warn"},
                "registries": {"mode": "Deny", "allow": ["docker.io"]},
            }
        ]
    },
}
SHOP, PROD, LAB = "shop-a", "prod-a", "prod-lab"
ANN, BOB, ODD = "ann", "bob-7", 'o\'dd "one" \\ ${x}'
DEPLOYER, ELECTOR = "system:serviceaccount:ci:deployer", f"system:serviceaccount:{PROD}:elector"
RULES: Json = {
    "creatorPolicy": {
        "rules": [
            {
                "name": "by-hand",
                "resources": ["pods"],
                "allow": {"groups": ["ops"], "serviceAccounts": ["ci/*"], "users": ["bob-*"]},
            },
            {"name": "shells", "resources": ["pods/exec"], "operations": ["CONNECT"], "allow": {"groups": ["ops"]}},
            {
                "name": "prod",
                "resources": ["*", "*/scale"],
                "operations": ["*"],
                "namespaces": {"only": ["prod-*"], "never": [LAB]},
                "allow": {"serviceAccounts": ["ci/deployer"], "users": [ODD]},
            },
            {"name": "roles", "resources": ["clusterroles.rbac.authorization.k8s.io"], "operations": ["CREATE", "DELETE"]},
            {"name": "maps", "resources": ["configmaps"], "mode": "Warn", "namespaces": {"only": [SHOP]}},
        ]
    }
}
MODEST: Json = {"requests": {"cpu": "100m", "memory": "64Mi"}}


def container(name: str = "app", **fields: object) -> Json:
    """A container that breaks nothing."""
    return {"name": name, "image": "busybox:1.37", "resources": MODEST} | fields


def pod(name: str, **spec: object) -> Json:
    """A pod that breaks nothing; *spec* adds to its spec."""
    return injection.pod(name) | {"spec": {"containers": [container()]} | spec}


def refusal(api: Api, namespace: str, body: Json, headers: Headers | None = None) -> str:
    """What the API server says against *body* in a dry run, "" when it takes it."""
    try:
        api.create(f"{pods_path(namespace)}?dryRun=All", body, headers)
    except ApiError as error:
        return str(error)
    return ""


@contextmanager
def judging(cluster: Cluster, admin: Api, folder: Path, features: Json) -> Iterator[Gatehouse]:
    """A Gatehouse with *features*, registered."""
    for name in (NAMESPACE, UNBOUND):
        injection.namespace(admin, name, {})
    config = ADMISSION_ONLY | {"features": features}
    with Gatehouse(cluster, folder, config=config) as gatehouse, gatehouse.registration().applied(admin):
        yield gatehouse


def wait_until_judged(admin: Api, namespace: str = NAMESPACE) -> None:
    """Until the API server has noticed the registration."""
    greedy = pod("greedy", containers=[container(resources={"requests": {"cpu": "9"}})])
    wait_for(lambda: bool(refusal(admin, namespace, greedy)), 15.0, f"a refusal in {namespace}")


def let_users_in(admin: Api) -> None:
    """Rights of an administrator for the users of RULES, and the namespaces: what they may not, Gatehouse forbids."""
    users = (ANN, BOB, ODD, DEPLOYER, ELECTOR)
    binding: Json = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "bounds-testers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user} for user in users],
    }
    apply(admin, binding)
    for name in (SHOP, PROD, LAB):
        injection.namespace(admin, name, {})


def creation(admin: Api, namespace: str, body: Json, headers: Headers) -> str:
    """What the API server says against *body* in a dry run, "" when it takes it."""
    placed = {**body, "metadata": {**body["metadata"], "namespace": namespace}}
    return error(admin, "POST", f"{collection_path(placed)}?dryRun=All", placed, headers)


def error(admin: Api, method: str, path: str, body: Any, headers: Headers) -> str:
    """What the API server says against a request, "" when it takes it."""
    try:
        admin.request(method, path, body, headers=headers)
    except ApiError as refused:
        return str(refused)
    return ""


def lease() -> Json:
    """What a leader renews."""
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "leader"}, "spec": {}}
