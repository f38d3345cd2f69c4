"""Selectors of the scripted API server: what a list holds, what a watch is told of objects that begin or cease to match."""

from __future__ import annotations

import json
from typing import Any

import pytest

from controllers.testing.objects import Objects, Refusal
from controllers.testing.selecting import Selection

LABELLED = {"labelSelector": "wanted=true"}


def config_map(name: str, *, wanted: str | None = None, space: str = "shop") -> dict[str, Any]:
    labels = {} if wanted is None else {"wanted": wanted}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": space, "labels": labels}}


def listed(objects: Objects, params: dict[str, str]) -> list[str]:
    page = json.loads(objects.list_page(objects.target("/api/v1/configmaps"), params))
    return [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in page["items"]]


def heard(objects: Objects, params: dict[str, str]) -> list[tuple[str, str, Any]]:
    """Type, name and labels of every event since the beginning."""
    lines, _ = objects.lines_from(objects.target("/api/v1/configmaps"), 0, Selection.of(params), bookmarks=False)
    events = [json.loads(line) for line in lines]
    return [(one["type"], one["object"]["metadata"]["name"], one["object"]["metadata"]["labels"]) for one in events]


def test_a_list_holds_what_the_labels_select() -> None:
    objects = Objects()
    objects.put(config_map("a", wanted="true"))
    objects.put(config_map("b", wanted="false"))

    assert listed(objects, LABELLED) == ["shop/a"]


def test_a_name_is_selected_in_every_namespace() -> None:
    objects = Objects()
    for one in (config_map("a"), config_map("a", space="other"), config_map("ab")):
        objects.put(one)

    assert listed(objects, {"fieldSelector": "metadata.name=a"}) == ["other/a", "shop/a"]


def test_a_watch_sees_an_object_come_and_go_with_its_label() -> None:
    objects = Objects()
    for wanted in (None, "true", "true", None):
        objects.put(config_map("a", wanted=wanted))
    objects.drop("ConfigMap", "shop/a")

    assert heard(objects, LABELLED) == [("ADDED", "a", {"wanted": "true"}), ("DELETED", "a", {"wanted": "true"})]


def test_an_object_that_ceases_to_match_is_deleted_in_its_old_state_at_the_new_version() -> None:
    objects = Objects()
    objects.put(config_map("a", wanted="true"))
    changed = objects.put(config_map("a"))

    lines, _ = objects.lines_from(objects.target("/api/v1/configmaps"), 0, Selection.of(LABELLED), bookmarks=False)

    last = json.loads(lines[-1])["object"]["metadata"]
    assert (last["labels"], last["resourceVersion"]) == ({"wanted": "true"}, changed["metadata"]["resourceVersion"])


def test_without_selectors_a_watch_hears_everything() -> None:
    objects = Objects()
    objects.put(config_map("a"))
    objects.put(config_map("a", wanted="true"))
    objects.drop("ConfigMap", "shop/a")

    assert [kind for kind, _, _ in heard(objects, {})] == ["ADDED", "MODIFIED", "DELETED"]


def test_a_selector_that_cannot_be_read_is_refused() -> None:
    with pytest.raises(Refusal, match="unable to parse requirement"):
        listed(Objects(), {"labelSelector": "a=b=c"})
