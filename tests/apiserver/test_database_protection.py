"""Volumes that could be lost although somebody has said that they stay: at awkward moments, shared, refused, or orphaned."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.apiserver.databases import CONFIG, FOLDER, VOLUMES, Kubelet, Place, apply_crd, clean_volumes, reference
from tests.apiserver.gatehouse import Gatehouse
from tests.apiserver.registration import USER
from tests.apiserver.waiting import stays, wait_for
from tests.cluster import Api, Cluster, Json
from tests.cluster.api import ApiError, impersonating

PLACES = itertools.count(1)
APPS = "/apis/apps/v1"
LABEL = "gatehouse.dev/instance-uid"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/gatehouse-database-instance"


@pytest.fixture(scope="module")
def api(quiet_cluster: Cluster) -> Iterator[Api]:
    with quiet_cluster.api() as made:
        apply_crd(made)
        yield made


@pytest.fixture(scope="module")
def gatehouse(quiet_cluster: Cluster, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gatehouse]:
    with (
        Kubelet(quiet_cluster.api()),
        Gatehouse(quiet_cluster, tmp_path_factory.mktemp("protection"), config=CONFIG) as running,
    ):
        yield running
    clean_volumes()


@pytest.fixture
def place(api: Api, gatehouse: Gatehouse) -> Place:
    return Place(api, f"protection-{next(PLACES)}")


# -- volumes as they are


def test_a_volume_that_comes_after_its_claim_is_kept_before_it_is_said_to_be(place: Place) -> None:
    volume = f"{place.namespace}-late"
    place.create_instance(deletionPolicy="Retain", volumes={"claimNames": ["data"]})
    place.unbound_claim("data", volume)
    wait_for(lambda: place.condition("Protected").get("reason") == "VolumesNotKept", 20.0, "the word on the volume")

    place.volume(volume, "data")
    wait_for(lambda: place.condition("Protected").get("status") == "True", 20.0, "the claim protected")
    kept = place.reclaim(volume)
    place.api.delete(place.path("persistentvolumeclaims", "data"))
    wait_for(lambda: place.claim_object("data") is None, 20.0, "the claim gone")

    assert kept == "Retain"
    stays(lambda: place.reclaim(volume) == "Retain", 2.0, "the volume")


def test_a_volume_that_somebody_sets_back_is_kept_again(place: Place, api: Api) -> None:
    volume = place.claim("data")
    place.create_instance(deletionPolicy="Retain", volumes={"claimNames": ["data"]})
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")

    api.patch(f"{VOLUMES}/{volume}", {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})

    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept again")


def test_the_volume_of_a_claim_that_went_first_is_waited_for(place: Place, api: Api) -> None:
    volume = place.claim("data", finalizers=["example.com/detaching"])
    place.create_instance(volumes={"claimNames": ["data"]})
    wait_for(lambda: place.remembers("data"), 20.0, "the claim in the status")
    api.delete(place.path("persistentvolumeclaims", "data"))
    wait_for(lambda: not place.claims(), 20.0, "the claim gone")

    place.delete_instance()
    wait_for(lambda: place.reason() == "WaitsForVolumes", 20.0, "the word on the volume")
    api.patch(f"{VOLUMES}/{volume}", {"metadata": {"finalizers": None}})
    place.wait_gone()

    assert place.reclaim(volume) is None


def test_a_claim_made_again_in_the_second_of_the_deletion_lives_on(place: Place, api: Api) -> None:
    volume = place.claim("data", finalizers=["example.com/detaching"])
    place.create_instance(volumes={"claimNames": ["data"]})
    wait_for(lambda: place.remembers("data"), 20.0, "the claim in the status")
    time.sleep(1.02 - time.time() % 1)  # the API's times have whole seconds: begin with one
    place.delete_instance()
    wait_for(lambda: place.claim_object("data") is None, 20.0, "the old claim gone")

    new = place.unbound_claim("data", f"{place.namespace}-new")
    stays(lambda: not place.is_going("data"), 2.0, "the new claim")
    api.patch(f"{VOLUMES}/{volume}", {"metadata": {"finalizers": None}})
    place.wait_gone()

    assert (place.claim_object("data") or {})["metadata"]["uid"] == new["metadata"]["uid"]


def test_a_volume_that_somebody_has_deleted_already_keeps_its_storage(place: Place, api: Api) -> None:
    volume = place.claim("data")
    precious = FOLDER / volume / "precious"
    precious.write_text("data")
    api.delete(f"{VOLUMES}/{volume}")

    place.create_instance(deletionPolicy="Retain", volumes={"claimNames": ["data"]})
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")
    place.delete_instance()
    place.wait_gone()
    api.delete(place.path("persistentvolumeclaims", "data"))
    wait_for(lambda: place.reclaim(volume) is None, 20.0, "the volume gone with its claim")

    stays(precious.exists, 2.0, "the storage")


def test_a_status_that_names_volumes_of_another_namespace_reaches_none_of_them(place: Place, api: Api) -> None:
    victim = Place(api, f"{place.namespace}-victim")
    volumes = {name: victim.claim(name, reclaim="Retain") for name in ("bound", "released")}
    uids = {name: (victim.claim_object(name) or {})["metadata"]["uid"] for name in volumes}
    api.delete(victim.path("persistentvolumeclaims", "released"))
    wait_for(lambda: api.get(f"{VOLUMES}/{volumes['released']}")["status"]["phase"] == "Released", 20.0, "a volume released")
    place.create_instance()
    forged = [{"claimName": name, "claimUID": uids[name], "volumeName": volumes[name]} for name in volumes]
    api.patch(f"{place.instance_path()}/status", {"status": {"volumes": forged}})

    place.delete_instance()
    place.wait_gone()

    stays(lambda: all(place.reclaim(one) == "Retain" for one in volumes.values()), 1.0, "the volumes of others")


# -- shared


def share(place: Place, api: Api) -> str:
    """One claim, which `careless` (Delete) and `careful` (Retain) select since its labels were changed; its volume."""
    volume = place.claim("data")
    place.create_instance("careless", volumes={"selector": {"matchLabels": {"tier": "x"}}})
    place.create_instance("careful", deletionPolicy="Retain", volumes={"selector": {"matchLabels": {"part": "x"}}})
    api.patch(place.path("persistentvolumeclaims", "data"), {"metadata": {"labels": {"tier": "x", "part": "x"}}})
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the shared volume kept")
    return volume


def test_of_two_that_go_together_the_more_careful_policy_wins(place: Place, api: Api) -> None:
    volume = share(place, api)

    api.delete(place.path("databaseinstances", group="/apis/example.com/v1"))
    for name in ("careless", "careful"):
        place.wait_gone(name)

    stays(lambda: place.is_bound("data") and place.reclaim(volume) == "Retain", 2.0, "claim and volume")


def test_the_other_one_takes_care_when_one_lets_go(place: Place, api: Api) -> None:
    share(place, api)
    wait_for(lambda: "ClaimsShared" in place.conditions("careful"), 20.0, "the word on it")

    place.delete_instance("careless")
    place.wait_gone("careless")

    wait_for(lambda: place.remembers("data", "careful"), 20.0, "the claim in the status of the other")
    wait_for(lambda: "ClaimsShared" not in place.conditions("careful"), 20.0, "no word on it any more")


def test_a_deployment_of_two_instances_lives_until_both_are_gone(place: Place, api: Api) -> None:
    owners = [reference(place.create_instance(name)) | {"controller": False} for name in ("a", "b")]
    path = deployment(place, owners)

    place.delete_instance("a")
    place.wait_gone("a")
    stays(lambda: "deletionTimestamp" not in api.get(path)["metadata"], 2.0, "the Deployment")

    place.delete_instance("b")
    place.wait_gone("b")
    wait_for(lambda: api.find(path) is None, 20.0, "the Deployment gone")


def test_a_set_that_was_made_anew_for_another_instance_keeps_its_claim(place: Place, api: Api) -> None:
    place.stateful_set(place.create_instance())
    other = place.create_instance("next", deletionPolicy="Retain")
    path = place.path("statefulsets", "db", APPS)
    old = api.get(path)
    api.delete(path, {"propagationPolicy": "Orphan"})
    wait_for(lambda: api.find(path) is None, 20.0, "the set gone")
    anew = {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": old["spec"]}
    api.create(
        place.path("statefulsets", group=APPS), anew | {"metadata": {"name": "db", "ownerReferences": [reference(other)]}}
    )

    place.delete_instance()
    place.wait_gone()

    stays(lambda: not place.is_going("data-db-0"), 2.0, "the claim")
    wait_for(lambda: place.reclaim(f"{place.namespace}-data-db-0") == "Retain", 20.0, "its volume kept")


@pytest.mark.parametrize(
    ("volumes", "propagation"),
    [({"claimNames": ["data"]}, "Foreground"), ({"selector": {"matchLabels": {"app": "db"}}}, "Background")],
)
def test_a_claim_of_two_outlives_the_one_that_owns_it(place: Place, volumes: Json, propagation: str) -> None:
    owner = place.create_instance("a")
    place.create_instance("b", volumes=volumes)
    volume = place.claim("data", owner=owner)
    wait_for(
        lambda: "ClaimsShared" in place.conditions("a") and "ClaimsShared" in place.conditions("b"), 20.0, "the word on it"
    )
    if "claimNames" in volumes:
        wait_for(
            lambda: not owners(place, "data"), 20.0, "the claim parted from its owner, so that no garbage collector takes it"
        )

    place.delete_instance("a", propagation)
    place.wait_gone("a")

    stays(lambda: place.is_bound("data") and not place.is_going("data"), 3.0, "the claim")
    assert (owners(place, "data"), place.reclaim(volume)) == ([], "Retain")
    place.delete_instance("b")
    place.wait_gone("b")
    assert (place.claims(), place.reclaim(volume)) == ([], None)


def test_a_set_that_would_delete_its_claims_leaves_one_that_another_instance_names(place: Place) -> None:
    place.stateful_set(place.create_instance(), when_deleted="Delete")
    place.create_instance("other", volumes={"claimNames": ["data-db-0"]})
    wait_for(lambda: "ClaimsShared" in place.conditions(), 20.0, "the word on it")

    place.delete_instance()
    place.wait_gone()

    stays(lambda: place.is_bound("data-db-0") and not place.is_going("data-db-0"), 3.0, "the claim")
    wait_for(lambda: place.remembers("data-db-0", "other"), 20.0, "the claim in the status of the other")


# -- owners


def test_a_claim_that_a_deployment_of_the_instance_owns_is_kept_in_a_foreground_deletion(place: Place, api: Api) -> None:
    path = deployment(place, [reference(place.create_instance(deletionPolicy="Retain"))])
    owner = api.get(path) | {"apiVersion": "apps/v1", "kind": "Deployment"}
    volume = place.claim("data", owner=owner)
    wait_for(lambda: place.remembers("data"), 20.0, "the claim in the status")
    wait_for(lambda: place.reclaim(volume) == "Retain", 20.0, "the volume kept")
    wait_for(lambda: not owners(place, "data"), 20.0, "the claim parted from the Deployment, for the garbage collector's sake")

    place.delete_instance(propagation="Foreground")
    place.wait_gone()

    stays(lambda: place.is_bound("data") and place.reclaim(volume) == "Retain", 2.0, "claim and volume")


@pytest.mark.parametrize("policy", ["Delete", "Retain"])
def test_orphan_propagation_leaves_what_the_label_marks(place: Place, api: Api, policy: str) -> None:
    owner = place.create_instance(deletionPolicy="Retain")
    volume = place.claim("data", owner=owner)
    marked = {LABEL: owner["metadata"]["uid"]}
    wait_for(lambda: marked.items() <= (place.claim_object("data") or {})["metadata"]["labels"].items(), 20.0, "the label")
    api.patch(place.instance_path(), {"spec": {"deletionPolicy": policy}})

    place.delete_instance(propagation="Orphan")
    place.wait_gone()

    stays(lambda: place.is_bound("data") and place.reclaim(volume) == "Retain", 2.0, "claim and volume")


# -- refusals


def test_a_volume_whose_change_is_refused_costs_the_others_nothing(place: Place, api: Api, gatehouse: Gatehouse) -> None:
    refused, free = place.claim("a"), place.claim("b")
    with untouchable(api, refused):
        place.create_instance(guarded=False, deletionPolicy="Retain", volumes={"claimNames": ["a", "b"]})
        wait_for(lambda: f"Retain of volume {refused}" in place.condition("Failing").get("message", ""), 20.0, "the word on it")
        wait_for(lambda: place.reclaim(free) == "Retain", 20.0, "the other volume kept")
        assert place.reclaim(refused) == "Delete"
        wait_for(lambda: place.condition("Protected").get("status") == "False", 20.0, "the word on the whole")

        place.delete_instance()
        wait_for(lambda: place.reason() == "WaitsForReclaimPolicy", 40.0, "the deletion waiting")
        assert gatehouse.total("gatehouse_database_oldest_deletion_age_seconds") > 0
    place.wait_gone()

    assert (place.reclaim(refused), place.reclaim(free)) == ("Retain", "Retain")


def test_a_deletion_that_may_not_read_what_it_needs_says_so(place: Place, api: Api, gatehouse: Gatehouse) -> None:
    place.claim("data")
    place.create_instance(volumes={"claimNames": ["data"]})
    rules = api.get(ROLE)["rules"]
    fewer = [one for one in rules if "cronjobs" not in one["resources"]]
    assert len(fewer) == len(rules) - 1
    jobs = place.path("cronjobs", group="/apis/batch/v1")
    api.patch(ROLE, {"rules": fewer})
    try:
        wait_for(lambda: not _may_list(api, jobs), 20.0, "the right gone: the authorizer learns of it by a watch")
        place.delete_instance()
        wait_for(lambda: place.condition("Failing").get("reason") == "Forbidden", 30.0, "the word on it")
        assert place.reason() == "Failing"
        assert gatehouse.total("gatehouse_database_oldest_deletion_age_seconds") > 0
    finally:
        api.patch(ROLE, {"rules": rules})
    place.wait_gone()


# -- what these tests need


def owners(place: Place, claim: str) -> list[str]:
    """The kinds of the owners of *claim*."""
    metadata = (place.claim_object(claim) or {}).get("metadata", {})
    return [one["kind"] for one in metadata.get("ownerReferences", [])]


def deployment(place: Place, owners: list[Json]) -> str:
    """A Deployment without pods; its path."""
    labels = {"app": "proxy"}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}}
    spec["template"] = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "proxy", "ownerReferences": owners}}
    place.api.create(place.path("deployments", group=APPS), body | {"spec": spec})
    return place.path("deployments", "proxy", APPS)


@contextmanager
def untouchable(api: Api, volume: str) -> Iterator[None]:
    """Nobody but the cluster itself may change *volume*."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["persistentvolumes"]}
    guard = f"object.metadata.name != '{volume}' || request.userInfo.username.startsWith('system:kube-')"
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "untouchable"}}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": guard}]}
    binding = {"policyName": "untouchable", "validationActions": ["Deny"]}
    api.create(POLICIES, head | {"kind": "ValidatingAdmissionPolicy", "spec": spec})
    api.create(BINDINGS, head | {"kind": "ValidatingAdmissionPolicyBinding", "spec": binding})
    try:
        wait_for(lambda: _is_refused(api, volume), 20.0, "the policy in force")
        yield
    finally:
        api.delete(f"{BINDINGS}/untouchable")
        api.delete(f"{POLICIES}/untouchable")


def _may_list(api: Api, path: str) -> bool:
    """Whether Gatehouse may now."""
    try:
        api.request("GET", path, headers=impersonating(USER))
    except ApiError as error:
        if error.status != 403:
            raise
        return False
    return True


def _is_refused(api: Api, volume: str) -> bool:
    try:
        api.patch(f"{VOLUMES}/{volume}", {"metadata": {"annotations": {"tried": str(time.time())}}})
    except ApiError:
        return True
    return False
