"""No DatabaseInstance is gone before its volumes are, on a real API server with its own garbage collector and protections."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import yaml

from tests.apiserver.audit import AuditLog
from tests.apiserver.databases import (
    CONFIG,
    CRDS,
    FINALIZER,
    VOLUMES,
    Kubelet,
    Place,
    apply_crd,
    clean_volumes,
)
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import ROOT, USER
from tests.apiserver.waiting import stays, wait_for
from tests.apiserver.workloads import pods_path
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import JSON_PATCH, ApiError

DONE_S = 40.0
PLACES = itertools.count(1)


@pytest.fixture(scope="module")
def api(quiet_cluster: Cluster) -> Iterator[Api]:
    with quiet_cluster.api() as made:
        yield made


@pytest.fixture(scope="module")
def audit_log(quiet_cluster: Cluster) -> AuditLog:
    return AuditLog(quiet_cluster.audit_log).from_now()


@pytest.fixture(scope="module")
def gatehouse(
    quiet_cluster: Cluster, api: Api, audit_log: AuditLog, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gatehouse]:
    """A process that starts before the CRD is there."""
    path = f"{CRDS}/databaseinstances.example.com"
    api.delete(path)
    wait_for(lambda: api.find(path) is None, 30.0, "no CRD of earlier tests")
    with Gatehouse(quiet_cluster, tmp_path_factory.mktemp("databases"), config=CONFIG) as running:
        wait_for(lambda: "not followed, waiting" in running.log(), 20.0, "a word on the missing CRD")
        apply_crd(api)
        yield running
    clean_volumes()


@pytest.fixture(scope="module")
def kubelet(quiet_cluster: Cluster) -> Iterator[None]:
    with Kubelet(quiet_cluster.api()):
        yield


@pytest.fixture
def place(api: Api, gatehouse: Gatehouse, kubelet: None) -> Place:
    return Place(api, f"databases-{next(PLACES)}")


# -- policies


def test_delete_takes_claims_and_volumes(place: Place) -> None:
    gone = [place.claim("data"), place.claim("logs", reclaim="Retain")]
    place.create_instance(volumes={"claimNames": ["data"], "selector": {"matchLabels": {"app": "db"}}})

    place.delete_instance()
    place.wait_gone()

    assert [place.reclaim(volume) for volume in gone] == [None, None]
    assert place.claims() == []


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
def test_retain_loses_nothing_however_it_is_deleted(place: Place, propagation: str) -> None:
    owner = place.create_instance(deletionPolicy="Retain")
    volume = place.claim("data", owner=owner)
    wait_for(lambda: not (place.claim_object("data") or {})["metadata"].get("ownerReferences"), 20.0, "the claim detached")
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")

    place.delete_instance(propagation=propagation)
    place.wait_gone()

    stays(lambda: place.claims() == ["data"] and place.is_bound("data"), 3.0, "the claim")
    assert place.reclaim(volume) == "Retain"


def test_retain_survives_the_deletion_of_the_namespace(place: Place, api: Api) -> None:
    owner = place.create_instance(deletionPolicy="Retain")
    volume = place.claim("data", owner=owner)
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")

    api.delete(f"/api/v1/namespaces/{place.namespace}")
    wait_for(lambda: api.find(f"/api/v1/namespaces/{place.namespace}") is None, 60.0, "the namespace gone")

    wait_for(lambda: api.get(f"{VOLUMES}/{volume}")["status"]["phase"] == "Released", 20.0, "the volume released")
    stays(lambda: place.reclaim(volume) == "Retain", 3.0, "the volume")


def test_a_namespace_takes_its_databases_under_delete(place: Place, api: Api) -> None:
    owner = place.create_instance()
    volume = place.claim("data", owner=owner)

    api.delete(f"/api/v1/namespaces/{place.namespace}")
    wait_for(lambda: api.find(f"/api/v1/namespaces/{place.namespace}") is None, 60.0, "the namespace gone")

    wait_for(lambda: place.reclaim(volume) is None, 20.0, "the volume gone")


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_retain_keeps_the_volume_of_a_set_that_would_delete_its_claims(place: Place, propagation: str) -> None:
    place.stateful_set(place.create_instance(deletionPolicy="Retain"), when_deleted="Delete")
    volume = f"{place.namespace}-data-db-0"
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")

    place.delete_instance(propagation=propagation)
    place.wait_gone()

    wait_for(lambda: not place.api.get(place.path("statefulsets", group="/apis/apps/v1"))["items"], DONE_S, "the set gone")
    stays(lambda: place.reclaim(volume) == "Retain", 3.0, "the volume")


# -- claims in use


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
def test_a_set_and_its_pods_go_before_their_claims(place: Place, propagation: str) -> None:
    place.stateful_set(place.create_instance())

    place.delete_instance(propagation=propagation)
    place.wait_gone()

    assert place.claims() == []
    assert place.reclaim(f"{place.namespace}-data-db-0") is None


def test_an_orphaned_set_keeps_its_pod_and_its_claim(place: Place, api: Api) -> None:
    place.stateful_set(place.create_instance())

    place.delete_instance(propagation="Orphan")
    place.wait_gone()

    stays(lambda: place.claims() == ["data-db-0"] and place.is_bound("data-db-0"), 3.0, "the claim")
    assert api.find(f"{pods_path(place.namespace)}/db-0") is not None


def test_a_foreign_pod_is_waited_for_and_named(place: Place, api: Api) -> None:
    volume = place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]})
    place.pod("backup", "data")

    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForPods", 20.0, "the word on the pod")
    message = next(one["message"] for one in (place.instance() or {})["status"]["conditions"] if one["type"] == "Deleting")
    shown = _shown(place)
    stays(lambda: place.instance() is not None and place.reclaim(volume) is not None, 3.0, "the instance and its volume")
    wait_for(lambda: _noted(place, "pod backup"), 20.0, "an Event on the pod")  # written beside the status, not before it

    place.end_pod("backup")
    place.wait_gone()

    assert "pod backup on node storage-1" in message
    assert (shown["Protected"], shown["Deletion"], shown["Why"]) == ("True", "WaitsForPods", message)
    assert place.reclaim(volume) is None


def test_a_finished_pod_holds_its_claim_and_is_named(place: Place, api: Api) -> None:
    place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]})
    place.pod("backup", "data")
    api.patch(f"{pods_path(place.namespace)}/backup/status", {"status": {"phase": "Succeeded"}})

    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForPods", 20.0, "the word on the pod")
    stays(lambda: place.claims() == ["data"], 3.0, "the claim")

    place.end_pod("backup")
    place.wait_gone()


def test_a_volume_that_something_else_holds_is_waited_for(place: Place, api: Api) -> None:
    volume = place.claim("data", finalizers=["example.com/detaching"])
    place.create_instance(volumes={"claimNames": ["data"]})

    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForVolumes", 30.0, "the word on the volume")
    stays(lambda: place.instance() is not None, 3.0, "the instance")
    held = api.get(f"{VOLUMES}/{volume}")["metadata"]["finalizers"]

    api.patch(f"{VOLUMES}/{volume}", {"metadata": {"finalizers": [one for one in held if one != "example.com/detaching"]}})
    place.wait_gone()

    assert place.reclaim(volume) is None


def test_the_timeout_is_told_and_nothing_is_forced(place: Place) -> None:
    place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]}, deletionTimeout="10s")
    place.pod("backup", "data")

    place.delete_instance()
    wait_for(lambda: "DeletionTimedOut" in place.conditions(), 25.0, "the timeout")
    assert FINALIZER in (place.instance() or {})["metadata"]["finalizers"]
    assert place.claims() == ["data"]

    place.end_pod("backup")
    place.wait_gone()


# -- finalizers of others, names used again


def test_finalizers_of_others_come_and_go_untouched(place: Place, api: Api) -> None:
    place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]})
    place.pod("backup", "data")
    path = place.instance_path()
    for number in range(5):
        api.patch(path, [{"op": "add", "path": "/metadata/finalizers/0", "value": f"example.com/f{number}"}], JSON_PATCH)

    place.delete_instance()
    for number in range(4):
        held = api.get(path)["metadata"]["finalizers"]
        index = held.index(f"example.com/f{number}")
        api.patch(path, [{"op": "remove", "path": f"/metadata/finalizers/{index}"}], JSON_PATCH)
    wait_for(lambda: place.reason() == "WaitsForPods", 20.0, "the word on the pod")
    place.end_pod("backup")
    wait_for(lambda: FINALIZER not in api.get(path)["metadata"]["finalizers"], DONE_S, "our finalizer gone")

    stays(lambda: api.get(path)["metadata"]["finalizers"] == ["example.com/f4"], 3.0, "theirs")
    api.patch(path, {"metadata": {"finalizers": []}})
    place.wait_gone()


def test_a_new_instance_of_the_same_name_never_loses_its_claims_to_the_old_one(place: Place, api: Api) -> None:
    old = place.create_instance()
    place.claim("old", owner=old)
    wait_for(lambda: place.remembers("old"), 20.0, "the old claim in the status")
    place.pod("backup", "old")
    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForPods", 20.0, "the old one waiting")

    api.patch(place.instance_path(), {"metadata": {"finalizers": []}})  # an administrator forces it
    wait_for(lambda: place.instance() is None, 20.0, "the old one gone")
    new = place.create_instance()
    volume = place.claim("new", owner=new)
    place.end_pod("backup")

    stays(lambda: place.is_bound("new") and place.instance() is not None, 5.0, "the new one and its claim")
    assert place.reclaim(volume) == "Delete"


def test_without_volume_snapshots_that_is_said_and_nothing_deleted(place: Place, api: Api) -> None:
    if api.find(f"{CRDS}/volumesnapshots.snapshot.storage.k8s.io") is not None:
        pytest.fail("this test comes before those that bring the CRDs")
    volume = place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]}, deletionPolicy="Snapshot")

    place.delete_instance()
    wait_for(lambda: place.reason() == "SnapshotUnavailable", 20.0, "the word on the missing CRD")
    stays(lambda: place.is_bound("data"), 2.0, "the claim")

    api.patch(place.instance_path(), {"spec": {"deletionPolicy": "Retain"}})
    place.wait_gone()
    assert place.reclaim(volume) == "Retain"


# -- the CRD


@pytest.mark.parametrize(
    "spec",
    [
        {"volumes": {"owned": False}},
        {"volumes": {"selector": {}}},
        {"volumes": {"claimNames": ["Not_A_Name"]}},
        {"volumes": {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}},
        {"volumes": {}, "deletionPolicy": "Forget"},
        {"volumes": {}, "deletionTimeout": "1s"},
        {"volumes": {}, "deletionTimeout": "soon"},
        {"volumes": {}, "deletionPolicy": "Delete", "snapshot": {"className": "fast"}},
    ],
)
def test_the_api_server_refuses_what_makes_no_sense(place: Place, spec: Json) -> None:
    with pytest.raises(ApiError) as refused:
        place.create_instance(guarded=False, **spec)

    assert refused.value.status == 422


def test_the_examples_are_accepted(place: Place, api: Api) -> None:
    for path in sorted((ROOT / "examples" / "database-instance").glob("*instance.yaml")):
        body = yaml.safe_load(path.read_text())
        body["metadata"]["namespace"] = place.namespace
        api.create(place.path("databaseinstances?dryRun=All", group="/apis/example.com/v1"), body)


def test_every_field_is_explained(api: Api, gatehouse: Gatehouse) -> None:
    (version,) = api.get(f"{CRDS}/databaseinstances.example.com")["spec"]["versions"]

    assert list(_unexplained(version["schema"]["openAPIV3Schema"]["properties"], "")) == []


def test_deleting_the_crd_takes_every_instance_while_the_controller_runs(place: Place, api: Api) -> None:
    volume = place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]})

    api.delete(f"{CRDS}/databaseinstances.example.com")
    wait_for(lambda: api.find(f"{CRDS}/databaseinstances.example.com") is None, 60.0, "the CRD gone")

    wait_for(lambda: place.reclaim(volume) is None, 20.0, "the volume gone")
    apply_crd(api)
    place.claim("again")
    place.create_instance("again", volumes={"claimNames": ["again"]})


def test_its_service_account_was_never_refused(place: Place, audit_log: AuditLog) -> None:
    refused = [one for one in audit_log.forbidden(USER) if "/events" not in one]  # Events of a namespace that is being deleted

    assert refused == []


def _noted(place: Place, text: str) -> bool:
    """Whether an Event of the namespace says *text*."""
    events = place.api.get(place.path("events", group="/apis/events.k8s.io/v1"))["items"]
    return any(text in event.get("note", "") for event in events)


def _shown(place: Place) -> Json:
    """The columns of `kubectl get -o wide`."""
    asked = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    table = place.api.request("GET", place.path("databaseinstances", group="/apis/example.com/v1"), headers=asked)
    return dict(zip((one["name"] for one in table["columnDefinitions"]), table["rows"][0]["cells"], strict=True))


def _unexplained(properties: Json, path: str) -> Iterator[str]:
    for name, schema in properties.items():
        where = f"{path}.{name}"
        if not schema.get("description"):
            yield where
        inner = schema.get("items", schema)
        yield from _unexplained(inner.get("properties", {}), where)
