"""Pods get labels and annotations that they lack; typed values are filled in, and left out when they cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.webhook.defaults.defaulting import call, container, default_set, pod, rule
from webhook.defaults.values import as_label
from webhook.names import DEFAULT_CONTAINER, INJECTED, Reason
from webhook.objects.meta import Json


def annotated(text: str, before: Json | None = None, **metadata: Any) -> Any:
    """What an annotation "note" with this value becomes; None when it is left out."""
    done = call(rule(default_set(annotations={"note": text})), before or pod(metadata=metadata))
    return (done.pod["metadata"].get("annotations") or {}).get("note")


def labelled(text: str, image: str = "shop/web:1.4") -> Any:
    """What a label "note" with this value becomes for a pod of this image."""
    done = call(rule(default_set(labels={"note": text})), pod({"name": "app", "image": image}))
    return (done.pod["metadata"].get("labels") or {}).get("note")


def test_labels_and_annotations_that_are_there_stay() -> None:
    given = default_set(labels={"team": "core", "app": "x"}, annotations={"a/b": "1"})

    done = call(rule(given), pod(metadata={"labels": {"app": "web"}, "annotations": {"a~b": "0"}}))

    assert done.pod["metadata"]["labels"] == {"app": "web", "team": "core"}
    assert done.pod["metadata"]["annotations"] == {"a~b": "0", "a/b": "1"}
    assert [one["path"] for one in done.patch] == ["/metadata/labels/team", "/metadata/annotations/a~1b"]
    assert done.verdict.message == "label team, annotation a/b"


@pytest.mark.parametrize("metadata", [{}, {"labels": None}, {"labels": {}}])
def test_a_pod_without_labels_gets_the_map_with_its_keys(metadata: Json) -> None:
    done = call(rule(default_set(labels={"team": "core"})), pod(metadata=metadata))

    assert [one["path"] for one in done.patch] == ["/metadata/labels"]
    assert done.pod["metadata"]["labels"] == {"team": "core"}


def test_a_pod_with_half_a_character_in_an_annotation_gets_what_it_lacks() -> None:
    done = call(rule(default_set(annotations={"team": "core"})), pod(metadata={"annotations": {"broken": "\ud800"}}))

    assert done.pod["metadata"]["annotations"]["team"] == "core"


def test_an_empty_value_is_a_value() -> None:
    done = call(rule(default_set(labels={"team": "core"})), pod(metadata={"labels": {"team": ""}}))

    assert done.patch == []


def test_the_first_set_with_a_value_wins() -> None:
    first = default_set("a", annotations={"owner": "${pod.labels['owner']}"})
    second = default_set("b", annotations={"owner": "nobody"})

    unowned = call(rule(first, second), pod())
    owned = call(rule(first, second), pod(metadata={"labels": {"owner": "ann"}}))

    assert unowned.pod["metadata"]["annotations"] == {"owner": "nobody"}
    assert unowned.verdict.warnings == ()
    assert owned.pod["metadata"]["annotations"] == {"owner": "ann"}


VALUES = [
    ("${image.tag}", "1.4"),
    ("${image.name}:${image.tag}", "web:1.4"),
    ("${pod.name}", "web-1"),
    ("${pod.namespace}", "shop"),
    ("${namespace.labels['team']}", "core"),
    ("${namespace.labels['zone']:-none}", "none"),
    ("${now}", "2025-11-24T16:00:00Z"),
    ("$${image.tag}", "${image.tag}"),
    ("${HOME}", "${HOME}"),
]


@pytest.mark.parametrize(("text", "value"), VALUES, ids=[text for text, _ in VALUES])
def test_typed_values_are_filled_in(text: str, value: str) -> None:
    assert annotated(text) == value


IMAGES = [
    ("shop/web:1.4", "1.4"),
    ("shop/web", "latest"),
    ("registry.example.com:5000/web", "latest"),
    ("shop/web:1.4@sha256:" + "0" * 64, "1.4"),
    ("shop/web:" + "a" * 62 + "-" + "b" * 40, "a" * 62),
    ("shop/web:_v1_", "v1"),
]


@pytest.mark.parametrize(("image", "tag"), IMAGES)
def test_a_tag_becomes_a_label_as_far_as_the_api_takes_it(image: str, tag: str) -> None:
    assert labelled("${image.tag}", image) == tag


def test_a_digest_has_no_tag() -> None:
    assert labelled("${image.tag}", "shop/web@sha256:" + "0" * 64) is None


def test_in_a_label_what_the_api_does_not_take_becomes_a_dash() -> None:
    assert labelled("${now}") == "2025-11-24T16-00-00Z"


def test_nothing_that_can_be_no_label_becomes_one() -> None:
    assert [as_label(text) for text in ("", "-", "é", "a" * 63 + "b", "-.x_", 'a\n"b')] == ["", "", "", "a" * 63, "x", "a--b"]


def test_a_value_that_cannot_be_filled_in_is_left_out_and_told() -> None:
    done = call(rule(default_set(annotations={"owner": "${pod.labels['owner']}", "note": "x"})), pod())

    assert done.pod["metadata"]["annotations"] == {"note": "x"}
    assert done.verdict.warnings == (
        'pod shop/web-1: default annotation owner (set "base") is left out: '
        "${pod.labels['owner']}: the pod has no label owner, and the placeholder has no default",
    )


def test_text_of_a_pod_stays_one_value() -> None:
    evil = 'x"\ninjected: true # ${now} $(HOME)'

    assert annotated("${pod.annotations['from']}", annotations={"from": evil}) == evil


def test_an_annotation_may_ask_for_a_label_that_is_given() -> None:
    done = call(rule(default_set(labels={"team": "core"}, annotations={"owner": "${pod.labels['team']}"})), pod())

    assert done.pod["metadata"]["annotations"] == {"owner": "core"}


def test_the_image_is_that_of_the_pods_own_container() -> None:
    proxy = {"name": "proxy", "image": "proxy:9"}
    stamp = '[{"containers":["proxy"],"entry":"e"}]'

    injected = annotated("${image.tag}", pod(proxy, container(), metadata={"annotations": {INJECTED: stamp}}))
    meant = annotated("${image.tag}", pod(proxy, container("web"), metadata={"annotations": {DEFAULT_CONTAINER: "web"}}))

    assert (injected, meant) == ("1.4", "1.4")


def test_a_generated_name_is_shown_without_its_end() -> None:
    assert annotated("${pod.name}", {"metadata": {"generateName": "web-"}, "spec": {"containers": [container()]}}) == "web"


def test_now_is_that_of_the_first_call() -> None:
    given = rule(default_set(annotations={"created": "${now}"}))
    first = call(given, pod())

    second = call(
        given, {**first.pod, "metadata": {**first.pod["metadata"], "annotations": {"created": "2020-01-01T00:00:00Z"}}}
    )

    assert second.patch == []


def test_annotations_never_outgrow_what_the_api_takes() -> None:
    given = default_set(annotations={"big": "x" * 1000, "small": "y"})

    done = call(rule(given), pod(metadata={"annotations": {"theirs": "z" * (256 * 1024 - 100)}}))

    assert set(done.pod["metadata"]["annotations"]) == {"theirs", "small"}
    assert done.verdict.warnings == (
        "pod shop/web-1: default annotation big is left out: all together would exceed 262144 bytes",
    )


def test_a_value_never_takes_a_pod_out_of_our_webhooks() -> None:
    done = call(rule(default_set(labels={"app.kubernetes.io/name": "${pod.name}"})), pod(metadata={"name": "gatehouse"}))

    assert done.patch == []
    assert done.verdict.reason is Reason.DEFAULT_LEFT_OUT
