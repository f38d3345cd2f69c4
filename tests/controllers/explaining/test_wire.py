"""A query and its answer survive the way to a replica and back, and what is no query is refused with what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controllers.explaining.explainer import Explanation, Query, Tone
from controllers.explaining.wire import answer, as_body, from_body, lean
from webhook.admission.review import User
from webhook.errors import MalformedObject
from webhook.objects.dns_names import SUBDOMAIN_LIMIT
from webhook.objects.meta import Json

POD: Json = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "shop"}}
NODE: Json = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "edge-1"}}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


def body(**fields: object) -> bytes:
    return json.dumps({"kind": "node", "name": "edge-1", **fields}).encode()


@given(texts, texts, texts, st.lists(texts, max_size=3), values)
def test_what_is_sent_arrives(name: str, where: str, user: str, groups: list[str], spec: Any) -> None:
    query = Query("pod", name, "shop", {**POD, "spec": spec}, where, User(user, tuple(groups)))

    assert from_body(as_body(query)) == query


def test_a_name_is_enough_for_what_a_replica_knows() -> None:
    assert from_body(b'{"kind": "node", "name": "edge-1"}') == Query("node", "edge-1")
    assert from_body(b'{"kind": "address", "name": "10.0.0.1", "object": null}') == Query("address", "10.0.0.1")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "the body is empty: expected a query, such as "),
        (b" \n", "the body is empty"),
        (b'{"kind": "node"}', "name: is empty, and kind node is asked about by name or by object"),
        (body(kind="address", name=""), "name: is empty, and kind address is asked about"),
        (b"[]", "the body is no query: "),
        (b"null", "the body is no query: "),
        (b"{}", "missing required field `kind`"),
        (b'{"kind": "node"} {}', "trailing characters"),
        (b'{"kind": "node", "name": "\xff"}', "the body is no query: "),
        (b'{"kind": "node", "name": "\\ud800"}', "half a surrogate pair"),
        (b'{"kind": "node", "name": "', "the body is no query: Input data was truncated"),
        (b'{"kind": "node", "object": ' + b"[" * 5000 + b"]" * 5000 + b"}", "the body is "),
        (b'{"kind": "node", "object": {"a": ' + b"[" * 5000 + b"]" * 5000 + b"}}", "nested too deeply"),
        (body(name=None), "expected `str`, got `null` - at `$.name`"),
        (body(user={"groups": "dev"}), "expected `array`, got `str` - at `$.user.groups`"),
        (body(user={"uid": "1"}), "unknown field `uid` - at `$.user`"),
        (body(object=[NODE]), "expected `object | null`, got `array` - at `$.object`"),
        (body(kind="Node"), "kind: have pod, workload, node, "),
        (body(name="a" * (SUBDOMAIN_LIMIT + 1)), f"at most {SUBDOMAIN_LIMIT} characters"),
        (body(namespace="a" * (SUBDOMAIN_LIMIT + 1)), f"at most {SUBDOMAIN_LIMIT} characters"),
        (body(kind="object"), "object: needed for kind object; by its name a replica knows address and node"),
        (body(object=POD), "object: is no Node"),
        (
            body(kind="pod", object={**POD, "metadata": {"namespace": "a" * (SUBDOMAIN_LIMIT + 1)}}),
            f"metadata.namespace: has at most {SUBDOMAIN_LIMIT} characters",
        ),
        (body(object={}), "object: is no Node"),
        (body(object={"apiVersion": [], "kind": {}}), "object: is no Node"),
    ],
)
def test_what_is_no_query_says_what_is_wrong(sent: bytes, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text is what counts, and has characters of patterns
        from_body(sent)

    assert message.lower() in str(caught.value).lower()


@pytest.mark.parametrize(
    ("metadata", "message"), [([], "metadata: expected an object"), ({"namespace": 5}, "metadata.namespace: expected a string")]
)
def test_an_object_of_the_wrong_shape_is_malformed(metadata: object, message: str) -> None:
    with pytest.raises(MalformedObject, match=message):
        from_body(body(kind="pod", object={**POD, "metadata": metadata}))


@pytest.mark.parametrize(
    ("said", "own", "meant"), [("", "shop", "shop"), ("shop", "shop", "shop"), ("shop", None, "shop"), ("shop", "", "shop")]
)
def test_the_namespace_is_the_objects_or_the_querys(said: str, own: str | None, meant: str) -> None:
    obj = {**POD, "metadata": {"name": "web", "namespace": own}}

    assert from_body(body(kind="pod", namespace=said, object=obj)).namespace == meant


def test_a_namespace_that_is_not_the_objects_is_refused() -> None:
    with pytest.raises(ValueError, match="namespace: bank, but the object is of shop"):
        from_body(body(kind="pod", namespace="bank", object=POD))


@pytest.mark.parametrize(("kind", "needed"), [("pod", True), ("object", False)])
def test_only_what_always_is_in_a_namespace_needs_one(kind: str, needed: bool) -> None:
    sent = body(kind=kind, object={**POD, "metadata": {"name": "web"}})

    if needed:
        with pytest.raises(ValueError, match="namespace: needed"):
            from_body(sent)
    else:
        assert from_body(sent).namespace == ""


def test_the_answer_has_what_a_person_and_a_program_read() -> None:
    found = answer(Explanation("text", {"a": None}, False, Tone.DOUBTFUL))

    assert json.loads(json.dumps(found)) == {"text": "text", "explanation": {"a": None}, "fine": False, "tone": "doubtful"}


# -- what is left out of an object


def test_managed_fields_and_a_nodes_images_are_not_sent() -> None:
    metadata = {"name": "edge-1", "managedFields": [{"manager": "kubelet"}]}
    status = {"images": [{"names": ["a"]}], "conditions": []}

    found = lean({**NODE, "metadata": metadata, "status": status})

    assert found == {**NODE, "status": {"conditions": []}}
    assert metadata["managedFields"] and status["images"]


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"metadata": None, "status": None},
        {"kind": "Node", "metadata": ["managedFields"], "status": "images"},  # told by who decides, not here
        {"kind": "Pod", "metadata": {}, "status": {"images": []}},
        {"kind": ["Node"], "status": {"images": []}},
    ],
)
def test_everything_else_is_sent_as_it_is(obj: Json) -> None:
    assert lean(obj) == obj
