"""Pods of namespaces without sidecars get their defaults from a service of their own, and none waits for it in vain."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.apiserver import injection
from tests.apiserver.gatehouse import ADMISSION_ONLY, Gatehouse
from tests.apiserver.waiting import wait_for
from tests.cluster import Api, Cluster, Json

NAMESPACE, LABELLED, OFF = "defaulted", "defaulted-injected", "defaulted-off"
FEATURES: Json = {
    "podDefaults": {
        "sets": [
            {
                "name": "base",
                "labels": {"version": "${image.tag}"},
                "resources": {"app": {"requests": {"cpu": "100m"}, "limits": {"memory": "128Mi"}}},
            }
        ]
    },
    "resourceTuning": {"enabled": True},
    "resourceLimits": {"policies": [{"name": "stated", "absent": "Refused", "container": {"cpu": {"requests": {"max": 1}}}}]},
}


@pytest.fixture(scope="module")
def gatehouse(cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    """One process, a namespace without labels, one with sidecars, one that is left as it is."""
    injection.namespace(admin, NAMESPACE, {})
    injection.namespace(admin, LABELLED)
    injection.namespace(admin, OFF, {"gatehouse.dev/mutate": "disabled"})
    config = ADMISSION_ONLY | {"features": FEATURES}
    with injection.injecting(cluster, admin, tmp_path_factory.mktemp("defaulted"), config) as running:
        wait_for(lambda: bool(_labels(_created(admin, NAMESPACE))), 15.0, "a default")
        yield running


@pytest.mark.parametrize(("namespace", "service"), [(NAMESPACE, "mutate-defaults"), (LABELLED, "mutate")])
def test_a_pod_gets_its_defaults_from_one_service(gatehouse: Gatehouse, admin: Api, namespace: str, service: str) -> None:
    def defaulted(of: str) -> float:
        return gatehouse.total("gatehouse_admission_decisions_total", service=of, rule="pod-defaults", reason="Defaulted")

    before = {of: defaulted(of) for of in ("mutate", "mutate-defaults")}

    pod = _created(admin, namespace)

    assert _labels(pod)["version"] == "1.37"
    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "100m", "memory": "128Mi"},
        "limits": {"memory": "128Mi"},
    }
    assert [of for of in before if defaulted(of) > before[of]] == [service]


def test_defaults_count_before_bounds_are_judged_online_and_for_templates(gatehouse: Gatehouse, admin: Api) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "busybox:1.37"}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    path = "/apis/apps/v1/namespaces/{}/deployments?dryRun=All"
    body: Json = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}

    _, warned = admin.told("POST", path.format(OFF), body)
    _, silent = admin.told("POST", path.format(NAMESPACE), body)

    assert any("no cpu request" in warning for warning in warned)
    assert silent == []


def test_what_tunes_counts_the_cluster(gatehouse: Gatehouse, admin: Api) -> None:
    _created(admin, NAMESPACE)

    # No node of this cluster takes pods: there is nothing to go by, and requests stay.
    assert gatehouse.total("gatehouse_admission_decisions_total", rule="resource-tuning", reason="CapacityUnknown") > 0


def test_without_an_answer_pods_are_created_as_they_are(
    cluster: Cluster, admin: Api, tmp_path_factory: pytest.TempPathFactory
) -> None:
    injection.namespace(admin, "defaulted-outage", {})
    config = ADMISSION_ONLY | {"features": {"podDefaults": FEATURES["podDefaults"]}}
    with injection.injecting(cluster, admin, tmp_path_factory.mktemp("gone"), config) as running:
        wait_for(lambda: bool(_labels(_created(admin, "defaulted-outage"))), 15.0, "a default")
        running.stop()

        assert not _labels(_created(admin, "defaulted-outage"))


def _created(admin: Api, namespace: str) -> Json:
    body: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "app", "image": "busybox:1.37"}]},
    }
    return injection.create(admin, namespace, body, "?dryRun=All")[0]


def _labels(pod: Json) -> Json:
    found: Json = pod["metadata"].get("labels") or {}
    return found
