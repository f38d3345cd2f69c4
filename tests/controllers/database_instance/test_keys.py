"""Which instances come up when a claim, a StatefulSet or an instance changes."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.database_instance.keys import claim_keys, instance_keys, stateful_set_keys, volume_keys
from controllers.database_instance.memory import Memory
from controllers.database_instance.resources import claim_of, instances_resource, stateful_sets_resource, volumes_resource
from controllers.runtime.resource import Item
from controllers.runtime.store import Addition, Deletion, Update
from tests.controllers.database_instance.builders import Json, by_instance, claim, instance, owner, stateful_set
from tests.controllers.database_instance.world import World

LABEL = "gatehouse.dev/instance-uid"


def item(obj: Json) -> Item[Any]:
    facts = claim_of(obj)
    return Item(f"{facts.namespace}/{facts.name}", facts.uid, "1", facts)


def keys(world: World, now: Json, before: Json | None = None) -> set[str]:
    world.run()
    change = Addition(item(now), initial=False) if before is None else Update(item(before), item(now))
    return set(claim_keys(world.caches)(change))


@pytest.mark.parametrize(
    ("changed", "woken"),
    [
        (claim("data"), {"shop/db"}),
        (claim("other"), set()),
        (claim("any", labels={"app": "web"}), {"shop/web"}),
        (claim("any", by_instance("uid-web", "web")), {"shop/web"}),
        (claim("any", labels={LABEL: "uid-web"}), {"shop/web"}),
        (claim("data-set-0"), {"shop/db"}),
        (claim("any", owner("StatefulSet", "set", "uid-set")), {"shop/db"}),
    ],
)
def test_a_claim_wakes_the_instance_that_it_belongs_to(world: World, changed: Json, woken: set[str]) -> None:
    web = instance("web", uid="uid-web", volumes={"selector": {"matchLabels": {"app": "web"}}})
    world.put(instance(), web, stateful_set("set"))

    assert keys(world, changed) == woken


def test_a_claim_that_does_not_belong_to_it_any_more_wakes_it_too(world: World) -> None:
    web = instance("web", uid="uid-web", volumes={"selector": {"matchLabels": {"app": "web"}}})
    world.put(web)

    assert keys(world, claim("any"), claim("any", labels={"app": "web"})) == {"shop/web"}


def test_a_claim_of_a_deployment_wakes_all_that_may_own_that(world: World) -> None:
    unowned = instance("web", uid="uid-web", volumes={"owned": False, "claimNames": ["x"]})
    world.put(instance(), unowned)

    assert keys(world, claim("any", owner("Deployment", "web", "uid-deployment"))) == {"shop/db"}


def test_an_instance_wakes_those_that_share_a_claim_with_it(world: World) -> None:
    selecting = instance("web", uid="uid-web", volumes={"selector": {"matchLabels": {"app": "web"}}})
    world.put(instance(), selecting, instance("else", uid="uid-else", claims=("other",)), claim(labels={"app": "web"}))
    world.run()
    projection = instances_resource().projection
    now, before = projection.convert(instance(claims=())), projection.convert(instance())
    keys_of = instance_keys(world.caches)

    assert set(keys_of(Update(before, now))) == {"shop/db", "shop/web"}
    assert set(keys_of(Deletion(before, final=True))) == {"shop/db", "shop/web"}
    assert set(keys_of(Update(now, now))) == set()


def test_a_volume_wakes_the_instances_that_follow_it() -> None:
    memory, projection = Memory(), volumes_resource().projection
    memory.follow("shop/db", {"pv-data", "pv-old"})
    memory.follow("shop/web", {"pv-data"})
    memory.follow("shop/db", {"pv-data"})
    bound = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv-data", "uid": "uid-pv"}}
    old = projection.convert(bound | {"metadata": {"name": "pv-old", "uid": "uid-old"}})
    kept = projection.convert(bound | {"spec": {"persistentVolumeReclaimPolicy": "Retain"}})
    loose = projection.convert(bound | {"spec": {"persistentVolumeReclaimPolicy": "Delete"}})

    assert set(volume_keys(memory)(Update(kept, loose))) == {"shop/db", "shop/web"}
    assert set(volume_keys(memory)(Update(kept, kept))) == set()
    assert set(volume_keys(memory)(Deletion(old, final=True))) == set()


def test_a_set_wakes_who_owned_it_before_and_who_owns_it_now() -> None:
    projection = stateful_sets_resource().projection
    before, now = (
        projection.convert(stateful_set("set")),
        projection.convert(stateful_set("set", by_instance("uid-web", "web"))),
    )

    assert set(stateful_set_keys(Update(before, now))) == {"shop/db", "shop/web"}


def test_a_claim_that_has_not_changed_wakes_nobody(world: World) -> None:
    world.put(instance())

    assert keys(world, claim(), claim()) == set()


def test_a_set_wakes_the_instance_that_owns_it() -> None:
    projection = stateful_sets_resource().projection

    owned = projection.convert(stateful_set("set"))
    foreign = projection.convert(stateful_set("set", owner("Thing", "x", "uid-x")))

    assert list(stateful_set_keys(Deletion(owned, final=True))) == ["shop/db"]
    assert list(stateful_set_keys(Addition(foreign, initial=False))) == []


def test_a_change_of_its_status_wakes_nobody(world: World) -> None:
    keys_of = instance_keys(world.caches)
    projection = instances_resource().projection
    before = projection.convert(instance())
    after = projection.convert(instance() | {"status": {"observedGeneration": 3}})

    assert list(keys_of(Update(before, after))) == []
    assert list(keys_of(Update(before, projection.convert(instance(policy="Retain"))))) == ["shop/db"]
