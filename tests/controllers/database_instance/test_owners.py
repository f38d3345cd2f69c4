"""A claim that something else owns is nobody's to delete, also when the spec names it."""

from __future__ import annotations

import pytest

from tests.controllers.database_instance.builders import by_instance, claim, instance, owner
from tests.controllers.database_instance.world import World, bound

THEIRS = owner("Thing", "theirs", "uid-theirs", controller=False)


def test_a_claim_that_is_named_stays_when_something_else_owns_it(world: World) -> None:
    bound(world, claim("data", owner("StatefulSet", "standalone", "uid-standalone")))
    world.put(instance())
    world.settle()
    told = world.condition("ClaimsShared")

    world.delete()
    world.settle()

    assert told is not None and told["reason"] == "ClaimOfTwoOwners"
    assert (world.is_gone(), list(world.all("PersistentVolumeClaim"))) == (True, ["data"])


@pytest.mark.parametrize("first", ["Delete", "Retain", "Snapshot"])
def test_a_named_claim_with_another_owner_stays_whatever_the_policy_was_before(world: World, first: str) -> None:
    bound(world, claim("data", by_instance() | {"controller": False}, THEIRS))
    world.put(instance(policy=first))
    world.settle()
    changed = world.instance()
    changed["spec"]["deletionPolicy"] = "Delete"
    world.put(changed)
    world.settle()

    world.delete()
    world.settle()

    left = world.all("PersistentVolumeClaim")
    assert (world.is_gone(), list(left), "deletionTimestamp" in left["data"]["metadata"]) == (True, ["data"], False)
