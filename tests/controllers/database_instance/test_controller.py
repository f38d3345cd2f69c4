"""The controller against a scripted API server: what becomes of claims and volumes, policy by policy."""

from __future__ import annotations

import json

import pytest

from controllers.database_instance.plan import Defaults
from controllers.runtime.rest import RestClient
from controllers.testing import FakeApi
from tests.controllers.database_instance.builders import (
    FINALIZER,
    UID,
    by_instance,
    claim,
    instance,
    owner,
    pod,
    stateful_set,
    volume,
)
from tests.controllers.database_instance.world import World, bound
from webhook.objects.databases import DeletionPolicy

LABEL = "gatehouse.dev/instance-uid"


# -- while it lives


def test_the_finalizer_comes_first_and_alone(world: World) -> None:
    bound(world, claim())
    world.put(instance(policy="Retain"))
    seen = world.instance()["metadata"]

    world.run()

    assert world.client.written == ["patch shop/databaseinstances/db"]
    assert json.loads(world.api.asked("patch")[0].body) == [
        {"op": "test", "path": "/metadata/uid", "value": UID},
        {"op": "test", "path": "/metadata/resourceVersion", "value": seen["resourceVersion"]},
        {"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]},
    ]


def test_the_finalizer_is_added_behind_those_of_others(world: World) -> None:
    world.put(instance(finalizers=("example.com/theirs",)))

    world.run()

    assert world.instance()["metadata"]["finalizers"] == ["example.com/theirs", FINALIZER]


def test_under_delete_only_the_status_is_written(world: World) -> None:
    bound(world, claim("data", by_instance()))
    world.put(instance(finalizers=(FINALIZER,)))

    world.settle()

    assert set(world.client.written) == {"patch shop/databaseinstances/db/status"}
    assert world.instance()["status"]["volumes"][0]["volumeName"] == "pv-data"


def test_nothing_is_written_twice(world: World) -> None:
    bound(world, claim("data", by_instance()))
    world.put(instance(policy="Retain"))
    world.settle()
    written = len(world.client.written)

    world.restart()
    world.settle()

    assert len(world.client.written) == written


@pytest.mark.parametrize("policy", ["Retain", "Snapshot"])
def test_volumes_are_kept_and_owner_references_give_way_to_the_label(world: World, policy: str) -> None:
    other = owner("Thing", "theirs", "uid-theirs", controller=False)
    bound(world, claim("data", by_instance(), other))
    world.put(instance(policy=policy, claims=(), volumes={}))

    world.settle()

    assert world.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Retain"
    found = world.all("PersistentVolumeClaim")["data"]["metadata"]
    assert (found["ownerReferences"], found["labels"]) == ([other], {LABEL: UID})


def test_the_installations_default_counts_where_the_instance_says_nothing(api: FakeApi, client: RestClient) -> None:
    world = World(api, client, Defaults(DeletionPolicy.RETAIN))
    bound(world, claim())
    world.put(instance())

    world.settle()

    assert world.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


# -- Delete


@pytest.mark.parametrize("reclaim", ["Delete", "Retain"])
def test_delete_takes_claims_and_volumes_and_then_lets_the_instance_go(world: World, reclaim: str) -> None:
    bound(world, claim(), reclaim=reclaim)
    world.put(instance())
    world.settle()

    world.delete()
    world.settle()

    assert world.is_gone()
    assert (world.all("PersistentVolumeClaim"), world.all("PersistentVolume")) == ({}, {})
    assert world.heard.reasons[-1] == "VolumesGone"


def test_the_instance_stays_while_a_volume_does(world: World) -> None:
    (stored,) = world.put(claim())
    world.put(volume(stored, finalizers=["example.com/detach"]))
    world.put(instance())
    world.settle()

    world.delete()
    world.settle()
    waits = world.reason()
    world.api.objects.drop("PersistentVolume", "pv-data")
    world.settle()

    assert (waits, world.is_gone()) == ("WaitsForVolumes", True)


def test_workloads_go_first_with_their_pods_then_their_claims(world: World) -> None:
    bound(world, claim("data-db-0"))
    world.put(stateful_set(), pod("db-0", owner("StatefulSet", "db", "uid-set"), claims=("data-db-0",)))
    world.put(instance(claims=()))
    world.settle()
    world.client.written.clear()

    world.delete()
    world.settle()

    deletes = [one for one in world.client.written if one.startswith("delete")]
    assert deletes == ["delete shop/statefulsets/db", "delete shop/persistentvolumeclaims/data-db-0"]
    assert json.loads(world.api.asked("delete")[0].body)["propagationPolicy"] == "Foreground"
    assert world.is_gone()


def test_a_foreign_pod_is_waited_for_and_named_not_deleted(world: World) -> None:
    bound(world, claim())
    world.put(instance(), pod("backup", claims=("data",)))
    world.settle()

    world.delete()
    world.settle()

    told = world.condition("Deleting")
    assert told is not None
    assert (told["reason"], "pod backup on node node-1" in told["message"]) == ("WaitsForPods", True)
    assert "backup" in world.all("Pod")
    assert world.all("PersistentVolumeClaim")["data"]["metadata"]["deletionTimestamp"]

    world.api.objects.drop("Pod", "shop/backup")
    world.settle()

    assert world.is_gone()


def test_an_owned_pod_is_deleted_by_its_uid(world: World) -> None:
    bound(world, claim())
    world.put(instance(), pod("db", by_instance(), claims=("data",), uid="uid-pod", finalizers=["example.com/slow"]))
    world.settle()

    world.delete()
    world.run()

    (sent,) = world.api.asked("delete")
    assert json.loads(sent.body)["preconditions"] == {"uid": "uid-pod"}


def test_a_claim_that_another_instance_names_is_left_alone(world: World) -> None:
    bound(world, claim())
    world.put(instance(), instance("other", uid="uid-other"))
    world.settle()

    world.delete()
    world.settle()

    assert world.is_gone()
    assert "data" in world.all("PersistentVolumeClaim")
    assert "ClaimsShared" in world.heard.reasons


def test_a_claim_made_after_the_deletion_began_belongs_to_the_next_instance(world: World) -> None:
    world.put(instance(finalizers=(FINALIZER,)))
    world.delete()
    bound(world, claim(creationTimestamp="2027-01-15T08:00:09Z"))

    world.settle()

    assert world.is_gone()
    assert "deletionTimestamp" not in world.all("PersistentVolumeClaim")["data"]["metadata"]


def test_a_claim_that_bears_another_instances_uid_is_not_taken_by_a_selector(world: World) -> None:
    bound(world, claim("old", labels={"app": "db", LABEL: "uid-former"}), claim("new", labels={"app": "db"}))
    world.put(instance(claims=(), volumes={"selector": {"matchLabels": {"app": "db"}}}))
    world.settle()

    world.delete()
    world.settle()

    assert world.is_gone()
    assert list(world.all("PersistentVolumeClaim")) == ["old"]


# -- Retain


def test_retain_lets_go_at_once_and_loses_nothing(world: World) -> None:
    bound(world, claim("data", by_instance()))
    world.put(instance(policy="Retain"), pod("db-0", claims=("data",)))
    world.settle()

    world.delete()
    world.run()

    assert world.is_gone()
    assert world.api.asked("delete") == []
    assert world.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


def test_after_retain_it_is_told_that_volumes_were_kept_and_not_that_they_are_gone(world: World) -> None:
    bound(world, claim())
    world.put(instance(policy="Retain"))
    world.settle()

    world.delete()
    world.settle()

    assert (world.heard.reasons[-1], world.heard.warnings[-1]) == ("InstanceLetGo", False)
    assert world.heard.notes[-1] == "done under policy Retain: the finalizer was dropped; volumes were kept"
    assert "VolumesGone" not in world.heard.reasons


def test_a_policy_changed_to_retain_during_the_deletion_is_obeyed(world: World) -> None:
    bound(world, claim())
    world.put(instance(), pod("backup", claims=("data",)))
    world.settle()
    world.delete()
    world.run()

    changed = world.instance()
    changed["spec"]["deletionPolicy"] = "Retain"
    world.put(changed)
    world.settle()

    assert world.is_gone()
    assert world.all("PersistentVolume")["pv-data"]["spec"]["persistentVolumeReclaimPolicy"] == "Retain"


# -- finalizers of others, propagation, time


def test_finalizers_of_others_stay(world: World) -> None:
    world.put(instance(finalizers=("example.com/a", FINALIZER, "example.com/b")))
    world.delete()

    world.settle()

    assert world.instance()["metadata"]["finalizers"] == ["example.com/a", "example.com/b"]


def test_a_finalizer_is_never_added_to_an_instance_that_is_being_deleted(world: World) -> None:
    bound(world, claim())
    world.put(instance(finalizers=("example.com/theirs",)))
    world.delete()

    world.settle()

    assert world.client.written == []


def test_the_garbage_collector_orphans_before_anything_is_looked_at(world: World) -> None:
    bound(world, claim("data-db-0"), claim("own", by_instance()))
    world.put(stateful_set(), instance(claims=()))
    world.settle()

    world.delete("db", "orphan")
    world.settle()
    waits = world.reason()
    orphaned = world.all("StatefulSet")["db"]
    orphaned["metadata"]["ownerReferences"] = []
    freed = world.all("PersistentVolumeClaim")["own"]
    freed["metadata"].pop("ownerReferences")
    left = world.instance()
    left["metadata"]["finalizers"].remove("orphan")
    world.put(orphaned, freed, left)
    world.settle()

    assert (waits, world.is_gone()) == ("WaitsForGarbageCollector", True)
    assert world.heard.reasons[-1] == "InstanceLetGo"
    assert sorted(world.all("PersistentVolumeClaim")) == ["data-db-0", "own"]
    assert world.api.asked("delete") == []


def test_a_set_that_the_garbage_collector_took_at_once_still_costs_its_claims(world: World) -> None:
    bound(world, claim("data-db-0"))
    world.put(stateful_set(), instance(claims=()))
    world.settle()

    world.delete("db", "foregroundDeletion")
    world.api.objects.drop("StatefulSet", "shop/db")
    world.settle()

    assert world.all("PersistentVolumeClaim") == {}
    assert world.instance()["metadata"]["finalizers"] == ["foregroundDeletion"]


def test_the_timeout_is_told_and_nothing_is_forced(world: World) -> None:
    bound(world, claim())
    world.put(instance(deletionTimeout="10m"), pod("backup", claims=("data",)))
    world.settle()
    world.delete()
    world.settle()
    before = world.condition("DeletionTimedOut")

    world.clock.advance(600.0)
    world.run()

    told = world.condition("DeletionTimedOut")
    assert before is None
    assert told is not None and "pod backup" in told["message"]
    assert FINALIZER in world.instance()["metadata"]["finalizers"]
    assert world.heard.reasons.count("DeletionTimedOut") == 1


def test_the_age_of_the_oldest_deletion_is_a_metric(world: World) -> None:
    bound(world, claim())
    world.put(instance(), pod("backup", claims=("data",)))
    world.settle()
    world.delete()
    world.run()
    age_s = world.deletions.oldest_age_s()

    world.clock.advance(100.0)

    assert world.deletions.oldest_age_s() == age_s + 100.0
    exposed = world.telemetry.expose().decode()
    assert "gatehouse_database_oldest_deletion_age_seconds " in exposed
    assert 'gatehouse_database_deletions{reason="WaitsForPods"} 1.0' in exposed


def test_a_selector_that_cannot_be_read_holds_the_deletion(world: World) -> None:
    bound(world, claim())
    world.put(instance(volumes={"claimNames": ["data"], "selector": {"matchLabels": {"not a key": "x"}}}))
    world.settle()

    world.delete()
    world.settle()

    assert (world.reason(), world.api.asked("delete")) == ("InvalidSpec", [])


def test_without_the_lease_nothing_is_written(world: World) -> None:
    world.put(instance())
    world.lease.requests = 0

    world.run()

    assert world.api.requests == []
