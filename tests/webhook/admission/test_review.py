"""AdmissionReviews: limits of what is sent back, and what a request says of itself."""

from __future__ import annotations

import msgspec
import pytest

from webhook.admission import review
from webhook.admission.review import AdmissionResponse
from webhook.errors import BadRequest


def request(**changes: object) -> review.AdmissionRequest:
    fields = {
        "uid": "u-1",
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "subResource": "status",
        "name": "web-1",
        "namespace": "shop",
        "operation": "UPDATE",
    }
    document = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": fields | changes}
    return review.decode(msgspec.json.encode(document))


def test_a_request_names_its_subject() -> None:
    assert request().subject == "pods/status shop/web-1"
    assert request(namespace="", subResource="").subject == "pods web-1"


def test_an_object_that_is_yet_to_be_named_is_named_by_what_its_name_begins_with() -> None:
    made = {"metadata": {"generateName": "web-"}}

    assert request(name="", subResource="", operation="CREATE", object=made).subject == "pods shop/web-…"


def test_warnings_fit_what_the_api_server_keeps() -> None:
    warnings = [f"{number:03d} " + "x" * 300 for number in range(50)]

    kept = review.limit_warnings([*warnings, *warnings])

    assert all(len(warning) <= 256 for warning in kept)
    assert sum(map(len, kept)) <= 4096
    assert kept[-1] == f"{50 - (len(kept) - 1)} more warnings were left out"


def test_a_warning_is_one_line_and_said_once() -> None:
    assert review.limit_warnings(["a\nb", "a\nb", "c"]) == ["a b", "c"]


def test_audit_annotations_are_cut() -> None:
    body = review.encode(request(), AdmissionResponse(audit={"rule": "y" * 5000}))

    assert len(msgspec.json.decode(body)["response"]["auditAnnotations"]["rule"]) == 1024


@pytest.mark.parametrize(
    "changes",
    [
        {"userInfo": {"groups": "system:nodes"}},
        {"userInfo": {"groups": [1]}},
        {"userInfo": []},
        {"object": "pod"},
        {"oldObject": []},
        {"resource": {"group": "", "version": "v1"}},
        {"resource": "pods"},
        {"name": 7},
    ],
)
def test_fields_of_the_wrong_type_are_named(changes: dict[str, object]) -> None:
    with pytest.raises(review.BadRequest, match=f"request.{next(iter(changes))}"):
        request(**changes)


def review_with(old: bytes) -> review.AdmissionRequest:
    fields = b'"uid":"u-1","operation":"UPDATE","resource":{"group":"","version":"v1","resource":"pods"}'
    head = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{'
    return review.decode(head + fields + b',"oldObject":' + old + b"}}")


@pytest.mark.parametrize(("old", "found"), [(b'{"a": [1]}', {"a": [1]}), (b" {}", {}), (b"null", None)])
def test_the_old_object_is_what_was_sent(old: bytes, found: object) -> None:
    asked = review_with(old)

    assert asked.old_object == found
    assert asked.old_object is asked.old_object


def test_an_old_object_that_is_none_is_refused_at_once() -> None:
    with pytest.raises(BadRequest, match=r"request\.oldObject: expected an object, found \[1\]"):
        review_with(b"[1]")


@pytest.mark.parametrize("old", [b'{"a": NaN}', b'{"a": "\\ud800"}', b'{"a":' * 5000 + b"1" + b"}" * 5000])
def test_what_is_wrong_inside_the_old_object_is_refused_when_a_rule_asks_for_it_at_the_latest(old: bytes) -> None:
    with pytest.raises(BadRequest):
        assert review_with(old).old_object


def test_a_body_cut_short_within_the_old_object_is_refused() -> None:
    with pytest.raises(BadRequest, match="not valid JSON"):
        review_with(b'{"a": ')
