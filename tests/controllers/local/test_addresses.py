"""Fixed addresses from files: what is known, what a pod would get, and that nothing is ever written."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from controllers.local.addresses import LocalAddresses
from controllers.local.files import File, Placed, facts_of
from controllers.local.snapshot import Snapshot, combine
from controllers.pod_ip.paths import API_VERSION
from controllers.testing import FakeClock
from tests.webhook.addresses.allocations import address, addresses, asked, asked_by_name, span
from webhook.addresses.effects import Allocated, Exhausted
from webhook.addresses.marks import Marks
from webhook.clock import Deadline
from webhook.objects.meta import Json
from webhook.objects.votes import VotePolicy
from webhook.sidecars.entries.catalog import Catalog


@attrs.define
class Folder:
    """Who has the newest snapshot."""

    snapshot: Snapshot = Snapshot()


def pool(name: str, *items: str) -> Json:
    return {"apiVersion": API_VERSION, "kind": "AddressPool", "metadata": {"name": name}, "spec": {"addresses": list(items)}}


def reservation(ip: str, key: str = "other", **owner: str) -> Json:
    spec = {"ip": ip, "reservationKey": key, "namespace": "shop", "podName": "web-0", "pool": "web", "owner": owner or None}
    return {"apiVersion": API_VERSION, "kind": "AddressReservation", "metadata": {"name": ip, "uid": f"uid-{ip}"}, "spec": spec}


def pod(name: str, ip: str, phase: str = "Running") -> Json:
    annotations = {"cni.projectcalico.org/ipAddrs": f'["{ip}"]'}
    metadata = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "a"}, "status": {"phase": phase}}


def local(*objects: Json) -> LocalAddresses:
    placed = (Placed("f:1", facts) for obj in objects for facts in facts_of(obj, VotePolicy()))
    return LocalAddresses(Folder(combine([File((0, 0, 0), tuple(placed))], Catalog())))


def soon() -> Deadline:
    return Deadline.after(1.0, FakeClock())


def given(known: LocalAddresses, **fields: Any) -> list[str] | None:
    """What a pod would get of 10.0.0.1 to 10.0.0.3; None when all are held."""
    outcome = known.allocate(asked(**fields), Marks(), soon(), dry_run=True)
    assert isinstance(outcome, Allocated | Exhausted)
    return [one.text for one in outcome.addresses] if isinstance(outcome, Allocated) else None


def test_pools_and_reservations_are_those_of_the_files() -> None:
    known = local(pool("web", "10.0.0.0/30"), reservation("10.0.0.1", "key-1"))

    assert [one.name for one in known.pools()] == ["web"]
    assert (known.pool("web") is not None, known.pool("other")) == (True, None)
    assert [known.pool_exists(name, soon()) for name in ("web", "other")] == [True, False]
    assert known.synced()
    for found in (known.reservation(address("10.0.0.1")), known.confirmed(address("10.0.0.1"), soon())):
        assert found is not None
        assert found.key == "key-1"
    assert known.reservation(address("10.0.0.2")) is None


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([], ["10.0.0.1"]),
        ([reservation("10.0.0.1")], ["10.0.0.2"]),
        ([pod("a", "10.0.0.1")], ["10.0.0.2"]),
        ([pod("a", "10.0.0.1", "Succeeded")], ["10.0.0.1"]),
        ([reservation("10.0.0.1"), pod("a", "10.0.0.2")], ["10.0.0.3"]),
        ([reservation("10.0.0.2", "key-1")], ["10.0.0.2"]),  # its own
        ([reservation(f"10.0.0.{number}") for number in (1, 2, 3)], None),
    ],
)
def test_a_pod_would_get_the_first_address_that_nobody_has(objects: list[Json], expected: list[str] | None) -> None:
    assert given(local(*objects)) == expected


def test_two_pods_one_after_the_other_are_foreseen_the_same_and_nothing_is_kept() -> None:
    known = local(pool("web", "10.0.0.0/30"))

    assert given(known) == given(known, key="key-2") == ["10.0.0.1"]
    assert known.by_key("key-1") == []


def test_a_pod_of_both_families_gets_one_of_each() -> None:
    both = addresses(span("10.0.0.1", 2), span("fd00::1", 2))

    assert given(local(reservation("10.0.0.1")), addresses=both) == ["10.0.0.2", "fd00::1"]
    assert given(local(reservation("10.0.0.1"), reservation("10.0.0.2")), addresses=both) is None


def test_reservations_are_found_by_key_and_by_address() -> None:
    known = local(reservation("10.0.0.1", "one"), reservation("10.0.0.2", "two"), reservation("10.0.9.1", "one"))

    assert [one.address.text for one in known.by_key("one")] == ["10.0.0.1", "10.0.9.1"]
    assert [one.address.text for one in known.within(addresses(span("10.0.0.1", 9)))] == ["10.0.0.1", "10.0.0.2"]


def test_what_a_replica_would_learn_changes_nothing_here() -> None:
    known = local(reservation("10.0.0.1", "key-1"))
    (held,) = known.by_key("key-1")

    known.vanished(held)
    known.learned(attrs.evolve(held, key="key-2"))
    known.refused(address("10.0.0.2"))

    assert (known.by_key("key-1"), known.by_key("key-2")) == ([held], [])
    assert given(known, key="key-9") == ["10.0.0.2"]


def test_everything_that_is_said_of_an_address_is_seen() -> None:
    known = local(
        pool("b", "10.0.0.0/30"),
        pool("a", "10.0.0.1"),
        pool("other", "10.0.9.0/30"),
        reservation("10.0.0.1", "key-1", kind="StatefulSet", name="db", uid="uid-db"),
        pod("db-0", "10.0.0.1"),
        pod("gone", "10.0.0.1", "Failed"),
        {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "shop", "uid": "uid-db"}},
    )

    found = known.seen(address("10.0.0.1"))

    assert [one.name for one in found.pools] == ["a", "b"]
    assert found.reservation is not None
    assert [pod.name for pod in found.live()] == ["db-0"]
    assert found.situation.stateful_set is not None


def test_of_an_address_that_nobody_mentions_nothing_is_seen() -> None:
    found = local().seen(address("10.0.0.1"))

    assert (found.pools, found.reservation, found.live()) == ((), None, ())


def test_a_named_pod_keeps_its_own_address_whoever_is_first() -> None:
    known = local(reservation("10.0.0.3", "key-db-0"))

    outcome = known.allocate(asked_by_name(), Marks(), soon(), dry_run=False)

    assert isinstance(outcome, Allocated)
    assert [one.text for one in outcome.addresses] == ["10.0.0.3"]
