from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.addresses.strategies import ADDRESSES, CALM
from webhook.addresses.address import V4, V6, Address
from webhook.addresses.marks import Marks, label_of, marks_from, marks_of, read_calico, write_calico, written
from webhook.errors import MalformedObject
from webhook.names import ALLOCATABLE_IPS, ALLOCATED_IP, CALICO_ADDRESSES, IP_GATE, IP_POOL, RESERVATION_KEY

FOUR, OTHER_FOUR, SIX = Address.parse("10.0.0.1"), Address.parse("10.0.0.2"), Address.parse("fd00::1")


def marks(labels: object = None, annotations: object = None, gates: object = None) -> Marks | None:
    return marks_of({"labels": labels, "annotations": annotations}, {"schedulingGates": gates})


@pytest.mark.parametrize(
    ("labels", "annotations", "gates"),
    [
        (None, None, None),
        ({}, {}, []),
        ({"app": "web"}, {"note": "x"}, [{"name": "other"}]),
        (None, {ALLOCATABLE_IPS: "10.0.0.1"}, None),
        ({ALLOCATED_IP: ""}, {CALICO_ADDRESSES: "", RESERVATION_KEY: ""}, None),
        ({ALLOCATED_IP: None}, {CALICO_ADDRESSES: None, RESERVATION_KEY: None}, [{"name": None}, {}]),
    ],
)
def test_a_pod_that_says_nothing_has_no_marks(labels: object, annotations: object, gates: object) -> None:
    assert marks(labels, annotations, gates) is None


@pytest.mark.parametrize(
    ("labels", "annotations", "gates", "expected"),
    [
        ({ALLOCATABLE_IPS: ""}, None, None, Marks(asks=True)),
        ({IP_POOL: "edge"}, None, None, Marks(asks=True)),
        ({ALLOCATED_IP: "10.0.0.1"}, None, None, Marks(label="10.0.0.1")),
        (None, {RESERVATION_KEY: "k"}, None, Marks(key="k")),
        (None, {CALICO_ADDRESSES: '["10.0.0.1"]'}, None, Marks(addresses=(FOUR,))),
        (None, None, [{"name": "other"}, {"name": IP_GATE}], Marks(gated=True)),
        (
            {ALLOCATABLE_IPS: "10.0.0.1-9", ALLOCATED_IP: "10.0.0.1"},
            {CALICO_ADDRESSES: '["10.0.0.1","fd00::1"]', RESERVATION_KEY: "k"},
            None,
            Marks("k", (FOUR, SIX), "10.0.0.1", asks=True),
        ),
    ],
)
def test_each_mark_is_read(labels: object, annotations: object, gates: object, expected: Marks) -> None:
    assert marks(labels, annotations, gates) == expected


@pytest.mark.parametrize(
    ("malformed", "message"),
    [
        ((["x"], None, None), "metadata.labels: expected an object, found a list"),
        (({ALLOCATED_IP: 10}, None, None), "metadata.labels.allocated-ip: expected a string, found a number"),
        ((None, "x", None), "metadata.annotations: expected an object, found a string"),
        (
            (None, {CALICO_ADDRESSES: ["10.0.0.1"]}, None),
            "metadata.annotations.cni.projectcalico.org/ipAddrs: expected a string, found a list",
        ),
        (
            (None, {RESERVATION_KEY: True}, None),
            "metadata.annotations.gatehouse.dev/reservation-key: expected a string, found a boolean",
        ),
        ((None, None, "x"), "spec.schedulingGates: expected a list, found a string"),
        ((None, None, 0), "spec.schedulingGates: expected a list, found a number"),
        ((None, None, [None]), "spec.schedulingGates[0]: expected an object, found null"),
        ((None, None, [{"name": "a"}, {"name": 1}]), "spec.schedulingGates[1].name: expected a string, found a number"),
    ],
)
def test_a_field_of_a_wrong_type_is_malformed(malformed: tuple[object, object, object], message: str) -> None:
    with pytest.raises(MalformedObject) as caught:
        marks(*malformed)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("", ()),
        ('["10.0.0.1"]', (FOUR,)),
        ('["fd00::1"]', (SIX,)),
        ('["FD00:0:0:0:0:0:0:1"]', (SIX,)),
        ('["10.0.0.1","fd00::1"]', (FOUR, SIX)),
        ('["fd00::1","10.0.0.1"]', (SIX, FOUR)),
        (' [ "10.0.0.1" ,\n"fd00::1" ] ', (FOUR, SIX)),
        (" " * 5000 + '["10.0.0.1"]', (FOUR,)),
        ('["\\u0031\\u0030.0.0.1"]', (FOUR,)),
    ],
)
def test_what_calico_takes_is_read_in_the_order_in_which_it_stands(text: str, addresses: tuple[Address, ...]) -> None:
    assert read_calico(text) == (addresses, "")


