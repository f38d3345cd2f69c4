"""What several instances, owners or sets have a say about is left alone, and the more careful one keeps it."""

from __future__ import annotations

import pytest

from tests.controllers.database_instance.builders import (
    NAMESPACE,
    UID,
    Json,
    by_instance,
    claim,
    instance,
    namespace,
    owner,
    pod,
    stateful_set,
)
from tests.controllers.database_instance.world import World, bound

LABEL = "gatehouse.dev/instance-uid"
THEIRS = owner("Thing", "theirs", "uid-theirs", controller=False)


def reclaim(world: World, name: str = "pv-data") -> str:
    found: str = world.all("PersistentVolume")[name]["spec"]["persistentVolumeReclaimPolicy"]
    return found


def is_going(world: World, kind: str, name: str) -> bool:
    found = world.all(kind).get(name)
    return found is None or bool(found["metadata"].get("deletionTimestamp"))


def deployment(name: str, *owners: Json, mounts: tuple[str, ...] = ()) -> Json:
    meta = {"name": name, "namespace": NAMESPACE, "uid": f"uid-{name}", "ownerReferences": list(owners or (by_instance(),))}
    volumes = [{"name": one, "persistentVolumeClaim": {"claimName": one}} for one in mounts]
    spec = {"template": {"spec": {"volumes": volumes}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


# -- two instances


def shared(world: World, mine: str, others: str) -> None:
    """Two instances of one claim, `db` and `other`, with these policies."""
    bound(world, claim())
    world.put(instance(policy=mine), instance("other", uid="uid-other", policy=others))
    world.settle()


def test_a_shared_volume_is_kept_for_the_more_careful_one(world: World) -> None:
    shared(world, "Delete", "Retain")

    assert reclaim(world) == "Retain"
    told = world.condition("ClaimsShared")
    assert told is not None and told["reason"] == "ClaimOfTwoInstances"


def test_the_other_one_is_woken_when_one_lets_go_of_a_claim(world: World) -> None:
    shared(world, "Retain", "Delete")

    world.delete("other")
    world.run()
    world.run()

    assert world.is_gone("other")
    assert world.condition("ClaimsShared") is None
    assert [one["claimName"] for one in world.instance()["status"]["volumes"]] == ["data"]


def test_the_other_one_is_woken_when_one_does_not_name_the_claim_any_more(world: World) -> None:
    shared(world, "Retain", "Delete")
    changed = world.instance("other")
    changed["spec"]["volumes"] = {"claimNames": ["else"]}
    world.put(changed)

    world.run()

    assert world.condition("ClaimsShared") is None


@pytest.mark.parametrize("first", ["db", "other"])
@pytest.mark.parametrize(("mine", "others"), [("Delete", "Retain"), ("Snapshot", "Retain"), ("Retain", "Delete")])
def test_of_two_that_are_deleted_together_the_more_careful_policy_wins(
    world: World, mine: str, others: str, first: str
) -> None:
    world.serve_snapshots()
    world.put(namespace())
    shared(world, mine, others)
    world.put(pod("backup", claims=("data",)))
    for name in ("db", "other") if first == "db" else ("other", "db"):
        world.delete(name)
    world.run()
    world.api.objects.drop("Pod", "shop/backup")

    world.settle()

    assert (world.is_gone(), world.is_gone("other")) == (True, True)
    assert (is_going(world, "PersistentVolumeClaim", "data"), reclaim(world)) == (False, "Retain")


def test_what_another_one_kept_is_not_taken_when_that_has_let_go_during_the_deletion(world: World) -> None:
    shared(world, "Delete", "Retain")
    bound(world, claim("held"))
    changed = world.instance()
    changed["spec"]["volumes"] = {"claimNames": ["data", "held"]}
    world.put(changed, pod("backup", claims=("held",)))
    world.settle()
    world.delete()
    world.settle()
    assert world.reason() == "WaitsForPods"

    world.delete("other")
    world.settle()
    world.api.objects.drop("Pod", "shop/backup")
    world.settle()

    assert (world.is_gone(), world.is_gone("other")) == (True, True)
    assert (list(world.all("PersistentVolumeClaim")), reclaim(world)) == (["data"], "Retain")


def test_a_claim_of_anothers_set_is_not_taken_by_name(world: World) -> None:
    bound(world, claim("data-db-0"))
    world.put(instance(policy="Retain", claims=()), stateful_set())
    world.put(instance("thief", uid="uid-thief", claims=("data-db-0",)))
    world.settle()

    world.delete("thief")
    world.settle()

    assert world.is_gone("thief")
    assert not is_going(world, "PersistentVolumeClaim", "data-db-0")
    assert reclaim(world, "pv-data-db-0") == "Retain"


# -- ownership is what it is now


def test_a_set_that_was_made_anew_for_another_instance_keeps_its_claims(world: World) -> None:
    bound(world, claim("data-db-0"))
    world.put(instance(claims=()), instance("next", uid="uid-next", policy="Retain", claims=()), stateful_set())
    world.settle()
    world.api.objects.drop("StatefulSet", "shop/db")
    world.put(stateful_set("db", by_instance("uid-next", "next"), uid="uid-anew"))

    world.delete()
    world.settle()

    assert world.is_gone()
    assert not is_going(world, "PersistentVolumeClaim", "data-db-0")


def test_a_set_that_was_made_anew_without_an_owner_keeps_its_claims(world: World) -> None:
    bound(world, claim("data-db-0"))
    world.put(instance(claims=()), stateful_set())
    world.settle()
    world.api.objects.drop("StatefulSet", "shop/db")
    world.put(stateful_set("db", owner("Thing", "x", "uid-x"), uid="uid-anew"), pod("b", claims=("data-db-0",)))
    world.delete()
    world.settle()

    assert world.is_gone()
    assert not is_going(world, "PersistentVolumeClaim", "data-db-0")


def test_ownership_is_looked_at_also_when_claims_are_going_already(world: World) -> None:
    bound(world, claim("data-db-0"), claim("held", by_instance()))
    world.put(instance(claims=()), stateful_set(), pod("backup", claims=("held",)))
    world.settle()
    world.delete()
    world.settle()
    assert world.reason() == "WaitsForPods"
    bound(world, claim("data-db-1"))
    world.put(stateful_set("db", owner("Thing", "x", "uid-x"), uid="uid-anew"))

    world.settle()

    assert not is_going(world, "PersistentVolumeClaim", "data-db-1")


# -- several owners


@pytest.mark.parametrize(
    "owners",
    [
        (by_instance(), THEIRS),
        (THEIRS | {"controller": True}, by_instance() | {"controller": False}),
        (by_instance() | {"controller": False}, THEIRS),
    ],
)
def test_a_workload_with_another_owner_is_left_to_the_garbage_collector(world: World, owners: tuple[Json, ...]) -> None:
    bound(world, claim("data-db-0"))
    world.put(deployment("web", *owners), stateful_set("db", *owners), instance(claims=()))
    world.settle()

    world.delete()
    world.settle()

    assert world.is_gone()
    assert world.api.asked("delete") == []


@pytest.mark.parametrize("claims", [(), ("data",)])
def test_a_claim_with_another_owner_is_left_alone_and_told_of(world: World, claims: tuple[str, ...]) -> None:
    bound(world, claim("data", THEIRS | {"controller": True}, by_instance() | {"controller": False}))
    world.put(instance(claims=claims))
    world.settle()
    told = world.condition("ClaimsShared")

    world.delete()
    world.settle()

    assert told is not None and (told["reason"], "something else owns" in told["message"]) == ("ClaimOfTwoOwners", True)
    assert (world.is_gone(), is_going(world, "PersistentVolumeClaim", "data")) == (True, False)


def test_what_only_the_instance_owns_goes_even_if_it_is_no_controller(world: World) -> None:
    bound(world, claim("data", by_instance() | {"controller": False}))
    world.put(instance(claims=()))
    world.settle()

    world.delete()
    world.settle()

    assert (world.is_gone(), world.all("PersistentVolumeClaim")) == (True, {})


def test_a_claim_of_a_deployment_of_the_instance_is_kept_while_it_lives(world: World) -> None:
    bound(world, claim("data", owner("Deployment", "web", "uid-web")))
    world.put(deployment("web"), instance(policy="Retain", claims=()))

    world.settle()

    metadata = world.all("PersistentVolumeClaim")["data"]["metadata"]
    assert (metadata.get("ownerReferences"), metadata["labels"], reclaim(world)) == (None, {LABEL: UID}, "Retain")


def test_a_claim_that_a_workload_only_mounts_is_not_the_instances_and_that_is_told(world: World) -> None:
    bound(world, claim("cache"), claim("scratch"))
    world.put(deployment("web", mounts=("cache",)), pod("tool", by_instance(), claims=("scratch",)), instance(claims=()))
    world.settle()
    told = world.condition("ClaimsNotOwned")

    world.delete()
    world.api.objects.drop("Deployment", "shop/web")
    world.settle()

    assert told is not None and told["message"].endswith("makes its own: cache (Deployment web), scratch (pod tool)")
    assert "ClaimsNotOwned" in world.heard.reasons
    assert (world.is_gone(), sorted(world.all("PersistentVolumeClaim"))) == (True, ["cache", "scratch"])


# -- orphans


def orphan(world: World) -> None:
    """What the garbage collector does for `--cascade=orphan`."""
    found = world.all("StatefulSet")["db"]
    found["metadata"]["ownerReferences"] = []
    left = world.instance()
    left["metadata"]["finalizers"].remove("orphan")
    world.put(found, left)


@pytest.mark.parametrize("policy", ["Delete", "Snapshot"])
def test_orphaned_claims_stay_also_those_that_bear_the_label(world: World, policy: str) -> None:
    world.serve_snapshots()
    world.put(namespace())
    bound(world, claim("data-db-0"), claim("own", labels={LABEL: UID}))
    world.put(stateful_set(), instance(claims=(), policy=policy))
    world.settle()

    world.delete("db", "orphan")
    world.run()
    orphan(world)
    world.settle()

    assert (world.is_gone(), world.api.asked("delete")) == (True, [])
    assert "deletionTimestamp" not in world.all("StatefulSet")["db"]["metadata"]


def test_orphans_stay_orphans_when_their_set_goes_and_the_controller_begins_anew(world: World) -> None:
    bound(world, claim("data-db-0"), claim("own", labels={LABEL: UID}), claim("held"))
    world.put(stateful_set(), instance(claims=("held",)), pod("backup", claims=("held",)))
    world.settle()
    world.delete("db", "orphan")
    world.run()
    orphan(world)
    world.settle()
    told = world.condition("DependentsOrphaned")

    world.api.objects.drop("StatefulSet", "shop/db")
    world.restart()
    world.settle()
    world.api.objects.drop("Pod", "shop/backup")
    world.settle()

    assert told is not None
    assert (world.is_gone(), sorted(world.all("PersistentVolumeClaim"))) == (True, ["data-db-0", "own"])


def test_an_orphaning_that_only_the_watch_has_seen_counts(world: World) -> None:
    bound(world, claim("own", labels={LABEL: UID}))
    world.put(stateful_set(), instance(claims=()))
    world.settle()
    world.delete("db", "orphan")
    orphaning = world.caches.instances.resource.projection.convert(world.instance())
    orphan(world)

    world.caches.instances.replace([orphaning], "1", keep=())
    world.run()
    world.settle()

    assert (world.is_gone(), list(world.all("PersistentVolumeClaim"))) == (True, ["own"])


def test_the_volume_of_an_orphaned_claim_that_is_gone_already_is_not_taken(world: World) -> None:
    bound(world, claim("own", by_instance()), reclaim="Retain")
    world.put(stateful_set(), instance(claims=()))
    world.settle()
    world.api.objects.drop("PersistentVolumeClaim", "shop/own")

    world.delete("db", "orphan")
    world.run()
    orphan(world)
    world.settle()

    assert (world.is_gone(), reclaim(world, "pv-own")) == (True, "Retain")


def test_an_instance_that_the_cache_has_not_heard_of_keeps_its_claim(world: World) -> None:
    bound(world, claim())
    world.put(instance())
    world.settle()
    world.delete()
    deleted = world.caches.instances.resource.projection.convert(world.instance())
    world.put(instance("late", uid="uid-late", policy="Retain"))

    world.caches.instances.replace([deleted], "1", keep=())
    world.controller.run_ready()

    assert (world.api.asked("delete"), is_going(world, "PersistentVolumeClaim", "data")) == ([], False)


def test_a_deletion_that_the_watch_has_not_told_of_is_put_off_but_not_for_long(world: World) -> None:
    bound(world, claim())
    world.put(instance())
    world.settle()
    world.clock.step_wall(1_800_000_000.0 - world.clock.wall_s())  # the second of the deletion
    world.delete()
    written = list(world.client.written)

    world.controller.add("shop/db")
    world.controller.run_ready()
    soon = list(world.client.written)
    world.clock.advance(11.0)
    world.controller.run_ready()

    assert soon == written
    assert "delete shop/persistentvolumeclaims/data" in world.client.written


def test_a_set_that_would_take_its_claims_with_it_is_parted_from_them_before_it_goes(world: World) -> None:
    world.serve_snapshots()
    world.put(namespace())
    bound(world, claim("data-db-0"))
    world.put(stateful_set(), pod("db-0", owner("StatefulSet", "db", "uid-set"), claims=("data-db-0",)))
    world.put(instance(claims=(), policy="Snapshot"))
    world.settle()
    back = world.all("PersistentVolumeClaim")["data-db-0"]
    back["metadata"]["ownerReferences"] = [owner("StatefulSet", "db", "uid-set")]
    world.put(back)
    world.client.written.clear()

    world.delete()
    world.settle()

    writes = [one for one in world.client.written if not one.endswith("status")]
    assert writes[0] == "patch shop/persistentvolumeclaims/data-db-0"
    assert writes.index("delete shop/statefulsets/db") > 0
    assert world.is_gone()
