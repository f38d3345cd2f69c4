"""The part `addresses` of what a golden case is given.

    policy: {ranges: [10.0.0.0/24], onExhausted: gate, byHand: Allow}    # as features.podIP has it
    pools: [{name: edge, addresses: [10.0.0.0/30], exclude: [10.0.0.0], namespaces: "team=a", onExhausted: gate, fault: ""}]
    reservations: [{ip: 10.0.0.1, podName: web-0}]                # keyword arguments of `addresses.reservation`, in camelCase
    live: [{ip: 10.0.0.2, podName: web-1}]                        # what a live read finds beside these, or instead
    vanished: [10.0.0.1]                                          # and what it finds no more
    carriers: {10.0.0.1: [uid-a]}                                 # uids of the pods that bear an address, read live
    busy: [10.0.0.3]                                              # in use without a reservation
    network: [{name: ippool, addresses: [10.0.0.0/24], obstacle: "is disabled"}]    # of Calico, [] too; absent: nobody says
    synced: false                                                 # absent: true
    answers: false                                                # the API server does not

Raises AssertionError on unknown keys, AddressError and Faults on what cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from webhook.addresses.address import Address
from webhook.addresses.facts import OnExhausted, Phase, PoolFacts, ReservationFacts
from webhook.addresses.grammar import parse_items
from webhook.addresses.network import Network, NetworkPool
from webhook.addresses.policy import AddressPolicy, ByHand
from webhook.objects.meta import parse_time_s
from webhook.testing import addresses

_KEYS = ("policy", "pools", "reservations", "live", "vanished", "carriers", "busy", "network", "synced", "answers")
_NAMES = {
    "ip": "address",
    "podName": "pod_name",
    "boundUID": "bound_uid",
    "boundName": "bound_name",
    "requestUID": "request_uid",
}
_RESERVED = ("ip", "namespace", "podName", "key", "owner", "pool", "boundUID", "boundName", "phase", "created", "requestUID")


def policy(value: Mapping[str, Any]) -> AddressPolicy:
    """What the operator has configured."""
    given = value.get("policy") or {}
    _known(given, "ranges", "onExhausted", "byHand")
    return AddressPolicy(
        parse_items(given.get("ranges") or (), "ranges"),
        on_exhausted=OnExhausted(given.get("onExhausted", "deny")),
        by_hand=ByHand(given.get("byHand", "Refuse")),
    )


def read(value: Mapping[str, Any]) -> addresses.StaticAddresses:
    """Fresh facts: they count what they are asked."""
    _known(value, *_KEYS)
    cache = {one.address: one for one in map(_reservation, value.get("reservations") or ())}
    live = {one.address: one for one in map(_reservation, value.get("live") or ())}
    gone = {Address.parse(text) for text in value.get("vanished") or ()}
    return addresses.StaticAddresses(
        [_pool(one) for one in value.get("pools") or ()],
        cache,
        {address: one for address, one in (cache | live).items() if address not in gone},
        {Address.parse(text): tuple(uids) for text, uids in (value.get("carriers") or {}).items()},
        frozenset(Address.parse(text) for text in value.get("busy") or ()),
        Network(tuple(map(_network, value["network"])), "Calico") if "network" in value else Network(),
        value.get("synced", True),
        value.get("answers", True),
    )


def _pool(value: Mapping[str, Any]) -> PoolFacts:
    _known(value, "name", "addresses", "exclude", "namespaces", "onExhausted", "fault")
    return addresses.pool(
        value["name"],
        *value.get("addresses") or (),
        exclude=value.get("exclude") or (),
        namespaces=value.get("namespaces"),
        on_exhausted=OnExhausted(value.get("onExhausted", "deny")),
        fault=value.get("fault", ""),
    )


def _network(value: Mapping[str, Any]) -> NetworkPool:
    _known(value, "name", "addresses", "obstacle")
    return NetworkPool(value["name"], parse_items(value["addresses"], "addresses"), value.get("obstacle", ""))


def _reservation(value: Mapping[str, Any]) -> ReservationFacts:
    _known(value, *_RESERVED)
    found = {_NAMES.get(key, key): item for key, item in value.items()}
    if "phase" in found:
        found["phase"] = Phase(found["phase"])
    if "created" in found:
        found["created_s"] = parse_time_s(found.pop("created"))
    return addresses.reservation(found.pop("address"), **found)


def _known(value: Mapping[str, Any], *keys: str) -> None:
    assert set(value) <= set(keys), f"unknown keys {set(value) - set(keys)}"
