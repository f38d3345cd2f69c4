"""AddressReservations, AddressPools and StatefulSets become facts."""

from __future__ import annotations

from typing import Any

import pytest

from controllers.pod_ip.bodies import reservation_body
from controllers.pod_ip.resources import (
    reservation_from_object,
    reservations_resource,
    stateful_set_from_object,
)
from controllers.runtime.errors import UndecodableObject
from tests.controllers.pod_ip.objects import pool_facts
from tests.controllers.pod_ip.shelf import KEY, address_pool, reservation
from webhook.addresses.address import Address
from webhook.addresses.facts import Asked, OnExhausted, Phase, PodOwner
from webhook.addresses.ranges import AddressSet


def test_a_reservation_keeps_its_spec_and_its_state() -> None:
    status = {
        "phase": "Cooling",
        "podName": "web-0",
        "podUID": "p1",
        "node": "edge-1",
        "releasedTime": "2026-01-01T00:01:00Z",
        "claim": "r2",
        "claimedTime": "2026-01-01T00:00:30Z",
    }

    found = reservation_from_object(reservation(status=status, uid="u1", pool="web", app="web"))

    assert (found.address.text, found.key, found.request_uid, found.namespace) == ("10.0.0.1", KEY, "r1", "shop")
    assert (found.pool, found.app, found.owner, found.ordinal) == ("web", "web", PodOwner("StatefulSet", "web", "set-1"), 0)
    assert (found.phase, found.bound_name, found.bound_uid, found.node) == (Phase.COOLING, "web-0", "p1", "edge-1")
    assert (found.created_s, found.claimed_s, found.released_s) == (1767225600.0, 1767225630.0, 1767225660.0)
    assert (found.claim, found.uid, found.holder) == ("r2", "u1", "replica-a")


@pytest.mark.parametrize("status", [None, {}, {"phase": None}, {"phase": "Later"}])
def test_a_reservation_of_which_nothing_is_known_waits_for_its_pod(status: Any) -> None:
    assert reservation_from_object(reservation(status=status)).phase is Phase.RESERVED


@pytest.mark.parametrize(
    ("name", "ip", "why"),
    [
        ("web", None, "no IP address"),
        ("10.0.0.1", "10.0.0.2", 'spec.ip is "10.0.0.2"'),
        ("fd00--1", None, "is not how the address"),
    ],
)
def test_a_reservation_whose_name_is_not_its_address_is_none(name: str, ip: str | None, why: str) -> None:
    with pytest.raises(UndecodableObject, match=why):
        reservation_from_object(reservation(name, ip=ip))


def test_what_is_written_is_read_back() -> None:
    address = Address.parse("fd00::1")
    asked = Asked(
        *("shop", KEY, "r1", "web", PodOwner("StatefulSet", "web", "set-1"), 0, "web-0", "web"),
        AddressSet(),
        OnExhausted.DENY,
    )

    found = reservation_from_object(reservation_body(asked, address, "replica-a"))

    assert (found.address, found.key, found.request_uid, found.app) == (address, KEY, "r1", "web")
    assert (found.owner, found.ordinal, found.pod_name, found.pool, found.holder) == (
        asked.owner,
        0,
        "web-0",
        "web",
        "replica-a",
    )


def test_reservations_are_found_by_key_owner_pod_and_name() -> None:
    facts = reservation_from_object(reservation(status={"podUID": "p1"}))

    found = {name: tuple(index(facts)) for name, index in reservations_resource().indexes.items()}

    assert found == {"key": (KEY,), "owner": ("set-1",), "pod": ("p1",), "name": ("shop/web-0",)}


@pytest.mark.parametrize(("metadata", "deleting"), [({}, False), ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True)])
def test_a_reservation_that_a_finalizer_keeps_is_known_to_be_going(metadata: dict[str, str], deleting: bool) -> None:
    found = reservation()

    assert reservation_from_object(found | {"metadata": found["metadata"] | metadata}).deleting is deleting


# -- pools


def test_a_pool_has_what_its_lists_leave() -> None:
    found = pool_facts(
        address_pool(
            addresses=["10.0.0.0/29", "fd00::1"],
            exclude=["10.0.0.0", "10.0.0.7"],
            namespaceSelector={"matchLabels": {"team": "a"}},
            onExhausted="gate",
            cooldown="1m",
            expiry="90s",
        )
    )

    assert (found.addresses.size(), Address.parse("10.0.0.7") in found.addresses) == (7, False)
    assert (str(found.namespaces), found.on_exhausted, found.cooldown_s, found.expiry_s) == (
        "team=a",
        OnExhausted.GATE,
        60.0,
        90.0,
    )
    assert (found.adopted, found.generation, found.fault) == (True, 3, "")


def test_a_pool_without_terms_has_the_defaults_and_is_for_everybody() -> None:
    found = pool_facts(address_pool(adopted=False))

    assert (found.namespaces, found.on_exhausted, found.cooldown_s, found.expiry_s, found.adopted) == (
        None,
        OnExhausted.DENY,
        0.0,
        120.0,
        False,
    )


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"addresses": ["10.0.0.1", "10.0.0.9-10.0.0.1"]}, "spec.addresses[1]"),
        ({"exclude": ["x"]}, "spec.exclude[0]"),
        ({"namespaceSelector": {"matchLabels": {"a b": "c"}}}, "spec.namespaceSelector: matchLabels"),
        ({"onExhausted": "wait"}, 'spec.onExhausted: "wait"'),
        ({"expiry": "10s"}, "spec.expiry: 10s is less than 60s"),
        ({"cooldown": "soon"}, "spec.cooldown: "),
        ({"cooldown": "-1s"}, "spec.cooldown: -1s is less than nothing"),
    ],
)
def test_a_pool_that_cannot_be_read_says_why_and_gives_nothing(spec: dict[str, Any], fault: str) -> None:
    found = pool_facts(address_pool(**spec))

    assert fault in found.fault
    assert not found.addresses


# -- StatefulSets


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"replicas": 2}, [0, 1]),
        ({}, [0]),
        ({"replicas": 0}, []),
        ({"replicas": 2, "ordinals": {"start": 3}}, [3, 4]),
    ],
)
def test_a_stateful_set_wants_the_ordinals_that_it_has_replicas_for(spec: dict[str, Any], wanted: list[int]) -> None:
    facts = stateful_set_from_object({"metadata": {"name": "web", "namespace": "shop", "uid": "u"}, "spec": spec})

    assert [ordinal for ordinal in range(7) if facts.wants(ordinal)] == wanted


def test_a_stateful_set_that_is_being_deleted_wants_none() -> None:
    metadata = {"name": "web", "namespace": "shop", "deletionTimestamp": "2026-01-01T00:00:00Z"}

    assert not stateful_set_from_object({"metadata": metadata, "spec": {"replicas": 2}}).wants(0)