@pytest.mark.parametrize(
    ("text", "addresses", "fault"),
    [
        ("[]", (), " is an empty list: expected one address of a family"),
        ("10.0.0.1", (), ' is "10.0.0.1": expected a JSON list of addresses as strings'),
        ('"10.0.0.1"', (), ' is ""10.0.0.1"": expected a JSON list of addresses as strings'),
        ("null", (), ' is "null": expected a JSON list of addresses as strings'),
        ("[null]", (), ' is "[null]": expected a JSON list of addresses as strings'),
        ("[1]", (), ' is "[1]": expected a JSON list of addresses as strings'),
        ("{}", (), ' is "{}": expected a JSON list of addresses as strings'),
        ('["10.0.0.1",]', (), ' is "["10.0.0.1",]": expected a JSON list of addresses as strings'),
        ('["10.0.0.1"]]', (), ' is "["10.0.0.1"]]": expected a JSON list of addresses as strings'),
        ("[" * 100_000, (), f' is "{"[" * 64}…": expected a JSON list of addresses as strings'),
        ("[" + "9" * 10_000 + "]", (), f' is "[{"9" * 63}…": expected a JSON list of addresses as strings'),
        ('["10.0.0.1/32"]', (), ': "10.0.0.1/32" is no IP address: it names a range of them'),
        ('[""]', (), ': "" is no IP address'),
        ('["10.0.0.01"]', (), ': "10.0.0.01" is no IP address: a part of it begins with 0'),
        ('[" 10.0.0.1"]', (), ': " 10.0.0.1" is no IP address'),
        ('["10.0.0.1-9"]', (), ': "10.0.0.1-9" is no IP address'),
        ('["fe80::1%eth0"]', (), ': "fe80::1%eth0" is no IP address: it names a zone'),
        ('["\\ud800"]', (), ': "\\ud800" is no IP address'),
        ('["10.0.0.1","x"]', (FOUR,), ': "x" is no IP address'),
        ('["10.0.0.1","10.0.0.2"]', (FOUR, OTHER_FOUR), ": has more than one IPv4 address"),
        ('["10.0.0.1","10.0.0.1"]', (FOUR,), ": has more than one IPv4 address"),
        ('["fd00::1","fd00:0::1"]', (SIX,), ": has more than one IPv6 address"),
        ('["10.0.0.1","10.0.0.2","fd00::1"]', (FOUR, OTHER_FOUR, SIX), ": has more than one IPv4 address"),
        ('["::ffff:10.0.0.1"]', (FOUR,), ': "::ffff:10.0.0.1" is an IPv4 address written as IPv6: write 10.0.0.1'),
        ('["::ffff:a00:1","fd00::1"]', (FOUR, SIX), ': "::ffff:a00:1" is an IPv4 address written as IPv6: write 10.0.0.1'),
    ],
)
def test_what_calico_would_refuse_is_a_fault_beside_what_could_be_read(
    text: str, addresses: tuple[Address, ...], fault: str
) -> None:
    assert read_calico(text) == (addresses, CALICO_ADDRESSES + fault)
    found = marks(None, {CALICO_ADDRESSES: text})
    assert found is not None
    assert (found.addresses, found.fault, found.are_written) == (addresses, CALICO_ADDRESSES + fault, True)


@pytest.mark.parametrize(
    ("addresses", "labels", "annotation"),
    [
        ([FOUR], {ALLOCATED_IP: "10.0.0.1"}, '["10.0.0.1"]'),
        ([SIX], {ALLOCATED_IP: "fd00-0000-0000-0000-0000-0000-0000-0001"}, '["fd00::1"]'),
        ([FOUR, SIX], {ALLOCATED_IP: "10.0.0.1"}, '["10.0.0.1","fd00::1"]'),
        ([SIX, FOUR], {ALLOCATED_IP: "10.0.0.1"}, '["10.0.0.1","fd00::1"]'),
    ],
)
def test_what_is_written_is_in_calicos_format(addresses: list[Address], labels: dict[str, str], annotation: str) -> None:
    assert written("k", addresses) == (labels, {RESERVATION_KEY: "k", CALICO_ADDRESSES: annotation})


