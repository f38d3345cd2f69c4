"""A list that is decoded while it arrives is the same as one that is decoded whole, wherever its text is cut."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.runtime import arriving, errors
from controllers.runtime.arriving import Cutter
from controllers.runtime.projection_objects import objects_resource
from controllers.runtime.resource import Json
from tests.controllers.runtime.builders import NODES, node

HEAD = b'{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"9","continue":"t"},"items":['
DEEP = b'{"a":' * 5000 + b"1" + b"}" * 5000
SMALL = 64  # bytes decoded at once, so that a few nodes are many pieces
SETS = objects_resource("statefulsets", "/apis/apps/v1/statefulsets", "apps/v1", "StatefulSet").projection


@pytest.fixture(autouse=True)
def small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arriving, "PIECE_BYTES", SMALL)
        yield


def text(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def stored(name: str, **metadata: Any) -> Json:
    """A Node as a list has it: without its kind."""
    return {key: value for key, value in node(name, **metadata).items() if key not in ("apiVersion", "kind")}


def list_of(*items: Any) -> bytes:
    return HEAD + b",".join(map(text, items)) + b"]}\n"


def pieces(body: bytes, size: int) -> Iterator[bytes]:
    return (body[at : at + size] for at in range(0, len(body), size))


ODD = ('},{"metadata":', '"items":[', "[{", "}]}", "\\", "ü", "")


@given(
    items=st.lists(
        st.builds(stored, st.sampled_from("abc"), labels=st.dictionaries(st.sampled_from(ODD), st.sampled_from(ODD)))
    ),
    broken=st.sampled_from([None, {}, {"metadata": {"name": "x", "labels": 5}}]),
    at=st.integers(0, 5),
    size=st.integers(1, 400),
)
def test_pieces_make_the_page_that_the_whole_makes(items: list[Json], broken: Any, at: int, size: int) -> None:
    body = list_of(*items[:at], *([broken] if at % 2 else []), *items[at:])

    assert NODES.projection.read(pieces(body, size)) == NODES.projection.page(body)


def test_most_of_a_list_is_decoded_before_its_end() -> None:
    seen: list[int] = []
    cutter = Cutter(pieces(list_of(*(stored(f"edge-{number}") for number in range(100))), 50))

    cutter.cut(lambda items: bool(seen.append(len(json.loads(bytes(items)))) or True))

    assert sum(seen) >= 98
    assert len(json.loads(cutter.rest())["items"]) == 100 - sum(seen)


def test_what_begins_like_an_item_inside_of_one_is_no_place_to_cut() -> None:
    claims = [{"metadata": {"name": f"claim-{number}"}, "spec": {}} for number in range(5)]
    sets = [{"metadata": {"name": f"db-{number}"}, "spec": {"volumeClaimTemplates": claims}} for number in range(20)]
    body = HEAD.replace(b"Node", b"StatefulSet") + b",".join(map(text, sets)) + b"]}"

    page = SETS.read(pieces(body, 30))

    assert page == SETS.page(body)
    assert [len(item.facts["spec"]["volumeClaimTemplates"]) for item in page.items] == [5] * 20


def test_a_list_whose_metadata_comes_last_has_its_version_too() -> None:
    # As the API server writes custom kinds: keys by the alphabet.
    body = text({"apiVersion": "v1", "items": [node(f"n{number}") for number in range(9)], "kind": "NodeList"})[:-1]

    page = NODES.projection.read(pieces(body + b',"metadata":{"continue":"","resourceVersion":"7"}}', 40))

    assert (page.version, page.token, len(page.items)) == ("7", "", 9)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"kind":"NodeList","items":5}',
        b'{"kind":"Table","rows":[]}',
        list_of(*(stored(f"edge-{number}") for number in range(20))).replace(b"NodeList", b"PodList"),
        list_of(*(stored(f"edge-{number}") for number in range(20)))[:-40],
        list_of(*(stored(f"edge-{number}") for number in range(20)))[:-3],
        HEAD + b"{" * 1000,
        HEAD + b'{"a":' * 5000,
        b'{"kind":"NodeList","metadata":' + DEEP,
    ],
)
def test_what_is_no_list_of_the_kind_is_undecodable(body: bytes) -> None:
    with pytest.raises(errors.UndecodableAnswer):
        NODES.projection.read(pieces(body, 50))


@pytest.mark.parametrize("place", [b'{"metadata":{"name":"x","labels":%b}}', b'{"metadata":{"name":"x","managedFields":%b}}'])
@pytest.mark.parametrize("at", [0, 1, 10, 20])  # of twenty nodes: alone in a piece, among others, in what is left for the end
def test_an_object_that_is_nested_too_deeply_costs_itself_only(place: bytes, at: int) -> None:
    nodes = [text(stored(f"edge-{number}")) for number in range(20)]
    body = HEAD + b",".join([*nodes[:at], place % DEEP, *nodes[at:]]) + b"]}"

    for page in (NODES.projection.read(pieces(body, 150)), NODES.projection.page(body)):
        assert [item.key for item in page.items] == [f"edge-{number}" for number in range(20)]
        assert [(one.key, one.reason) for one in page.broken] == [("x", 'Node "x": nested too deeply')]
        assert (page.version, page.token) == ("9", "t")


def test_an_empty_list_has_no_items() -> None:
    for body in (list_of(), b'{"kind":"NodeList","metadata":{"resourceVersion":"5"},"items":null}'):
        assert NODES.projection.read(pieces(body, 7)).items == ()
