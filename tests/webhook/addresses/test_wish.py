from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhook.addresses.strategies import CALM
from webhook.addresses.address import AddressError
from webhook.addresses.wish import wish_of
from webhook.errors import MalformedObject
from webhook.names import ALLOCATABLE_IPS, IP_POOL

LABEL, ANNOTATION = f"metadata.labels[{ALLOCATABLE_IPS}]", f"metadata.annotations[{ALLOCATABLE_IPS}]"


def pod(labels: object = None, annotations: object = None) -> dict[str, Any]:
    return {"metadata": {"name": "web-0", "labels": labels, "annotations": annotations}}


@pytest.mark.parametrize(
    "bare",
    [
        {},
        {"metadata": None},
        {"metadata": {}},
        pod(),
        pod({}, {}),
        pod({"app": "web"}, {"note": "x"}),
        pod({"allocated-ip": "10.0.0.1"}),
    ],
)
def test_a_pod_without_a_label_of_ours_asks_for_nothing(bare: dict[str, Any]) -> None:
    assert wish_of(bare) is None


def test_an_annotation_alone_does_not_opt_in() -> None:
    assert wish_of(pod(None, {ALLOCATABLE_IPS: "10.0.0.1"})) is None


def test_the_label_holds_the_list() -> None:
    wish = wish_of(pod({ALLOCATABLE_IPS: "10.0.0.1_10.0.0.3"}))

    assert wish is not None
    assert (wish.pool, wish.addresses.text, wish.field, wish.text) == ("", "10.0.0.1, 10.0.0.3", LABEL, "10.0.0.1_10.0.0.3")
    assert wish.source == 'label "allocatable-ips"'


@pytest.mark.parametrize("label", ["", None, "10.9.9.9", "not a list"])
def test_the_annotation_wins_over_the_label_which_is_then_not_read(label: str | None) -> None:
    wish = wish_of(pod({ALLOCATABLE_IPS: label}, {ALLOCATABLE_IPS: "10.0.0.0/24, fd00::1"}))

    assert wish is not None
    assert (wish.addresses.text, wish.field, wish.list_ignored) == ("10.0.0.0/24, fd00::1", ANNOTATION, False)
    assert wish.source == 'annotation "allocatable-ips"'


def test_a_pool_is_asked_for_by_its_name() -> None:
    wish = wish_of(pod({IP_POOL: "edge.north-1"}))

    assert wish is not None
    assert (wish.pool, bool(wish.addresses), wish.field) == ("edge.north-1", False, f"metadata.labels[{IP_POOL}]")
    assert (wish.source, wish.list_ignored) == ('pool "edge.north-1"', False)


@pytest.mark.parametrize(
    ("label", "annotation"),
    [("10.0.0.1", None), ("not a list", None), (None, "10.0.0.1"), ("", "not a list"), ("10.0.0.1", "")],
)
def test_a_pool_wins_over_a_list_which_is_told_and_not_read(label: str | None, annotation: str | None) -> None:
    labels = {IP_POOL: "edge"} | ({} if label is None else {ALLOCATABLE_IPS: label})

    wish = wish_of(pod(labels, {} if annotation is None else {ALLOCATABLE_IPS: annotation}))

    assert wish is not None
    assert (wish.pool, wish.list_ignored) == ("edge", True)


@pytest.mark.parametrize(
    ("labels", "annotations", "message"),
    [
        ({ALLOCATABLE_IPS: ""}, None, f"{LABEL}: is empty: it names no address"),
        ({ALLOCATABLE_IPS: None}, None, f"{LABEL}: is empty: it names no address"),
        ({ALLOCATABLE_IPS: "10.0.0.300"}, {}, f'{LABEL}: "10.0.0.300" is no IP address'),
        ({ALLOCATABLE_IPS: "10.0.0.1"}, {ALLOCATABLE_IPS: ""}, f'{ANNOTATION}: "" names no address'),
        ({ALLOCATABLE_IPS: "10.0.0.1"}, {ALLOCATABLE_IPS: "10.0.0.9-1"}, f'{ANNOTATION}: "10.0.0.9-1" ends before it begins'),
        ({IP_POOL: ""}, None, f'metadata.labels[{IP_POOL}]: "" cannot be the name of an AddressPool'),
        ({IP_POOL: "Edge"}, None, f'metadata.labels[{IP_POOL}]: "Edge" cannot be the name of an AddressPool'),
        ({IP_POOL: "../x"}, None, f'metadata.labels[{IP_POOL}]: "../x" cannot be the name of an AddressPool'),
        ({IP_POOL: "\ud800"}, None, f'metadata.labels[{IP_POOL}]: "\\ud800" cannot be the name of an AddressPool'),
    ],
)
def test_a_wish_that_cannot_be_read_is_refused_with_its_field(labels: object, annotations: object, message: str) -> None:
    with pytest.raises(AddressError) as caught:
        wish_of(pod(labels, annotations))

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("malformed", "message"),
    [
        ({"metadata": []}, "metadata: expected an object, found a list"),
        (pod("x"), "metadata.labels: expected an object, found a string"),
        (pod({ALLOCATABLE_IPS: 10}), "metadata.labels.allocatable-ips: expected a string, found a number"),
        (pod({IP_POOL: {}}), "metadata.labels.gatehouse.dev/ip-pool: expected a string, found an object"),
        (pod({ALLOCATABLE_IPS: "10.0.0.1"}, []), "metadata.annotations: expected an object, found a list"),
        (
            pod({ALLOCATABLE_IPS: ""}, {ALLOCATABLE_IPS: ["10.0.0.1"]}),
            "metadata.annotations.allocatable-ips: expected a string, found a list",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_malformed(malformed: dict[str, Any], message: str) -> None:
    with pytest.raises(MalformedObject) as caught:
        wish_of(malformed)

    assert str(caught.value) == message


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=9), st.lists(st.text(max_size=3), max_size=2))
MAPS = VALUES | st.dictionaries(st.sampled_from([ALLOCATABLE_IPS, IP_POOL, "app"]), VALUES, max_size=3)


@CALM
@given(MAPS, MAPS)
def test_any_labels_and_annotations_are_a_wish_none_or_a_known_error(labels: object, annotations: object) -> None:
    try:
        wish, told = wish_of(pod(labels, annotations)), "metadata."
    except (AddressError, MalformedObject) as error:
        wish, told = None, str(error)

    assert told.startswith("metadata.")
    assert wish is None or bool(wish.pool) != bool(wish.addresses)
