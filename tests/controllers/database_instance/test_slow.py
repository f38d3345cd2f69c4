"""With a slow API server, and with very many claims: the finalizer comes first, and what there is no time for is told."""

from __future__ import annotations

from controllers.testing.answers import status
from tests.controllers.database_instance.builders import FINALIZER, claim, instance
from tests.controllers.database_instance.world import World, bound

VOLUMES = "/api/v1/persistentvolumes"
MANY = 100


def many(world: World, policy: str, number: int = MANY) -> None:
    names = tuple(f"c{number}" for number in range(number))
    bound(world, *(claim(name) for name in names))
    world.put(instance(claims=names, policy=policy))


def slow(world: World, seconds: float) -> None:
    """Each request takes *seconds*."""
    world.client.delay = lambda: world.clock.advance(seconds)


def kept(world: World) -> int:
    return sum(one["spec"]["persistentVolumeReclaimPolicy"] == "Retain" for one in world.all("PersistentVolume").values())


def test_the_finalizer_is_there_before_anything_else_is_read(world: World) -> None:
    many(world, "Retain", 1)
    world.api.always("list", status(403, "Forbidden"), "/api/v1/namespaces/shop/persistentvolumeclaims")

    world.run()

    assert world.instance()["metadata"]["finalizers"] == [FINALIZER]
    assert world.api.count("list") == 0


def test_very_many_volumes_are_listed_and_not_read_one_by_one(world: World) -> None:
    many(world, "Delete")

    world.settle()

    assert world.api.count("get", f"{VOLUMES}/") == 0
    assert len(world.instance()["status"]["volumes"]) == MANY
    assert all(one["volumeUID"] for one in world.instance()["status"]["volumes"])


def test_a_list_of_volumes_that_comes_in_pages_is_read_to_its_end(world: World) -> None:
    for number in range(510):  # of others, whose names come first
        bound(world, claim(f"a{number}", volume=f"a{number}"))
    many(world, "Delete", 12)

    world.settle()

    assert all(one["volumeUID"] for one in world.instance()["status"]["volumes"])


def test_with_a_slow_server_a_pass_says_what_it_saw_and_the_next_ones_keep_what_is_left(world: World) -> None:
    many(world, "Retain")
    slow(world, 0.7)

    world.run()
    world.run()
    told, first = world.condition("Protected"), kept(world)
    for _ in range(4):
        world.clock.advance(30.0)
        world.run()

    assert told is not None and (told["status"], 0 < first < MANY) == ("False", True)
    protected = world.condition("Protected")
    assert (kept(world), protected and protected["status"], world.condition("Failing")) == (MANY, "True", None)


def test_a_pass_that_has_no_time_left_for_reading_says_so_at_once(world: World) -> None:
    many(world, "Retain", 1)
    world.run()
    slow(world, 19.0)

    world.run()

    failing = world.condition("Failing")
    assert failing is not None and failing["reason"] == "TimedOut"
    assert failing["message"].startswith("what surrounds it cannot be read: ")
