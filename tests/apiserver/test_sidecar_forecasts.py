"""What a namespace refuses is said before the API server says it, or repaired where the entry allows that."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver import injection
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.injection import ASKING, SIDECARS
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, ApiError, Cluster, Json
from tests.cluster.kinds import apply

PLAIN = """\
containers:
  - name: aside
    image: busybox:1.37
    command: ["sleep", "3600"]
    resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 500m, memory: 256Mi}}
"""
ENTRIES = {
    "plain": PLAIN,
    "secured": PLAIN + "repair: [PodSecurity]\n",
    "refusing": PLAIN + "ifRefused: Refuse\n",
    "skipping": PLAIN + "ifRefused: Skip\n",
    "clamped": PLAIN + "repair: [LimitRange]\n",
    "raising": PLAIN + "repair: [PodResources]\n",
}
RESTRICTED_APP: Json = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture(scope="module")
def gatehouse(cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    """One process; the operator's entries are in its own namespace."""
    apply(admin, injection.config_map("kube-system", "forecast-sidecars", ENTRIES, SIDECARS))
    with injection.injecting(cluster, admin, tmp_path_factory.mktemp("forecasts")) as running:
        yield running


@pytest.fixture(scope="module")
def restricted(gatehouse: Gatehouse, admin: Api) -> str:
    """A namespace that takes only restricted pods."""
    name = "forecast-restricted"
    injection.namespace(admin, name, ASKING | {"pod-security.kubernetes.io/enforce": "restricted"})
    return name


@pytest.fixture(scope="module")
def ranged(gatehouse: Gatehouse, admin: Api) -> str:
    """A namespace whose containers may have 200m of processor."""
    name = "forecast-ranged"
    injection.namespace(admin, name)
    spec = {"limits": [{"type": "Container", "max": {"cpu": "200m"}, "default": {"cpu": "100m"}, "min": {"cpu": "10m"}}]}
    metadata = {"name": "small", "namespace": name}
    apply(admin, {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": spec})
    return name


@pytest.fixture(scope="module")
def rationed(gatehouse: Gatehouse, admin: Api) -> str:
    """A namespace with 50m of processor left."""
    name = "forecast-rationed"
    injection.namespace(admin, name)
    metadata = {"name": "ration", "namespace": name}
    apply(admin, {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": {"hard": {"requests.cpu": "50m"}}})
    return name


def test_a_sidecar_that_the_pod_security_level_forbids_is_named_in_the_warning(admin: Api, restricted: str) -> None:
    _wait_for_facts(admin, restricted, "plain")

    refused, warnings = _attempt(admin, restricted, "plain", app=RESTRICTED_APP)

    assert "violates PodSecurity" in refused
    assert any("aside" in warning and "restricted" in warning for warning in warnings)


def test_a_sidecar_that_may_be_repaired_is_admitted_by_a_restricted_namespace(admin: Api, restricted: str) -> None:
    refused, _ = _attempt(admin, restricted, "secured", app=RESTRICTED_APP)

    assert refused == ""


def test_an_entry_may_refuse_the_pod_itself_and_is_named(admin: Api, restricted: str) -> None:
    refused, _ = _attempt(admin, restricted, "refusing", app=RESTRICTED_APP)

    assert "refusing" in refused
    assert "violates PodSecurity" not in refused


def test_an_entry_may_be_left_out_where_it_would_be_refused(admin: Api, restricted: str) -> None:
    refused, warnings = _attempt(admin, restricted, "skipping", app=RESTRICTED_APP)

    assert refused == ""
    assert any("skipping" in warning for warning in warnings)


def test_a_limit_range_that_refuses_the_sidecar_is_named(admin: Api, ranged: str) -> None:
    _wait_for_facts(admin, ranged, "plain")

    refused, warnings = _attempt(admin, ranged, "plain")

    assert "maximum cpu usage per Container is 200m" in refused
    assert any("small" in warning and "aside" in warning for warning in warnings)


def test_resources_are_brought_into_the_limit_range_where_the_entry_allows_it(admin: Api, ranged: str) -> None:
    refused, warnings = _attempt(admin, ranged, "clamped")

    assert refused == ""
    assert any("200m" in warning for warning in warnings)


def test_a_quota_that_refuses_the_pod_is_named(admin: Api, rationed: str) -> None:
    _wait_for_facts(admin, rationed, "plain")

    refused, warnings = _attempt(admin, rationed, "plain", resources={"requests": {"cpu": "10m"}})

    assert "exceeded quota: ration" in refused
    assert any("ration" in warning and "requests.cpu" in warning for warning in warnings)


def test_pod_level_resources_that_the_sidecar_outgrows_are_named_or_raised(gatehouse: Gatehouse, admin: Api) -> None:
    name = "forecast-levels"
    injection.namespace(admin, name)
    _wait_for_facts(admin, name, "raising")
    small = {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"cpu": "100m", "memory": "64Mi"}}

    refused, warnings = _attempt(admin, name, "plain", pod_resources=small)
    raised, _ = _attempt(admin, name, "raising", pod_resources=small)

    assert refused
    assert any("spec.resources" in warning for warning in warnings)
    assert raised == ""


def test_a_config_map_that_is_missing_where_the_pod_runs_is_named(gatehouse: Gatehouse, admin: Api) -> None:
    name = "forecast-mounts"
    injection.namespace(admin, name)
    apply(admin, injection.config_map(name, "envoy-initializer", {"config": injection.ENVOY}))
    _wait_for_facts(admin, name, "envoy-initializer")

    _, before = _attempt(admin, name, "envoy-initializer")
    apply(admin, injection.config_map(name, "envoy", {"envoy.json": "{}"}))

    assert any("envoy" in warning and "does not exist" in warning for warning in before)
    wait_for(lambda: not _attempt(admin, name, "envoy-initializer")[1], 15.0, "no warning once it exists")


def _attempt(
    admin: Api,
    namespace: str,
    entry: str,
    *,
    app: Json | None = None,
    resources: Json | None = None,
    pod_resources: Json | None = None,
) -> tuple[str, list[str]]:
    """What the API server says of a pod with *entry*, "" when it takes it, and the warnings: a dry run."""
    body = injection.pod(annotations={"gatehouse.dev/inject": entry})
    container = body["spec"]["containers"][0]
    if app is not None:
        container["securityContext"] = app
    if resources is not None:
        container["resources"] = resources
    if pod_resources is not None:
        body["spec"]["resources"] = pod_resources
    try:
        return "", injection.create(admin, namespace, body, "?dryRun=All")[1]
    except ApiError as error:
        return str(error), list(error.warnings)


def _wait_for_facts(admin: Api, namespace: str, entry: str) -> None:
    """Until the caches have the namespace with its rules: then the entry is injected, or refused by them."""

    def seen() -> bool:
        refused, warnings = _attempt(admin, namespace, entry)
        return "is in no ConfigMap" not in refused + " ".join(warnings)

    wait_for(seen, 10.0, f"entry {entry} in {namespace}")
