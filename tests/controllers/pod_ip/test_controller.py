"""Which changes bring up which addresses, pools and gates."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import pytest

from controllers.pod_ip.controller import pod_keys, pool_keys, reservation_keys, stateful_set_keys
from controllers.pod_ip.gates import GateLine
from controllers.pod_ip.known import Known
from controllers.pod_ip.plan import StatefulSetFacts
from controllers.pod_ip.resources import (
    pools_resource,
    reservation_from_object,
    reservations_resource,
    stateful_set_from_object,
    stateful_sets_resource,
)
from controllers.runtime.projection import pods_resource
from controllers.runtime.resource import Item
from controllers.runtime.store import Addition, Change, Deletion, Store, Update
from controllers.testing import FakeClock
from tests.controllers.pod_ip.objects import (
    ONE,
    TWO,
    Json,
    db_pod,
    pod,
    pool,
    pool_facts,
    reservation,
    stateful_set,
    waiting_pod,
)
from tests.controllers.pod_ip.scene import Scene
from webhook.cluster import PodFacts

PODS = pods_resource(addressed=True)


@attrs.define
class Memory:
    """The caches, filled by hand."""

    known: Known
    line: GateLine

    def has(self, *objects: Json) -> None:
        for one in objects:
            places: dict[str, tuple[Store[Any], Any]] = {
                "AddressReservation": (self.known.reservations, reservations_resource()),
                "AddressPool": (self.known.pools, pools_resource()),
            }
            store, resource = places[one["kind"]]
            store.put(resource.projection.convert(one))


@pytest.fixture
def memory() -> Memory:
    stores: list[Store[Any]] = [
        Store(one.indexes) for one in (PODS, reservations_resource(), pools_resource(), stateful_sets_resource())
    ]
    return Memory(Known(stores[0], stores[1], stores[2], stores[3], FakeClock()), GateLine())


def item_of(obj: Json) -> Item[PodFacts]:
    return PODS.projection.convert(obj)


def changed(before: Json, after: Json) -> Update[PodFacts]:
    return Update(item_of(before), item_of(after))


def of_set(**fields: Any) -> Item[StatefulSetFacts]:
    facts = attrs.evolve(stateful_set_from_object(stateful_set()), **fields)
    return Item("shop/db", facts.uid, "1", facts)


# -- pods


def test_a_pod_brings_up_the_addresses_of_annotation_and_label(memory: Memory) -> None:
    two = pod("a", ONE, "fd00::1", labels={"allocated-ip": TWO})

    keys = set(pod_keys(memory.known, memory.line)(Addition(item_of(two))))

    assert keys == {ONE, TWO, "fd00-0000-0000-0000-0000-0000-0000-0001"}


@pytest.mark.parametrize("kind", [Addition, Deletion])
def test_a_pod_brings_up_what_has_its_key_and_what_is_bound_to_it(memory: Memory, kind: Callable[[Any], Change[Any]]) -> None:
    memory.has(reservation(TWO), reservation("10.0.0.3", key="other", podUID="uid-a", podName="a"))
    bare = pod("a", uid="uid-a")
    bare["metadata"]["annotations"].pop("cni.projectcalico.org/ipAddrs")
    bare["metadata"]["labels"] = {}

    assert set(pod_keys(memory.known, memory.line)(kind(item_of(bare)))) == {TWO, "10.0.0.3"}


def test_a_pod_that_says_nothing_of_addresses_brings_up_nothing(memory: Memory) -> None:
    plain = {"metadata": {"name": "x", "namespace": "shop", "uid": "u"}, "spec": {}, "status": {"phase": "Running"}}

    assert set(pod_keys(memory.known, memory.line)(Addition(item_of(plain)))) == set()


def test_heartbeats_of_a_pod_bring_up_nothing(memory: Memory) -> None:
    before = pod(uid="u", phase="Pending")
    after = pod(uid="u", phase="Running", resourceVersion="2")

    assert set(pod_keys(memory.known, memory.line)(changed(before, after))) == set()


@pytest.mark.parametrize(
    "after",
    [pod(uid="u", phase="Failed"), pod(uid="u", deletionTimestamp="2026-01-01T00:00:00Z"), pod("web-1", TWO, uid="u")],
    ids=["finished", "deleting", "another address"],
)
def test_what_counts_of_a_pod_brings_up_its_addresses(memory: Memory, after: Json) -> None:
    assert ONE in set(pod_keys(memory.known, memory.line)(changed(pod(uid="u"), after)))


def test_a_pod_that_waits_brings_up_the_gates_and_stands_in_line(memory: Memory) -> None:
    keys = pod_keys(memory.known, memory.line)
    waits = item_of(waiting_pod(uid="u"))

    first = set(keys(Addition(waits)))
    waiting = memory.line.waiting()
    keys(Deletion(waits))

    assert (first, waiting, len(memory.line)) == ({"gates"}, ["shop/web-1"], 0)


def test_a_pod_that_is_being_deleted_does_not_wait(memory: Memory) -> None:
    pod_keys(memory.known, memory.line)(Addition(item_of(waiting_pod(deletionTimestamp="2026-01-01T00:00:00Z"))))

    assert len(memory.line) == 0


# -- reservations


def keys_of(memory: Memory, change: Change[Any]) -> list[str]:
    return list(reservation_keys(memory.known, memory.line)(change))


def test_a_reservation_that_comes_or_goes_brings_up_the_pools_that_have_it(memory: Memory) -> None:
    memory.has(pool(), pool("far", addresses=["10.9.0.0-9"]))
    facts = reservation_from_object(reservation())
    found = Item(ONE, "u", "1", facts)

    assert keys_of(memory, Addition(found)) == [ONE, "pool/edge"]
    assert keys_of(memory, Deletion(found)) == [ONE, "pool/edge"]
    assert keys_of(memory, Update(found, found)) == [ONE]
    assert keys_of(memory, Addition(found, initial=True)) == [ONE]


def test_a_reservation_that_goes_brings_up_the_gates_only_if_somebody_waits(memory: Memory) -> None:
    found = Item(ONE, "u", "1", reservation_from_object(reservation()))
    alone = keys_of(memory, Deletion(found))

    memory.line.heard(Addition(item_of(waiting_pod())))

    assert (alone, keys_of(memory, Deletion(found))) == ([ONE], [ONE, "gates"])


# -- pools


def pool_item(obj: Json, **changes: Any) -> Item[Any]:
    facts = attrs.evolve(pool_facts(obj), **changes)
    return Item(facts.name, facts.uid, "1", facts)


def test_our_own_status_of_a_pool_brings_up_nothing(memory: Memory) -> None:
    before, after = pool_item(pool()), pool_item(pool(), adopted=True)

    assert list(pool_keys(memory.known, memory.line)(Update(before, after))) == []


def test_other_terms_of_a_pool_bring_up_what_is_reserved_of_it(memory: Memory) -> None:
    of_pool = reservation()
    of_pool["spec"]["pool"] = "edge"
    memory.has(of_pool, reservation(TWO))
    memory.line.heard(Addition(item_of(waiting_pod())))

    keys: Iterable[str] = pool_keys(memory.known, memory.line)(Update(pool_item(pool()), pool_item(pool(expiry="90s"))))

    assert list(keys) == ["pool/edge", ONE, "gates"]


# -- StatefulSets


@pytest.mark.parametrize("change", [{"replicas": 0}, {"start": 1}, {"deleting": True}])
def test_a_set_that_wants_other_ordinals_brings_up_their_addresses(memory: Memory, change: dict[str, Any]) -> None:
    memory.has(reservation(ONE, pod_name="db-0", owner="StatefulSet/db"), reservation(TWO))

    assert list(stateful_set_keys(memory.known)(Update(of_set(), of_set(**change)))) == [ONE]


def test_a_set_that_goes_brings_up_the_addresses_of_its_ordinals(memory: Memory) -> None:
    memory.has(reservation(ONE, pod_name="db-0", owner="StatefulSet/db"))

    assert list(stateful_set_keys(memory.known)(Deletion(of_set()))) == [ONE]


def test_a_rollout_of_a_set_brings_up_nothing(memory: Memory) -> None:
    memory.has(reservation(ONE, pod_name="db-0", owner="StatefulSet/db"))

    assert list(stateful_set_keys(memory.known)(Update(of_set(), of_set()))) == []


# -- the whole


def test_a_key_that_is_no_address_is_no_fault_of_anybody(scene: Scene) -> None:
    scene.run()

    scene.controller.add("no address")
    scene.run()

    assert scene.series("controller_runtime_terminal_reconcile_errors_total") == {"pod-ip": 1.0}


def test_who_leads_again_looks_at_everything_once(scene: Scene) -> None:
    stored = scene.put(db_pod(), pod("web-1", TWO))
    scene.put(stateful_set(), pool())
    scene.run()
    scene.later(5)
    scene.stand_by()
    scene.drop("AddressReservation", ONE)
    scene.drop("AddressReservation", TWO)

    scene.run()

    assert scene.reservations() == {ONE: "Bound", TWO: "Bound"}
    assert [scene.status(one)["podUID"] for one in (ONE, TWO)] == [one["metadata"]["uid"] for one in stored]


def test_a_controller_that_stands_by_remembers_no_conflict(scene: Scene) -> None:
    scene.put(pool(), pod("a"), pod("b", age_s=30))
    scene.run()
    before = scene.series("gatehouse_address_conflicts")

    scene.stand_by()

    assert (before, scene.series("gatehouse_address_conflicts")) == ({"": 1.0}, {"": 0.0})