def test_a_pod_that_waits_for_an_address_has_a_key_only() -> None:
    assert written("k", ()) == ({}, {RESERVATION_KEY: "k"})


PAIRS = st.one_of(
    ADDRESSES.map(lambda found: (found,)),
    st.tuples(
        ADDRESSES.filter(lambda found: found.version == V4),
        ADDRESSES.filter(lambda found: found.version == V6),
    ),
)


@CALM
@given(PAIRS, st.uuids().map(str))
def test_what_is_written_is_read_back(addresses: tuple[Address, ...], key: str) -> None:
    labels, annotations = written(key, addresses)
    found = marks(labels, annotations)

    assert found == Marks(key, addresses, addresses[0].name)
    assert found is not None and found.label_fits
    assert all(len(value) <= 63 and value[0].isalnum() and value[-1].isalnum() for value in labels.values())


@CALM
@given(PAIRS)
def test_calicos_annotation_is_compact_json_of_strings(addresses: tuple[Address, ...]) -> None:
    text = write_calico(addresses)

    assert json.loads(text) == [address.text for address in addresses]
    assert " " not in text and "/" not in text


@pytest.mark.parametrize(
    ("found", "fits"),
    [
        (Marks(addresses=(FOUR, SIX), label="10.0.0.1"), True),
        (Marks(addresses=(SIX, FOUR), label="10.0.0.1"), True),
        (Marks(addresses=(SIX,), label=SIX.name), True),
        (Marks(), True),
        (Marks(addresses=(FOUR,)), False),
        (Marks(addresses=(FOUR,), label="10.0.0.2"), False),
        (Marks(addresses=(FOUR, SIX), label=SIX.name), False),
        (Marks(label="10.0.0.1"), False),
    ],
)
def test_a_label_fits_that_says_what_we_would_write(found: Marks, fits: bool) -> None:
    assert found.label_fits is fits
    assert (label_of(found.addresses) == found.label) is fits


@pytest.mark.parametrize(
    ("found", "are_written"),
    [
        (Marks(asks=True), False),
        (Marks(gated=True), False),
        (Marks(key="k"), True),
        (Marks(addresses=(FOUR,)), True),
        (Marks(label="x"), True),
        (Marks(fault="x"), True),
    ],
)
def test_marks_that_only_we_write_are_told_from_a_wish(found: Marks, are_written: bool) -> None:
    assert found.are_written is are_written


TEXTS = st.sampled_from(["", "x", '["10.0.0.1"]', "[[", '["::ffff:1.2.3.4"]']) | st.text(max_size=20)
NAMES = st.sampled_from([ALLOCATABLE_IPS, ALLOCATED_IP, CALICO_ADDRESSES, IP_POOL, RESERVATION_KEY, "app"])


@CALM
@given(st.dictionaries(NAMES, TEXTS), st.dictionaries(NAMES, TEXTS), st.lists(st.sampled_from([IP_GATE, "other"]), max_size=2))
def test_raw_pods_and_projections_are_read_alike(labels: dict[str, str], annotations: dict[str, str], gates: list[str]) -> None:
    raw = marks(labels, annotations, [{"name": gate} for gate in gates])

    assert raw == marks_from(labels, annotations, gates)


VALUES: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), st.integers(), TEXTS, st.lists(TEXTS, max_size=2))
MAPS = VALUES | st.dictionaries(NAMES, VALUES, max_size=3)


@CALM
@given(MAPS, MAPS, VALUES | st.lists(st.dictionaries(st.just("name"), VALUES), max_size=2))
def test_any_pod_has_marks_none_or_is_malformed(labels: object, annotations: object, gates: object) -> None:
    try:
        found = marks(labels, annotations, gates)
    except MalformedObject:
        return

    assert found is None or found.asks or found.gated or found.are_written


def test_a_pod_without_marks_costs_next_to_nothing() -> None:
    metadata = {"labels": {f"l{n}": "x" for n in range(10)}, "annotations": {f"a{n}": "x" for n in range(10)}}
    begun = time.perf_counter()

    found = [marks_of(metadata, {}) for _ in range(100_000)]

    assert not any(found)
    assert time.perf_counter() - begun < 5  # 50 ms
