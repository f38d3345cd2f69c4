"""What was so when a deletion began decides, also when the pass that decides comes late: what was shared, what was orphaned."""

from __future__ import annotations

import pytest

from controllers.testing.answers import status
from tests.controllers.database_instance.builders import (
    UID,
    Json,
    by_instance,
    claim,
    instance,
    namespace,
    pod,
    stateful_set,
)
from tests.controllers.database_instance.world import World, bound

LABEL = "gatehouse.dev/instance-uid"
STATUS = "/apis/example.com/v1/namespaces/shop/databaseinstances/db/status"


def stays(world: World, name: str = "data") -> bool:
    found = world.all("PersistentVolumeClaim").get(name)
    return found is not None and "deletionTimestamp" not in found["metadata"]


def lose_finalizer(world: World, name: str) -> None:
    """As the garbage collector does when everything is orphaned."""
    left = world.instance()
    left["metadata"]["finalizers"].remove(name)
    world.put(left)


# -- shared


def share(world: World, mine: str, others: str) -> None:
    """One claim of `db` and `other`, with these policies."""
    world.serve_snapshots()
    world.put(namespace())
    bound(world, claim())
    world.put(instance(policy=mine), instance("other", uid="uid-other", policy=others))
    world.settle()


@pytest.mark.parametrize("mine", ["Delete", "Snapshot"])
def test_what_a_careful_one_has_kept_is_not_taken_by_one_whose_pass_comes_late(world: World, mine: str) -> None:
    share(world, mine, "Retain")
    world.api.always("patch", status(403, "Forbidden"), STATUS)
    world.delete()
    world.delete("other")
    world.settle()
    alone = (world.is_gone("other"), world.is_gone())

    world.api.behave()
    world.settle()

    assert alone == (True, False)
    assert (world.is_gone(), stays(world)) == (True, True)


def test_what_a_careful_one_has_kept_is_not_taken_by_one_that_waited_for_the_garbage_collector(world: World) -> None:
    share(world, "Delete", "Retain")
    world.delete("db", "orphan")
    world.run()
    world.delete("other")
    world.settle()
    alone = (world.is_gone("other"), world.reason())
    told = world.condition("ClaimsShared")

    lose_finalizer(world, "orphan")
    world.settle()

    assert (alone, told is not None) == ((True, "WaitsForGarbageCollector"), True)
    assert (world.is_gone(), stays(world)) == (True, True)


@pytest.mark.parametrize(("mine", "others"), [("Delete", "Delete"), ("Snapshot", "Delete")])
def test_what_one_that_was_no_more_careful_has_left_goes_with_the_last(world: World, mine: str, others: str) -> None:
    share(world, mine, others)
    world.delete("other")
    world.delete()

    world.settle()

    assert (world.is_gone(), world.is_gone("other"), world.all("PersistentVolumeClaim")) == (True, True, {})


def test_what_a_careful_one_does_not_name_any_more_is_not_remembered_as_shared(world: World) -> None:
    share(world, "Delete", "Retain")
    remembered = world.instance()["status"]["sharedClaimUIDs"]
    changed = world.instance("other")
    changed["spec"]["volumes"] = {"claimNames": ["else"]}
    world.put(changed)
    world.settle()

    world.delete()
    world.settle()

    assert len(remembered) == 1
    assert (world.is_gone(), world.all("PersistentVolumeClaim")) == (True, {})


# -- orphaned


def labelled(world: World, *more: Json) -> None:
    """An instance whose claim `data` bears its label and nothing else."""
    bound(world, claim("data", labels={LABEL: UID}))
    world.put(instance(claims=()), *more)
    world.settle()


def orphaned_unseen(world: World) -> None:
    """`--cascade=orphan`, and the garbage collector, while no process of ours runs; then one begins."""
    world.delete()
    world.restart()


def test_what_bears_the_label_stays_when_nobody_has_seen_the_deletion_begin(world: World) -> None:
    labelled(world)
    orphaned_unseen(world)

    world.settle()

    assert (world.is_gone(), stays(world)) == (True, True)
    assert "InstanceLetGo" in world.heard.reasons


def test_that_is_not_forgotten_while_the_deletion_waits(world: World) -> None:
    bound(world, claim("held"))
    labelled(world)
    world.put(instance(claims=("held",)), pod("backup", claims=("held",)))
    world.settle()
    orphaned_unseen(world)
    world.settle()
    told = world.condition("DependentsOrphaned")

    world.restart()
    world.api.objects.drop("Pod", "shop/backup")
    world.settle()

    assert told is not None
    assert (world.is_gone(), list(world.all("PersistentVolumeClaim"))) == (True, ["data"])


def test_a_dependent_that_has_its_owner_reference_still_shows_that_nothing_was_orphaned(world: World) -> None:
    labelled(world, stateful_set())
    orphaned_unseen(world)

    world.settle()

    assert (world.is_gone(), world.all("PersistentVolumeClaim")) == (True, {})


def test_a_foreground_deletion_orphans_nothing(world: World) -> None:
    labelled(world)
    world.delete("db", "foregroundDeletion")
    world.restart()
    world.settle()
    lose_finalizer(world, "foregroundDeletion")

    world.settle()

    assert world.all("PersistentVolumeClaim") == {}


def test_what_bears_the_label_goes_when_the_deletion_was_seen_to_begin(world: World) -> None:
    labelled(world)

    world.delete()
    world.settle()

    assert (world.is_gone(), world.all("PersistentVolumeClaim")) == (True, {})


def test_one_that_leads_only_later_has_seen_an_orphaning_all_the_same(world: World) -> None:
    bound(world, claim("data", by_instance()))
    world.put(instance(claims=(), policy="Retain"))
    world.settle()
    changed = world.instance()
    changed["spec"]["deletionPolicy"] = "Delete"
    world.put(changed)
    world.restart()
    world.see()
    world.delete("db", "orphan")
    world.see()
    remembered = world.caches.orphanings.is_orphaning(UID)  # its controller has not begun to work yet
    lose_finalizer(world, "orphan")

    world.settle()

    assert remembered
    assert (world.is_gone(), stays(world)) == (True, True)
